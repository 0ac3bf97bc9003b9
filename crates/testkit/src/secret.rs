//! Secret marking: tells valgrind's memcheck that bytes are "undefined", so that every branch and
//! every memory index computed from them is reported, which is what constant time forbids.
//!
//! Outside valgrind the calls cost a few instructions and do nothing. Run a test under
//! `valgrind --error-exitcode=99`; the recipe `just ctgrind` does.
//!
//! # Source
//! The client-request mechanism of valgrind (`valgrind.h` and `memcheck.h` of release 3.19): a
//! rotation sequence of `rdi` that is a no-op for a processor and a marker for the simulator, with
//! the request block in `rax` and the answer in `rdx`. The numbers are part of its stable interface.

/// Marks the bytes of `value` as secret. Reading them stays allowed; deciding on them is reported.
pub fn mark_undefined<T: ?Sized>(value: &T) {
    request(
        REQUEST_MAKE_UNDEFINED,
        core::ptr::from_ref(value).addr_of(),
        size_of_val(value),
    );
}

/// Marks the bytes of `value` as public again: for what the protocol reveals anyway.
pub fn mark_defined<T: ?Sized>(value: &T) {
    request(
        REQUEST_MAKE_DEFINED,
        core::ptr::from_ref(value).addr_of(),
        size_of_val(value),
    );
}

/// Whether this process runs under valgrind.
#[must_use]
pub fn running_on_valgrind() -> bool {
    request(REQUEST_RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// How many errors valgrind has reported so far; 0 outside it.
#[must_use]
pub fn error_count() -> usize {
    request(REQUEST_COUNT_ERRORS, 0, 0)
}

pub(crate) trait AddressOf {
    fn addr_of(self) -> usize;
}

impl<T: ?Sized> AddressOf for *const T {
    /// The address with its provenance exposed: the simulator, not the program, uses it.
    fn addr_of(self) -> usize {
        self.cast::<u8>().expose_provenance()
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code)]
pub(crate) fn request(code: usize, first: usize, second: usize) -> usize {
    let block: [usize; 6] = [code, first, second, 0, 0, 0];
    let mut answer = 0usize;
    // SAFETY: the four rotations of rdi add up to 128 bits, so rdi keeps its value, and exchanging
    // rbx with itself changes nothing: on a processor only the flags change, which are declared as
    // clobbered by default. Under valgrind the request reads the six words of `block`, which lives
    // across the call, and writes rdx. Marking changes shadow state only, never memory contents.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") answer,
        );
    }
    answer
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(crate) fn request(_code: usize, _first: usize, _second: usize) -> usize {
    0
}

const REQUEST_RUNNING_ON_VALGRIND: usize = 0x1001;
const REQUEST_COUNT_ERRORS: usize = 0x1201;
/// Memcheck's requests carry the letters `MC` in their top half.
const MEMCHECK: usize = 0x4d43_0000;
const REQUEST_MAKE_UNDEFINED: usize = MEMCHECK + 1;
const REQUEST_MAKE_DEFINED: usize = MEMCHECK + 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marking_never_changes_the_bytes() {
        let bytes = [1u8, 2, 3, 4];
        mark_undefined(&bytes);
        mark_defined(&bytes);
        assert_eq!(bytes, [1, 2, 3, 4]);
    }
}
