//! The log's own types and faults as those of the interface, and back: for the store, and for backends that use
//! `annals_core`'s readers of one record and of the header.

use annals_core::fault::{Class, Fact, Fault};
use annals_core::header::Header;

use crate::types::{Error, ErrorCode, SessionHeader};

impl From<Class> for ErrorCode {
    fn from(class: Class) -> Self {
        match class {
            Class::Invalid => Self::Invalid,
            Class::Corrupt => Self::Corrupt,
            Class::UnsupportedVersion => Self::UnsupportedVersion,
            Class::SeqConflict => Self::SeqConflict,
            Class::NotFound => Self::NotFound,
            Class::AlreadyExists => Self::AlreadyExists,
            Class::Limit => Self::Limit,
            Class::ReadOnly => Self::ReadOnly,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let code = fault.class().into();
        let error = Self::new(code, fault.reason.label(), fault.message);
        let facts = fault.facts.into_iter();
        facts.fold(error, |error, (name, fact)| match fact {
            Fact::Number(value) => error.fact(name, value),
            Fact::Text(value) => error.fact(name, value),
        })
    }
}

impl From<SessionHeader> for Header {
    fn from(header: SessionHeader) -> Self {
        Self {
            version: header.version,
            id: header.id,
            created_at_ms: header.created_at_ms,
            cwd: header.cwd,
            parent_session: header.parent_session,
            seed_length: header.seed_length,
            delegation_depth: header.delegation_depth,
            extra: header.extra,
        }
    }
}

impl From<Header> for SessionHeader {
    fn from(header: Header) -> Self {
        Self {
            version: header.version,
            id: header.id,
            created_at_ms: header.created_at_ms,
            cwd: header.cwd,
            parent_session: header.parent_session,
            seed_length: header.seed_length,
            delegation_depth: header.delegation_depth,
            extra: header.extra,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::fault::Reason;

    #[test]
    fn a_fault_keeps_what_it_says() {
        let fault = Fault::new(Reason::HeaderIdMismatch, "words").corrupt(1, 7);
        let error = Error::from(fault.text("expected", "a\"b"));
        assert_eq!(error.code, ErrorCode::Corrupt);
        assert_eq!(
            (error.reason.as_str(), error.message.as_str()),
            ("header-id-mismatch", "line 1: words")
        );
        assert_eq!(error.detail, r#"{"line":1,"byte":7,"expected":"a\"b"}"#);
    }

    #[test]
    fn a_header_goes_there_and_back() {
        let header = Header {
            id: "a".to_owned(),
            cwd: Some("/w".to_owned()),
            extra: Some("{\"x\":1}".to_owned()),
            delegation_depth: Some(2),
            seed_length: Some(3),
            parent_session: Some("p".to_owned()),
            created_at_ms: 4,
            ..Header::default()
        };
        assert_eq!(Header::from(SessionHeader::from(header.clone())), header);
    }
}
