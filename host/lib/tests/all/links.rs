//! Both backends in both link modes do the same.

use annals::{
    Annals, Backend, CreateOptions, ErrorCode, ForkOptions, Link, OpenMode, SessionSummary,
};

use crate::{TURN, artefact};

fn variants() -> Vec<(&'static str, Backend, Option<Link>)> {
    let mut variants = Vec::new();
    for link in [None, Some(Link::Static), Some(Link::Dynamic)] {
        variants.push(("jsonl", Backend::Jsonl, link));
        variants.push(("memory", Backend::Memory, link));
        variants.push(("jsonl", Backend::File(artefact("jsonl.wasm")), link));
        let bytes = std::fs::read(artefact("memory.wasm")).unwrap();
        variants.push(("memory", Backend::Bytes(bytes), link));
    }
    variants
}

#[test]
fn a_session_goes_to_the_medium_and_comes_back() {
    for (name, backend, link) in variants() {
        let root = tempfile::tempdir().unwrap();
        let mut builder = Annals::builder().backend(backend).root(root.path());
        if let Some(link) = link {
            builder = builder.link(link);
        }
        let annals = builder.clock(|| 1_700_000_000_000).build().unwrap();
        assert_eq!(annals.info().unwrap().name, name);
        round_trip(&annals);
        annals.shutdown().unwrap();
        let logs = walk(root.path());
        assert_eq!(logs, if name == "jsonl" { 2 } else { 0 }, "{name} {link:?}");
    }
}

fn round_trip(annals: &Annals) {
    let options = CreateOptions {
        cwd: Some("/tmp".into()),
        ..CreateOptions::default()
    };
    let session = annals.create(options).unwrap();
    let id = session.id().to_owned();
    assert_eq!(session.header().cwd.as_deref(), Some("/tmp"));
    assert_eq!(annals.live().unwrap(), std::slice::from_ref(&id));
    assert!(!annals.has(&id).unwrap());

    let batch = session.append(TURN).unwrap();
    assert_eq!(
        (batch.first_seq, batch.count, batch.last_time_ms),
        (0, 3, 1_700_000_000_000)
    );
    session.flush().unwrap();
    assert!(annals.has(&id).unwrap());
    let history = session.history().unwrap();
    assert_eq!(history.lines().count(), 1);
    assert_eq!(session.surface().unwrap().nodes, [1]);
    session.close().unwrap();
    session.close().unwrap();
    assert_eq!(session.append(TURN).unwrap_err().code, ErrorCode::NotFound);
    drop(session);

    let (session, repair) = annals.open(&id, OpenMode::Resume).unwrap();
    assert_eq!((repair.closers, repair.cut_bytes), (0, 0));
    assert_eq!(session.history().unwrap(), history);
    assert_eq!(session.events(0, 1 << 20).unwrap().lines, batch.lines);
    assert_eq!(session.next_seq().unwrap(), 3);
    assert_eq!(annals.read(&id, 0, 1 << 20).unwrap().lines, batch.lines);

    let options = ForkOptions {
        boundary: Some(2),
        child: Some("child".into()),
        cwd: None,
    };
    let child = annals.fork(&id, options).unwrap();
    child.flush().unwrap();
    let summary = SessionSummary {
        title: Some("a title".into()),
        ..SessionSummary::default()
    };
    annals.update("child", summary).unwrap();
    let sessions = annals.sessions().unwrap();
    assert_eq!(sessions.len(), 2);
    let listed = sessions.iter().find(|entry| entry.id == "child").unwrap();
    assert_eq!(listed.summary.title.as_deref(), Some("a title"));
    assert_eq!(annals.delete("child").unwrap_err().reason, "session-live");
    assert_eq!(
        annals.open("nothing", OpenMode::Resume).unwrap_err().code,
        ErrorCode::NotFound
    );
}

fn walk(root: &std::path::Path) -> usize {
    let mut logs = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            logs += walk(&path);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            logs += 1;
        }
    }
    logs
}
