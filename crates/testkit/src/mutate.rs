//! The malformed variants that every decoder of fixed-size bytes must refuse.

/// One malformed input and what was done to it.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was done, for the failure message.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Truncations at every length below 64 and at `steps` lengths above, an empty input, one and eight
/// trailing bytes, and a doubled input. None of them is ever a valid encoding of a fixed size.
#[must_use]
pub fn wrong_lengths(valid: &[u8], steps: usize) -> Vec<Mutant> {
    let mut cuts: Vec<usize> = (0..valid.len().min(64)).collect();
    let stride = (valid.len() / steps.max(1)).max(1);
    cuts.extend((64..valid.len()).step_by(stride));
    cuts.extend(valid.len().checked_sub(1));
    cuts.sort_unstable();
    cuts.dedup();
    let cut = |&len: &usize| Mutant {
        name: format!("cut to {len}"),
        bytes: valid[..len].to_vec(),
    };
    let mut mutants: Vec<Mutant> = cuts.iter().map(cut).collect();
    for (name, tail) in [
        ("one trailing byte", &[0u8; 1][..]),
        ("eight trailing bytes", &[0; 8]),
    ] {
        mutants.push(Mutant {
            name: name.into(),
            bytes: [valid, tail].concat(),
        });
    }
    if !valid.is_empty() {
        mutants.push(Mutant {
            name: "doubled".into(),
            bytes: [valid, valid].concat(),
        });
    }
    mutants
}

/// `valid` with the byte at `offset` replaced.
#[must_use]
pub fn with_byte(valid: &[u8], offset: usize, value: u8) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    bytes[offset] = value;
    bytes
}

/// `valid` with the little-endian word at `offset` replaced.
#[must_use]
pub fn with_le64(valid: &[u8], offset: usize, value: u64) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mutant_has_the_length_of_the_valid_input() {
        let valid = vec![7u8; 1000];
        let mutants = wrong_lengths(&valid, 10);
        assert!(mutants.iter().all(|m| m.bytes.len() != valid.len()));
        assert!(mutants.iter().any(|m| m.bytes.len() == 999));
        assert!(mutants.iter().any(|m| m.bytes.is_empty()));
    }
}
