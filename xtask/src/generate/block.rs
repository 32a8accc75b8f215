//! A block of a document that shows what a command prints: real, because it is written by running the command.

use anyhow::{Context as _, Result};

/// What stands before the block.
const MARK: &str = "<!-- output of: cargo run --example tour -->\n";
const FENCE: &str = "```";

/// `document` with `output` in the block after the mark.
pub(super) fn refresh(document: &str, output: &str) -> Result<String> {
    let lost = || format!("there must be `{}` before a fenced block", MARK.trim_end());
    let (before, rest) = document.split_once(MARK).with_context(lost)?;
    let (opening, block) = rest.split_once('\n').with_context(lost)?;
    let (_, after) = block.split_once(FENCE).filter(|_| opening.starts_with(FENCE)).with_context(lost)?;
    Ok(format!("{before}{MARK}{opening}\n{}\n{FENCE}{after}", output.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_after_the_mark_changes() {
        let document = "a\n<!-- output of: cargo run --example tour -->\n```text\nold\n```\nb\n```\nc\n```\n";
        let fresh = refresh(document, "new\n").unwrap();
        assert_eq!(
            fresh,
            "a\n<!-- output of: cargo run --example tour -->\n```text\nnew\n```\nb\n```\nc\n```\n"
        );
        assert_eq!(refresh(&fresh, "new\n").unwrap(), fresh);
    }

    #[test]
    fn a_document_without_the_block_is_an_error() {
        for document in [
            "",
            "<!-- output of: cargo run --example tour -->\n",
            "<!-- output of: cargo run --example tour -->\ntext\n```\n",
        ] {
            assert!(
                refresh(document, "new")
                    .unwrap_err()
                    .to_string()
                    .contains("output of: cargo run --example tour"),
                "{document:?}"
            );
        }
    }
}
