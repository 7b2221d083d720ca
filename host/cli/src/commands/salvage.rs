use std::path::PathBuf;

use annals::{Annals, CreateOptions};
use annals_core::fault::quoted;
use annals_core::salvage::Salvaged;
use clap::Args;
use serde_json::Value;

use crate::commands::{Run, store};
use crate::failure::{Exit, Failure};
use crate::new_file;
use crate::output::{Format, Output, note};
use crate::place::Place;
use crate::survey;

/// Recover every readable event of a damaged session into a log that opens
///
/// The session itself is never changed. Every event keeps its seq and bytes. A hole is filled by salvage/gap events; an
/// event that cannot stand in its place, for its seq is taken or it breaks a rule, goes to the end as
/// salvage/set-aside, its line as a string. Bytes that repairs cut off are looked through too. Without --out and --fork
/// the log goes to stdout, with --format json the report alone: what would be recovered. The exit code is 0 once the log
/// is written, whatever was lost; stderr says what was.
#[derive(Args, Debug)]
pub struct Salvage {
    /// The session
    id: String,
    /// Write the log to this file, which must not exist; `import` takes it in
    #[arg(long, value_name = "FILE", conflicts_with = "new")]
    out: Option<PathBuf>,
    /// Store the log as a new session of this id, a fork of the damaged one
    #[arg(long = "fork", value_name = "NEW")]
    new: Option<String>,
}

impl Run for Salvage {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let annals = place.open()?;
        let salvaged = survey::salvage(&annals, &self.id)?;
        match (&self.out, &self.new) {
            (Some(file), _) => {
                new_file::write(file, |to| write_log(&salvaged, |bytes| to.write_all(bytes)))?;
                self.print(place, Some(&file.to_string_lossy()), &salvaged)?;
            }
            (None, Some(new)) => {
                self.store(&annals, new, &salvaged)?;
                self.print(place, Some(new), &salvaged)?;
            }
            // a log is lines, and no JSON value
            (None, None) if place.global.format == Format::Json => {
                self.print(place, None, &salvaged)?;
            }
            (None, None) => {
                let mut output = Output::new(place.global.format);
                write_log(&salvaged, |bytes| output.bytes(bytes))?;
                output.end()?;
            }
        }
        let summary = survey::summary(&salvaged.report);
        note(&format!("session {}: {summary}", quoted(&self.id)));
        Ok(Exit::Done)
    }
}

impl Salvage {
    /// With the lineage of a fork: the events are the other session's.
    fn store(&self, annals: &Annals, new: &str, salvaged: &Salvaged) -> Result<(), Failure> {
        let log = salvaged.session.stored_from(0);
        let options = CreateOptions {
            id: Some(new.to_owned()),
            cwd: salvaged.session.header().cwd.clone(),
            parent_session: Some(self.id.clone()),
            seed_length: Some(log.count),
            seed: Some(log.lines.into_owned()),
            ..CreateOptions::default()
        };
        let session = annals
            .create(options)
            .map_err(|error| Failure::about(new, error))?;
        store(&session)
    }

    /// The report; `made_as` is what the log was written to.
    fn print(
        &self,
        place: &Place,
        made_as: Option<&str>,
        salvaged: &Salvaged,
    ) -> Result<(), Failure> {
        let mut members = survey::report_json(&salvaged.report);
        members.insert("id".into(), self.id.clone().into());
        members.insert("events".into(), salvaged.session.next_seq().into());
        let name = if self.out.is_some() { "file" } else { "fork" };
        if let Some(made_as) = made_as {
            members.insert(name.into(), made_as.into());
        }
        let mut output = Output::new(place.global.format);
        let printed = output.one(made_as.unwrap_or(&self.id), &Value::from(members));
        let printed = printed.and_then(|()| output.end());
        printed.map_err(|failure| match made_as {
            Some(made_as) => failure.although(&format!("{name} {made_as:?} was written")),
            None => failure,
        })
    }
}

fn write_log<E>(
    salvaged: &Salvaged,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    write(salvaged.session.header().line().as_bytes())?;
    write(b"\n")?;
    for line in salvaged.session.log().records_from(0) {
        write(line.text.as_bytes())?;
        write(b"\n")?;
    }
    Ok(())
}
