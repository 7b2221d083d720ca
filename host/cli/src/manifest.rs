//! `backend.toml`: a backend of somebody else, and what it asks for.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The longest manifest that is read.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// The longest name of a backend, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A manifest. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What `--backend` calls it: small letters, digits, `-` and `_`.
    pub name: String,
    pub version: String,
    /// Path of the component; a relative one is meant from the manifest's directory.
    pub component: PathBuf,
    /// The SHA-256 of the component, in hexadecimal.
    pub sha256: String,
    /// Settings of the backend; `--set` adds to them and goes before them.
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
    /// Reads it; its paths become absolute.
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
        self.component = directory.join(&self.component);
        for granted in &mut self.grants.directories {
            granted.path = directory.join(&granted.path);
        }
        Ok(self)
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let is_digest =
            self.sha256.len() == 64 && self.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Err("sha256 is no digest; give 64 hexadecimal digits, as annals backend inspect shows them".to_owned());
        }
        Ok(())
    }

    /// What this asks for and `accepted` did not, in words.
    pub fn beyond(&self, accepted: &Self) -> Vec<String> {
        let mut beyond = self.grants.beyond(&accepted.grants);
        let now = &self.limits;
        let before = &accepted.limits;
        let mut limit = |name: &str, now: Option<u64>, before: Option<u64>| {
            // Where none was accepted the usual one was, which only the library knows.
            let is_wider = match (now, before) {
                (Some(now), Some(before)) => now > before,
                (None, None) => false,
                (None, Some(_)) | (Some(_), None) => true,
            };
            if is_wider {
                let now = now.map_or_else(|| "the usual".to_owned(), |now| now.to_string());
                beyond.push(format!("{name} {now}"));
            }
        };
        let wide = |bytes: Option<usize>| bytes.map(|bytes| bytes as u64);
        limit(
            "memory_bytes_max",
            wide(now.memory_bytes_max),
            wide(before.memory_bytes_max),
        );
        limit("call_ms_max", now.call_ms_max, before.call_ms_max);
        limit(
            "page_bytes_max",
            wide(now.page_bytes_max),
            wide(before.page_bytes_max),
        );
        beyond
    }
}

impl Grants {
    fn beyond(&self, accepted: &Self) -> Vec<String> {
        let mut beyond = Vec::new();
        for asked in &self.directories {
            let is_covered = |granted: &Directory| {
                granted.path == asked.path
                    && granted.guest == asked.guest
                    && granted.access >= asked.access
            };
            if !accepted.directories.iter().any(is_covered) {
                beyond.push(asked.words());
            }
        }
        for asked in &self.tcp {
            if !accepted.tcp.contains(asked) {
                beyond.push(format!("TCP connections to {asked}"));
            }
        }
        for asked in &self.environment {
            if !accepted.environment.contains(asked) {
                beyond.push(format!("environment name {asked:?}"));
            }
        }
        beyond
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

/// Whether `--backend` can call a backend so.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
    };
    let is_name = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('-')
        && name.bytes().all(is_plain);
    if !is_name {
        return Err(format!(
            "{name:?} is no name of a backend; give at most {NAME_BYTES_MAX} of a-z, 0-9, - and _"
        ));
    }
    if name == "jsonl" || name == "memory" {
        return Err(format!("{name:?} is a bundled backend; give another name"));
    }
    Ok(())
}
