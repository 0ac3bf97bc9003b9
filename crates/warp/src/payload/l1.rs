//! Records about validators of a chain that manages its own set.

use alloc::vec::Vec;

use super::{empty_field, wrong_length, zero_field};
use crate::error::Error;
use crate::limits::BLS_KEY_LEN;
use crate::rlp::{self, Decoder, Item};

/// Whether a validation is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1ValidatorRegistration<'a> {
    /// Registered or not.
    pub valid: bool,
    /// The validation's bytes.
    pub validation: &'a [u8],
}

impl<'a> L1ValidatorRegistration<'a> {
    /// Decodes a registration.
    ///
    /// # Errors
    /// Reasons of class `Rlp`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("l1_registration")?;
        let valid = fields.bool("valid")?;
        let validation = fields.bytes("validation")?;
        fields.end_list("l1_registration")?;
        input.end_input("l1_registration")?;
        Ok(Self { valid, validation })
    }

    /// Encodes the registration.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        rlp::put_bool(&mut body, self.valid);
        rlp::put_bytes(&mut body, self.validation);
        list(&body)
    }
}

/// Asks to register a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterL1Validator<'a> {
    /// The chain, 32 bytes.
    pub chain_id: [u8; 32],
    /// The node, 20 bytes.
    pub node_id: [u8; 20],
    /// Weight, not 0.
    pub weight: u64,
    /// Compressed BLS key, 48 bytes. Its curve point is checked where a registry record is loaded.
    pub bls_key: &'a [u8; BLS_KEY_LEN],
    /// Seconds since 1970 after which the request is void.
    pub registration_time_s: u64,
}

impl<'a> RegisterL1Validator<'a> {
    /// Decodes a request.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadLength` for another length of chain, node or key (the
    /// reference takes any node id and key that are not empty); `PayloadZeroField` for weight 0.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("register_l1")?;
        let chain_id = fields.string("chain_id")?;
        let node_id = fields.string("node_id")?;
        let weight_at = fields.offset();
        let weight = fields.u64("weight")?;
        let key = fields.string("bls_key")?;
        let registration_time_s = fields.u64("registration_time")?;
        fields.end_list("register_l1")?;
        input.end_input("register_l1")?;
        let chain_id = *exact::<32>(&chain_id, "chain_id")?;
        let node_id = *exact::<20>(&node_id, "node_id")?;
        if weight == 0 {
            return Err(zero_field("weight", weight_at));
        }
        let bls_key = exact(&key, "bls_key")?;
        Ok(Self {
            chain_id,
            node_id,
            weight,
            bls_key,
            registration_time_s,
        })
    }

    /// Encodes the request.
    ///
    /// # Errors
    /// `PayloadZeroField` for weight 0.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.weight == 0 {
            return Err(zero_field("weight", 0));
        }
        let mut body = Vec::new();
        rlp::put_bytes(&mut body, &self.chain_id);
        rlp::put_bytes(&mut body, &self.node_id);
        rlp::put_uint(&mut body, self.weight);
        rlp::put_bytes(&mut body, self.bls_key);
        rlp::put_uint(&mut body, self.registration_time_s);
        Ok(list(&body))
    }
}

/// Says that a chain now manages its own validators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainToL1Conversion<'a> {
    /// The chain, 32 bytes.
    pub chain_id: [u8; 32],
    /// The chain of the managing contract, 32 bytes.
    pub manager_chain_id: [u8; 32],
    /// The managing contract's address.
    pub address: &'a [u8],
    /// Managers, as many as the payload holds.
    pub managers: Vec<&'a [u8]>,
}

impl<'a> ChainToL1Conversion<'a> {
    /// Decodes a conversion.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadLength` for another length of either chain id (the reference
    /// does not check the manager's).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("l1_conversion")?;
        let chain_id = fields.string("chain_id")?;
        let manager_chain_id = fields.string("manager_chain_id")?;
        let address = fields.bytes("address")?;
        let mut list = fields.list("managers")?;
        // Each manager takes at least one byte of the list: memory stays in proportion to the
        // input.
        let mut managers = Vec::new();
        while !list.is_empty() {
            managers.push(list.bytes("managers")?);
        }
        fields.end_list("l1_conversion")?;
        input.end_input("l1_conversion")?;
        Ok(Self {
            chain_id: *exact(&chain_id, "chain_id")?,
            manager_chain_id: *exact(&manager_chain_id, "manager_chain_id")?,
            address,
            managers,
        })
    }

    /// Encodes the conversion.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut managers = Vec::new();
        for manager in &self.managers {
            rlp::put_bytes(&mut managers, manager);
        }
        let mut body = Vec::new();
        rlp::put_bytes(&mut body, &self.chain_id);
        rlp::put_bytes(&mut body, &self.manager_chain_id);
        rlp::put_bytes(&mut body, self.address);
        rlp::put_list_header(&mut body, managers.len());
        body.extend_from_slice(&managers);
        list(&body)
    }
}

/// Sets the weight of a registered validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1ValidatorWeight {
    /// The validation, 32 bytes.
    pub validation_id: [u8; 32],
    /// Order of weight changes.
    pub nonce: u64,
    /// New weight; 0 removes the validator.
    pub weight: u64,
}

impl L1ValidatorWeight {
    /// Decodes a weight record.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadLength` unless the id has 32 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("l1_weight")?;
        let validation_id = fields.string("validation_id")?;
        let nonce = fields.u64("nonce")?;
        let weight = fields.u64("weight")?;
        fields.end_list("l1_weight")?;
        input.end_input("l1_weight")?;
        Ok(Self {
            validation_id: *exact(&validation_id, "validation_id")?,
            nonce,
            weight,
        })
    }

    /// Encodes the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        rlp::put_bytes(&mut body, &self.validation_id);
        rlp::put_uint(&mut body, self.nonce);
        rlp::put_uint(&mut body, self.weight);
        list(&body)
    }
}

/// A string item of exactly `N` bytes; the reference calls another length a bad payload, not bad
/// RLP.
fn exact<'a, const N: usize>(item: &Item<'a>, field: &'static str) -> Result<&'a [u8; N], Error> {
    if item.body.is_empty() {
        return Err(empty_field(field, item.start));
    }
    item.body
        .try_into()
        .map_err(|_| wrong_length(field, item.start, N))
}

fn list(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(rlp::list_size(body.len()));
    rlp::put_list_header(&mut out, body.len());
    out.extend_from_slice(body);
    out
}
