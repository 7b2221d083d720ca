//! What somebody else's backend says of an error, before anybody acts on it or shows it: bounded, on one line, and with the
//! name of who says so. What only the host, the store or an observer can know, it cannot say.

use serde_json::{Map, Value};

use crate::bindings::store::annals::session::types;
use crate::error::Error;
use crate::records::ErrorCode;

/// Of its texts, as they are passed on.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
const REASON_BYTES_MAX: usize = 64;
const DETAIL_BYTES_MAX: usize = 64 << 10;

/// How reasons begin that are not its own to give, and what goes before them when it does.
const RESERVED: [&str; 6] = [
    "backend-",
    "component-",
    "grant-",
    "listener-",
    "reentrant",
    "store-",
];
const REPORTED: &str = "reported";

/// The error as others may see it.
pub(super) fn received(error: types::Error, component: &str) -> types::Error {
    let code = match error.code {
        // from inside a callback calls only who is told of events
        ErrorCode::Reentrant => ErrorCode::Other,
        code => code,
    };
    let message = line(&error.message);
    let error = Error {
        code,
        reason: label(error.reason),
        message: match is_about_medium(code) {
            true => from(&message, component),
            false => message,
        },
        detail: facts(error.detail),
    };
    error.fact("component", component).into()
}

/// An error of the store about what the backend keeps, with the name of the component. What the backend said itself has
/// it already.
pub(super) fn named(error: Error, component: &str) -> Error {
    let is_veto = error.code == ErrorCode::Other && error.reason == "listener-error";
    if is_veto || !is_about_medium(error.code) || error.has_fact("component") {
        return error;
    }
    let message = from(&error.message, component);
    Error { message, ..error }.fact("component", component)
}

fn from(message: &str, component: &str) -> String {
    format!("{message} (from {component})")
}

fn is_about_medium(code: ErrorCode) -> bool {
    match code {
        ErrorCode::Corrupt
        | ErrorCode::UnsupportedVersion
        | ErrorCode::SeqConflict
        | ErrorCode::ReadOnly
        | ErrorCode::NoSpace
        | ErrorCode::Unavailable
        | ErrorCode::Other => true,
        ErrorCode::NotFound
        | ErrorCode::AlreadyExists
        | ErrorCode::Busy
        | ErrorCode::Invalid
        | ErrorCode::Limit
        | ErrorCode::NotConfigured
        | ErrorCode::Reentrant => false,
    }
}

/// Kebab case, and none of those that others give.
fn label(reason: String) -> String {
    let is_label = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if reason.is_empty() || reason.len() > REASON_BYTES_MAX || !reason.bytes().all(is_label) {
        return REPORTED.to_owned();
    }
    match RESERVED.iter().any(|start| reason.starts_with(start)) {
        true => format!("{REPORTED}-{reason}"),
        false => reason,
    }
}

/// Without what moves the cursor of a terminal, or turns the direction of what follows.
fn line(message: &str) -> String {
    let mut line = String::new();
    for char in message.chars() {
        let turns = matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let before = line.len();
        match char.is_control() || turns {
            true => line.extend(char.escape_debug()),
            false => line.push(char),
        }
        if line.len() > MESSAGE_BYTES_MAX {
            line.truncate(before);
            line.push('…');
            break;
        }
    }
    line
}

/// An object, as it is or empty.
fn facts(detail: String) -> String {
    let is_short = detail.len() <= DETAIL_BYTES_MAX;
    match is_short && serde_json::from_str::<Map<String, Value>>(&detail).is_ok() {
        true => detail,
        false => "{}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: ErrorCode, reason: &str, message: &str, detail: &str) -> types::Error {
        let error = types::Error {
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            detail: detail.to_owned(),
        };
        received(error, "theirs")
    }

    #[test]
    fn reasons_are_its_own() {
        let longest = "r".repeat(REASON_BYTES_MAX);
        let too_long = "r".repeat(REASON_BYTES_MAX + 1);
        for (reason, passed_on) in [
            ("io-failed", "io-failed"),
            ("session-not-found", "session-not-found"),
            ("listener-error", "reported-listener-error"),
            ("backend-timeout", "reported-backend-timeout"),
            ("store-trapped", "reported-store-trapped"),
            ("", "reported"),
            ("A", "reported"),
            ("a\u{1b}", "reported"),
            (&longest, &longest),
            (&too_long, "reported"),
        ] {
            let error = said(ErrorCode::Other, reason, "m", "{}");
            assert_eq!(error.reason, passed_on);
        }
        assert_eq!(
            said(ErrorCode::Reentrant, "x", "m", "{}").code,
            ErrorCode::Other
        );
    }

    #[test]
    fn messages_are_one_line_of_a_bounded_length() {
        let message = |said_so: &str| said(ErrorCode::Busy, "x", said_so, "{}").message;
        assert_eq!(
            message("a \"é\"\n\u{1b}[2J\u{202e}"),
            r#"a "é"\n\u{1b}[2J\u{202e}"#
        );
        let longest = "m".repeat(MESSAGE_BYTES_MAX);
        assert_eq!(message(&longest), longest);
        assert_eq!(message(&format!("{longest}m")), format!("{longest}…"));
        let named = said(ErrorCode::Other, "x", "m", "{}").message;
        assert_eq!(named, "m (from theirs)");
    }

    #[test]
    fn facts_are_an_object_of_a_bounded_length_and_name_the_component() {
        let detail = |said_so: &str| said(ErrorCode::Busy, "x", "m", said_so).detail;
        assert_eq!(detail(r#"{"a":1}"#), r#"{"a":1,"component":"theirs"}"#);
        let alone = r#"{"component":"theirs"}"#;
        let longest = format!(r#"{{"a":"{}"}}"#, "d".repeat(DETAIL_BYTES_MAX - 8));
        assert!(detail(&longest).len() > DETAIL_BYTES_MAX);
        for none in [
            "",
            "[]",
            r#"{"component":"x"}"#,
            &"[".repeat(10_000),
            &longest.replacen('d', "dd", 1),
        ] {
            assert_eq!(detail(none), alone);
        }
    }
}
