//! The conformance runner: checks every case of a vector file against this implementation.
//!
//! A file is JSON, plain or gzip-compressed. What it holds is told from the fields of its cases,
//! never from its name or folder, and each case is told apart on its own. Every field is compared;
//! a field without a check is reported. Some cases record unsound behaviour of the reference (it
//! accepts non-canonical values, or stops with a panic): those are checked as *our strict
//! behaviour* and counted apart.

mod acvp;
mod bls;
mod envelope;
mod fields;
mod hash;
mod lens;
mod message;
mod ntt;
mod payload;
mod primitives;
mod prng;
mod pulse;
mod rank;
mod samplers;
mod shamir;
mod sign;
mod signatures;
mod slhdsa;
mod verify;
mod wycheproof;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use envelope::Envelopes;
use fields::{Checked, Fields, Verdict};
use signatures::Signatures;

pub(crate) use fields::hex;

/// Largest accepted file after decompression, in bytes.
pub const FILE_LEN_MAX: u64 = 256 << 20;

/// Why a file could not be run at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// Not readable, too large, or not JSON.
    Unreadable(String),
    /// JSON, but no case in it has a known shape.
    UnknownFormat,
}

/// What came of one file.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// Cases that passed, the strict ones included.
    pub passed: usize,
    /// Cases that record unsound behaviour of the reference and were checked as ours.
    pub strict: usize,
    /// Failing cases: id and reason.
    pub failed: Vec<(String, String)>,
    /// Number of cases by format.
    pub formats: BTreeMap<&'static str, usize>,
    /// Fields without a check, with the number of cases that have them.
    pub unchecked: BTreeMap<String, usize>,
}

/// Runs files; holds the signatures that cases may refer to by name.
#[derive(Default)]
pub struct Runner {
    signatures: Signatures,
    envelopes: Envelopes,
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Runner")
    }
}

impl Runner {
    /// A runner that looks for referenced signatures also in `folders` and in `files`, after the
    /// places relative to the referring file.
    #[must_use]
    pub fn new(folders: &[PathBuf], files: &[PathBuf]) -> Self {
        Self {
            signatures: Signatures::new(folders, files),
            envelopes: Envelopes::new(folders, files),
        }
    }

    /// Checks every case of a file.
    ///
    /// # Errors
    /// [`FileError`]: the file cannot be read, is not JSON, or has no case of a known format.
    pub fn run(&mut self, path: &Path) -> Result<FileReport, FileError> {
        let unreadable = |error: std::io::Error| FileError::Unreadable(error.to_string());
        let document = parse(&fs::read(path).map_err(unreadable)?)?;
        self.signatures.look_near(path);
        self.envelopes.look_near(path);
        self.run_document(&document)
    }

    /// As [`Runner::run`] for the bytes of a file; referenced signatures are found only in the
    /// folders and files given at the start.
    ///
    /// # Errors
    /// As for [`Runner::run`].
    pub fn run_bytes(&mut self, bytes: &[u8]) -> Result<FileReport, FileError> {
        self.run_document(&parse(bytes)?)
    }

    fn run_document(&mut self, document: &Value) -> Result<FileReport, FileError> {
        let empty = Map::new();
        let header = document.as_object().unwrap_or(&empty);
        let cases = cases_of(document);
        let formats: Vec<_> = cases
            .iter()
            .map(|(group, case)| detect(header, *group, case))
            .collect();
        if formats.iter().all(Option::is_none) {
            return Err(FileError::UnknownFormat);
        }
        let mut report = FileReport::default();
        let file = Fields::new(header);
        file.skip(&[
            "source",
            "description",
            "cases",
            "generator",
            "comment",
            "cpu_has_avx",
            "cpu_has_fma",
        ]);
        // Headers of the public suites: about the file, not about a case.
        file.skip(&["testGroups", "schema", "header", "notes", "numberOfTests"]);
        file.skip(&["vsId", "mode", "revision", "isSample", "algorithm"]);
        for (index, ((group, case), format)) in cases.iter().zip(&formats).enumerate() {
            let group = group.map(Fields::new);
            self.run_case((&file, group.as_ref()), index, case, *format, &mut report);
        }
        for name in file.unseen() {
            self.run_header_field(&file, name, &mut report);
        }
        Ok(report)
    }

    fn run_case<'f>(
        &mut self,
        (file, group): (&Fields<'f>, Option<&Fields<'f>>),
        index: usize,
        case: &Value,
        format: Option<&'static Format>,
        report: &mut FileReport,
    ) {
        let id = case_id(index, case);
        let (Some(format), Some(map)) = (format, case.as_object()) else {
            report
                .failed
                .push((id, "the case has no known shape".to_owned()));
            return;
        };
        *report.formats.entry(format.name).or_default() += 1;
        let fields = Fields::new(map);
        fields.skip(&["name", "comment", "fn", "note", "tcId", "kind"]);
        if let Some(group) = group {
            group.skip(&["tests", "type", "source", "tgId", "testType"]);
        }
        let context = Context {
            file,
            group,
            signatures: &mut self.signatures,
            envelopes: &mut self.envelopes,
        };
        let outcome = (format.check)(&fields, context);
        if outcome.is_ok() {
            let of_group = group.map(Fields::unseen).unwrap_or_default();
            for name in fields.unseen().into_iter().chain(of_group) {
                *report
                    .unchecked
                    .entry(format!("{}: {name}", format.name))
                    .or_default() += 1;
            }
        }
        record(report, id, outcome);
    }

    /// Constants at the top of a file count as one case each.
    fn run_header_field(&self, file: &Fields<'_>, name: &str, report: &mut FileReport) {
        let Some((_, check)) = HEADER_CHECKS.iter().find(|(known, _)| *known == name) else {
            *report.unchecked.entry(format!("file: {name}")).or_default() += 1;
            return;
        };
        record(report, format!("file:{name}"), check(file));
    }
}

/// What a check may look at beside its case.
pub(crate) struct Context<'r, 'f> {
    file: &'r Fields<'f>,
    /// The group of the case, where the file has groups.
    group: Option<&'r Fields<'f>>,
    signatures: &'r mut Signatures,
    envelopes: &'r mut Envelopes,
}

impl<'r, 'f> Context<'r, 'f> {
    fn group(&self) -> Result<&'r Fields<'f>, fields::Mismatch> {
        self.group
            .ok_or_else(|| fields::fault("the case stands in no group"))
    }
}

/// One known shape of a case.
struct Format {
    name: &'static str,
    /// Values of the field `fn`; empty when the format has no such field.
    functions: &'static [&'static str],
    /// Fields that a case must have: `name`, or `file.name` in the header, `group.name` in its
    /// group; `name=text` for a text to be equal, `name^text` for its start.
    required: &'static [&'static str],
    check: fn(&Fields<'_>, Context<'_, '_>) -> Checked,
}

fn record(report: &mut FileReport, id: String, outcome: Checked) {
    match outcome {
        Ok(verdict) => {
            report.passed += 1;
            report.strict += usize::from(verdict == Verdict::Strict);
        }
        Err(fields::Mismatch(reason)) => report.failed.push((id, reason)),
    }
}

fn parse(bytes: &[u8]) -> Result<Value, FileError> {
    let unreadable = |error: &dyn core::fmt::Display| FileError::Unreadable(error.to_string());
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return serde_json::from_slice(bytes).map_err(|error| unreadable(&error));
    }
    let mut plain = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(bytes).take(FILE_LEN_MAX + 1);
    reader
        .read_to_end(&mut plain)
        .map_err(|error| unreadable(&error))?;
    if plain.len() as u64 > FILE_LEN_MAX {
        return Err(FileError::Unreadable(format!(
            "more than {FILE_LEN_MAX} bytes"
        )));
    }
    serde_json::from_slice(&plain).map_err(|error| unreadable(&error))
}

/// The cases of a file, each with its group where the file has groups.
fn cases_of(document: &Value) -> Vec<(Option<&Map<String, Value>>, &Value)> {
    if let Some(cases) = document
        .as_array()
        .or_else(|| document.get("cases")?.as_array())
    {
        return cases.iter().map(|case| (None, case)).collect();
    }
    let groups = document.get("testGroups").and_then(Value::as_array);
    let groups = groups.into_iter().flatten().filter_map(Value::as_object);
    groups
        .flat_map(|group| {
            let tests = group.get("tests").and_then(Value::as_array);
            tests
                .into_iter()
                .flatten()
                .map(move |case| (Some(group), case))
        })
        .collect()
}

/// The first format whose function name and required fields fit.
fn detect(
    header: &Map<String, Value>,
    group: Option<&Map<String, Value>>,
    case: &Value,
) -> Option<&'static Format> {
    let case = case.as_object()?;
    let function = case.get("fn").and_then(Value::as_str);
    let fits = |format: &&Format| {
        let named = function.map_or(format.functions.is_empty(), |function| {
            format.functions.contains(&function)
        });
        let present = |rule: &&str| {
            let split = rule.find(['=', '^']).unwrap_or(rule.len());
            let (path, wanted) = rule.split_at(split);
            let value = match path.split_once('.') {
                Some(("file", name)) => header.get(name),
                Some(("group", name)) => group.and_then(|group| group.get(name)),
                _ => case.get(path),
            };
            let text = value.and_then(Value::as_str);
            match wanted.split_at_checked(1) {
                Some(("=", wanted)) => text == Some(wanted),
                Some(("^", wanted)) => text.is_some_and(|text| text.starts_with(wanted)),
                _ => value.is_some(),
            }
        };
        named && format.required.iter().all(present)
    };
    FORMATS.iter().find(fits)
}

/// The name of a case, or its position and function.
fn case_id(index: usize, case: &Value) -> String {
    let text = |name: &str| case.get(name).and_then(Value::as_str);
    match (text("name"), text("of"), text("fn")) {
        (Some(name), _, _) => format!("#{index} {name}"),
        (_, Some(of), _) => match text("mutation") {
            Some(mutation) => format!("#{index} {of}: {mutation}"),
            None => format!("#{index} {of}"),
        },
        (_, _, Some(function)) => match text("label") {
            Some(label) => format!("#{index} {function} {label}"),
            None => format!("#{index} {function}"),
        },
        _ => match case.get("tcId").and_then(Value::as_u64) {
            Some(id) => format!("#{index} tcId {id}"),
            None => format!("#{index}"),
        },
    }
}

type HeaderCheck = fn(&Fields<'_>) -> Checked;

const HEADER_CHECKS: &[(&str, HeaderCheck)] = &[
    ("q", ntt::check_modulus),
    ("n", ntt::check_degree),
    ("mask", ntt::check_mask),
    ("bred_constant", ntt::check_barrett),
    ("mred_constant", ntt::check_montgomery),
    ("n_inv_montgomery", ntt::check_degree_inverse),
    ("nth_root", ntt::check_root_order),
    ("primitive_root", ntt::check_primitive_root),
    ("roots_forward", ntt::check_roots_forward),
    ("roots_backward", ntt::check_roots_backward),
    ("bsquare", ntt::check_norm_bound),
    ("shared_prng_case", samplers::check_shared_stream),
    ("suite", hash::check_suite_name),
    ("curve", lens::check_curve_name),
    ("group_key", envelope::check_group_key),
    ("validators_canonical_order", envelope::check_validators),
    ("A_from", envelope::check_derivation),
];

#[rustfmt::skip]
const FORMATS: &[Format] = &[
    // Signing and keys first: their cases have many fields and could fit a smaller shape too.
    Format { name: "signing intermediates", functions: &[], required: &["D_sum_row0", "dealer_key"], check: sign::check_debug },
    Format { name: "signing t = n", functions: &[], required: &["round1", "dealer_key"], check: sign::check_t_equals_n },
    Format { name: "signing t of n", functions: &[], required: &["round1", "entropy_label"], check: sign::check_t_of_n },
    Format { name: "key generation", functions: &[], required: &["sk_share_lens", "entropy_label"], check: sign::check_generate_keys },
    Format { name: "key generation, refused", functions: &[], required: &["error", "n", "t"], check: sign::check_generate_keys_refused },
    Format { name: "verification", functions: &[], required: &["mutation", "of", "accept"], check: verify::check_mutation },
    Format { name: "norm boundary", functions: &[], required: &["z_coeff", "accept"], check: verify::check_norm_boundary },
    Format { name: "Wycheproof ML-DSA verification", functions: &[], required: &["group.type=MlDsaVerify"], check: wycheproof::check_mldsa },
    Format { name: "Wycheproof ML-DSA signing", functions: &[], required: &["group.type=MlDsaSign"], check: wycheproof::check_mldsa_sign },
    Format { name: "Wycheproof Ed25519", functions: &[], required: &["group.type=EddsaVerify"], check: wycheproof::check_ed25519 },
    Format { name: "Wycheproof ECDSA P-256", functions: &[], required: &["group.type=EcdsaVerify"], check: wycheproof::check_p256 },
    Format { name: "Wycheproof ECDSA secp256k1", functions: &[], required: &["group.type=EcdsaBitcoinVerify"], check: wycheproof::check_secp256k1 },
    Format { name: "Wycheproof BLS", functions: &[], required: &["group.type=BlsSigVerify"], check: wycheproof::check_bls },
    Format { name: "Wycheproof BLS aggregates", functions: &[], required: &["group.type=BlsAggregateVerify"], check: wycheproof::check_bls_aggregate },
    Format { name: "Wycheproof BLS hash to curve", functions: &[], required: &["group.type=BlsHashToG2"], check: wycheproof::check_bls_hash },
    Format { name: "Wycheproof KMAC256", functions: &[], required: &["group.type=MacTest", "file.algorithm=KMAC256"], check: wycheproof::check_kmac256 },
    Format { name: "ACVP ML-DSA key generation", functions: &[], required: &["file.mode=keyGen", "group.parameterSet", "seed"], check: acvp::check_key_gen },
    Format { name: "ACVP ML-DSA verification", functions: &[], required: &["file.mode=sigVer", "group.parameterSet", "signature"], check: acvp::check_sig_ver },
    Format { name: "SLH-DSA verification", functions: &[], required: &["ctx", "msg", "pk", "sig", "valid"], check: slhdsa::check },
    Format { name: "BLS signature", functions: &["sign"], required: &["sk", "verify_other_sig"], check: bls::check_sign },
    Format { name: "BLS aggregate", functions: &["aggregate"], required: &["sks", "agg_sig"], check: bls::check_aggregate },
    Format { name: "BLS key decoding", functions: &["parse_pk"], required: &["pk", "ok"], check: bls::check_parse_key },
    Format { name: "Warp 1 message", functions: &[], required: &["message_bytes", "unsigned_id"], check: message::check_message },
    Format { name: "Warp 1 size limit", functions: &[], required: &["kind=size", "zero_payload_len"], check: message::check_size },
    Format { name: "Warp 1 decoding", functions: &[], required: &["kind=parse_message"], check: message::check_parse },
    Format { name: "Warp 1 unsigned decoding", functions: &[], required: &["kind=parse_unsigned"], check: message::check_parse_unsigned },
    Format { name: "signer bit set", functions: &[], required: &["a_bytes", "b_bytes", "highest_plus1"], check: message::check_bit_set },
    Format { name: "quorum", functions: &[], required: &["kind=verify_weight"], check: message::check_weight },
    Format { name: "Warp 1 verification", functions: &[], required: &["kind=verify_message"], check: message::check_verify },
    Format { name: "Warp 1 signing", functions: &[], required: &["kind=sign_message_quirk"], check: message::check_sign_quirk },
    Format { name: "signature request", functions: &[], required: &["justification", "request", "response"], check: message::check_request },
    Format { name: "AtomicSwap", functions: &[], required: &["kind=AtomicSwap"], check: payload::check_swap },
    Format { name: "AtomicSwap decoding", functions: &[], required: &["kind=AtomicSwapParse"], check: payload::check_swap_parse },
    Format { name: "MultiHopRoute", functions: &[], required: &["kind=MultiHopRoute"], check: payload::check_route },
    Format { name: "AssetLock", functions: &[], required: &["kind=XVMAssetLock"], check: payload::check_lock },
    Format { name: "signature request decoding", functions: &[], required: &["bytes", "ok", "panic"], check: message::check_request_parse },
    Format { name: "teleport", functions: &[], required: &["kind=teleport_rlp"], check: payload::check_teleport },
    Format { name: "teleport", functions: &[], required: &["kind=teleport90"], check: payload::check_teleport },
    Format { name: "teleport decoding", functions: &[], required: &["kind=teleport_rlp_parse"], check: payload::check_teleport_parse },
    Format { name: "teleport decoding", functions: &[], required: &["kind=teleport90_parse"], check: payload::check_teleport_parse },
    Format { name: "payload", functions: &[], required: &["kind", "fields"], check: payload::check_build },
    Format { name: "payload decoding", functions: &[], required: &["kind=parse"], check: payload::check_guess },
    Format { name: "envelope", functions: &[], required: &["envelope_bytes", "signing_bytes"], check: envelope::check_envelope },
    Format { name: "envelope decoding", functions: &[], required: &["bytes", "parse_envelope_v2_ok"], check: envelope::check_parse },
    Format { name: "envelope size limit", functions: &[], required: &["zero_pulse_len", "of"], check: envelope::check_size },
    Format { name: "envelope verification", functions: &[], required: &["options", "ok"], check: envelope::check_verify },
    Format { name: "Horizon certificate", functions: &[], required: &["prism_error", "wire_sha256"], check: envelope::check_certificate },
    Format { name: "Horizon certificate decoding", functions: &[], required: &["name^unmarshal ", "bytes", "ok"], check: envelope::check_certificate_parse },
    Format { name: "proof-system classification", functions: &[], required: &["system", "pq_root_of_trust"], check: envelope::check_classification },
    Format { name: "Lens curve parameters", functions: &["params"], required: &["base", "file.curve"], check: lens::check_params },
    Format { name: "Lens curve arithmetic", functions: &["ops"], required: &["aG", "file.curve"], check: lens::check_ops },
    Format { name: "Lens hash to scalar", functions: &["HashToScalar"], required: &["data", "file.curve"], check: lens::check_hash_to_scalar },
    Format { name: "Lens scalar decoding", functions: &["UnmarshalScalar"], required: &["bytes", "file.curve"], check: lens::check_scalar },
    Format { name: "Lens point decoding", functions: &["UnmarshalPoint"], required: &["bytes", "file.curve"], check: lens::check_point },
    Format { name: "Lens Lagrange coefficients", functions: &["Lagrange"], required: &["ids", "file.curve"], check: lens::check_lagrange },
    Format { name: "Lens sharing", functions: &["Shamir"], required: &["shares", "file.curve"], check: lens::check_sharing },
    Format { name: "Lens key generation", functions: &[], required: &["group_key_X", "rand_label", "file.curve"], check: lens::check_dkg },
    Format { name: "Lens signing", functions: &[], required: &["entropy_label", "signers", "file.curve"], check: lens::check_sign },
    Format { name: "Lens resharing", functions: &[], required: &["old_shares", "new_shares", "file.curve"], check: lens::check_reshare },
    Format { name: "Lens suite", functions: &["all"], required: &["k", "t", "file.suite"], check: lens::check_suite },
    Format { name: "Lens suite uses", functions: &["misc"], required: &["label", "kdf", "file.suite"], check: lens::check_suite_uses },
    Format { name: "pulse encoding", functions: &[], required: &["of", "pulse_len"], check: pulse::check_serialize },
    Format { name: "pulse decoding", functions: &[], required: &["ok", "error"], check: pulse::check_malformed },
    Format { name: "SP 800-185", functions: &["SHA3-256", "SHAKE256", "cSHAKE256", "KMAC256", "TupleHash256", "ParallelHash256"], required: &["out"], check: hash::check_standard },
    Format { name: "protocol hash functions", functions: &["PRF"], required: &["sd_ij", "file.suite"], check: primitives::check },
    Format { name: "protocol hash functions", functions: &["PRNGKey", "PRNGKeyForRound", "GenerateMAC", "GaussianHash", "LowNormHash", "Hash"], required: &["file.suite"], check: primitives::check },
    Format { name: "hash suite", functions: &["Hc", "Hu", "TranscriptHash", "PRF", "MAC", "DerivePairwise"], required: &["out", "file.suite"], check: hash::check_suite },
    Format { name: "keyed PRNG", functions: &[], required: &["key", "first256"], check: prng::check },
    Format { name: "keyed PRNG, refused", functions: &[], required: &["key", "error"], check: prng::check_refused },
    Format { name: "floating point", functions: &[], required: &["exp_in", "log"], check: samplers::check_float },
    Format { name: "Gaussian sampler", functions: &[], required: &["sigma_bits", "bound_bits"], check: samplers::check_gaussian },
    Format { name: "ternary sampler", functions: &[], required: &["h", "polys_centered"], check: samplers::check_ternary },
    Format { name: "uniform sampler", functions: &[], required: &["key", "last_poly"], check: samplers::check_uniform },
    Format { name: "transforms", functions: &[], required: &["in", "ntt_mform"], check: ntt::check_transforms },
    Format { name: "products", functions: &[], required: &["a", "b", "mul_montgomery"], check: ntt::check_products },
    Format { name: "rounding", functions: &[], required: &["in", "round_xi30"], check: ntt::check_rounding },
    Format { name: "structure encoding", functions: &[], required: &["label", "poly00_wire_sha256"], check: ntt::check_wire },
    Format { name: "norm", functions: &[], required: &["delta", "z", "sum_squares"], check: ntt::check_norm },
    Format { name: "rank", functions: &[], required: &["label", "full_rank"], check: rank::check_rank },
    Format { name: "Lagrange coefficients", functions: &[], required: &["T", "lambda"], check: shamir::check_lagrange },
    Format { name: "sharing t of n", functions: &[], required: &["secret_label", "seed"], check: shamir::check_general },
    Format { name: "sharing t = n", functions: &[], required: &["secret_label", "key"], check: shamir::check_t_equals_k },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<FileReport, FileError> {
        Runner::default().run_bytes(text.as_bytes())
    }

    #[test]
    fn bytes_that_are_not_json_are_unreadable() {
        for text in ["", "{", "[1,", "\u{0}", "{\"cases\":[}"] {
            assert!(
                matches!(run(text), Err(FileError::Unreadable(_))),
                "{text:?}"
            );
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(run(&deep), Err(FileError::Unreadable(_))));
        let gzip_garbage = [0x1f, 0x8b, 8, 0, 1, 2];
        assert!(matches!(
            Runner::default().run_bytes(&gzip_garbage),
            Err(FileError::Unreadable(_))
        ));
    }

    #[test]
    fn json_without_a_known_case_is_an_unknown_format() {
        for text in [
            "null",
            "[]",
            "{}",
            "{\"cases\":7}",
            "[[1]]",
            "{\"cases\":[{\"a\":1}]}",
        ] {
            assert!(
                matches!(run(text), Err(FileError::UnknownFormat)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_case_of_unknown_shape_among_known_ones_fails() {
        let known = r#"{"fn":"SHA3-256","msg":"","out":"a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"}"#;
        let report = run(&format!("[{known},{{\"strange\":1}}]")).unwrap();
        assert_eq!((report.passed, report.failed.len()), (1, 1));
    }

    #[test]
    fn a_field_without_a_check_is_reported() {
        let report = run(r#"[{"fn":"SHA3-256","msg":"","extra":1,"out":"a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"}]"#).unwrap();
        assert_eq!(report.unchecked.get("SP 800-185: extra"), Some(&1));
    }

    #[test]
    fn what_only_the_reference_accepts_need_not_come_back_unchanged() {
        let frame = |payload: &[u64]| -> Vec<u8> {
            let bytes = payload.iter().flat_map(|word| word.to_le_bytes());
            let len = u32::try_from(8 * payload.len()).unwrap().to_le_bytes();
            len.into_iter().chain(bytes).collect()
        };
        let bytes = [frame(&[1, 0]), frame(&[0]), frame(&[0])].concat();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        for reencoded in [true, false] {
            let case = format!(
                r#"[{{"name":"x","ok":true,"error":null,"bytes":"{hex}","z_len":"0","delta_len":"0","reencoded_equal":{reencoded}}}]"#
            );
            let report = run(&case).unwrap();
            assert_eq!(
                (report.passed, report.strict),
                (1, 1),
                "{:?}",
                report.failed
            );
        }
    }

    #[test]
    fn a_negative_number_of_parties_is_unsound_and_refused() {
        let report = run(r#"[{"name":"bad-params","error":"no","n":3,"t":-1}]"#).unwrap();
        assert_eq!(report.passed, 1, "{:?}", report.failed);
    }

    #[test]
    fn a_large_frame_is_told_by_its_digest_whatever_its_name() {
        let case = |digest: &str| {
            format!(
                r#"[{{"name":"another name","build":"see README","ok":false,"error":"C frame","bytes_len":"32900","bytes_sha256":"{digest}"}}]"#
            )
        };
        let text = fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/pulse/malformed.json"),
        );
        let document: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let cases = document["cases"].as_array().unwrap();
        let known = cases
            .iter()
            .find(|case| case["bytes_len"].to_string().contains("32900"));
        let digest = known.unwrap()["bytes_sha256"].as_str().unwrap();
        assert_eq!(run(&case(digest)).unwrap().passed, 1);
        assert_eq!(run(&case(&"0".repeat(64))).unwrap().failed.len(), 1);
    }

    #[test]
    fn wrong_types_fail_the_case_and_do_not_panic() {
        let report = run(r#"[{"fn":"KMAC256","key":3,"msg":[],"custom":null,"outlen":"x","out":"zz"},
            {"fn":"SHA3-256","msg":"0","out":1},{"fn":"cSHAKE256","msg":"","custom":"","outlen":99999999999,"out":""}]"#)
        .unwrap();
        assert_eq!((report.passed, report.failed.len()), (0, 3));
    }
}
