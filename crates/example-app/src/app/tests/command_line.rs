//! The commands as the operator writes them into pods, and the line that it reads back.

use super::super::{Command, run};
use super::*;
use clap::Parser;

#[derive(Parser)]
pub(super) struct Line {
    #[command(flatten)]
    pub(super) command: Command,
}

fn parse(line: &str) -> Result<Command, clap::Error> {
    Line::try_parse_from(line.split(' ')).map(|line| line.command)
}

#[test]
fn what_the_operator_renders_is_understood() {
    for line in [
        "example-app serve --app-version 0.0.1 --data /data --listen 0.0.0.0:8080 --password-file /auth/password --cache 64Mi \
         --feature exampleFeature1 --feature exampleFeature2",
        "example-app migrate --data /data --to 0.0.2",
        "example-app backup --data /data --host s3.example.com --bucket b --key default/shop/a.notes",
        "example-app backup --data /data --host http://s3:9000 --bucket b --prefix default/shop/",
        "example-app restore --data /data --host s3.example.com --bucket b --key latest --prefix default/shop/",
    ] {
        if let Err(error) = parse(line) {
            panic!("{line}: {error}");
        }
    }
    assert!(parse("example-app backup --data /data --host s3 --bucket b").is_err(), "a backup has a name");
    assert!(
        parse("example-app backup --data /data --host s3 --bucket b --key a --prefix b").is_err(),
        "and only one"
    );
    assert!(
        parse("example-app serve --app-version 0.0.1 --data /d --password-file /p --feature exampleFeature3")
            .is_err()
    );
}

#[tokio::test]
async fn the_end_is_told_in_one_line_where_kubernetes_looks_for_it() {
    let volume = Volume::with("0.0.1", &[("milk", "2 litres")]);
    let log = volume.with_extension("termination-log");
    let migrate = async |to: &str| {
        let line = format!(
            "example-app migrate --data {} --to {to} --result-file {}",
            volume.display(),
            log.display()
        );
        let code = format!("{:?}", run(parse(&line).unwrap()).await);
        (code, fs::read_to_string(&log).unwrap_or_default())
    };
    let code = |code| format!("{:?}", std::process::ExitCode::from(code));
    assert_eq!(migrate("0.0.1").await, (code(0), String::new()), "a file that is not there is not made");
    fs::write(&log, "what another container wrote, a long line\n").unwrap();
    assert_eq!(migrate("0.0.2").await, (code(0), "{\"format\":2,\"notes\":1}\n".into()));
    let refused = "{\"error\":\"version 9 is not known; the known ones are 0.0.1, 0.0.2, 0.0.3, 0.1.0\"}\n";
    assert_eq!(migrate("9").await, (code(64), refused.into()));
    fs::remove_file(log).unwrap();
}
