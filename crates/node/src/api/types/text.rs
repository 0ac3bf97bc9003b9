//! One spelling for bytes and numbers in JSON.

use horizon_warp::SignerSet;
use serde::{Deserialize, Deserializer, Serializer, de};

use super::{Have, Id};

/// Lower-case hex with `0x`.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len().saturating_mul(2).saturating_add(2));
    out.push_str("0x");
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            out.push(char::from(
                DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0'),
            ));
        }
    }
    out
}

/// Reads what [`to_hex`] writes and nothing else.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.strip_prefix("0x")?.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    };
    let pairs = pairs.iter();
    pairs
        .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
        .collect()
}

/// Reads an id: `0x` and 64 lower-case digits.
#[must_use]
pub fn id_from_hex(text: &str) -> Option<Id> {
    if text.len() != 66 {
        return None;
    }
    from_hex(text)?.try_into().ok()
}

/// Reads a decimal number without sign and leading zero.
#[must_use]
pub fn from_decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded {
        text.parse().ok()
    } else {
        None
    }
}

impl Have {
    /// Reads `beam:0x0f,certset:0x05`: each lane at most once, bits canonical.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mut beam, mut certset) = (None, None);
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (lane, bits) = part.split_once(':')?;
            let slot = match lane {
                "beam" => &mut beam,
                "certset" => &mut certset,
                _ => return None,
            };
            let set = signers(bits)?;
            if slot.replace(set).is_some() {
                return None;
            }
        }
        Some(Self {
            beam: beam.unwrap_or_default(),
            certset: certset.unwrap_or_default(),
        })
    }
}

impl core::fmt::Display for Have {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let bits = |set: &SignerSet| to_hex(set.as_signers().as_bytes());
        write!(
            f,
            "beam:{},certset:{}",
            bits(&self.beam),
            bits(&self.certset)
        )
    }
}

fn signers(text: &str) -> Option<SignerSet> {
    let bytes = from_hex(text)?;
    horizon_warp::Signers::new(&bytes).ok()?;
    SignerSet::from_bytes_trimmed(&bytes).ok()
}

/// `u64` as a decimal string.
pub(super) mod decimal {
    use super::{Deserialize, Deserializer, Serializer, de, from_decimal};

    pub(crate) fn serialize<S: Serializer>(value: &u64, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(input)?;
        from_decimal(&text).ok_or_else(|| de::Error::custom("not a decimal number"))
    }

    pub(crate) mod option {
        use super::{Deserialize, Deserializer, Serializer, de, from_decimal};

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<u64>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => out.collect_str(value),
                None => out.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            input: D,
        ) -> Result<Option<u64>, D::Error> {
            let text = Option::<std::borrow::Cow<'de, str>>::deserialize(input)?;
            let read = |text: std::borrow::Cow<'de, str>| {
                from_decimal(&text).ok_or_else(|| de::Error::custom("not a decimal number"))
            };
            text.map(read).transpose()
        }
    }
}

/// Bytes as hex.
pub(super) mod hex {
    use super::{Deserialize, Deserializer, Serializer, de, from_hex, to_hex};

    pub(crate) fn serialize<S: Serializer>(
        value: &impl AsRef<[u8]>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        out.serialize_str(&to_hex(value.as_ref()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u8>>>(
        input: D,
    ) -> Result<T, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(input)?;
        let bytes = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| de::Error::custom("not lower-case hex with 0x, or of another length"))
    }

    pub(crate) mod option {
        use super::{Deserialize, Deserializer, Serializer, de, from_hex, to_hex};

        pub(crate) fn serialize<S: Serializer>(
            value: &Option<impl AsRef<[u8]>>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => out.serialize_str(&to_hex(value.as_ref())),
                None => out.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u8>>>(
            input: D,
        ) -> Result<Option<T>, D::Error> {
            let Some(text) = Option::<std::borrow::Cow<'de, str>>::deserialize(input)? else {
                return Ok(None);
            };
            let bytes = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
            let wrong = || de::Error::custom("not lower-case hex with 0x, or of another length");
            bytes.map(Some).ok_or_else(wrong)
        }
    }
}

/// Signer bits as hex, canonical.
pub(super) mod bits {
    use super::{Deserialize, Deserializer, Serializer, SignerSet, de, signers, to_hex};

    pub(crate) fn serialize<S: Serializer>(value: &SignerSet, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&to_hex(value.as_signers().as_bytes()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<SignerSet, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(input)?;
        signers(&text).ok_or_else(|| de::Error::custom("not canonical signer bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_have_list_has_one_spelling_and_each_lane_once() {
        let have = Have::parse("beam:0x0f,certset:0x05").unwrap();
        assert_eq!(
            have.beam.as_signers().iter().collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
        assert_eq!(have.certset.as_signers().iter().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(Have::parse(&have.to_string()), Some(have));
        assert_eq!(Have::parse(""), Some(Have::default()));
        for text in [
            "beam",
            "beam:0f",
            "beam:0x0f,beam:0x0f",
            "pulse:0x01",
            "beam:0x0f00",
            "beam:0x0F",
            ",",
        ] {
            assert_eq!(Have::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ids_and_numbers_have_one_spelling() {
        let id = [0xab; 32];
        assert_eq!(id_from_hex(&to_hex(&id)), Some(id));
        for text in [
            "",
            "0x",
            "ab",
            &to_hex(&id).to_uppercase(),
            &to_hex(&[1; 33]),
        ] {
            assert_eq!(id_from_hex(text), None, "{text}");
        }
        assert_eq!(from_decimal("18446744073709551615"), Some(u64::MAX));
        for text in ["", "01", "+1", "-1", "1.0", "18446744073709551616"] {
            assert_eq!(from_decimal(text), None, "{text}");
        }
    }
}
