//! What a proof has finished so far, on disk: the quotient's values and partial sums.
//!
//! A checkpoint is bound to key and witness. Randomisers enter after everything that is kept, so no
//! checkpoint holds them. Signatures are public, and so is what is kept here.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::ProveError;
use crate::{curve::CurveGroup, fr::Fr};

/// A directory with the state of one proof.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    directory: PathBuf,
    identity: [u8; 32],
    sums: Vec<(u8, u32, Vec<u8>)>,
}

impl Checkpoint {
    /// Opens or starts the checkpoint of this key and witness.
    pub(crate) fn open(directory: &Path, identity: [u8; 32]) -> Result<Self, ProveError> {
        std::fs::create_dir_all(directory).map_err(ProveError::io("creating the checkpoint"))?;
        let mut checkpoint = Self {
            directory: directory.to_owned(),
            identity,
            sums: Vec::new(),
        };
        match std::fs::read(checkpoint.sums_path()) {
            Ok(bytes) => checkpoint.read_sums(&bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let head = [MAGIC.as_slice(), &identity].concat();
                std::fs::write(checkpoint.sums_path(), head)
                    .map_err(ProveError::io("writing the checkpoint"))?;
            }
            Err(error) => return Err(ProveError::io("reading the checkpoint")(error)),
        }
        Ok(checkpoint)
    }

    fn read_sums(&mut self, bytes: &[u8]) -> Result<(), ProveError> {
        let records = bytes
            .strip_prefix(MAGIC.as_slice())
            .and_then(|rest| rest.strip_prefix(&self.identity))
            .ok_or(ProveError::CheckpointOfAnotherWitness)?;
        // A process that is killed leaves half a record at most: what does not hash is dropped.
        for record in records.chunks_exact(RECORD_LEN) {
            let (body, digest) = record.split_at(RECORD_LEN - DIGEST_LEN);
            if !Sha256::digest(body).starts_with(digest) {
                break;
            }
            if let [stage, a, b, c, d, point @ ..] = body {
                let chunk = u32::from_le_bytes([*a, *b, *c, *d]);
                self.sums.push((*stage, chunk, point.to_vec()));
            }
        }
        let good = MAGIC.len() + 32 + self.sums.len() * RECORD_LEN;
        let file = OpenOptions::new().write(true).open(self.sums_path());
        file.and_then(|file| file.set_len(good as u64))
            .map_err(ProveError::io("repairing the checkpoint"))
    }

    /// A partial sum that is done already.
    pub(crate) fn sum<G: CurveGroup>(&self, stage: u8, chunk: u32) -> Option<G> {
        let found = self
            .sums
            .iter()
            .find(|(s, c, _)| (*s, *c) == (stage, chunk));
        found.and_then(|(_, _, point)| match point.split_first() {
            Some((1, rest)) => rest.get(..G::COMPRESSED_LEN).and_then(G::decompress),
            _ => Some(G::infinity()),
        })
    }

    /// Keeps a partial sum.
    pub(crate) fn keep_sum<G: CurveGroup>(
        &mut self,
        stage: u8,
        chunk: u32,
        sum: &G,
    ) -> Result<(), ProveError> {
        let infinite = sum.is_infinity();
        let mut point = vec![u8::from(!infinite)];
        if !infinite {
            point.extend(sum.compress());
        }
        point.resize(POINT_LEN, 0);
        let mut record = vec![stage];
        record.extend(chunk.to_le_bytes());
        record.extend(&point);
        let digest = Sha256::digest(&record);
        record.extend(digest.iter().take(DIGEST_LEN));
        self.sums.push((stage, chunk, point));
        let file = OpenOptions::new().append(true).open(self.sums_path());
        file.and_then(|mut file| {
            file.write_all(&record)?;
            file.sync_data()
        })
        .map_err(ProveError::io("writing the checkpoint"))
    }

    /// The quotient's values, if they were kept whole.
    pub(crate) fn quotient(&self, len: usize) -> Result<Option<Vec<Fr>>, ProveError> {
        let doing = "reading the checkpoint";
        let file = match File::open(self.quotient_path()) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ProveError::io(doing)(error)),
        };
        let size = file.metadata().map_err(ProveError::io(doing))?.len();
        if size != (32 + len * Fr::LEN + 32) as u64 {
            return Ok(None);
        }
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut identity = [0; 32];
        input
            .read_exact(&mut identity)
            .map_err(ProveError::io(doing))?;
        if identity != self.identity {
            return Err(ProveError::CheckpointOfAnotherWitness);
        }
        let mut hash = Sha256::new_with_prefix(identity);
        let mut values = Vec::with_capacity(len);
        let mut bytes = [0; Fr::LEN];
        for _ in 0..len {
            input
                .read_exact(&mut bytes)
                .map_err(ProveError::io(doing))?;
            hash.update(bytes);
            let mut limbs = [0; 4];
            for (limb, chunk) in limbs.iter_mut().zip(bytes.as_chunks().0) {
                *limb = u64::from_le_bytes(*chunk);
            }
            let Some(value) = Fr::from_montgomery_limbs(limbs) else {
                return Ok(None);
            };
            values.push(value);
        }
        input
            .read_exact(&mut bytes)
            .map_err(ProveError::io(doing))?;
        Ok((hash.finalize().as_slice() == bytes).then_some(values))
    }

    /// Keeps the quotient's values, under a temporary name until all are there.
    pub(crate) fn keep_quotient(&self, values: &[Fr]) -> Result<(), ProveError> {
        let partial = self.directory.join("quotient.partial");
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
            let mut hash = Sha256::new_with_prefix(self.identity);
            out.write_all(&self.identity)?;
            for chunk in values.chunks(1 << 12) {
                let bytes: Vec<u8> = chunk
                    .iter()
                    .flat_map(|value| value.montgomery_limbs())
                    .flat_map(u64::to_le_bytes)
                    .collect();
                hash.update(&bytes);
                out.write_all(&bytes)?;
            }
            out.write_all(&hash.finalize())?;
            out.into_inner()
                .map_err(|error| error.into_error())?
                .sync_data()?;
            std::fs::rename(&partial, self.quotient_path())
        };
        write().map_err(ProveError::io("writing the checkpoint"))
    }

    /// Removes the files of a finished proof.
    pub(crate) fn remove(self) -> Result<(), ProveError> {
        for path in [self.sums_path(), self.quotient_path()] {
            match std::fs::remove_file(path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(ProveError::io("removing the checkpoint")(error)),
            }
        }
        Ok(())
    }

    fn sums_path(&self) -> PathBuf {
        self.directory.join("sums")
    }

    fn quotient_path(&self) -> PathBuf {
        self.directory.join("quotient")
    }
}

const MAGIC: &[u8; 8] = b"HZG16-CP";
/// A flag and a compressed point of either group.
const POINT_LEN: usize = 1 + 96;
const DIGEST_LEN: usize = 8;
const RECORD_LEN: usize = 1 + 4 + POINT_LEN + DIGEST_LEN;
