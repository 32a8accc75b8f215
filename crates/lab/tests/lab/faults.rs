//! Nodes that are cut off, hang, lose power; and come back.

use lab::{Lab, NodeState};

use super::{Check, PATIENCE, cluster::exec, ensure, run, timed};

pub(crate) fn checks(lab: &Lab) -> Check {
    for pod in ["local", "sized"] {
        exec(lab, pod, "echo kept > /data/kept")?;
    }
    // All at once: each takes the 16 s after which Kubernetes gives a node up.
    timed("node1 without power, node2 cut off, node3 frozen: not Ready", || {
        lab.kill_node("node1")?;
        lab.partition("node2")?;
        lab.freeze("node3")?;
        let states = states(lab)?;
        ensure(
            states == [NodeState::Dead, NodeState::Partitioned, NodeState::Frozen],
            format!("status: {states:?}"),
        )?;
        let said = lab.in_node("node1").err().map(|error| error.to_string()).unwrap_or_default();
        ensure(said.contains("lab power-cycle node1"), format!("entering it: {said:?}"))?;
        lab.node_names().iter().try_for_each(|node| Ok(lab.wait_for_loss(node, PATIENCE)?))
    })?;
    timed("what is not there is named", || {
        let said = lab.fill_volume("work/nothing").err().map(|error| error.to_string()).unwrap_or_default();
        ensure(said.contains("\"nothing\" not found"), said)?;
        let said = lab.partition("node9").err().map(|error| error.to_string()).unwrap_or_default();
        ensure(said.contains("it has node1, node2, node3"), said)
    })?;
    timed("switched on, healed, thawed: Ready", || {
        lab.power_cycle("node1")?;
        lab.heal("node2")?;
        lab.thaw("node3")?;
        Ok(lab.wait_for_nodes(PATIENCE)?)
    })?;
    timed("node2 and node3 power-cycled: their pods are back with their data", || {
        let before = restarts(lab)?;
        lab.power_cycle("node2")?;
        lab.power_cycle("node3")?;
        let more = |now: Vec<u32>| now.iter().zip(&before).all(|(now, before)| now > before);
        super::until("restarted pods", PATIENCE, || restarts(lab).is_ok_and(more))?;
        run(lab.kubectl().args([
            "-n",
            "work",
            "wait",
            "pod",
            "local",
            "sized",
            "--for=condition=Ready",
            "--timeout=90s",
        ]))?;
        for pod in ["local", "sized"] {
            let size = exec(lab, pod, "wc -c < /data/kept")?;
            ensure(size.trim() == "5", format!("the file of {pod} has now {size:?} bytes"))?;
        }
        let size = exec(lab, "sized", "df -k /data | tail -n 1")?;
        ensure(size.contains("32768"), format!("the sized volume is another one: {size}"))
    })
}

fn states(lab: &Lab) -> Check<Vec<NodeState>> {
    let all = lab::status()?
        .into_iter()
        .find(|status| status.name == lab.name())
        .ok_or("status does not list it")?;
    Ok(all.nodes.iter().map(|node| node.state).collect())
}

/// Of the pods on node2 and node3 that have volumes bound to them.
fn restarts(lab: &Lab) -> Check<Vec<u32>> {
    let path = "jsonpath={.items[*].status.containerStatuses[0].restartCount}";
    let counts = run(lab.kubectl().args(["-n", "work", "get", "pod", "local", "sized", "-o", path]))?;
    counts.split_whitespace().map(|count| Ok(count.parse()?)).collect()
}
