//! Backup and restore by the real command line, against an S3 server in this process.

use std::net::SocketAddr;

use super::super::{What, run_to_end};
use super::{command_line::Line, *};
use clap::Parser as _;
use expect_test::expect;
use kit::bucket::Load;

const NOTES: &[(&str, &str)] = &[("bread", "1 loaf"), ("milk", "2 litres")];

/// An S3 server with the bucket `backups`.
struct Store {
    root: Volume,
    address: SocketAddr,
}

impl Store {
    async fn start() -> Self {
        let root = Volume::new();
        fs::create_dir(root.join("backups")).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, _) = ::s3::serve(root.0.clone(), any, "key", "secret").await.unwrap();
        Self { root, address }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.root.join("backups").join(key)
    }

    /// Runs a command; `{host}` and `{data}` are filled in, and more flags win over the usual ones.
    async fn run(&self, line: &str, volume: &Volume) -> Result<Value, Failure> {
        let (command, flags) = line.split_once(' ').unwrap_or((line, ""));
        let mut flags: BTreeMap<String, String> = flags
            .split(' ')
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| (pair[0].to_owned(), pair[1].to_owned()))
            .collect();
        for (flag, value) in [
            ("--data", volume.display().to_string()),
            ("--host", format!("http://{}", self.address)),
            ("--bucket", "backups".to_owned()),
            ("--access-key-id", "key".to_owned()),
            ("--secret-access-key", "secret".to_owned()),
        ] {
            flags.entry(flag.to_owned()).or_insert(value);
        }
        let flags = flags.into_iter().flat_map(|(flag, value)| [flag, value]);
        let line = ["app".to_owned(), command.to_owned()].into_iter().chain(flags);
        let command = Line::try_parse_from(line).unwrap_or_else(|error| panic!("{error}")).command;
        let clock = Clock::starting_at("2026-11-16T03:15:00Z".parse().unwrap());
        run_to_end(command, clock).await
    }

    async fn refused(&self, line: &str, volume: &Volume) -> String {
        message(self.run(line, volume).await, volume).replace(&self.address.to_string(), "s3.example")
    }
}

#[tokio::test]
async fn a_backup_is_one_object_and_restores_into_a_new_volume_and_in_place() {
    let store = Store::start().await;
    for version in ["0.0.1", "0.0.2"] {
        let volume = Volume::with(version, NOTES);
        let done = store.run(&format!("backup --key {version}/first.notes"), &volume).await.unwrap();
        let bytes = fs::read(store.file(&format!("{version}/first.notes"))).unwrap();
        let key = format!("{version}/first.notes");
        let format = volume.format().number();
        assert_eq!(done, json!({"key": key, "bytes": bytes.len(), "notes": 2, "format": format}));

        let new = Volume::new();
        let restored = store.run(&format!("restore --key {version}/first.notes"), &new).await.unwrap();
        assert_eq!(restored, done);
        assert_eq!((new.format(), new.notes()), (volume.format(), texts(NOTES)));

        write(&open(&volume, version).unwrap(), "milk", "spilt").unwrap();
        store.run(&format!("restore --key {version}/first.notes"), &volume).await.unwrap();
        assert_eq!(volume.notes(), texts(NOTES));
        assert_eq!(volume.entries(), ["FORMAT", "before-restore", "tree-2"]);
        assert!(fs::read_to_string(volume.join("before-restore/6d696c6b")).unwrap().contains("spilt"));
        open(&volume, version).unwrap();
    }
}

#[tokio::test]
async fn a_prefix_gives_a_name_by_time_and_latest_is_the_greatest_of_them() {
    let store = Store::start().await;
    let volume = Volume::with("0.0.2", NOTES);
    let done = store.run("backup --prefix default/shop/", &volume).await.unwrap();
    expect![[r#"default/shop/20261116T031500Z.notes"#]].assert_eq(done["key"].as_str().unwrap());
    fs::copy(
        store.file("default/shop/20261116T031500Z.notes"),
        store.file("default/shop/20251116T031500Z.notes"),
    )
    .unwrap();
    fs::write(store.file("default/shop/zzz.txt"), "not a backup").unwrap();
    fs::create_dir_all(store.file("default/shop-2")).unwrap();
    fs::write(store.file("default/shop-2/20991116T031500Z.notes"), "another one's").unwrap();
    let restored = store.run("restore --key latest --prefix default/shop/", &Volume::new()).await.unwrap();
    assert_eq!(restored["key"], "default/shop/20261116T031500Z.notes");
}

#[tokio::test]
async fn the_line_for_the_operator_has_what_it_needs() {
    let store = Store::start().await;
    let volume = Volume::with("0.0.2", &[]);
    let done = store.run("backup --key a.notes", &volume).await.unwrap();
    expect![[r#"{"bytes":100,"format":2,"key":"a.notes","notes":0}"#]].assert_eq(&done.to_string());
}

/// What the store says is the kit's business (`kit::bucket`); here, what the Job's exit code tells Kubernetes of it.
#[tokio::test]
async fn a_store_that_refuses_is_told_from_one_that_does_not_answer() {
    let store = Store::start().await;
    let volume = Volume::with("0.0.2", NOTES);
    store.run("backup --key shop/a.notes", &volume).await.unwrap();
    let refused = async |line: &str| store.refused(line, &volume).await;
    expect!["77: bucket backups at http://s3.example: SignatureDoesNotMatch; check the bucket, the access key and its secret, and what the key may do"].assert_eq(&refused("backup --key b.notes --secret-access-key wrong").await);
    expect!["64: bucket backups at http://s3.example: there is no backup below nobody/"]
        .assert_eq(&refused("restore --key latest --prefix nobody/").await);
    assert_eq!(volume.entries(), ["FORMAT", "tree-1"], "nothing was touched");

    // A port that was just free, and that nobody listens on.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure =
        store.run(&format!("backup --key b.notes --host http://{free}"), &volume).await.unwrap_err();
    assert_eq!(failure.exit_code(), 75, "{failure}");
}

#[tokio::test]
async fn a_damaged_backup_is_not_restored_and_touches_nothing() {
    let store = Store::start().await;
    let volume = Volume::with("0.0.2", NOTES);
    store.run("backup --key good.notes", &volume).await.unwrap();
    let good = fs::read_to_string(store.file("good.notes")).unwrap();
    for (damage, bad) in [
        ("tampered", good.replace("2 litres", "9 litres")),
        ("truncated", good[..good.len() / 2].to_owned()),
        ("without its last byte", good.trim_end().to_owned()),
        ("empty", String::new()),
    ] {
        fs::write(store.file("bad.notes"), bad).unwrap();
        let failure = store.run("restore --key bad.notes", &volume).await.unwrap_err();
        assert_eq!(failure.exit_code(), 65, "{damage}: {failure}");
        assert_eq!(
            (volume.entries(), volume.notes()),
            (vec!["FORMAT".into(), "tree-1".into()], texts(NOTES)),
            "{damage}"
        );
    }
}

#[tokio::test]
async fn damaged_data_is_not_backed_up() {
    let store = Store::start().await;
    let volume = Volume::with("0.0.2", NOTES);
    fs::write(volume.file_of("milk"), "").unwrap();
    assert_eq!(store.run("backup --key a.notes", &volume).await.unwrap_err().exit_code(), 65);
    assert!(!store.file("a.notes").exists());
    assert_eq!(store.run("backup --key a.notes", &Volume::new()).await.unwrap_err().exit_code(), 64);
}

#[tokio::test]
async fn a_restore_that_dies_before_any_change_to_the_disk_can_be_started_again() {
    let store = Store::start().await;
    let source = Volume::with("0.0.2", NOTES);
    store.run("backup --key a.notes", &source).await.unwrap();
    let restore = Line::try_parse_from([
        "app",
        "restore",
        "--data",
        "/",
        "--key",
        "a.notes",
        "--bucket",
        "backups",
        "--access-key-id",
        "key",
        "--secret-access-key",
        "secret",
        "--host",
        &format!("http://{}", store.address),
    ]);
    let What::Restore(from) = restore.unwrap().command.what else { panic!("it is a restore") };
    for damaged in [false, true] {
        let steps = stop_everywhere(&from, damaged).await;
        assert!(steps > 10, "the stops came, {steps} of them");
    }
}

/// Restores over `{"milk": "spilt"}`, dying before each change in turn; the number of changes.
async fn stop_everywhere(from: &Load, damaged: bool) -> usize {
    for steps in 0.. {
        let volume = Volume::with("0.0.2", &[("milk", "spilt")]);
        if damaged {
            fs::write(volume.join("FORMAT"), "").unwrap();
        }
        let restore = async |disk: Disk| work::restore(&volume, from, &disk).await;
        let first = restore(Disk::that_stops_after(steps)).await;
        if !damaged {
            let now = volume.notes();
            assert!(
                now == texts(NOTES) || now == texts(&[("milk", "spilt")]),
                "after {steps} changes: {now:?}"
            );
        }
        restore(Disk::default()).await.unwrap();
        assert_eq!(volume.notes(), texts(NOTES), "after {steps} changes");
        let kept = fs::read_to_string(volume.join("before-restore/6d696c6b")).unwrap();
        assert!(kept.contains("spilt"), "what was replaced is kept after {steps} changes");
        assert_eq!(
            volume.entries().len(),
            3,
            "nothing is left over after {steps} changes: {:?}",
            volume.entries()
        );
        if first.is_ok() {
            return steps;
        }
    }
    unreachable!("a restore ends")
}
