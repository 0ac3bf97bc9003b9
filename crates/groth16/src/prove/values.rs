//! Values of variables, by storage class.

use super::r1cs::Class;
use crate::fr::Fr;

/// Gives every local variable of a system a value.
pub(crate) trait Assigned: Sync {
    /// The value if it is kept as a small integer.
    fn small(&self, var: u32) -> Option<i64>;

    /// The value.
    fn element(&self, var: u32) -> Fr;
}

/// Bits, 64 to a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitVec {
    words: Vec<u64>,
    len: usize,
}

impl BitVec {
    pub(crate) fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    /// Bit `index`; `false` past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> bool {
        self.words
            .get(index / 64)
            .is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Number of bits.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words; bit `i` is bit `i % 64` of word `i / 64`, unused bits are zero.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// Witness values of one system, by storage class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Values of the bit class.
    pub bits: BitVec,
    /// Small signed integers.
    pub ints: Vec<i64>,
    /// Field elements.
    pub fields: Vec<Fr>,
}

/// Values of one system together with its public inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// Without the constant one.
    pub(crate) public: &'a [Fr],
    pub(crate) values: &'a Values,
}

impl View<'_> {
    /// Class and index in the class. Public variables include the constant one.
    fn place(&self, var: u32) -> (Class, usize) {
        self.values.place(var as usize, self.public.len() + 1)
    }
}

impl Assigned for View<'_> {
    fn small(&self, var: u32) -> Option<i64> {
        match self.place(var) {
            (Class::Public, index) => (index == 0).then_some(1),
            (class, index) => self.values.small(class, index),
        }
    }

    fn element(&self, var: u32) -> Fr {
        match self.place(var) {
            (Class::Public, index) => index.checked_sub(1).map_or(Fr::ONE, |index| {
                self.public.get(index).copied().unwrap_or_default()
            }),
            (class, index) => self.values.element(class, index),
        }
    }
}

impl Values {
    /// Class and index in the class of a variable, where `before` variables precede the witness.
    pub(crate) fn place(&self, var: usize, before: usize) -> (Class, usize) {
        let mut index = var;
        for (class, len) in [
            (Class::Public, before),
            (Class::Bit, self.bits.len()),
            (Class::Int, self.ints.len()),
        ] {
            if index < len {
                return (class, index);
            }
            index -= len;
        }
        (Class::Field, index)
    }

    /// A witness value if it is kept as a small integer.
    pub(crate) fn small(&self, class: Class, index: usize) -> Option<i64> {
        match class {
            Class::Bit => Some(i64::from(self.bits.get(index))),
            Class::Int => self.ints.get(index).copied(),
            Class::Public | Class::Field => None,
        }
    }

    /// A witness value; zero where there is none.
    pub(crate) fn element(&self, class: Class, index: usize) -> Fr {
        match self.small(class, index) {
            Some(value) => Fr::from_i64(value),
            None => self.fields.get(index).copied().unwrap_or_default(),
        }
    }

    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bits.len() + self.ints.len() + self.fields.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
