//! Middleware that seals what sessions hold: the backend below stores, and can neither read nor change it unnoticed.
//!
//! Each stored line is sealed by itself with XChaCha20-Poly1305, under a random nonce and bound to its session, its seq, its
//! count of events and its time, so that it opens in its own place only. The header stays readable; a member of it
//! (`annals/sealed`) says that the log is sealed, and binds its other members to the key. Title and first prompt are
//! sealed in the summary. What stays open to whoever reads the medium: headers, seqs, times, lengths, who holds a lease.
//!
//! Absent: I/O of its own, and any way to tell that a log's end is missing or that a whole session is an older one.

mod cipher;
#[cfg(target_family = "wasm")]
mod component;
mod cut;
mod header;
mod key;
mod reading;
mod records;
mod settings;
mod summary;

use annals_core::header::Header;
use annals_sdk::types::{
    BackendInfo, Batch, Error, ErrorCode, Eviction, Listing, Page, SessionHeader, SessionSummary,
};
use annals_sdk::{Persistence, Result};

use cipher::Cipher;
use reading::Places;

use settings::{Settings, Unopened};

pub use settings::{KEY_ENV, KEY_ENV_SETTING, UNOPENED_SETTING};

/// What the middleware has of the world besides the backend below.
#[derive(Clone, Copy)]
pub struct Surroundings {
    /// The value of an environment variable, if it was granted.
    pub variable: fn(&str) -> Option<String>,
    /// Fills the bytes with randomness that nobody can foretell; false where there is none.
    pub fill_random: fn(&mut [u8]) -> bool,
}

impl Surroundings {
    /// The process's own, or those of the component.
    #[must_use]
    pub fn own() -> Surroundings {
        Surroundings {
            variable: |name| std::env::var(name).ok(),
            fill_random: |bytes| getrandom::fill(bytes).is_ok(),
        }
    }
}

/// A backend over another one. Before [`Persistence::configure`] every other call fails with `not-configured`.
pub struct Encrypt<P> {
    below: P,
    surroundings: Surroundings,
    ready: Option<Ready>,
    places: Places,
}

struct Ready {
    cipher: Cipher,
    /// The name of the environment variable, for messages.
    key_env: String,
    unopened: Unopened,
    record_bytes_max: u64,
}

impl<P: Persistence> Encrypt<P> {
    /// Over that backend.
    pub fn over(below: P, surroundings: Surroundings) -> Encrypt<P> {
        Encrypt {
            below,
            surroundings,
            ready: None,
            places: Places::default(),
        }
    }

    /// The backend below.
    pub fn below(&mut self) -> &mut P {
        &mut self.below
    }

    fn ready(&self) -> Result<&Ready> {
        self.ready.as_ref().ok_or_else(Error::not_configured)
    }

    /// For what writes.
    fn writable(&self) -> Result<&Ready> {
        let ready = self.ready()?;
        match ready.unopened {
            Unopened::Refuse => Ok(ready),
            Unopened::Skip => {
                let message = format!(
                    "nothing is written while setting {UNOPENED_SETTING} is skip; leave that out to write"
                );
                Err(Error::new(ErrorCode::ReadOnly, "unopened-skipped", message)
                    .fact("setting", UNOPENED_SETTING))
            }
        }
    }

    /// Refuses to go on with a session that this key did not seal. One without a readable header is the backend's to
    /// judge.
    fn check_key(&mut self, id: &str) -> Result<()> {
        self.writable()?;
        let mut page = self.below.load(id, 0, 1)?;
        match reading::take_header(&mut page) {
            Some(header) => header::opened(self.ready()?, header).map(drop),
            None => Ok(()),
        }
    }
}

impl<P: Persistence> Persistence for Encrypt<P> {
    fn configure(&mut self, settings: &[(String, String)]) -> Result<BackendInfo> {
        let Settings {
            key_env,
            unopened,
            rest,
        } = settings::split(settings)?;
        let key = key::from_variable(&key_env, (self.surroundings.variable)(&key_env))?;
        let cipher = Cipher::new(&key, self.surroundings.fill_random);
        let mut info = self.below.configure(&rest)?;
        info.record_bytes_max = records::plain_bytes_max(info.record_bytes_max);
        info.notes.push(format!(
            "encrypt: sealed with XChaCha20-Poly1305, the key is in {key_env}; headers, seqs, times and lengths stay readable"
        ));
        if unopened == Unopened::Skip {
            info.notes.push(format!(
                "encrypt: {UNOPENED_SETTING} is skip: what does not open is left out, and nothing can be written"
            ));
        }
        self.ready = Some(Ready {
            cipher,
            key_env,
            unopened,
            record_bytes_max: info.record_bytes_max,
        });
        self.places = Places::default();
        Ok(info)
    }

    fn acquire(
        &mut self,
        id: Option<&str>,
        holder: &str,
        evict: Option<&Eviction>,
    ) -> Result<String> {
        self.writable()?;
        // a lease is a change too, and with another key nothing is; what the backend cannot read it may yet delete
        if let Some(id) = id
            && let Ok(mut page) = self.below.load(id, 0, 1)
            && let Some(header) = reading::take_header(&mut page)
        {
            header::opened(self.ready()?, header)?;
        }
        self.below.acquire(id, holder, evict)
    }

    fn renew(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.below.renew(id, token)
    }

    fn release(&mut self, id: Option<&str>, token: &str) -> Result<()> {
        self.ready()?;
        self.below.release(id, token)
    }

    fn create(&mut self, header: &SessionHeader, token: &str, first: &Batch) -> Result<()> {
        let ready = self.writable()?;
        let id = header.id.as_str();
        Header::from(header.clone()).check()?;
        let sealed = header::sealed(ready, header)?;
        let first = records::sealed(ready, id, first)?;
        self.places.forget(id);
        self.below.create(&sealed, token, &first)
    }

    fn append(&mut self, id: &str, token: &str, events: &Batch) -> Result<()> {
        let events = records::sealed(self.writable()?, id, events)?;
        self.places.forget(id);
        self.below.append(id, token, &events)
    }

    fn load(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.load_opened(id, cursor, bytes_max)
    }

    fn truncate(&mut self, id: &str, token: &str, keep_events: u64) -> Result<()> {
        self.check_key(id)?;
        self.places.forget(id);
        self.below.truncate(id, token, keep_events)
    }

    fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        self.ready()?;
        let mut listing = self.below.list(cursor, count_max)?;
        let ready = self.ready()?;
        for entry in &mut listing.sessions {
            summary::open_entry(ready, entry);
        }
        Ok(listing)
    }

    fn has(&mut self, id: &str) -> Result<bool> {
        self.ready()?;
        self.below.has(id)
    }

    fn load_cut(&mut self, id: &str, cursor: u64, bytes_max: u32) -> Result<Page> {
        self.load_cut_opened(id, cursor, bytes_max)
    }

    fn delete(&mut self, id: &str, token: &str) -> Result<()> {
        self.writable()?;
        self.places.forget(id);
        self.below.delete(id, token)
    }

    fn update(&mut self, id: &str, summary: &SessionSummary) -> Result<()> {
        self.check_key(id)?;
        let sealed = summary::sealed(self.ready()?, id, summary)?;
        self.below.update(id, &sealed)
    }
}

impl Ready {
    /// Something that this key did not seal so. `what` says what, in words and as facts.
    fn unopened(&self, id: &str, line: Option<u64>, seq: Option<u64>) -> Error {
        let message = format!(
            "session {}: {} does not open: it was sealed with another key, moved or altered; nothing was changed, put the right key into {}, or read all else with {UNOPENED_SETTING} = skip",
            annals_core::fault::quoted(id),
            place(line, seq),
            self.key_env
        );
        corrupt("sealed-record-unopened", message, id, line, seq)
    }
}

/// A place in a log for people; line 1 is the header.
fn place(line: Option<u64>, seq: Option<u64>) -> String {
    let line = match line {
        Some(1) => return "the header".to_owned(),
        Some(line) => format!("line {line}"),
        None => "a line".to_owned(),
    };
    match seq {
        Some(seq) => format!("{line}, seq {seq},"),
        None => line,
    }
}

fn corrupt(reason: &str, message: String, id: &str, line: Option<u64>, seq: Option<u64>) -> Error {
    let mut error = Error::new(ErrorCode::Corrupt, reason, message).fact("id", id);
    for (name, value) in [("line", line), ("seq", seq)] {
        if let Some(value) = value {
            error = error.fact(name, value);
        }
    }
    error
}
