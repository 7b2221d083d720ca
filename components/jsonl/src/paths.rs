//! Where a session's files are: names that no id can escape from, and that never clash where it matters.
//!
//! A log is `<root>/<bucket>/<name>.jsonl`. Its sidecars begin with the same name and end otherwise, so that nothing
//! else under the root ends in `.jsonl`.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Names longer than this are shortened to a prefix and a hash, so that a file name with every suffix that is ever put
/// behind it stays under 143 bytes.
pub const NAME_BYTES_MAX: usize = 100;

/// How much of a long name is kept.
const PREFIX_BYTES: usize = 60;

/// The directory of the leases, inside the root.
pub const LEASES: &str = "_leases";

/// The bucket of sessions without a working directory.
pub const NO_CWD: &str = "_no-cwd";

/// What a log's file name ends in.
pub const LOG_SUFFIX: &str = ".jsonl";

/// An empty id has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyId;

/// The name of a session's log, without suffix: each UTF-16 unit outside `[A-Za-z0-9._-]` becomes `~XXXX`, `.` and
/// `..` are escaped whole, and a name over [`NAME_BYTES_MAX`] is shortened.
pub fn encode_id(id: &str) -> Result<String, EmptyId> {
    encode_units(id.encode_utf16(), is_plain).map(|name| shortened(name, "~"))
}

/// [`encode_id`] for an id given as UTF-16, which may hold lone surrogates.
pub fn encode_id_utf16(units: &[u16]) -> Result<String, EmptyId> {
    encode_units(units.iter().copied(), is_plain).map(|name| shortened(name, "~"))
}

/// The name a session takes when [`encode_id`] is taken by another id's log, as happens where the filesystem folds
/// case. `~~` occurs in no other name.
pub fn spare_name(id: &str) -> Result<String, EmptyId> {
    let name = encode_units(id.encode_utf16(), is_plain)?;
    Ok(prefix_and_hash(&name, "~~"))
}

/// The name of a session's leases: like [`encode_id`], but distinct also where the filesystem folds case.
pub fn lease_name(id: &str) -> Result<String, EmptyId> {
    let is_kept = |unit| is_plain(unit) && !matches!(unit, 0x41..=0x5A);
    encode_units(id.encode_utf16(), is_kept).map(|name| shortened(name, "~"))
}

/// The directory of sessions with this working directory.
pub fn bucket(cwd: Option<&str>) -> String {
    match cwd {
        None => NO_CWD.to_owned(),
        Some(cwd) => format!("cwd-{}", hash_hex(cwd.as_bytes(), 12)),
    }
}

/// [`bucket`] for a working directory given as UTF-16; a lone surrogate counts as U+FFFD.
pub fn bucket_utf16(cwd: Option<&[u16]>) -> String {
    bucket(cwd.map(String::from_utf16_lossy).as_deref())
}

/// The id that [`encode_id`] made `name` of; none for a shortened name, or one that no id has.
pub fn decode_name(name: &str) -> Option<String> {
    let id = decode(name)?;
    (encode_id(&id).as_deref() == Ok(name)).then_some(id)
}

/// What a name says, whichever characters are escaped in it.
pub(crate) fn decode(name: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        if byte == b'~' {
            let digits = rest.as_slice().get(..4)?;
            units.push(u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = rest.as_slice().get(4..)?.iter();
        } else {
            units.push(u16::from(byte));
        }
    }
    String::from_utf16(&units).ok()
}

/// Whether `name` is one that a log of session `id` may have.
pub fn is_name_of(name: &str, id: &str) -> bool {
    encode_id(id).as_deref() == Ok(name) || spare_name(id).as_deref() == Ok(name)
}

/// The last name of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The first `digits` hexadecimal digits of the SHA-256 of `bytes`, lower case.
pub fn hash_hex(bytes: &[u8], digits: usize) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // writing to a string cannot fail
        let _ = write!(hex, "{byte:02x}");
    }
    hex.truncate(digits);
    hex
}

fn is_plain(unit: u16) -> bool {
    matches!(unit, 0x30..=0x39 | 0x41..=0x5A | 0x61..=0x7A | 0x2D | 0x2E | 0x5F)
}

fn encode_units(
    units: impl Iterator<Item = u16> + Clone,
    is_kept: impl Fn(u16) -> bool,
) -> Result<String, EmptyId> {
    let is_dots = units.clone().all(|unit| unit == 0x2E) && units.clone().count() <= 2;
    let mut name = String::new();
    for unit in units {
        match char::from_u32(u32::from(unit)) {
            Some(plain) if is_kept(unit) && !is_dots => name.push(plain),
            Some(_) | None => {
                let _ = write!(name, "~{unit:04X}");
            }
        }
    }
    if name.is_empty() {
        Err(EmptyId)
    } else {
        Ok(name)
    }
}

fn shortened(name: String, mark: &str) -> String {
    if name.len() <= NAME_BYTES_MAX {
        name
    } else {
        prefix_and_hash(&name, mark)
    }
}

// An encoded name is ASCII, so that any byte of it may begin a cut.
fn prefix_and_hash(name: &str, mark: &str) -> String {
    let prefix = name.get(..PREFIX_BYTES).unwrap_or(name);
    format!("{prefix}{mark}{}", hash_hex(name.as_bytes(), 32))
}
