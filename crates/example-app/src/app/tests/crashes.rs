//! Migration: its ways, and a crash before every single change that it makes to the disk.

use super::*;
use expect_test::expect;

const NOTES: &[(&str, &str)] = &[("bread", "1 loaf"), ("milk", "2 litres"), ("käse", "")];

#[test]
fn an_upgrade_keeps_every_note_and_its_time() {
    let volume = Volume::with("0.0.1", NOTES);
    let before = Tree::open(&volume).unwrap().unwrap().get(&name("milk")).unwrap().unwrap();
    assert_eq!(fs::read(volume.file_of("milk")).unwrap(), b"2 litres", "format 1 is the text itself");

    let done = migrate(&volume, "0.0.2", &Disk::default()).unwrap();

    assert_eq!(done, json!({"notes": 3, "format": 2}));
    assert_eq!(volume.notes(), texts(NOTES));
    assert_eq!(Tree::open(&volume).unwrap().unwrap().get(&name("milk")).unwrap().unwrap(), before);
    assert_eq!(volume.entries(), ["FORMAT", "tree-2"]);
    let again = migrate(&volume, "0.1.0", &Disk::default()).unwrap();
    assert_eq!((again, volume.entries()), (done, vec!["FORMAT".to_owned(), "tree-2".to_owned()]));
}

#[test]
fn a_way_that_does_not_exist_is_refused_with_the_next_step_and_touches_nothing() {
    let old = Volume::with("0.0.1", NOTES);
    let to = |volume: &Volume, version: &str| message(migrate(volume, version, &Disk::default()), volume);
    expect!["64: 0.1.0 cannot read data of format 1: set 0.0.2 first, then 0.1.0"]
        .assert_eq(&to(&old, "0.1.0"));
    expect![
        "64: the data has format 1, and 0.0.2 reads format 2: run `example-app migrate --to 0.0.2` first"
    ]
    .assert_eq(&message(open(&old, "0.0.2"), &old));
    assert_eq!((old.format(), old.notes()), (Format::Raw, texts(NOTES)));
    let new = Volume::with("0.1.0", NOTES);
    expect!["64: 0.0.1 cannot read data of format 2: stay at 0.0.2 or a later version, or restore a backup that 0.0.1 made"]
        .assert_eq(&to(&new, "0.0.1"));
}

#[test]
fn a_failed_upgrade_is_undone_with_every_note_and_can_be_interrupted() {
    let mut steps = 0;
    loop {
        let volume = Volume::with("0.0.2", NOTES);
        let first = migrate_back(&volume, "0.0.1", &Disk::that_stops_after(steps));
        let second = migrate_back(&volume, "0.0.1", &Disk::default()).unwrap();
        assert_eq!(second, json!({"notes": 3, "format": 1}), "after {steps} changes");
        assert_eq!(volume.notes(), texts(NOTES));
        if first.is_ok() {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "the stops came, {steps} of them");
}

#[test]
fn a_migration_that_dies_before_any_change_to_the_disk_can_be_started_again() {
    let mut steps = 0;
    loop {
        let volume = Volume::with("0.0.1", NOTES);
        let first = migrate(&volume, "0.0.2", &Disk::that_stops_after(steps));
        assert_eq!(volume.notes(), texts(NOTES), "after {steps} changes every note is there, old or new");

        let second = migrate(&volume, "0.0.2", &Disk::default()).unwrap();
        assert_eq!(second, json!({"notes": 3, "format": 2}), "after {steps} changes");
        assert_eq!(volume.notes(), texts(NOTES));
        assert_eq!(volume.entries(), ["FORMAT", "tree-2"], "nothing is left over after {steps} changes");
        if first.is_ok() {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "the stops came, {steps} of them");
}

#[test]
fn a_first_start_that_dies_anywhere_can_be_repeated() {
    let mut steps = 0;
    loop {
        let volume = Volume::new();
        fs::create_dir(volume.join("lost+found")).unwrap();
        let first = Tree::open_or_create(&volume, Format::Checked, &Disk::that_stops_after(steps));
        write(&open(&volume, "0.0.2").unwrap(), "milk", "2 litres").unwrap();
        assert_eq!(volume.notes(), texts(&[("milk", "2 litres")]), "after {steps} changes");
        if first.is_ok() {
            break;
        }
        steps += 1;
    }
    assert!(steps > 3, "the stops came, {steps} of them");
}

#[test]
fn a_write_that_dies_anywhere_leaves_the_old_note_or_the_new_one() {
    for steps in 0..6 {
        let volume = Volume::with("0.0.2", NOTES);
        let tree = Tree::open(&volume).unwrap().unwrap();
        let note = Note { text: "3 litres".into(), ..tree.get(&name("milk")).unwrap().unwrap() };
        let _ = tree.put(&name("milk"), &note, &Disk::that_stops_after(steps));
        let text = open(&volume, "0.0.2").unwrap().get(&name("milk")).unwrap().unwrap().text;
        assert!(["2 litres", "3 litres"].contains(&text.as_str()), "after {steps} changes: {text}");
    }
}

#[test]
fn damage_is_found_at_the_start_and_named() {
    let check = |version: &str, damage: fn(&Volume), expected: expect_test::Expect| {
        let volume = Volume::with(version, NOTES);
        damage(&volume);
        expected.assert_eq(&message(open(&volume, version), &volume));
    };
    check(
        "0.0.1",
        |volume| fs::write(volume.file_of("milk"), b"\xff\xff").unwrap(),
        expect![[r#"65: corrupt: note "milk" in /data/tree-1/6d696c6b: it is not UTF-8 text"#]],
    );
    check(
        "0.0.2",
        |volume| {
            let text = fs::read_to_string(volume.file_of("milk")).unwrap();
            fs::write(volume.file_of("milk"), text.replace("2 litres", "9 litres")).unwrap();
        },
        expect![[r#"65: corrupt: note "milk" in /data/tree-1/6d696c6b: its checksum is wrong"#]],
    );
    check(
        "0.0.2",
        |volume| fs::copy(volume.file_of("milk"), volume.file_of("bread")).map(|_| ()).unwrap(),
        expect![[r#"65: corrupt: note "bread" in /data/tree-1/6272656164: its checksum is wrong"#]],
    );
    check(
        "0.0.1",
        |volume| fs::remove_file(volume.join("FORMAT")).unwrap(),
        expect!["65: corrupt: /data/FORMAT is missing, and the volume is not empty"],
    );
    check(
        "0.0.1",
        |volume| fs::write(volume.join("FORMAT"), "\0\0\0\0").unwrap(),
        expect!["65: corrupt: /data/FORMAT does not name a tree"],
    );
    check(
        "0.0.1",
        |volume| fs::remove_dir_all(volume.join("tree-1")).unwrap(),
        expect!["65: corrupt: /data/tree-1 is missing"],
    );
    check(
        "0.0.1",
        |volume| fs::write(volume.join("tree-1/milk"), "").unwrap(),
        expect!["65: corrupt: /data/tree-1/milk is not a note"],
    );
}

#[test]
fn damaged_data_is_not_migrated() {
    let volume = Volume::with("0.0.1", NOTES);
    fs::write(volume.file_of("milk"), b"\xff").unwrap();
    let result = migrate(&volume, "0.0.2", &Disk::default());
    assert_eq!(result.unwrap_err().exit_code(), 65);
    assert_eq!(volume.format(), Format::Raw);
}
