//! JSON as a tree of texts, written and compared in the plainest way: recursive, and with nothing of `annals_core`.

use std::collections::BTreeMap;

/// One value, spelled as it was made.
#[derive(Clone, Debug)]
pub enum Json {
    /// A number, a string, `true`, `false` or `null`, as written.
    Plain(String),
    /// Elements, and the whitespace around each.
    Array(Vec<Json>, &'static str),
    /// Names as written with their quotes, repeated ones too, and the whitespace around each part.
    Object(Vec<(String, Json)>, &'static str),
}

impl Json {
    /// A string without anything to escape.
    pub fn string(text: &str) -> Json {
        Json::Plain(format!("\"{text}\""))
    }

    /// A number, as its digits.
    pub fn number(value: impl std::fmt::Display) -> Json {
        Json::Plain(value.to_string())
    }

    /// An object without whitespace.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        let quoted = members.map(|(name, value)| (format!("\"{name}\""), value));
        Json::Object(quoted.into(), "")
    }

    /// An array without whitespace.
    pub fn array(elements: Vec<Json>) -> Json {
        Json::Array(elements, "")
    }

    /// The value as text.
    pub fn text(&self) -> String {
        match self {
            Json::Plain(text) => text.clone(),
            Json::Array(elements, gap) => {
                let elements: Vec<String> = elements.iter().map(Json::text).collect();
                format!("[{gap}{}{gap}]", elements.join(&format!("{gap},{gap}")))
            }
            Json::Object(members, gap) => {
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, value)| format!("{name}{gap}:{gap}{}", value.text()))
                    .collect();
                format!("{{{gap}{}{gap}}}", members.join(&format!("{gap},{gap}")))
            }
        }
    }

    /// The last member of that name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let name: Vec<u16> = name.encode_utf16().collect();
        let members = self.members().iter().rev();
        let mut named = members.filter(|(known, _)| units(known) == name);
        named.next().map(|(_, value)| value)
    }

    /// The members of an object; none of anything else.
    pub fn members(&self) -> &[(String, Json)] {
        match self {
            Json::Object(members, _) => members,
            Json::Plain(_) | Json::Array(..) => &[],
        }
    }

    /// The elements of an array; none of anything else.
    pub fn elements(&self) -> &[Json] {
        match self {
            Json::Array(elements, _) => elements,
            Json::Plain(_) | Json::Object(..) => &[],
        }
    }

    /// Adds a member at the end of an object.
    pub fn add(&mut self, name: &str, value: Json) {
        if let Json::Object(members, _) = self {
            members.push((format!("\"{name}\""), value));
        }
    }

    /// The UTF-16 units of a string; none of anything else.
    pub fn units(&self) -> Option<Vec<u16>> {
        match self {
            Json::Plain(text) if text.starts_with('"') => Some(units(text)),
            Json::Plain(_) | Json::Array(..) | Json::Object(..) => None,
        }
    }

    /// Whether this is a string that says `text`.
    pub fn says(&self, text: &str) -> bool {
        self.units() == Some(text.encode_utf16().collect())
    }

    /// A whole number from 0 to 2^53-1.
    pub fn count(&self) -> Option<u64> {
        let Json::Plain(text) = self else { return None };
        let value: f64 = text.parse().ok()?;
        let is_whole = value.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&value);
        is_whole.then_some(value as u64)
    }

    /// Whether both stand for the same value: numbers as doubles, strings by what they say, objects in any order with
    /// the last of a repeated name.
    pub fn same(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Plain(one), Json::Plain(other)) => plain_same(one, other),
            (Json::Array(one, _), Json::Array(other, _)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.same(b))
            }
            (Json::Object(..), Json::Object(..)) => {
                let (one, other) = (self.last_members(), other.last_members());
                one.keys().eq(other.keys())
                    && one.iter().all(|(name, value)| value.same(other[name]))
            }
            _ => false,
        }
    }

    /// Members by name, the last of each.
    pub fn last_members(&self) -> BTreeMap<Vec<u16>, &Json> {
        let members = self.members().iter();
        members.map(|(name, value)| (units(name), value)).collect()
    }
}

fn plain_same(one: &str, other: &str) -> bool {
    match (one.starts_with('"'), other.starts_with('"')) {
        (true, true) => units(one) == units(other),
        (false, false) => match (one.parse::<f64>(), other.parse::<f64>()) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        },
        _ => false,
    }
}

/// What a string says, in UTF-16, as JavaScript has it: a lone surrogate is a unit like any other.
pub fn units(quoted: &str) -> Vec<u16> {
    let mut out = Vec::new();
    let mut chars = quoted[1..quoted.len() - 1].chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.extend(char.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        match chars.next() {
            Some('b') => out.push(8),
            Some('f') => out.push(12),
            Some('n') => out.push(10),
            Some('r') => out.push(13),
            Some('t') => out.push(9),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                out.push(u16::from_str_radix(&digits, 16).unwrap_or_default());
            }
            Some(other) => out.push(other as u16),
            None => {}
        }
    }
    out
}
