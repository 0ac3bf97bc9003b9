//! Counting instructions: tells valgrind's callgrind what to count.
//!
//! Run under `valgrind --tool=callgrind --instr-atstart=no`; each counted part leaves a file of its
//! own with its name in it. Outside valgrind the calls do nothing.
//!
//! # Source
//! The client requests of `callgrind.h` of release 3.19; the mechanism is that of [`crate::secret`].

use alloc::ffi::CString;

use crate::secret::{AddressOf as _, request};

/// Counts what `run` executes, under `name`. A name with a zero byte counts under none.
pub fn count<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let name = CString::new(name).unwrap_or_default();
    request(REQUEST_START, 0, 0);
    let outcome = run();
    request(REQUEST_DUMP_AT, name.as_ptr().addr_of(), 0);
    request(REQUEST_STOP, 0, 0);
    outcome
}

/// Callgrind's requests carry the letters `CT` in their top half.
const CALLGRIND: usize = 0x4354_0000;
const REQUEST_DUMP_AT: usize = CALLGRIND + 3;
const REQUEST_START: usize = CALLGRIND + 4;
const REQUEST_STOP: usize = CALLGRIND + 5;

#[cfg(test)]
mod tests {
    #[test]
    fn counting_returns_what_the_counted_part_returns() {
        assert_eq!(super::count("sum", || 2 + 2), 4);
    }
}
