//! Why a measurement could not be taken.

use core::fmt;

/// Any failure of a measurement or of a fixture: a fault of this program or of its machine, never of
/// what a user typed.
#[derive(Debug)]
pub struct Failed(pub String);

impl<E: core::error::Error> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
