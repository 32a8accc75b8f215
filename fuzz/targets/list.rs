//! The bytes of a list: nothing panics, and what is cached does not depend on how they arrive.
#![no_main]

mod informer;

use informer::{Answers, both, pieces};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    let answers = |size: usize| Answers { list: pieces(bytes, size), watch: Vec::new() };
    assert_eq!(both(|| answers(usize::MAX)), both(|| answers(usize::from(*size))));
});
