//! The reference's own spelling of JSON text, so that `serialized` can be compared without touching stored text.
//!
//! Absent: the parser of the code under test. This one is separate on purpose, and it recurses: nothing but
//! vectors is read here, and those describe deep values instead of writing them out.

use std::iter::Peekable;
use std::str::Chars;

/// Rewrites one JSON value as `JSON.stringify(JSON.parse(text))` would: numbers as the shortest double, keys that
/// are array indexes first, a repeated key once with its last value, escapes only where they are needed.
///
/// Errors: the text is no JSON, or holds a number without such a spelling.
pub fn canonical(text: &str) -> Result<String, String> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
    };
    let value = reader.value()?;
    reader.blanks();
    match reader.rest.next() {
        None => Ok(value),
        Some(extra) => Err(format!("{extra:?} after the value")),
    }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while self
            .rest
            .next_if(|c| matches!(c, ' ' | '\t' | '\r' | '\n'))
            .is_some()
        {}
    }

    fn value(&mut self) -> Result<String, String> {
        self.blanks();
        match self.rest.peek() {
            Some('{') => self.object(),
            Some('[') => self.array(),
            Some('"') => self.string().map(|units| quoted(&units)),
            Some(_) => self.scalar(),
            None => Err("the text ends where a value was due".to_owned()),
        }
    }

    fn scalar(&mut self) -> Result<String, String> {
        let mut word = String::new();
        while let Some(c) = self
            .rest
            .next_if(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c))
        {
            word.push(c);
        }
        if ["null", "true", "false"].contains(&word.as_str()) {
            return Ok(word);
        }
        match word.parse::<f64>() {
            Ok(number) if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                Ok(number_text(number))
            }
            _ => Err(format!("{word:?} is no JSON value")),
        }
    }

    fn array(&mut self) -> Result<String, String> {
        self.rest.next();
        let mut out = String::from("[");
        self.blanks();
        if self.rest.next_if_eq(&']').is_some() {
            return Ok("[]".to_owned());
        }
        loop {
            out.push_str(&self.value()?);
            self.blanks();
            match self.rest.next() {
                Some(',') => out.push(','),
                Some(']') => break,
                other => return Err(format!("{other:?} inside an array")),
            }
        }
        out.push(']');
        Ok(out)
    }

    fn object(&mut self) -> Result<String, String> {
        self.rest.next();
        let mut members: Vec<(Vec<u16>, String)> = Vec::new();
        self.blanks();
        if self.rest.next_if_eq(&'}').is_some() {
            return Ok("{}".to_owned());
        }
        loop {
            self.blanks();
            let key = self.string()?;
            self.blanks();
            if self.rest.next() != Some(':') {
                return Err("no colon after a key".to_owned());
            }
            let value = self.value()?;
            match members.iter_mut().find(|(known, _)| *known == key) {
                Some(member) => member.1 = value,
                None => members.push((key, value)),
            }
            self.blanks();
            match self.rest.next() {
                Some(',') => {}
                Some('}') => break,
                other => return Err(format!("{other:?} inside an object")),
            }
        }
        // A stable sort: other keys keep the order in which they were first seen.
        members.sort_by_key(|(key, _)| array_index(key).unwrap_or(u64::MAX));
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{}:{value}", quoted(key)))
            .collect();
        Ok(format!("{{{}}}", members.join(",")))
    }

    /// A string as UTF-16 units, since a lone surrogate is a string in the reference.
    fn string(&mut self) -> Result<Vec<u16>, String> {
        if self.rest.next() != Some('"') {
            return Err("no string where one was due".to_owned());
        }
        let mut units = Vec::new();
        loop {
            let c = self.rest.next().ok_or("the text ends inside a string")?;
            match c {
                '"' => return Ok(units),
                '\\' => units.push(self.escape()?),
                c if c < ' ' => return Err("a raw control character in a string".to_owned()),
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Result<u16, String> {
        let c = self.rest.next().ok_or("the text ends inside an escape")?;
        Ok(match c {
            '"' | '\\' | '/' => c as u16,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let mut unit = 0;
                for _ in 0..4 {
                    let digit = self.rest.next().and_then(|c| c.to_digit(16));
                    unit = unit * 16 + digit.ok_or("a short \\u escape")?;
                }
                unit as u16
            }
            other => return Err(format!("\\{other} is no escape")),
        })
    }
}

/// The value of a key that the reference enumerates before all others: a canonical index below 2^32-1.
fn array_index(key: &[u16]) -> Option<u64> {
    let text = String::from_utf16(key).ok()?;
    let index = text.parse::<u64>().ok()?;
    (index < u64::from(u32::MAX) && index.to_string() == text).then_some(index)
}

fn quoted(units: &[u16]) -> String {
    let mut out = String::from("\"");
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            Ok(c) => out.push(c),
            Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
        }
    }
    out.push('"');
    out
}

/// A double as ECMAScript writes it: plain between 1e-7 and 1e21, else with an exponent.
fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    // `{:e}` gives the shortest digits that read back as the same double, as ECMAScript demands.
    let shortest = format!("{:e}", number.abs());
    let Some((mantissa, exponent)) = shortest.split_once('e') else {
        return shortest;
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let count = digits.len() as i64;
    let sign = if number < 0.0 { "-" } else { "" };
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
    let body = if (count - 1..21).contains(&exponent) {
        format!("{digits}{}", zeros(exponent + 1 - count))
    } else if (0..21).contains(&exponent) {
        let (whole, fraction) = digits.split_at(exponent as usize + 1);
        format!("{whole}.{fraction}")
    } else if (-6..0).contains(&exponent) {
        format!("0.{}{digits}", zeros(-exponent - 1))
    } else {
        let (first, fraction) = digits.split_at(1);
        let point = if fraction.is_empty() { "" } else { "." };
        let plus = if exponent > 0 { "+" } else { "" };
        format!("{first}{point}{fraction}e{plus}{exponent}")
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn writes_as_the_reference_does() {
        let table = [
            ("1.0", "1"),
            ("1E+3", "1000"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("0.0000005", "5e-7"),
            ("1e-6", "0.000001"),
            ("9007199254740993", "9007199254740992"),
            ("-12.50", "-12.5"),
            (
                r#"{"b":1,"2":2,"a":3,"1":4,"b":5}"#,
                r#"{"1":4,"2":2,"b":5,"a":3}"#,
            ),
            (
                r#" [ "\u0041\u001f\/\ud800" , {} ] "#,
                r#"["A\u001f/\ud800",{}]"#,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(canonical(text).as_deref(), Ok(expected));
        }
        for text in ["", "[1,]", "+1", "1 2", "NaN", "{\"a\":\"\\x\"}"] {
            assert!(canonical(text).is_err(), "{text}");
        }
    }
}
