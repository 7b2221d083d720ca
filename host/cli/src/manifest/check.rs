//! What no manifest may say, found without a look at the components.

use std::collections::BTreeMap;

use super::{Bundled, Directory, Inert, Manifest, Part};
use crate::sealing;

/// The longest name of a backend, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Where the root is in the eyes of a backend.
const GUEST_ROOT: &str = "/annals";

impl Manifest {
    pub(super) fn check(&self) -> Result<(), String> {
        check_name(&self.name)?;
        let mut guests = BTreeMap::new();
        for part in self.parts() {
            let of_part = |cause: String| match part.is_layer {
                true => format!("{}: {cause}", part.words()),
                false => cause,
            };
            part.check_digest().map_err(of_part)?;
            self.check_environment(part).map_err(of_part)?;
            part.check_settings().map_err(of_part)?;
            part.check_inert().map_err(of_part)?;
            for directory in &part.grants.directories {
                directory.check_guest().map_err(of_part)?;
                let before = guests.insert(&directory.guest, directory);
                if before.is_some_and(|before| before != directory) {
                    let guest = &directory.guest;
                    return Err(of_part(format!(
                        "two directories are called {guest:?}; give each a name of its own"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Names that can be set, and for a part that can see them: where `encrypt` finds its key nobody else finds anything.
    fn check_environment(&self, part: Part<'_>) -> Result<(), String> {
        let names = &part.grants.environment;
        let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(format!(
                "environment name {name:?} is none; give one without '=' and NUL"
            ));
        }
        let sealing = Some(Bundled::Encrypt);
        let is_sealed = self.parts().any(|part| part.bundled() == sealing);
        match names.first() {
            Some(name) if is_sealed && part.bundled() != sealing => Err(format!(
                "environment name {name:?} would not be seen: in a stack with encrypt only that sees the environment; leave the name out"
            )),
            Some(_) | None => Ok(()),
        }
    }
}

impl Part<'_> {
    fn check_digest(&self) -> Result<(), String> {
        let is_digest = |sha256: &str| {
            sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        match (self.bundled(), self.sha256) {
            (Some(_), None) => Ok(()),
            (Some(_), Some(_)) => {
                let name = self.component.display();
                Err(format!("{name} comes with annals, so it has no sha256; leave that out, or write ./{name} where a file is meant"))
            }
            (None, Some(sha256)) if is_digest(sha256) => Ok(()),
            (None, Some(_)) => Err("sha256 is no digest; give 64 hexadecimal digits, as annals backend inspect shows them".to_owned()),
            (None, None) => Err("sha256 is missing; give the 64 hexadecimal digits that annals backend inspect shows".to_owned()),
        }
    }

    /// Those of `encrypt` are for layers: a backend below one that its user chose is not to say which key that has.
    fn check_settings(&self) -> Result<(), String> {
        let mut names = self.settings.keys();
        match names.find(|name| name.starts_with(sealing::SETTINGS)) {
            Some(name) if !self.is_layer => Err(format!(
                "setting {name:?} is for a layer that seals; name it there, under [[layers]], or leave it out"
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Files are inert only where nothing is granted that needs them.
    fn check_inert(&self) -> Result<(), String> {
        if !self.grants.inert.contains(&Inert::Files) {
            return Ok(());
        }
        let needing = match self.bundled() {
            Some(Bundled::Jsonl) => "jsonl keeps sessions in them",
            _ if !self.grants.directories.is_empty() => "directories are asked for",
            _ => return Ok(()),
        };
        let cure = "leave \"files\" out of inert";
        Err(format!("files are inert although {needing}; {cure}"))
    }
}

impl Directory {
    /// A name that means one place, and not one in the root.
    fn check_guest(&self) -> Result<(), String> {
        let guest = self.guest.as_str();
        let is_in_root = guest
            .strip_prefix(GUEST_ROOT)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_in_root {
            return Err(format!(
                "directory {guest:?} would lie over the root, which is {GUEST_ROOT:?}; give it another name"
            ));
        }
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        let rest = guest.strip_prefix('/');
        if rest.is_none_or(|rest| !rest.is_empty() && !rest.split('/').all(is_plain)) {
            return Err(format!(
                "directory {guest:?} cannot be granted under that name; give an absolute one without empty parts, . and .."
            ));
        }
        Ok(())
    }
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
