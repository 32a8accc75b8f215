//! How much it is: the README says it, and it stays true. Who adds lines that any operator needs puts them into the kit.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// No more than this in all.
const MOST: usize = 1600;
/// The rows of the README's table, and which files of `src/` they are about.
const PARTS: [(&str, &[&str]); 3] = [
    ("the resource", &["lib.rs", "types.rs"]),
    ("its operator", &["operator.rs", "operator/"]),
    ("the application", &["app.rs", "app/"]),
];

/// The lines that are neither empty nor comments nor tests, and the modules that are tests.
fn count(text: &str) -> (usize, Vec<String>) {
    let (mut lines, mut tests, mut is_test) = (0, Vec::new(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        match line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            _ if line == "#[cfg(test)]" => is_test = true,
            Some(module) if is_test => {
                tests.push(module.to_owned());
                is_test = false;
            }
            // Modules of tests are the last thing of a file.
            None if is_test => break,
            _ => lines += 1,
        }
    }
    (lines, tests)
}

/// Every source file below `dir` but those of tests, by its path in `src/`.
fn files(file: &Path, path: &str, found: &mut BTreeMap<String, usize>) {
    let (lines, tests) = count(&fs::read_to_string(file).unwrap());
    found.insert(path.to_owned(), lines);
    let dir = if path == "lib.rs" { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    let Ok(entries) = fs::read_dir(&dir) else { return };
    let modules: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    for module in modules.iter().filter(|it| it.extension().is_some_and(|ext| ext == "rs")) {
        let name = module.file_stem().unwrap().to_string_lossy().into_owned();
        if name != "lib" && !tests.contains(&name) {
            let below = path.strip_suffix(".rs").filter(|stem| *stem != "lib");
            let path = below.map_or(format!("{name}.rs"), |stem| format!("{stem}/{name}.rs"));
            files(module, &path, found);
        }
    }
}

#[test]
fn the_readme_says_how_much_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    files(&root.join("src/lib.rs"), "lib.rs", &mut found);
    let of = |places: &[&str]| -> usize {
        let is_in = |path: &str| {
            places.iter().any(|place| path == *place || place.ends_with('/') && path.starts_with(place))
        };
        found.iter().filter(|(path, _)| is_in(path)).map(|(_, lines)| lines).sum()
    };
    let all: usize = found.values().sum();
    let rows = PARTS.map(|(part, places)| (part, of(places))).into_iter().chain([("in all", all)]);
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let thousands = |lines: usize| match lines / 1000 {
        0 => lines.to_string(),
        thousands => format!("{thousands},{:03}", lines % 1000),
    };
    for (part, lines) in rows {
        let row = format!("| {part} | {} |", thousands(lines));
        assert!(readme.contains(&row), "README.md, \"How much it is\", should have: {row}\n{found:#?}");
    }
    assert!(all <= MOST, "{all} lines: what does any operator need of it? That belongs into the kit");
}

#[test]
fn tests_comments_and_empty_lines_do_not_count() {
    let text = "//! A file.\n\nmod a;\n#[cfg(test)]\nmod model;\n\nfn f() {\n    // Why.\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
    assert_eq!(count(text), (3, vec!["model".to_owned()]));
}
