//! What stands at the end of each command's `--help`: what to type, and how it ends.

pub(super) const STATUS: &str = "\
Examples:
  capstan etcd status                                      all clusters of the namespace
  capstan etcd status db --watch                           one, redrawn when something changes
  capstan etcd status db --until-healthy --timeout 5m      for scripts, after an edit

Exit codes:
  0    shown; with --until-healthy: the cluster is healthy and has all that the spec asks for
  1    it cannot be had; with --until-healthy also: the spec is refused, the cluster is paused, is being deleted or waits for
       your decision, an update has failed, or the time is over; the message says which
  2    the command line is wrong
  130  stopped by Ctrl-C";

pub(super) const PLAN: &str = "\
Examples:
  capstan etcd plan db --watch           what comes next, as it changes
  capstan etcd plan -f edited.yaml       what an edit would do, before it is applied";

pub(super) const MEMBERS: &str = "\
Examples:
  capstan etcd members db --watch        drawn anew when something changes
  capstan etcd members db -o json        for programs";

pub(super) const MOVE_LEADER: &str = "\
Examples:
  capstan etcd move-leader db                            to any member that serves
  capstan etcd move-leader db --to db-2 --timeout 2m     to this one; it may wait for something that is under way

Exit codes: 0 it leads, 1 it does not (the message says why; the request is withdrawn), 2 the command line is wrong, 130 stopped
by Ctrl-C (the request is withdrawn).";

pub(super) const LOGS: &str = "\
Examples:
  capstan etcd logs db --follow --since 5m       all members, side by side
  capstan etcd logs db db-2 --previous           one, before its last restart

Exit codes: 0 all were read, 1 some were not (the others are shown), 2 the command line is wrong, 130 stopped by Ctrl-C.";

pub(super) const LOAD: &str = "\
Examples:
  capstan etcd load --endpoints https://db-client:2379 --tls /tls
  capstan etcd load --endpoints http://localhost:2379 --for 30s --every 100ms

Exit codes: 0 every request was answered rightly, 1 some were not, 2 the command line is wrong.";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::commands::{Command, arguments};

    #[test]
    fn every_command_shows_how_it_is_typed_and_that_can_be_typed() {
        let whole = Command::command();
        let etcd = whole.find_subcommand("etcd").unwrap();
        for command in etcd.get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let typed = |line: &str| {
                let line = line.trim().split("   ").next()?;
                line.starts_with("capstan ").then(|| line.trim().to_owned())
            };
            let examples: Vec<String> = help.lines().filter_map(typed).collect();
            assert!(examples.len() >= 2, "{}: {help}", command.get_name());
            for line in examples {
                assert!(line.starts_with(&format!("capstan etcd {}", command.get_name())), "{line}");
                let parsed = Command::try_parse_from(arguments(line.split(' ').map(Into::into)));
                assert!(parsed.is_ok(), "{line}: {}", parsed.err().unwrap());
            }
        }
    }
}
