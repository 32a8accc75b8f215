//! Several processes on one volume.

use super::*;

#[test]
fn replicas_see_what_the_others_write_and_delete() {
    let volume = Volume::new();
    let (one, two) = (open(&volume, "0.0.2").unwrap(), open(&volume, "0.0.2").unwrap());
    let text = |notes: &Notes| notes.get(&name("milk")).unwrap().map(|note| note.text);

    assert!(write(&one, "milk", "2 litres").unwrap(), "it is new");
    assert_eq!(text(&two).as_deref(), Some("2 litres"));
    assert_eq!(text(&two).as_deref(), Some("2 litres"));
    assert_eq!(two.cache.used().hits, 1, "the second read is from the cache");
    // The same length within the same second: only inode and time tell the files apart.
    assert!(!write(&one, "milk", "3 litres").unwrap(), "it is not new");
    assert_eq!(text(&two).as_deref(), Some("3 litres"));
    assert!(two.remove(&name("milk")).unwrap());
    assert_eq!(text(&one), None);
    assert!(!one.remove(&name("milk")).unwrap());
    assert_eq!(one.keys().unwrap(), []);
}

#[test]
fn replicas_that_start_together_on_a_new_volume_agree() {
    let volume = Volume::new();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let volume = &volume;
            scope
                .spawn(move || write(&open(volume, "0.0.1").unwrap(), &format!("from-{n}"), "here").unwrap());
        }
    });
    assert_eq!(volume.notes().len(), 8);
}

#[test]
fn a_replica_follows_a_restore_and_stops_serving_after_a_migration_past_it() {
    let volume = Volume::with("0.0.1", &[("milk", "2 litres")]);
    let replica = open(&volume, "0.0.1").unwrap();
    Tree::replace(&volume, Format::Raw, &[], &Disk::default()).unwrap();
    assert_eq!(replica.keys().unwrap(), [], "the tree in use is the new one");
    assert_eq!(replica.health(), Ok(()));

    migrate(&volume, "0.0.2", &Disk::default()).unwrap();
    assert!(replica.health().unwrap_err().starts_with("0.0.1 cannot read data of format 2"));
    assert!(write(&replica, "milk", "lost?").is_err(), "it writes nothing into data of another format");
    assert_eq!(volume.notes().len(), 0);
}

#[test]
fn damage_under_a_running_replica_is_noticed_by_the_check_or_by_a_read_and_can_be_mended() {
    let volume = Volume::with("0.0.2", &[("milk", "2 litres"), ("bread", "1 loaf")]);
    let replica = open(&volume, "0.0.2").unwrap();
    fs::write(volume.file_of("milk"), "{}").unwrap();
    assert_eq!(replica.health(), Ok(()), "nobody has looked yet");
    replica.check();
    assert!(replica.health().unwrap_err().contains("note \"milk\""));
    write(&replica, "milk", "3 litres").unwrap();
    replica.check();
    assert_eq!(replica.health(), Ok(()));

    fs::write(volume.file_of("bread"), "{}").unwrap();
    assert_eq!(replica.get(&name("bread")).unwrap_err().exit_code(), 65);
    assert!(replica.health().unwrap_err().contains("note \"bread\""));

    fs::remove_file(volume.join("FORMAT")).unwrap();
    assert!(replica.health().unwrap_err().contains("FORMAT is missing"));
}
