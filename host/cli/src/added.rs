//! Backends that were added: what was accepted of each, in a file of the user's configuration.
//!
//! What is used is the manifest as it is now, as long as it asks for no more than was accepted and its component has the
//! bytes that were accepted.

pub mod stack;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use annals_core::fault::quoted;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::manifest::{self, Manifest, Part};
use crate::text;

const EXTENSION: &str = "toml";

/// What was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Where the manifest is.
    pub manifest: PathBuf,
    /// What it said, its paths absolute.
    pub accepted: Manifest,
}

/// A manifest that asks for no more than was accepted, and the bytes of its parts.
pub struct Present {
    pub manifest: Manifest,
    /// Of the layers, the outermost first, and then of the backend; none of a bundled one.
    pub components: Vec<Option<Vec<u8>>>,
}

/// A backend that was added, as it is now.
pub fn present(name: &str) -> Result<Present, Failure> {
    let record = read(name)?.ok_or_else(|| {
        Failure::usage(format!(
            "no backend {} was added; give jsonl, memory, the path of a component, or a name that annals backend list shows",
            quoted(name)
        ))
    })?;
    record.present()
}

/// A failure to use a backend that was added, with its name and where its manifest is.
pub fn unusable(name: &str, failure: Failure) -> Failure {
    let Failure::Said(exit, message) = failure else {
        return failure;
    };
    let named = format!("backend {}", quoted(name));
    let message = match message.contains(&named) {
        true => message,
        false => format!("{named}: {message}"),
    };
    let failure = Failure::Said(exit, message);
    match read(name) {
        Ok(Some(record)) => {
            let manifest = record.manifest.display().to_string();
            failure.although(&format!("its manifest is {manifest:?}"))
        }
        Ok(None) | Err(_) => failure,
    }
}

impl Record {
    /// The manifest and the components as they are now; refused where that is more than was accepted, or something else.
    pub fn present(&self) -> Result<Present, Failure> {
        let accepted = &self.accepted;
        let manifest = Manifest::read(&self.manifest)?;
        if manifest.name != accepted.name {
            let now = quoted(&manifest.name);
            return Err(self.asked_again(&format!("its manifest is now of {now}")));
        }
        if manifest.layers.len() != accepted.layers.len() {
            let (before, now) = (accepted.layers.len(), manifest.layers.len());
            let before = text::count(before as u64, "layer");
            let cause = format!("it has other layers: {before} over it accepted, now {now}");
            return Err(self.asked_again(&cause));
        }
        let pairs = manifest.parts().zip(accepted.parts());
        let components = pairs.map(|(part, before)| self.component(part, before));
        let components: Vec<_> = components.collect::<Result<_, _>>()?;
        let beyond = manifest.beyond(accepted);
        if !beyond.is_empty() {
            let cause = format!("it wants more than was accepted: {}", beyond.join("; "));
            return Err(self.asked_again(&cause));
        }
        Ok(Present {
            manifest,
            components,
        })
    }

    /// The bytes of a part, if they are those that were accepted in its place; none of a bundled one.
    fn component(&self, part: Part<'_>, before: Part<'_>) -> Result<Option<Vec<u8>>, Failure> {
        if part.bundled().is_some() && part.bundled() == before.bundled() {
            return Ok(None);
        }
        let of = |digest: Option<&str>| match digest {
            Some(digest) => format!("sha256 {digest}"),
            None => "one that comes with annals".to_owned(),
        };
        let changed = |found: Option<&str>| {
            let (words, before, found) = (part.words(), of(before.sha256), of(found));
            let cause = format!("{words} has changed: {before} was accepted, {found} is there");
            self.asked_again(&cause)
        };
        let (Some(now), Some(accepted)) = (part.sha256, before.sha256) else {
            return Err(changed(part.sha256));
        };
        let bytes = annals::component_bytes(part.component).map_err(Failure::configuration)?;
        let found = annals::component_sha256(&bytes);
        let is_same = |digest: &str| digest.eq_ignore_ascii_case(accepted);
        match is_same(&found) && is_same(now) {
            true => Ok(Some(bytes)),
            false => Err(changed(Some(&found))),
        }
    }

    fn asked_again(&self, cause: &str) -> Failure {
        let name = quoted(&self.accepted.name);
        let manifest = self.manifest.display().to_string();
        Failure::usage(format!(
            "backend {name}: {cause}; this is asked for again: run annals backend add {}",
            text::shell_word(&manifest)
        ))
    }
}

/// The user's configuration; a relative path is none, as the standard for it has it.
fn directory() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let configuration =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let configuration = configuration.ok_or_else(|| {
        Failure::usage("no configuration: set XDG_CONFIG_HOME or HOME to an absolute path")
    })?;
    Ok(configuration.join("annals/backends"))
}

/// With this program's configuration kept off: records of what was accepted are in it.
pub fn kept_off(place: annals::Place) -> annals::Place {
    let records = directory().ok();
    match records.as_deref().and_then(Path::parent) {
        Some(configuration) => place.keep_off(configuration),
        None => place,
    }
}

fn path_of(name: &str) -> Result<PathBuf, Failure> {
    manifest::check_name(name).map_err(Failure::usage)?;
    Ok(directory()?.join(format!("{name}.{EXTENSION}")))
}

/// What was accepted of a backend; none where none of that name was added.
pub fn read(name: &str) -> Result<Option<Record>, Failure> {
    let path = path_of(name)?;
    let failed = |cause: &str| {
        Failure::usage(format!(
            "what was accepted of backend {} cannot be read from {:?}: {cause}; run annals backend add again",
            quoted(name),
            path.display().to_string()
        ))
    };
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error.to_string())),
        Ok(found) if !is_ours_alone(&found) => {
            return Err(failed("others than you can have written it"));
        }
        Ok(_) => {}
    }
    let text = manifest::read_text(&path).map_err(|cause| failed(&cause))?;
    let record: Record = manifest::parsed(&text).map_err(|cause| failed(&cause))?;
    if record.accepted.name != name {
        return Err(failed("it is of another backend"));
    }
    Ok(Some(record))
}

/// Keeps what was accepted, whole or not at all, for its owner only.
pub fn write(record: &Record) -> Result<PathBuf, Failure> {
    let path = path_of(&record.accepted.name)?;
    let shown = path.display().to_string();
    let failed = |cause: String| {
        Failure::refused(format!(
            "cannot write {shown:?}: {cause}; nothing was added"
        ))
    };
    let text = toml::to_string(record).map_err(|error| failed(error.to_string()))?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let written = make(directory).and_then(|()| {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|error| failed(error.to_string()))?;
    Ok(path)
}

/// Names of the backends that were added, sorted.
pub fn names() -> Result<Vec<String>, Failure> {
    let directory = directory()?;
    let failed = |error: io::Error| {
        Failure::refused(format!(
            "cannot read {:?}: {error}",
            directory.display().to_string()
        ))
    };
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let is_record = path.extension().is_some_and(|found| found == EXTENSION);
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        // What has no name of a backend is none of ours.
        if let Some(name) = stem.filter(|name| is_record && manifest::check_name(name).is_ok()) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Forgets what was accepted; answers whether there was something.
pub fn remove(name: &str) -> Result<bool, Failure> {
    let path = path_of(name)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::refused(format!(
            "cannot remove {:?}: {error}",
            path.display().to_string()
        ))),
    }
}

fn make(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Whether this user wrote it, and nobody else may.
#[cfg(unix)]
fn is_ours_alone(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    found.is_file()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o022 == 0
}

#[cfg(not(unix))]
fn is_ours_alone(found: &fs::Metadata) -> bool {
    found.is_file()
}
