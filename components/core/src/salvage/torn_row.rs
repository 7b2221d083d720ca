//! The leading events of a packed row that was cut short.

use crate::chunk_rows::{Row, RowKind};
use crate::json::{Scanner, Stop, Value};

/// The row of as many leading events as can be read for sure, where `text` begins with a row in its usual order of
/// members (`dt` before the texts) that has no end; and how many bytes of `text` went into it.
pub(super) fn leading_events(text: &str) -> Option<(String, usize)> {
    let kind = RowKind::ALL
        .into_iter()
        .find(|kind| text.starts_with(&format!("{{\"type\":\"{}\",", kind.tag())))?;
    let head = format!("\"{}\":[", kind.texts_name());
    let steps_at = text.find("\"dt\":[")? + "\"dt\":".len();
    let mut scan = Scanner::new(text.get(steps_at..)?);
    let steps = Value::checked(scan.value_text().ok()?);
    // names and ids may say anything, the steps hold no text
    let behind = steps_at + steps.text().len();
    let texts_at = behind + text.get(behind..)?.find(&head)? + head.len();
    let (count, length) = texts(text.get(texts_at..)?);
    if count == 0 {
        return None;
    }
    let end = texts_at + length;
    let steps: Vec<&str> = steps.elements().take(count - 1).map(Value::text).collect();
    let row = format!(
        "{}[{}]{}]}}}}",
        text.get(..steps_at)?,
        steps.join(","),
        text.get(behind..end)?
    );
    // a name before the steps may have looked like them
    Value::parse(&row)
        .ok()
        .and_then(|value| Row::read(value).ok())?;
    Some((row, end))
}

/// How many strings there are up to one that is not surely whole, and how long they are with the commas between them.
/// A string is whole where the list goes on or ends behind it: of `"ab{"type"` nobody knows what was meant.
fn texts(text: &str) -> (usize, usize) {
    let mut scan = Scanner::new(text);
    let (mut count, mut length) = (0, 0);
    while let Ok(end) = next_text(&mut scan) {
        count += 1;
        length = end;
        if !scan.take(b',') {
            break;
        }
    }
    (count, length)
}

fn next_text(scan: &mut Scanner<'_>) -> Result<usize, Stop> {
    scan.string_text()?;
    match scan.peek() {
        b',' | b']' => Ok(scan.at()),
        _ => Err(Stop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"type":"text-chunks","seq0":3,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,2,3],"texts":["a","b,","c\"","d"]}}"#;

    fn read(text: &str) -> Option<(u64, i64, usize)> {
        let (row, length) = leading_events(text)?;
        let value = Value::parse(&row).unwrap();
        let row = Row::read(value).unwrap();
        assert_eq!(row.seq0, 3);
        Some((row.count, row.last_time_ms, length))
    }

    #[test]
    fn events_before_the_tear_are_kept() {
        let at = |end: &str| ROW.find(end).unwrap() + end.len();
        for length in 0..ROW.len() {
            let expected = match length {
                _ if length > at(r#""d""#) => Some((4, 7, at(r#""d""#))),
                _ if length > at(r#""c\"""#) => Some((3, 4, at(r#""c\"""#))),
                _ if length > at(r#""b,""#) => Some((2, 2, at(r#""b,""#))),
                _ if length > at(r#"["a""#) => Some((1, 1, at(r#"["a""#))),
                _ => None,
            };
            assert_eq!(read(&ROW[..length]), expected, "{}", &ROW[..length]);
        }
    }

    #[test]
    fn a_text_that_runs_into_another_record_is_not_made_up() {
        let stub = &ROW[..ROW.find(r#","c"#).unwrap() + 3];
        assert_eq!(
            read(&format!(r#"{stub}{{"type":"turn/end"}}"#)),
            read(&ROW[..stub.len() - 1])
        );
        assert_eq!(
            leading_events(r#"{"type":"text-chunks","dt":[1,"texts":["a","b""#),
            None
        );
        assert_eq!(
            leading_events("{\"type\":\"x\",\"dt\":[],\"texts\":[\"a\","),
            None
        );
    }
}
