//! The Makefile is the front door: what it can do, `make help` lists.

use crate::tree::File;

/// The targets, each with its line of help.
pub(super) fn targets(makefile: &str) -> Vec<(&str, Option<&str>)> {
    let lines = makefile.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let rules = lines.filter_map(|line| line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')));
    rules.map(|(name, rest)| (name, rest.split_once("## ").map(|(_, help)| help.trim()))).collect()
}

pub(super) fn help(files: &[File]) -> Vec<String> {
    let Some(makefile) = files.iter().find(|file| file.path == "Makefile") else {
        return vec!["there is no Makefile".into()];
    };
    let phony: Vec<&str> = makefile
        .text
        .lines()
        .filter_map(|line| line.strip_prefix(".PHONY:"))
        .flat_map(str::split_whitespace)
        .collect();
    let mut broken = Vec::new();
    for (target, help) in targets(&makefile.text) {
        // `help` shows lower-case names with their text.
        if help.is_none_or(str::is_empty) || !target.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
            broken.push(format!("Makefile: `{target}` needs `## <one line>`, and a name of a-z and -"));
        }
        if !phony.contains(&target) {
            broken.push(format!(
                "Makefile: `{target}` must be .PHONY: a file of that name would switch it off"
            ));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_help_is_found() {
        let makefile = "X := 1\n.PHONY: a b\n\na: ## Does a\n\techo x: y\nb: a\nc: ## Does c\n";
        let broken = help(&[File::new("Makefile", makefile)]);
        assert_eq!(
            broken,
            [
                "Makefile: `b` needs `## <one line>`, and a name of a-z and -",
                "Makefile: `c` must be .PHONY: a file of that name would switch it off",
            ]
        );
    }
}
