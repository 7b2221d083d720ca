//! What `configure` takes for itself; everything else is the backend's.

use annals_core::fault::quoted;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode};

/// The setting that names the environment variable with the key. Given more than once, the outermost of several layers
/// takes the first and hands on the others.
pub const KEY_ENV_SETTING: &str = "encrypt.key-env";

/// That variable unless another one is named.
pub const KEY_ENV: &str = "ANNALS_KEY";

/// The setting that says what becomes of what does not open: `refuse` (unless given) or `skip`.
pub const UNOPENED_SETTING: &str = "encrypt.unopened";

const OWN: &str = "encrypt.";

/// What becomes of what does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// Reading fails there.
    Refuse,
    /// A line that is no record stands in its place, so that all else can be read; and nothing is written, since that
    /// line would be cut.
    Skip,
}

/// What the settings say, and those of the backend below.
pub(crate) struct Settings {
    pub(crate) key_env: String,
    pub(crate) unopened: Unopened,
    pub(crate) rest: Vec<(String, String)>,
}

/// Takes out what is for this layer.
pub(crate) fn split(settings: &[(String, String)]) -> Result<Settings> {
    let (mut key_env, mut unopened) = (None, None);
    let mut rest = Vec::new();
    for (name, value) in settings {
        match name.as_str() {
            KEY_ENV_SETTING if key_env.is_none() => key_env = Some(value.clone()),
            UNOPENED_SETTING if unopened.is_none() => unopened = Some(unopened_of(value)?),
            KEY_ENV_SETTING | UNOPENED_SETTING => rest.push((name.clone(), value.clone())),
            other if other.starts_with(OWN) => {
                let known = format!("{KEY_ENV_SETTING} and {UNOPENED_SETTING}");
                let message = format!("setting {} is unknown; encrypt knows {known}", quoted(name));
                return Err(invalid("setting-unknown", message, name));
            }
            _ => rest.push((name.clone(), value.clone())),
        }
    }
    let key_env = key_env.unwrap_or_else(|| KEY_ENV.to_owned());
    if key_env.is_empty() || key_env.contains(['=', '\0']) {
        // not repeated: somebody may have put the key itself there
        let message =
            format!("setting {KEY_ENV_SETTING} must be the name of an environment variable");
        return Err(invalid("setting-out-of-range", message, KEY_ENV_SETTING));
    }
    Ok(Settings {
        key_env,
        unopened: unopened.unwrap_or(Unopened::Refuse),
        rest,
    })
}

fn unopened_of(value: &str) -> Result<Unopened> {
    match value {
        "refuse" => Ok(Unopened::Refuse),
        "skip" => Ok(Unopened::Skip),
        _ => Err(out_of_range(UNOPENED_SETTING, value, "refuse or skip")),
    }
}

fn out_of_range(name: &str, value: &str, range: &str) -> Error {
    let message = format!(
        "setting {} is {}; it must be {range}",
        quoted(name),
        quoted(value)
    );
    invalid("setting-out-of-range", message, name)
}

fn invalid(reason: &str, message: String, name: &str) -> Error {
    Error::new(ErrorCode::Invalid, reason, message).fact("setting", name)
}
