//! Backends that were added: what was accepted of each, in a file of the user's configuration.
//!
//! What is used is the manifest as it is now, as long as it asks for no more than was accepted and its component has the
//! bytes that were accepted.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use annals::Need;
use annals_core::fault::quoted;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::manifest::{self, Access, Inert, Manifest};
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

/// A backend that was added, with all that it was accepted to use. `settings` go before the manifest's.
pub fn place(name: &str, settings: &[(String, String)]) -> Result<annals::Place, Failure> {
    let record = read(name)?.ok_or_else(|| {
        Failure::usage(format!(
            "no backend {} was added; give jsonl, memory, the path of a component, or a name that annals backend list shows",
            quoted(name)
        ))
    })?;
    let (manifest, bytes) = record.present()?;
    let mut place = annals::Place::new(annals::Backend::Bytes(bytes))
        .named(format!("backend {}", quoted(name)));
    for (key, value) in &manifest.settings {
        if !settings.iter().any(|(given, _)| given == key) {
            place = place.setting(key, value);
        }
    }
    for granted in &manifest.grants.directories {
        let access = match granted.access {
            Access::Read => annals::Access::Read,
            Access::Write => annals::Access::ReadWrite,
        };
        place = place.directory(&granted.path, &granted.guest, access);
    }
    for address in &manifest.grants.tcp {
        place = place.tcp(*address);
    }
    for variable in &manifest.grants.environment {
        let Some(value) = std::env::var_os(variable) else {
            continue;
        };
        let value = value.into_string().map_err(|_| {
            Failure::usage(format!(
                "the value of {variable} is not UTF-8; set another one"
            ))
        })?;
        place = place.environment(variable, value);
    }
    for inert in &manifest.grants.inert {
        place = place.inert(match inert {
            Inert::Files => Need::Files,
            Inert::Network => Need::Network,
        });
    }
    let limits = manifest.limits;
    if let Some(bytes) = limits.memory_bytes_max {
        place = place.memory_bytes_max(bytes);
    }
    if let Some(ms) = limits.call_ms_max {
        place = place.call_ms_max(ms);
    }
    if let Some(bytes) = limits.page_bytes_max {
        place = place.page_bytes_max(bytes);
    }
    Ok(place)
}

impl Record {
    /// The manifest and the component as they are now; refused where that is more than was accepted, or something else.
    pub fn present(&self) -> Result<(Manifest, Vec<u8>), Failure> {
        let accepted = &self.accepted;
        let manifest = Manifest::read(&self.manifest)?;
        if manifest.name != accepted.name {
            let now = quoted(&manifest.name);
            return Err(self.asked_again(&format!("its manifest is now of {now}")));
        }
        let bytes = annals::component_bytes(&manifest.component).map_err(Failure::configuration)?;
        let found = annals::component_sha256(&bytes);
        let is_same = |digest: &str| digest.eq_ignore_ascii_case(&accepted.sha256);
        if !is_same(&found) || !is_same(&manifest.sha256) {
            let cause = format!(
                "its component has changed: sha256 {} was accepted, {found} is there",
                accepted.sha256
            );
            return Err(self.asked_again(&cause));
        }
        let beyond = manifest.beyond(accepted);
        if !beyond.is_empty() {
            let cause = format!("it wants more than was accepted: {}", beyond.join("; "));
            return Err(self.asked_again(&cause));
        }
        Ok((manifest, bytes))
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
