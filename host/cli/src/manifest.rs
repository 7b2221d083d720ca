//! `backend.toml`: a backend of somebody else, middleware over it, and what each of them asks for.

mod check;
mod part;
mod wider;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

pub use check::check_name;
pub use part::{Bundled, Part};

/// The longest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// A manifest. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What `--backend` calls it: small letters, digits, `-` and `_`.
    pub name: String,
    pub version: String,
    /// Path of the component, a relative one from the manifest's directory; or `jsonl` or `memory`, which are bundled.
    pub component: PathBuf,
    /// The SHA-256 of the component, in hexadecimal; none of a bundled one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Settings of the backend; `--set` adds to them and goes before them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    #[serde(default)]
    pub grants: Grants,
    #[serde(default)]
    pub limits: Limits,
    /// Middleware over the backend, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
}

/// Middleware over what comes after it. Its fields are as those of the backend; the bundled one is `encrypt`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    pub component: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    #[serde(default)]
    pub grants: Grants,
    #[serde(default)]
    pub limits: Limits,
}

/// What it asks to use, besides the root that `--root` names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Directories that are there.
    #[serde(default)]
    pub directories: Vec<Directory>,
    /// Addresses that it may connect to, each an IP address and a port.
    #[serde(default)]
    pub tcp: Vec<SocketAddr>,
    /// Names in the environment whose values it may see; one that is not set stays absent.
    #[serde(default)]
    pub environment: Vec<String>,
    /// What it imports but needs nothing of.
    #[serde(default)]
    pub inert: Vec<Inert>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Where it is; a relative path is meant from the manifest's directory.
    pub path: PathBuf,
    /// What the backend calls it, an absolute path.
    pub guest: String,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    /// Read and write.
    Write,
}

/// Imports that get nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Inert {
    Files,
    Network,
}

/// What it may use at most; without one the usual limit holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Of all its memories together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<usize>,
    /// For one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ms_max: Option<u64>,
    /// That one answer carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes_max: Option<usize>,
}

impl Manifest {
    /// Reads it; its paths become absolute, and those of directories lead through no link: whoever can exchange a link is
    /// not to say what was accepted.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let text = read_text(path).map_err(|cause| {
            Failure::usage(format!("manifest {shown:?} cannot be read: {cause}"))
        })?;
        let manifest: Self = parsed(&text)
            .map_err(|cause| Failure::usage(format!("manifest {shown:?}, {cause}")))?;
        let manifest = manifest.beside(path).map_err(|error| {
            Failure::usage(format!("manifest {shown:?} has no absolute path: {error}"))
        })?;
        manifest
            .check()
            .map_err(|cause| Failure::usage(format!("manifest {shown:?}: {cause}")))?;
        Ok(manifest)
    }

    fn beside(mut self, path: &Path) -> std::io::Result<Self> {
        let path = std::path::absolute(path)?;
        let directory = path.parent().unwrap_or(Path::new("/"));
        let base = (&mut self.component, &mut self.grants, false);
        let layers = self.layers.iter_mut();
        let layers = layers.map(|layer| (&mut layer.component, &mut layer.grants, true));
        for (component, grants, is_layer) in layers.chain([base]) {
            if Bundled::named(component, is_layer).is_none() {
                *component = directory.join(&component);
            }
            for granted in &mut grants.directories {
                let path = directory.join(&granted.path);
                // one that is not there is refused when it is needed
                granted.path = path.canonicalize().unwrap_or(path);
            }
        }
        Ok(self)
    }
}

impl Directory {
    /// For people.
    pub fn words(&self) -> String {
        let how = match self.access {
            Access::Read => "read",
            Access::Write => "read and write",
        };
        format!(
            "directory {:?} as {:?}, {how}",
            self.path.display().to_string(),
            self.guest
        )
    }
}

/// Reads a short regular file as text.
pub fn read_text(path: &Path) -> Result<String, String> {
    let found = fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() || found.len() > MANIFEST_BYTES_MAX {
        return Err("it is no regular file of some kilobytes".to_owned());
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// TOML as a value; a fault in it begins with its line.
pub fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let cause = error.message().replace('\n', "; ");
        format!("line {line}: {cause}")
    })
}
