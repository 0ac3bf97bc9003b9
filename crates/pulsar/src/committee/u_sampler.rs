//! The hashed vector `u` without its leading one: 48 polynomials by the exact integer sampler (finding C-02).
//!
//! # Source
//! Committee-mode specification section 1.5.
//! # Security
//! `u` is public: time may depend on it.

use alloc::vec::Vec;

use horizon_hash::domain::committee as domain;
use horizon_hash::lanes::XofPrefix;
use horizon_ring::sample::CommitteeU;
use horizon_ring::{N, Poly};

use super::error::Error;
use crate::params::D_BAR;

/// The polynomials `u_1 .. u_48` of a seed, coefficients of width 163,980,658.52, canonical.
///
/// # Errors
/// [`Error::Internal`] only.
pub fn sample_u(seed: &[u8; 32]) -> Result<Vec<Poly>, Error> {
    let prefix = XofPrefix::new(domain::U_STREAM);
    let inputs: [[u8; 34]; D_BAR] = core::array::from_fn(|k| {
        let mut input = [0; 34];
        input[..32].copy_from_slice(seed);
        // 1..=48.
        input[33] = k as u8 + 1;
        input
    });
    let mut polys = Vec::with_capacity(D_BAR);
    let mut buffer = alloc::vec![0; LANES * CAPACITY];
    for inputs in inputs.chunks(LANES) {
        lanes(&prefix, inputs, &mut buffer, &mut polys)?;
    }
    Ok(polys)
}

/// Samples one polynomial per input, their streams read in step.
fn lanes(
    prefix: &XofPrefix,
    inputs: &[[u8; 34]],
    buffer: &mut [u8],
    polys: &mut Vec<Poly>,
) -> Result<(), Error> {
    let mut streams = prefix.lanes(inputs).map_err(|_| Error::Internal)?;
    let mut states: [CommitteeU; LANES] = core::array::from_fn(|_| CommitteeU::new());
    let states = &mut states[..inputs.len()];
    let first = &mut buffer[..inputs.len() * FIRST];
    streams.squeeze_blocks(first).map_err(|_| Error::Internal)?;
    // What a lane did not consume: a coefficient takes 3 words on average, and 32 or more never.
    let mut rest: [Vec<u8>; LANES] = core::array::from_fn(|_| Vec::new());
    for ((state, bytes), rest) in states
        .iter_mut()
        .zip(first.chunks_exact(FIRST))
        .zip(&mut rest)
    {
        let consumed = state.feed(bytes);
        rest.extend_from_slice(&bytes[consumed..]);
    }
    let mut block = [0; LANES * MORE];
    while states.iter().any(|state| state.filled() < N) {
        let more = &mut block[..inputs.len() * MORE];
        streams.squeeze_blocks(more).map_err(|_| Error::Internal)?;
        for ((state, bytes), rest) in states
            .iter_mut()
            .zip(more.chunks_exact(MORE))
            .zip(&mut rest)
        {
            if state.filled() < N {
                rest.extend_from_slice(bytes);
                let consumed = state.feed(rest);
                rest.drain(..consumed);
            }
        }
    }
    for state in states {
        polys.push(core::mem::take(state).finish().ok_or(Error::Internal)?);
    }
    Ok(())
}

const LANES: usize = 8;
/// First read of a stream: 46 blocks, 782 words; 778 are needed on average.
const FIRST: usize = 46 * 136;
/// Every further read.
const MORE: usize = 2 * 136;
const CAPACITY: usize = FIRST;
