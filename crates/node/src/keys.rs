//! The secrets of one validator, from one folder.
//!
//! | file | secret |
//! |---|---|
//! | `link.key` | Ed25519 key of its links |
//! | `consensus.key` | ML-DSA-65 key of its votes |
//! | `beam.key` | BLS12-381 key of its Beam signatures |
//! | `certset.key` | ML-DSA-65 key of its certificates and of its signing transactions |
//! | `sealing.key` | X25519 and ML-KEM-768 key that shares are sealed to |
//!
//! A secret file is the tag [`TAG`], one byte with the length of the scheme's name, the name, and the
//! secret; nobody but its owner may open it.
//!
//! # Security
//! Buffers are erased. A file that others may read is refused, whatever it holds: a key that was
//! readable once is not secret any more.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use horizon_ledger::Genesis;
use horizon_lifecycle::seal::{Purpose, SealingKey};
use horizon_lifecycle::share_file::{FILE_LEN_MAX, SealedShare};
use horizon_pulsar::dealer::MemberShare;
use horizon_sig::mldsa::ParameterSet;
use horizon_sig::traits::Verifier as _;
use horizon_sig::{bls, ed25519, mldsa};
use zeroize::Zeroizing;

/// Every key of one validator.
///
/// # Security
/// Erased on drop; no `Clone`, redacted `Debug`.
pub struct ValidatorKeys {
    /// Of its links.
    pub link: ed25519::SigningKey,
    /// Of its votes.
    pub consensus: mldsa::SigningKey,
    /// Of its Beam signatures.
    pub beam: bls::SigningKey,
    /// Of its certificates and signing transactions.
    pub certset: mldsa::SigningKey,
    /// Opens what is sealed to it.
    pub sealing: SealingKey,
}

impl ValidatorKeys {
    /// Reads the five files of a folder.
    ///
    /// # Errors
    /// [`KeyError`] of the first file that is missing, readable by others or malformed.
    pub fn read(folder: &Path) -> Result<Self, KeyError> {
        let link = folder.join(LINK_KEY);
        let seed = read_scheme(&link, ED25519)?;
        let link = ed25519::SigningKey::from_seed(&seed).map_err(|_| KeyError::content(&link))?;
        let beam = folder.join(BEAM_KEY);
        let secret = read_scheme(&beam, BLS)?;
        let beam = bls::SigningKey::from_bytes(&secret).map_err(|_| KeyError::content(&beam))?;
        Ok(Self {
            link,
            consensus: read_mldsa(&folder.join(CONSENSUS_KEY))?,
            beam,
            certset: read_mldsa(&folder.join(CERTSET_KEY))?,
            sealing: read_sealing(&folder.join(SEALING_KEY))?,
        })
    }

    /// The validator's canonical position in a genesis, if every key is the one it names.
    ///
    /// # Errors
    /// [`KeyError::NotInGenesis`] when no validator has this link key; [`KeyError::OtherKey`] when
    /// another key of the validator differs.
    pub fn position(&self, genesis: &Genesis) -> Result<u16, KeyError> {
        let identity = self.link.verifying_key().key_bytes();
        let position = identity
            .try_into()
            .ok()
            .and_then(|key| genesis.position(key));
        let position = position.ok_or(KeyError::NotInGenesis)?;
        let index = usize::from(position);
        let spec = genesis.spec();
        let validator = spec.validators.get(index).ok_or(KeyError::NotInGenesis)?;
        let member = spec
            .record
            .members
            .get(index)
            .ok_or(KeyError::NotInGenesis)?;
        let sealing = self.sealing.public().to_bytes();
        let (x, kem) = sealing.split_at(32);
        let certset = member.mldsa_key.as_deref().map(|key| &key[..]);
        let same = [
            (
                self.consensus.verifying_key().key_bytes() == &validator.consensus_key[..],
                CONSENSUS_KEY,
            ),
            (
                self.beam.verifying_key().to_bytes() == member.bls_key,
                BEAM_KEY,
            ),
            (
                certset == Some(self.certset.verifying_key().key_bytes()),
                CERTSET_KEY,
            ),
            (
                x == validator.sealing_x25519 && kem == &validator.sealing_mlkem768[..],
                SEALING_KEY,
            ),
        ];
        match same.into_iter().find(|(same, _)| !same) {
            Some((_, file)) => Err(KeyError::OtherKey { file }),
            None => Ok(position),
        }
    }
}

impl fmt::Debug for ValidatorKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidatorKeys").finish_non_exhaustive()
    }
}

/// Opens the sealed share of the validator at `position` and checks that it belongs to the
/// committee of the genesis.
///
/// # Errors
/// [`KeyError`]: unreadable, malformed, for another member or era, or of another group key.
pub fn read_share(
    path: &Path,
    sealing: &SealingKey,
    position: u16,
    genesis: &Genesis,
) -> Result<MemberShare, KeyError> {
    let bytes = read_bounded(path, FILE_LEN_MAX)?;
    let refused = |error| KeyError::Share(path.to_path_buf(), error);
    let file = SealedShare::from_bytes(&bytes).map_err(refused)?;
    let committee = genesis.committee();
    let era_ctx = committee.era_ctx();
    let plaintext = file
        .open(sealing, Purpose::DealtShare, position, era_ctx)
        .map_err(refused)?;
    let share = MemberShare::from_bytes(&plaintext).map_err(|_| KeyError::content(path))?;
    let params = committee.params();
    let belongs = share.position() == position
        && share.quorum().parties() == params.n
        && share.quorum().threshold() == params.t
        && share.suite() == params.suite
        && share.group_key_hash() == &params.group_key_hash;
    if !belongs {
        return Err(KeyError::OtherShare(path.to_path_buf()));
    }
    Ok(share)
}

/// Reads an ML-DSA-65 key: of votes, certificates or an account.
///
/// # Errors
/// [`KeyError`].
pub fn read_mldsa(path: &Path) -> Result<mldsa::SigningKey, KeyError> {
    let seed = read_scheme(path, ML_DSA_65)?;
    mldsa::SigningKey::from_seed(ParameterSet::MlDsa65, &seed).map_err(|_| KeyError::content(path))
}

/// Reads a sealing key.
///
/// # Errors
/// [`KeyError`].
pub fn read_sealing(path: &Path) -> Result<SealingKey, KeyError> {
    let secret = read_scheme(path, SEALING)?;
    SealingKey::from_bytes(&secret).map_err(|_| KeyError::content(path))
}

/// The bytes of a secret file.
#[must_use]
pub fn encode_secret(scheme: &str, secret: &[u8]) -> Zeroizing<Vec<u8>> {
    let name = scheme.as_bytes();
    let len = TAG.len().saturating_add(1 + name.len());
    let mut bytes = Zeroizing::new(Vec::with_capacity(len.saturating_add(secret.len())));
    bytes.extend_from_slice(TAG);
    bytes.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(secret);
    bytes
}

/// Splits a secret file into the scheme's name and the secret.
#[must_use]
pub fn decode_secret(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.strip_prefix(TAG)?.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

/// Reads a secret file of one scheme.
fn read_scheme(path: &Path, scheme: &'static str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let bytes = read_secret(path)?;
    let (name, secret) = decode_secret(&bytes).ok_or_else(|| KeyError::content(path))?;
    if name != scheme.as_bytes() {
        return Err(KeyError::Scheme {
            path: path.to_path_buf(),
            wanted: scheme,
        });
    }
    Ok(Zeroizing::new(secret.to_vec()))
}

fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let unreadable = |error: io::Error| KeyError::Unreadable(path.to_path_buf(), error.kind());
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(KeyError::ReadableByOthers(path.to_path_buf()));
    }
    // Room for everything at once: growing would leave copies of the secret behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(SECRET_FILE_LEN_MAX.saturating_add(32)));
    let limit = u64::try_from(SECRET_FILE_LEN_MAX).unwrap_or(u64::MAX);
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > SECRET_FILE_LEN_MAX {
        return Err(KeyError::content(path));
    }
    Ok(bytes)
}

fn read_bounded(path: &Path, max: usize) -> Result<Vec<u8>, KeyError> {
    let unreadable = |error: io::Error| KeyError::Unreadable(path.to_path_buf(), error.kind());
    let file = File::open(path).map_err(unreadable)?;
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}

/// Why the secrets of a validator cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    Unreadable(PathBuf, io::ErrorKind),
    /// Others than the owner may open the file.
    ReadableByOthers(PathBuf),
    /// The file holds no secret of any scheme, or not a valid one.
    Content(PathBuf),
    /// The file holds a key of another scheme.
    Scheme {
        /// The file.
        path: PathBuf,
        /// Scheme it must hold.
        wanted: &'static str,
    },
    /// No validator of the genesis has this link key.
    NotInGenesis,
    /// The genesis names another key for this validator.
    OtherKey {
        /// File of the key that differs.
        file: &'static str,
    },
    /// The sealed share cannot be opened.
    Share(PathBuf, horizon_lifecycle::Error),
    /// The share is not of this committee.
    OtherShare(PathBuf),
}

impl KeyError {
    fn content(path: &Path) -> Self {
        Self::Content(path.to_path_buf())
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, kind) => write!(f, "{}: {kind}", path.display()),
            Self::ReadableByOthers(path) => {
                write!(f, "{} is readable by others: chmod 600 it", path.display())
            }
            Self::Content(path) => write!(f, "{}: not a valid secret", path.display()),
            Self::Scheme { path, wanted } => {
                write!(f, "{}: not a {wanted} key", path.display())
            }
            Self::NotInGenesis => f.write_str("no validator of the genesis has this link.key"),
            Self::OtherKey { file } => {
                write!(
                    f,
                    "the genesis names another key than {file} for this validator"
                )
            }
            Self::Share(path, error) => write!(f, "{}: {error}", path.display()),
            Self::OtherShare(path) => {
                write!(f, "{}: not a share of this committee", path.display())
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// First bytes of a secret file.
pub const TAG: &[u8; 21] = b"HORIZON-SECRET-KEY-v1";
/// File of the link key.
pub const LINK_KEY: &str = "link.key";
/// File of the key of votes.
pub const CONSENSUS_KEY: &str = "consensus.key";
/// File of the Beam key.
pub const BEAM_KEY: &str = "beam.key";
/// File of the key of certificates.
pub const CERTSET_KEY: &str = "certset.key";
/// File of the sealing key.
pub const SEALING_KEY: &str = "sealing.key";
/// Scheme name of Ed25519 in secret files.
pub const ED25519: &str = "ed25519";
/// Scheme name of BLS12-381 in secret files.
pub const BLS: &str = "bls";
/// Scheme name of ML-DSA-65 in secret files.
pub const ML_DSA_65: &str = "ml-dsa-65";
/// Scheme name of sealing keys in secret files.
pub const SEALING: &str = "x25519-ml-kem-768";

const SECRET_FILE_LEN_MAX: usize = 512;
