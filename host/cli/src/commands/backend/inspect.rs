use std::path::{Path, PathBuf};

use annals::{Inspection, Need};
use annals_core::fault::quoted;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output};
use crate::place::Place;
use crate::text;

/// Show what a component exports, imports and needs, without running it
#[derive(Args, Debug)]
pub struct Inspect {
    /// The component
    #[arg(value_name = "PATH.wasm")]
    component: PathBuf,
}

impl Run for Inspect {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let found = inspected(&self.component)?.0;
        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text => {
                for line in text::table(&rows(&self.component, &found)).lines() {
                    output.line(line)?;
                }
            }
            Format::Json | Format::Jsonl => output.json(&value(&self.component, &found))?,
        }
        output.end()?;
        Ok(Exit::Done)
    }
}

/// Looks at a component in a file; its bytes too.
pub fn inspected(path: &Path) -> Result<(Inspection, Vec<u8>), Failure> {
    let bytes = annals::component_bytes(path).map_err(Failure::configuration)?;
    let name = format!("component {}", quoted(&path.display().to_string()));
    let found = annals::inspect(&name, &bytes).map_err(Failure::configuration)?;
    Ok((found, bytes))
}

/// What a need is, for people.
pub fn words(need: Need) -> &'static str {
    match need {
        Need::Files => "files: the directory that --root names, or granted ones",
        Need::Network => "network: TCP addresses, or none at all as inert",
        _ => need.name(),
    }
}

fn rows(path: &Path, found: &Inspection) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    let mut add = |title: &str, values: Vec<String>| {
        for (at, value) in values.into_iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            rows.push([title.to_owned(), value]);
        }
    };
    let kind = match (found.is_backend, found.is_middleware) {
        (true, false) => "a backend",
        (true, true) => "middleware: a backend over another one",
        (false, _) => "no backend",
    };
    add("component", vec![path.display().to_string()]);
    add("kind", vec![kind.to_owned()]);
    add("bytes", vec![found.bytes.to_string()]);
    add("sha256", vec![found.sha256.clone()]);
    add("exports", found.exports.clone());
    add("imports", found.imports.clone());
    let needs = found.needs.iter().map(|need| words(*need).to_owned());
    add("needs", needs.collect());
    let refused = found.refused.iter();
    add(
        "refused",
        refused
            .map(|import| format!("{import}, which no backend is given"))
            .collect(),
    );
    rows
}

fn value(path: &Path, found: &Inspection) -> Value {
    let needs: Vec<&str> = found.needs.iter().map(|need| need.name()).collect();
    json!({
        "component": path.display().to_string(),
        "bytes": found.bytes,
        "sha256": found.sha256,
        "exports": found.exports,
        "imports": found.imports,
        "needs": needs,
        "refused": found.refused,
        "isBackend": found.is_backend,
        "isMiddleware": found.is_middleware,
    })
}
