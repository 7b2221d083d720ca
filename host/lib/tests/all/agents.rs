//! What an agent loop begins with.

use annals::{AgentId, Annals, Backend, CreateOptions, ErrorCode, ResumeId};

use crate::handles::named;
use crate::{TURN, memory};

const HEADER: &str = r#"{"config":{"provider":"p","model":"m"},"system":"s"}"#;

#[test]
fn without_a_backend_nothing_can_be_resumed() {
    let annals = Annals::builder().backend(Backend::None).build().unwrap();
    let from = ResumeId::new("a");
    let agent = || AgentId::new("writer");
    for refused in [
        annals.resume_loop(agent(), &from),
        annals.resume_or_begin_loop(agent(), &from, CreateOptions::default()),
    ] {
        assert_eq!(refused.unwrap_err().code, ErrorCode::NotConfigured);
    }
    assert!(annals.live().unwrap().is_empty());
    let work = annals.begin_loop(agent(), named("a")).unwrap();
    assert_eq!((work.session.id(), work.next_turn), ("a", 1));
}

#[test]
fn a_loop_finds_where_it_stood() {
    let annals = memory();
    let from = ResumeId::new("a");
    let agent = AgentId::new("writer");
    assert_eq!(
        annals.resume_loop(agent.clone(), &from).unwrap_err().code,
        ErrorCode::NotFound
    );
    let work = annals
        .resume_or_begin_loop(agent.clone(), &from, CreateOptions::default())
        .unwrap();
    assert!(work.resumed.is_none());
    assert_eq!((work.session.id(), work.next_turn), ("a", 1));
    assert_eq!((work.request_header, work.messages.as_str()), (None, ""));

    let header =
        format!(r#"{{"type":"request/header","data":{{"header":{HEADER},"reason":"initial"}}}}"#);
    let interrupted = TURN.replace(":1", ":4");
    let lines: Vec<&str> = interrupted.lines().take(2).collect();
    work.session
        .append(&format!("{}\n{header}\n{}\n", lines[0], lines[1]))
        .unwrap();
    // a live session is not resumed a second time
    assert_eq!(
        annals.resume_loop(agent.clone(), &from).unwrap_err().code,
        ErrorCode::AlreadyExists
    );
    work.session.close().unwrap();

    let work = annals
        .resume_or_begin_loop(agent.clone(), &from, named("unused"))
        .unwrap();
    let resumed = work.resumed.unwrap();
    assert_eq!((&resumed.from, resumed.repair.closers), (&from, 1));
    assert_eq!((&work.agent, work.next_turn), (&agent, 5));
    assert_eq!(work.request_header.as_deref(), Some(HEADER));
    assert!(work.messages.contains("hello"));
    assert_eq!(work.messages.lines().count(), 1);
}

#[test]
fn a_loop_that_begins_may_name_its_session_otherwise() {
    let annals = memory();
    let (agent, from) = (AgentId::new("writer"), ResumeId::new("yesterday"));
    let work = annals
        .resume_or_begin_loop(agent, &from, named("today"))
        .unwrap();
    assert_eq!(work.session.id(), "today");
    assert_eq!(
        (work.agent.as_str(), from.as_str()),
        ("writer", "yesterday")
    );
}
