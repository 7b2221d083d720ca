//! `sourceEventSeqs`: which earlier events an event on the surface was made of.

use super::fault_of;
use crate::event::Event;
use crate::fault::{Fault, Reason, quoted};
use crate::json::Kind;

/// Whether the sources are none, or are in order and earlier, as almost all are: then they hold every rule.
pub(super) fn has_plain_sources(event: &Event<'_>) -> bool {
    event.source_event_seqs.is_none_or(|sources| {
        let known = event.last_source;
        let last = known.or_else(|| sources.last_of_ascending_seqs());
        last.is_some_and(|last| last < event.seq)
    })
}

/// The sources in ascending order; none when the event names none.
pub(super) fn check_sources(event: &Event<'_>) -> Result<Vec<u64>, Fault> {
    let Some(sources) = event.source_event_seqs else {
        return Ok(Vec::new());
    };
    let fault = |reason, what: &str| {
        fault_of(
            event,
            reason,
            format!(
                "sourceEventSeqs of event {} {what}",
                quoted(&event.event_type)
            ),
        )
    };
    if sources.kind() != Kind::Array {
        return Err(fault(
            Reason::SourcesNotArray,
            "must be an array when present",
        ));
    }
    let seqs = sources.as_seqs();
    let mut seqs =
        seqs.ok_or_else(|| fault(Reason::SourcesNotSeqs, "must hold nothing but seqs"))?;
    // Only here an empty list says something: the provider's stream is known to have been empty.
    if seqs.is_empty() && event.event_type != "assistant/message" {
        return Err(fault(Reason::SourcesEmpty, "must not be empty"));
    }
    let late = seqs.iter().copied().find(|seq| *seq >= event.seq);
    if !seqs.is_sorted() {
        seqs.sort_unstable();
    }
    if let Some([twice, _]) = seqs.array_windows().find(|[one, next]| one == next) {
        return Err(fault(
            Reason::SourcesDuplicate,
            &format!("must not name seq {twice} twice"),
        ));
    }
    match late {
        None => Ok(seqs),
        Some(seq) => {
            let what = format!(
                "must name earlier events, and {seq} is not before {}",
                event.seq
            );
            Err(fault(Reason::SourcesNotEarlier, &what).number("actual", seq))
        }
    }
}

pub(super) fn check_shadowed(shadowed: &[u64], sources: &[u64]) -> Result<(), Fault> {
    let Some(missing) = shadowed
        .iter()
        .find(|seq| sources.binary_search(seq).is_err())
    else {
        return Ok(());
    };
    let message = format!(
        "surface replace: sourceEventSeqs must name every node that it removes; seq {missing} is missing"
    );
    Err(Fault::new(Reason::SourcesMissingShadowed, message).number("missing", *missing))
}
