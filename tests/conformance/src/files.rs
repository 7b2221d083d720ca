//! The files below a root.

use std::fs;
use std::io;
use std::path::Path;

/// One file, its path relative to the root, with `/` between names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Below the root.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Session logs, sorted by path.
pub fn logs(root: &Path) -> io::Result<Vec<File>> {
    ending(root, ".jsonl")
}

/// What repairs cut from logs, sorted by path.
pub fn torn(root: &Path) -> io::Result<Vec<File>> {
    ending(root, ".torn")
}

fn ending(root: &Path, ending: &str) -> io::Result<Vec<File>> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{path}/")));
            } else if path.ends_with(ending) {
                let bytes = fs::read(entry.path())?;
                found.push(File { path, bytes });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file and the folders above it.
pub fn write(root: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}

/// The bytes of standard base64 with padding; none when it is no base64.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// The bytes that a case gives as `utf8` or `base64`.
pub fn given(value: &serde_json::Value) -> Option<Vec<u8>> {
    let text = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    match text("utf8") {
        Some(utf8) => Some(utf8.as_bytes().to_vec()),
        None => base64(text("base64")?),
    }
}

/// The text of a log with closers of calls in one order of members: they are compared as values, all other lines as
/// they are.
pub fn comparable(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let event: Option<serde_json::Map<String, serde_json::Value>> =
            serde_json::from_str(line).ok();
        let code = |event: &serde_json::Map<String, serde_json::Value>| {
            event
                .get("data")?
                .pointer("/error/code")?
                .as_str()
                .map(str::to_owned)
        };
        match event {
            Some(mut event) if code(&event).is_some_and(|code| code.starts_with("TOOL_")) => {
                event.sort_keys();
                format!("{}\n", serde_json::Value::Object(event))
            }
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_read() {
        assert_eq!(base64("").as_deref(), Some(&b""[..]));
        assert_eq!(base64("AP8=").as_deref(), Some(&[0, 255][..]));
        assert_eq!(base64("YWJj").as_deref(), Some(&b"abc"[..]));
        assert_eq!(base64("YW-j"), None);
    }
}
