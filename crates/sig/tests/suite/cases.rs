//! Walks the Wycheproof layout: groups of tests with hex fields.

use horizon_testkit::vectors::{from_hex, vector};
use serde_json::Value;

/// One test with its group.
pub(crate) struct Case<'a> {
    pub(crate) group: &'a Value,
    pub(crate) test: &'a Value,
}

impl Case<'_> {
    /// A hex field of the test; an absent one is empty, as for contexts.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        self.test[name]
            .as_str()
            .map_or_else(Vec::new, |text| from_hex(text).expect("hex"))
    }

    /// The verdict expected of a strict verifier. No file in use has an undecided case; should
    /// one appear with an update, this fails until somebody decides it here, with a reason.
    pub(crate) fn must_verify(&self) -> bool {
        match self.test["result"].as_str() {
            Some("valid") => true,
            Some("invalid") => false,
            other => panic!("{}: result {other:?} is not decided", self.id()),
        }
    }

    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.test["flags"]
            .as_array()
            .expect("flags")
            .iter()
            .any(|value| value == flag)
    }

    pub(crate) fn id(&self) -> u64 {
        self.test["tcId"].as_u64().expect("tcId")
    }
}

/// Runs `check` on every case of a file; returns how many there were of each verdict.
pub(crate) fn for_each_case(name: &str, mut check: impl FnMut(&Case<'_>)) -> (usize, usize) {
    let file = vector(name);
    let (mut valid, mut invalid) = (0, 0);
    for group in file["testGroups"].as_array().expect("testGroups") {
        for test in group["tests"].as_array().expect("tests") {
            let case = Case { group, test };
            check(&case);
            if case.must_verify() {
                valid += 1
            } else {
                invalid += 1
            }
        }
    }
    let total = file["numberOfTests"].as_u64().expect("numberOfTests");
    assert_eq!(
        u64::try_from(valid + invalid).unwrap(),
        total,
        "{name}: cases were skipped"
    );
    (valid, invalid)
}

/// A hex field that has to be there.
pub(crate) fn hex(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().expect("a hex string")).expect("hex")
}
