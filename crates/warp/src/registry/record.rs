//! One registry record and its canonical bytes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use super::RecordKey;
use crate::error::{Error, Reason};
use crate::limits::{
    BLS_KEY_LEN, BLS_SIGNATURE_LEN, GROUP_KEY_LEN_MAX, MLDSA65_KEY_LEN, OPERATOR_LEN_MAX,
    POINTS_TOTAL_MAX, SUITE_LEN_MAX, VALIDATOR_COUNT_MAX,
};
use crate::reader::Reader;
use crate::suite::SuiteId;
use crate::validators::{Validator, ValidatorSet};

/// First bytes of a record, and the domain tag of its hash.
pub const RECORD_TAG: &[u8] = horizon_hash::domain::warp::REGISTRY_RECORD;

/// Smallest encoded member: BLS key, proof, flag, weight, points, node id, operator length.
const MEMBER_LEN_MIN: usize = 178;

/// One validator of a record.
#[derive(Clone, PartialEq, Eq)]
pub struct Member {
    /// Compressed BLS key, 48 bytes: the position in the canonical order.
    pub bls_key: [u8; BLS_KEY_LEN],
    /// Proof of possession of the BLS key under its own tag, 96 bytes.
    pub possession: [u8; BLS_SIGNATURE_LEN],
    /// ML-DSA-65 key, 1,952 bytes, of a validator that signs certificates.
    pub mldsa_key: Option<Box<[u8; MLDSA65_KEY_LEN]>>,
    /// Weight in Beam and certificates, not 0.
    pub weight: u64,
    /// Points held in the Pulse committee; 0 for no member.
    pub points: u32,
    /// Node id, 20 bytes.
    pub node_id: [u8; 20],
    /// Who runs the validator, at most 64 printable bytes; empty when undeclared.
    pub operator: String,
}

impl core::fmt::Debug for Member {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Member")
            .field("weight", &self.weight)
            .field("points", &self.points)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// One generation of one source chain. Structure is checked by [`Record::check`]; keys and proofs
/// only on loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which generation this is.
    pub key: RecordKey,
    /// Suite of the Pulse; fixed for the era.
    pub suite: SuiteId,
    /// Framed group key of the Pulse, or empty for a chain without one. Fixed for the era.
    pub group_key: Vec<u8>,
    /// Points that make a Pulse; 0 exactly when there is no group key.
    pub threshold: u32,
    /// First source height at which the record is valid.
    pub valid_from: u64,
    /// Last source height at which it is valid, if an end is set.
    pub valid_until: Option<u64>,
    /// Seconds since 1970 at which the record was issued.
    pub issued_at_s: u64,
    /// Hash of the record before it; 32 zero bytes for the first.
    pub previous: [u8; 32],
    /// Validators, ascending by BLS key.
    pub members: Vec<Member>,
}

impl Record {
    /// Decodes exactly one record and checks its structure.
    ///
    /// # Errors
    /// Reasons of class `Registry` or `ValidatorSet`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(
            bytes,
            Reason::RecordTruncated,
            Reason::RecordTrailing,
            Reason::RecordTooLarge,
        );
        if input.array::<26>("record.prefix")?.as_slice() != RECORD_TAG {
            return Err(Error::malformed(Reason::RecordPrefix, "record.prefix", 0));
        }
        let key = RecordKey {
            network_id: input.u32("record.network_id")?,
            chain_id: *input.array("record.chain_id")?,
            key_era: input.u64("record.key_era")?,
            generation: input.u64("record.generation")?,
        };
        let suite_at = input.offset();
        let suite = input.prefixed_u8(SUITE_LEN_MAX, "record.suite")?;
        let suite = SuiteId::from_name(suite)
            .map_err(|_| Error::malformed(Reason::RecordField, "record.suite", suite_at))?;
        let group_key = input
            .prefixed_u32(GROUP_KEY_LEN_MAX, "record.group_key")?
            .to_vec();
        let threshold = input.u32("record.threshold")?;
        let valid_from = input.u64("record.valid_from")?;
        let valid_until = match read_flag(&mut input, "record.valid_until")? {
            true => Some(input.u64("record.valid_until")?),
            false => None,
        };
        let issued_at_s = input.u64("record.issued_at")?;
        let previous = *input.array("record.previous")?;
        let members = read_members(&mut input)?;
        input.finish("record")?;
        let record = Self {
            key,
            suite,
            group_key,
            threshold,
            valid_from,
            valid_until,
            issued_at_s,
            previous,
            members,
        };
        record.check()?;
        Ok(record)
    }

    /// The canonical bytes. Big-endian: tag 26, network 4, chain 32, era 8, generation 8, suite
    /// (`u8` length), group key (`u32` length), threshold 4, valid-from 8, flag 1 and valid-until
    /// 8, issued-at 8, previous 32, member count 4, and per member: BLS key 48, proof 96, flag 1
    /// and ML-DSA key 1,952, weight 8, points 4, node id 20, operator (`u8` length).
    ///
    /// # Errors
    /// As [`Record::check`].
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        let mut out = Vec::new();
        out.extend_from_slice(RECORD_TAG);
        out.extend_from_slice(&self.key.network_id.to_be_bytes());
        out.extend_from_slice(&self.key.chain_id);
        out.extend_from_slice(&self.key.key_era.to_be_bytes());
        out.extend_from_slice(&self.key.generation.to_be_bytes());
        put_short(&mut out, self.suite.name().as_bytes());
        put_u32_len(&mut out, self.group_key.len());
        out.extend_from_slice(&self.group_key);
        out.extend_from_slice(&self.threshold.to_be_bytes());
        out.extend_from_slice(&self.valid_from.to_be_bytes());
        out.push(u8::from(self.valid_until.is_some()));
        if let Some(until) = self.valid_until {
            out.extend_from_slice(&until.to_be_bytes());
        }
        out.extend_from_slice(&self.issued_at_s.to_be_bytes());
        out.extend_from_slice(&self.previous);
        put_u32_len(&mut out, self.members.len());
        for member in &self.members {
            member.put(&mut out);
        }
        Ok(out)
    }

    /// SHA-256 of the canonical bytes: what the next record and a pin name.
    ///
    /// # Errors
    /// As [`Record::check`].
    pub fn hash(&self) -> Result<[u8; 32], Error> {
        Ok(Sha256::digest(self.encode()?).into())
    }

    /// Checks what can be checked without cryptography.
    ///
    /// # Errors
    /// `RecordTooLarge`, `RecordField`, `RecordOrder`, `RecordThreshold`, or a reason of class
    /// `ValidatorSet`.
    pub fn check(&self) -> Result<(), Error> {
        if self.group_key.len() > GROUP_KEY_LEN_MAX {
            return Err(Error::misuse(Reason::RecordTooLarge, "record.group_key"));
        }
        if self
            .valid_until
            .is_some_and(|until| until < self.valid_from)
        {
            return Err(Error::misuse(Reason::RecordField, "record.valid_until"));
        }
        for member in &self.members {
            let operator = member.operator.as_bytes();
            let printable = operator.iter().all(|byte| matches!(byte, b' '..=b'~'));
            if operator.len() > OPERATOR_LEN_MAX || !printable {
                return Err(Error::misuse(Reason::RecordField, "member.operator"));
            }
        }
        let mut pairs = self
            .members
            .iter()
            .zip(self.members.iter().skip(1))
            .zip(1_u32..);
        if let Some((_, index)) = pairs.find(|((a, b), _)| a.bls_key > b.bls_key) {
            return Err(Error::index_rejected(Reason::RecordOrder, None, index));
        }
        self.check_threshold()?;
        self.validators().map(drop)
    }

    /// The validators as a canonical set.
    ///
    /// # Errors
    /// Reasons of class `ValidatorSet`.
    pub fn validators(&self) -> Result<ValidatorSet, Error> {
        let validators = self.members.iter().map(|member| Validator {
            bls_key: member.bls_key,
            mldsa_key: member.mldsa_key.clone(),
            weight: member.weight,
            node_id: member.node_id,
        });
        ValidatorSet::new(validators.collect())
    }

    /// Sum of the members' points.
    #[must_use]
    pub fn points_total(&self) -> u32 {
        self.members
            .iter()
            .fold(0, |sum: u32, member| sum.saturating_add(member.points))
    }

    fn check_threshold(&self) -> Result<(), Error> {
        let total = self.points_total();
        let good = if self.group_key.is_empty() {
            self.threshold == 0 && total == 0
        } else {
            self.threshold > 0 && self.threshold <= total && total <= POINTS_TOTAL_MAX
        };
        if good {
            Ok(())
        } else {
            Err(Error::rejected(Reason::RecordThreshold))
        }
    }
}

impl Member {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bls_key);
        out.extend_from_slice(&self.possession);
        out.push(u8::from(self.mldsa_key.is_some()));
        if let Some(key) = &self.mldsa_key {
            out.extend_from_slice(&key[..]);
        }
        out.extend_from_slice(&self.weight.to_be_bytes());
        out.extend_from_slice(&self.points.to_be_bytes());
        out.extend_from_slice(&self.node_id);
        put_short(out, self.operator.as_bytes());
    }

    fn read(input: &mut Reader<'_>) -> Result<Self, Error> {
        let bls_key = *input.array("member.bls_key")?;
        let possession = *input.array("member.possession")?;
        let mldsa_key = match read_flag(input, "member.mldsa_key")? {
            true => Some(Box::new(*input.array("member.mldsa_key")?)),
            false => None,
        };
        let weight = input.u64("member.weight")?;
        let points = input.u32("member.points")?;
        let node_id = *input.array("member.node_id")?;
        let at = input.offset();
        let operator = input.prefixed_u8(OPERATOR_LEN_MAX, "member.operator")?;
        let operator = core::str::from_utf8(operator)
            .map_err(|_| Error::malformed(Reason::RecordField, "member.operator", at))?;
        let operator = String::from(operator);
        Ok(Self {
            bls_key,
            possession,
            mldsa_key,
            weight,
            points,
            node_id,
            operator,
        })
    }
}

fn read_members(input: &mut Reader<'_>) -> Result<Vec<Member>, Error> {
    let at = input.offset();
    let count = input.u32("record.members")?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count > VALIDATOR_COUNT_MAX {
        return Err(Error::over(
            Reason::RecordTooLarge,
            "record.members",
            at,
            VALIDATOR_COUNT_MAX,
        ));
    }
    // A count that cannot fit what remains allocates nothing.
    if count.saturating_mul(MEMBER_LEN_MIN) > input.remaining() {
        return Err(Error::malformed(
            Reason::RecordTruncated,
            "record.members",
            at,
        ));
    }
    (0..count).map(|_| Member::read(input)).collect()
}

fn read_flag(input: &mut Reader<'_>, field: &'static str) -> Result<bool, Error> {
    let at = input.offset();
    match input.u8(field)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::malformed(Reason::RecordField, field, at)),
    }
}

/// A `u8` length and the bytes; callers have checked the cap of 64.
fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
    out.extend_from_slice(bytes);
}

/// Callers have checked caps far below 2^32.
fn put_u32_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes());
}
