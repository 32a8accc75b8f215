//! A few large buffers that are used again and again: what a transfer has in memory follows from their number and from nothing else. Allocated
//! anew for each part and freed on another thread, they pile up in an allocator: 147 MiB were measured where 40 were in use.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where they come from, and go back to.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    size: usize,
    free: Arc<Mutex<Vec<Vec<u8>>>>,
    left: Arc<Semaphore>,
}

/// One that is being filled. It goes back when it, or the last of the [`Bytes`] that it became, is dropped.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    size: usize,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
    _place: OwnedSemaphorePermit,
}

impl Buffers {
    /// At most `count` of `size` bytes; each takes memory when it is first needed.
    pub(crate) fn new(count: usize, size: usize) -> Self {
        Self { size, free: Arc::default(), left: Arc::new(Semaphore::new(count)) }
    }

    /// An empty one, as soon as there is one. Who asks first is served first.
    pub(crate) async fn take(&self) -> Option<Buffer> {
        // An error is that the semaphore was closed, which nobody does.
        let place = self.left.clone().acquire_owned().await.ok()?;
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = used.unwrap_or_else(|| Vec::with_capacity(self.size));
        Some(Buffer { bytes, size: self.size, home: self.free.clone(), _place: place })
    }
}

impl Buffer {
    /// Takes as much as there is room for; how much that was.
    pub(crate) fn fill(&mut self, from: &[u8]) -> usize {
        let taken = from.get(..self.size - self.bytes.len()).unwrap_or(from);
        self.bytes.extend_from_slice(taken);
        taken.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() == self.size
    }

    /// To be written to in place, up to the length that it was made for.
    pub(crate) fn get_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.home.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn there_are_no_more_than_were_asked_for_and_each_comes_back() {
        let buffers = Buffers::new(2, 4);
        let mut first = buffers.take().await.unwrap();
        assert_eq!((first.fill(b"abc"), first.is_full()), (3, false));
        assert_eq!((first.fill(b"def"), first.is_full()), (1, true));
        let first = first.freeze();
        let place = first.as_ptr();
        let second = buffers.take().await.unwrap();
        assert!(buffers.take().now_or_never().is_none());

        let part = first.slice(1..3);
        drop(first);
        assert_eq!(&part[..], b"bc");
        assert!(buffers.take().now_or_never().is_none(), "a part of it is in use");
        drop(part);
        let again = buffers.take().await.unwrap();
        assert!(again.as_ref().is_empty());
        assert_eq!(again.bytes.as_ptr(), place, "the same memory");
        drop(second);
    }
}
