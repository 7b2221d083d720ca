//! The parts of a stack: its layers and the backend below them, each with what it asks for.

use std::collections::BTreeMap;
use std::path::Path;

use annals_core::fault::quoted;

use super::{Grants, Limits, Manifest};

/// A component that comes with this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bundled {
    Jsonl,
    Memory,
    Encrypt,
}

/// One component of a stack.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// An absolute path, or the name of a bundled one.
    pub component: &'a Path,
    pub sha256: Option<&'a str>,
    pub settings: &'a BTreeMap<String, String>,
    pub grants: &'a Grants,
    pub limits: &'a Limits,
    pub is_layer: bool,
}

impl Bundled {
    /// The one that a manifest means by that path.
    pub(super) fn named(component: &Path, is_layer: bool) -> Option<Self> {
        match (component.to_str()?, is_layer) {
            ("jsonl", false) => Some(Self::Jsonl),
            ("memory", false) => Some(Self::Memory),
            ("encrypt", true) => Some(Self::Encrypt),
            _ => None,
        }
    }
}

impl Manifest {
    /// The layers, the outermost first, and then the backend.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let layers = self.layers.iter().map(|layer| Part {
            component: &layer.component,
            sha256: layer.sha256.as_deref(),
            settings: &layer.settings,
            grants: &layer.grants,
            limits: &layer.limits,
            is_layer: true,
        });
        let backend = Part {
            component: &self.component,
            sha256: self.sha256.as_deref(),
            settings: &self.settings,
            grants: &self.grants,
            limits: &self.limits,
            is_layer: false,
        };
        layers.chain([backend])
    }
}

impl Part<'_> {
    /// None where it comes from a file.
    pub fn bundled(&self) -> Option<Bundled> {
        Bundled::named(self.component, self.is_layer)
    }

    /// What messages call it.
    pub fn words(&self) -> String {
        match self.is_layer {
            true => format!(
                "its layer {}",
                quoted(&self.component.display().to_string())
            ),
            false => "its component".to_owned(),
        }
    }
}
