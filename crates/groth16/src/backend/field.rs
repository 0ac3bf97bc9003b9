//! Arithmetic of the scalar field through blst's assembly, on limbs in Montgomery form.
//!
//! Every function is total: blst reads and writes exactly four limbs and reduces its result.
#![allow(unsafe_code)]

use blst::blst_fr;

/// Four little-endian 64-bit limbs of a residue below `r`, in Montgomery form.
pub(crate) type Limbs = [u64; 4];

#[inline]
pub(crate) fn mul(a: &Limbs, b: &Limbs) -> Limbs {
    let mut out = blst_fr::default();
    // SAFETY: `blst_fr` is four 64-bit limbs, as `Limbs`; all three pointers are valid for that.
    unsafe { blst::blst_fr_mul(&raw mut out, fr(a), fr(b)) };
    out.l
}

#[inline]
pub(crate) fn square(a: &Limbs) -> Limbs {
    let mut out = blst_fr::default();
    // SAFETY: as in `mul`.
    unsafe { blst::blst_fr_sqr(&raw mut out, fr(a)) };
    out.l
}

/// The inverse, and zero for zero. Variable time.
pub(crate) fn inverse(a: &Limbs) -> Limbs {
    let mut out = blst_fr::default();
    // SAFETY: as in `mul`.
    unsafe { blst::blst_fr_eucl_inverse(&raw mut out, fr(a)) };
    out.l
}

/// Canonical limbs of a residue.
#[inline]
pub(crate) fn from_montgomery(a: &Limbs) -> Limbs {
    let mut out = [0; 4];
    // SAFETY: blst writes four 64-bit words to `out` and reads one `blst_fr`.
    unsafe { blst::blst_uint64_from_fr(out.as_mut_ptr(), fr(a)) };
    out
}

#[inline]
fn fr(limbs: &Limbs) -> *const blst_fr {
    core::ptr::from_ref(limbs).cast()
}

const _: () = assert!(size_of::<blst_fr>() == size_of::<Limbs>());
const _: () = assert!(align_of::<blst_fr>() <= align_of::<Limbs>());
