//! A plan, as lines: what is refused, what is being carried out, and the one step that comes next.

use etcd_core::{Picture, Plan};
use serde::Serialize;

use super::Tree;
use crate::look::{Look, Paint, words::plain};

/// What the operator would do, and what that was decided on.
pub(in crate::etcd) fn plan(
    title: &str,
    picture: &Picture,
    plan: &Plan,
    assumed: &[String],
    paint: Paint,
) -> Vec<String> {
    let mut tree = Tree::new(paint.as_(Look::Strong, title));
    for part in parts(picture, plan) {
        let (look, text) = match part {
            Part::Refused(text) => (Look::Bad, format!("refused: {text}")),
            Part::Phase(text) => (Look::Dim, text),
            Part::UnderWay(text) | Part::Make(text) => (Look::Busy, text),
            Part::Step(text) => (Look::Good, format!("next: {text}")),
            Part::Nothing => (Look::Good, "nothing is changed".to_owned()),
            Part::Later(text) => (Look::Dim, text),
        };
        tree.add(paint.as_(look, plain(&text)));
    }
    for text in assumed {
        tree.add(paint.as_(Look::Dim, text));
    }
    tree.lines()
}

/// A part of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::etcd) enum Part {
    Refused(String),
    /// What the status would say.
    Phase(String),
    UnderWay(String),
    /// Objects that are missing.
    Make(String),
    Step(String),
    Nothing,
    /// When to look again.
    Later(String),
}

/// The parts of the answer, in the order in which they matter.
pub(in crate::etcd) fn parts(picture: &Picture, plan: &Plan) -> Vec<Part> {
    let refused: Vec<String> = plan.refusals.iter().map(ToString::to_string).collect();
    let mut parts: Vec<Part> = refused.iter().cloned().map(Part::Refused).collect();
    if let (Some(phase), Some(message)) = (plan.status.phase, &plan.status.message)
        && !refused.contains(message)
    {
        parts.push(Part::Phase(format!("{phase:?}: {message}")));
    }
    if let Some(operation) = &plan.status.operation {
        let whom = operation.member.as_ref().map_or_else(String::new, |member| format!(" {member}"));
        parts.push(Part::UnderWay(format!(
            "{:?} {}: {}{whom}",
            operation.kind, operation.target, operation.step
        )));
    }
    let wishes = plan.objects.iter().flat_map(|objects| &objects.members);
    let exists = |serial| picture.members.get(&serial).is_some_and(|member| member.stateful_set.is_some());
    for wish in wishes.filter(|wish| !exists(wish.serial)) {
        parts.push(Part::Make(format!("make the objects of {wish}")));
    }
    parts.extend(plan.step.iter().map(|step| Part::Step(step.to_string())));
    if !parts.iter().any(|part| matches!(part, Part::UnderWay(_) | Part::Make(_) | Part::Step(_))) {
        parts.push(Part::Nothing);
    }
    if let Some((after, what)) = &plan.wake {
        parts.push(Part::Later(format!("looks again in {} s at the latest: {what}", after.as_secs_f32())));
    }
    parts
}
