//! Events of the surface.

use super::{Members, NearLog};

impl NearLog<'_> {
    fn append(&mut self, event_type: &str, data: String) {
        self.nodes.push(self.seq);
        self.event_with(
            event_type,
            data,
            vec![("surfaceOp", "\"append\"".to_owned())],
        );
    }

    pub(super) fn user_message(&mut self) {
        let text = self.string();
        let source =
            self.decisions
                .one_of(&["{\"kind\":\"user\"}", "{\"kind\":\"plugin\"}", "null"]);
        let data =
            format!("{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"source\":{source}}}");
        let event_type = self.decisions.one_of(&["user/message", "steering/message"]);
        self.append(event_type, data);
    }

    pub(super) fn assistant_message(&mut self) {
        let calls: Vec<String> = (0..self.decisions.below(4))
            .map(|_| {
                format!(
                    "{{\"type\":\"tool-call\",\"id\":{},\"name\":\"n\",\"arguments\":{{}}}}",
                    self.call_id()
                )
            })
            .collect();
        let data = self.place(&format!(
            ",\"content\":[{}],\"provenance\":{{\"provider\":\"p\",\"model\":\"m\"}}",
            calls.join(",")
        ));
        self.append("assistant/message", data);
    }

    pub(super) fn tool_result(&mut self) {
        let id = self.call_id();
        let rest = format!(
            "\"turn\":{},\"step\":{},\"callId\":{id},\"isError\":false",
            self.turn, self.step
        );
        let content = self.value(1);
        self.results.push((self.seq, rest.clone()));
        self.append("tool/result", format!("{{\"content\":{content},{rest}}}"));
    }

    pub(super) fn replace(&mut self) {
        if self.nodes.is_empty() {
            return self.user_message();
        }
        let from = self.decisions.below(self.nodes.len());
        let to = (from + self.decisions.below(3)).min(self.nodes.len() - 1);
        let mut sources = self.nodes[from..=to].to_vec();
        match self.decisions.below(8) {
            0 => sources.reverse(),
            1 => drop(sources.pop()),
            2 => sources.push(self.seq),
            3 => sources.push(0),
            _ => {}
        }
        let data = format!("{{\"content\":{}}}", self.string());
        let (start, end) = (self.nodes[from], self.nodes[to]);
        self.nodes.splice(from..=to, [self.seq]);
        self.event_with("user/message", data, replace_members(&sources, start, end));
    }

    pub(super) fn rewrite_result(&mut self) {
        if self.results.is_empty() {
            return self.tool_result();
        }
        let place = self.decisions.below(self.results.len());
        let (seq, rest) = self.results[place].clone();
        let rest = match self.decisions.below(6) {
            0 => rest.replacen("false", "true", 1),
            1 => rest.replacen(':', ": ", 1),
            _ => rest,
        };
        let data = format!("{{{rest},\"content\":{}}}", self.string());
        if let Some(node) = self.nodes.iter_mut().find(|node| **node == seq) {
            *node = self.seq;
        }
        self.results[place] = (self.seq, rest);
        self.event_with("tool/result", data, replace_members(&[seq], seq, seq));
    }
}

fn replace_members(sources: &[u64], start: u64, end: u64) -> Members {
    vec![
        ("sourceEventSeqs", format!("{sources:?}")),
        (
            "surfaceOp",
            format!("{{\"op\":\"replace\",\"start\":{start},\"end\":{end}}}"),
        ),
    ]
}
