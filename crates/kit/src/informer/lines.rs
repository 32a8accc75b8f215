//! Cuts a stream of bytes into lines, without copying a line that arrives in one piece.

use std::io::BufRead;

use bytes::{Bytes, BytesMut};

/// No object is as large as this: etcd stops at 1.5 MiB, some raise it to 10.
const LONGEST: usize = 32 << 20;

/// The lines of a watch.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The start of a line whose end has not arrived.
    begun: BytesMut,
    arrived: Bytes,
}

/// A line above any sensible length: something is not what we think it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than {LONGEST} bytes")]
pub(super) struct TooLong;

impl Lines {
    /// Takes what has arrived. Take all its lines before the next.
    pub(super) fn push(&mut self, arrived: Bytes) {
        self.arrived = arrived;
    }

    /// The next complete line, without its end; empty lines are skipped.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        loop {
            let Some(end) = end_of_line(&self.arrived) else {
                if self.begun.len() + self.arrived.len() > LONGEST {
                    return Err(TooLong);
                }
                self.begun.extend_from_slice(&std::mem::take(&mut self.arrived));
                return Ok(None);
            };
            let rest = self.arrived.split_to(end);
            let _newline = self.arrived.split_to(1);
            let line = if self.begun.is_empty() {
                rest
            } else {
                self.begun.extend_from_slice(&rest);
                self.begun.split().freeze()
            };
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

/// Where the first line ends. `skip_until` is the standard library's way to a vectorised search for a byte.
fn end_of_line(mut bytes: &[u8]) -> Option<usize> {
    let whole = bytes;
    let skipped = bytes.skip_until(b'\n').unwrap_or_default();
    whole.get(skipped.checked_sub(1)?).is_some_and(|last| *last == b'\n').then(|| skipped - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(lines: &mut Lines, arrived: impl Into<Bytes>) -> Vec<Bytes> {
        lines.push(arrived.into());
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn a_line_in_one_piece_is_not_copied() {
        let arrived = Bytes::from_static(b"one\ntwo\n");
        let lines = cut(&mut Lines::default(), arrived.clone());
        assert_eq!(lines, ["one", "two"]);
        assert_eq!(lines[0].as_ptr(), arrived.as_ptr());
    }

    #[test]
    fn a_line_that_never_ends_is_an_error_not_all_the_memory() {
        let mut lines = Lines::default();
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let pushes = (0..100).take_while(|_| {
            lines.push(piece.clone());
            lines.next().is_ok()
        });
        assert_eq!(pushes.count(), 32);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(text in "[ab\n]{0,40}", pieces in prop::collection::vec(1_usize..6, 0..40)) {
            let mut expected: Vec<&str> = text.split('\n').collect();
            expected.pop();
            expected.retain(|line| !line.is_empty());
            let (mut lines, mut rest, mut found) = (Lines::default(), Bytes::from(text.clone()), Vec::new());
            for size in pieces.into_iter().chain(std::iter::once(usize::MAX)) {
                let piece = rest.split_to(size.min(rest.len()));
                found.extend(cut(&mut lines, piece));
            }
            prop_assert_eq!(found, expected);
        }
    }
}
