//! The boot fence: a directory that was copied or restored is noticed before it signs.
//!
//! Every start gets a number and a random name. Both are written to the signing guard and to the
//! file `boot` before anything else happens, and are announced to the peers, signed, with the height
//! of the ledger on disk. Announcements are repeated every few seconds and counted on disk before
//! they are made. A peer that has seen more of this validator than it now claims sends the newer
//! announcement back: this validator's own signature proves that another life of it exists.
//!
//! What is noticed: parts of the directory from different times (here); a whole directory from
//! before the last start, or from before the last announcement that any one honest peer which is
//! reached has heard. What is not: a copy younger than that.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use horizon_sig::mldsa::{SigningKey, VerifyingKey};
use horizon_sig::traits::Verifier as _;
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::directory::write_atomic;
use super::{CONFIGURATION, Failure, INTERNAL, IO, UNSAFE};
use crate::gossip::{BOOT_CONTEXT, BootAnnouncement};
use crate::signer::{Fence, Guard};

/// Begins a new life of the directory: compares the two records of the last one, and writes this
/// one to both.
///
/// # Errors
/// Exit code 7 when the records are from different times.
pub(super) fn begin(guard: &Guard, path: &Path, rng: &mut dyn CryptoRng) -> Result<Fence, Failure> {
    let beside = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Failure::new(
                CONFIGURATION,
                format!("{}: {error}", path.display()),
            ));
        }
    };
    begin_with(guard, beside, |bytes| write_atomic(path, bytes), rng)
}

/// As the start of a process does, with the record beside the guard kept elsewhere: `beside` is what
/// it holds, and `write` replaces it so that a power cut leaves the old or the new one.
///
/// # Errors
/// Exit code 7 when the records are from different times or one is malformed, 6 when one cannot be
/// written.
pub fn begin_with(
    guard: &Guard,
    beside: Option<Vec<u8>>,
    write: impl FnOnce(&[u8]) -> std::io::Result<()>,
    rng: &mut dyn CryptoRng,
) -> Result<Fence, Failure> {
    let io = |error: &dyn core::fmt::Display| Failure::new(IO, format!("boot record: {error}"));
    let inside = guard.fence().map_err(|error| io(&error))?;
    let beside = beside.map(|bytes| decode(&bytes)).transpose()?;
    let last = agree(inside, beside).map_err(|text| Failure::new(UNSAFE, text))?;
    let mut incarnation = [0; 32];
    rng.fill_bytes(&mut incarnation);
    let fence = Fence {
        boot: last.saturating_add(1),
        incarnation,
    };
    // The guard first: it may be one start ahead of the file, never behind.
    guard.set_fence(&fence).map_err(|error| io(&error))?;
    write(&encode(&fence)).map_err(|error| io(&error))?;
    Ok(fence)
}

/// The number of the last start, if the guard and the file can be of the same time.
fn agree(inside: Option<Fence>, beside: Option<Fence>) -> Result<u64, String> {
    match (inside, beside) {
        (None, None) => Ok(0),
        (Some(inside), None) if inside.boot == 1 => Ok(1),
        (Some(inside), Some(beside)) if inside == beside => Ok(inside.boot),
        // A crash between the two writes.
        (Some(inside), Some(beside)) if inside.boot == beside.boot.saturating_add(1) => {
            Ok(inside.boot)
        }
        (inside, beside) => {
            let number = |fence: Option<Fence>| {
                fence.map_or_else(|| "none".to_owned(), |fence| fence.boot.to_string())
            };
            Err(format!(
                "signer.redb and boot are from different times (starts {} and {}): part of the \
                 directory is an old copy; {WAY_BACK}",
                number(inside),
                number(beside)
            ))
        }
    }
}

fn decode(bytes: &[u8]) -> Result<Fence, Failure> {
    let fence = bytes.split_first_chunk::<8>().and_then(|(boot, rest)| {
        Some(Fence {
            boot: u64::from_be_bytes(*boot),
            incarnation: rest.try_into().ok()?,
        })
    });
    fence.ok_or_else(|| Failure::new(UNSAFE, format!("the file boot is malformed; {WAY_BACK}")))
}

fn encode(fence: &Fence) -> Vec<u8> {
    let mut bytes = fence.boot.to_be_bytes().to_vec();
    bytes.extend_from_slice(&fence.incarnation);
    bytes
}

/// An old copy of the directory that the operator took on, in writing, after the refusal.
///
/// # Security
/// The operator says that no other life of the validator runs or will run. The node follows without
/// signing anything until the ledger is well past everything that the lost life can have signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restored {
    /// Start number of the lost life, from the refusal.
    pub boot: u64,
    /// Height that the lost life had reached, from the refusal.
    pub height: u64,
    /// Whether the ledger is past it.
    #[serde(default)]
    pub caught_up: bool,
}

impl Restored {
    /// Reads the record, if there is one.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| Failure::configuration(format!("{}: {error}", path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::configuration(format!(
                "{}: {error}",
                path.display()
            ))),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let bytes =
            serde_json::to_vec(self).map_err(|error| Failure::new(INTERNAL, error.to_string()))?;
        write_atomic(path, &bytes)
            .map_err(|error| Failure::new(IO, format!("{}: {error}", path.display())))
    }

    /// Height from which the node may sign again.
    pub(super) const fn safe_height(&self) -> u64 {
        self.height.saturating_add(RESTORE_MARGIN)
    }
}

/// Sets both records of a directory to a later start, so that the next one counts on from there.
pub(super) fn skip(guard: &Guard, path: &Path, fence: &Fence) -> Result<(), Failure> {
    let io = |error: &dyn core::fmt::Display| Failure::new(IO, format!("boot record: {error}"));
    guard.set_fence(fence).map_err(|error| io(&error))?;
    write_atomic(path, &encode(fence)).map_err(|error| io(&error))
}

/// Number of the voting journal: that of the start at which an older one was given up, or 0.
pub(super) fn read_journal(path: &Path) -> Result<u64, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            Failure::new(
                UNSAFE,
                format!("{} is malformed; {WAY_BACK}", path.display()),
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Failure::configuration(format!(
            "{}: {error}",
            path.display()
        ))),
    }
}

/// Gives the voting journal up for a new one of this number.
pub(super) fn write_journal(path: &Path, number: u64) -> Result<(), Failure> {
    write_atomic(path, number.to_string().as_bytes())
        .map_err(|error| Failure::new(IO, format!("{}: {error}", path.display())))
}

/// What a validator does about announcements: makes its own, remembers those of its peers, and
/// recognises one of its own that it did not make.
#[derive(Debug)]
pub struct Witness {
    me: u16,
    fence: Fence,
    /// Height of the ledger when this life began.
    start_height: u64,
    /// Announcements of this directory when this life began.
    start_number: u64,
    /// Lives up to this start are known to be lost.
    accepted: u64,
    genesis_hash: [u8; 32],
    keys: Vec<VerifyingKey>,
    /// The newest announcement of every peer.
    seen: BTreeMap<u16, BootAnnouncement>,
}

/// What an announcement means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing is wrong.
    Fine,
    /// The peer claims less than it claimed before: send it this, its own newer announcement.
    Older(Box<BootAnnouncement>),
    /// The signature does not verify or the sender speaks for somebody else.
    Forged,
    /// A life of this validator that the operator knows to be lost made this many announcements.
    Lost {
        /// Their number.
        number: u64,
    },
    /// There is, or was, another life of this validator: stop.
    Myself {
        /// Its boot number.
        boot: u64,
        /// The height it had reached.
        height: u64,
    },
}

impl Witness {
    /// `start_height` and `start_number` are the height of the ledger and the number of announcements
    /// on disk, `keys` the certificate keys in canonical order.
    #[must_use]
    pub const fn new(
        me: u16,
        fence: Fence,
        start_height: u64,
        start_number: u64,
        genesis_hash: [u8; 32],
        keys: Vec<VerifyingKey>,
    ) -> Self {
        Self {
            me,
            fence,
            start_height,
            start_number,
            accepted: 0,
            genesis_hash,
            keys,
            seen: BTreeMap::new(),
        }
    }

    /// Knows that the lives up to this start are lost, because the operator says so.
    #[must_use]
    pub const fn accepting(mut self, boot: u64) -> Self {
        self.accepted = boot;
        self
    }

    /// Announces this life. `height` and the `number` of this announcement must be on disk.
    ///
    /// # Errors
    /// The signing library's.
    pub fn announce(
        &self,
        key: &SigningKey,
        height: u64,
        number: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<BootAnnouncement, horizon_sig::error::Error> {
        let mut announcement = BootAnnouncement {
            sender: self.me,
            boot: self.fence.boot,
            incarnation: self.fence.incarnation,
            height,
            number,
            signature: Box::new([0; horizon_warp::limits::MLDSA65_SIGNATURE_LEN]),
        };
        let message = announcement.message(&self.genesis_hash);
        let signature = key.sign_hedged(BOOT_CONTEXT, &message, rng)?;
        if let Ok(signature) =
            <[u8; horizon_warp::limits::MLDSA65_SIGNATURE_LEN]>::try_from(signature.as_slice())
        {
            *announcement.signature = signature;
        }
        Ok(announcement)
    }

    /// Takes an announcement that came over the link of `from`.
    pub fn hear(&mut self, from: u16, announcement: BootAnnouncement) -> Heard {
        let sender = announcement.sender;
        if (sender != from && sender != self.me) || !self.verifies(&announcement) {
            return Heard::Forged;
        }
        if sender == self.me {
            return self.hear_myself(&announcement);
        }
        match self.seen.get(&sender) {
            Some(known) if is_older(&announcement, known) => Heard::Older(Box::new(known.clone())),
            // Overtaken on the way: the newer one stays.
            Some(known) if announcement.number < known.number => Heard::Fine,
            _ => {
                self.seen.insert(sender, announcement);
                Heard::Fine
            }
        }
    }

    /// Peers that have announced themselves to this life.
    pub fn peers(&self) -> impl Iterator<Item = u16> {
        self.seen.keys().copied()
    }

    fn hear_myself(&self, announcement: &BootAnnouncement) -> Heard {
        let mine = announcement.incarnation == self.fence.incarnation;
        let younger = announcement.boot >= self.fence.boot
            || announcement.height > self.start_height
            || announcement.number > self.start_number;
        if mine || !younger {
            return Heard::Fine;
        }
        if announcement.boot <= self.accepted {
            return Heard::Lost {
                number: announcement.number,
            };
        }
        Heard::Myself {
            boot: announcement.boot,
            height: announcement.height,
        }
    }

    fn verifies(&self, announcement: &BootAnnouncement) -> bool {
        let message = announcement.message(&self.genesis_hash);
        self.keys
            .get(usize::from(announcement.sender))
            .is_some_and(|key| {
                key.verify(BOOT_CONTEXT, &message, &announcement.signature[..])
                    .is_ok()
            })
    }
}

/// Whether `new` claims less than `known` did.
fn is_older(new: &BootAnnouncement, known: &BootAnnouncement) -> bool {
    let same_life = new.boot == known.boot && new.incarnation == known.incarnation;
    if same_life {
        // Messages may overtake each other.
        return false;
    }
    new.boot <= known.boot || new.height < known.height || new.number <= known.number
}

/// The refusal for a directory that peers know better.
#[must_use]
pub fn refusal(boot: u64, height: u64) -> Failure {
    Failure::new(
        UNSAFE,
        format!(
            "this directory is an old copy: peers hold a signature of this validator from start \
             {boot} at height {height}, which it does not remember; {WAY_BACK}"
        ),
    )
}

/// Blocks beyond the last height that peers knew of the lost life before this one signs: more than
/// that life can have signed without telling them.
pub const RESTORE_MARGIN: u64 = 40;

/// What an operator does then.
pub const WAY_BACK: &str = "do not start it again; find the newest directory of this validator and \
     start that one, or, if it is lost, follow \"Restoring a validator\" in docs/operations.md";

#[cfg(test)]
mod tests;
