use std::path::PathBuf;

use annals::CreateOptions;
use clap::Args;
use serde_json::json;

use crate::commands::{Run, made, store};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::place::{self, Place};

/// Store a new session without events and print its id
#[derive(Args, Debug)]
pub struct Create {
    /// Any non-empty text; by default a new UUIDv7
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The session's working directory, made absolute against the current one and tidied, links not followed; by default none
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

impl Run for Create {
    fn run(&self, place: &Place) -> Result<Exit, Failure> {
        let cwd = self.cwd.as_deref().map(place::working_directory);
        let options = CreateOptions {
            id: self.id.clone(),
            cwd: cwd.transpose()?,
            ..CreateOptions::default()
        };
        let annals = place.open_new(|memory| {
            memory.create(options.clone())?;
            Ok(())
        })?;
        let session = annals.create(options)?;
        let id = session.id();
        store(&session)?;
        let output = Output::new(place.global.format);
        made(output, id, &json!({ "id": id }))?;
        Ok(Exit::Done)
    }
}
