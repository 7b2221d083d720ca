//! Events from outside the loop: a plugin's own records, in a turn of their own where none is open.

use annals_core::event::{Envelope, Event, is_surface_eligible_type};
use annals_core::fault::quoted;
use annals_core::json::Value;
use annals_core::session::completion_bytes;
use annals_sdk::types::{Batch, Error, ErrorCode};
use annals_sdk::{Persistence, Result};

use crate::convert::record_too_long;
use crate::lease::hold;
use crate::live::{SessionKey, Slot};
use crate::observer::Observer;
use crate::room::LINE_BYTES;
use crate::session::check_writable;
use crate::store::{Store, live_of};

/// What only a loop may write: its order is what a turn is.
const BOUNDARIES: [&str; 4] = ["turn/start", "turn/end", "step/start", "step/end"];

/// Refuses types that are no log-only types of a plugin.
pub(crate) fn check_types(types: &[String]) -> Result<()> {
    for given in types {
        let why = if given.is_empty() {
            "empty"
        } else if is_surface_eligible_type(given) {
            "one that the model sees"
        } else if BOUNDARIES.contains(&given.as_str()) {
            "a boundary of the loop"
        } else {
            continue;
        };
        let message = format!(
            "out-of-band type {} is {why}; name a plugin's own type",
            quoted(given)
        );
        return Err(Error::new(ErrorCode::Invalid, "out-of-band-type", message)
            .fact("type", given.as_str()));
    }
    Ok(())
}

impl<P: Persistence, O: Observer<P>> Store<P, O> {
    /// Append one event `{type, data}` of a type that `configure` opted in: into the open turn, or else into a turn of
    /// its own without steps, begun by `trigger`, closed and flushed even when the event is refused. Answers the event
    /// alone. Leaving the live list waits until all of it is done.
    ///
    /// # Errors
    /// `invalid`: more than one line, reason `out-of-band-type`, or what `append` refuses in the event or in `trigger`;
    /// `not-found`: not live; `reentrant`, reason `out-of-band-in-progress`: from inside a callback of such a sequence;
    /// what `acquire` of the backend answers to a turn of its own, and `limit` where such a turn cannot be closed again:
    /// nothing was appended; what `append` and `flush` answer: after a failed flush the events stay in the session.
    pub fn append_out_of_band(
        &mut self,
        key: SessionKey,
        event: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<Batch> {
        let live = live_of(&mut self.slots, key)?;
        if live.writing.is_out_of_band {
            return Err(in_progress(live.id()));
        }
        check_writable(live)?;
        let line = one_line(event)?;
        check_opted_in(line, &self.options.out_of_band_types)?;
        live.writing.is_out_of_band = true;
        let appended = if live.session.has_open_turn() {
            self.append(key, line, time_ms)
        } else {
            self.append_in_own_turn(key, line, trigger, time_ms)
        };
        if let Some(live) = self.slots.get_mut(&key).and_then(Slot::open_mut) {
            live.writing.is_out_of_band = false;
        }
        self.leave_if_due(key);
        appended
    }

    fn append_in_own_turn(
        &mut self,
        key: SessionKey,
        line: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<Batch> {
        let live = live_of(&mut self.slots, key)?;
        let turn = live.next_turn();
        let start = start_line(turn, trigger)?;
        let end = format!(
            "{{\"type\":\"turn/end\",\"data\":{{\"turn\":{turn},\"reason\":{{\"kind\":\"completed\"}}}}}}\n"
        );
        // a turn that begins has to end, so there is room for its end, or it does not begin
        let next_seq = live.session.next_seq();
        let stored = |line: &str, seq: u64| line.len() as u64 + completion_bytes(seq, time_ms);
        let end_bytes = stored(&end, next_seq + 2);
        if let Some(info) = self.backend.info()
            && end_bytes > info.record_bytes_max
        {
            return Err(record_too_long(1, end_bytes, info.record_bytes_max));
        }
        let others = stored(&start, next_seq) + stored(line, next_seq + 1) + 1;
        let bytes = others + end_bytes;
        live.session.check_room_for(bytes as usize)?;
        self.check_growth(key, bytes + 3 * LINE_BYTES)?;
        let live = live_of(&mut self.slots, key)?;
        if self.backend.info().is_some() {
            // taken by the flush, it would leave events behind that a second try doubles
            hold(&mut self.backend, live)?;
        }
        self.append(key, &start, time_ms)?;
        let appended = self.append(key, line, time_ms);
        // what is told of the others may have used up the room
        let closed = self.append_in_room(key, &end, time_ms);
        let flushed = self.flush(key);
        let batch = appended?;
        closed?;
        flushed.map(|()| batch)
    }
}

/// The line that opens the turn; a trigger that is no JSON value is refused as data of it.
fn start_line(turn: u64, trigger: &str) -> Result<String> {
    if let Err(fault) = Value::parse(trigger) {
        let message = format!("the trigger is no JSON value: {fault}; give the trigger's object");
        return Err(
            Error::new(ErrorCode::Invalid, "append-data-not-json", message)
                .fact("type", "turn/start")
                .fact("path", fault.path),
        );
    }
    // outside of strings, which cannot hold them, these are whitespace
    let trigger = trigger.replace(['\n', '\r'], " ");
    Ok(format!(
        "{{\"type\":\"turn/start\",\"data\":{{\"turn\":{turn},\"trigger\":{trigger}}}}}\n"
    ))
}

fn one_line(event: &str) -> Result<&str> {
    let line = event.strip_suffix('\n').unwrap_or(event);
    if line.is_empty() || line.contains('\n') {
        let message = "an out-of-band append takes exactly one line; call it for each event";
        return Err(Error::new(
            ErrorCode::Invalid,
            "append-envelope-invalid",
            message,
        ));
    }
    Ok(line)
}

fn check_opted_in(line: &str, types: &[String]) -> Result<()> {
    let envelope = Envelope::read(line).map_err(|fault| {
        Error::new(ErrorCode::Invalid, "json-syntax", fault.to_string()).fact("path", fault.path)
    })?;
    let given = Event::of(&envelope, 0).event_type;
    if types.iter().any(|opted_in| *opted_in == given) {
        return Ok(());
    }
    let message = format!(
        "type {} was not opted in for out-of-band appends; name it at configure",
        quoted(&given)
    );
    Err(Error::new(ErrorCode::Invalid, "out-of-band-type", message).fact("type", given))
}

fn in_progress(id: &str) -> Error {
    let message = format!(
        "session {} has an out-of-band append in progress; call again when it has settled",
        quoted(id)
    );
    Error::new(ErrorCode::Reentrant, "out-of-band-in-progress", message).fact("id", id)
}
