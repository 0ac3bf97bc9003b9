//! Files with signatures of single validators over one message, on their way into an envelope.
//!
//! One JSON object: `format`, `lane` (`beam` or `certset`), `message_id`, `signed_sha256` (of the
//! bytes that were signed) and `signatures`, a list of `public_key` and `signature` in `0x` hex.

use std::path::Path;

use horizon_warp::Lane;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::exit::{Code, Failure};
use crate::ids::bytes_from_hex;
use crate::key_files::{PUBLIC_MODE, malformed, read_bounded, write_new};
use crate::output::id;

/// The `format` of the file.
pub const FORMAT: &str = "horizon-lane-signatures-v1";
const FILE_LEN_MAX: u64 = 16 << 20;

/// The content of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSignatures {
    /// Beam or CertSet.
    pub lane: Lane,
    /// The message.
    pub message_id: [u8; 32],
    /// SHA-256 of the signed bytes: the message for the Beam, the transcript for certificates.
    pub signed_sha256: [u8; 32],
    /// Public key and signature.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl LaneSignatures {
    /// An empty file for these signed bytes.
    #[must_use]
    pub fn new(lane: Lane, message_id: [u8; 32], signed: &[u8]) -> Self {
        Self {
            lane,
            message_id,
            signed_sha256: Sha256::digest(signed).into(),
            entries: Vec::new(),
        }
    }

    /// Refuses signatures that are for another lane or over other bytes than `signed`.
    ///
    /// # Errors
    /// [`Code::Refused`].
    pub fn check(&self, path: &Path, lane: Lane, signed: &[u8]) -> Result<(), Failure> {
        let refused =
            |text: &str| Failure::new(Code::Refused, format!("{}: {text}", path.display()));
        if self.lane != lane {
            return Err(refused("signatures for another lane"));
        }
        let hash: [u8; 32] = Sha256::digest(signed).into();
        if self.signed_sha256 != hash {
            return Err(refused(
                "signatures over another message, lineage or suite: sign this one",
            ));
        }
        Ok(())
    }

    /// Writes a new file.
    ///
    /// # Errors
    /// [`Code::Configuration`] when it exists, [`Code::Io`] when writing fails.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let entries = self.entries.iter();
        let signatures: Vec<Value> = entries
            .map(|(key, value)| json!({"public_key": id(key), "signature": id(value)}))
            .collect();
        let object = json!({"format": FORMAT, "lane": self.lane.name(),
            "message_id": id(&self.message_id), "signed_sha256": id(&self.signed_sha256),
            "signatures": signatures});
        write_new(path, format!("{object}\n").as_bytes(), PUBLIC_MODE)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Code::Configuration`] when it cannot be read or is malformed.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_bounded(path, FILE_LEN_MAX)?;
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| malformed(path, &error))?;
        decode(&value).ok_or_else(|| malformed(path, &"not a file of lane signatures"))
    }
}

fn decode(value: &Value) -> Option<LaneSignatures> {
    let text = |value: &Value, name: &str| value.get(name)?.as_str().map(str::to_owned);
    let bytes = |value: &Value, name: &str| bytes_from_hex(&text(value, name)?).ok();
    if text(value, "format")? != FORMAT {
        return None;
    }
    let name = text(value, "lane")?;
    let lane = [Lane::Beam, Lane::CertSet]
        .into_iter()
        .find(|lane| lane.name() == name)?;
    let entry = |entry: &Value| Some((bytes(entry, "public_key")?, bytes(entry, "signature")?));
    let entries = value.get("signatures")?.as_array()?.iter().map(entry);
    Some(LaneSignatures {
        lane,
        message_id: bytes(value, "message_id")?.try_into().ok()?,
        signed_sha256: bytes(value, "signed_sha256")?.try_into().ok()?,
        entries: entries.collect::<Option<_>>()?,
    })
}
