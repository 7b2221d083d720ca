//! Names for files of sessions: any id has one, no two ids share one, and none leads out of a directory.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::Result;
use crate::types::Error;

/// Names longer than this are shortened to a prefix and a hash, so that suffixes fit behind every name.
const NAME_BYTES_MAX: usize = 100;

/// How much of a long name is kept.
const PREFIX_BYTES: usize = 60;

/// The name for files of a session, without a suffix: lower-case letters, digits, `-` and `_` as they are, every other
/// UTF-16 unit as `~XXXX`. No name holds a dot, and two ids that differ in case have names that differ in more.
///
/// # Errors
/// `invalid`: the id is empty.
pub fn of_id(id: &str) -> Result<String> {
    if id.is_empty() {
        return Err(Error::empty_id());
    }
    let mut name = String::new();
    for unit in id.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ (b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')) => name.push(char::from(byte)),
            // writing to a string cannot fail
            Ok(_) | Err(_) => _ = write!(name, "~{unit:04X}"),
        }
    }
    if name.len() > NAME_BYTES_MAX {
        let hash = Sha256::digest(name.as_bytes());
        name.truncate(PREFIX_BYTES);
        name.push_str("~~");
        for byte in hash.iter().take(16) {
            _ = write!(name, "{byte:02x}");
        }
    }
    Ok(name)
}

/// The id that [`of_id`] made `name` of; none for a shortened name, or one that no id has.
pub fn id_of(name: &str) -> Option<String> {
    let mut units = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'~' {
            let digits: Vec<u8> = rest.by_ref().take(4).collect();
            units.push(u16::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            units.push(u16::from(byte));
        }
    }
    let id = String::from_utf16(&units).ok()?;
    (of_id(&id).as_deref() == Ok(name)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory_and_leads_back() {
        let long = "é".repeat(5000);
        for (id, name) in [
            ("a-b_1", "a-b_1"),
            ("A", "~0041"),
            ("..", "~002E~002E"),
            ("a/b", "a~002Fb"),
            ("\0", "~0000"),
            ("~", "~007E"),
            ("😀", "~D83D~DE00"),
        ] {
            assert_eq!(of_id(id).unwrap(), name);
            assert_eq!(id_of(name).as_deref(), Some(id));
        }
        let name = of_id(&long).unwrap();
        assert_eq!((name.len(), id_of(&name)), (94, None));
        assert_ne!(name, of_id(&format!("{long}x")).unwrap());
        assert_eq!(of_id("").unwrap_err().reason, "empty-path-segment");
        for none in ["", "A", "a.b", "~", "~00", "~D83D", "~+041", "~0061"] {
            assert_eq!(id_of(none), None, "{none}");
        }
    }
}
