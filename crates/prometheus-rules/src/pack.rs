//! Rule files into ConfigMaps.

use std::collections::BTreeMap;

/// Most bytes of files in one ConfigMap: half of what Kubernetes stores, since metadata counts, too.
pub const MAX_CONFIG_MAP_BYTES: usize = 512 * 1024;

/// A ConfigMap to be: its name and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMap<'a> {
    pub name: String,
    pub files: BTreeMap<&'a str, &'a str>,
}

/// `prometheus-k8s-rulefiles-0`.
pub fn config_map_name(prefix: &str, number: usize) -> String {
    format!("{prefix}-rulefiles-{number}")
}

/// Fills ConfigMaps one after the other, in the order of the files' names; a file that does not fit opens the next.
/// There is always one, so that there is something to mount.
pub fn pack<'a>(prefix: &str, files: &'a BTreeMap<String, String>) -> Vec<ConfigMap<'a>> {
    let mut full = Vec::new();
    let mut current = BTreeMap::new();
    let mut size = 0;
    for (name, content) in files {
        if size + content.len() > MAX_CONFIG_MAP_BYTES {
            full.push(std::mem::take(&mut current));
            size = 0;
        }
        current.insert(name.as_str(), content.as_str());
        size += content.len();
    }
    full.push(current);
    let numbered = full.into_iter().enumerate();
    numbered.map(|(number, files)| ConfigMap { name: config_map_name(prefix, number), files }).collect()
}

/// So many ConfigMaps are mounted at least, whether they exist or not: rules that grow must not restart pods.
const MOUNTED: usize = 3;

/// The ConfigMaps that a pod mounts when the rules fill so many, in the order of their names.
pub fn mounted_names(prefix: &str, packed: usize) -> Vec<String> {
    let mut names: Vec<_> = (0..packed.max(MOUNTED)).map(|number| config_map_name(prefix, number)).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sizes: &[usize]) -> Vec<usize> {
        let files = sizes.iter().enumerate().map(|(at, size)| (format!("{at}.yaml"), "x".repeat(*size)));
        let files: BTreeMap<_, _> = files.collect();
        pack("p", &files).iter().map(|map| map.files.values().map(|content| content.len()).sum()).collect()
    }

    #[test]
    fn a_file_that_does_not_fit_opens_the_next_config_map() {
        assert_eq!(sizes(&[]), [0]);
        assert_eq!(sizes(&[1, 2]), [3]);
        assert_eq!(sizes(&[MAX_CONFIG_MAP_BYTES, 1]), [MAX_CONFIG_MAP_BYTES, 1]);
        assert_eq!(sizes(&[400_000, 200_000, 100_000, 300_000]), [400_000, 300_000, 300_000]);
    }

    #[test]
    fn a_few_config_maps_are_mounted_before_they_are_needed() {
        assert_eq!(mounted_names("p", 1), ["p-rulefiles-0", "p-rulefiles-1", "p-rulefiles-2"]);
        assert_eq!(mounted_names("p", 4).len(), 4);
    }
}
