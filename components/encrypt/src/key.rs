//! The key: 32 bytes out of an environment variable, and nowhere else.
//!
//! No message and no fact says anything of a value but that it is none.

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};
use base64ct::{Base64Unpadded, Base64UrlUnpadded, Encoding};

use crate::KEY_ENV_SETTING;

/// How long a key is.
pub(crate) const KEY_BYTES: usize = 32;

const CURE: &str =
    "put 32 random bytes into it, as 64 hex digits or as base64 (openssl rand -hex 32 makes some)";

/// The key in the value of the variable `name`.
pub(crate) fn from_variable(name: &str, value: Option<String>) -> Result<[u8; KEY_BYTES]> {
    let shown = quoted(name);
    let value = value.filter(|value| !value.trim().is_empty());
    let Some(value) = value else {
        if read(name.trim()).is_some() {
            let message = format!(
                "setting {KEY_ENV_SETTING} holds a key; give the name of an environment variable that holds it"
            );
            let error = Error::new(ErrorCode::Invalid, "setting-out-of-range", message);
            return Err(error.fact("setting", KEY_ENV_SETTING));
        }
        let message = format!("the key is missing: {shown} is not set, or was not granted; {CURE}");
        return Err(invalid("key-missing", message, name));
    };
    read(value.trim()).ok_or_else(|| {
        let message = format!("the value of {shown} is no key of {KEY_BYTES} bytes; {CURE}");
        invalid("key-invalid", message, name)
    })
}

fn read(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if text.len() == 2 * KEY_BYTES {
        let digits = text.as_bytes().chunks_exact(2);
        for (byte, pair) in key.iter_mut().zip(digits) {
            let [high, low] = pair else { return None };
            *byte = 16 * digit(*high)? + digit(*low)?;
        }
        return Some(key);
    }
    let text = text.strip_suffix('=').unwrap_or(text);
    let decoded = [Base64Unpadded::decode, Base64UrlUnpadded::decode]
        .into_iter()
        .any(|decode| decode(text, &mut key).is_ok_and(|bytes| bytes.len() == KEY_BYTES));
    decoded.then_some(key)
}

fn digit(letter: u8) -> Option<u8> {
    let value = char::from(letter).to_digit(16)?;
    u8::try_from(value).ok()
}

fn invalid(reason: &str, message: String, name: &str) -> Error {
    Error::new(ErrorCode::Invalid, reason, message).fact("variable", name)
}
