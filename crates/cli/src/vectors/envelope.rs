//! Warp 2: envelopes, Horizon certificates, classification.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use horizon_hash::suite::Suite;
use horizon_pulsar::hazmat::interop::gen_key_era;
use horizon_pulsar::signers::Quorum as Points;
use horizon_warp::certificate::HorizonCertificate;
use horizon_warp::policy::{Policy, Tier};
use horizon_warp::prism::Context as PrismContext;
use horizon_warp::pulse::PulseFrames;
use horizon_warp::registry::Record;
use horizon_warp::{
    Class, Envelope, Lineage, Quorum, Reason, Registry, Shape, State, SuiteId, classify, verify,
};
use serde_json::Value;

use super::Context;
use super::fields::{Checked, Fields, LabelStream, Mismatch, Verdict, fault, same, sha256};
use super::message::{accepted, config, members, record, refused, strict_if};

/// Fields, bytes, identifier and transcript of an envelope.
pub(super) fn check_envelope(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("envelope_bytes")?;
    let envelope = match Envelope::parse(&wire) {
        Ok(envelope) => envelope,
        Err(error) => {
            same("ours is stricter", &error.reason(), &Reason::SuiteSyntax)?;
            return Ok(Verdict::Strict);
        }
    };
    for name in ["bytes_error", "parse_error"] {
        same(name, &case.get(name)?.is_null(), &true)?;
    }
    let again = envelope.encode() == wire;
    same("reparse_equal", &again, &case.flag("reparse_equal")?)?;
    same("id", &envelope.id(), &case.array("id")?)?;
    let message = envelope.message();
    same(
        "message_bytes",
        &message.encode(),
        &case.bytes("message_bytes")?,
    )?;
    let transcript = envelope.transcript();
    same(
        "signing_bytes",
        &transcript.as_bytes(),
        &case.bytes("signing_bytes")?.as_slice(),
    )?;
    let suite = case.text("hash_suite_id")?.as_bytes();
    same("hash_suite_id", &envelope.suite_field(), &suite)?;
    let effective = case.text("suite_or_default")?.as_bytes();
    same("suite_or_default", &envelope.effective_suite(), &effective)?;
    same(
        "lineage",
        envelope.lineage(),
        &lineage(case, "source_key_era_id", "source_generation")?,
    )?;
    let unsigned = case.object("unsigned")?;
    let payload = unsigned.bytes("payload")?;
    let theirs = super::message::unsigned(&unsigned, &payload)?;
    same("unsigned", message.unsigned(), &theirs)?;
    check_lanes(case, &envelope)
}

fn check_lanes(case: &Fields<'_>, envelope: &Envelope<'_>) -> Checked {
    let (pulse, certificates) = (envelope.pulse(), envelope.attestation());
    same(
        "pulsar_pulse",
        &pulse.unwrap_or_default(),
        &case.bytes("pulsar_pulse")?.as_slice(),
    )?;
    same(
        "mldsa_cert_set",
        &certificates.unwrap_or_default(),
        &case.bytes("mldsa_cert_set")?.as_slice(),
    )?;
    same("has_pulse", &pulse.is_some(), &case.flag("has_pulse")?)?;
    same(
        "has_cert_set",
        &certificates.is_some(),
        &case.flag("has_cert_set")?,
    )?;
    let shaped = Shape::of(envelope).is_horizon_shaped();
    same("is_pq_final", &shaped, &case.flag("is_pq_final")?)?;
    same(
        "horizon_final_error",
        &shaped,
        &case.get("horizon_final_error")?.is_null(),
    )?;
    let real = case.find("real_pulse").and_then(Value::as_bool) == Some(true);
    if real {
        PulseFrames::parse(pulse.unwrap_or_default()).map_err(refused)?;
    }
    Ok(Verdict::Equal)
}

fn lineage(case: &Fields<'_>, era: &str, generation: &str) -> Result<Lineage, Mismatch> {
    Ok(Lineage {
        nebula_root: case.array("source_nebula_root")?,
        key_era: case.number(era)?,
        generation: case.number(generation)?,
    })
}

/// Decoding. The reference accepts suite names of any bytes and length.
pub(super) fn check_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let mut strict = false;
    let mut reencoded = None;
    for (ours, name) in [
        (Envelope::parse(&wire), "parse_envelope"),
        (Envelope::parse_v2(&wire), "parse_envelope_v2"),
    ] {
        let accepted = case.flag(&format!("{name}_ok"))?;
        let error = case.get(&format!("{name}_error"))?.is_null();
        same(&format!("{name}_error"), &error, &accepted)?;
        match ours {
            Ok(envelope) => {
                same(&format!("{name}_ok"), &true, &accepted)?;
                reencoded = Some(envelope.encode());
            }
            Err(error) if accepted => {
                let lax = [Reason::SuiteSyntax, Reason::NonCanonicalSigners];
                same("ours is stricter", &lax.contains(&error.reason()), &true)?;
                strict = true;
            }
            Err(_) => {}
        }
    }
    if case.has("reencoded") {
        let theirs = case.bytes("reencoded")?;
        same("reencoded", &reencoded.unwrap_or(wire), &theirs)?;
    }
    Ok(strict_if(strict))
}

/// The limit of the whole. In the reference one lane length passes the first check and fails the
/// encoder; ours has one limit.
pub(super) fn check_size(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let len = case.size("zero_pulse_len")?;
    if len > 4 * horizon_warp::limits::ENVELOPE_LEN_MAX {
        return Err(fault("zero_pulse_len: too large"));
    }
    let name = case.text("of")?.strip_suffix(" with a zero pulse");
    let name = name.ok_or_else(|| fault("of: the envelope is not named"))?;
    let (base, _) = context.envelopes.find(name)?;
    let wire = Fields::of(&base)?.bytes("envelope_bytes")?;
    let base = Envelope::parse(&wire).map_err(refused)?;
    let pulse = vec![0; len];
    let suite = base.suite_field();
    let built =
        Envelope::with_lanes_unchecked(*base.message(), *base.lineage(), suite, &pulse, &[]);
    let encodes = case.get("bytes_error")?.is_null();
    same("bytes_error", &built.is_ok(), &encodes)?;
    let lanes_fit = case.get("verify_error")?.is_null();
    same("verify_error", &(lanes_fit || !encodes), &true)?;
    let expected = case.size("encoded_len")?;
    let ours = built.map_or(0, |envelope| envelope.encoded_len());
    same("encoded_len", &ours, &expected)?;
    Ok(strict_if(lanes_fit && !encodes))
}

/// Export of an envelope's lanes. The reference looks only whether lanes are there.
pub(super) fn check_certificate(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let pulse = match case.find("pulse_of").and_then(Value::as_str) {
        Some(name) => {
            let (of, _) = context.envelopes.find(name)?;
            Fields::of(&of)?.bytes("pulsar_pulse")?
        }
        None => case.bytes("pulse")?,
    };
    let (beam, attestation) = (case.bytes("beam")?, case.bytes("mldsa")?);
    let certificate = HorizonCertificate {
        source_chain_id: case.array("source_chain_id")?,
        lineage: lineage(case, "era", "generation")?,
        suite: case.text("hash_suite_id")?.as_bytes(),
        beam: &beam,
        attestation: &attestation,
        pulse: &pulse,
        unsigned: case.bytes("unsigned_message_bytes")?.into(),
    };
    same(
        "marshal_error",
        &case.get("marshal_error")?.is_null(),
        &true,
    )?;
    let wire = certificate.encode();
    same("wire_len", &wire.len(), &case.size("wire_len")?)?;
    same("wire_sha256", &sha256(&wire), &case.array("wire_sha256")?)?;
    if case.has("wire") {
        same("wire", &wire, &case.bytes("wire")?)?;
    }
    let parsed = HorizonCertificate::parse(&wire).map_err(refused)?;
    same("the decoded certificate", &parsed, &certificate)?;
    let accepted = case.get("prism_error")?.is_null();
    match certificate.check_structure() {
        Ok(()) => same("prism_error", &accepted, &true)?,
        Err(error) => same("class", &error.class(), &Class::Horizon)?,
    }
    Ok(strict_if(
        accepted && certificate.check_structure().is_err(),
    ))
}

pub(super) fn check_certificate_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    match HorizonCertificate::parse(&wire) {
        Ok(certificate) => {
            same("ok", &true, &accepted)?;
            same("the second encoding", &certificate.encode(), &wire)?;
            Ok(Verdict::Equal)
        }
        Err(error) => {
            let known = matches!(error.class(), Class::Horizon | Class::Empty);
            same("class", &known, &true)?;
            same("ok", &false, &accepted)?;
            Ok(Verdict::Equal)
        }
    }
}

pub(super) fn check_classification(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let ours = classify::is_pq_root_of_trust(case.text("system")?);
    same("pq_root_of_trust", &ours, &case.flag("pq_root_of_trust")?)?;
    Ok(Verdict::Equal)
}

/// Verification under the reference's options, through Prism.
///
/// The reference takes its verifiers as options, its certificate sets in these cases are filler
/// that a stub accepts, and a lane without a verifier is ignored. Prism refuses such a set, so the
/// Beam and the Pulse are judged without it; that the whole is refused is checked as well.
pub(super) fn check_verify(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let name = match case.find("envelope") {
        Some(name) => name.as_str().ok_or_else(|| fault("envelope: no name"))?,
        None => {
            let label = case.text("name")?;
            label.rsplit_once(" of ").map_or("env-1", |(_, name)| name)
        }
    };
    let (base, file) = context.envelopes.find(name)?;
    let wire = changed(case, Fields::of(&base)?.bytes("envelope_bytes")?)?;
    let accepted = accepted(case)?;
    let options = Options::read(&case.object("options")?)?;
    let Ok(envelope) = Envelope::parse(&wire) else {
        same("ok: the envelope does not decode", &false, &accepted)?;
        return Ok(Verdict::Equal);
    };
    let record = base_record(context.envelopes, &Fields::of(&base)?, &file)?;
    let full = judge(&envelope, &record, &options)?;
    if envelope.attestation().is_some() && full.is_ok() {
        return Err(fault("a filler certificate set was accepted"));
    }
    let stub_decides = options.certificates != Some(true) && envelope.attestation().is_some()
        || options.certificates_required && envelope.attestation().is_none();
    if stub_decides && options.certificates_required {
        same("ok", &false, &accepted)?;
        return Ok(Verdict::Equal);
    }
    if options.certificates == Some(false) && envelope.attestation().is_some() {
        same("ok", &false, &accepted)?;
        return Ok(Verdict::Equal);
    }
    let stripped = Envelope::with_lanes_unchecked(
        *envelope.message(),
        *envelope.lineage(),
        envelope.suite_field(),
        envelope.pulse().unwrap_or_default(),
        &[],
    )
    .map_err(refused)?;
    match (accepted, judge(&stripped, &record, &options)?) {
        (true, Ok(state)) => {
            let sealed = State::PulseSealed;
            let expected = stripped.pulse().map_or(State::BeamFinal, |_| sealed);
            same("verdict", &state, &expected)?;
            // The certificate set of the reference's case would not pass here.
            Ok(Verdict::Equal)
        }
        (true, Err(_)) if options.is_lax() => Ok(Verdict::Strict),
        (true, Err(reason)) => Err(fault(&format!("ok differs: we refuse it as {reason:?}"))),
        (false, Ok(_)) => Err(fault("ok differs: we accept it")),
        (false, Err(_)) => Ok(Verdict::Equal),
    }
}

/// What the caller of the reference's verifier chose.
struct Options<'a> {
    /// Whether the stub for certificate sets accepts; none: no verifier.
    certificates: Option<bool>,
    certificates_required: bool,
    pulse: Option<&'a str>,
    pulse_required: bool,
    quorum: (u64, u64),
    suite: Option<&'a str>,
    other_network: bool,
    beam_skipped: bool,
}

impl<'a> Options<'a> {
    fn read(options: &Fields<'a>) -> Result<Self, Mismatch> {
        let certificates = match options.get("cert_verifier")?.as_str() {
            None => None,
            Some("accepts") => Some(true),
            Some("rejects") => Some(false),
            Some(other) => return Err(fault(&format!("cert_verifier: {other} is unknown"))),
        };
        let quorum = options.text("quorum")?.split_once('/');
        let quorum = quorum.and_then(|(num, den)| Some((num.parse().ok()?, den.parse().ok()?)));
        let read = Self {
            certificates,
            certificates_required: options.flag("require_cert_set")?,
            pulse: options.get("pulse_verifier")?.as_str(),
            pulse_required: options.flag("require_pulse")?,
            quorum: quorum.ok_or_else(|| fault("quorum: two numbers were expected"))?,
            suite: options.find("hash_suite_id").and_then(Value::as_str),
            other_network: options.find("network_id").is_some(),
            beam_skipped: options.find("skip_beam").and_then(Value::as_bool) == Some(true),
        };
        match options.unseen().first() {
            None => Ok(read),
            Some(name) => Err(fault(&format!("options.{name} has no check"))),
        }
    }

    /// Whether the options switch off something that Prism always checks.
    fn is_lax(&self) -> bool {
        self.beam_skipped || Quorum::new(self.quorum.0, self.quorum.1).is_err()
    }
}

/// Prism's verdict; the outer error is a fault of the case.
fn judge(
    envelope: &Envelope<'_>,
    record: &Record,
    options: &Options<'_>,
) -> Result<Result<State, Reason>, Mismatch> {
    let mut record = record.clone();
    let resolver = options.pulse.unwrap_or_default();
    let absent = options.pulse.is_none() && options.pulse_required;
    if absent || resolver.contains("nil key") {
        record.group_key.clear();
        record.threshold = 0;
        let points = record.members.iter_mut();
        points.for_each(|member| member.points = 0);
    }
    if resolver.contains("BLAKE3") || options.suite == Some("Pulsar-BLAKE3") {
        record.suite = SuiteId::PulsarBlake3;
    }
    let tier = match (options.certificates_required, options.pulse_required) {
        _ if envelope.attestation().is_some() && options.certificates_required => Tier::Horizon,
        (_, true) => Tier::Pulse,
        (_, false) => Tier::Classical,
    };
    let config = config(&record, tier, options.quorum);
    let Ok(policy) = Policy::new(&[config]) else {
        return Ok(Err(Reason::PolicyTier));
    };
    let network = record
        .key
        .network_id
        .wrapping_add(u32::from(options.other_network));
    let registry = match Registry::load(vec![record], &policy.pins()) {
        Ok(registry) => registry,
        Err(error) => return Ok(Err(error.reason())),
    };
    let context = PrismContext::new(network, 0, 0);
    Ok(verify(envelope, &registry, &policy, &context)
        .map(|verdict| verdict.state())
        .map_err(|refusal| refusal.reason()))
}

/// The case's bytes: those of the named envelope with a middle part replaced.
fn changed(case: &Fields<'_>, base: Vec<u8>) -> Result<Vec<u8>, Mismatch> {
    if !case.has("diff_from_env") {
        return Ok(base);
    }
    let diff = case.object("diff_from_env")?;
    let problem = || fault("diff_from_env does not fit the envelope");
    let prefix = base.get(..diff.size("prefix")?).ok_or_else(problem)?;
    let start = base.len().checked_sub(diff.size("suffix")?);
    let suffix = base.get(start.ok_or_else(problem)?..).ok_or_else(problem)?;
    Ok([prefix, &diff.bytes("insert")?, suffix].concat())
}

/// The registry's record for the named envelope: its file's validators and era key.
fn base_record(
    envelopes: &mut Envelopes,
    base: &Fields<'_>,
    file: &Value,
) -> Result<Record, Mismatch> {
    let header = Fields::of(file)?;
    let unsigned = base.object("unsigned")?;
    let network = u32::try_from(unsigned.number("network_id")?);
    let network = network.map_err(|_| fault("network_id: too large"))?;
    let members = members(header.list("validators_canonical_order")?)?;
    let mut record = record(network, unsigned.array("source_chain_id")?, members);
    record.key.key_era = base.number("source_key_era_id")?;
    let (group_key, threshold, points) = envelopes.era_key(&header)?;
    record.group_key = group_key;
    record.threshold = threshold;
    let carriers = record.members.iter_mut().take(points);
    carriers.for_each(|member| member.points = 1);
    Ok(record)
}

/// `keyera.Bootstrap(t=2, n=3) with entropy SHAKE256('label'): …`.
fn derivation(header: &Fields<'_>) -> Result<(u16, u16, String), Mismatch> {
    let text = header.text("A_from")?;
    let after = |mark: &str, end: char| -> Option<&str> {
        let (_, rest) = text.split_once(mark)?;
        rest.split_once(end).map(|(value, _)| value)
    };
    let parts = || {
        let t = after("t=", ',')?.parse().ok()?;
        let n = after("n=", ')')?.parse().ok()?;
        Some((t, n, after("SHAKE256('", '\'')?.to_owned()))
    };
    parts().ok_or_else(|| fault("A_from is not understood"))
}

pub(super) fn check_derivation(file: &Fields<'_>) -> Checked {
    derivation(file).map(|_| Verdict::Equal)
}

/// The era key of the file, made again from its label.
pub(super) fn check_group_key(file: &Fields<'_>) -> Checked {
    era_key(file).map(|_| Verdict::Equal)
}

pub(super) fn check_validators(file: &Fields<'_>) -> Checked {
    let members = members(file.list("validators_canonical_order")?)?;
    let sorted = members.is_sorted_by(|a, b| a.bls_key < b.bls_key);
    same("validators_canonical_order", &sorted, &true)?;
    Ok(Verdict::Equal)
}

/// Framed group key, threshold, number of parties.
type EraKey = (Vec<u8>, u32, usize);

fn era_key(header: &Fields<'_>) -> Result<EraKey, Mismatch> {
    let (threshold, parties, label) = derivation(header)?;
    let mut stream = LabelStream::new(&label);
    let points = Points::new(threshold, parties);
    let points = points.map_err(|error| fault(&error.to_string()))?;
    let dealing = gen_key_era(Suite::PulsarSha3, points, |out| stream.read(out), || 1);
    let dealing = dealing.map_err(|error| fault(&error.to_string()))?;
    let raw = dealing.group_key.as_bytes();
    let expected = header.object("group_key")?;
    let b = expected.bytes("b_tilde_wire")?;
    let problem = || fault("group_key: wrong length");
    let (a, ours) = raw
        .split_at_checked(raw.len().checked_sub(b.len()).ok_or_else(problem)?)
        .ok_or_else(problem)?;
    same("group_key.b_tilde_wire", &ours, &b.as_slice())?;
    same(
        "group_key.A_wire_sha256",
        &sha256(a),
        &expected.array("A_wire_sha256")?,
    )?;
    Ok((
        dealing.group_key.to_framed(),
        threshold.into(),
        parties.into(),
    ))
}

/// Envelopes that cases refer to by name and that other files hold.
#[derive(Default)]
pub(crate) struct Envelopes {
    pending: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    known: BTreeMap<String, (Value, Arc<Value>)>,
    key: Option<(String, EraKey)>,
}

impl Envelopes {
    pub(super) fn new(folders: &[PathBuf], files: &[PathBuf]) -> Self {
        let mut found = Self {
            pending: files.to_vec(),
            ..Self::default()
        };
        folders
            .iter()
            .for_each(|folder| found.look_in(folder.clone()));
        found
    }

    /// Adds the folder of a file, its sibling `warp-v2` and the repository's to the places.
    pub(super) fn look_near(&mut self, path: &Path) {
        let own = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let own = if own.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            own
        };
        self.look_in(PathBuf::from("vectors/warp-v2"));
        self.look_in(own.join("../warp-v2"));
        self.look_in(own);
    }

    fn look_in(&mut self, folder: PathBuf) {
        if self.folders.contains(&folder) {
            return;
        }
        let names = ["envelopes.json", "envelopes.json.gz"];
        let files = names.map(|name| folder.join(name));
        self.pending.extend(files);
        self.folders.push(folder);
    }

    /// The case of this name, and the header of its file.
    fn find(&mut self, name: &str) -> Result<(Value, Arc<Value>), Mismatch> {
        while !self.known.contains_key(name) {
            let Some(path) = self.pending.pop() else {
                return Err(fault(&format!(
                    "envelope {name} was not found; looked for envelopes.json beside the file, in \
                     ../warp-v2 and in vectors/warp-v2 (name the folder with --sign-dir)"
                )));
            };
            self.load(&path);
        }
        let found = self.known.get(name).cloned();
        found.ok_or_else(|| fault("not found"))
    }

    /// Files that are no vector files do not matter: the envelope is then simply not found.
    fn load(&mut self, path: &Path) {
        let Ok(Ok(mut document)) = fs::read(path).map(|bytes| super::parse(&bytes)) else {
            return;
        };
        let cases = document.as_object_mut().and_then(|map| map.remove("cases"));
        let header = Arc::new(document);
        let Some(Value::Array(cases)) = cases else {
            return;
        };
        for case in cases {
            let name = case.get("name").and_then(Value::as_str).map(str::to_owned);
            if let (Some(name), Some(_)) = (name, case.get("envelope_bytes")) {
                self.known
                    .entry(name)
                    .or_insert((case, Arc::clone(&header)));
            }
        }
    }

    /// The key of a file's era; made once.
    fn era_key(&mut self, header: &Fields<'_>) -> Result<EraKey, Mismatch> {
        let name = header.text("A_from")?;
        if let Some((known, key)) = &self.key
            && known == name
        {
            return Ok(key.clone());
        }
        let key = era_key(header)?;
        self.key = Some((name.to_owned(), key.clone()));
        Ok(key)
    }
}
