//! The bytes of a list: nothing panics, and what is cached does not depend on how they arrive.
#![no_main]

mod informer;

use informer::{Answers, both, pieces};
use libfuzzer_sys::fuzz_target;

const LIST: &[u8] = br#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"4"}}]}"#;

// First of all: the target sees what it should.
fuzz_target!(init: assert_eq!(both(|| answers(LIST, 7)), [["d/a"], ["d/a"]]), |input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    assert_eq!(both(|| answers(bytes, usize::MAX)), both(|| answers(bytes, usize::from(*size))));
});

fn answers(bytes: &[u8], size: usize) -> Answers {
    Answers { list: pieces(bytes, size), watch: Vec::new() }
}
