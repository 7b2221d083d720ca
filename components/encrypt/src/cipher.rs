//! Sealing and opening one text, bound to what it stands for.
//!
//! Sealed data is nonce, ciphertext and tag, as base64 without padding.

use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};
use base64ct::{Base64Unpadded, Encoding};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

use crate::key::KEY_BYTES;

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// What sealing adds to a text, before base64.
pub(crate) const ADDED_BYTES: u64 = (NONCE_BYTES + TAG_BYTES) as u64;

/// Names the format in everything that is sealed; another format gets another tag.
const FORMAT: &[u8] = b"annals/sealed/0";

/// What a sealed text stands for. It opens as that only.
#[derive(Clone, Copy)]
pub(crate) enum Bound<'a> {
    /// A stored line of a session.
    Record {
        id: &'a str,
        first_seq: u64,
        /// None: an event.
        row_count: Option<u64>,
        time_ms: u64,
    },
    /// Nothing, but bound to a header as a line.
    Header { line: &'a str },
    /// A member of a session's summary.
    Summary { id: &'a str, member: &'a str },
}

impl Bound<'_> {
    /// As bytes; no two have the same.
    fn associated(self) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        let mut text = |kind: u8, text: &str| {
            bytes.push(kind);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        match self {
            Bound::Record {
                id,
                first_seq,
                row_count,
                time_ms,
            } => {
                text(if row_count.is_some() { b'R' } else { b'E' }, id);
                for number in [first_seq, row_count.unwrap_or(1), time_ms] {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
            }
            Bound::Header { line } => text(b'H', line),
            Bound::Summary { id, member } => {
                text(b'S', id);
                text(b'M', member);
            }
        }
        bytes
    }
}

/// A key at work.
pub(crate) struct Cipher {
    aead: XChaCha20Poly1305,
    fill_random: fn(&mut [u8]) -> bool,
}

impl Cipher {
    pub(crate) fn new(key: &[u8; KEY_BYTES], fill_random: fn(&mut [u8]) -> bool) -> Cipher {
        Cipher {
            aead: XChaCha20Poly1305::new(&(*key).into()),
            fill_random,
        }
    }

    /// Seals a text.
    pub(crate) fn seal(&self, bound: Bound<'_>, text: &str) -> Result<String> {
        let mut nonce = [0; NONCE_BYTES];
        if !(self.fill_random)(&mut nonce) {
            return Err(failed(
                "there is no randomness to seal with; check the system",
            ));
        }
        let mut bytes = Vec::with_capacity(NONCE_BYTES + text.len() + TAG_BYTES);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(text.as_bytes());
        let body = bytes.get_mut(NONCE_BYTES..).unwrap_or_default();
        let tag = self
            .aead
            .encrypt_inout_detached(&XNonce::from(nonce), &bound.associated(), body.into())
            .map_err(|_| failed("the text is too long to be sealed; split it"))?;
        bytes.extend_from_slice(&tag);
        Ok(Base64Unpadded::encode_string(&bytes))
    }

    /// What was sealed so with this key; none for anything else.
    pub(crate) fn open(&self, bound: Bound<'_>, data: &str) -> Option<String> {
        let mut bytes = Base64Unpadded::decode_vec(data).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk_mut::<NONCE_BYTES>()?;
        let (body, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>()?;
        let nonce = XNonce::from(*nonce);
        let tag = Tag::from(*tag);
        let associated = bound.associated();
        self.aead
            .decrypt_inout_detached(&nonce, &associated, body.into(), &tag)
            .ok()?;
        let end = bytes.len() - TAG_BYTES;
        bytes.truncate(end);
        bytes.drain(..NONCE_BYTES);
        String::from_utf8(bytes).ok()
    }
}

fn failed(message: &str) -> Error {
    Error::new(ErrorCode::Other, "sealing-failed", message)
}
