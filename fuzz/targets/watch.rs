//! The bytes of a watch: nothing panics, and what is cached does not depend on how they arrive.
#![no_main]

mod informer;

use informer::{Answers, both, pieces};
use libfuzzer_sys::fuzz_target;

const EMPTY_LIST: &[u8] = br#"{"metadata":{"resourceVersion":"1"},"items":[]}"#;
const ADDED: &[u8] =
    br#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"d","uid":"1","resourceVersion":"5"}}}
"#;

// First of all: the target sees what it should.
fuzz_target!(init: assert_eq!(both(|| answers(ADDED, 7)), [["d/a"], ["d/a"]]), |input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    assert_eq!(both(|| answers(bytes, usize::MAX)), both(|| answers(bytes, usize::from(*size))));
});

fn answers(bytes: &[u8], size: usize) -> Answers {
    Answers { list: pieces(EMPTY_LIST, usize::MAX), watch: pieces(bytes, size) }
}
