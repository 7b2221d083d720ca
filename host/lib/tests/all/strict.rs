//! Strict mode, through both links: what does not fit together is not written.

use annals::{Annals, Backend, CreateOptions, ErrorCode, Link, OpenMode};

use crate::TURN;

fn store(root: &std::path::Path, link: Link, strict: bool) -> Annals {
    let builder = Annals::builder().backend(Backend::Jsonl).root(root);
    builder.link(link).strict(strict).build().unwrap()
}

fn named(id: &str) -> CreateOptions {
    CreateOptions {
        id: Some(id.to_owned()),
        ..CreateOptions::default()
    }
}

#[test]
fn what_does_not_fit_is_refused_and_what_is_stored_is_read() {
    for link in [Link::Static, Link::Dynamic] {
        let root = tempfile::tempdir().unwrap();
        let lenient = store(root.path(), link, false);
        let session = lenient.create(named("a")).unwrap();
        session.append(TURN).unwrap();
        session.append(TURN).unwrap();
        session.close().unwrap();
        lenient.shutdown().unwrap();

        let strict = store(root.path(), link, true);
        for mode in [OpenMode::Resume, OpenMode::Continue] {
            let error = strict.open("a", mode).unwrap_err();
            assert_eq!(
                (error.code, error.reason.as_str()),
                (ErrorCode::Corrupt, "trace-turn-number")
            );
        }
        let (session, repair) = strict.open("a", OpenMode::Inspect).unwrap();
        let refusal = repair.refusal.unwrap();
        let detail: serde_json::Value = serde_json::from_str(&refusal.detail).unwrap();
        assert_eq!((&detail["line"], &detail["seq"]), (&5.into(), &3.into()));
        assert_eq!(session.history().unwrap().lines().count(), 2);

        let session = strict.create(named("b")).unwrap();
        session.append(TURN).unwrap();
        let error = session.append(TURN).unwrap_err();
        assert_eq!(
            (error.code, error.reason.as_str()),
            (ErrorCode::Invalid, "trace-turn-number")
        );
        assert_eq!(session.next_seq().unwrap(), 3);
        session
            .append(&TURN.replace("\"turn\":1", "\"turn\":2"))
            .unwrap();
        session.close().unwrap();
        let (_, repair) = strict.open("b", OpenMode::Resume).unwrap();
        assert_eq!(repair.refusal, None);
    }
}
