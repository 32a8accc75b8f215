//! A tree of lines, with its branches drawn.

/// A line, and what hangs below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::etcd) struct Tree {
    text: String,
    below: Vec<Tree>,
}

impl Tree {
    pub(in crate::etcd) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), below: Vec::new() }
    }

    pub(in crate::etcd) fn add(&mut self, tree: impl Into<Tree>) {
        self.below.push(tree.into());
    }

    pub(in crate::etcd) fn with(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.below.extend(lines.into_iter().map(Self::new));
        self
    }

    pub(in crate::etcd) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.text.clone()];
        let last = self.below.len().saturating_sub(1);
        for (index, child) in self.below.iter().enumerate() {
            let (first, rest) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let drawn = child.lines().into_iter().zip([first].into_iter().chain(std::iter::repeat(rest)));
            lines.extend(drawn.map(|(line, branch)| format!("{branch}{line}")));
        }
        lines
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_end_with_their_last_leaf() {
        let mut tree = Tree::new("a");
        tree.add(Tree::new("b").with(["c".into(), "d".into()]));
        tree.add("e".to_owned());
        assert_eq!(tree.lines(), ["a", "├─ b", "│  ├─ c", "│  └─ d", "└─ e"]);
    }
}
