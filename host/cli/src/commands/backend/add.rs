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
use crate::manifest::{Inert, Manifest};
use crate::output::Output;
use crate::place::Place;
use crate::text;

/// Accept a backend and what it asks for, so that `--backend NAME` uses it
///
/// What was accepted is kept in `$XDG_CONFIG_HOME/annals/backends`, or `~/.config/annals/backends`. A component that
/// changes, and a manifest that asks for more, are asked for again.
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
        let (found, _) = inspect::inspected(&manifest.component)?;
        check(&manifest, &found)?;
        if !self.yes {
            ask(&manifest, &found)?;
        }
        let path = std::path::absolute(&self.manifest).map_err(|error| {
            Failure::usage(format!("the manifest has no absolute path: {error}"))
        })?;
        let record = Record {
            manifest: path,
            accepted: manifest,
        };
        let kept = added::write(&record)?.display().to_string();
        let accepted = &record.accepted;
        let mut output = Output::new(place.global.format);
        let line = format!("added backend {name} {}", accepted.version);
        let value = json!({
            "name": accepted.name,
            "version": accepted.version,
            "sha256": found.sha256,
            "record": kept,
        });
        output.one(&line, &value)?;
        output.end()?;
        Ok(Exit::Done)
    }
}

/// Refuses a component that is not the one of the manifest, or needs more than it asks for.
fn check(manifest: &Manifest, found: &Inspection) -> Result<(), Failure> {
    let name = quoted(&manifest.name);
    let refuse = |cause: String| Err(Failure::usage(format!("backend {name}: {cause}")));
    if !manifest.sha256.eq_ignore_ascii_case(&found.sha256) {
        return refuse(format!(
            "its component has sha256 {}, the manifest says {}; get the one that belongs to it, or correct the manifest",
            found.sha256, manifest.sha256
        ));
    }
    if !found.is_backend {
        return refuse("its component exports no interface persistence; build it for the world annals:session/session-persistence".to_owned());
    }
    if let Some(import) = found.refused.first() {
        return refuse(format!(
            "its component imports {import}, which no backend is given; build it without"
        ));
    }
    let is_inert = manifest.grants.inert.contains(&Inert::Network);
    let lacks_network = manifest.grants.tcp.is_empty() && !is_inert;
    if found.needs.contains(&Need::Network) && lacks_network {
        return refuse("its component imports wasi:sockets, and the manifest asks for no TCP address; name those that it needs under [grants] tcp, or say inert = [\"network\"] where it needs none".to_owned());
    }
    Ok(())
}

/// Shows what is asked for, and asks.
fn ask(manifest: &Manifest, found: &Inspection) -> Result<(), Failure> {
    let mut err = io::stderr();
    let mut say = |line: &str| {
        // Who cannot be asked has said nothing.
        writeln!(err, "{}", text::escape(line))
            .map_err(|error| Failure::refused(format!("cannot write to stderr: {error}")))
    };
    for line in asked(manifest, found) {
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

/// What a backend asks for, a line each.
fn asked(manifest: &Manifest, found: &Inspection) -> Vec<String> {
    let Manifest { grants, limits, .. } = manifest;
    let mut lines = vec![
        format!("backend {} {}", quoted(&manifest.name), manifest.version),
        format!("component {:?}", manifest.component.display().to_string()),
        format!("sha256 {}", found.sha256),
        "asks for:".to_owned(),
    ];
    let before = lines.len();
    let is_inert = |inert| grants.inert.contains(&inert);
    if found.needs.contains(&Need::Files) && !is_inert(Inert::Files) {
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
    let mut limit = |what: &str, value: Option<u64>| {
        if let Some(value) = value {
            lines.push(format!("  at most {value} {what}"));
        }
    };
    let wide = |bytes: Option<usize>| bytes.map(|bytes| bytes as u64);
    limit("bytes of memory", wide(limits.memory_bytes_max));
    limit("milliseconds for a call", limits.call_ms_max);
    limit("bytes in an answer", wide(limits.page_bytes_max));
    for (key, value) in &manifest.settings {
        lines.push(format!("  setting {key}={value}"));
    }
    lines
}
