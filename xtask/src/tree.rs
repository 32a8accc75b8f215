//! The files of the repository.

use std::path::Path;

/// Where the repository is.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

#[cfg(test)]
pub(crate) use walk::{File, files};

#[cfg(test)]
mod walk {
    use std::{fs, path::Path};

    /// What is made by machines, or belongs to git.
    const NOT_OURS: &[&str] = &[".git", "target", "corpus", "artifacts"];

    /// A text file, by its path from the root.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct File {
        pub(crate) path: String,
        pub(crate) text: String,
    }

    impl File {
        pub(crate) fn new(path: &str, text: &str) -> Self {
            Self { path: path.into(), text: text.into() }
        }

        pub(crate) fn is_rust(&self) -> bool {
            self.path.ends_with(".rs")
        }

        /// The lines with their numbers, from 1.
        pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
            self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
        }
    }

    /// All text files that are ours, committed or not yet.
    pub(crate) fn files() -> Vec<File> {
        let mut files = Vec::new();
        walk(super::root(), "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(files.iter().any(|file| file.path == "xtask/src/main.rs"), "this is not the tree of Capstan");
        files
    }

    fn walk(directory: &Path, place: &str, files: &mut Vec<File>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let (path, kind) = (format!("{place}{name}"), entry.file_type().unwrap());
            if NOT_OURS.contains(&name.as_str()) || kind.is_symlink() {
                continue;
            } else if kind.is_dir() {
                walk(&entry.path(), &format!("{path}/"), files);
            } else if let Ok(text) = String::from_utf8(fs::read(entry.path()).unwrap()) {
                files.push(File { path, text });
            }
        }
    }
}
