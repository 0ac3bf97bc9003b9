//! Proving keys: one file, a header page and aligned sections that are mapped one at a time.
//!
//! Header, little-endian unless said otherwise: magic 8, version `u16`, the verifying key record's
//! fields before its points, domain exponent `u8` and factor three `u8`, row, variable and public
//! counts `u64`, alpha, beta, gamma and delta as in the record, delta in G1, then for every section
//! offset `u64`, entry count `u64` and SHA-256; last the SHA-256 of all that. Points in sections are
//! affine coordinates as they lie in memory; indices are `u32`.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{
    error::{KeyFileError, ProveError, Section},
    fft::{DomainShape, LOG2_MAX},
};
use crate::{
    backend::{
        group::Wraps,
        map::{ALIGNMENT, MappedPoints},
    },
    curve::{CurveGroup, G1Affine, G2Affine},
    vk::{HEAD_LEN, KeyHead, KeyPoints, VerifyingKey, decode_head, encode_head},
};

/// What a proving key says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHeader {
    /// What the key is for.
    pub head: KeyHead,
    /// Domain of the rows.
    pub domain: DomainShape,
    /// Rows of the circuit.
    pub rows: usize,
    /// Variables, the constant one included.
    pub variables: usize,
    /// Public variables, the constant one included.
    pub publics: usize,
    pub(crate) alpha: G1Affine,
    pub(crate) beta: G2Affine,
    pub(crate) gamma: G2Affine,
    pub(crate) delta: G2Affine,
    pub(crate) delta_g1: G1Affine,
    pub(crate) sections: [Entry; Section::ALL.len()],
}

/// Where a section is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) count: usize,
    pub(crate) digest: [u8; 32],
}

/// An open proving key.
#[derive(Debug)]
pub struct ProvingKey {
    file: File,
    header: KeyHeader,
    digest: [u8; 32],
}

impl ProvingKey {
    /// Opens a key file and checks its header. Sections are checked against their digests when they
    /// are read.
    ///
    /// # Errors
    /// [`ProveError::Io`]; [`KeyFileError`] for everything the header can be wrong about.
    pub fn open(path: &Path) -> Result<Self, ProveError> {
        let mut file = File::open(path).map_err(ProveError::io("opening the key file"))?;
        let mut bytes = vec![0; HEADER_LEN];
        match file.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(KeyFileError::Magic.into());
            }
            Err(error) => return Err(ProveError::io("reading the key file")(error)),
        }
        let (header, digest) = decode_header(&bytes)?;
        Ok(Self {
            file,
            header,
            digest,
        })
    }

    /// The header.
    #[must_use]
    pub const fn header(&self) -> &KeyHeader {
        &self.header
    }

    /// SHA-256 of the header, and so of the whole key.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The verifying key's points.
    ///
    /// # Errors
    /// As every section: [`KeyFileError::Truncated`], [`KeyFileError::Digest`].
    pub fn key_points(&self) -> Result<KeyPoints, ProveError> {
        let inputs: MappedPoints<G1Affine> = self.points(Section::Inputs)?;
        Ok(KeyPoints {
            alpha: self.header.alpha,
            beta: self.header.beta,
            gamma: self.header.gamma,
            delta: self.header.delta,
            inputs: inputs.points().to_vec(),
        })
    }

    /// The verifying key.
    ///
    /// # Errors
    /// As [`ProvingKey::key_points`] and [`VerifyingKey::new`].
    pub fn verifying_key(&self) -> Result<VerifyingKey, ProveError> {
        Ok(VerifyingKey::new(self.header.head, self.key_points()?)?)
    }

    /// Maps a section of points after comparing its digest.
    pub(crate) fn points<P: Wraps>(&self, section: Section) -> Result<MappedPoints<P>, ProveError> {
        let entry = self.entry(section);
        let mapped = MappedPoints::<P>::new(&self.file, entry.offset, entry.count);
        let mapped = mapped.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => KeyFileError::Truncated(section).into(),
            _ => ProveError::io("mapping the key file")(error),
        })?;
        if Sha256::digest(mapped.bytes()).as_slice() != entry.digest {
            return Err(KeyFileError::Digest(section).into());
        }
        Ok(mapped)
    }

    /// Reads a section of indices after comparing its digest: ascending and below the number of
    /// variables.
    pub(crate) fn indices(&self, section: Section) -> Result<Vec<u32>, ProveError> {
        let entry = self.entry(section);
        let len = entry
            .count
            .checked_mul(4)
            .ok_or(KeyFileError::Field("count"))?;
        let size = self
            .file
            .metadata()
            .map_err(ProveError::io("reading the key file"))?;
        let end = entry.offset.checked_add(len as u64);
        if end.is_none_or(|end| end > size.len()) {
            return Err(KeyFileError::Truncated(section).into());
        }
        let mut bytes = vec![0; len];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(entry.offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(ProveError::io("reading the key file"))?;
        if Sha256::digest(&bytes).as_slice() != entry.digest {
            return Err(KeyFileError::Digest(section).into());
        }
        let indices: Vec<u32> = bytes
            .as_chunks()
            .0
            .iter()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .collect();
        let ascending = indices
            .iter()
            .zip(indices.iter().skip(1))
            .all(|(a, b)| a < b);
        let below = indices
            .last()
            .is_none_or(|last| (*last as usize) < self.header.variables);
        if !ascending || !below {
            return Err(KeyFileError::Indices(section).into());
        }
        Ok(indices)
    }

    pub(crate) const fn entry(&self, section: Section) -> Entry {
        self.header.sections[section as usize]
    }
}

/// Writes a key file: sections in order, the header last, under a temporary name until all is there.
pub(crate) struct KeyWriter {
    out: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
    offset: u64,
    sections: [Entry; Section::ALL.len()],
    current: Option<(Section, Sha256, usize)>,
}

impl KeyWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, ProveError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial)
            .map_err(ProveError::io("creating the key file"))?;
        let mut writer = Self {
            out: BufWriter::with_capacity(1 << 20, file),
            partial,
            path: path.to_owned(),
            offset: 0,
            sections: Default::default(),
            current: None,
        };
        writer.write_all(&vec![0; HEADER_LEN])?;
        Ok(writer)
    }

    /// Ends the section before and starts this one at the next aligned offset.
    pub(crate) fn begin(&mut self, section: Section) -> Result<(), ProveError> {
        self.end_section();
        let padding = self.offset.next_multiple_of(ALIGNMENT) - self.offset;
        self.write_all(&vec![0; usize::try_from(padding).unwrap_or_default()])?;
        self.sections[section as usize].offset = self.offset;
        self.current = Some((section, Sha256::new(), 0));
        Ok(())
    }

    pub(crate) fn indices(&mut self, indices: &[u32]) -> Result<(), ProveError> {
        let bytes: Vec<u8> = indices
            .iter()
            .flat_map(|index| index.to_le_bytes())
            .collect();
        self.entries(&bytes, indices.len())
    }

    pub(crate) fn points<G: CurveGroup>(&mut self, points: &[G::Affine]) -> Result<(), ProveError> {
        let mut bytes = Vec::with_capacity(points.len() * G::RAW_LEN);
        for point in points {
            G::write_raw(point, &mut bytes);
        }
        self.entries(&bytes, points.len())
    }

    /// Appends entries that are bytes already.
    pub(crate) fn entries(&mut self, bytes: &[u8], count: usize) -> Result<(), ProveError> {
        if let Some((_, hash, entries)) = &mut self.current {
            hash.update(bytes);
            *entries += count;
        }
        self.write_all(bytes)
    }

    /// Writes the header and gives the file its name.
    pub(crate) fn finish(mut self, mut header: KeyHeader) -> Result<ProvingKey, ProveError> {
        let doing = "writing the key file";
        self.end_section();
        header.sections = self.sections;
        let bytes = encode_header(&header);
        self.out
            .seek(SeekFrom::Start(0))
            .map_err(ProveError::io(doing))?;
        self.out.write_all(&bytes).map_err(ProveError::io(doing))?;
        let file = self
            .out
            .into_inner()
            .map_err(|error| ProveError::io(doing)(error.into_error()))?;
        file.sync_all().map_err(ProveError::io(doing))?;
        std::fs::rename(&self.partial, &self.path).map_err(ProveError::io(doing))?;
        ProvingKey::open(&self.path)
    }

    fn end_section(&mut self) {
        if let Some((section, hash, count)) = self.current.take() {
            let entry = &mut self.sections[section as usize];
            entry.count = count;
            entry.digest = hash.finalize().into();
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), ProveError> {
        self.offset += bytes.len() as u64;
        self.out
            .write_all(bytes)
            .map_err(ProveError::io("writing the key file"))
    }
}

fn encode_header(header: &KeyHeader) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend(encode_head(&header.head));
    // At most LOG2_MAX.
    out.push(u8::try_from(header.domain.log2).unwrap_or(u8::MAX));
    out.push(u8::from(header.domain.tripled));
    for count in [header.rows, header.variables, header.publics] {
        out.extend((count as u64).to_le_bytes());
    }
    out.extend(header.alpha.to_bytes());
    for point in [header.beta, header.gamma, header.delta] {
        out.extend(point.to_bytes());
    }
    out.extend(header.delta_g1.to_bytes());
    for entry in header.sections {
        out.extend(entry.offset.to_le_bytes());
        out.extend((entry.count as u64).to_le_bytes());
        out.extend(entry.digest);
    }
    let digest = Sha256::digest(&out);
    out.extend(digest);
    out.resize(HEADER_LEN, 0);
    out
}

fn decode_header(bytes: &[u8]) -> Result<(KeyHeader, [u8; 32]), ProveError> {
    let mut input = Bytes(bytes);
    if input.take() != Some(*MAGIC) {
        return Err(KeyFileError::Magic.into());
    }
    let version: Option<[u8; 2]> = input.take();
    if version.map(u16::from_le_bytes) != Some(VERSION) {
        return Err(KeyFileError::Version.into());
    }
    let (hashed, rest) = bytes.split_at(HASHED_LEN);
    let digest: [u8; 32] = Sha256::digest(hashed).into();
    if !rest.starts_with(&digest) {
        return Err(KeyFileError::Header.into());
    }
    let header = input.header()?;
    Ok((header, digest))
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const LEN: usize>(&mut self) -> Option<[u8; LEN]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn count(&mut self, name: &'static str) -> Result<usize, ProveError> {
        let value = self.take().map(u64::from_le_bytes);
        value
            .filter(|value| *value <= COUNT_MAX)
            .and_then(|value| usize::try_from(value).ok())
            .ok_or(KeyFileError::Field(name).into())
    }

    fn g1(&mut self, name: &'static str) -> Result<G1Affine, ProveError> {
        let field = KeyFileError::Field(name);
        let bytes = self.take().ok_or(field)?;
        Ok(G1Affine::from_bytes(&bytes).map_err(|_| field)?)
    }

    fn g2(&mut self, name: &'static str) -> Result<G2Affine, ProveError> {
        let field = KeyFileError::Field(name);
        let bytes = self.take().ok_or(field)?;
        Ok(G2Affine::from_bytes(&bytes).map_err(|_| field)?)
    }

    fn header(&mut self) -> Result<KeyHeader, ProveError> {
        let head: [u8; HEAD_LEN] = self.take().ok_or(KeyFileError::Field("head"))?;
        let head = decode_head(&head)?;
        let [log2, tripled] = self.take().ok_or(KeyFileError::Field("domain"))?;
        if u32::from(log2) > LOG2_MAX || tripled > 1 {
            return Err(KeyFileError::Field("domain").into());
        }
        let domain = DomainShape {
            log2: log2.into(),
            tripled: tripled == 1,
        };
        let rows = self.count("rows")?;
        let variables = self.count("variables")?;
        let publics = self.count("publics")?;
        if rows > domain.len() {
            return Err(KeyFileError::Field("rows").into());
        }
        if publics == 0 || publics > variables {
            return Err(KeyFileError::Field("publics").into());
        }
        let mut header = KeyHeader {
            head,
            domain,
            rows,
            variables,
            publics,
            alpha: self.g1("alpha")?,
            beta: self.g2("beta")?,
            gamma: self.g2("gamma")?,
            delta: self.g2("delta")?,
            delta_g1: self.g1("delta")?,
            sections: Default::default(),
        };
        for entry in &mut header.sections {
            entry.offset = self
                .take()
                .map(u64::from_le_bytes)
                .filter(|offset| offset.is_multiple_of(ALIGNMENT))
                .ok_or(KeyFileError::Field("offset"))?;
            entry.count = self.count("count")?;
            entry.digest = self.take().ok_or(KeyFileError::Field("digest"))?;
        }
        check_counts(&header)?;
        Ok(header)
    }
}

/// Every section has as many entries as the others and the circuit say.
fn check_counts(header: &KeyHeader) -> Result<(), KeyFileError> {
    let count = |section: Section| header.sections[section as usize].count;
    let pairs = [
        (Section::IndicesA, Section::A),
        (Section::IndicesB, Section::B),
        (Section::IndicesL, Section::L),
    ];
    let fits = pairs.iter().all(|(indices, points)| {
        count(*indices) == count(*points) && count(*points) <= header.variables
    });
    let whole =
        count(Section::Inputs) == header.publics && count(Section::H) == header.domain.len();
    if fits && whole {
        Ok(())
    } else {
        Err(KeyFileError::Field("count"))
    }
}

const MAGIC: &[u8; 8] = b"HZG16-PK";
const VERSION: u16 = 1;
/// Bytes of the header that its digest covers.
const HASHED_LEN: usize = 8 + 2 + HEAD_LEN + 2 + 3 * 8 + 48 + 3 * 96 + 48 + Section::ALL.len() * 48;
/// Bytes reserved for the header.
const HEADER_LEN: usize = 4096;
/// Most rows, variables or points of a key.
const COUNT_MAX: u64 = 1 << 31;

const _: () = assert!(HASHED_LEN + 32 <= HEADER_LEN);
