mod asked;
mod trial;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use annals::{Inspection, Need};
use annals_core::fault::quoted;
use clap::Args;
use serde_json::json;

use super::inspect;
use crate::added::{self, Record};
use crate::commands::Run;
use crate::failure::{Exit, Failure};
use crate::manifest::{Inert, Manifest, Part};
use crate::output::{Output, note};
use crate::place::Place;
use crate::text;

/// Accept a backend and what it asks for, so that `--backend NAME` uses it
///
/// What was accepted is kept in `$XDG_CONFIG_HOME/annals/backends`, or `~/.config/annals/backends`. A component that
/// changes, and a manifest that asks for more, are asked for again. Once it is accepted, it is started and configured
/// over an empty directory; what cannot run is not added.
#[derive(Args, Debug)]
pub struct Add {
    /// The manifest
    #[arg(value_name = "PATH/backend.toml")]
    manifest: PathBuf,
    /// Accept what it asks for without a question
    #[arg(long)]
    yes: bool,
}

impl Run for Add {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let manifest = Manifest::read(&self.manifest)?;
        let name = quoted(&manifest.name);
        let path = std::path::absolute(&self.manifest).map_err(|error| {
            Failure::usage(format!("the manifest has no absolute path: {error}"))
        })?;
        let refused = |cause: String| {
            let path = path.display().to_string();
            Failure::usage(format!("backend {name}: {cause}; its manifest is {path:?}"))
        };
        let mut found = Vec::new();
        for part in manifest.parts() {
            found.push(inspected(part, refused)?);
        }
        if !self.yes {
            ask(&manifest, &found)?;
        }
        let record = Record {
            manifest: path.clone(),
            accepted: manifest.clone(),
        };
        if let Some(untried) = trial::run(&record, refused)? {
            note(&format!("backend {name}: {untried}"));
        }
        let kept = added::write(&record)?.display().to_string();
        let accepted = &record.accepted;
        let mut output = Output::new(place.global.format);
        let line = format!("added backend {name} {}", accepted.version);
        let value = json!({
            "name": accepted.name,
            "version": accepted.version,
            "sha256": accepted.sha256,
            "layers": accepted.layers.iter().map(|layer| &layer.sha256).collect::<Vec<_>>(),
            "record": kept,
        });
        output.one(&line, &value)?;
        output.end()?;
        Ok(Exit::Done)
    }
}

/// Looks at a part; none where it comes with this program. Refuses one that is not that of the manifest, does not belong
/// in its place, or needs more than it asks for, and a directory that is not there.
fn inspected(
    part: Part<'_>,
    refused: impl Fn(String) -> Failure,
) -> Result<Option<Inspection>, Failure> {
    for directory in &part.grants.directories {
        if !directory.path.is_dir() {
            let words = directory.words();
            return Err(refused(format!(
                "{words}, is not there; make it, or ask for another one"
            )));
        }
    }
    if part.bundled().is_some() {
        return Ok(None);
    }
    let (found, _) = inspect::inspected(part.component)?;
    let words = part.words();
    let cause = match unfit(part, &found) {
        None => return Ok(Some(found)),
        Some(cause) => cause,
    };
    Err(refused(format!("{words} {cause}")))
}

/// Why a component cannot be that part.
fn unfit(part: Part<'_>, found: &Inspection) -> Option<String> {
    let wanted = part.sha256.unwrap_or_default();
    if !wanted.eq_ignore_ascii_case(&found.sha256) {
        return Some(format!(
            "has sha256 {}, the manifest says {wanted}; get the one that belongs to it, or correct the manifest",
            found.sha256
        ));
    }
    if !found.is_backend {
        return Some("exports no interface persistence; build it for the world annals:session/session-persistence".to_owned());
    }
    match (part.is_layer, found.is_middleware) {
        (true, false) => {
            return Some("is a backend, and no middleware; name it as the component of the manifest, or build it for the world annals:session/persistence-middleware".to_owned());
        }
        (false, true) => {
            return Some("is middleware, which needs a backend; name it under [[layers]], and a backend as the component".to_owned());
        }
        (true, true) | (false, false) => {}
    }
    if let Some(import) = found.refused.first() {
        return Some(format!(
            "imports {import}, which no backend is given; build it without"
        ));
    }
    let is_inert = part.grants.inert.contains(&Inert::Network);
    let lacks_network = part.grants.tcp.is_empty() && !is_inert;
    if found.needs.contains(&Need::Network) && lacks_network {
        return Some("imports wasi:sockets, and the manifest asks for no TCP address; name those that it needs under [grants] tcp, or say inert = [\"network\"] where it needs none".to_owned());
    }
    None
}

/// Shows what is asked for, and asks.
fn ask(manifest: &Manifest, found: &[Option<Inspection>]) -> Result<(), Failure> {
    let mut err = io::stderr();
    let mut say = |line: &str| {
        // Who cannot be asked has said nothing.
        writeln!(err, "{}", text::escape(line))
            .map_err(|error| Failure::refused(format!("cannot write to stderr: {error}")))
    };
    for line in asked::lines(manifest, found) {
        say(&line)?;
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "nothing was added: nobody can be asked here, say --yes to accept this",
        ));
    }
    say("accept? [y/N]")?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::refused(format!("cannot read the answer: {error}")))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::refused("nothing was added")),
    }
}
