//! A fixed table of digests: buckets of eight, with ageing that a single use does not defeat.

/// Fixed number of buckets, allocated once.
pub(super) struct Table {
    buckets: Box<[Bucket]>,
    len: usize,
}

impl Table {
    /// `bucket_count` is at least 1.
    pub(super) fn new(bucket_count: usize) -> Self {
        Self {
            buckets: vec![Bucket::EMPTY; bucket_count].into(),
            len: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.buckets.fill(Bucket::EMPTY);
        self.len = 0;
    }

    /// Whether the digest is there; makes it the youngest of its bucket.
    pub(super) fn touch(&mut self, digest: &Digest) -> bool {
        self.bucket(digest)
            .is_some_and(|bucket| bucket.touch(digest))
    }

    pub(super) fn insert(&mut self, digest: &Digest) -> Inserted {
        let Some(bucket) = self.bucket(digest) else {
            return Inserted::AlreadyThere;
        };
        let inserted = bucket.insert(digest);
        if inserted == Inserted::IntoFree {
            self.len += 1;
        }
        inserted
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn capacity(&self) -> usize {
        self.buckets.len() * BUCKET_LEN
    }

    fn bucket(&mut self, digest: &Digest) -> Option<&mut Bucket> {
        // The remainder is below the length, which fits.
        let index = digest.word(1) % self.buckets.len() as u64;
        self.buckets.get_mut(index as usize)
    }
}

/// What an insertion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    AlreadyThere,
    IntoFree,
    InPlaceOfAnother,
}

/// 32 bytes of a keyed hash: uniform to everybody without the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(pub(super) [u8; 32]);

impl Digest {
    /// One of the four 64-bit words, for choosing a place.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.0
            .as_chunks()
            .0
            .get(index)
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Eight digests and their ages.
///
/// Age 0 is a free place. A new entry starts at [`AGE_NEW`], one that was asked for goes back to
/// [`AGE_USED`]; the first at [`AGE_OLDEST`] gives way. So entries that are never asked for
/// displace each other before they displace one in use (re-reference interval prediction).
#[derive(Clone, Copy)]
struct Bucket {
    digests: [[u8; 32]; BUCKET_LEN],
    ages: [u8; BUCKET_LEN],
}

impl Bucket {
    const EMPTY: Self = Self {
        digests: [[0; 32]; BUCKET_LEN],
        ages: [0; BUCKET_LEN],
    };

    fn touch(&mut self, digest: &Digest) -> bool {
        for (held, age) in self.digests.iter().zip(&mut self.ages) {
            if *age != AGE_FREE && *held == digest.0 {
                *age = AGE_USED;
                return true;
            }
        }
        false
    }

    fn insert(&mut self, digest: &Digest) -> Inserted {
        if self.touch(digest) {
            return Inserted::AlreadyThere;
        }
        let (place, outcome) = match self.position_of(AGE_FREE) {
            Some(place) => (place, Inserted::IntoFree),
            None => (self.make_room(), Inserted::InPlaceOfAnother),
        };
        if let (Some(held), Some(age)) = (self.digests.get_mut(place), self.ages.get_mut(place)) {
            *held = digest.0;
            *age = AGE_NEW;
        }
        outcome
    }

    /// Ages all entries until one is oldest. The bucket is full.
    fn make_room(&mut self) -> usize {
        let oldest = self.ages.iter().copied().max().unwrap_or(AGE_OLDEST);
        for age in &mut self.ages {
            *age += AGE_OLDEST - oldest;
        }
        self.position_of(AGE_OLDEST).unwrap_or(0)
    }

    fn position_of(&self, wanted: u8) -> Option<usize> {
        self.ages.iter().position(|&age| age == wanted)
    }
}

pub(super) const BUCKET_LEN: usize = 8;
pub(super) const BUCKET_BYTES: usize = size_of::<Bucket>();

const AGE_FREE: u8 = 0;
const AGE_USED: u8 = 1;
const AGE_NEW: u8 = 3;
const AGE_OLDEST: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u64) -> Digest {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        Digest(bytes)
    }

    #[test]
    fn an_all_zero_digest_is_not_found_in_an_empty_table() {
        assert!(!Table::new(1).touch(&digest(0)));
    }

    #[test]
    fn a_full_bucket_gives_up_one_entry_at_a_time() {
        let mut table = Table::new(1);
        for number in 0..8 {
            assert_eq!(table.insert(&digest(number)), Inserted::IntoFree);
        }
        assert_eq!(table.insert(&digest(3)), Inserted::AlreadyThere);
        assert_eq!(table.insert(&digest(8)), Inserted::InPlaceOfAnother);
        assert_eq!((table.len(), table.capacity()), (8, 8));
        let held = (0..9)
            .filter(|&number| table.touch(&digest(number)))
            .count();
        assert_eq!(held, 8);
    }

    #[test]
    fn entries_in_use_survive_entries_that_are_used_once() {
        let mut table = Table::new(1);
        for number in 0..4 {
            table.insert(&digest(number));
        }
        for number in 100..10_000 {
            table.insert(&digest(number));
            for wanted in 0..4 {
                assert!(table.touch(&digest(wanted)), "{wanted} lost at {number}");
            }
        }
    }

    #[test]
    fn entries_no_longer_used_make_room_in_the_end() {
        let mut table = Table::new(1);
        for number in 0..8 {
            table.insert(&digest(number));
            table.touch(&digest(number));
        }
        for number in 100..140 {
            table.insert(&digest(number));
        }
        assert!((0..8).all(|number| !table.touch(&digest(number))));
    }
}
