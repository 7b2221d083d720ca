//! The surface, folded from the first event on.

use super::Event;
use crate::json::Json;

/// What the model sees, and how it came to that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Seqs in the order of the surface.
    pub nodes: Vec<u64>,
    /// Every replace.
    pub replacements: Vec<Replacement>,
}

/// What one replace did.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// The event that came.
    pub seq: u64,
    /// The range as the event names it.
    pub start: u64,
    /// The range as the event names it.
    pub end: u64,
    /// Who went, in the order of the surface.
    pub shadowed: Vec<u64>,
}

/// The first broken rule: which event, and the label.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Index of the event.
    pub index: u64,
    /// The rule.
    pub label: &'static str,
}

/// The surface after these events.
pub fn surface(events: &[Event]) -> Result<Surface, Refusal> {
    let mut surface = Surface::default();
    for (index, event) in events.iter().enumerate() {
        if let Err(label) = take(&mut surface, events, event) {
            let index = index as u64;
            return Err(Refusal { index, label });
        }
    }
    Ok(surface)
}

fn take(surface: &mut Surface, events: &[Event], event: &Event) -> Result<(), &'static str> {
    let kinds = [
        "user/message",
        "assistant/message",
        "tool/result",
        "steering/message",
    ];
    if !kinds.contains(&event.kind.as_str()) {
        return match (&event.op, &event.sources) {
            (Some(_), _) => Err("surface-op-on-log-only-event"),
            (None, Some(_)) => Err("sources-on-log-only-event"),
            (None, None) => Ok(()),
        };
    }
    let op = event.op.as_ref().ok_or("surface-op-missing")?;
    if op.says("append") {
        sources(event)?;
        surface.nodes.push(event.seq);
        return Ok(());
    }
    let Json::Object(..) = op else {
        return Err("surface-op-invalid");
    };
    let (start, end) = range(op).ok_or("replace-op-invalid")?;
    let place = |seq| surface.nodes.iter().position(|node| *node == seq);
    let first = place(start).ok_or("replace-start-not-found")?;
    let last = place(end).ok_or("replace-end-not-found")?;
    if first > last {
        return Err("replace-range-reversed");
    }
    let shadowed = surface.nodes[first..=last].to_vec();
    let sources = sources(event)?;
    if !shadowed.iter().all(|seq| sources.contains(seq)) {
        return Err("sources-missing-shadowed");
    }
    if event.kind == "tool/result" {
        rewrites_content_only(event, &shadowed, events)?;
    }
    surface.nodes.splice(first..=last, [event.seq]);
    let seq = event.seq;
    surface.replacements.push(Replacement {
        seq,
        start,
        end,
        shadowed,
    });
    Ok(())
}

/// The range of a replace that has exactly its three members.
fn range(op: &Json) -> Option<(u64, u64)> {
    let known = ["op", "start", "end"].map(|name| name.encode_utf16().collect::<Vec<u16>>());
    let is_known = op.last_members().keys().all(|name| known.contains(name));
    (is_known && op.get("op")?.says("replace")).then_some(())?;
    Some((op.get("start")?.count()?, op.get("end")?.count()?))
}

fn sources(event: &Event) -> Result<Vec<u64>, &'static str> {
    let Some(sources) = &event.sources else {
        return Ok(Vec::new());
    };
    let Json::Array(elements, _) = sources else {
        return Err("sources-not-array");
    };
    let seqs: Option<Vec<u64>> = elements.iter().map(Json::count).collect();
    let seqs = seqs.ok_or("sources-not-seqs")?;
    if seqs.is_empty() && event.kind != "assistant/message" {
        return Err("sources-empty");
    }
    if (1..seqs.len()).any(|at| seqs[..at].contains(&seqs[at])) {
        return Err("sources-duplicate");
    }
    match seqs.iter().any(|seq| *seq >= event.seq) {
        true => Err("sources-not-earlier"),
        false => Ok(seqs),
    }
}

fn rewrites_content_only(
    event: &Event,
    shadowed: &[u64],
    events: &[Event],
) -> Result<(), &'static str> {
    let [target] = shadowed else {
        return Err("tool-rewrite-not-single");
    };
    let old = &events[*target as usize];
    if old.kind != "tool/result" {
        return Err("tool-rewrite-wrong-target");
    }
    let but_content = |data: &Json| {
        let mut data = data.clone();
        if let Json::Object(members, _) = &mut data {
            members.retain(|(name, _)| !Json::Plain(name.clone()).says("content"));
        }
        data
    };
    match but_content(&old.data).same(&but_content(&event.data)) {
        true => Ok(()),
        false => Err("tool-rewrite-changes-more-than-content"),
    }
}
