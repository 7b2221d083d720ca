//! The pure rules, for readers that hold no store.

use std::sync::mpsc::{Sender, channel};

use annals::{Annals, Batch, CreateOptions, ErrorCode, Log, Observer};

use crate::TURN;

#[test]
fn rules_answer_and_failures_are_records() {
    let log = Log::new().unwrap();
    let session = crate::memory().create(CreateOptions::default()).unwrap();
    let lines = session.append(TURN).unwrap().lines;
    let fold = log.fold_surface(&lines).unwrap();
    assert_eq!(fold.nodes, session.surface().unwrap().nodes);
    log.check_trace(&lines).unwrap();
    assert_eq!(log.closers(&lines).unwrap(), "");
    assert_eq!(log.unpack(&log.pack(&lines).unwrap()).unwrap(), lines);
    let message = log.message_of(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        format!("{}\n", message.unwrap()),
        session.history().unwrap()
    );

    let error = log.check_trace(&lines.replace("\"turn\":1", "\"turn\":2"));
    let error = error.unwrap_err();
    assert_eq!(error.code, ErrorCode::Invalid);
    assert_eq!(error.reason, "trace-turn-number");
    let detail: serde_json::Value = serde_json::from_str(&error.detail).unwrap();
    assert_eq!(detail["index"], 0);
}

struct Reader {
    log: Log,
    seen: Sender<String>,
}

impl Observer for Reader {
    fn appended(&mut self, _id: &str, events: &Batch) {
        for line in events.lines.lines() {
            if let Some(message) = self.log.message_of(line).unwrap() {
                self.seen.send(message).unwrap();
            }
        }
    }
}

#[test]
fn an_observer_may_ask_from_inside_a_callback() {
    let (seen, messages) = channel();
    let log = Log::new().unwrap();
    let annals = Annals::builder()
        .backend(annals::Backend::Memory)
        .observer(Box::new(Reader { log, seen }))
        .build()
        .unwrap();
    let session = annals.create(CreateOptions::default()).unwrap();
    session.append(TURN).unwrap();
    assert_eq!(
        format!("{}\n", messages.recv().unwrap()),
        session.history().unwrap()
    );
}

#[test]
fn threads_may_share_it() {
    let log = Log::new().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| log.check_json("[1,2]").unwrap());
        }
    });
}
