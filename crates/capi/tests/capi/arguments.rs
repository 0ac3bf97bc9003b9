//! Every argument that C can get wrong, and every status.

#![allow(unsafe_code, reason = "calls the C interface as C does")]

use core::ffi::CStr;
use core::ptr::{null, null_mut};

use horizon_capi::boundary::*;
use horizon_capi::{POLICY_LEN_MAX, REGISTRY_LEN_MAX, Status, VERDICT_LEN_MAX};
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use serde_json::Value;

use crate::fixture::{PAYLOAD, files};
use crate::world::{HEIGHT, ISSUED_S, NETWORK};

fn context() -> HorizonContext {
    HorizonContext {
        network_id: NETWORK,
        flags: 0,
        source_height: HEIGHT,
        time_s: ISSUED_S + 60,
        message_key_era: 0,
        message_generation: 0,
    }
}

fn verify(envelope: &[u8], context: HorizonContext) -> (i32, Value) {
    let files = files();
    let mut out = [0; VERDICT_LEN_MAX];
    let mut len = 0;
    // SAFETY: slices and references of the right lengths.
    let status = unsafe {
        horizon_verify(
            files.registry.as_ptr(),
            files.registry.len(),
            files.policy.as_ptr(),
            files.policy.len(),
            envelope.as_ptr(),
            envelope.len(),
            &raw const context,
            out.as_mut_ptr(),
            out.len(),
            &raw mut len,
        )
    };
    (
        status,
        serde_json::from_slice(&out[..len]).unwrap_or(Value::Null),
    )
}

#[test]
fn a_good_envelope_gives_a_verdict_that_points_at_the_payload() {
    let envelope = &files().envelope;
    for flags in [0, FLAG_SEQUENTIAL] {
        let (status, verdict) = verify(envelope, HorizonContext { flags, ..context() });
        assert_eq!(status, Status::Ok.code(), "{verdict}");
        assert_eq!(verdict["state"], "horizon-final");
        assert_eq!(verdict["lanes"].as_array().unwrap().len(), 3);
        assert_eq!(verdict["lanes"][0]["signed_weight"], "90");
        assert!(verdict["lanes"][2]["duration_ns"].is_string());
        let offset = verdict["payload_offset"].as_u64().unwrap() as usize;
        assert_eq!(&envelope[offset..offset + PAYLOAD.len()], PAYLOAD);
        assert_eq!(verdict["payload_len"].as_u64(), Some(PAYLOAD.len() as u64));
    }
}

#[test]
fn each_kind_of_refusal_has_its_status_and_reason() {
    let files = files();
    let mut damaged = files.envelope.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let cases = [
        (&damaged, context(), Status::Refused, "pulse-invalid"),
        (
            &files.beam_only,
            context(),
            Status::NotEnoughEvidence,
            "pq-evidence-missing",
        ),
        (
            &files.envelope,
            HorizonContext {
                network_id: NETWORK + 1,
                ..context()
            },
            Status::Refused,
            "network-mismatch",
        ),
        (
            &files.envelope,
            HorizonContext {
                time_s: u64::MAX,
                ..context()
            },
            Status::Configuration,
            "record-too-old",
        ),
        (&Vec::new(), context(), Status::Refused, "empty"),
    ];
    for (envelope, context, expected, code) in cases {
        let (status, verdict) = verify(envelope, context);
        assert_eq!(status, expected.code(), "{code}: {verdict}");
        if code != "empty" {
            assert_eq!(verdict["code"], code);
        }
        assert_ne!(verdict["verdict"], "accepted");
        assert!(!verdict["hint"].as_str().unwrap().is_empty());
    }
}

#[test]
fn unknown_flags_are_refused() {
    for flags in [4, u32::MAX] {
        let (status, verdict) = verify(&files().envelope, HorizonContext { flags, ..context() });
        assert_eq!((status, verdict), (Status::Usage.code(), Value::Null));
    }
}

/// Null with a length, lengths above the limits, null for things that must exist: a status, no read.
#[test]
fn null_and_oversized_arguments_are_usage_faults() {
    let files = files();
    let (registry, policy, envelope) = (&files.registry, &files.policy, &files.envelope);
    let good = context();
    let mut out = [0; VERDICT_LEN_MAX];
    let (out, capacity) = (out.as_mut_ptr(), VERDICT_LEN_MAX);
    let mut len = 99;
    let len = &raw mut len;
    let call = |r: (*const u8, usize),
                p: (*const u8, usize),
                e: (*const u8, usize),
                c: *const HorizonContext,
                o: (*mut u8, usize),
                l: *mut usize| {
        // SAFETY: null or valid pointers; oversized lengths are refused before any read.
        unsafe { horizon_verify(r.0, r.1, p.0, p.1, e.0, e.1, c, o.0, o.1, l) }
    };
    let r = (registry.as_ptr(), registry.len());
    let p = (policy.as_ptr(), policy.len());
    let e = (envelope.as_ptr(), envelope.len());
    let c = &raw const good;
    let o = (out, capacity);
    assert_eq!(call(r, p, e, c, o, len), Status::Ok.code());
    let faults = [
        call((null(), 1), p, e, c, o, len),
        call((r.0, REGISTRY_LEN_MAX + 1), p, e, c, o, len),
        call((r.0, usize::MAX), p, e, c, o, len),
        call(r, (null(), 1), e, c, o, len),
        call(r, (p.0, POLICY_LEN_MAX + 1), e, c, o, len),
        call(r, p, (null(), 1), c, o, len),
        call(r, p, (e.0, ENVELOPE_LEN_MAX + 1), c, o, len),
        call(r, p, (e.0, usize::MAX), c, o, len),
        call(r, p, e, null(), o, len),
        call(r, p, e, c, (null_mut(), 1), len),
        call(r, p, e, c, o, null_mut()),
    ];
    assert_eq!(faults, [Status::Usage.code(); 11]);
    // No bytes at all is an input like any other: it reaches the parsers and is refused there.
    assert_eq!(
        call((null(), 0), p, e, c, o, len),
        Status::Configuration.code()
    );
    assert_eq!(call(r, p, (null(), 0), c, o, len), Status::Refused.code());
}

#[test]
fn a_short_buffer_learns_the_length_and_stays_untouched() {
    let files = files();
    let (good, mut len) = (context(), 0);
    let mut call = |out: &mut [u8]| {
        // SAFETY: slices and references of the right lengths.
        let status = unsafe {
            horizon_verify(
                files.registry.as_ptr(),
                files.registry.len(),
                files.policy.as_ptr(),
                files.policy.len(),
                files.beam_only.as_ptr(),
                files.beam_only.len(),
                &raw const good,
                out.as_mut_ptr(),
                out.len(),
                &raw mut len,
            )
        };
        (status, len)
    };
    let (status, needed) = call(&mut []);
    assert_eq!(status, Status::BufferTooSmall.code());
    assert!(needed > 0 && needed <= VERDICT_LEN_MAX);
    let mut short = vec![0xee; needed - 1];
    assert_eq!(call(&mut short), (Status::BufferTooSmall.code(), needed));
    assert!(short.iter().all(|byte| *byte == 0xee));
    let mut exact = vec![0; needed];
    assert_eq!(call(&mut exact), (Status::NotEnoughEvidence.code(), needed));
}

#[test]
fn a_verifier_is_made_once_used_from_threads_and_freed() {
    let files = files();
    let mut handle = core::ptr::dangling_mut();
    let mut out = [0; VERDICT_LEN_MAX];
    let mut len = 0;
    // SAFETY: slices and references of the right lengths; the handle is freed once, at the end.
    unsafe {
        let mut load = |policy: &[u8], handle: *mut *mut horizon_capi::Verifier| {
            horizon_verifier_new(
                files.registry.as_ptr(),
                files.registry.len(),
                policy.as_ptr(),
                policy.len(),
                handle,
                out.as_mut_ptr(),
                out.len(),
                &raw mut len,
            )
        };
        assert_eq!(load(&files.policy, null_mut()), Status::Usage.code());
        assert_eq!(load(b"{}", &raw mut handle), Status::Configuration.code());
        assert!(handle.is_null());
        assert_eq!(load(&files.policy, &raw mut handle), Status::Ok.code());
        assert!(!handle.is_null());
        let address = handle.expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let handle = core::ptr::with_exposed_provenance(address);
                    let (good, mut len) = (context(), 0);
                    let mut out = [0; VERDICT_LEN_MAX];
                    let status = horizon_verifier_verify(
                        handle,
                        files.envelope.as_ptr(),
                        files.envelope.len(),
                        &raw const good,
                        out.as_mut_ptr(),
                        out.len(),
                        &raw mut len,
                    );
                    assert_eq!(status, Status::Ok.code());
                });
            }
        });
        let good = context();
        let status = horizon_verifier_verify(
            null(),
            null(),
            0,
            &raw const good,
            null_mut(),
            0,
            &raw mut len,
        );
        assert_eq!(status, Status::Usage.code());
        horizon_verifier_free(handle);
        horizon_verifier_free(null_mut());
    }
}

#[test]
fn every_status_has_a_text_and_unknown_ones_too() {
    let text = |status| {
        // SAFETY: static and terminated, as the interface promises.
        unsafe { CStr::from_ptr(horizon_status_text(status)) }
            .to_str()
            .unwrap()
    };
    for status in Status::ALL {
        assert_eq!(text(status.code()), status.text().to_str().unwrap());
    }
    assert_eq!(text(i32::MIN), "Unknown status");
}
