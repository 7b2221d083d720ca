//! What the checks are run against.

use std::marker::PhantomData;
use std::path::Path;

use annals_sdk::Persistence;
use tempfile::TempDir;

/// A backend under test and its medium.
pub trait Subject {
    /// Puts an empty medium in the place of the one before. No instance that was started runs any more.
    ///
    /// # Errors
    /// Why there is none, for people.
    fn empty(&mut self) -> Result<(), String>;

    /// What `configure` is called with over the present medium.
    fn settings(&self) -> Vec<(String, String)>;

    /// Starts another instance over the present medium, not configured. The one before was dropped, as if its process
    /// had been killed, or still runs, as another process's.
    ///
    /// # Errors
    /// Why it does not start, for people.
    fn start(&mut self) -> Result<Box<dyn Persistence>, String>;

    /// Where the medium is a directory that the checks may damage files in.
    fn directory(&self) -> Option<&Path> {
        None
    }
}

/// A native backend whose medium is a directory, named by one of its settings; a temporary one for each check.
pub struct InDirectory<B> {
    directory: Option<TempDir>,
    named_by: String,
    further: Vec<(String, String)>,
    backend: PhantomData<B>,
}

impl<B> InDirectory<B> {
    /// `setting` is the one that names the directory.
    #[must_use]
    pub fn new(setting: &str) -> Self {
        Self {
            directory: None,
            named_by: setting.to_owned(),
            further: Vec::new(),
            backend: PhantomData,
        }
    }

    /// Gives another setting.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.further.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl<B: Persistence + Default + 'static> Subject for InDirectory<B> {
    fn empty(&mut self) -> Result<(), String> {
        let made = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"));
        self.directory = Some(made?);
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        let directory = self.directory().unwrap_or(Path::new(""));
        let named = (self.named_by.clone(), directory.display().to_string());
        [vec![named], self.further.clone()].concat()
    }

    fn start(&mut self) -> Result<Box<dyn Persistence>, String> {
        Ok(Box::new(B::default()))
    }

    fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(TempDir::path)
    }
}

/// A native backend without settings whose medium is the instance itself.
pub struct InMemory<B>(PhantomData<B>);

impl<B> Default for InMemory<B> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<B: Persistence + Default + 'static> Subject for InMemory<B> {
    fn empty(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn start(&mut self) -> Result<Box<dyn Persistence>, String> {
        Ok(Box::new(B::default()))
    }
}
