//! The reference's Lens: its groups, sharings, ceremonies and signatures, recomputed.
//!
//! The product's Lens follows RFC 9591, of which the reference's signing is no instance. What the
//! files record is therefore recomputed here from the curves up, and then shown to the product's
//! crate: it must refuse the reference's signatures and lax encodings (our strict behaviour), and
//! be able to read its keys.

mod curves;

use self::curves::{Curve, Ed25519, Ristretto255, Secp256k1, Stream};
use super::Context;
use super::fields::{Checked, Fields, LabelStream, Mismatch, Verdict, fault, in_field, same};
use super::message::{byte_lists, refused, strict_if};
use horizon_hash::domain::lens as tags;
use horizon_hash::suite::{Pairwise, Suite};
use horizon_sig::ed25519;
use horizon_sig::traits::Verifier as _;

/// Runs a check with the curve that the file names.
macro_rules! on_curve {
    ($($(#[$doc:meta])* $public:ident => $check:ident;)*) => {
        $($(#[$doc])* pub(super) fn $public(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
            match context.file.text("curve")? {
                Ed25519::NAME => $check::<Ed25519>(case),
                Secp256k1::NAME => $check::<Secp256k1>(case),
                Ristretto255::NAME => $check::<Ristretto255>(case),
                other => Err(fault(&format!("curve: {other} is unknown"))),
            }
        })*
    };
}

on_curve! {
    check_params => params;
    check_ops => ops;
    check_hash_to_scalar => hash_to_scalar;
    check_scalar => scalar;
    check_point => point;
    check_lagrange => lagrange;
    check_sharing => sharing;
    check_dkg => dkg;
    check_sign => sign;
    check_reshare => reshare;
}

pub(super) fn check_curve_name(file: &Fields<'_>) -> Checked {
    match file.text("curve")? {
        Ed25519::NAME | Secp256k1::NAME | Ristretto255::NAME => Ok(Verdict::Equal),
        other => Err(fault(&format!("curve: {other} is unknown"))),
    }
}

fn label_stream(label: &str) -> impl FnMut(&mut [u8]) + use<> {
    let mut stream = LabelStream::new(label);
    move |out: &mut [u8]| stream.read(out)
}

fn sample<C: Curve>(stream: &mut Stream<'_>) -> Result<C::Scalar, Mismatch> {
    C::sample(stream).ok_or_else(|| fault("the stream has no scalar"))
}

fn samples<C: Curve>(stream: &mut Stream<'_>, count: usize) -> Result<Vec<C::Scalar>, Mismatch> {
    (0..count).map(|_| sample::<C>(stream)).collect()
}

/// A polynomial, lowest coefficient first.
fn evaluate<C: Curve>(coefficients: &[C::Scalar], at: u64) -> C::Scalar {
    let at = C::scalar(at);
    let start = C::scalar(0);
    coefficients
        .iter()
        .rev()
        .fold(start, |sum, coefficient| sum * at + *coefficient)
}

/// The weight of `id` when the value at 0 is interpolated from `ids`.
fn weight<C: Curve>(ids: &[u64], id: u64) -> Result<C::Scalar, Mismatch> {
    let x = C::scalar(id);
    let mut product = C::scalar(1);
    for other in ids.iter().filter(|other| **other != id) {
        let y = C::scalar(*other);
        let inverse = C::invert(x - y).ok_or_else(|| fault("two identifiers are equal"))?;
        product = product * -y * inverse;
    }
    Ok(product)
}

fn second<C: Curve>() -> Result<C::Point, Mismatch> {
    C::second().ok_or_else(|| fault("no second generator"))
}

fn same_scalar<C: Curve>(case: &Fields<'_>, name: &str, ours: C::Scalar) -> Result<(), Mismatch> {
    same(name, &C::encode_scalar(&ours), &case.bytes(name)?)
}

fn same_point<C: Curve>(case: &Fields<'_>, name: &str, ours: C::Point) -> Result<(), Mismatch> {
    same(name, &C::encode_point(&ours), &case.bytes(name)?)
}

/// An object with identifiers as names and scalars as values.
fn by_id<C: Curve>(case: &Fields<'_>, name: &str) -> Result<Vec<(u64, C::Scalar)>, Mismatch> {
    let map = case.get(name)?.as_object();
    let map = map.ok_or_else(|| fault(&format!("{name}: an object was expected")))?;
    let mut found = Vec::new();
    for (id, value) in map {
        let id = id.parse().map_err(|_| fault(&format!("{name}: {id}")))?;
        let bytes = in_field(name, super::fields::bytes(value))?;
        let scalar = C::decode_scalar(&bytes);
        found.push((
            id,
            scalar.ok_or_else(|| fault(&format!("{name}: no scalar")))?,
        ));
    }
    found.sort_by_key(|(id, _)| *id);
    Ok(found)
}

/// Sizes that a case may ask for.
fn count(case: &Fields<'_>, name: &str) -> Result<usize, Mismatch> {
    match case.size(name)? {
        small if small <= 4096 => Ok(small),
        _ => Err(fault(&format!("{name}: too large"))),
    }
}

fn params<C: Curve>(case: &Fields<'_>) -> Checked {
    same_point::<C>(case, "base", C::base())?;
    same_point::<C>(case, "identity_encoding", C::identity())?;
    same_point::<C>(case, "secondary_generator_h", second::<C>()?)?;
    same("point_bytes", &C::POINT_LEN, &case.size("point_bytes")?)?;
    same("scalar_bytes", &32, &case.size("scalar_bytes")?)?;
    Ok(Verdict::Equal)
}

fn ops<C: Curve>(case: &Fields<'_>) -> Checked {
    case.skip(&["in"]);
    let label = case.text("label")?;
    let mut first = [0; 128];
    LabelStream::new(label).read(&mut first);
    same(
        "stream_first128",
        &first.to_vec(),
        &case.bytes("stream_first128")?,
    )?;
    let decode = |name| -> Result<C::Scalar, Mismatch> {
        let scalar = C::decode_scalar(&case.bytes(name)?);
        scalar.ok_or_else(|| fault(&format!("{name}: no scalar")))
    };
    let mut stream = label_stream(label);
    let a = sample::<C>(&mut stream)?;
    same_scalar::<C>(case, "a", a)?;
    // Some cases take 1, 2^64 - 1 or -a for b instead of a sample.
    let b = decode("b")?;
    let special = [C::scalar(1), C::scalar(u64::MAX), -a];
    if !special.contains(&b) {
        same_scalar::<C>(case, "b", sample::<C>(&mut stream)?)?;
    }
    for (name, value) in [
        ("add", a + b),
        ("sub", a - b),
        ("mul", a * b),
        ("neg_a", -a),
    ] {
        same_scalar::<C>(case, name, value)?;
    }
    let inverse = C::invert(a).ok_or_else(|| fault("a: 0 has no inverse"))?;
    same_scalar::<C>(case, "inv_a", inverse)?;
    let (p, q) = (C::base() * a, C::base() * b);
    for (name, value) in [
        ("aG", p),
        ("bG", q),
        ("aG_plus_bG", p + q),
        ("aG_minus_bG", p - q),
        ("neg_aG", -p),
        ("b_times_aG", p * b),
    ] {
        same_point::<C>(case, name, value)?;
    }
    let identity = p + q == C::identity();
    same("sum_is_identity", &identity, &case.flag("sum_is_identity")?)?;
    Ok(Verdict::Equal)
}

fn hash_to_scalar<C: Curve>(case: &Fields<'_>) -> Checked {
    same_scalar::<C>(case, "out", C::hash_to_scalar(&case.bytes("data")?))?;
    Ok(Verdict::Equal)
}

/// A scalar alone is no message of ours: it is put where a signature has its own.
fn scalar<C: Curve>(case: &Fields<'_>) -> Checked {
    let bytes = case.bytes("bytes")?;
    let accepted = super::message::accepted(case)?;
    let decoded = C::decode_scalar(&bytes);
    same("ok", &decoded.is_some(), &accepted)?;
    if let Some(scalar) = decoded {
        same_scalar::<C>(case, "reencoded", scalar)?;
    }
    let signature = [C::encode_point(&C::base()), bytes].concat();
    let ours = horizon_lens::Signature::<C::Suite>::from_raw(&signature).is_ok();
    same("our decoding of a signature with it", &ours, &accepted)?;
    Ok(Verdict::Equal)
}

/// The reference accepts the identity, points of small order and encodings that are not canonical.
fn point<C: Curve>(case: &Fields<'_>) -> Checked {
    let bytes = case.bytes("bytes")?;
    let accepted = super::message::accepted(case)?;
    let decoded = C::decode_point(&bytes);
    same("ok", &decoded.is_some(), &accepted)?;
    if let Some(point) = decoded {
        same_point::<C>(case, "reencoded", point)?;
        let identity = point == C::identity();
        same("identity", &identity, &case.flag("identity")?)?;
    }
    match horizon_lens::VerifyingKey::<C::Suite>::from_bytes(&bytes) {
        Ok(key) => {
            same("our acceptance", &accepted, &true)?;
            same("our encoding", &key.as_bytes().to_vec(), &bytes)?;
            Ok(Verdict::Equal)
        }
        Err(_) => Ok(strict_if(accepted)),
    }
}

fn lagrange<C: Curve>(case: &Fields<'_>) -> Checked {
    let ids = case.numbers("ids")?;
    let accepted = case.get("error")?.is_null();
    let ours: Result<Vec<_>, _> = ids
        .iter()
        .map(|id| Ok((*id, weight::<C>(&ids, *id)?)))
        .collect();
    let distinct = |ids: &[u64]| {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1]) && !sorted.contains(&0)
    };
    let usable = ours.is_ok() && !ids.is_empty() && distinct(&ids);
    same("error", &usable, &accepted)?;
    if !accepted {
        case.skip(&["lambda"]);
        return Ok(Verdict::Equal);
    }
    let mut ours = ours?;
    ours.sort_by_key(|(id, _)| *id);
    let theirs = by_id::<C>(case, "lambda")?;
    same("lambda", &ours, &theirs)?;
    Ok(Verdict::Equal)
}

/// Secret, higher coefficients and blinding value come from one stream, in this order.
fn sharing<C: Curve>(case: &Fields<'_>) -> Checked {
    case.skip(&["in"]);
    let (t, n) = (count(case, "t")?, count(case, "n")?);
    let mut stream = label_stream(case.text("label")?);
    let polynomial = samples::<C>(&mut stream, t.max(1))?;
    same_scalar::<C>(case, "secret", polynomial[0])?;
    let shares: Vec<_> = (1..=n as u64)
        .map(|id| (id, evaluate::<C>(&polynomial, id)))
        .collect();
    same("shares", &shares, &by_id::<C>(case, "shares")?)?;
    let blind = sample::<C>(&mut stream)?;
    same_scalar::<C>(case, "blind", blind)?;
    let commitment = C::base() * polynomial[0] + second::<C>()? * blind;
    same_point::<C>(case, "pedersen_commit", commitment)?;
    Ok(Verdict::Equal)
}

/// Feldman's key generation: party `j` draws from the label with its number.
fn dkg<C: Curve>(case: &Fields<'_>) -> Checked {
    let (t, n) = (count(case, "t")?, count(case, "n")?);
    let label = case.text("rand_label")?;
    let polynomials = (1..=n)
        .map(|party| {
            let mut stream = label_stream(&label.replace("<party>", &party.to_string()));
            samples::<C>(&mut stream, t)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sum_at = |id| {
        let values = polynomials.iter().map(|p| evaluate::<C>(p, id));
        values.fold(C::scalar(0), |sum, value| sum + value)
    };
    let shares: Vec<_> = (1..=n as u64).map(|id| (id, sum_at(id))).collect();
    same("final_shares", &shares, &by_id::<C>(case, "final_shares")?)?;
    let key = C::base() * sum_at(0);
    same_point::<C>(case, "group_key_X", key)?;
    horizon_lens::VerifyingKey::<C::Suite>::from_bytes(&C::encode_point(&key)).map_err(refused)?;
    if case.has("parties") {
        let parties = case.object("parties")?;
        for (party, polynomial) in (1..).zip(&polynomials) {
            let party = parties.object(&party.to_string())?;
            let commits: Vec<_> = polynomial
                .iter()
                .map(|coefficient| C::encode_point(&(C::base() * *coefficient)))
                .collect();
            same("parties.commits", &commits, &byte_lists(&party, "commits")?)?;
            let sent: Vec<_> = (1..=n as u64)
                .map(|id| (id, evaluate::<C>(polynomial, id)))
                .collect();
            same("parties.shares", &sent, &by_id::<C>(&party, "shares")?)?;
            nothing_left(&party, "parties")?;
        }
        nothing_left(&parties, "parties")?;
    }
    Ok(Verdict::Equal)
}

fn nothing_left(fields: &Fields<'_>, name: &str) -> Result<(), Mismatch> {
    match fields.unseen().first() {
        None => Ok(()),
        Some(field) => Err(fault(&format!("{name}.{field} has no check"))),
    }
}

/// Length of a part as the reference frames it.
fn framed(part: &[u8]) -> Vec<u8> {
    let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
    [&len.to_be_bytes()[..], part].concat()
}

/// 64 bytes of BLAKE3 output, hashed to a scalar.
fn challenge_of<C: Curve>(parts: &[&[u8]]) -> C::Scalar {
    let mut out = [0; 64];
    blake3_stream(parts).fill(&mut out);
    C::hash_to_scalar(&out)
}

fn blake3_stream(parts: &[&[u8]]) -> blake3::OutputReader {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    hasher.finalize_xof()
}

fn challenge<C: Curve>(r: &C::Point, key: &C::Point, message: &[u8]) -> C::Scalar {
    let (r, key) = (C::encode_point(r), C::encode_point(key));
    challenge_of::<C>(&[tags::SIGN2, &framed(&r), &framed(&key), &framed(message)])
}

/// One signer of a case.
struct Part<C: Curve> {
    id: u32,
    secret: C::Scalar,
    d: C::Scalar,
    e: C::Scalar,
    lambda: C::Scalar,
}

impl<C: Curve> Part<C> {
    /// Checks the first round; `shares` are those of the dealing.
    fn read(
        party: &Fields<'_>,
        id: u64,
        ids: &[u64],
        message: &[u8],
        polynomial: &[C::Scalar],
    ) -> Result<Self, Mismatch> {
        let secret = evaluate::<C>(polynomial, id);
        same_scalar::<C>(party, "sk_share", secret)?;
        same_point::<C>(party, "verification_share", C::base() * secret)?;
        let short = |id: u64| u32::try_from(id).map_err(|_| fault("an identifier is too large"));
        let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let mut set = count.to_be_bytes().to_vec();
        for id in ids {
            set.extend(short(*id)?.to_be_bytes());
        }
        let mut stream = blake3_stream(&[
            tags::NONCE,
            &C::encode_scalar(&secret),
            &id.to_be_bytes(),
            &framed(message),
            &set,
            &party.bytes("salt")?,
        ]);
        let mut read = |out: &mut [u8]| stream.fill(out);
        let (d, e) = (sample::<C>(&mut read)?, sample::<C>(&mut read)?);
        same_point::<C>(party, "D", C::base() * d)?;
        same_point::<C>(party, "E", C::base() * e)?;
        let lambda = weight::<C>(ids, id)?;
        same_scalar::<C>(party, "lambda", lambda)?;
        Ok(Self {
            id: short(id)?,
            secret,
            d,
            e,
            lambda,
        })
    }
}

/// Both rounds, the signature, and what the reference's verifier refuses.
fn sign<C: Curve>(case: &Fields<'_>) -> Checked {
    let (t, n) = (count(case, "t")?, count(case, "n")?);
    let message = case.bytes("msg")?;
    let mut entropy = label_stream(case.text("entropy_label")?);
    let polynomial = samples::<C>(&mut entropy, t.max(1))?;
    let key = C::base() * polynomial[0];
    same_point::<C>(case, "X", key)?;
    let name = C::NAME.as_bytes();
    let named = [&[C::NAME.len() as u8], name, &C::encode_point(&key)].concat();
    same("group_key_bytes", &named, &case.bytes("group_key_bytes")?)?;
    // The rounds go by ascending number; blame goes by the order in which the signers are given.
    let mut ids = case.numbers("signers")?;
    let first = ids.first().copied().unwrap_or_default();
    ids.sort_unstable();
    let within = ids.iter().all(|id| (1..=n as u64).contains(id));
    same("signers within 1..=n", &within, &true)?;
    let parties = case.object("parties")?;
    let mut parts = Vec::new();
    for id in &ids {
        let party = parties.object(&id.to_string())?;
        parts.push(Part::<C>::read(&party, *id, &ids, &message, &polynomial)?);
    }
    let rho = binding_factors(&parts, &message);
    let r = parts
        .iter()
        .zip(&rho)
        .fold(C::identity(), |sum, (part, rho)| {
            sum + C::base() * (part.d + *rho * part.e)
        });
    let c = challenge::<C>(&r, &key, &message);
    let mut z = C::scalar(0);
    for ((part, rho), id) in parts.iter().zip(&rho).zip(&ids) {
        let party = parties.object(&id.to_string())?;
        let share = part.d + *rho * part.e + part.lambda * part.secret * c;
        same_scalar::<C>(&party, "z", share)?;
        party.skip(&["sk_share", "verification_share", "salt", "D", "E", "lambda"]);
        nothing_left(&party, "parties")?;
        z = z + share;
    }
    nothing_left(&parties, "parties")?;
    let raw = [C::encode_point(&r), C::encode_scalar(&z)].concat();
    same("signature", &raw, &case.bytes("signature")?)?;
    check_verdicts::<C>(case, (&r, z), &key, &message)?;
    let blamed = case.text("aggregate_bad_z_of_first_signer_error")?;
    let names = blamed.ends_with(&format!(": {first}"));
    same("aggregate_bad_z_of_first_signer_error", &names, &true)?;
    check_refused::<C>(&raw, &key, &message)?;
    Ok(Verdict::Strict)
}

fn binding_factors<C: Curve>(parts: &[Part<C>], message: &[u8]) -> Vec<C::Scalar> {
    let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    let mut list = [tags::SIGN1, &framed(message), &count.to_be_bytes()].concat();
    for part in parts {
        list.extend(part.id.to_be_bytes());
        list.extend(framed(&C::encode_point(&(C::base() * part.d))));
        list.extend(framed(&C::encode_point(&(C::base() * part.e))));
    }
    let digest = blake3::hash(&list);
    parts
        .iter()
        .map(|part| challenge_of::<C>(&[tags::SIGN1, digest.as_bytes(), &part.id.to_be_bytes()]))
        .collect()
}

/// The signature, and the same with another message, response and commitment.
fn check_verdicts<C: Curve>(
    case: &Fields<'_>,
    (r, z): (&C::Point, C::Scalar),
    key: &C::Point,
    message: &[u8],
) -> Result<(), Mismatch> {
    let verify = |r: C::Point, z: C::Scalar, message: &[u8]| {
        C::base() * z == r + *key * challenge::<C>(&r, key, message)
    };
    let other = [message, b"x"].concat();
    for (name, accepted) in [
        ("verify_error", verify(*r, z, message)),
        ("verify_other_msg_error", verify(*r, z, &other)),
        (
            "verify_z_plus_1_error",
            verify(*r, z + C::scalar(1), message),
        ),
        ("verify_R_plus_G_error", verify(*r + C::base(), z, message)),
    ] {
        same(name, &accepted, &case.get(name)?.is_null())?;
    }
    Ok(())
}

/// The product verifies RFC 9591 signatures, and this is none.
fn check_refused<C: Curve>(raw: &[u8], key: &C::Point, message: &[u8]) -> Result<(), Mismatch> {
    let key = horizon_lens::VerifyingKey::<C::Suite>::from_bytes(&C::encode_point(key));
    let signature = horizon_lens::Signature::<C::Suite>::from_raw(raw).map_err(refused)?;
    let verdict = horizon_lens::verify(&key.map_err(refused)?, message, &signature);
    same("our refusal of the signature", &verdict.is_err(), &true)
}

/// Refresh and reshare from old shares, and Pedersen commitments to the old polynomial.
fn reshare<C: Curve>(case: &Fields<'_>) -> Checked {
    let (t_old, t_new) = (count(case, "t_old")?.max(1), count(case, "t_new")?.max(1));
    let mut stream = label_stream(case.text("name")?);
    let polynomial = samples::<C>(&mut stream, t_old)?;
    let blinds = samples::<C>(&mut stream, t_old)?;
    same_scalar::<C>(case, "secret", polynomial[0])?;
    for (name, ours) in [
        ("poly_coefficients", &polynomial),
        ("blind_coefficients", &blinds),
    ] {
        let ours: Vec<_> = ours.iter().map(C::encode_scalar).collect();
        same(name, &ours, &byte_lists(case, name)?)?;
    }
    let h = second::<C>()?;
    let pairs = polynomial.iter().zip(&blinds);
    let commits: Vec<_> = pairs
        .map(|(value, blind)| C::encode_point(&(C::base() * *value + h * *blind)))
        .collect();
    same(
        "pedersen_commits",
        &commits,
        &byte_lists(case, "pedersen_commits")?,
    )?;
    let framed: Vec<_> = commits.iter().map(|commit| framed(commit)).collect();
    let mut elements = vec![tags::RESHARE_COMMIT_DIGEST];
    elements.extend(framed.iter().map(Vec::as_slice));
    for (name, suite) in [
        ("commit_digest_sha3", Suite::LensSha3),
        ("commit_digest_blake3", Suite::LensBlake3),
    ] {
        same(name, &suite.transcript_hash(&elements), &case.array(name)?)?;
    }
    let old = by_id::<C>(case, "old_shares")?;
    let dealt = old
        .iter()
        .all(|(id, share)| evaluate::<C>(&polynomial, *id) == *share);
    same("old_shares", &dealt, &true)?;
    for name in ["reshare_error", "refresh_error"] {
        same(name, &case.get(name)?.is_null(), &true)?;
    }
    let label = case.text("rand_label")?;
    check_new_shares::<C>(case, &old, (t_old, t_new), label)?;
    check_refreshed::<C>(case, &old, t_old, label)?;
    Ok(Verdict::Equal)
}

/// Dealers with the smallest numbers fold their weight into the constant term.
fn check_new_shares<C: Curve>(
    case: &Fields<'_>,
    old: &[(u64, C::Scalar)],
    (t_old, t_new): (usize, usize),
    label: &str,
) -> Result<(), Mismatch> {
    let dealers = old
        .get(..t_old)
        .ok_or_else(|| fault("old_shares: too few"))?;
    let ids: Vec<u64> = dealers.iter().map(|(id, _)| *id).collect();
    let mut stream = label_stream(label);
    let mut polynomials = Vec::new();
    for (id, share) in dealers {
        let mut polynomial = vec![weight::<C>(&ids, *id)? * *share];
        polynomial.extend(samples::<C>(&mut stream, t_new - 1)?);
        polynomials.push(polynomial);
    }
    let mut new_ids = case.numbers("new_ids")?;
    new_ids.sort_unstable();
    let sum = |id: u64| {
        let values = polynomials.iter().map(|p| evaluate::<C>(p, id));
        values.fold(C::scalar(0), |sum, value| sum + value)
    };
    let ours: Vec<_> = new_ids.iter().map(|id| (*id, sum(*id))).collect();
    same("new_shares", &ours, &by_id::<C>(case, "new_shares")?)
}

/// Every party adds a sharing of 0; nothing happens for a threshold of 1.
fn check_refreshed<C: Curve>(
    case: &Fields<'_>,
    old: &[(u64, C::Scalar)],
    t_old: usize,
    label: &str,
) -> Result<(), Mismatch> {
    let mut stream = label_stream(label);
    let mut polynomials = Vec::new();
    for _ in old {
        let mut polynomial = vec![C::scalar(0)];
        polynomial.extend(samples::<C>(&mut stream, t_old - 1)?);
        polynomials.push(polynomial);
    }
    let refreshed = old.iter().map(|(id, share)| {
        let values = polynomials.iter().map(|p| evaluate::<C>(p, *id));
        (*id, values.fold(*share, |sum, value| sum + value))
    });
    let ours: Vec<_> = refreshed.collect();
    same(
        "refreshed_shares",
        &ours,
        &by_id::<C>(case, "refreshed_shares")?,
    )
}

/// The functions of a suite over a key `k` and a text `t`.
pub(super) fn check_suite(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let suite = super::hash::suite(context.file)?;
    let (k, t) = (case.bytes("k")?, case.bytes("t")?);
    same("Hc", &suite.hc(&[&t]), &case.array("Hc")?)?;
    let hash = suite.transcript_hash(&[&t, &k]);
    same(
        "TranscriptHash_t_k",
        &hash,
        &case.array("TranscriptHash_t_k")?,
    )?;
    let mut out = vec![0; 100];
    suite.hu(&[&t], &mut out);
    same("Hu_100", &out, &case.bytes("Hu_100")?)?;
    let mut out = vec![0; 48];
    suite.prf(&k, &[&t], &mut out);
    same("PRF_k_t_48", &out, &case.bytes("PRF_k_t_48")?)?;
    let mut out = vec![0; 32];
    suite.mac(&k, &[&t], &mut out);
    same("MAC_k_t_32", &out, &case.bytes("MAC_k_t_32")?)?;
    let pairwise = Pairwise {
        chain_id: &t,
        group_id: &k,
        era_id: 7,
        generation: 9,
        i: 5,
        j: 2,
    };
    suite.derive_pairwise(&k, &pairwise, &mut out);
    let name = "DerivePairwise_k_chain=t_group=k_era7_gen9_5_2_32";
    same(name, &out, &case.bytes(name)?)?;
    Ok(Verdict::Equal)
}

/// What resharing makes of a suite: complaints, pairwise outputs, hashes of validator sets.
pub(super) fn check_suite_uses(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["label"]);
    let suite = super::hash::suite(context.file)?;
    check_complaint(case)?;
    let input = case.object("kdf_in")?;
    let index =
        |name| u32::try_from(input.number(name)?).map_err(|_| fault(&format!("{name}: too large")));
    let chain = [input.text("tag")?.as_bytes(), b"|", &input.bytes("chain")?].concat();
    let group = input.bytes("group")?;
    let pairwise = Pairwise {
        chain_id: &chain,
        group_id: &group,
        era_id: input.number("era")?,
        generation: input.number("gen")?,
        i: index("i")?,
        j: index("j")?,
    };
    let mut out = vec![0; count(&input, "len")?];
    suite.derive_pairwise(&input.bytes("key")?, &pairwise, &mut out);
    same("kdf", &out, &case.bytes("kdf")?)?;
    nothing_left(&input, "kdf_in")?;
    let mut keys = byte_lists(case, "validator_set")?;
    keys.sort();
    let len = u32::try_from(keys.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut elements = vec![tags::RESHARE_VALIDATOR_SET, &len];
    elements.extend(keys.iter().map(Vec::as_slice));
    let hash = suite.transcript_hash(&elements);
    same(
        "validator_set_hash",
        &hash,
        &case.array("validator_set_hash")?,
    )?;
    Ok(Verdict::Equal)
}

/// Tag, transcript hash, two parties, reason, length and evidence; signed and hashed.
fn check_complaint(case: &Fields<'_>) -> Result<(), Mismatch> {
    let bytes = case.bytes("complaint_bytes")?;
    let problem = || fault("complaint_bytes: wrong layout");
    let body = bytes
        .strip_prefix(tags::RESHARE_COMPLAINT)
        .ok_or_else(problem)?;
    let (head, tail) = body.split_at_checked(41).ok_or_else(problem)?;
    let (len, evidence) = tail.split_first_chunk::<4>().ok_or_else(problem)?;
    let reason = head.last().copied().unwrap_or_default();
    let layout = u32::from_be_bytes(*len) as usize == evidence.len() && reason <= 4;
    same("complaint_bytes: layout", &layout, &true)?;
    let key = ed25519::SigningKey::from_seed(&case.bytes("ed25519_seed")?).map_err(refused)?;
    let signature = case.bytes("complaint_sig")?;
    same(
        "complaint_sig",
        &key.sign_message(&bytes).to_vec(),
        &signature,
    )?;
    let verdict = key.verifying_key().verify(b"", &bytes, &signature);
    same("complaint_sig verifies", &verdict.is_ok(), &true)?;
    let mut hasher = blake3::Hasher::new();
    for part in [tags::RESHARE_COMPLAINT_HASH, &bytes, &signature] {
        hasher.update(part);
    }
    same(
        "complaint_hash",
        hasher.finalize().as_bytes(),
        &case.array("complaint_hash")?,
    )
}
