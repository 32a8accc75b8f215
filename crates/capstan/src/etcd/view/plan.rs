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
        tree.add(paint.as_(part.look(), part.text()));
    }
    for text in assumed {
        tree.add(paint.as_(Look::Dim, text));
    }
    tree.lines()
}

/// The same in one line, for logs, without what only the clock changes.
pub(in crate::etcd) fn sentence(picture: &Picture, plan: &Plan) -> String {
    let lasting = parts(picture, plan).into_iter().filter(|part| !matches!(part, Part::Later(_)));
    lasting.map(|part| part.text()).collect::<Vec<_>>().join("; ")
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

impl Part {
    fn look(&self) -> Look {
        match self {
            Self::Refused(_) => Look::Bad,
            Self::UnderWay(_) | Self::Make(_) => Look::Busy,
            Self::Step(_) | Self::Nothing => Look::Good,
            Self::Phase(_) | Self::Later(_) => Look::Dim,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Refused(text) => plain(&format!("refused: {text}")),
            Self::Step(text) => plain(&format!("next: {text}")),
            Self::Nothing => "nothing is changed".to_owned(),
            Self::Phase(text) | Self::UnderWay(text) | Self::Make(text) | Self::Later(text) => plain(text),
        }
    }
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
