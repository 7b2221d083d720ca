//! The pure rules of a log, for readers that hold no store.

use std::sync::{Mutex, PoisonError};

use wasmtime::Store;

use crate::bindings::store::annals::session::types::Error as Answer;
use crate::bindings::store::exports::annals::session::log::Guest;
use crate::error::{Error, Result};
use crate::link::{Alone, Data};
use crate::records::{Fold, SessionHeader};

/// The rules of the store component over text: what a log's surface is, whether its events fit together, how an
/// interrupted turn is closed. Nothing is stored or configured.
///
/// It runs an instance of the component of its own, on the caller's thread and one call at a time, so that a long text
/// keeps no session waiting and an [`Observer`](crate::Observer) may call it from inside a callback. The instance keeps
/// the memory that the longest text took until the `Log` is dropped.
///
/// `lines` are whole event lines of one log from its first event on, as [`Log::unpack`] gives them; where it says so,
/// packed rows may stand among them. Every failure is `invalid`, unless a method says otherwise, and its reason is the
/// broken rule (`json-syntax` of what is no JSON, `row-*` of a malformed row); each may answer `unavailable` after the
/// component stopped in the middle of a call.
///
/// ```
/// use annals::Log;
///
/// let log = Log::new()?;
/// let lines = concat!(
///     r#"{"type":"user/message","seq":0,"time":1,"data":{"content":"hello"},"surfaceOp":"append"}"#,
///     "\n",
/// );
/// assert_eq!(log.fold_surface(lines)?.nodes, [0]);
/// assert_eq!(log.message_of(lines)?.as_deref(), Some(r#"{"role":"user","content":"hello"}"#));
/// assert_eq!(log.check_trace(lines).unwrap_err().reason, "trace-outside-turn");
/// # Ok::<(), annals::Error>(())
/// ```
pub struct Log {
    /// None after a trap, until the next call.
    instance: Mutex<Option<Alone>>,
}

impl Log {
    /// An instance of the bundled store component.
    ///
    /// # Errors
    /// `unavailable`, reason `bundle-missing`.
    pub fn new() -> Result<Self> {
        let instance = Mutex::new(Some(Alone::new()?));
        Ok(Self { instance })
    }

    /// The surface after all lines, and what each rewrite did.
    ///
    /// # Errors
    /// The first event that breaks a rule of the surface; detail has its `index`.
    pub fn fold_surface(&self, lines: &str) -> Result<Fold> {
        self.ask(|log, store| log.call_fold_surface(store, lines))
    }

    /// Whether events of this type are for the surface, and so need `surfaceOp`.
    ///
    /// # Errors
    /// `unavailable`.
    pub fn is_surface_type(&self, event_type: &str) -> Result<bool> {
        self.ask(|log, store| Ok(Ok(log.call_is_surface_type(store, event_type)?)))
    }

    /// Whether one event is for the surface and has a `surfaceOp`, however malformed.
    ///
    /// # Errors
    /// Reason `json-syntax`.
    pub fn is_surface_event(&self, line: &str) -> Result<bool> {
        self.ask(|log, store| log.call_is_surface_event(store, line))
    }

    /// The message that one event shows the model, as the text of one JSON object; none where it shows none.
    ///
    /// # Errors
    /// Reason `json-syntax`; `corrupt`, reason `message-invalid`.
    pub fn message_of(&self, line: &str) -> Result<Option<String>> {
        self.ask(|log, store| log.call_message_of(store, line))
    }

    /// The lines that close an interrupted last turn; empty when none is open.
    ///
    /// # Errors
    /// Reason `json-syntax` or `seed-envelope-invalid`.
    pub fn closers(&self, lines: &str) -> Result<String> {
        self.ask(|log, store| log.call_closers(store, lines))
    }

    /// Whether the events tell a well-formed story: turns, steps within them, results of calls. Packed rows are fine.
    ///
    /// # Errors
    /// Reason `trace-*`; detail has `index` and `seq` of the first event that does not fit. `seed-envelope-invalid`: an
    /// event without a seq.
    pub fn check_trace(&self, lines: &str) -> Result<()> {
        self.ask(|log, store| log.call_check_trace(store, lines))
    }

    /// The request header after these lines, in its canonical form: their newest snapshot, else `before`. Packed rows
    /// are passed over.
    ///
    /// # Errors
    /// Reason `seed-header-without-provider-model`: the snapshot holds no header with a config.
    pub fn request_header(&self, lines: &str, before: Option<&str>) -> Result<Option<String>> {
        self.ask(|log, store| log.call_request_header(store, lines, before))
    }

    /// The canonical form of a request header; none without a config.
    ///
    /// # Errors
    /// As [`Log::check_json`].
    pub fn canonical_header(&self, header: &str) -> Result<Option<String>> {
        self.ask(|log, store| log.call_canonical_header(store, header))
    }

    /// Whether two canonical request headers ask for the same, so that no new snapshot is due.
    ///
    /// # Errors
    /// As [`Log::check_json`].
    pub fn headers_equal(&self, a: &str, b: &str) -> Result<bool> {
        self.ask(|log, store| log.call_headers_equal(store, a, b))
    }

    /// The line of the last `turn/end` whose turn a message began. Packed rows are fine.
    ///
    /// # Errors
    /// Reason `json-syntax`; detail has `line`.
    pub fn last_message_turn_end(&self, lines: &str) -> Result<Option<String>> {
        self.ask(|log, store| log.call_last_message_turn_end(store, lines))
    }

    /// What a person is shown of a message's `data`, as JSON text; none where it holds nothing to show.
    ///
    /// # Errors
    /// As [`Log::check_json`].
    pub fn display_prompt(&self, data: &str) -> Result<Option<String>> {
        self.ask(|log, store| log.call_display_prompt(store, data))
    }

    /// Runs of streamed chunks become rows, wherever expanding gives back the very bytes.
    ///
    /// # Errors
    /// Reason `json-syntax`; detail has `line`.
    pub fn pack(&self, lines: &str) -> Result<String> {
        self.ask(|log, store| log.call_pack(store, lines))
    }

    /// Rows are expanded into event lines; other lines stay as they are.
    ///
    /// # Errors
    /// Reason `json-syntax` or `row-*`; detail has `line`.
    pub fn unpack(&self, lines: &str) -> Result<String> {
        self.ask(|log, store| log.call_unpack(store, lines))
    }

    /// Whether a text is exactly one JSON value that loses nothing as an IEEE double.
    ///
    /// # Errors
    /// Reason `json-syntax` or `json-number-lossy`; detail has `byte` and `path`, a JSON pointer.
    pub fn check_json(&self, text: &str) -> Result<()> {
        self.ask(|log, store| log.call_check_json(store, text))
    }

    /// The header of session `id`, given as the text of one JSON object.
    ///
    /// # Errors
    /// Reason `header-*`; `unsupported-version`.
    pub fn check_header(&self, header: &str, id: &str) -> Result<SessionHeader> {
        self.ask(|log, store| log.call_check_header(store, header, &id.to_owned()))
    }

    fn ask<R>(
        &self,
        call: impl FnOnce(&Guest, &mut Store<Data>) -> wasmtime::Result<std::result::Result<R, Answer>>,
    ) -> Result<R> {
        // A panic in between leaves an instance that can be called, or one that answers that it cannot.
        let mut place = self.instance.lock().unwrap_or_else(PoisonError::into_inner);
        let mut instance = match place.take() {
            Some(instance) => instance,
            None => Alone::new()?,
        };
        let answer = instance.ask(call)?;
        *place = Some(instance);
        answer.map_err(Error::from)
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Log").finish_non_exhaustive()
    }
}
