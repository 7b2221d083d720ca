//! The vector files: suites of cases, and what a case expects.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One file.
pub struct Suite {
    /// The file's name without its ending.
    pub suite: String,
    /// In the file's order.
    pub cases: Vec<Case>,
}

/// One recorded call of the reference.
#[derive(Clone)]
pub struct Case {
    /// Unique in its suite; for people.
    pub name: String,
    /// Which function; it decides the shape of `input` and `expect`.
    pub op: String,
    /// What the operation is given.
    pub input: Value,
    /// `ok` or `error`, and what further belongs to the operation.
    pub expect: Value,
    /// Bytes afterwards are not to be compared.
    pub events_only: bool,
}

impl Case {
    /// The kind of the expected rejection, if one is expected.
    pub fn error_kind(&self) -> Option<&str> {
        self.expect.pointer("/error/kind").and_then(Value::as_str)
    }
}

/// Every suite of a directory, by file name; other JSON files are left alone.
///
/// Errors: the directory or a file cannot be read, a suite is of an unknown schema, or there is none at all.
pub fn suites(dir: &Path) -> Result<Vec<Suite>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut paths: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    let mut suites = Vec::new();
    for path in paths {
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let document: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is no JSON", path.display()))?;
        let Some(schema) = document.get("schema").and_then(Value::as_str) else {
            continue;
        };
        if schema != "session-conformance/1" {
            bail!(
                "{} is of schema {schema}; this runner reads session-conformance/1",
                path.display()
            );
        }
        suites.push(suite(&document).with_context(|| format!("{} is no suite", path.display()))?);
    }
    if suites.is_empty() {
        bail!(
            "no vector files in {}; pass the directory that holds them",
            dir.display()
        );
    }
    Ok(suites)
}

fn suite(document: &Value) -> Option<Suite> {
    let cases = document.get("cases")?.as_array()?;
    Some(Suite {
        suite: document.get("suite")?.as_str()?.to_owned(),
        cases: cases.iter().map(case).collect::<Option<_>>()?,
    })
}

fn case(value: &Value) -> Option<Case> {
    Some(Case {
        name: value.get("name")?.as_str()?.to_owned(),
        op: value.get("op")?.as_str()?.to_owned(),
        input: value.get("input")?.clone(),
        expect: value.get("expect")?.clone(),
        events_only: value
            .get("compare")
            .is_some_and(|compare| compare == "events_only"),
    })
}

/// Values as JSON Lines.
pub fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// The members of an array; empty for anything else.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Sets a member of an object; nothing happens to anything else.
pub fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}
