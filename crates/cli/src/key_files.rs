//! The files of a dealt committee in one folder.
//!
//! | file | content | mode |
//! |---|---|---|
//! | `group.key` | the group key, framed encoding | public |
//! | `committee.json` | suite, number of members, threshold | public |
//! | `ledger.json` | the next batch number: stands in for the ledger | public |
//! | `member-000.share` | share and seeds of one member | 0600 |
//! | `member-000.record` | its durable session record | 0600 |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use horizon_hash::suite::Suite;
use horizon_pulsar::committee::{Answer, RecordsUnavailable, SessionRecords};
use horizon_pulsar::dealer::MemberShare;
use horizon_pulsar::signers::Quorum;
use horizon_pulsar::{Error, GroupKey};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::exit::{Code, Failure};

/// Committee parameters as stored beside the group key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitteeFile {
    /// Suite that signatures are made and verified under.
    pub suite: Suite,
    /// Members and threshold.
    pub quorum: Quorum,
}

/// The folder of a dealt committee.
#[derive(Clone, Debug)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// The folder at this path; nothing is touched yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    /// Path of the group key.
    #[must_use]
    pub fn group_key_path(&self) -> PathBuf {
        self.0.join("group.key")
    }

    fn share_path(&self, position: u16) -> PathBuf {
        self.0.join(format!("member-{position:03}.share"))
    }

    /// Writes everything of a new committee. Shares are readable by their owner only.
    ///
    /// # Errors
    /// [`Code::Configuration`] when the folder holds keys already; they are never overwritten.
    /// [`Code::Io`] when writing fails.
    pub fn create(
        &self,
        committee: CommitteeFile,
        key: &GroupKey,
        shares: &[MemberShare],
    ) -> Result<(), Failure> {
        fs::create_dir_all(&self.0).map_err(|error| Failure::io(&self.0, &error))?;
        let positions = shares.iter().map(|share| self.share_path(share.position()));
        let all = positions.chain([self.group_key_path(), self.0.join("committee.json")]);
        if let Some(path) = all.into_iter().find(|path| path.symlink_metadata().is_ok()) {
            let text = format!("{} exists: keys are never overwritten", path.display());
            return Err(Failure::new(Code::Configuration, text));
        }
        for share in shares {
            write_new(
                &self.share_path(share.position()),
                &share.to_bytes(),
                SECRET_MODE,
            )?;
        }
        let quorum = committee.quorum;
        let parameters = json!({"version": 1, "suite": committee.suite.id(),
            "members": quorum.parties(), "threshold": quorum.threshold(), "dealer": "trusted"});
        let text = format!("{parameters}\n");
        write_new(&self.0.join("committee.json"), text.as_bytes(), PUBLIC_MODE)?;
        write_new(&self.group_key_path(), &key.to_framed(), PUBLIC_MODE)
    }

    /// Reads the committee and its group key.
    ///
    /// # Errors
    /// [`Code::Configuration`]: missing, unreadable or malformed.
    pub fn read(&self) -> Result<(CommitteeFile, GroupKey), Failure> {
        let path = self.0.join("committee.json");
        let committee = read_committee(&path)?;
        let path = self.group_key_path();
        let bytes = read_file(&path)?;
        let key = GroupKey::from_framed(&bytes).map_err(|error| malformed(&path, &error))?;
        Ok((committee, key))
    }

    /// Reads the secret of one member.
    ///
    /// # Errors
    /// [`Code::Configuration`]: missing, malformed, of another committee, or readable by others.
    pub fn read_share(
        &self,
        position: u16,
        committee: CommitteeFile,
        key: &GroupKey,
    ) -> Result<MemberShare, Failure> {
        let path = self.share_path(position);
        let bytes = read_secret(&path, SECRET_LEN_MAX)?;
        let share = MemberShare::from_bytes(&bytes).map_err(|error| malformed(&path, &error))?;
        let belongs = share.position() == position
            && share.quorum() == committee.quorum
            && share.suite() == committee.suite
            && *share.group_key_hash() == key.hash(committee.suite);
        if !belongs {
            return Err(malformed(
                &path,
                &"not a share of this member of this committee",
            ));
        }
        Ok(share)
    }

    /// The durable record of one member.
    ///
    /// # Errors
    /// [`Code::Configuration`] when it exists and is malformed: signing on could repeat a nonce.
    pub fn record(&self, position: u16) -> Result<FileRecord, Failure> {
        FileRecord::open(self.0.join(format!("member-{position:03}.record")))
    }

    /// Takes the next batch number, durably, before it is used.
    ///
    /// # Errors
    /// [`Code::Configuration`] for a malformed file, [`Code::Io`] when writing fails.
    pub fn next_batch(&self) -> Result<u64, Failure> {
        let path = self.0.join("ledger.json");
        let batch = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 1,
            Err(error) => return Err(unreadable(&path, &error)),
            Ok(bytes) => {
                let value: Option<Value> = serde_json::from_slice(&bytes).ok();
                let batch = value.and_then(|value| value.get("next_batch")?.as_u64());
                batch.ok_or_else(|| malformed(&path, &"no batch number"))?
            }
        };
        let next = batch
            .checked_add(1)
            .ok_or_else(|| malformed(&path, &"exhausted"))?;
        let text = format!("{}\n", json!({"version": 1, "next_batch": next}));
        replace(&path, text.as_bytes(), PUBLIC_MODE).map_err(|error| Failure::io(&path, &error))?;
        Ok(batch)
    }
}

/// A session record in a file, replaced as a whole and flushed before each call returns.
#[derive(Clone, Debug)]
pub struct FileRecord {
    path: PathBuf,
    boot: Option<u32>,
    answers: Vec<(u64, u16, Answer)>,
}

impl FileRecord {
    fn open(path: PathBuf) -> Result<Self, Failure> {
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    boot: None,
                    answers: Vec::new(),
                });
            }
            result => result.map_err(|error| unreadable(&path, &error))?,
        };
        let Some((boot, answers)) = decode_record(&bytes) else {
            return Err(malformed(&path, &"not a session record"));
        };
        Ok(Self {
            path,
            boot,
            answers,
        })
    }

    /// Stores first: what memory says is durable, or a failed write could be taken for an answer.
    fn replace_by(&mut self, next: Self) -> Result<(), RecordsUnavailable> {
        next.store()?;
        *self = next;
        Ok(())
    }

    fn store(&self) -> Result<(), RecordsUnavailable> {
        let answers: Vec<Value> = self
            .answers
            .iter()
            .map(|(batch, index, answer)| {
                json!({"batch": batch.to_string(), "index": index,
                    "context": hex(&answer.session_ctx), "partial": hex(&answer.partial)})
            })
            .collect();
        let text = json!({"version": 1, "boot": self.boot, "answers": answers}).to_string();
        replace(&self.path, text.as_bytes(), SECRET_MODE).map_err(|_| RecordsUnavailable)
    }
}

impl SessionRecords for FileRecord {
    fn boot(&self, _: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        Ok(self.boot)
    }

    fn reserve(&mut self, _: &[u8; 32], boot: u32, _: u64) -> Result<(), RecordsUnavailable> {
        let boot = self.boot.max(Some(boot));
        self.replace_by(Self {
            boot,
            ..self.clone()
        })
    }

    fn answer(
        &self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable> {
        let found = self
            .answers
            .iter()
            .find(|(b, i, _)| (*b, *i) == (batch, index));
        Ok(found.map(|(_, _, answer)| answer.clone()))
    }

    fn record_answer(
        &mut self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        if self.answer(era_ctx, batch, index)?.is_some() {
            return Err(RecordsUnavailable);
        }
        let mut next = self.clone();
        // Earlier subjects are closed: their partials may go, their contexts must stay.
        next.answers
            .iter_mut()
            .for_each(|(_, _, old)| old.partial.clear());
        next.answers.push((batch, index, answer.clone()));
        self.replace_by(next)
    }
}

/// Reads a small file whole.
///
/// # Errors
/// [`Code::Configuration`] when it cannot be read or has more than 64 MiB.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    read_bounded(path, FILE_LEN_MAX)
}

/// Reads a file whole that has at most `limit` bytes; never holds more than that, whatever the
/// file turns into while it is read.
///
/// # Errors
/// [`Code::Configuration`] when it cannot be read or is larger.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open_bounded(path, limit)?
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    check_read(path, &bytes, limit)?;
    Ok(bytes)
}

/// Reads at most `limit` bytes and one more, so that whoever decodes them can say that they are too
/// many.
///
/// # Errors
/// [`Code::Configuration`] when it cannot be read.
pub fn read_up_to(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    open_bounded(path, limit)?
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// Reads a secret of at most `limit` bytes; the buffer is erased when it goes.
///
/// # Errors
/// As [`read_bounded`]; [`Code::Configuration`] also when others than the owner may open the file.
pub fn read_secret(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut file = open_bounded(path, limit)?;
    let metadata = file.get_ref().metadata();
    let mode = metadata
        .map_err(|error| unreadable(path, &error))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        let text = format!("{} is readable by others: chmod 600 it", path.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    // Room for everything at once: growing would leave copies of the secret behind.
    let room = usize::try_from(limit).unwrap_or_default();
    let mut bytes = Zeroizing::new(Vec::with_capacity(room.saturating_add(32)));
    file.read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    check_read(path, &bytes, limit)?;
    Ok(bytes)
}

fn open_bounded(path: &Path, limit: u64) -> Result<io::Take<File>, Failure> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    Ok(file.take(limit.saturating_add(1)))
}

fn check_read(path: &Path, bytes: &[u8], limit: u64) -> Result<(), Failure> {
    if u64::try_from(bytes.len()).is_ok_and(|len| len <= limit) {
        return Ok(());
    }
    Err(malformed(path, &format!("larger than {limit} bytes")))
}

/// Writes a file that must not exist yet.
///
/// # Errors
/// [`Code::Configuration`] when it exists, [`Code::Io`] when writing fails.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let options = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    let mut file = match options {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = format!("{} exists and is not overwritten", path.display());
            return Err(Failure::new(Code::Configuration, text));
        }
        result => result.map_err(|error| Failure::io(path, &error))?,
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| Failure::io(path, &error))
}

/// Writes beside the file, flushes, renames, and flushes the folder: after a crash the file holds
/// the old or the new content.
fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[allow(clippy::type_complexity, reason = "the two fields of a record")]
fn decode_record(bytes: &[u8]) -> Option<(Option<u32>, Vec<(u64, u16, Answer)>)> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if value.get("version")?.as_u64() != Some(1) {
        return None;
    }
    let boot = match value.get("boot")? {
        Value::Null => None,
        boot => Some(u32::try_from(boot.as_u64()?).ok()?),
    };
    let answer = |entry: &Value| {
        let text = |name| entry.get(name)?.as_str();
        let session_ctx = unhex(text("context")?)?.try_into().ok()?;
        let answer = Answer {
            session_ctx,
            partial: unhex(text("partial")?)?,
        };
        let index = u16::try_from(entry.get("index")?.as_u64()?).ok()?;
        Some((text("batch")?.parse().ok()?, index, answer))
    };
    let answers = value
        .get("answers")?
        .as_array()?
        .iter()
        .map(answer)
        .collect::<Option<_>>()?;
    Some((boot, answers))
}

fn read_committee(path: &Path) -> Result<CommitteeFile, Failure> {
    let value: Value =
        serde_json::from_slice(&read_file(path)?).map_err(|error| malformed(path, &error))?;
    let number = |name: &str| {
        let number = value
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|n| u16::try_from(n).ok());
        number.ok_or_else(|| malformed(path, &format!("no {name}")))
    };
    if value.get("version").and_then(Value::as_u64) != Some(1) {
        return Err(malformed(path, &"another version"));
    }
    let suite = value
        .get("suite")
        .and_then(Value::as_str)
        .and_then(|id| Suite::from_id(id.as_bytes()));
    let suite = suite.ok_or_else(|| malformed(path, &"unknown suite"))?;
    let quorum = Quorum::new(number("threshold")?, number("members")?)
        .map_err(|error: Error| malformed(path, &error))?;
    Ok(CommitteeFile { suite, quorum })
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Configuration, format!("{}: {error}", path.display()))
}

pub(crate) fn malformed(path: &Path, reason: &dyn core::fmt::Display) -> Failure {
    Failure::new(Code::Configuration, format!("{}: {reason}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    crate::vectors::hex(text)
}

/// Owner reads and writes, nobody else does anything.
pub const SECRET_MODE: u32 = 0o600;
/// Everybody reads.
pub const PUBLIC_MODE: u32 = 0o644;

const FILE_LEN_MAX: u64 = 64 << 20;
/// Longest secret file.
const SECRET_LEN_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_stored_is_not_recorded() {
        let mut record = FileRecord {
            path: PathBuf::from("/nonexistent/folder/member-000.record"),
            boot: None,
            answers: Vec::new(),
        };
        let answer = Answer {
            session_ctx: [1; 32],
            partial: vec![2],
        };
        let era = [0; 32];
        assert_eq!(record.reserve(&era, 1, 1), Err(RecordsUnavailable));
        assert_eq!(record.boot(&era), Ok(None));
        let stored = record.record_answer(&era, 1, 0, &answer);
        assert_eq!(stored, Err(RecordsUnavailable));
        assert_eq!(record.answer(&era, 1, 0), Ok(None));
    }
}
