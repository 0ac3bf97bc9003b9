//! ML-DSA verification by AWS-LC (C and assembly; the code is mldsa-native).
//!
//! The public key is decoded once. Verification takes `mu`, so the hash of the public key (15
//! permutations of 174 at level 65) is not repeated for each signature.
//!
//! # Source
//! FIPS 204, Algorithm 8 from step 7 on, through the digest interface of `EVP_PKEY_verify`.
#![allow(unsafe_code)]

use core::{
    ffi::c_int,
    fmt,
    ptr::{NonNull, null_mut},
};

use aws_lc_sys::{
    ERR_clear_error, EVP_PKEY, EVP_PKEY_CTX, EVP_PKEY_CTX_free, EVP_PKEY_CTX_new, EVP_PKEY_free,
    EVP_PKEY_pqdsa_new_raw_public_key, EVP_PKEY_verify, EVP_PKEY_verify_init, NID_MLDSA44,
    NID_MLDSA65, NID_MLDSA87,
};

use crate::mldsa::ParameterSet;

/// An ML-DSA public key in AWS-LC's representation. Immutable after construction.
pub(crate) struct PublicKey {
    key: NonNull<EVP_PKEY>,
}

impl PublicKey {
    /// Decodes a public key; `None` when the library refuses it or has no memory.
    pub(crate) fn new(set: ParameterSet, bytes: &[u8]) -> Option<Self> {
        let nid: c_int = match set {
            ParameterSet::MlDsa44 => NID_MLDSA44,
            ParameterSet::MlDsa65 => NID_MLDSA65,
            ParameterSet::MlDsa87 => NID_MLDSA87,
        };
        // SAFETY: the pointer and the length describe one live slice, which the library copies.
        let key = unsafe { EVP_PKEY_pqdsa_new_raw_public_key(nid, bytes.as_ptr(), bytes.len()) };
        let key = NonNull::new(key);
        if key.is_none() {
            forget_errors();
        }
        Some(Self { key: key? })
    }

    /// Whether `signature` is good for the message representative `mu`.
    ///
    /// The library checks the length of the signature itself.
    pub(crate) fn verify_mu(&self, mu: &[u8; 64], signature: &[u8]) -> bool {
        let Some(context) = Context::new(self) else {
            forget_errors();
            return false;
        };
        // SAFETY: `context` holds a live, initialised context; both slices outlive the call and
        // are only read.
        let verdict = unsafe {
            EVP_PKEY_verify(
                context.0.as_ptr(),
                signature.as_ptr(),
                signature.len(),
                mu.as_ptr(),
                mu.len(),
            )
        };
        // The library documents 1 as the only success.
        let good = verdict == 1;
        if !good {
            forget_errors();
        }
        good
    }
}

impl Drop for PublicKey {
    fn drop(&mut self) {
        // SAFETY: the constructor took ownership of one reference, which is given back once here.
        unsafe { EVP_PKEY_free(self.key.as_ptr()) }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aws_lc::PublicKey")
    }
}

// SAFETY: the key is never changed after construction and its reference count is atomic, so it may
// move to and be freed by another thread.
unsafe impl Send for PublicKey {}
// SAFETY: every use through a shared reference makes its own context and only reads the key.
unsafe impl Sync for PublicKey {}

/// A verification context that frees itself.
struct Context(NonNull<EVP_PKEY_CTX>);

impl Context {
    fn new(key: &PublicKey) -> Option<Self> {
        // SAFETY: the key is live; the context takes a reference of its own. No engine is passed.
        let context = unsafe { EVP_PKEY_CTX_new(key.key.as_ptr(), null_mut()) };
        let context = Self(NonNull::new(context)?);
        // SAFETY: the context was just created and is owned by `context`.
        let ready = unsafe { EVP_PKEY_verify_init(context.0.as_ptr()) };
        (ready == 1).then_some(context)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: created by `Context::new`, freed once.
        unsafe { EVP_PKEY_CTX_free(self.0.as_ptr()) }
    }
}

/// Empties the library's per-thread error queue, so that refused signatures leave nothing behind.
fn forget_errors() {
    // SAFETY: takes no arguments and touches only state of the calling thread.
    unsafe { ERR_clear_error() }
}
