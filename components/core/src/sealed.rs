//! Sealed records: what a stored line is when somebody between store and backend hides what is in it.
//!
//! The line says its place in the log and no more, so that a backend can keep it as any other. A log of such lines says so
//! in its header, by a further member. How `data` is made and opened is the business of whoever sealed it.

use crate::fault::{Fault, Reason, quoted};
use crate::header::{Header, SAFE_INTEGER_MAX};
use crate::json::Value;

/// The type of a sealed event; to everything but the one who opens it an ordinary event.
pub const SEALED: &str = "annals/sealed";

/// The type of a sealed packed row: one line that stands for `count` events from `seq` on.
pub const SEALED_ROW: &str = "annals/sealed-row";

/// The member of a header that says that the log is sealed.
pub const SEALED_MEMBER: &str = "annals/sealed";

const HEAD: &str = "{\"type\":\"annals/sealed\",\"seq\":";
const ROW_HEAD: &str = "{\"type\":\"annals/sealed-row\",\"seq\":";

/// A sealed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Seq of its first event.
    pub first_seq: u64,
    /// How many events it stands for; none in a sealed event, which is one.
    pub row_count: Option<u64>,
    /// Time of its last event in milliseconds.
    pub time_ms: u64,
    /// What is hidden, in letters that stand for themselves in JSON.
    pub data: &'a str,
}

impl<'a> Sealed<'a> {
    /// Reads a line, its newline excluded, in the one spelling that [`Sealed::push_to`] has; none for any other.
    pub fn read(line: &'a str) -> Option<Sealed<'a>> {
        let (rest, is_row) = match (line.strip_prefix(HEAD), line.strip_prefix(ROW_HEAD)) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => return None,
        };
        let (first_seq, rest) = number(rest)?;
        let (row_count, rest) = match is_row {
            true => {
                let (count, rest) = number(rest.strip_prefix(",\"count\":")?)?;
                (Some(count), rest)
            }
            false => (None, rest),
        };
        let (time_ms, rest) = number(rest.strip_prefix(",\"time\":")?)?;
        let data = rest.strip_prefix(",\"data\":\"")?.strip_suffix("\"}")?;
        is_plain(data).then_some(Sealed {
            first_seq,
            row_count,
            time_ms,
            data,
        })
    }

    /// Appends the line, its newline included. `data` holds letters, digits and `+/=-_` only.
    pub fn push_to(&self, out: &mut String) {
        let Sealed {
            first_seq,
            time_ms,
            data,
            ..
        } = self;
        match self.row_count {
            None => out.push_str(&format!("{HEAD}{first_seq}")),
            Some(count) => out.push_str(&format!("{ROW_HEAD}{first_seq},\"count\":{count}")),
        }
        out.push_str(&format!(",\"time\":{time_ms},\"data\":\""));
        out.push_str(data);
        out.push_str("\"}\n");
    }

    /// How many events it stands for.
    pub fn count(&self) -> u64 {
        self.row_count.unwrap_or(1)
    }
}

/// Whether a log with this header is sealed: only who sealed it can read or continue it.
pub fn is_sealed(header: &Header) -> bool {
    let extra = header.extra.as_deref().map(Value::parse);
    extra.is_some_and(|extra| extra.is_ok_and(|extra| extra.get(SEALED_MEMBER).is_some()))
}

/// What anybody is told who would go on with a sealed log without what sealed it: whatever they wrote there could not be
/// opened.
pub fn refusal(id: &str) -> Fault {
    let message = format!(
        "session {} is sealed; use it through the middleware that sealed it, as with --through encrypt",
        quoted(id)
    );
    Fault::new(Reason::LogSealed, message).text("id", id)
}

/// `count` of a sealed row, where it and `seq` are possible.
pub(crate) fn count_of_row(line: Value<'_>, first_seq: u64) -> Option<u64> {
    let count = line.get("count")?.as_seq().filter(|count| *count > 0)?;
    (first_seq + count - 1 <= SAFE_INTEGER_MAX).then_some(count)
}

// In its only spelling, so that no other line opens to the same.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    let is_usual = number == "0" || !number.starts_with('0');
    let value = number.parse().ok().filter(|_| is_usual)?;
    (value <= SAFE_INTEGER_MAX).then_some((value, rest))
}

fn is_plain(data: &str) -> bool {
    data.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
}
