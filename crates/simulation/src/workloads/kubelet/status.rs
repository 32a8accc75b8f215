//! A pod's status, as a kubelet writes it.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition, PodIP, PodStatus,
};
use kube::ResourceExt as _;

use crate::workloads::{pods, turn::Turn};

/// What there is to say.
pub(super) enum Told {
    Unschedulable(String),
    CannotStart(String),
    Started,
    Ready,
    NotReady(String),
    /// It ended, and waits to be started again, for ever.
    CrashLoop {
        code: i32,
        message: String,
    },
    /// It ended, and will be started again.
    Crashed {
        code: i32,
        message: String,
    },
    Restarted,
    Over {
        code: i32,
        message: String,
    },
}

pub(super) fn restarts(pod: &Pod) -> i32 {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    containers.map(|container| container.restart_count).max().unwrap_or_default()
}

/// Writes it, if it is news.
pub(super) fn tell(pod: &Pod, told: &Told, turn: &mut Turn) {
    let old = pod.status.clone().unwrap_or_default();
    let mut new = old.clone();
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    if let Told::Unschedulable(why) = told {
        set(&mut new, "PodScheduled", Some(("Unschedulable", why)), turn);
        return turn.status(pod, &old, &new);
    }
    if new.start_time.is_none() {
        new.start_time = Some(turn.time());
    }
    let ip = address(pod);
    new.host_ip = Some("192.0.2.1".into());
    new.pod_ips = Some(vec![PodIP { ip: ip.clone() }]);
    new.pod_ip = Some(ip);
    let first = containers.first().map(|container| container.name.clone());
    let status = |container: &Container| {
        let before = old.container_statuses.iter().flatten().find(|status| status.name == container.name);
        one(container, before, told, first.as_ref() == Some(&container.name), turn)
    };
    new.container_statuses = Some(containers.iter().map(status).collect());
    new.phase = Some(phase(told).into());
    set(&mut new, "PodScheduled", None, turn);
    set(&mut new, "Initialized", None, turn);
    let names: Vec<&str> = containers.iter().map(|container| container.name.as_str()).collect();
    let unready = match told {
        Told::Ready => None,
        Told::NotReady(why) => Some(("ContainersNotReady", why.clone())),
        Told::Over { code: 0, .. } => Some(("PodCompleted", String::new())),
        _ => Some(("ContainersNotReady", format!("containers with unready status: [{}]", names.join(" ")))),
    };
    let unready = unready.as_ref().map(|(reason, message)| (*reason, message.as_str()));
    set(&mut new, "ContainersReady", unready, turn);
    let closed = (!gates_are_open(pod)).then_some(("ReadinessGatesNotReady", "a readiness gate is not true"));
    set(&mut new, "Ready", unready.or(closed), turn);
    turn.status(pod, &old, &new);
}

/// Whether a pod is unready only because its gates were closed, and now they are open.
pub(super) fn is_let_in(pod: &Pod) -> bool {
    is_true(pod, "ContainersReady") && !is_true(pod, "Ready") && gates_are_open(pod)
}

fn gates_are_open(pod: &Pod) -> bool {
    let mut gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.all(|gate| is_true(pod, &gate.condition_type))
}

fn is_true(pod: &Pod, kind: &str) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == kind && condition.status == "True")
}

fn phase(told: &Told) -> &'static str {
    match told {
        Told::Unschedulable(_) | Told::CannotStart(_) => "Pending",
        Told::Over { code: 0, .. } => "Succeeded",
        Told::Over { .. } => "Failed",
        _ => "Running",
    }
}

/// The same for the same pod in every run.
fn address(pod: &Pod) -> String {
    let [.., a, b, c] = pods::fnv(&format!("{:?}/{}", pod.namespace(), pod.name_any())).to_be_bytes();
    format!("10.{a}.{b}.{c}")
}

/// Every container does as the pod does; the first one has the message.
fn one(
    container: &Container,
    before: Option<&ContainerStatus>,
    told: &Told,
    first: bool,
    turn: &Turn,
) -> ContainerStatus {
    let state_before = before.and_then(|before| before.state.clone()).unwrap_or_default();
    let restarts = before.map_or(0, |before| before.restart_count);
    let running = || ContainerState {
        running: Some(
            state_before
                .running
                .clone()
                .unwrap_or_else(|| ContainerStateRunning { started_at: Some(turn.time()) }),
        ),
        ..ContainerState::default()
    };
    let waiting = |reason: &str, message: String| ContainerState {
        waiting: Some(ContainerStateWaiting { reason: Some(reason.into()), message: Some(message) }),
        ..ContainerState::default()
    };
    let ended = |code: i32, message: &String| ContainerState {
        terminated: Some(ContainerStateTerminated {
            exit_code: code,
            reason: Some(if code == 0 { "Completed" } else { "Error" }.into()),
            message: Some(message.clone()).filter(|message| first && !message.is_empty()),
            started_at: state_before.running.as_ref().and_then(|running| running.started_at.clone()),
            finished_at: Some(turn.time()),
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    };
    let last = before.and_then(|before| before.last_state.clone()).unwrap_or_default();
    let (state, last, restarts) = match told {
        Told::Unschedulable(why) | Told::CannotStart(why) => {
            (waiting("CreateContainerConfigError", why.clone()), last, restarts)
        }
        Told::Started | Told::Ready | Told::NotReady(_) => (running(), last, restarts),
        Told::CrashLoop { code, message } => {
            let same = last.terminated.as_ref().is_some_and(|last| {
                last.exit_code == *code
                    && (!first || last.message.as_ref().unwrap_or(&String::new()) == message)
            });
            let still = state_before.waiting.is_some() && same;
            let (last, restarts) =
                if still { (last, restarts) } else { (ended(*code, message), restarts + 1) };
            let why = format!("back-off restarting failed container={} pod", container.name);
            (waiting("CrashLoopBackOff", why), last, restarts)
        }
        Told::Crashed { code, message } => (ended(*code, message), last, restarts),
        Told::Restarted => (running(), state_before.clone(), restarts + 1),
        Told::Over { code, message } => (ended(*code, message), last, restarts),
    };
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: container.image.clone().unwrap_or_default(),
        ready: matches!(told, Told::Ready),
        started: Some(state.running.is_some()),
        state: Some(state),
        last_state: Some(last),
        restart_count: restarts,
        ..ContainerStatus::default()
    }
}

/// Sets a condition to true, or to false with a reason and a message.
fn set(status: &mut PodStatus, kind: &str, not: Option<(&str, &str)>, turn: &Turn) {
    let conditions = status.conditions.get_or_insert_default();
    let value = if not.is_none() { "True" } else { "False" };
    let before = conditions.iter().find(|condition| condition.type_ == kind);
    let since =
        before.filter(|before| before.status == value).and_then(|before| before.last_transition_time.clone());
    let condition = PodCondition {
        type_: kind.into(),
        status: value.into(),
        reason: not.map(|(reason, _)| reason.to_owned()),
        message: not.map(|(_, message)| message.to_owned()).filter(|message| !message.is_empty()),
        last_transition_time: since.or_else(|| Some(turn.time())),
        ..PodCondition::default()
    };
    match conditions.iter_mut().find(|condition| condition.type_ == kind) {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}
