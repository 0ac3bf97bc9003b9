//! Signatures that cases of one file refer to by name (`of`) and that other files hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fields::{Fields, LabelStream, Mismatch, Raw, fault};

/// One signing case, as far as verification needs it.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) suite: String,
    pub(super) message: Vec<u8>,
    /// 8 x 7, row by row, NTT-Montgomery form.
    pub(super) a: Vec<Raw>,
    pub(super) b_tilde: Vec<Raw>,
    pub(super) c: Raw,
    pub(super) z: Vec<Raw>,
    pub(super) delta: Vec<Raw>,
}

/// Where signing cases are looked for, and those found so far.
#[derive(Default)]
pub(crate) struct Signatures {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    pending: Vec<PathBuf>,
    known: BTreeMap<String, Value>,
    ready: BTreeMap<String, Signed>,
}

impl Signatures {
    pub(super) fn new(folders: &[PathBuf], files: &[PathBuf]) -> Self {
        let mut found = Self {
            folders: folders.to_vec(),
            ..Self::default()
        };
        found.pending = files.to_vec();
        found
            .pending
            .extend(folders.iter().flat_map(|folder| json_files(folder)));
        found
    }

    /// Adds the folder of a file, its sibling `sign` and its neighbours to the places to look at.
    pub(super) fn look_near(&mut self, path: &Path) {
        let own = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let own = if own.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            own
        };
        // The repository's own vectors, seen from where the program runs and from where it is.
        let here = std::env::current_dir().unwrap_or_default();
        let program = std::env::current_exe().unwrap_or_default();
        let above = here.ancestors().chain(program.ancestors());
        let repository = above.map(|folder| folder.join("vectors/sign"));
        let near = [own.join("../sign"), own.join("sign"), own];
        // What was added last is looked at first.
        for folder in repository.chain(near) {
            if !self.folders.contains(&folder) {
                self.pending.extend(json_files(&folder));
                self.folders.push(folder);
            }
        }
    }

    /// The signing case of this name.
    pub(super) fn find(&mut self, name: &str) -> Result<Signed, Mismatch> {
        if let Some(signed) = self.ready.get(name) {
            return Ok(signed.clone());
        }
        while !self.known.contains_key(name) {
            let Some(path) = self.pending.pop() else {
                return Err(fault(&format!(
                    "signing case {name} was not found; looked beside the file, in ../sign and in \
                     vectors/sign (name the folder with --sign-dir)"
                )));
            };
            self.load(&path);
        }
        let value = self.known.get(name).ok_or_else(|| fault("not found"))?;
        let signed = read(&Fields::of(value)?)?;
        self.ready.insert(name.to_owned(), signed.clone());
        Ok(signed)
    }

    /// Files that are no vector files do not matter here: the case is then simply not found.
    fn load(&mut self, path: &Path) {
        if self.files.iter().any(|done| done == path) {
            return;
        }
        self.files.push(path.to_path_buf());
        let Ok(Ok(document)) = fs::read(path).map(|bytes| super::parse(&bytes)) else {
            return;
        };
        let cases = document.get("cases").and_then(Value::as_array);
        for case in cases.into_iter().flatten() {
            let name = case.get("name").and_then(Value::as_str);
            if let (Some(name), Some(_)) = (name, case.get("signature")) {
                self.known.insert(name.to_owned(), case.clone());
            }
        }
    }
}

/// Rebuilds the public matrix from the seed: the files hold only its digest.
fn read(case: &Fields<'_>) -> Result<Signed, Mismatch> {
    let key = match case.has("dealer_key") {
        true => case.bytes("dealer_key")?,
        false => {
            let mut key = vec![0; 32];
            LabelStream::new(case.text("entropy_label")?).read(&mut key);
            key
        }
    };
    let a = super::sign::public_matrix(&key)?;
    let signature = case.object("signature")?;
    Ok(Signed {
        suite: case.text("suite")?.to_owned(),
        message: case.bytes("msg")?,
        a,
        b_tilde: case.polys("b_tilde")?,
        c: signature.poly("c")?,
        z: signature.polys("z")?,
        delta: signature.polys("delta")?,
    })
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = |path: &PathBuf| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".json") || name.ends_with(".json.gz"))
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(named)
        .collect();
    files.sort();
    files
}
