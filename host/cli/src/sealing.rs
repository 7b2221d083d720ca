//! The settings of the middleware that seals, and the variable with its key.

/// How its settings begin.
pub const SETTINGS: &str = "encrypt.";

/// The setting that names the variable with a key, and that variable unless one is named.
pub const KEY_ENV_SETTING: &str = "encrypt.key-env";
pub const KEY_ENV: &str = "ANNALS_KEY";

/// The setting that says what becomes of what does not open, what it is unless given, and the value that leaves it out.
const UNOPENED_SETTING: &str = "encrypt.unopened";
const REFUSE: &str = "refuse";
const SKIP: &str = "skip";

/// The settings with those said that so many layers would have by themselves: each takes the first one that it finds, and
/// none is to find that of a layer below it.
pub fn explicit(mut settings: Vec<(String, String)>, layers: usize) -> Vec<(String, String)> {
    for (name, usual) in [(KEY_ENV_SETTING, KEY_ENV), (UNOPENED_SETTING, REFUSE)] {
        let given = settings.iter().filter(|(given, _)| given == name).count();
        let missing = layers.saturating_sub(given);
        settings.extend((0..missing).map(|_| (name.to_owned(), usual.to_owned())));
    }
    settings
}

/// Where what does not open is left out, and so nothing can be written: the variable with the key.
pub fn skipping(settings: &[(String, String)]) -> Option<String> {
    let setting = |wanted: &str| {
        let found = settings.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.clone())
    };
    let skips = setting(UNOPENED_SETTING).as_deref() == Some(SKIP);
    skips.then(|| setting(KEY_ENV_SETTING).unwrap_or_else(|| KEY_ENV.to_owned()))
}
