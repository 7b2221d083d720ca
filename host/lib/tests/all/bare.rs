//! A backend by itself: what it answers, and nothing else.

use std::path::Path;

use annals::{Bare, Batch, ErrorCode, Need, Place, SessionHeader};

use crate::faulty::{Fault, given};

fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: 0,
        id: id.to_owned(),
        created_at_ms: 1,
        cwd: None,
        parent_session: None,
        seed_length: None,
        delegation_depth: None,
        extra: None,
    }
}

#[test]
fn nobody_configures_it_and_each_instance_has_its_root() {
    let roots = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut bare = Bare::new(Place::jsonl(roots[0].path())).unwrap();
    assert!(bare.has_root());
    let settings = bare.settings().to_vec();
    assert_eq!(settings, [("root".to_owned(), "/annals".to_owned())]);

    let mut first = bare.start(roots[0].path()).unwrap();
    assert_eq!(first.has("a").unwrap_err().code, ErrorCode::NotConfigured);
    assert_eq!(first.configure(&settings).unwrap().name, "jsonl");
    let token = first.acquire(Some("a"), "{}", None).unwrap();
    let line = "{\"type\":\"x\",\"seq\":0,\"time\":5,\"data\":{}}\n";
    let batch = Batch {
        first_seq: 0,
        count: 1,
        last_time_ms: 5,
        lines: line.to_owned(),
    };
    first.create(&header("a"), &token, &batch).unwrap();
    assert_eq!(first.load("a", 0, 1 << 16).unwrap().lines, line);

    // Two run at a time, each over what its own root holds.
    let mut second = bare.start(roots[1].path()).unwrap();
    second.configure(&settings).unwrap();
    assert!(!second.has("a").unwrap());
    let mut third = bare.start(roots[0].path()).unwrap();
    third.configure(&settings).unwrap();
    assert!(third.has("a").unwrap());
    assert!(first.has("a").unwrap());
}

#[test]
fn one_that_stopped_stays_stopped() {
    let root = tempfile::tempdir().unwrap();
    let place = Place::jsonl(root.path()).memory_bytes_max(4 << 20);
    let mut bare = Bare::new(place).unwrap();
    let settings = bare.settings().to_vec();
    let mut started = bare.start(root.path()).unwrap();
    started.configure(&settings).unwrap();
    let text = "x".repeat(8 << 20);
    let batch = Batch {
        first_seq: 0,
        count: 1,
        last_time_ms: 5,
        lines: format!("{{\"type\":\"x\",\"seq\":0,\"time\":5,\"data\":\"{text}\"}}\n"),
    };
    let error = started.create(&header("a"), "1", &batch).unwrap_err();
    assert_eq!(
        (error.code, error.reason.as_str()),
        (ErrorCode::Unavailable, "backend-limit")
    );
    assert!(
        error.message.ends_with("; start another instance"),
        "{}",
        error.message
    );
    for _ in 0..2 {
        let error = started.configure(&settings).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Unavailable, "backend-not-running")
        );
    }
    let mut again = bare.start(root.path()).unwrap();
    assert!(again.configure(&settings).is_ok());
}

#[test]
fn what_cannot_be_used_is_refused_at_once() {
    let none = Bare::new(Place::new(annals::Backend::None)).unwrap_err();
    assert_eq!(none.reason, "backend-missing");
    let greedy = Bare::new(Place::new(given(Fault::Greed))).unwrap_err();
    assert_eq!(greedy.reason, "component-import-missing");
    // What only imports something is told that it gets nothing of it.
    let memory = Place::new(annals::Backend::Memory).inert(Need::Network);
    let mut memory = Bare::new(memory).unwrap();
    assert!(!memory.has_root());
    let mut started = memory.start(Path::new("/nowhere")).unwrap();
    assert!(started.configure(&[]).is_ok());
}

#[test]
fn messages_have_the_name_that_was_given() {
    let place = Place::new(given(Fault::Trap)).named("backend \"mine\"");
    let mut started = Bare::new(place).unwrap().start(Path::new("/")).unwrap();
    for reason in ["backend-trapped", "backend-not-running"] {
        let error = started.has("a").unwrap_err();
        assert_eq!(error.reason, reason);
        let begins = error.message.starts_with("backend \"mine\" ");
        assert!(begins, "{}", error.message);
    }
}
