//! The reference of a command's flags, generated from the command.

use clap::{Arg, Command};

/// Every flag of `command`, by heading, as Markdown tables.
pub fn reference(command: &Command) -> String {
    let mut headings: Vec<(&str, Vec<&Arg>)> = Vec::new();
    for arg in command.get_arguments().filter(|arg| arg.get_long().is_some() && !arg.is_hide_set()) {
        let heading = arg.get_help_heading().unwrap_or("Options");
        match headings.iter_mut().find(|(name, _)| *name == heading) {
            Some((_, args)) => args.push(arg),
            None => headings.push((heading, vec![arg])),
        }
    }
    let tables = headings.iter().map(|(heading, args)| {
        let rows: String = args.iter().map(|arg| row(arg)).collect();
        format!("## {heading}\n\n| flag | environment | default | meaning |\n|---|---|---|---|\n{rows}")
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn row(arg: &Arg) -> String {
    let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
    let value =
        arg.get_value_names().filter(|_| arg.get_action().takes_values()).and_then(|names| names.first());
    let flag = match (arg.get_long().unwrap_or_default(), value) {
        // `true` or `false` can be left out.
        (long, Some(_)) if arg.is_require_equals_set() => format!("--{long}[=false]"),
        (long, Some(value)) => format!("--{long} {value}"),
        (long, None) => format!("--{long}"),
    };
    let environment = arg.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if arg.get_action().takes_values() { defaults.join(",") } else { String::new() };
    // clap takes the full stop off a doc comment.
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut help = format!("{}.", help.trim_end_matches('.').replace('\n', " ").replace('|', "\\|"));
    let possible: Vec<_> =
        arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !possible.is_empty() && !arg.is_require_equals_set() {
        help += &format!(" One of {}.", possible.join(", "));
    }
    format!("| {} | {} | {} | {help} |\n", code(flag), code(environment), code(default))
}
