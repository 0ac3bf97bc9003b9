//! The functions that C calls: the only unsafe code of the crate.
//!
//! Every function checks its pointers and lengths before it makes a slice of them, and returns a
//! status. The parsers below are total; should a fault make one panic nevertheless, the panic stops
//! here and becomes [`Status::Internal`].
//!
//! # Security
//! C cannot be stopped from passing a wrong length. Everything else about the arguments is checked.

#![allow(
    unsafe_code,
    reason = "pointers from C; this module is the whole boundary"
)]

use core::ffi::c_char;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use horizon_warp::limits::ENVELOPE_LEN_MAX;
use horizon_warp::prism::{Context, Schedule};

use crate::verifier::{Answer, POLICY_LEN_MAX, REGISTRY_LEN_MAX, Status, Verifier};

/// Where the verifier stands: `horizon_context` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HorizonContext {
    /// The network whose messages are taken.
    pub network_id: u32,
    /// Sum of `HORIZON_*` flags. Unknown ones are refused.
    pub flags: u32,
    /// Height of the source chain as the caller knows it.
    pub source_height: u64,
    /// Seconds since 1970.
    pub time_s: u64,
    /// Era for version 1 messages, with [`FLAG_MESSAGE_GENERATION`].
    pub message_key_era: u64,
    /// Generation for version 1 messages, with [`FLAG_MESSAGE_GENERATION`].
    pub message_generation: u64,
}

impl HorizonContext {
    fn to_context(self) -> Option<Context<'static>> {
        if self.flags & !(FLAG_SEQUENTIAL | FLAG_MESSAGE_GENERATION) != 0 {
            return None;
        }
        let mut context = Context::new(self.network_id, self.source_height, self.time_s);
        if self.flags & FLAG_SEQUENTIAL != 0 {
            context.schedule = Schedule::Sequential;
        }
        if self.flags & FLAG_MESSAGE_GENERATION != 0 {
            context.message_generation = Some((self.message_key_era, self.message_generation));
        }
        Some(context)
    }
}

/// Loads registry and policy and verifies one envelope.
///
/// # Safety
/// Each input pointer is null or readable for its length; `context` is null or valid; `out` is null
/// or writable for `out_capacity` bytes; `out_len` is null or writable. None overlaps an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horizon_verify(
    registry: *const u8,
    registry_len: usize,
    policy: *const u8,
    policy_len: usize,
    envelope: *const u8,
    envelope_len: usize,
    context: *const HorizonContext,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the caller's contract is that of the three helpers, with the same arguments.
    unsafe {
        guarded(out, out_capacity, out_len, || {
            let registry = bytes(registry, registry_len, REGISTRY_LEN_MAX)?;
            let policy = bytes(policy, policy_len, POLICY_LEN_MAX)?;
            let envelope = bytes(envelope, envelope_len, ENVELOPE_LEN_MAX)?;
            let context = read_context(context)?;
            Ok(match Verifier::load(registry, policy) {
                Ok(verifier) => verifier.verify(envelope, &context),
                Err(answer) => answer,
            })
        })
    }
}

/// Loads registry and policy once, for many calls of [`horizon_verifier_verify`].
///
/// On [`Status::Ok`] stores a handle in `verifier` and no verdict; on any other status stores null.
///
/// # Safety
/// As [`horizon_verify`]; `verifier` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horizon_verifier_new(
    registry: *const u8,
    registry_len: usize,
    policy: *const u8,
    policy_len: usize,
    verifier: *mut *mut Verifier,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    if verifier.is_null() {
        return Status::Usage.code();
    }
    let mut loaded = None;
    // SAFETY: the caller's contract is that of the helpers; `verifier` is not null, so writable.
    unsafe {
        verifier.write(core::ptr::null_mut());
        let status = guarded(out, out_capacity, out_len, || {
            let registry = bytes(registry, registry_len, REGISTRY_LEN_MAX)?;
            let policy = bytes(policy, policy_len, POLICY_LEN_MAX)?;
            Ok(match Verifier::load(registry, policy) {
                Ok(verifier) => {
                    loaded = Some(verifier);
                    Answer {
                        status: Status::Ok,
                        json: String::new(),
                    }
                }
                Err(answer) => answer,
            })
        });
        if let (Some(loaded), 0) = (loaded, status) {
            verifier.write(Box::into_raw(Box::new(loaded)));
        }
        status
    }
}

/// Verifies one envelope under a loaded registry and policy. May be called from several threads.
///
/// # Safety
/// `verifier` is null or came from [`horizon_verifier_new`] and was not freed; else as
/// [`horizon_verify`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horizon_verifier_verify(
    verifier: *const Verifier,
    envelope: *const u8,
    envelope_len: usize,
    context: *const HorizonContext,
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the caller's contract is that of the helpers; a handle that is not null is a live one.
    unsafe {
        guarded(out, out_capacity, out_len, || {
            let verifier = verifier.as_ref().ok_or(Status::Usage)?;
            let envelope = bytes(envelope, envelope_len, ENVELOPE_LEN_MAX)?;
            Ok(verifier.verify(envelope, &read_context(context)?))
        })
    }
}

/// Frees a verifier. Null is allowed and does nothing.
///
/// # Safety
/// `verifier` is null or came from [`horizon_verifier_new`], is freed once, and no call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn horizon_verifier_free(verifier: *mut Verifier) {
    if !verifier.is_null() {
        // SAFETY: made by `Box::into_raw` in `horizon_verifier_new`, and freed once by contract.
        drop(unsafe { Box::from_raw(verifier) });
    }
}

/// A static sentence for a status, ending in a zero byte. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn horizon_status_text(status: i32) -> *const c_char {
    let found = Status::ALL.into_iter().find(|s| s.code() == status);
    found.map_or(c"Unknown status", Status::text).as_ptr()
}

/// Runs the body, stops panics, and hands the JSON over.
///
/// # Safety
/// `out` is null or writable for `out_capacity` bytes, `out_len` is null or writable.
unsafe fn guarded(
    out: *mut u8,
    out_capacity: usize,
    out_len: *mut usize,
    body: impl FnOnce() -> Result<Answer, Status>,
) -> i32 {
    if out_len.is_null() || (out.is_null() && out_capacity != 0) {
        return Status::Usage.code();
    }
    // SAFETY: `out_len` is not null, so it is writable.
    unsafe { out_len.write(0) };
    // The closures own or only read what they touch; what a panic leaves behind is dropped unseen.
    let answer = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(status)) => return status.code(),
        Err(_) => return Status::Internal.code(),
    };
    // SAFETY: `out_len` is writable as above; `out` is writable for `out_capacity` bytes, which the
    // JSON does not exceed, and a string of this library does not overlap a buffer of the caller.
    unsafe {
        out_len.write(answer.json.len());
        if answer.json.len() > out_capacity {
            return Status::BufferTooSmall.code();
        }
        if !answer.json.is_empty() {
            out.copy_from_nonoverlapping(answer.json.as_ptr(), answer.json.len());
        }
    }
    answer.status.code()
}

/// The caller's bytes. Null stands for no bytes when the length is 0.
///
/// # Safety
/// `pointer` is null or readable for `len` bytes while the result lives.
const unsafe fn bytes<'a>(
    pointer: *const u8,
    len: usize,
    len_max: usize,
) -> Result<&'a [u8], Status> {
    if len > len_max || (pointer.is_null() && len != 0) {
        return Err(Status::Usage);
    }
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: not null, readable for `len` bytes by contract, and `len` is below `isize::MAX`.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// # Safety
/// `context` is null or valid.
unsafe fn read_context(context: *const HorizonContext) -> Result<Context<'static>, Status> {
    if context.is_null() {
        return Err(Status::Usage);
    }
    // SAFETY: not null, so valid by contract. Unaligned: packed structures of C are common.
    let context = unsafe { context.read_unaligned() };
    context.to_context().ok_or(Status::Usage)
}

/// Lanes one after the other on the calling thread.
pub const FLAG_SEQUENTIAL: u32 = 1;
/// Version 1 messages are taken, under the era and generation of the context.
pub const FLAG_MESSAGE_GENERATION: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status() {
        let mut len = 7;
        let mut out = [0; 8];
        // SAFETY: both outputs are writable.
        let status = unsafe {
            guarded(out.as_mut_ptr(), out.len(), &raw mut len, || {
                panic!("on purpose")
            })
        };
        assert_eq!((status, len), (Status::Internal.code(), 0));
    }
}
