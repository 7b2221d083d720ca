//! What `configure` takes for itself; everything else is the backend's.

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

/// The setting that names the environment variable with the key. Given more than once, the outermost of several layers
/// takes the first and hands on the others.
pub const KEY_ENV_SETTING: &str = "encrypt.key-env";

/// That variable unless another one is named.
pub const KEY_ENV: &str = "ANNALS_KEY";

const OWN: &str = "encrypt.";

/// The name of the variable, and the settings of the backend below.
pub(crate) fn split(settings: &[(String, String)]) -> Result<(String, Vec<(String, String)>)> {
    let mut key_env = None;
    let mut rest = Vec::new();
    for (name, value) in settings {
        match name.as_str() {
            KEY_ENV_SETTING if key_env.is_none() => key_env = Some(value.clone()),
            known if known.starts_with(OWN) && known != KEY_ENV_SETTING => {
                let message = format!(
                    "setting {} is unknown; encrypt knows {KEY_ENV_SETTING}",
                    quoted(name)
                );
                return Err(invalid("setting-unknown", message, name));
            }
            _ => rest.push((name.clone(), value.clone())),
        }
    }
    let key_env = key_env.unwrap_or_else(|| KEY_ENV.to_owned());
    if key_env.is_empty() || key_env.contains(['=', '\0']) {
        let message = format!(
            "setting \"{KEY_ENV_SETTING}\" is {}; it must be the name of an environment variable",
            quoted(&key_env)
        );
        return Err(invalid("setting-out-of-range", message, KEY_ENV_SETTING));
    }
    Ok((key_env, rest))
}

fn invalid(reason: &str, message: String, name: &str) -> Error {
    Error::new(ErrorCode::Invalid, reason, message).fact("setting", name)
}
