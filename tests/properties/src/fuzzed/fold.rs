//! The fold: event by event, in batches, and as a whole.

use annals_core::event::Envelope;
use annals_core::json::Value;
use annals_core::session::Session;
use annals_core::surface::{Replacement, fold_surface};

use super::events::{event, events};
use super::loading::{check_fault, header, seeded};
use super::views::Seen;
use super::{random, text};
use crate::model;
use crate::random::Random;

/// Lines of an input that are looked at: every prefix is folded anew.
const LINES_MAX: usize = 48;

/// On every prefix the surface kept up event by event is the one folded as a whole; all that is seen of the session is
/// what the model makes of its events, and what a session that begins with the same bytes shows; an event or a batch
/// that is refused changes nothing, and an event is refused for the rule that the model says.
pub fn fold(data: &[u8]) {
    let text = text(data);
    let lines: Vec<&str> = text.split('\n').take(LINES_MAX).collect();
    check_prefixes(&lines);
    check_seeds(&lines);
    check_batches(&lines, &mut random(data));
}

/// Appends what is accepted.
fn check_prefixes(lines: &[&str]) {
    let mut session = Session::new(header()).unwrap();
    let mut before = Seen::of(&mut session);
    for line in lines {
        let result = session.append(line, 7).inspect_err(check_fault);
        let seen = Seen::of(&mut session);
        let Ok(appended) = result else {
            assert_eq!(seen, before, "a refused event left a trace");
            continue;
        };
        assert_eq!(seen.lines, format!("{}{}", before.lines, appended.lines));
        assert_eq!(appended.count, appended.lines.lines().count() as u64);
        let (nodes, _) = fold_surface(&seen.lines).expect("what was appended folds");
        assert_eq!(nodes, seen.derived.nodes);
        let shown = session.messages(0, u32::MAX);
        assert!(shown.is_ok(), "what was appended is shown: {shown:?}");
        let mut again = seeded(&seen.lines).expect("what was appended is accepted as a seed");
        assert_eq!(Seen::of(&mut again), seen);
        before = seen;
    }
    if let Some(events) = events(&before.lines) {
        before.derived.check(&events);
    }
}

/// Folds complete events, whatever their envelope says besides; a line that is refused is left out of what follows.
fn check_seeds(lines: &[&str]) {
    let (mut folded, mut events) = (String::new(), Vec::new());
    for line in lines {
        let (length, index) = (folded.len(), events.len() as u64);
        folded.push_str(line);
        folded.push('\n');
        let due = match Envelope::read(line) {
            Err(_) => Err("json-syntax"),
            Ok(envelope) if envelope.seq.and_then(Value::as_seq) != Some(index) => {
                Err("seq-not-contiguous")
            }
            Ok(_) => {
                let Some(event) = event(line, index) else {
                    return;
                };
                events.push(event);
                model::surface(&events).map_err(|refusal| refusal.label)
            }
        };
        match (fold_surface(&folded).inspect_err(check_fault), due) {
            (Ok((nodes, replacements)), Ok(due)) => {
                assert_eq!(nodes, due.nodes);
                let shadowed = |replacement: &Replacement| replacement.shadowed.clone();
                let due = due
                    .replacements
                    .into_iter()
                    .map(|replacement| replacement.shadowed);
                assert!(replacements.iter().map(shadowed).eq(due));
            }
            (Err(fault), Err(label)) => {
                assert_eq!(fault.reason.label(), label, "{fault}");
                assert_eq!(fault.number_of("index"), Some(index));
                folded.truncate(length);
                events.truncate(index as usize);
            }
            (whole, due) => panic!("{whole:?}, due is {due:?} of {line}"),
        }
    }
}

/// A batch is taken whole or not at all, and is taken when its lines are, one after another.
fn check_batches(lines: &[&str], random: &mut Random) {
    let mut session = Session::new(header()).unwrap();
    let mut rest = lines;
    while !rest.is_empty() {
        let (batch, others) = rest.split_at((1 + random.below(6)).min(rest.len()));
        rest = others;
        let mut one_by_one = session.clone();
        let is_good = batch
            .iter()
            .all(|line| one_by_one.append(&format!("{line}\n"), 7).is_ok());
        let before = Seen::of(&mut session);
        let result = session.append(&format!("{}\n", batch.join("\n")), 7);
        assert_eq!(result.is_ok(), is_good, "{result:?}");
        let expected = if is_good {
            Seen::of(&mut one_by_one)
        } else {
            before
        };
        assert_eq!(Seen::of(&mut session), expected);
    }
}
