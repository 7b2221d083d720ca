//! The header of the result: the log's own, or one made of what is left of it.

use super::judge::{Judged, judge};
use super::report::{Finding, HeaderOrigin};
use super::shards::objects;
use crate::fault::{Class, Fault, Reason, quoted};
use crate::header::{FORMAT_VERSION, Header, SAFE_INTEGER_MAX};
use crate::json::{Scanner, Text, Value};
use crate::load::read_header;

/// What is known of a header.
#[derive(Debug)]
pub(super) struct Origin {
    id: String,
    // What the header says does not count.
    is_id_known: bool,
    header: Option<Header>,
    // Members of a header that cannot be read as a whole; its version and id play no part.
    left: Header,
    is_time_known: bool,
    fault: Option<Fault>,
}

impl Origin {
    pub(super) fn of_session(id: &str) -> Origin {
        Origin {
            id: id.to_owned(),
            is_id_known: true,
            header: None,
            left: Header::default(),
            is_time_known: false,
            fault: None,
        }
    }

    pub(super) fn of_file(id: &str) -> Origin {
        Origin {
            is_id_known: false,
            ..Origin::of_session(id)
        }
    }

    pub(super) fn read(&mut self, header: Header) {
        match header.check() {
            Err(fault) if fault.class() != Class::UnsupportedVersion => {
                self.fault = Some(fault.corrupt(1, 0));
                self.left = Header {
                    cwd: header.cwd.filter(|cwd| cwd.starts_with('/')),
                    seed_length: header
                        .seed_length
                        .filter(|count| *count <= SAFE_INTEGER_MAX),
                    extra: None,
                    ..header
                };
                self.is_time_known = self.left.created_at_ms <= SAFE_INTEGER_MAX;
            }
            Ok(()) | Err(_) => self.header = Some(header),
        }
    }

    /// Whether there may be more in the line than its header. A header of another version is refused.
    pub(super) fn first_line(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let fault = match read_header(bytes) {
            Ok(header) => {
                self.header = Some(header);
                return Ok(false);
            }
            Err(fault) if fault.class() == Class::UnsupportedVersion => return Err(fault),
            Err(fault) => fault,
        };
        self.fault = Some(fault);
        for chunk in bytes.utf8_chunks() {
            let text = chunk.valid();
            let (mut left, mut done) = (Vec::new(), 0);
            for range in objects(text) {
                let object = text.get(range.clone()).unwrap_or_default();
                if matches!(judge(object), Judged::Record { fault: None, .. }) {
                    left.push(done..range.start);
                    done = range.end;
                    continue;
                }
                match Header::parse_line(object) {
                    Ok(header) => {
                        self.header.get_or_insert(header);
                    }
                    Err(fault) if fault.class() == Class::UnsupportedVersion => return Err(fault),
                    Err(_) => {}
                }
            }
            left.push(done..text.len());
            if self.header.is_some() {
                continue;
            }
            for range in left {
                let part = text.get(range).unwrap_or_default();
                self.look_for_members(before_record(part))?;
            }
        }
        Ok(true)
    }

    /// The header, at that time where its own is lost, and what was wrong with the log's.
    pub(super) fn header(self, time_ms: u64) -> (Header, HeaderOrigin, Option<Finding>) {
        let origin = match self.header {
            Some(_) => HeaderOrigin::Kept,
            None => HeaderOrigin::Rebuilt,
        };
        let mut header = self.header.unwrap_or(Header {
            version: FORMAT_VERSION,
            ..self.left
        });
        if origin == HeaderOrigin::Rebuilt && !self.is_time_known {
            header.created_at_ms = time_ms;
        }
        let mut fault = self.fault;
        let is_named = origin == HeaderOrigin::Kept || (!self.is_id_known && !header.id.is_empty());
        if !is_named || self.is_id_known && header.id != self.id {
            if is_named && fault.is_none() {
                let message = format!("the header is of session {}", quoted(&header.id));
                fault = Some(Fault::new(Reason::HeaderIdMismatch, message).corrupt(1, 0));
            }
            header.id = self.id;
        }
        let finding = fault.map(|fault| Finding {
            line: 1,
            byte: 0,
            length: 0,
            reason: fault.reason,
            message: fault.message,
            missing: 0,
            is_in_cut: false,
        });
        (header, origin, finding)
    }

    /// Members that are whole in what is left of a header, outside of every record of the same line; the first of a name
    /// counts.
    fn look_for_members(&mut self, text: &str) -> Result<(), Fault> {
        if !text.contains("\"session\"") && !text.contains("\"createdAt\"") {
            return Ok(());
        }
        let version = member(text, "version").and_then(Value::as_f64);
        if let Some(version) = version.filter(|version| *version != f64::from(FORMAT_VERSION)) {
            let message = format!(
                "what is left of the header names format version {version}; this program reads {FORMAT_VERSION}"
            );
            return Err(Fault::new(Reason::LogVersionUnsupported, message).corrupt(1, 0));
        }
        let string = |name| {
            let text = member(text, name).and_then(Value::as_text);
            text.and_then(Text::decode).map(|text| text.into_owned())
        };
        let count = |name| member(text, name).and_then(Value::as_seq);
        let left = &mut self.left;
        if left.id.is_empty() {
            left.id = string("id").unwrap_or_default();
        }
        if let Some(time_ms) = count("createdAt").filter(|_| !self.is_time_known) {
            left.created_at_ms = time_ms;
            self.is_time_known = true;
        }
        let cwd = string("cwd").filter(|cwd| cwd.starts_with('/'));
        left.cwd = left.cwd.take().or(cwd);
        left.parent_session = left.parent_session.take().or(string("parentSession"));
        left.seed_length = left.seed_length.or(count("seedLength"));
        let depth = count("delegationDepth").and_then(|depth| u32::try_from(depth).ok());
        left.delegation_depth = left.delegation_depth.or(depth);
        Ok(())
    }
}

/// What stands before a record that is torn.
fn before_record(text: &str) -> &str {
    const START: &str = "{\"type\":";
    let is_record = |at: &usize| {
        let rest = text.get(at + START.len()..).unwrap_or_default();
        !rest.starts_with("\"session\"")
    };
    let end = text.match_indices(START).map(|(at, _)| at).find(is_record);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The first whole value that stands behind such a name. One that the text ends with may go on.
fn member<'a>(text: &'a str, name: &str) -> Option<Value<'a>> {
    let quoted = format!("\"{name}\":");
    let start = text.find(&quoted)? + quoted.len();
    let mut scan = Scanner::new(text.get(start..)?);
    scan.space();
    let value = scan.value_text().ok()?;
    (!scan.is_end()).then(|| Value::checked(value))
}
