use annals_core::fault::{Class, Reason};
use annals_core::header::{Header, SAFE_INTEGER_MAX};

fn full() -> Header {
    Header {
        version: 0,
        id: "a\"é".into(),
        created_at_ms: 5,
        cwd: Some("/w".into()),
        parent_session: Some("p".into()),
        seed_length: Some(3),
        delegation_depth: Some(1),
        extra: Some("{\"x\":[1, 1.50],\"\\u0079\":null}".into()),
    }
}

#[test]
fn the_line_has_its_order_and_reads_back() {
    let line = full().line();
    assert_eq!(
        line,
        "{\"type\":\"session\",\"version\":0,\"id\":\"a\\\"é\",\"createdAt\":5,\"cwd\":\"/w\",\"parentSession\":\"p\",\
         \"seedLength\":3,\"delegationDepth\":1,\"x\":[1, 1.50],\"\\u0079\":null}"
    );
    assert_eq!(Header::parse_line(&line), Ok(full()));
    let bare = Header {
        id: "s".into(),
        ..Header::default()
    };
    assert_eq!(
        bare.line(),
        r#"{"type":"session","version":0,"id":"s","createdAt":0}"#
    );
    assert_eq!(Header::parse_line(&bare.line()), Ok(bare));
}

#[test]
fn any_order_and_spacing_is_read() {
    let line = " { \"createdAt\" : 5.0 , \"z\" : { } , \"id\":\"s\",\"version\":0e0,\"type\":\"session\" } \r";
    let header = Header::parse_line(line).unwrap();
    assert_eq!((header.id.as_str(), header.created_at_ms), ("s", 5));
    assert_eq!(header.extra.as_deref(), Some("{\"z\":{ }}"));
}

#[test]
fn broken_lines() {
    let cases = [
        ("", Reason::LogEmpty, Class::Corrupt),
        ("  ", Reason::LogHeaderNotJson, Class::Corrupt),
        ("\u{feff}{}", Reason::LogHeaderNotJson, Class::Corrupt),
        ("null", Reason::LogHeaderInvalid, Class::Corrupt),
        (
            r#"{"type":"Session"}"#,
            Reason::LogHeaderInvalid,
            Class::Corrupt,
        ),
        (
            r#"{"type":"session","version":"0"}"#,
            Reason::LogHeaderInvalid,
            Class::Corrupt,
        ),
        // Another version is told before the shape is looked at.
        (
            r#"{"type":"session","version":1,"id":5}"#,
            Reason::LogVersionUnsupported,
            Class::UnsupportedVersion,
        ),
        (
            r#"{"type":"session","version":-1}"#,
            Reason::LogVersionUnsupported,
            Class::UnsupportedVersion,
        ),
        (
            r#"{"type":"session","version":0,"id":5,"createdAt":1}"#,
            Reason::LogHeaderInvalid,
            Class::Corrupt,
        ),
        (
            r#"{"type":"session","version":0,"id":"s"}"#,
            Reason::LogHeaderInvalid,
            Class::Corrupt,
        ),
        (
            r#"{"type":"session","version":0,"id":"s","createdAt":1.5}"#,
            Reason::LogHeaderInvalid,
            Class::Corrupt,
        ),
        (
            r#"{"type":"session","version":0,"id":"s","createdAt":1,"cwd":5}"#,
            Reason::HeaderCwdType,
            Class::Corrupt,
        ),
        (
            r#"{"type":"session","version":0,"id":"s","createdAt":1,"x":-0}"#,
            Reason::HeaderNotJson,
            Class::Corrupt,
        ),
    ];
    for (line, reason, class) in cases {
        let fault = Header::parse_line(line).unwrap_err();
        assert_eq!((fault.reason, fault.class()), (reason, class), "{line}");
    }
}

#[test]
fn headers_from_elsewhere_are_checked() {
    let reason = |header: Header| header.check().map_err(|fault| fault.reason);
    assert_eq!(reason(full()), Ok(()));
    assert_eq!(
        reason(Header {
            version: 1,
            ..full()
        }),
        Err(Reason::HeaderVersion)
    );
    assert_eq!(
        reason(Header {
            created_at_ms: SAFE_INTEGER_MAX,
            ..full()
        }),
        Ok(())
    );
    assert_eq!(
        reason(Header {
            created_at_ms: SAFE_INTEGER_MAX + 1,
            ..full()
        }),
        Err(Reason::HeaderCreatedAt)
    );
    assert_eq!(
        reason(Header {
            seed_length: Some(SAFE_INTEGER_MAX + 1),
            ..full()
        }),
        Err(Reason::HeaderSeedLength)
    );
    assert_eq!(
        reason(Header {
            cwd: Some("w".into()),
            ..full()
        }),
        Err(Reason::HeaderCwdNotAbsolute)
    );
    assert_eq!(
        reason(Header {
            extra: Some("{".into()),
            ..full()
        }),
        Err(Reason::HeaderNotJson)
    );
    assert_eq!(
        reason(Header {
            extra: Some("[]".into()),
            ..full()
        }),
        Err(Reason::HeaderNotRecord)
    );
    assert_eq!(
        reason(Header {
            extra: Some("{\"i\\u0064\":1}".into()),
            ..full()
        }),
        Err(Reason::HeaderNotRecord)
    );
}

#[test]
fn a_header_stays_one_line() {
    let header = Header {
        extra: Some("{\n  \"x\": [\r\n 1\n]\n}".into()),
        ..full()
    };
    let line = header.line();
    assert!(!line.contains(['\n', '\r']), "{line}");
    assert!(Header::parse_line(&line).is_ok());
}
