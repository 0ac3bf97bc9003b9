//! The two point encodings that the ECDSA modules share.

/// The compressed form of an encoded point; `None` for any other first byte or length.
///
/// Whether the point is on the curve is for the library to say.
pub(crate) fn compress(bytes: &[u8]) -> Option<[u8; COMPRESSED_LEN]> {
    let mut compressed = [0; COMPRESSED_LEN];
    match (bytes.first()?, bytes.len()) {
        (0x02 | 0x03, COMPRESSED_LEN) => compressed.copy_from_slice(bytes),
        (0x04, UNCOMPRESSED_LEN) => {
            let [tag, x @ ..] = &mut compressed;
            *tag = 0x02 | (bytes.last()? & 1);
            x.copy_from_slice(bytes.get(1..COMPRESSED_LEN)?);
        }
        _ => return None,
    }
    Some(compressed)
}

/// One tag byte and the first coordinate.
pub(crate) const COMPRESSED_LEN: usize = 33;

/// One tag byte and both coordinates.
pub(crate) const UNCOMPRESSED_LEN: usize = 65;
