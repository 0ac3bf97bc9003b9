//! Rank cases: a random matrix from a label, changed as a sentence of the file says.
//!
//! The file holds the digest of the changed matrix. A sentence that is not understood, or that can mean two
//! things, is settled by it: readings are tried until the digest fits, and the rank is checked on that
//! matrix. A case passes only with a matrix of the recorded digest.

use std::ops::Range;

use horizon_ring::matrix::Matrix;
use horizon_ring::{N, NttPoly, modulus, rank};

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, same, same_digest,
};

/// Rank of columns 1..48 in every slot.
pub(super) fn check_rank(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let polys = LabelStream::new(case.text("label")?).polys(ROWS * COLS, modulus::Q);
    let polys = changed(&polys, case.text("change")?, &case.object("matrix")?)?;
    let matrix = Matrix::from_fn(ROWS, COLS, |r, c| {
        NttPoly::from_array_unchecked(polys[r * COLS + c])
    });
    let rank = rank::full_rank(&matrix);
    same("full_rank", &rank, &case.flag("full_rank")?)?;
    Ok(Verdict::Equal)
}

/// The changed matrix whose digest the file has.
fn changed(polys: &[Raw], text: &str, digest: &Fields<'_>) -> Result<Vec<Raw>, Mismatch> {
    let mut first_fault = None;
    if let Some(change) = parse(text) {
        let result = change.apply(polys);
        match same_digest("matrix", digest, &result) {
            Ok(()) => return Ok(result),
            Err(fault) => first_fault = Some(fault),
        }
    }
    let ends = (digest.number("first")?, digest.number("last")?);
    let fitting = readings(text)
        .into_iter()
        .filter(|change| change.ends(polys) == ends)
        .take(READINGS_MAX)
        .map(|change| change.apply(polys))
        .find(|result| same_digest("matrix", digest, result).is_ok());
    let unknown = || fault(&format!("change: {text} is unknown, and no reading fits"));
    fitting.ok_or_else(|| first_fault.unwrap_or_else(unknown))
}

/// One reading of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    action: Action,
    slots: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// Entries of these rows and columns become zero.
    Zero {
        rows: Range<usize>,
        columns: Range<usize>,
    },
    /// A row becomes a combination of rows as they were.
    Row {
        target: usize,
        terms: Vec<(u64, usize)>,
    },
    /// A column becomes another one.
    Column { target: usize, source: usize },
    /// Columns from this one on become the unit matrix, and all others but column 0 zero.
    Unit { from: usize },
}

impl Change {
    const fn everywhere(action: Action) -> Self {
        Self {
            action,
            slots: 0..N,
        }
    }

    fn apply(&self, polys: &[Raw]) -> Vec<Raw> {
        let mut out = polys.to_vec();
        for (index, poly) in out.iter_mut().enumerate() {
            for slot in self.slots.clone() {
                poly[slot] = self.entry(polys, index, slot);
            }
        }
        out
    }

    /// First and last stored value of the changed matrix.
    fn ends(&self, polys: &[Raw]) -> (u64, u64) {
        let last = ROWS * COLS - 1;
        let at = |index: usize, slot: usize| match self.slots.contains(&slot) {
            true => self.entry(polys, index, slot),
            false => polys[index][slot],
        };
        (at(0, 0), at(last, N - 1))
    }

    /// How many of the rows it uses are not among `numbers`.
    fn unnamed(&self, numbers: &[usize]) -> usize {
        let unnamed = |row: usize| usize::from(!numbers.contains(&row));
        match &self.action {
            Action::Row { target, terms } => {
                unnamed(*target) + terms.iter().map(|&(_, row)| unnamed(row)).sum::<usize>()
            }
            Action::Zero { rows, .. } if rows.len() == 1 => unnamed(rows.start),
            Action::Zero { .. } | Action::Column { .. } | Action::Unit { .. } => 0,
        }
    }

    fn entry(&self, polys: &[Raw], index: usize, slot: usize) -> u64 {
        let (row, column) = (index / COLS, index % COLS);
        let old = polys[index][slot];
        match &self.action {
            Action::Zero { rows, columns } if rows.contains(&row) && columns.contains(&column) => 0,
            Action::Row { target, terms } if *target == row => {
                terms.iter().fold(0, |sum, &(factor, row)| {
                    let entry = polys[row * COLS + column][slot];
                    modulus::add(sum, modulus::mul(factor, entry))
                })
            }
            Action::Column { target, source } if *target == column => {
                polys[row * COLS + source][slot]
            }
            Action::Unit { from } if column > 0 => u64::from(column == from + row),
            _ => old,
        }
    }
}

/// The literal reading: `random`, `row 3 := row 2`, `row 7 zero in slot 255`, `column 0 zero (ignored by the
/// check)`, `only 7 nonzero columns after column 0`.
fn parse(text: &str) -> Option<Change> {
    let plain = text.split(" (").next().unwrap_or(text);
    let (plain, slots) = match plain.split_once(" in slot ") {
        Some((plain, slot)) => {
            let slot = index(slot, N)?;
            (plain, slot..slot + 1)
        }
        None => (plain, 0..N),
    };
    let words: Vec<&str> = plain.split_whitespace().collect();
    let action = if let Some((target, sum)) = plain.split_once(" := ") {
        Action::Row {
            target: index(target.strip_prefix("row ")?, ROWS)?,
            terms: linear_terms(sum)?,
        }
    } else {
        let (rows, columns) = match words[..] {
            ["random"] => (0..0, 0..0),
            ["row", row, "zero"] => (one(index(row, ROWS)?), 0..COLS),
            ["column", column, "zero"] => (0..ROWS, one(index(column, COLS)?)),
            // The last columns are the ones left.
            ["only", count, "nonzero", "columns", "after", "column", "0"] => {
                (0..ROWS, 1..COLS - index(count, COLS)?)
            }
            _ => return None,
        };
        Action::Zero { rows, columns }
    };
    Some(Change { action, slots })
}

/// What a sentence with these numbers might mean, the plainest first.
fn readings(text: &str) -> Vec<Change> {
    let numbers: Vec<usize> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let below = |limit: usize| numbers.iter().copied().filter(move |n| *n < limit);
    let zero = |rows, columns| Action::Zero { rows, columns };
    let mut actions = vec![
        zero(0..0, 0..0),
        zero(0..ROWS, 0..COLS),
        zero(0..ROWS, 1..COLS),
    ];
    actions.extend((0..ROWS).flat_map(|row| [zero(one(row), 0..COLS), zero(one(row), 1..COLS)]));
    for target in below(COLS) {
        actions.extend(below(COLS).map(|source| Action::Column { target, source }));
    }
    let mut factors = vec![1, modulus::Q - 1, 2, 3, modulus::Q - 2];
    factors.extend(numbers.iter().map(|&n| modulus::reduce(n as u64)));
    factors.sort_unstable();
    factors.dedup();
    for target in 0..ROWS {
        row_readings(target, &factors, &mut actions);
    }
    let mut changes: Vec<Change> = blocks().map(Change::everywhere).collect();
    let named = below(N).flat_map(|slot| [one(slot), 0..slot, slot..N]);
    let slots = core::iter::once(0..N)
        .chain(named)
        .chain([one(0), one(N - 1)]);
    for slots in slots {
        let change = |action: &Action| Change {
            action: action.clone(),
            slots: slots.clone(),
        };
        changes.extend(actions.iter().map(change));
    }
    // Readings with rows that the sentence does not name come last.
    changes.sort_by_key(|change| change.unnamed(&numbers));
    changes
}

/// Blocks of whole columns or rows that are zero, and unit matrices.
fn blocks() -> impl Iterator<Item = Action> {
    let columns = (0..COLS).flat_map(|start| (start + 1..=COLS).map(move |end| start..end));
    let rows = (0..ROWS).flat_map(|start| (start + 2..=ROWS).map(move |end| start..end));
    let columns = columns.map(|columns| (0..ROWS, columns));
    let zero = columns.chain(rows.map(|rows| (rows, 0..COLS)));
    let zero = zero.map(|(rows, columns)| Action::Zero { rows, columns });
    zero.chain((1..COLS - ROWS).map(|from| Action::Unit { from }))
}

/// A row as a multiple of another, as a combination of two, as the sum of all others or of those before.
fn row_readings(target: usize, factors: &[u64], actions: &mut Vec<Action>) {
    let others = || (0..ROWS).filter(move |row| *row != target);
    let mut row = |terms: Vec<(u64, usize)>| actions.push(Action::Row { target, terms });
    for one in others() {
        factors.iter().for_each(|&factor| row(vec![(factor, one)]));
        for two in others().filter(|two| *two > one) {
            for &factor in factors {
                factors
                    .iter()
                    .for_each(|&second| row(vec![(factor, one), (second, two)]));
            }
        }
    }
    for factor in [1, modulus::Q - 1] {
        row(others().map(|row| (factor, row)).collect());
        row((0..target).map(|row| (factor, row)).collect());
    }
}

/// `row 2`, `row 1 + row 2`, `3 * row 1 - row 4`, `sum of rows 0..6`: factors and rows.
fn linear_terms(text: &str) -> Option<Vec<(u64, usize)>> {
    if let Some(range) = text.strip_prefix("sum of rows ") {
        let (first, last) = range.split_once("..")?;
        let (first, last) = (index(first, ROWS)?, index(last, ROWS)?);
        return Some((first..=last).map(|row| (1, row)).collect());
    }
    let spaced = text.replace('-', "+ -").replace('*', " ");
    let terms = spaced
        .split('+')
        .map(str::trim)
        .filter(|term| !term.is_empty());
    let term = |term: &str| {
        let (factor, row) = term.rsplit_once("row ")?;
        let factor = match factor.trim() {
            "" => 1,
            "-" => -1,
            number => number.replace(' ', "").parse().ok()?,
        };
        Some((modulus::from_signed(factor), index(row, ROWS)?))
    };
    terms.map(term).collect()
}

fn index(text: &str, limit: usize) -> Option<usize> {
    text.trim()
        .parse::<usize>()
        .ok()
        .filter(|index| *index < limit)
}

const fn one(index: usize) -> Range<usize> {
    index..index + 1
}

/// Most matrices hashed to settle one sentence: some seconds.
const READINGS_MAX: usize = 3_000;
const ROWS: usize = horizon_pulsar::params::ROWS;
const COLS: usize = horizon_pulsar::params::NONCE_COLS;

#[cfg(test)]
mod tests {
    use super::super::fields::{ser_matrix, sha256};
    use super::*;

    fn digest(polys: &[Raw]) -> serde_json::Value {
        serde_json::json!({
            "rows": ROWS, "cols": COLS,
            "wire_sha256": hex::encode(&sha256(&ser_matrix(polys, COLS))),
            "first": polys[0][0].to_string(), "last": polys[ROWS * COLS - 1][N - 1].to_string(),
        })
    }

    mod hex {
        pub(super) fn encode(bytes: &[u8]) -> String {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        }
    }

    #[test]
    fn a_sentence_that_is_not_understood_is_settled_by_the_digest() {
        let polys = LabelStream::new("rank-test").polys(ROWS * COLS, modulus::Q);
        let row = |target, terms| Action::Row { target, terms };
        let zero = |rows, columns| Action::Zero { rows, columns };
        let slot = |action, slots| Change { action, slots };
        for (text, change) in [
            (
                "rows 2 and 5 are equal",
                Change::everywhere(row(5, vec![(1, 2)])),
            ),
            (
                "row 7 = row 0 + row 1",
                Change::everywhere(row(7, vec![(1, 0), (1, 1)])),
            ),
            ("the last row is the sum of all", {
                Change::everywhere(row(7, (0..7).map(|r| (1, r)).collect()))
            }),
            (
                "row 4 five times row 1 only in slot 17",
                slot(row(4, vec![(1, 1)]), 17..18),
            ),
            (
                "row 6 is 5 times row 1",
                Change::everywhere(row(6, vec![(5, 1)])),
            ),
            (
                "nothing in row 3 at slot 100",
                slot(zero(3..4, 0..COLS), 100..101),
            ),
            ("all zero", Change::everywhere(zero(0..ROWS, 0..COLS))),
            // Literally the last seven columns stay.
            ("only 7 nonzero columns after column 0", {
                Change::everywhere(zero(0..ROWS, 8..COLS))
            }),
            (
                "unit matrix in columns 1..8",
                Change::everywhere(Action::Unit { from: 1 }),
            ),
        ] {
            let expected = change.apply(&polys);
            let digest = digest(&expected);
            let digest = Fields::of(&digest).unwrap();
            assert!(changed(&polys, text, &digest) == Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_digest_that_no_reading_has_fails_the_case() {
        let polys = LabelStream::new("rank-test").polys(ROWS * COLS, modulus::Q);
        let mut wrong = polys.clone();
        wrong[0][0] ^= 1;
        let digest = digest(&wrong);
        let digest = Fields::of(&digest).unwrap();
        for text in ["random", "something else"] {
            assert!(changed(&polys, text, &digest).is_err(), "{text}");
        }
    }
}
