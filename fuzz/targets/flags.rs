//! What people write on a command line, one word per line: it is understood or refused, and what is understood can be written down
//! and understood again.
#![no_main]

use clap::{Args as _, FromArgMatches as _};
use kit::{
    flags::{OperatorFlags, accept_single_dash},
    serve::Listen,
    telemetry::Filter,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(listen) = text.parse::<Listen>() {
        assert_eq!(listen.to_string().parse(), Ok(listen));
    }
    if let Ok(filter) = text.parse::<Filter>() {
        assert_eq!(filter.to_string().parse(), Ok(filter));
    }
    let command = OperatorFlags::augment_args(clap::Command::new("operator"));
    let words = accept_single_dash(["operator"].into_iter().chain(text.lines()).map(Into::into));
    if let Ok(matches) = command.try_get_matches_from(words)
        && let Ok(flags) = OperatorFlags::from_arg_matches(&matches)
        && let Err(errors) = flags.validate("operator")
    {
        assert!(errors.0.iter().all(|error| error.flag.starts_with("--")), "{errors}");
    }
});
