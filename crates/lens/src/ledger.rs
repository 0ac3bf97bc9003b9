//! The second fence around nonces: what may happen once is written down before it happens.
//!
//! The first fence is the type: [`SigningNonces`](crate::SigningNonces) are consumed by value, live
//! in memory only and have no encoding. It holds within one run of one process. The ledger holds
//! across restarts, restored snapshots and a random generator that repeats itself: two signature
//! shares from one pair of nonces give away the key share.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

use crate::codec::{Reader, Writer};
use crate::wire::SESSION_LEN;
use crate::{Error, Malformed, ShareId};

/// Names one signing session; the participants agree on it beforehand. Never used twice with one
/// share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; SESSION_LEN]);

/// Names a pair of nonces: a digest of the share and both commitments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NonceId(pub(crate) [u8; 32]);

impl NonceId {
    /// The 32 bytes, for a store's key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A session at its first round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The share that will sign.
    pub share: ShareId,
    /// The session.
    pub session: SessionId,
    /// The nonces made for it.
    pub nonce: NonceId,
}

/// A session at its second round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spending {
    /// The share that signs.
    pub share: ShareId,
    /// The session.
    pub session: SessionId,
    /// The nonces that are used up.
    pub nonce: NonceId,
    /// Digest of the signing package they are used for.
    pub package: [u8; 32],
}

/// Durable memory of which sessions and nonces were used.
///
/// Both methods check and write in one atomic step, and return `Ok` only when the record is durable
/// (synced, not merely handed to the system): commitments and signature shares leave after that and
/// not before. A ledger may forget a share only when the share itself is destroyed.
pub trait SessionLedger {
    /// Notes that this share committed to these nonces in this session.
    ///
    /// # Errors
    /// [`LedgerFault::SessionUsed`] when the share has a record of this session,
    /// [`LedgerFault::NonceUsed`] when it has a record of these nonces, [`LedgerFault::Full`],
    /// [`LedgerFault::Storage`]. Nothing is recorded then.
    fn open(&mut self, opening: &Opening) -> Result<(), LedgerFault>;

    /// Notes that the nonces of an open session are used up.
    ///
    /// # Errors
    /// [`LedgerFault::NotOpen`] when the share has no such session with such nonces,
    /// [`LedgerFault::Spent`] when it was spent already, also on the same package,
    /// [`LedgerFault::Storage`]. Nothing is recorded then.
    fn spend(&mut self, spending: &Spending) -> Result<(), LedgerFault>;
}

/// Why a ledger refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LedgerFault {
    /// The session was opened before with this share.
    SessionUsed,
    /// The same nonces came up before: the random generator repeated itself.
    NonceUsed,
    /// No such session is open with these nonces.
    NotOpen,
    /// The session's nonces are used up.
    Spent,
    /// No room; nothing may be signed until shares that no longer exist are forgotten.
    Full,
    /// The store failed; nothing may be signed until it is back.
    Storage,
}

impl fmt::Display for LedgerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SessionUsed => "session was used before",
            Self::NonceUsed => "nonces were used before",
            Self::NotOpen => "no such session is open",
            Self::Spent => "nonces are used up",
            Self::Full => "no room",
            Self::Storage => "store failed",
        })
    }
}

/// A ledger in memory, with an image of its content for a file.
///
/// It is durable only as far as the caller writes [`MemoryLedger::to_bytes`] out in time; a node
/// keeps its ledger in its database instead. For tests, tools and short-lived shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLedger {
    capacity: usize,
    sessions: BTreeMap<(ShareId, SessionId), Entry>,
    nonces: BTreeSet<(ShareId, NonceId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    nonce: NonceId,
    spent: Option<[u8; 32]>,
}

impl MemoryLedger {
    /// An empty ledger with room for this many sessions, at most [`LEDGER_CAPACITY_MAX`].
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.min(LEDGER_CAPACITY_MAX),
            sessions: BTreeMap::new(),
            nonces: BTreeSet::new(),
        }
    }

    /// The number of sessions on record.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Whether nothing is on record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Forgets a share that no longer exists, e.g. after a refresh destroyed it.
    pub fn forget(&mut self, share: ShareId) {
        self.sessions.retain(|(owner, _), _| *owner != share);
        self.nonces.retain(|(owner, _)| *owner != share);
    }

    /// The content: magic, count, then per session share, session, nonce, state and package.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(IMAGE_HEAD_LEN + self.sessions.len() * IMAGE_ENTRY_LEN);
        writer.bytes(IMAGE_MAGIC);
        writer.u32(u32::try_from(self.sessions.len()).unwrap_or(u32::MAX));
        for ((share, session), entry) in &self.sessions {
            writer.bytes(&share.0);
            writer.bytes(&session.0);
            writer.bytes(&entry.nonce.0);
            writer.bytes(&[u8::from(entry.spent.is_some())]);
            writer.bytes(&entry.spent.unwrap_or_default());
        }
        writer.into_bytes()
    }

    /// Reads the content back, with room for `capacity` sessions and at least those read.
    ///
    /// # Errors
    /// [`Malformed`]: another magic, a length that does not match the count, entries out of order,
    /// a state that does not exist, or the same nonces twice.
    pub fn from_bytes(bytes: &[u8], capacity: usize) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        if reader.array("ledger magic")? != *IMAGE_MAGIC {
            return Err(Malformed::Version.into());
        }
        let count = usize::try_from(reader.u32("ledger count")?).unwrap_or(usize::MAX);
        if count > LEDGER_CAPACITY_MAX {
            let (field, max) = ("sessions", LEDGER_CAPACITY_MAX);
            return Err(Malformed::Count { field, min: 0, max }.into());
        }
        let mut ledger = Self::new(capacity.max(count));
        for _ in 0..count {
            ledger.read_entry(&mut reader)?;
        }
        reader.finish()?;
        Ok(ledger)
    }

    fn read_entry(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let share = ShareId(reader.array("ledger share")?);
        let session = SessionId(reader.array("ledger session")?);
        let nonce = NonceId(reader.array("ledger nonce")?);
        let [state] = reader.array("ledger state")?;
        let package: [u8; 32] = reader.array("ledger package")?;
        let spent = match state {
            0 if package == [0; 32] => None,
            1 => Some(package),
            _ => {
                return Err(Malformed::Inconsistent {
                    field: "ledger state",
                });
            }
        };
        let key = (share, session);
        let last = self.sessions.last_key_value().map(|(key, _)| *key);
        if last.is_some_and(|last| last >= key) {
            return Err(Malformed::Order {
                field: "ledger sessions",
            });
        }
        if !self.nonces.insert((share, nonce)) {
            return Err(Malformed::Inconsistent {
                field: "ledger nonces",
            });
        }
        self.sessions.insert(key, Entry { nonce, spent });
        Ok(())
    }
}

impl SessionLedger for MemoryLedger {
    fn open(&mut self, opening: &Opening) -> Result<(), LedgerFault> {
        let key = (opening.share, opening.session);
        let nonce = (opening.share, opening.nonce);
        if self.sessions.contains_key(&key) {
            return Err(LedgerFault::SessionUsed);
        }
        if self.nonces.contains(&nonce) {
            return Err(LedgerFault::NonceUsed);
        }
        if self.sessions.len() >= self.capacity {
            return Err(LedgerFault::Full);
        }
        let entry = Entry {
            nonce: opening.nonce,
            spent: None,
        };
        self.sessions.insert(key, entry);
        self.nonces.insert(nonce);
        Ok(())
    }

    fn spend(&mut self, spending: &Spending) -> Result<(), LedgerFault> {
        let entry = self
            .sessions
            .get_mut(&(spending.share, spending.session))
            .filter(|entry| entry.nonce == spending.nonce)
            .ok_or(LedgerFault::NotOpen)?;
        if entry.spent.is_some() {
            return Err(LedgerFault::Spent);
        }
        entry.spent = Some(spending.package);
        Ok(())
    }
}

/// Most sessions a [`MemoryLedger`] keeps: about 200 bytes each.
pub const LEDGER_CAPACITY_MAX: usize = 1 << 20;

const IMAGE_MAGIC: &[u8; 8] = b"HZLENSL1";
const IMAGE_HEAD_LEN: usize = 8 + 4;
const IMAGE_ENTRY_LEN: usize = 4 * 32 + 1;

#[cfg(test)]
mod tests {
    use super::*;

    const fn opening(share: u8, session: u8, nonce: u8) -> Opening {
        Opening {
            share: ShareId([share; 32]),
            session: SessionId([session; 32]),
            nonce: NonceId([nonce; 32]),
        }
    }

    const fn spending(share: u8, session: u8, nonce: u8, package: u8) -> Spending {
        Spending {
            share: ShareId([share; 32]),
            session: SessionId([session; 32]),
            nonce: NonceId([nonce; 32]),
            package: [package; 32],
        }
    }

    fn filled() -> MemoryLedger {
        let mut ledger = MemoryLedger::new(4);
        ledger.open(&opening(1, 1, 1)).unwrap();
        ledger.open(&opening(1, 2, 2)).unwrap();
        ledger.open(&opening(2, 1, 1)).unwrap();
        ledger.spend(&spending(1, 1, 1, 9)).unwrap();
        ledger
    }

    #[test]
    fn every_repetition_is_refused_before_and_after_a_restart() {
        let ledger = filled();
        let restarted = MemoryLedger::from_bytes(&ledger.to_bytes(), 4).unwrap();
        assert_eq!(restarted, ledger);
        for mut ledger in [ledger, restarted] {
            let open = |ledger: &mut MemoryLedger, o| ledger.open(&o);
            assert_eq!(
                open(&mut ledger, opening(1, 1, 7)),
                Err(LedgerFault::SessionUsed)
            );
            assert_eq!(
                open(&mut ledger, opening(1, 7, 1)),
                Err(LedgerFault::NonceUsed)
            );
            let again = ledger.spend(&spending(1, 1, 1, 9));
            assert_eq!(again, Err(LedgerFault::Spent));
            let other = ledger.spend(&spending(1, 1, 1, 8));
            assert_eq!(other, Err(LedgerFault::Spent));
            let unknown = ledger.spend(&spending(1, 3, 3, 9));
            assert_eq!(unknown, Err(LedgerFault::NotOpen));
            let crossed = ledger.spend(&spending(1, 2, 1, 9));
            assert_eq!(crossed, Err(LedgerFault::NotOpen));
            assert_eq!(open(&mut ledger, opening(3, 3, 3)), Ok(()));
            assert_eq!(open(&mut ledger, opening(3, 4, 4)), Err(LedgerFault::Full));
            assert_eq!(ledger.spend(&spending(1, 2, 2, 9)), Ok(()));
        }
    }

    #[test]
    fn a_forgotten_share_leaves_room_and_others_stay() {
        let mut ledger = filled();
        ledger.forget(ShareId([1; 32]));
        assert_eq!(ledger.len(), 1);
        assert_eq!(ledger.open(&opening(1, 1, 1)), Ok(()));
        assert_eq!(
            ledger.open(&opening(2, 1, 5)),
            Err(LedgerFault::SessionUsed)
        );
    }

    #[test]
    fn a_damaged_image_is_refused() {
        let image = filled().to_bytes();
        let malformed = |bytes: &[u8]| match MemoryLedger::from_bytes(bytes, 4) {
            Err(Error::Malformed(fault)) => fault,
            other => panic!("{other:?}"),
        };
        for len in 0..image.len() {
            assert!(matches!(malformed(&image[..len]), Malformed::Short { .. }));
        }
        assert_eq!(malformed(&[&image[..], &[0]].concat()), Malformed::Trailing);
        let with = |offset: usize, value: u8| {
            let mut bytes = image.clone();
            bytes[offset] = value;
            malformed(&bytes)
        };
        assert_eq!(with(0, b'X'), Malformed::Version);
        assert!(matches!(with(8, 0xff), Malformed::Count { .. }));
        assert!(matches!(with(12, 3), Malformed::Order { .. }));
        let state = IMAGE_HEAD_LEN + 96;
        assert!(matches!(with(state, 2), Malformed::Inconsistent { .. }));
        assert!(matches!(with(state, 0), Malformed::Inconsistent { .. }));
        let mut twice = image.clone();
        twice.copy_within(
            IMAGE_HEAD_LEN + 64..IMAGE_HEAD_LEN + 96,
            IMAGE_HEAD_LEN + 129 + 64,
        );
        assert!(matches!(
            malformed(&twice),
            Malformed::Inconsistent {
                field: "ledger nonces"
            }
        ));
    }
}
