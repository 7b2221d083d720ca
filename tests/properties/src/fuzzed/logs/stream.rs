//! Streamed deltas, one by one and packed.

use super::NearLog;

/// The `type` of a delta and of its rows, and the name of its text.
const DELTAS: [(&str, &str, &str); 3] = [
    ("text-delta", "text-chunks", "text"),
    ("reasoning-delta", "reasoning-chunks", "text"),
    ("tool-call-delta", "tool-call-chunks", "argumentsDelta"),
];
impl NearLog<'_> {
    pub(super) fn deltas(&mut self) {
        let (delta_type, _, text_name) = self.decisions.one_of(&DELTAS);
        let call = self.decisions.one_of(&[
            "\"id\":\"a\",",
            "\"id\":\"a\",\"name\":\"\\u006e\",",
            "\"id\":1,",
        ]);
        let call = if delta_type == "tool-call-delta" {
            call
        } else {
            ""
        };
        for _ in 0..self.decisions.below(6) {
            let text = self.string();
            let chunk =
                format!("{{\"type\":\"{delta_type}\",\"index\":0,{call}\"{text_name}\":{text}}}");
            let data = self.place(&format!(",\"chunk\":{chunk}"));
            self.event("assistant/chunk", data);
        }
    }

    /// A packed row in its usual spelling, or nearly.
    pub(super) fn row(&mut self) {
        let (_, tag, _) = self.decisions.one_of(&DELTAS);
        let count = 1 + self.decisions.below(5) as u64;
        let texts: Vec<String> = (0..count).map(|_| self.string()).collect();
        let steps = match self.decisions.below(16) {
            15 => 0..count,
            14 => 2..count,
            _ => 1..count,
        };
        let steps: Vec<&str> = steps
            .map(|_| {
                self.decisions
                    .one_of(&["0", "1", "2", "5", "-1", "1.0", "9007199254740991"])
            })
            .collect();
        let payload = match tag {
            "tool-call-chunks" => format!("\"id\":\"a\",\"args\":[{}]", texts.join(",")),
            _ => format!("\"texts\":[{}]", texts.join(",")),
        };
        let index = self.decisions.one_of(&["0", "1.0", "1e2", "-0", "\"0\""]);
        let data = self.place(&format!(
            ",\"index\":{index},\"dt\":[{}],{payload}",
            steps.join(",")
        ));
        self.line(vec![
            ("type", format!("\"{tag}\"")),
            ("seq0", self.seq.to_string()),
            ("time0", self.time.to_string()),
            ("data", data),
        ]);
        self.seq += count;
    }
}
