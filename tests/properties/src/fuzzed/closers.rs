//! Repair: what a crash left is kept as far as it is good, and its open turn is closed.

use annals_core::chunk_rows::unpack;
use annals_core::closers::closers as closing;
use annals_core::load::Loaded;
use annals_core::trace::check_trace;

use super::loading::{HEADER_BYTES, check_fault, load, outcome, seeded};
use super::views::Seen;
use super::{body, logs, random};

/// Every byte before the cut is kept, and the cut reaches to the end; the closers are those of the model; what was
/// repaired is accepted as a seed, needs no repair, and tells a well-formed story if it did so far.
pub fn closers(data: &[u8]) {
    let body = body(data);
    check_repair(&body);
    let mut random = random(data);
    for _ in 0..3 {
        check_repair(&body[..random.below(body.len() + 1)]);
        let mut damaged = body.to_vec();
        logs::damage(&mut damaged, &mut random);
        check_repair(&damaged);
    }
}

fn check_repair(body: &[u8]) {
    let Ok(Loaded { mut session, cut }) = load(body) else {
        return;
    };
    let before = Seen::of(&mut session);
    let kept = &before.lines;
    assert!(body.starts_with(kept.as_bytes()));
    assert_eq!(
        cut.as_ref()
            .map_or(body.len(), |cut| (cut.byte - HEADER_BYTES) as usize),
        kept.len()
    );
    assert_eq!(
        cut.as_ref().map_or(0, |cut| cut.bytes as usize),
        body.len() - kept.len()
    );
    let events = unpack(kept).expect("what was loaded expands");
    assert_eq!(closing(&events).as_ref(), Ok(&before.derived.closers));
    if let Some(events) = super::events::events(&events) {
        before.derived.check(&events);
    }

    let closed = session.close_turn().expect("an open turn can be closed");
    assert_eq!(closed.lines, before.derived.closers);
    let after = Seen::of(&mut session);
    assert_eq!(after.lines, format!("{kept}{}", closed.lines));
    assert_eq!(after.derived.closers, "");
    assert!(!session.has_open_turn());
    assert_eq!(session.close_turn().expect("closed").count, 0);

    let again = outcome(load(after.lines.as_bytes()));
    let (again, cut) = again.expect("what was repaired loads");
    assert_eq!(
        (&again, cut),
        (&after, None),
        "what was repaired needs no repair"
    );
    let mut seed = seeded(&after.lines).expect("what was repaired is accepted as a seed");
    assert_eq!(Seen::of(&mut seed), after);
    if check_trace(kept).inspect_err(check_fault).is_ok() {
        assert_eq!(check_trace(&after.lines), Ok(()));
    }
}
