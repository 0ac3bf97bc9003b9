//! Where each field of an envelope stands in its bytes: for tools that show them.
//!
//! The walk knows the structure and not the values. It goes as far as the bytes allow, so that a
//! tool can show the fields before the place where decoding stops. What is wrong there is for
//! [`crate::Envelope::parse`] to say.

use alloc::vec::Vec;

use crate::envelope::VERSION_2;
use crate::rlp::Decoder;

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Static name.
    pub field: &'static str,
    /// Offset of the field's first byte, its header included.
    pub start: usize,
    /// Offset of its first value byte.
    pub body: usize,
    /// Number of value bytes.
    pub len: usize,
    /// Nesting: 0 for the outermost list.
    pub depth: u8,
}

/// The fields of a version 2 envelope or a version 1 message, in order, as far as they can be told
/// apart.
#[must_use]
pub fn layout(bytes: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    let (node, input, offset) = match bytes.split_first() {
        Some((&VERSION_2, body)) => {
            spans.push(Span {
                field: "version",
                start: 0,
                body: 0,
                len: 1,
                depth: 0,
            });
            (&ENVELOPE, body, 1)
        }
        _ => (&MESSAGE, bytes, 0),
    };
    walk(node, &mut Decoder::new(input, offset), 0, &mut spans);
    spans
}

/// What is expected at one place: a string, or a list of fields.
struct Node {
    field: &'static str,
    fields: &'static [Self],
}

/// Goes down the static structure; the depth is that of the structure, not of the input.
fn walk(node: &Node, input: &mut Decoder<'_>, depth: u8, spans: &mut Vec<Span>) -> bool {
    let start = input.offset();
    let depth_inside = depth.saturating_add(1);
    let Ok(item) = input.item(node.field) else {
        // The list goes on past the end: show what there is of it.
        if let (false, Some(mut inner)) = (node.fields.is_empty(), input.cut_list(node.field)) {
            let (body, len) = (inner.offset(), inner.remaining());
            spans.push(Span {
                field: node.field,
                start,
                body,
                len,
                depth,
            });
            let _ = node
                .fields
                .iter()
                .all(|field| walk(field, &mut inner, depth_inside, spans));
        }
        return false;
    };
    let (body, len) = (item.body_offset, item.body.len());
    spans.push(Span {
        field: node.field,
        start,
        body,
        len,
        depth,
    });
    if item.is_list == node.fields.is_empty() {
        return false;
    }
    let mut inner = Decoder::new(item.body, item.body_offset);
    node.fields
        .iter()
        .all(|field| walk(field, &mut inner, depth_inside, spans))
}

const fn leaf(field: &'static str) -> Node {
    Node { field, fields: &[] }
}

const UNSIGNED: Node = Node {
    field: "unsigned",
    fields: &[leaf("network_id"), leaf("source_chain_id"), leaf("payload")],
};
const SIGNATURE: Node = Node {
    field: "signature",
    fields: &[leaf("signers"), leaf("beam")],
};
static MESSAGE: Node = Node {
    field: "message",
    fields: &[UNSIGNED, leaf("signature_type"), SIGNATURE],
};
static ENVELOPE: Node = Node {
    field: "envelope",
    fields: &[
        Node {
            field: "message",
            fields: &[UNSIGNED, leaf("signature_type"), SIGNATURE],
        },
        leaf("source_nebula_root"),
        leaf("source_key_era"),
        leaf("source_generation"),
        leaf("suite"),
        leaf("pulse"),
        leaf("attestation"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Beam, Envelope, Lineage, Message, SignerSet, UnsignedMessage};

    #[test]
    fn the_walk_names_every_field_and_stops_where_the_bytes_do() {
        let signers = SignerSet::from_indices([0, 9]).unwrap();
        let unsigned = UnsignedMessage::new(1, [3; 32], b"hello").unwrap();
        let beam = Beam {
            signers: signers.as_signers(),
            signature: &[7; 96],
        };
        let message = Message::new(unsigned, beam);
        let envelope =
            Envelope::with_lanes_unchecked(message, Lineage::default(), b"", &[5; 70], &[])
                .unwrap();
        let wire = envelope.encode();
        let spans = layout(&wire);
        assert_eq!(spans.len(), 17);
        let of = |field| spans.iter().find(|span| span.field == field).unwrap();
        let bytes = |span: &Span| &wire[span.body..span.body + span.len];
        assert_eq!(bytes(of("payload")), b"hello");
        assert_eq!(bytes(of("signers")), [1, 2]);
        assert_eq!(bytes(of("pulse")), [5; 70]);
        let last = spans.last().unwrap();
        assert_eq!(
            (last.field, last.body + last.len),
            ("attestation", wire.len())
        );
        for len in 0..wire.len() {
            let cut = layout(&wire[..len]);
            assert!(cut.len() < spans.len());
            // Whole fields before the cut are all there.
            let whole = spans
                .iter()
                .filter(|span| span.body + span.len <= len)
                .count();
            assert!(cut.len() >= whole, "{len}");
        }
        let message = message.encode();
        assert_eq!(layout(&message).len(), 9);
        assert_eq!(layout(&[2, 0x80]).len(), 2);
        assert!(layout(&[]).is_empty());
    }
}
