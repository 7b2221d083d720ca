//! What a manifest asks for, in words.

use annals::{Inspection, Need};
use annals_core::fault::quoted;

use crate::manifest::{Bundled, Inert, Manifest, Part};

/// A line each. `found` has the parts that come from files, in the order of [`Manifest::parts`].
pub fn lines(manifest: &Manifest, found: &[Option<Inspection>]) -> Vec<String> {
    let mut lines = vec![format!(
        "backend {} {}",
        quoted(&manifest.name),
        manifest.version
    )];
    for (part, found) in manifest.parts().zip(found) {
        of_part(part, found.as_ref(), &mut lines);
    }
    lines
}

fn of_part(part: Part<'_>, found: Option<&Inspection>, lines: &mut Vec<String>) {
    let what = if part.is_layer { "layer" } else { "component" };
    let shown = part.component.display().to_string();
    match part.sha256 {
        Some(sha256) => {
            lines.push(format!("{what} {shown:?}"));
            lines.push(format!("sha256 {sha256}"));
        }
        None => lines.push(format!("{what} {shown}, which comes with annals")),
    }
    lines.push("asks for:".to_owned());
    let before = lines.len();
    let grants = part.grants;
    let is_inert = grants.inert.contains(&Inert::Files);
    let needs_files = match found {
        Some(found) => found.needs.contains(&Need::Files),
        None => part.bundled() == Some(Bundled::Jsonl),
    };
    if needs_files && !is_inert {
        lines.push("  the directory that --root names, read and write".to_owned());
    }
    for directory in &grants.directories {
        lines.push(format!("  {}", directory.words()));
    }
    for address in &grants.tcp {
        lines.push(format!("  TCP connections to {address}"));
    }
    for name in &grants.environment {
        lines.push(format!("  the value of {name} in the environment"));
    }
    if lines.len() == before {
        lines.push("  nothing".to_owned());
    }
    let limits = part.limits;
    let mut limit = |what: &str, value: Option<u64>| {
        if let Some(value) = value {
            lines.push(format!("  at most {value} {what}"));
        }
    };
    let wide = |bytes: Option<usize>| bytes.map(|bytes| bytes as u64);
    limit("bytes of memory", wide(limits.memory_bytes_max));
    limit("milliseconds for a call", limits.call_ms_max);
    limit("bytes in an answer", wide(limits.page_bytes_max));
    for (key, value) in part.settings {
        lines.push(format!("  setting {key}={value}"));
    }
}
