//! A lab's network: a switch (a bridge in a network namespace of its own), the host and every node on it by a veth pair.
//!
//! Node to node goes over the switch by direct routes. The host forwards nothing: its ip_forward stays as it is, nothing can
//! leave the machine, and a firewall for forwarded traffic, as Docker sets one up for bridges too, is never asked. The host
//! reaches pods by a route to each node, which is how the API server calls webhooks.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::{
    addresses::{Addresses, Node, Subnet},
    cgroup::Cgroups,
    error::{At as _, Error, Result},
    process::{self, run, run_with},
};

/// The switch, and the host on it.
pub(crate) fn add_switch(cgroups: &Cgroups, addresses: Addresses) -> Result<()> {
    let (link, switch, cgroup) = (addresses.link(), addresses.switch(), addresses.control_cgroup());
    add_namespace(cgroups, &cgroup, &switch)?;
    let outside = [
        format!("link add {link} type veth peer name host netns {}", switch.display()),
        format!("addr add {}/{} dev {link}", addresses.host_ip(), addresses.nodes().bits),
        format!("link set {link} up"),
    ];
    run_with(process::command(cgroups, &cgroup, "ip").args(["-batch", "-"]), &outside.join("\n"))?;
    let inside = ["link add switch type bridge", "link set switch up", "link set host master switch up"];
    run_with(in_namespace(cgroups, &cgroup, &switch).args(["ip", "-batch", "-"]), &inside.join("\n"))
        .map(drop)
}

/// A node's namespace, its link to the switch, and its routes.
pub(crate) fn add_node(cgroups: &Cgroups, addresses: Addresses, node: &Node, nodes: &[Node]) -> Result<()> {
    let cgroup = node.system_cgroup();
    add_namespace(cgroups, &cgroup, &node.netns)?;
    let switch = [
        format!("link add {} type veth peer name eth0 netns {}", node.name, node.netns.display()),
        format!("link set {} master switch up", node.name),
    ];
    run_with(
        in_namespace(cgroups, &cgroup, &addresses.switch()).args(["ip", "-batch", "-"]),
        &switch.join("\n"),
    )?;
    // The namespace's own ip_forward: the pods of this node are behind it.
    let script = "set -e; ip -batch -; echo 1 > /proc/sys/net/ipv4/ip_forward";
    let inside = inside(addresses, node, nodes).join("\n");
    run_with(in_namespace(cgroups, &cgroup, &node.netns).args(["sh", "-c", script]), &inside)?;
    let (pods, ip) = (node.pods.to_string(), node.ip.to_string());
    run(process::command(cgroups, &cgroup, "ip").args(["route", "replace", &pods, "via", &ip])).map(drop)
}

/// Not `ip netns add`: that leaves a mount at /run/netns behind, and does not like to be called twice at once.
fn add_namespace(cgroups: &Cgroups, cgroup: &str, file: &Path) -> Result<()> {
    fs::write(file, "").at("write", file)?;
    run(process::command(cgroups, cgroup, "unshare").arg(format!("--net={}", file.display())).arg("true"))
        .map(drop)
}

fn in_namespace(cgroups: &Cgroups, cgroup: &str, file: &Path) -> Command {
    let mut command = process::command(cgroups, cgroup, "nsenter");
    command.arg(format!("--net={}", file.display()));
    command
}

fn inside(addresses: Addresses, node: &Node, nodes: &[Node]) -> Vec<String> {
    let mut batch = vec![
        "link set lo up".into(),
        format!("addr add {}/{} dev eth0", node.ip, addresses.nodes().bits),
        "link set eth0 up".into(),
        format!("route add default via {}", addresses.host_ip()),
    ];
    let others = nodes.iter().filter(|other| other.number != node.number);
    batch.extend(others.map(|other| format!("route replace {} via {}", other.pods, other.ip)));
    batch
}

/// Pulls a node's cable out of the switch.
pub(crate) fn unplug(addresses: Addresses, node: &Node) -> Result<()> {
    run(at_switch(addresses).args(["ip", "link", "set", &node.name, "down"])).map(drop)
}

pub(crate) fn plug(addresses: Addresses, node: &Node) -> Result<()> {
    run(at_switch(addresses).args(["ip", "link", "set", &node.name, "up"])).map(drop)
}

/// The nodes that are cut off.
pub(crate) fn cut_off(addresses: Addresses) -> Result<Vec<String>> {
    let links = json(&run(at_switch(addresses).args(["ip", "-json", "link", "show"]))?)?;
    let is_up = |link: &Value| {
        let flags = link.get("flags").and_then(Value::as_array).into_iter().flatten();
        flags.filter_map(Value::as_str).any(|flag| flag == "UP")
    };
    let down = links.iter().filter(|link| !is_up(link)).filter_map(|link| link.get("ifname")?.as_str());
    Ok(down.map(String::from).collect())
}

fn at_switch(addresses: Addresses) -> Command {
    let mut command = process::clean("nsenter");
    command.arg(format!("--net={}", addresses.switch().display()));
    command
}

/// Removes the host's link to the switch, and the routes with it. The others go with their namespaces.
pub(crate) fn remove_link(addresses: Addresses) -> Result<()> {
    let link = addresses.link();
    match run(ip().args(["link", "del", &link])) {
        Err(error) if Path::new("/sys/class/net").join(&link).exists() => Err(error),
        _ => Ok(()),
    }
}

/// Unmounts everything at and below `directory`, innermost first: the files that keep network namespaces alive.
pub(crate) fn unmount_below(directory: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/self/mounts").at("read", "/proc/self/mounts")?;
    for point in mounts_below(&mounts, directory).into_iter().rev() {
        run(process::clean("umount").arg(point))?;
    }
    Ok(())
}

fn mounts_below<'m>(mounts: &'m str, directory: &Path) -> Vec<&'m str> {
    mounts
        .lines()
        .filter_map(|mount| mount.split_whitespace().nth(1))
        .filter(|point| Path::new(point).starts_with(directory))
        .collect()
}

pub(crate) fn links() -> Result<Vec<String>> {
    let entries = fs::read_dir("/sys/class/net").at("read", "/sys/class/net")?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Every subnet and address that the host has a route to, but for the default.
pub(crate) fn subnets() -> Result<Vec<Subnet>> {
    let routes = json(&run(ip().args(["-json", "-4", "route", "show", "table", "all"]))?)?;
    Ok(routes.iter().filter_map(|route| Subnet::parse(route.get("dst")?.as_str()?)).collect())
}

fn json(said: &str) -> Result<Vec<Value>> {
    serde_json::from_str(said).map_err(|error| {
        Error::Refused(format!("`ip -json` does not answer in JSON ({error}): is it iproute2?"))
    })
}

fn ip() -> Command {
    process::clean("ip")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_node_reaches_the_pods_of_the_others_directly() {
        let addresses = Addresses { slot: 1 };
        let nodes: Vec<Node> = (1..=3).map(|n| addresses.node(n)).collect();
        expect![[r"
            link set lo up
            addr add 10.79.1.12/24 dev eth0
            link set eth0 up
            route add default via 10.79.1.1
            route replace 10.161.1.0/24 via 10.79.1.11
            route replace 10.161.3.0/24 via 10.79.1.13"]]
        .assert_eq(&inside(addresses, &nodes[1], &nodes).join("\n"));
    }

    #[test]
    fn only_mounts_below_the_slot_are_its_own() {
        let mounts = "nsfs /run/capstan-lab/slot1/node1.net nsfs rw 0 0\nnsfs /run/capstan-lab/slot10/node1.net nsfs rw 0 0\n";
        assert_eq!(
            mounts_below(mounts, Path::new("/run/capstan-lab/slot1")),
            ["/run/capstan-lab/slot1/node1.net"]
        );
    }
}
