//! Events to append, each with a token of its own.

use crate::random::Random;

/// One event: its token, its data as they have to be stored, and the line that `annals append` takes.
#[derive(Debug, Clone)]
pub struct Payload {
    pub token: String,
    pub data: String,
    pub line: String,
}

/// Makes tokens that nobody else makes.
#[derive(Debug)]
pub struct Mint {
    name: String,
    next: u64,
}

impl Mint {
    /// Of one name there may be one only.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self { name, next: 0 }
    }

    /// A turn, or some notes that belong to none.
    pub fn batch(&mut self, random: &mut Random) -> Vec<Payload> {
        if random.one_in(3) {
            return self.turn(random);
        }
        let count = 1 + random.below(5);
        (0..count).map(|_| self.note(random)).collect()
    }

    /// More than one flush of a process that is fed line by line.
    pub fn stream(&mut self, random: &mut Random) -> Vec<Payload> {
        let count = 1 + random.below(8);
        (0..count).flat_map(|_| self.batch(random)).collect()
    }

    /// So much that it is not written at once.
    pub fn bulk(&mut self) -> Vec<Payload> {
        let text = "0123456789abcdef".repeat(1 << 16);
        let members = format!(r#""text":"{text}""#);
        (0..4)
            .map(|_| self.event("plugin/note", &members, ""))
            .collect()
    }

    fn turn(&mut self, random: &mut Random) -> Vec<Payload> {
        let text = filler(random);
        vec![
            self.event(
                "turn/start",
                r#""turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}"#,
                "",
            ),
            self.event(
                "user/message",
                &format!(
                    r#""content":[{{"type":"text","text":"{text}"}}],"source":{{"kind":"user"}}"#
                ),
                r#","surfaceOp":"append""#,
            ),
            self.event("turn/end", r#""turn":1,"reason":{"kind":"completed"}"#, ""),
        ]
    }

    fn note(&mut self, random: &mut Random) -> Payload {
        let text = filler(random);
        self.event("plugin/note", &format!(r#""text":"{text}""#), "")
    }

    fn event(&mut self, name: &str, members: &str, more: &str) -> Payload {
        let token = format!("{}-{}", self.name, self.next);
        self.next += 1;
        let data = format!(r#"{{"token":"{token}",{members}}}"#);
        let line = format!("{{\"type\":\"{name}\",\"data\":{data}{more}}}\n");
        Payload { token, data, line }
    }
}

/// Mostly short; some take several pages, so that a kill or a full disk meets the middle of a write.
fn filler(random: &mut Random) -> String {
    let bytes = match random.below(200) {
        0 | 1 => random.below(300_000),
        2..10 => random.below(30_000),
        _ => random.below(600),
    };
    let first = random.below(26);
    let letters = (0..bytes).map(|n| {
        let letter = u8::try_from((first + n) % 26).unwrap_or(0);
        char::from(b'a' + letter)
    });
    letters.collect()
}
