//! The demo's output in README.md: real, because it is written by running the demo.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tree;

/// What stands before the block.
const MARK: &str = "<!-- output of: make demo -->\n";
const FENCE: &str = "```";

/// What `make demo` prints, when it prints to no terminal.
pub(super) fn output() -> Result<String> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let demo =
        Command::new(cargo).args(["run", "--quiet", "--example", "tour"]).current_dir(tree::root()).output();
    let demo = demo.context("cannot run cargo")?;
    let told = String::from_utf8(demo.stdout).context("the demo does not print text")?;
    if !demo.status.success() {
        bail!("the demo failed:\n{told}{}", String::from_utf8_lossy(&demo.stderr));
    }
    Ok(told)
}

/// `readme` with `output` in the block after the mark.
pub(super) fn refresh(readme: &str, output: &str) -> Result<String> {
    let lost = || format!("there must be `{}` before a fenced block", MARK.trim_end());
    let (before, rest) = readme.split_once(MARK).with_context(lost)?;
    let (opening, block) = rest.split_once('\n').with_context(lost)?;
    let (_, after) = block.split_once(FENCE).filter(|_| opening.starts_with(FENCE)).with_context(lost)?;
    Ok(format!("{before}{MARK}{opening}\n{}\n{FENCE}{after}", output.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_after_the_mark_changes() {
        let readme = "a\n<!-- output of: make demo -->\n```text\nold\n```\nb\n```\nc\n```\n";
        let fresh = refresh(readme, "new\n").unwrap();
        assert_eq!(fresh, "a\n<!-- output of: make demo -->\n```text\nnew\n```\nb\n```\nc\n```\n");
        assert_eq!(refresh(&fresh, "new\n").unwrap(), fresh);
    }

    #[test]
    fn a_readme_without_the_block_is_an_error() {
        for readme in ["", "<!-- output of: make demo -->\n", "<!-- output of: make demo -->\ntext\n```\n"] {
            assert!(
                refresh(readme, "new").unwrap_err().to_string().contains("output of: make demo"),
                "{readme:?}"
            );
        }
    }
}
