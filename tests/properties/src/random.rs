//! Choices from a seed, and JSON that is spelled in every way that JSON allows.

use crate::json::Json;

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "1.0",
    "1e0",
    "10E-1",
    "7",
    "-3",
    "1E+2",
    "-1.5e-3",
    "0.1",
    "1e308",
    "1e-400",
    "9007199254740993",
    "12345678901234567890",
    "0.30000000000000004",
    "2.50",
];
const STRINGS: &[&str] = &[
    r#""""#,
    r#""a""#,
    r#""é""#,
    r#""\u00e9""#,
    r#""😀""#,
    r#""\ud83d\ude00""#,
    r#""\ud83d""#,
    r#""\udc00\ud800""#,
    r#""\u0000\n\t""#,
    r#""\/""#,
    "\"/\"",
    r#""x\"\\y""#,
    r#""\u2028""#,
    "\"\u{7f}\u{2028}\"",
    r#""tool-call""#,
    r#""a text of a few words, as they come""#,
];
const NAMES: &[&str] = &[
    r#""a""#,
    r#""b""#,
    r#""a""#,
    r#""content""#,
    r#""\u0061""#,
    r#""type""#,
    r#""__proto__""#,
    r#""é""#,
    r#""""#,
    r#""\ud800""#,
    r#""text""#,
];
const GAPS: &[&str] = &["", "", "", " ", "\t ", " \r"];

/// A row of numbers that looks like chance.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same row for the same seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end.max(1) as u64) as usize
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// The same in any order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }

    /// Whitespace, mostly none.
    pub fn gap(&mut self) -> &'static str {
        self.pick(GAPS)
    }

    /// A string as written, with its quotes.
    pub fn string(&mut self) -> String {
        self.pick(STRINGS).to_owned()
    }

    /// Any value, nested at most `depth` deep.
    pub fn json(&mut self, depth: usize) -> Json {
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0 | 1 => Json::number(self.pick(NUMBERS)),
            2 | 3 => Json::Plain(self.string()),
            4 => Json::number(self.pick(&["true", "false", "null"])),
            5 => {
                let elements = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                Json::Array(elements, self.gap())
            }
            _ => {
                let count = self.below(4);
                let members =
                    (0..count).map(|_| (self.pick(NAMES).to_owned(), self.json(depth - 1)));
                Json::Object(members.collect(), self.gap())
            }
        }
    }

    /// A whole number, in one of the ways to write it.
    pub fn spelled(&mut self, number: u64) -> String {
        match self.below(16) {
            0 => format!("{number}.0"),
            1 => format!("{number}e0"),
            2 => format!("{number}.00E+0"),
            _ => number.to_string(),
        }
    }

    /// The same value in another spelling: members in another order, numbers and strings written otherwise.
    pub fn respelled(&mut self, value: &Json) -> Json {
        match value {
            Json::Array(elements, _) => {
                let elements = elements
                    .iter()
                    .map(|element| self.respelled(element))
                    .collect();
                Json::Array(elements, self.gap())
            }
            Json::Object(members, _) => {
                let mut last: Vec<(String, Json)> = Vec::new();
                for (name, value) in members {
                    let named = Json::Plain(name.clone());
                    last.retain(|(known, _)| !Json::Plain(known.clone()).same(&named));
                    last.push((self.plain_respelled(name), self.respelled(value)));
                }
                self.shuffle(&mut last);
                Json::Object(last, self.gap())
            }
            Json::Plain(text) => Json::Plain(self.plain_respelled(text)),
        }
    }

    fn plain_respelled(&mut self, text: &str) -> String {
        if text.starts_with('"') && self.once_in(2) {
            let units = crate::json::units(text);
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04X}")).collect();
            return format!("\"{escaped}\"");
        }
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("{text}{}", self.pick(&["", ".0", "e0", ".0E-0"])),
            false => text.to_owned(),
        }
    }
}
