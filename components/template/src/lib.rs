//! A backend to start from: sessions as files of one directory, which the setting `root` names.
//!
//! `annals_sdk::blobs::Blobs` is the short way, seven functions over named runs of bytes. When whole files at a time
//! are too slow, or several processes write, implement `annals_sdk::Persistence` instead.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use annals_sdk::Result;
use annals_sdk::blobs::Blobs;
use annals_sdk::types::{BackendInfo, Durability, Error, LeaseScope};

/// Where the files are, once that is known.
#[derive(Default)]
pub struct Template {
    root: Option<PathBuf>,
}

// The one line that makes a component of it.
annals_sdk::export!(Template);

impl Template {
    fn root(&self) -> Result<&PathBuf> {
        self.root.as_ref().ok_or_else(Error::not_configured)
    }
}

impl Blobs for Template {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<()> {
        let mut root = Err(Error::bad_setting("root", "it has to name a directory"));
        for (name, value) in settings {
            match name.as_str() {
                "root" => root = Ok(PathBuf::from(value)),
                _ => return Err(Error::bad_setting(name, "only \"root\" is known")),
            }
        }
        let root = root?;
        fs::create_dir_all(&root)?;
        self.root = Some(root);
        Ok(())
    }

    fn info(&self) -> Result<BackendInfo> {
        self.root()?;
        Ok(BackendInfo {
            name: "template".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // nothing is synced: it survives the process, not power loss
            durability: Durability::Process,
            wants_packed: false,
            lease: LeaseScope::None,
            record_bytes_max: 64 << 20,
            notes: vec!["for one process at a time: there are no leases".to_owned()],
        })
    }

    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        match fs::read(self.root()?.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        // whoever reads finds the old file or the new one, never half of it
        let temporary = self.root()?.join("temporary");
        fs::write(&temporary, bytes)?;
        fs::rename(&temporary, self.root()?.join(name))?;
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.root()?.join(name);
        let before = fs::metadata(&path)?.len();
        let mut file = File::options().append(true).open(path)?;
        file.write_all(bytes).or_else(|error| {
            // all of it or none
            file.set_len(before)?;
            Err(error.into())
        })
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        match fs::remove_file(self.root()?.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn names(&mut self) -> Result<Vec<String>> {
        let entries = fs::read_dir(self.root()?)?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        Ok(entries
            .map(|entry| entry.map(name))
            .collect::<std::io::Result<_>>()?)
    }
}
