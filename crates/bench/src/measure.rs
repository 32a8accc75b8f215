//! What the kernel says that this process uses.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result};

/// Resident memory, in bytes.
pub fn resident() -> Result<u64> {
    of_status("VmRSS:")
}

/// The most that was resident since [`forget_peak`], in bytes.
pub fn peak() -> Result<u64> {
    of_status("VmHWM:")
}

pub fn forget_peak() -> Result<()> {
    // proc(5): 5 resets the peak resident set size to what it is now.
    fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of resident memory")
}

/// The CPU time of all threads that are alive.
pub fn cpu() -> Result<Duration> {
    cpu_of("")
}

/// The CPU time of the threads that are alive, and whose name begins so.
pub fn cpu_of(name: &str) -> Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let path = thread?.path();
        if !fs::read_to_string(path.join("comm"))?.starts_with(name) {
            continue;
        }
        let path = path.join("schedstat");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        nanoseconds += first_number(&text).context("schedstat begins with no number")?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn of_status(field: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes =
        line.and_then(first_number).with_context(|| format!("/proc/self/status has no {field}"))?;
    Ok(kibibytes * 1024)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_is_resident_and_remembered_as_the_peak() {
        // Other tests of this process come and go: half of it is enough.
        let before = resident().unwrap();
        let touched = vec![1_u8; 256 << 20];
        assert!(resident().unwrap() >= before + (128 << 20));
        drop(touched);
        assert!(peak().unwrap() >= before + (128 << 20));
    }

    #[test]
    fn work_takes_cpu_time() {
        let before = cpu().unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        while cpu().unwrap() < before + Duration::from_millis(20) {
            rng.fill(&mut [0; 1 << 16]);
        }
    }
}
