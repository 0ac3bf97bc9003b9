//! Sums of multiples, with the scalars sorted by size first.
//!
//! Most values of a witness are bits: their points are only added. What is left is grouped by 8, 16,
//! 32 and 64 bits and full width, and every group has its own bucket method.

use rayon::prelude::*;

use super::rows::Run;
use crate::{
    curve::{CurveGroup, SCALAR_BITS},
    fr::Fr,
};

/// The sum over all entries of a query: entry i is a multiple of `points[i]` by the value of
/// variable `indices[i]`. Indices ascend; `runs` are the values of all variables from 0 on.
pub(crate) fn query_sum<G: CurveGroup>(
    indices: &[u32],
    points: &[G::Affine],
    runs: &[Run<'_>],
) -> G {
    let mut tasks = Vec::new();
    let mut first = 0;
    for run in runs {
        let start = indices.partition_point(|index| (*index as usize) < first);
        let end = indices.partition_point(|index| (*index as usize) < first + run.len());
        let entries = indices[start..end].chunks(TASK_LEN);
        let entries = entries.zip(points[start..end].chunks(TASK_LEN));
        tasks.extend(entries.map(|(indices, points)| (*run, first, indices, points)));
        first += run.len();
    }
    let sums: Vec<G> = tasks
        .into_par_iter()
        .map(|(run, first, indices, points)| run_sum(run, first, indices, points))
        .collect();
    sums.into_iter().fold(G::infinity(), |sum, part| sum + part)
}

fn run_sum<G: CurveGroup>(run: Run<'_>, first: usize, indices: &[u32], points: &[G::Affine]) -> G {
    let entries = indices
        .iter()
        .map(|index| *index as usize - first)
        .zip(points);
    match run {
        Run::Bits(bits) => {
            let set = entries.filter(|(at, _)| bits.get(*at));
            G::sum_affine(set.map(|(_, point)| point))
        }
        Run::Ints(ints) => {
            let mut groups = Groups::<G>::default();
            for (at, point) in entries {
                let value = ints.get(at).copied().unwrap_or_default();
                groups.push_small(point, value.unsigned_abs(), value < 0);
            }
            groups.sum()
        }
        Run::Fields(fields) => {
            let mut groups = Groups::<G>::default();
            for (at, point) in entries {
                groups.push(point, fields.get(at).copied().unwrap_or_default());
            }
            groups.sum()
        }
    }
}

/// The sum of full-width multiples, on all threads.
pub(crate) fn dense_sum<G: CurveGroup>(points: &[G::Affine], scalars: &[Fr]) -> G {
    let share = points.len().div_ceil(rayon::current_num_threads()).max(1);
    let sums: Vec<G> = points
        .par_chunks(share)
        .zip(scalars.par_chunks(share))
        .map(|(points, scalars)| {
            let mut bytes = Vec::with_capacity(scalars.len() * Fr::LEN);
            for scalar in scalars {
                bytes.extend(scalar.to_le_bytes());
            }
            G::msm(points, &bytes, SCALAR_BITS).unwrap_or_else(G::infinity)
        })
        .collect();
    sums.into_iter().fold(G::infinity(), |sum, part| sum + part)
}

/// Points, and their scalars one after the other.
type Entries<G> = (Vec<<G as CurveGroup>::Affine>, Vec<u8>);

/// Entries sorted by the size of their scalars.
struct Groups<G: CurveGroup> {
    /// By sign.
    ones: [Vec<G::Affine>; 2],
    /// By sign, then by size.
    small: [[Entries<G>; SIZES.len()]; 2],
    full: Entries<G>,
}

impl<G: CurveGroup> Default for Groups<G> {
    fn default() -> Self {
        Self {
            ones: Default::default(),
            small: Default::default(),
            full: Default::default(),
        }
    }
}

impl<G: CurveGroup> Groups<G> {
    fn push(&mut self, point: &G::Affine, value: Fr) {
        let limbs = value.to_canonical_limbs();
        if let [low, 0, 0, 0] = limbs {
            self.push_small(point, low, false);
        } else {
            self.full.0.push(*point);
            self.full
                .1
                .extend(limbs.iter().flat_map(|limb| limb.to_le_bytes()));
        }
    }

    fn push_small(&mut self, point: &G::Affine, magnitude: u64, negative: bool) {
        let sign = usize::from(negative);
        match magnitude {
            0 => {}
            1 => self.ones[sign].push(*point),
            _ => {
                let bits = (u64::BITS - magnitude.leading_zeros()) as usize;
                let size = SIZES.iter().position(|size| bits <= *size).unwrap_or(3);
                let (points, scalars) = &mut self.small[sign][size];
                points.push(*point);
                scalars.extend(magnitude.to_le_bytes().iter().take(SIZES[size] / 8));
            }
        }
    }

    fn sum(&self) -> G {
        let signed = |sign: usize| {
            let groups = self.small[sign].iter().zip(SIZES);
            groups.fold(
                G::sum_affine(&self.ones[sign]),
                |sum, ((points, scalars), bits)| {
                    sum + G::msm(points, scalars, bits).unwrap_or_else(G::infinity)
                },
            )
        };
        let (points, scalars) = &self.full;
        let full = G::msm(points, scalars, SCALAR_BITS).unwrap_or_else(G::infinity);
        signed(0) + -signed(1) + full
    }
}

/// Sizes of small scalars, bits.
const SIZES: [usize; 4] = [8, 16, 32, 64];
/// Entries summed by one task.
const TASK_LEN: usize = 1 << 17;
