//! A file that a command makes: whole and durable under its name, or not there.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Makes the file with what `fill` writes; one that exists is left alone.
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path.file_name().is_none() {
        return Err(Failure::refused(format!(
            "{path:?} is no name for a file; give one"
        )));
    }
    let directory = match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        Some(_) | None => Path::new("."),
    };
    made(path, directory, fill).map_err(|error| failed(path, directory, &error))
}

fn made(
    path: &Path,
    directory: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory)?;
    let mut buffered = BufWriter::new(file.as_file_mut());
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    std::fs::File::open(directory)?.sync_all()
}

/// Names what people asked for, not the temporary file beside it, and what to do.
fn failed(path: &Path, directory: &Path, error: &io::Error) -> Failure {
    // the library puts the name of its file behind the cause
    let text = error.to_string();
    let cause = text.split(" at path ").next().unwrap_or_default();
    let cure = match error.kind() {
        ErrorKind::AlreadyExists => {
            return Failure::refused(format!("{path:?} exists; name a file that does not"));
        }
        ErrorKind::NotFound => format!("; there is no directory {directory:?}, make it first"),
        ErrorKind::NotADirectory => format!("; {directory:?} is no directory, give one"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("; give a place in a directory that you may write, {directory:?} is none")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or give a place elsewhere".to_owned()
        }
        ErrorKind::FileTooLarge => "; raise ulimit -f".to_owned(),
        ErrorKind::InvalidFilename => "; give a shorter name".to_owned(),
        _ => String::new(),
    };
    Failure::refused(format!("cannot write {path:?}: {cause}{cure}"))
}
