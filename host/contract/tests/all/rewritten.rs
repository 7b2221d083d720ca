//! What backends do to bytes that they should leave alone.

use serde_json::Value;

/// The lines as a backend with this fault stores them.
pub fn lines(fault: &str, lines: &str) -> String {
    match fault {
        "keeps numbers as doubles" => each(lines, |line| doubles(line).to_string()),
        "sorts members" => each(lines, |line| sorted(line).to_string()),
        "replaces lone surrogates" => lines.replace("\\ud83d", "\\ufffd"),
        "writes escapes as characters" => lines.replace("\\u00e9", "é"),
        "ends lines where Unicode does" => lines.replace('\u{2028}', "\n"),
        "drops carriage returns" => lines.replace("\r\n", "\n"),
        "drops byte order marks" => lines.replace('\u{FEFF}', ""),
        "composes accents" => lines.replace("e\u{301}", "é"),
        "refuses deep nesting" => lines.replace(&"[".repeat(100), &"[".repeat(99)),
        "expands rows" => each_row(lines),
        _ => lines.to_owned(),
    }
}

fn each(lines: &str, change: impl Fn(Value) -> String) -> String {
    let changed = lines.lines().map(|line| match serde_json::from_str(line) {
        Ok(value) => change(value) + "\n",
        // a lone surrogate is nothing that serde_json takes
        Err(_) => format!("{line}\n"),
    });
    changed.collect()
}

fn doubles(value: Value) -> Value {
    match value {
        Value::Number(number) if number.to_string().contains(['.', 'e', 'E']) => {
            Value::from(number.as_f64())
        }
        Value::Array(items) => items.into_iter().map(doubles).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (name, doubles(value)))
                .collect()
        }
        other => other,
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            let sorted = |(name, value)| (name, sorted(value));
            members.into_iter().map(sorted).collect()
        }
        other => other,
    }
}

// As events that say the same; only the bytes matter here.
fn each_row(lines: &str) -> String {
    let expanded =
        lines
            .split_inclusive('\n')
            .map(|line| match serde_json::from_str::<Value>(line) {
                Ok(row) if row["type"] == "text-chunks" => {
                    let texts = row["data"]["texts"].as_array().map_or(0, Vec::len) as u64;
                    let first = row["seq0"].as_u64().unwrap_or(0);
                    let event = |seq| {
                        format!(
                            "{{\"type\":\"text\",\"seq\":{seq},\"time\":{seq},\"data\":{{}}}}\n"
                        )
                    };
                    (first..first + texts).map(event).collect()
                }
                Ok(_) | Err(_) => line.to_owned(),
            });
    expanded.collect()
}
