//! Key generation and the two signing rounds, from fixed randomness.

mod replay;

use std::collections::BTreeMap;

use horizon_hash::blake2xb::Blake2Xb;
use horizon_hash::suite::Suite;
use horizon_pulsar::hazmat::interop::{
    self, Dealing, Group, HRounding, Partial, Preprocess, Ready, Round1Message, Session, SidFence,
};
use horizon_pulsar::params::{COLS, NONCE_COLS, Q_NU, ROWS};
use horizon_pulsar::secret::SecretPolys;
use horizon_pulsar::signers::{Quorum, SignerSet};
use horizon_pulsar::{Error, Signature, shamir};
use horizon_ring::matrix::NttMatrix;
use horizon_ring::{NttPoly, Poly, modulus, ntt, sample};
use serde_json::Value;

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, fixed, in_field, list, same,
    same_digest, ser_vector, sha256,
};
use super::primitives::raws;
use super::shamir::{lagrange, quorum};

/// The reference's dealer with t = n.
pub(super) fn check_t_equals_n(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let suite = super::hash::suite_by_name(case.text("suite")?)?;
    let quorum = quorum(case.number("t")?, case.number("n")?)?;
    same("t", &quorum.threshold(), &quorum.parties())?;
    let key = case.array("dealer_key")?;
    let dealing =
        interop::gen_reference_for_vectors(suite, quorum.parties(), &key).map_err(text)?;
    same("prf_key", &*dealing.prf_key, &case.array("prf_key")?)?;
    check_signing(case, suite, quorum, &dealing)
}

/// The key-era dealer with true t-of-n shares.
pub(super) fn check_t_of_n(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let suite = super::hash::suite_by_name(case.text("suite")?)?;
    let quorum = quorum(case.number("t")?, case.number("n")?)?;
    for (label, first) in [
        ("entropy_label", "entropy_first32"),
        ("shamir_rand_label", "shamir_rand_first32"),
    ] {
        let mut bytes = [0; 32];
        LabelStream::new(case.text(label)?).read(&mut bytes);
        if case.has(first) {
            same(first, &bytes, &case.array(first)?)?;
        }
    }
    // The reference stores coefficients of the whole committee; ours are made for each signer set.
    case.skip(&["key_share_lambda_is_full_committee"]);
    let mut entropy = LabelStream::new(case.text("entropy_label")?);
    let mut sharing = LabelStream::new(case.text("shamir_rand_label")?);
    let coefficient = || interop::key_era_coefficient(|out| sharing.read(out));
    let dealing =
        interop::gen_key_era(suite, quorum, |out| entropy.read(out), coefficient).map_err(text)?;
    check_signing(case, suite, quorum, &dealing)
}

/// `GenerateKeys` of the reference with t < n gives only the first t parties a share. Checked are
/// the public parts, and as our strict behaviour that a sharing with these numbers gives every party
/// a share and that the last t of them alone recover the secret.
pub(super) fn check_generate_keys(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    case.skip(&["panic", "outcome"]);
    // The reference's "bytes" of a group key are two counts.
    same(
        "group_key_bytes",
        &vec![ROWS as u8, ROWS as u8],
        &case.bytes("group_key_bytes")?,
    )?;
    let mut key = [0; 32];
    LabelStream::new(case.text("entropy_label")?).read(&mut key);
    let quorum = quorum(case.number("t")?, case.number("n")?)?;
    let suite = Suite::PulsarSha3;
    let dealing =
        interop::gen_reference_for_vectors(suite, quorum.parties(), &key).map_err(text)?;
    same_digest(
        "A",
        &case.object("A")?,
        &raws(&dealing.group_key.a_scaled(1)),
    )?;
    let b = ser_vector(b_tilde(&dealing).iter());
    same(
        "b_tilde_wire_sha256",
        &sha256(&b),
        &case.array("b_tilde_wire_sha256")?,
    )?;
    let theirs = case.numbers("sk_share_lens")?;
    let explained: Vec<u64> = (0..quorum.parties())
        .map(|i| {
            if i < quorum.threshold() {
                COLS as u64
            } else {
                0
            }
        })
        .collect();
    same(
        "sk_share_lens, as the reference's sharing explains them",
        &explained,
        &theirs,
    )?;
    let secret = interop::reference_secrets(&key).s;
    let mut canonical = SecretPolys::new(secret.polys().to_vec());
    canonical
        .polys_mut()
        .iter_mut()
        .for_each(Poly::canonicalize);
    let shares = interop::share_seeded(&canonical, quorum, &key).map_err(text)?;
    let ours: Vec<u64> = shares.iter().map(|share| share.len() as u64).collect();
    let last = quorum.parties() - quorum.threshold()..quorum.parties();
    let signers = SignerSet::new(&last.collect::<Vec<_>>(), quorum).map_err(text)?;
    let used: Vec<&SecretPolys> = signers
        .positions()
        .iter()
        .filter_map(|&i| shares.get(usize::from(i)))
        .collect();
    let recovered = shamir::recover(&signers, &used).map_err(text)?;
    same(
        "the secret from the last shares",
        &recovered.polys(),
        &canonical.polys(),
    )?;
    same(
        "our share lengths",
        &ours,
        &vec![COLS as u64; usize::from(quorum.parties())],
    )?;
    Ok(if ours == theirs {
        Verdict::Equal
    } else {
        Verdict::Strict
    })
}

/// The reference refuses single parties and t = n; both are sound in ours.
pub(super) fn check_generate_keys_refused(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    case.text("error")?;
    // A number below zero stands in a file as such; no parameter can be one.
    let count = |name: &str| match case.find(name).and_then(Value::as_i64) {
        Some(negative) if negative < 0 => Ok(0),
        _ => case.number(name),
    };
    let (threshold, parties) = (count("t")?, count("n")?);
    let sound = (1..=1024).contains(&parties) && (1..=parties).contains(&threshold);
    match (quorum(threshold, parties), sound) {
        (Err(_), false) => Ok(Verdict::Equal),
        (Ok(_), true) => Ok(Verdict::Strict),
        (Err(_), true) => Err(fault("sound numbers were refused")),
        (Ok(_), false) => Err(fault("unsound numbers were accepted")),
    }
}

/// All intermediate values of the smallest session: n = t = 2, session 1, message `Message`.
pub(super) fn check_debug(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let suite = Suite::PulsarSha3;
    let key = case.array("dealer_key")?;
    let dealing = interop::gen_reference_for_vectors(suite, 2, &key).map_err(text)?;
    let secrets = interop::reference_secrets(&key);
    let raw = |polys: &[Poly]| -> Vec<Raw> { polys.iter().map(|poly| *poly.as_array()).collect() };
    let a: Vec<Raw> = case
        .list("A")?
        .iter()
        .map(super::fields::polys)
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    same("A", &raws(&dealing.group_key.a_scaled(1)), &a)?;
    same("b_tilde", &b_tilde(&dealing), &case.polys("b_tilde")?)?;
    same("s_coeff", &raw(secrets.s.polys()), &case.polys("s_coeff")?)?;
    same("e_coeff", &raw(secrets.e.polys()), &case.polys("e_coeff")?)?;
    same("prf_key", &*dealing.prf_key, &case.array("prf_key")?)?;
    same(
        "one_ntt_mont_coeff",
        &modulus::R64,
        &case.number("one_ntt_mont_coeff")?,
    )?;
    for (name, share) in ["sk_share_0", "sk_share_1"]
        .into_iter()
        .zip(&dealing.shares)
    {
        same(name, &raws(share.secret()), &case.polys(name)?)?;
    }
    let signers = SignerSet::everyone(Quorum::new(2, 2).map_err(text)?);
    let message = b"Message";
    let group = Group::new(dealing.group_key.clone(), suite).with_rounding(HRounding::Reference);
    let sessions = sessions(&group, &dealing, &signers)?;
    let flow = Flow::run(&sessions, 1)?;
    let nonces = interop::expand_nonces(&interop::round_key(suite, dealing.shares[0].secret(), 1));
    let row0 =
        |matrix: &NttMatrix| -> Vec<Raw> { matrix.row(0).map(|poly| *poly.as_array()).collect() };
    same(
        "party0_R_row0",
        &row0(&nonces.r_montgomery()),
        &case.polys("party0_R_row0")?,
    )?;
    let d0 = replay::decode_matrix(flow.messages[0].matrix.as_ser(), ROWS, NONCE_COLS)?;
    same(
        "party0_D_row0",
        &d0[..NONCE_COLS].to_vec(),
        &case.polys("party0_D_row0")?,
    )?;
    let ready = flow.ready.first().ok_or_else(|| fault("no session"))?;
    same(
        "D_sum_row0",
        &row0(ready.d_sum()),
        &case.polys("D_sum_row0")?,
    )?;
    let hash: [u8; 32] = case.array("transcript_hash")?;
    same("transcript_hash", ready.transcript(), &hash)?;
    let u = interop::gaussian_hash(suite, &hash, message, NONCE_COLS - 1);
    same("u_hash", &raws(&u), &case.polys("u_hash")?)?;
    let w = replay::product(ready.d_sum(), &u);
    same(
        "h_coeff_before_rounding",
        &raw(&w),
        &case.polys("h_coeff_before_rounding")?,
    )?;
    let h = ready.rounded_commitment(message);
    same("h_rounded", &raw(&*h), &case.polys("h_rounded")?)?;
    let seed = dealing.shares[0].row_seeds()[1];
    same(
        "prf_mask_seed_0_1",
        &seed,
        &case.array("prf_mask_seed_0_1")?,
    )?;
    let mask = interop::mask(suite, &*dealing.prf_key, &seed, &hash, message, COLS);
    same("prf_mask_0_1", &raws(&mask), &case.polys("prf_mask_0_1")?)?;
    let (partials, c, h) = flow.sign(message, &dealing.prf_key)?;
    for (name, partial) in ["z_0", "z_1"].into_iter().zip(&partials) {
        same(name, &raws(&partial.z), &case.polys(name)?)?;
    }
    let signature = complete(&group, &h, &c, &partials)?;
    same("c", signature.c().as_array(), &case.poly("c")?)?;
    same("z", &raws(signature.z()), &case.polys("z")?)?;
    same("delta", &raw(signature.delta()), &case.polys("delta")?)?;
    Ok(Verdict::Equal)
}

/// `A` of a dealer key: 56 polynomials row-major, NTT-Montgomery form.
pub(super) fn public_matrix(key: &[u8]) -> Result<Vec<Raw>, Mismatch> {
    let mut stream = Blake2Xb::new(key).map_err(|_| fault("dealer key: refused"))?;
    let poly = |_| *ntt::forward_montgomery(&sample::uniform(&mut stream)).as_array();
    Ok((0..ROWS * COLS).map(poly).collect())
}

/// Everything after key generation.
fn check_signing(case: &Fields<'_>, suite: Suite, quorum: Quorum, dealing: &Dealing) -> Checked {
    same_digest(
        "A",
        &case.object("A")?,
        &raws(&dealing.group_key.a_scaled(1)),
    )?;
    let b = b_tilde(dealing);
    same("b_tilde", &b, &case.polys("b_tilde")?)?;
    let b_hash = sha256(&ser_vector(b.iter()));
    same(
        "b_tilde_wire_sha256",
        &b_hash,
        &case.array("b_tilde_wire_sha256")?,
    )?;
    check_seeds(case, dealing)?;
    let positions: Vec<u16> = case
        .numbers("T")?
        .into_iter()
        .map(|id| u16::try_from(id).map_err(|_| fault("T: too large")))
        .collect::<Result<_, _>>()?;
    check_parties(case, dealing, &positions)?;
    let signers = SignerSet::new(&positions, quorum).map_err(text)?;
    let (sid, message) = (case.number("sid")?, case.bytes("msg")?);
    let prf_key: [u8; 32] = case.array("prf_key")?;
    let group = Group::new(dealing.group_key.clone(), suite).with_rounding(HRounding::Reference);
    let sessions = sessions(&group, dealing, &signers)?;
    let flow = Flow::run(&sessions, sid)?;
    check_round1(case, suite, dealing, &flow, sid)?;
    let ready = flow.ready.first().ok_or_else(|| fault("no session"))?;
    let sum: Vec<Raw> = ready.d_sum().iter().map(|poly| *poly.as_array()).collect();
    same_digest("D_sum", &case.object("D_sum")?, &sum)?;
    let theirs: [u8; 32] = case.array("transcript_hash")?;
    let contiguous = positions.iter().copied().eq(0..signers.len() as u16);
    if contiguous {
        same("transcript_hash", ready.transcript(), &theirs)?;
        let outcome = {
            let h_mine = ready.rounded_commitment(&message);
            let u = interop::gaussian_hash(suite, &theirs, &message, NONCE_COLS - 1);
            same_digest("u_hash", &case.object("u_hash")?, &raws(&u))?;
            let h_raw: Vec<Raw> = h_mine.iter().map(|poly| *poly.as_array()).collect();
            same_digest("h_rounded", &case.object("h_rounded")?, &h_raw)?;
            let (partials, c, h) = flow.sign(&message, &prf_key)?;
            check_signature(case, &group, &partials, &c, &h, &message)?
        };
        return finish_contiguous(outcome, suite, dealing, &signers, sid, (&message, &prf_key));
    }
    // The reference left matrices out of this transcript. Its bytes are replayed from its hash, and
    // our own session must have another hash and give a signature that verifies.
    let replayed = replay::Replay {
        suite,
        dealing,
        signers: &signers,
        sid,
        prf_key: &prf_key,
    };
    replayed.check_transcript(&flow.messages, &theirs)?;
    if *ready.transcript() == theirs {
        return Err(fault("our transcript leaves a matrix unbound"));
    }
    let u = interop::gaussian_hash(suite, &theirs, &message, NONCE_COLS - 1);
    same_digest("u_hash", &case.object("u_hash")?, &raws(&u))?;
    let (partials, c, h) = replayed.sign(&group, ready.d_sum(), &u, &theirs, &message)?;
    let h_raw: Vec<Raw> = h.iter().map(|poly| *poly.as_array()).collect();
    same_digest("h_rounded", &case.object("h_rounded")?, &h_raw)?;
    let _ = check_signature(case, &group, &partials, &c, &h, &message)?;
    strict_session(suite, dealing, &signers, sid, &message, &prf_key)?;
    Ok(Verdict::Strict)
}

/// An honest session of the reference fails when a coefficient of `h` rounds up to 2^19. Ours
/// reduces it and must succeed.
fn finish_contiguous(
    outcome: Outcome,
    suite: Suite,
    dealing: &Dealing,
    signers: &SignerSet,
    sid: u64,
    (message, prf_key): (&[u8], &[u8; 32]),
) -> Checked {
    match outcome {
        Outcome::Verified => Ok(Verdict::Equal),
        Outcome::RoundedUp => {
            strict_session(suite, dealing, signers, sid, message, prf_key)?;
            Ok(Verdict::Strict)
        }
        Outcome::Refused => Err(fault("verify: refused without a rounded-up coefficient")),
    }
}

/// The same session by our own rules, up to a verified signature.
fn strict_session(
    suite: Suite,
    dealing: &Dealing,
    signers: &SignerSet,
    sid: u64,
    message: &[u8],
    prf_key: &[u8; 32],
) -> Result<(), Mismatch> {
    let group = Group::new(dealing.group_key.clone(), suite);
    let sessions = sessions(&group, dealing, signers)?;
    let mut flow = Flow::run(&sessions, sid)?;
    let mut partials = Vec::new();
    let mut assembly = None;
    for ready in flow.ready.drain(..) {
        let (partial, combine) = ready.sign(message, prf_key).map_err(text)?;
        partials.push(partial);
        assembly.get_or_insert(combine);
    }
    let assembly = assembly.ok_or_else(|| fault("no session"))?;
    assembly.combine(&partials).map_err(text).map(drop)
}

fn check_seeds(case: &Fields<'_>, dealing: &Dealing) -> Result<(), Mismatch> {
    let table: Vec<&[[u8; 32]]> = dealing
        .shares
        .iter()
        .map(|share| share.row_seeds())
        .collect();
    for (j, share) in dealing.shares.iter().enumerate() {
        let column: Vec<[u8; 32]> = table.iter().map(|row| row[j]).collect();
        same("column of seeds", &share.column_seeds(), &&*column)?;
    }
    let flat: Vec<[u8; 32]> = table.concat();
    match case.get("seeds")? {
        Value::Array(rows) => {
            let theirs: Vec<Vec<[u8; 32]>> = rows
                .iter()
                .map(|row| list(row)?.iter().map(fixed).collect())
                .collect::<Result<_, Mismatch>>()?;
            same("seeds", &flat, &theirs.concat())
        }
        value => {
            let digest = Fields::of(value)?;
            let hash = sha256(flat.as_flattened());
            same("seeds", &hash, &digest.array("sha256_row_major")?)?;
            same("seeds.first", &flat.first(), &Some(&digest.array("first")?))?;
            same("seeds.last", &flat.last(), &Some(&digest.array("last")?))
        }
    }
}

fn check_parties(case: &Fields<'_>, dealing: &Dealing, signers: &[u16]) -> Result<(), Mismatch> {
    let parties = case.list("parties")?;
    same("number of parties", &parties.len(), &dealing.shares.len())?;
    let lambdas: BTreeMap<u16, u64> = signers.iter().copied().zip(lagrange(signers)?).collect();
    for (share, party) in dealing.shares.iter().zip(parties) {
        let position = share.position();
        let name = format!("party {position}");
        let party = in_field(&name, Fields::of(party))?;
        same(&name, &u64::from(position), &party.number("party")?)?;
        let digest = party.object("sk_share_ntt_mont")?;
        same_digest(
            &format!("{name}: sk_share_ntt_mont"),
            &digest,
            &raws(share.secret()),
        )?;
        let lambda = lambdas
            .get(&position)
            .map(u64::to_string)
            .unwrap_or_default();
        same(
            &format!("{name}: lambda"),
            &lambda.as_str(),
            &party.text("lambda")?,
        )?;
        if party.has("mac_keys") {
            let keys = by_party(&party, "mac_keys")?;
            let ours: BTreeMap<u64, [u8; 32]> = (0u64..)
                .zip(share.mac_keys())
                .filter(|(peer, _)| *peer != u64::from(position))
                .map(|(peer, key)| (peer, *key))
                .collect();
            same(&format!("{name}: mac_keys"), &ours, &keys)?;
        }
        no_unseen(&name, &party)?;
    }
    Ok(())
}

fn check_round1(
    case: &Fields<'_>,
    suite: Suite,
    dealing: &Dealing,
    flow: &Flow<'_>,
    sid: u64,
) -> Result<(), Mismatch> {
    let entries = case.list("round1")?;
    same(
        "number of first rounds",
        &flow.messages.len(),
        &entries.len(),
    )?;
    for (message, entry) in flow.messages.iter().zip(entries) {
        let name = format!("round1 of party {}", message.sender);
        let entry = in_field(&name, Fields::of(entry))?;
        same(&name, &u64::from(message.sender), &entry.number("party")?)?;
        let share = dealing.shares.get(usize::from(message.sender));
        let share = share.ok_or_else(|| fault("no such party"))?;
        let key = interop::round_key(suite, share.secret(), sid);
        same(
            &format!("{name}: prng_key"),
            &key,
            &entry.array("prng_key")?,
        )?;
        let nonces = interop::expand_nonces(&key).r_montgomery();
        let r: Vec<Raw> = nonces.iter().map(|poly| *poly.as_array()).collect();
        same_digest(&format!("{name}: R"), &entry.object("R")?, &r)?;
        let d = replay::decode_matrix(message.matrix.as_ser(), ROWS, NONCE_COLS)?;
        same_digest(&format!("{name}: D"), &entry.object("D")?, &d)?;
        if entry.has("macs") {
            let peers = message
                .signers
                .iter()
                .filter(|&&peer| peer != message.sender);
            let ours: BTreeMap<u64, [u8; 32]> = peers
                .map(|&peer| u64::from(peer))
                .zip(message.macs.iter().copied())
                .collect();
            same(&format!("{name}: macs"), &ours, &by_party(&entry, "macs")?)?;
        } else {
            let hash = sha256(message.macs.as_flattened());
            same(
                &format!("{name}: macs"),
                &hash,
                &entry.array("macs_sha256_in_T_order")?,
            )?;
        }
        no_unseen(&name, &entry)?;
    }
    Ok(())
}

/// What became of the signature, when the file and ours agree.
enum Outcome {
    Verified,
    /// Not valid, because a coefficient of `h` is 2^19.
    RoundedUp,
    Refused,
}

fn check_signature(
    case: &Fields<'_>,
    group: &Group,
    partials: &[Partial],
    c: &NttPoly,
    h: &[Poly; ROWS],
    message: &[u8],
) -> Result<Outcome, Mismatch> {
    let entries = case.list("round2")?;
    same("number of partials", &partials.len(), &entries.len())?;
    for (partial, entry) in partials.iter().zip(entries) {
        let name = format!("round2 of party {}", partial.sender);
        let entry = in_field(&name, Fields::of(entry))?;
        same(&name, &u64::from(partial.sender), &entry.number("party")?)?;
        same_digest(
            &format!("{name}: z"),
            &entry.object("z")?,
            &raws(&partial.z),
        )?;
        no_unseen(&name, &entry)?;
    }
    let signature = complete(group, h, c, partials)?;
    let expected = case.object("signature")?;
    let z = raws(signature.z());
    let delta: Vec<Raw> = signature
        .delta()
        .iter()
        .map(|poly| *poly.as_array())
        .collect();
    same(
        "signature.c",
        signature.c().as_array(),
        &expected.poly("c")?,
    )?;
    same("signature.z", &z, &expected.polys("z")?)?;
    same("signature.delta", &delta, &expected.polys("delta")?)?;
    let hashes = [
        (
            "c_wire_sha256",
            super::fields::ser_poly(signature.c().as_array()),
        ),
        ("z_wire_sha256", ser_vector(z.iter())),
        ("delta_wire_sha256", ser_vector(delta.iter())),
    ];
    for (name, bytes) in hashes {
        same(name, &sha256(&bytes), &expected.array(name)?)?;
    }
    no_unseen("signature", &expected)?;
    let ours = group.prepared().verify(message, &signature).is_ok();
    same("verify", &ours, &case.flag("verify")?)?;
    let rounded_up = h.iter().any(|poly| poly.as_array().contains(&Q_NU));
    Ok(match (ours, rounded_up) {
        (true, _) => Outcome::Verified,
        (false, true) => Outcome::RoundedUp,
        (false, false) => Outcome::Refused,
    })
}

fn complete(
    group: &Group,
    h: &[Poly; ROWS],
    c: &NttPoly,
    partials: &[Partial],
) -> Result<Signature, Mismatch> {
    let mut z = [const { NttPoly::ZERO }; COLS];
    for partial in partials {
        z.iter_mut()
            .zip(&partial.z)
            .for_each(|(sum, part)| sum.add_assign(part));
    }
    group.prepared().complete(h, c, z).map_err(text)
}

fn sessions<'a>(
    group: &'a Group,
    dealing: &'a Dealing,
    signers: &SignerSet,
) -> Result<Vec<Session<'a>>, Mismatch> {
    let member = |&position: &u16| {
        let share = dealing.shares.get(usize::from(position));
        let share = share.ok_or_else(|| fault("T: no such party"))?;
        Session::new(group, share, signers.clone()).map_err(text)
    };
    signers.positions().iter().map(member).collect()
}

/// Both rounds up to the message, for every signer.
struct Flow<'a> {
    messages: Vec<Round1Message>,
    ready: Vec<Ready<'a>>,
}

impl<'a> Flow<'a> {
    fn run(sessions: &'a [Session<'a>], sid: u64) -> Result<Self, Mismatch> {
        let mut nonces = Vec::new();
        let mut messages = Vec::new();
        for session in sessions {
            let (nonce, message) = session.round1(&mut SidFence::fresh(), sid).map_err(text)?;
            nonces.push(nonce);
            messages.push(message);
        }
        let ready = nonces.into_iter().map(|nonce| {
            let mut preprocess = Preprocess::new(nonce);
            preprocess.absorb_all(&messages).map_err(text)?;
            preprocess.finish().map_err(text)
        });
        let ready = ready.collect::<Result<_, _>>()?;
        Ok(Self { messages, ready })
    }

    #[allow(clippy::type_complexity, reason = "partials, challenge, commitment")]
    fn sign(
        self,
        message: &[u8],
        prf_key: &[u8; 32],
    ) -> Result<(Vec<Partial>, NttPoly, Box<[Poly; ROWS]>), Mismatch> {
        let mut partials = Vec::new();
        let mut public = None;
        for ready in self.ready {
            let (partial, assembly) = ready.sign(message, prf_key).map_err(text)?;
            partials.push(partial);
            let values = (assembly.c().clone(), Box::new(assembly.h().clone()));
            let (c, _) = public.get_or_insert(values);
            same(
                "challenges of two members",
                c.as_array(),
                assembly.c().as_array(),
            )?;
        }
        let (c, h) = public.ok_or_else(|| fault("no session"))?;
        Ok((partials, c, h))
    }
}

fn b_tilde(dealing: &Dealing) -> Vec<Raw> {
    dealing
        .group_key
        .b_tilde()
        .iter()
        .map(|poly| *poly.as_array())
        .collect()
}

fn by_party(entry: &Fields<'_>, name: &str) -> Result<BTreeMap<u64, [u8; 32]>, Mismatch> {
    let object = entry.get(name)?.as_object();
    let object = object.ok_or_else(|| fault(&format!("{name}: an object was expected")))?;
    let pair = |(party, key): (&String, &Value)| {
        let party = party
            .parse()
            .map_err(|_| fault(&format!("{name}: not a party")))?;
        Ok((party, in_field(name, fixed(key))?))
    };
    object.iter().map(pair).collect()
}

fn no_unseen(name: &str, entry: &Fields<'_>) -> Result<(), Mismatch> {
    match entry.unseen().first() {
        None => Ok(()),
        Some(field) => Err(fault(&format!("{name}: field {field} has no check"))),
    }
}

fn text(error: Error) -> Mismatch {
    fault(&error.to_string())
}
