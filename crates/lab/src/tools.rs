//! What a user types with: kubectl and the operands' own tools, in one directory per lab for PATH.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{
    cache,
    error::{At as _, Result},
    lab::Lab,
    slot::remove_all,
};

/// Tools of the operands, as far as they are built.
const TOOLS: &[&str] = &["etcdctl", "etcdutl", "promtool", "amtool", "thanos"];

impl Lab {
    /// Shell lines that set KUBECONFIG and PATH to this lab, and let no proxy come between.
    pub fn env(&self) -> Result<String> {
        let tools = self.tools()?;
        Ok(format!(
            "export KUBECONFIG={}\nexport PATH={}:\"$PATH\"\nexport NO_PROXY=\"${{NO_PROXY:+$NO_PROXY,}}{}\"\n",
            quoted(&self.kubeconfig()),
            quoted(&tools),
            self.addresses().host_ip()
        ))
    }

    /// A directory with links to kubectl and the newest of each tool that is built.
    fn tools(&self) -> Result<PathBuf> {
        let directory = self.directory().join("bin");
        remove_all(&directory)?;
        fs::create_dir_all(&directory).at("make", &directory)?;
        let bin = cache()?.join("bin");
        let mut built: Vec<PathBuf> =
            fs::read_dir(bin).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        built.sort_by_key(|directory| version(directory));
        let found = TOOLS.iter().filter_map(|tool| {
            let newest =
                built.iter().rev().map(|directory| directory.join(tool)).find(|program| program.is_file());
            newest.map(|program| (*tool, program))
        });
        for (name, program) in found.chain([("kubectl", self.program("kubectl"))]) {
            let link = directory.join(name);
            symlink(program, &link).at("make", &link)?;
        }
        Ok(directory)
    }
}

/// The numbers in `etcd-3.6.16-<hash>`, by which 3.6.16 comes after 3.6.4.
fn version(directory: &Path) -> Vec<u32> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.split('-').find(|part| part.contains('.')).unwrap_or_default();
    version.split('.').map(|number| number.parse().unwrap_or_default()).collect()
}

/// One word for the shell, whatever is in it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_last_by_number() {
        let mut names = ["etcd-3.6.4-ab12", "etcd-3.6.16-cd34", "etcd-3.5.35-ef56"].map(Path::new);
        names.sort_by_key(|name| version(name));
        assert_eq!(names.map(version), [vec![3, 5, 35], vec![3, 6, 4], vec![3, 6, 16]]);
    }

    #[test]
    fn a_path_with_a_quote_stays_one_word() {
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
