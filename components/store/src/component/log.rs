//! Interface `log` of the component. It touches no state of the store, so a callback may call it, too.

use annals_sdk::Result;
use annals_sdk::types::SessionHeader;

use super::Component;
use crate::bindings::exports::annals::session::log::{Fold, Guest};
use crate::log;

impl Guest for Component {
    fn fold_surface(lines: String) -> Result<Fold> {
        log::fold_surface(&lines)
    }

    fn is_surface_type(event_type: String) -> bool {
        log::is_surface_type(&event_type)
    }

    fn is_surface_event(line: String) -> Result<bool> {
        log::is_surface_event(&line)
    }

    fn message_of(line: String) -> Result<Option<String>> {
        log::message_of(&line)
    }

    fn closers(lines: String) -> Result<String> {
        log::closers(&lines)
    }

    fn check_trace(lines: String) -> Result<()> {
        log::check_trace(&lines)
    }

    fn request_header(lines: String, before: Option<String>) -> Result<Option<String>> {
        log::request_header(&lines, before.as_deref())
    }

    fn canonical_header(header: String) -> Result<Option<String>> {
        log::canonical_header(&header)
    }

    fn headers_equal(a: String, b: String) -> Result<bool> {
        log::headers_equal(&a, &b)
    }

    fn last_message_turn_end(lines: String) -> Result<Option<String>> {
        log::last_message_turn_end(&lines)
    }

    fn display_prompt(data: String) -> Result<Option<String>> {
        log::display_prompt(&data)
    }

    fn pack(lines: String) -> Result<String> {
        log::pack(&lines)
    }

    fn unpack(lines: String) -> Result<String> {
        log::unpack(&lines)
    }

    fn check_json(text: String) -> Result<()> {
        log::check_json(&text)
    }

    fn check_header(header: String, id: String) -> Result<SessionHeader> {
        log::check_header(&header, &id)
    }
}
