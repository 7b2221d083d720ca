use clap::Args;
use serde_json::{Value, json};

use crate::added::{self, Record};
use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::manifest::Manifest;
use crate::output::{Format, Output};
use crate::place::Place;
use crate::text;

/// Show the backends that were added, and which of them are asked for again
#[derive(Args, Debug)]
pub struct List {}

/// One that was added, and why it cannot be used as it is.
struct Entry {
    name: String,
    record: Option<Record>,
    trouble: Option<String>,
}

impl Run for List {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let entries: Vec<Entry> = added::names()?.into_iter().map(Entry::of).collect();
        let mut output = Output::new(place.global.format);
        match output.format {
            Format::Text => {
                let rows: Vec<[String; 4]> = entries.iter().map(Entry::row).collect();
                for line in text::table(&rows).lines() {
                    output.line(line)?;
                }
            }
            Format::Json => output.json(&entries.iter().map(Entry::value).collect())?,
            Format::Jsonl => {
                for entry in &entries {
                    output.json(&entry.value())?;
                }
            }
        }
        output.end()?;
        Ok(Exit::Done)
    }
}

impl Entry {
    fn of(name: String) -> Self {
        let trouble_of = |failure| match failure {
            Failure::Said(_, message) => message,
            Failure::ReaderLeft => String::new(),
        };
        let (record, trouble) = match added::read(&name) {
            Ok(Some(record)) => {
                let trouble = record.present().err().map(trouble_of);
                (Some(record), trouble)
            }
            Ok(None) => (None, Some("it was removed just now".to_owned())),
            Err(failure) => (None, Some(trouble_of(failure))),
        };
        Self {
            name,
            record,
            trouble,
        }
    }

    fn row(&self) -> [String; 4] {
        let accepted = self.record.as_ref().map(|record| &record.accepted);
        let of = |shown: Option<String>| shown.unwrap_or_else(|| "-".to_owned());
        [
            self.name.clone(),
            of(accepted.map(|accepted| accepted.version.clone())),
            of(accepted.map(digests)),
            self.trouble.clone().unwrap_or_else(|| "ok".to_owned()),
        ]
    }

    fn value(&self) -> Value {
        let accepted = self.record.as_ref().map(|record| &record.accepted);
        json!({
            "name": self.name,
            "version": accepted.map(|accepted| &accepted.version),
            "sha256": accepted.and_then(|accepted| accepted.sha256.as_ref()),
            "component": accepted.map(|accepted| accepted.component.display().to_string()),
            "layers": accepted.map(layers),
            "manifest": self.record.as_ref().map(|record| record.manifest.display().to_string()),
            "trouble": self.trouble,
        })
    }
}

/// The beginning of each part's digest, the outermost first; the name of a bundled one.
fn digests(accepted: &Manifest) -> String {
    let shown = accepted.parts().map(|part| match part.sha256 {
        Some(sha256) => sha256.chars().take(12).collect(),
        None => part.component.display().to_string(),
    });
    shown.collect::<Vec<String>>().join(" over ")
}

fn layers(accepted: &Manifest) -> Value {
    let layers = accepted.parts().filter(|part| part.is_layer);
    let shown = layers.map(|part| {
        json!({
            "component": part.component.display().to_string(),
            "sha256": part.sha256,
        })
    });
    shown.collect()
}
