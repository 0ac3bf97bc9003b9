//! An envelope made by hand with the binary: keys, record, policy, three lanes.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};

use crate::common::{Ran, folder, horizon, run};

pub const CHAIN: &str = "0xc4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4";
pub const VERIFY: &str = "verify --registry registry.json --policy policy.json";

/// Runs and insists on exit code 0.
pub fn good(folder: &Path, line: &str) -> Ran {
    let ran = run(folder, line);
    assert_eq!(ran.code, 0, "{line}: {}{}", ran.stdout, ran.stderr);
    ran
}

/// Keys of `n` validators, a committee of which `t` sign, a record, a policy and a draft.
pub fn prepared(name: &str, n: u16, t: u16) -> PathBuf {
    let folder = folder(name);
    std::fs::write(folder.join("body"), b"a message between two chains").unwrap();
    good(
        &folder,
        &format!("keys new validator --count {n} --out validators"),
    );
    good(&folder, &format!("pulsar deal --n {n} --t {t} --out group"));
    let operators: Vec<String> = (0..n).map(|index| format!("operator-{index}")).collect();
    let operators = operators.join(",");
    good(
        &folder,
        &format!(
            "registry new --network 7 --chain {CHAIN} --validators validators --group group \
             --operators {operators} --out registry.json --record-out record.bin"
        ),
    );
    good(
        &folder,
        "policy new --registry registry.json --out policy.json",
    );
    good(
        &folder,
        "message new --registry registry.json --payload body --out draft.bin",
    );
    folder
}

/// The names of a validator's key files.
pub fn keys(file: &str, validators: impl IntoIterator<Item = u16>) -> Vec<String> {
    let path = |index| format!("validators/validator-{index:03}/{file}");
    validators.into_iter().map(path).collect()
}

/// Signs a lane with the keys of these validators.
pub fn sign(folder: &Path, lane: &str, validators: &[u16], out: &str) {
    let file = if lane == "beam" {
        "beam.key"
    } else {
        "certset.key"
    };
    let keys = keys(file, validators.iter().copied());
    let head = [
        "sign",
        lane,
        "--envelope",
        "draft.bin",
        "--out",
        out,
        "--key",
    ];
    let arguments = head.into_iter().chain(keys.iter().map(String::as_str));
    let signed = horizon(folder, arguments);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
}

/// [`prepared`], and an envelope `envelope.bin` with three lanes signed by everyone (the Pulse by
/// the first `t`).
pub fn sealed(name: &str, n: u16, t: u16) -> PathBuf {
    let folder = prepared(name, n, t);
    let everyone: Vec<u16> = (0..n).collect();
    sign(&folder, "beam", &everyone, "beam.json");
    sign(&folder, "certset", &everyone, "certset.json");
    let signers: Vec<String> = (0..t).map(|index| index.to_string()).collect();
    let signers = signers.join(",");
    good(
        &folder,
        &format!(
            "sign pulse --keys group --signers {signers} --envelope draft.bin --out pulse.bin"
        ),
    );
    good(
        &folder,
        "aggregate --envelope draft.bin --registry registry.json --beam beam.json \
         --certset certset.json --pulse pulse.bin --out envelope.bin --message-out message.bin",
    );
    folder
}
