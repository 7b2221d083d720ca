//! One module per command: its flags, and what it calls and prints.

pub mod append;
pub mod backend;
pub mod cache;
pub mod create;
pub mod delete;
pub mod doctor;
pub mod fork;
pub mod import;
pub mod list;
pub mod messages;
pub mod resume;
pub mod salvage;
pub mod show;
pub mod update;
pub mod verify;

use annals::{Annals, OpenMode, Repair, Session};
use annals_core::fault::quoted;
use clap::Args;
use serde_json::Value;

use crate::args::{After, Cli, Command};
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::place::Place;
use crate::signals;
use crate::text;

/// What a command does once its flags are read.
trait Run: Args {
    fn run(&self, place: &Place) -> Result<Exit, Failure>;
}

/// Runs the command that was asked for.
pub fn run(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Create(after) => signals::watched(|| run_after(cli, after)),
        Command::Append(after) => signals::watched(|| run_after(cli, after)),
        Command::Import(after) => signals::watched(|| run_after(cli, after)),
        Command::Show(after) => run_after(cli, after),
        Command::Messages(after) => run_after(cli, after),
        Command::List(after) => run_after(cli, after),
        Command::Verify(after) => run_after(cli, after),
        Command::Doctor(after) => signals::watched(|| run_after(cli, after)),
        Command::Resume(after) => signals::watched(|| run_after(cli, after)),
        Command::Salvage(after) => signals::watched(|| run_after(cli, after)),
        Command::Fork(after) => signals::watched(|| run_after(cli, after)),
        Command::Update(after) => signals::watched(|| run_after(cli, after)),
        Command::Delete(after) => signals::watched(|| run_after(cli, after)),
        Command::Cache(after) => run_after(cli, after),
        Command::Backend(backend) => backend.run(cli),
    }
}

fn run_after<C: Run>(cli: &Cli, after: &After<C>) -> Result<Exit, Failure> {
    let (before, after_it) = (&cli.settings, &after.settings);
    let settings = before.list.iter().chain(&after_it.list);
    let through = before.through.iter().chain(&after_it.through);
    let place = Place {
        global: &cli.global,
        settings: settings.cloned().collect(),
        through: through.cloned().collect(),
    };
    after.command.run(&place)
}

/// What a session accepted becomes durable, a new one also without events, and the session leaves the store.
fn store(session: &Session) -> Result<(), Failure> {
    let stored = match session.next_seq()? {
        0 => session.persist(),
        _ => session.flush(),
    };
    stored.map_err(|error| Failure::about(session.id(), error))?;
    leave(session);
    Ok(())
}

/// A session of which everything is durable leaves the store. That its lease cannot be given back fails nothing: it is
/// found abandoned once this process is gone.
fn leave(session: &Session) {
    if let Err(error) = session.close() {
        note(&format!(
            "session {:?}: its lease was not given back: {}",
            session.id(),
            error.message
        ));
    }
}

/// Prints a session that was stored just now. Who cannot be told its id is told that it is there.
fn made(mut output: Output, id: &str, value: &Value) -> Result<(), Failure> {
    let printed = output.one(id, value).and_then(|()| output.end());
    printed.map_err(|failure| failure.although(&format!("session {} was stored", quoted(id))))
}

/// A stored session becomes live.
fn open(annals: &Annals, id: &str, mode: OpenMode) -> Result<(Session, Repair), Failure> {
    annals
        .open(id, mode)
        .map_err(|error| Failure::opening(annals, id, error))
}

/// What opening did to the log, in words; empty when it did nothing.
fn repairs(repair: &Repair) -> Vec<String> {
    let mut done = Vec::new();
    if repair.cut_bytes > 0 {
        done.push(format!(
            "cut a bad end of {} ({} readable), saved beside the log",
            text::count(repair.cut_bytes, "byte"),
            text::count(repair.cut_events, "event")
        ));
    }
    if repair.closers > 0 {
        done.push(format!(
            "closed an interrupted turn with {}",
            text::count(repair.closers.into(), "event")
        ));
    }
    done
}

/// Tells on stderr what opening did to the log.
fn note_repair(id: &str, repair: &Repair) {
    for line in repairs(repair) {
        note(&format!("session {id:?}: {line}"));
    }
}
