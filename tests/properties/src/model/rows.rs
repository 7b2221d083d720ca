//! Packing, run by run.

use super::Event;

/// What a streamed delta says, every part as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Delta {
    /// `text`, `reasoning` or `tool-call`.
    pub kind: String,
    /// Everything that a run shares: turn, step and index.
    pub place: [String; 3],
    /// A tool call's id, with its quotes.
    pub id: Option<String>,
    /// A tool call's name, with its quotes.
    pub name: Option<String>,
    /// The text, with its quotes.
    pub text: String,
}

impl Delta {
    fn is_beside(&self, other: &Delta) -> bool {
        Delta {
            text: String::new(),
            ..self.clone()
        } == Delta {
            text: String::new(),
            ..other.clone()
        }
    }
}

/// The records of a log, each ended by a newline: runs of three and more deltas of one block as rows.
pub fn pack(events: &[Event]) -> String {
    let mut out = String::new();
    let mut rest = events;
    while let Some(first) = rest.first() {
        let is_beside = |event: &Event| match (&first.delta, &event.delta) {
            (Some(first), Some(delta)) => first.is_beside(delta),
            _ => false,
        };
        let length = rest.iter().take_while(|event| is_beside(event)).count();
        let (run, after) = rest.split_at(length.max(1));
        match &first.delta {
            Some(delta) if run.len() >= 3 => out.push_str(&row(delta, run)),
            _ => out.push_str(&super::lines(run)),
        }
        rest = after;
    }
    out
}

fn row(shared: &Delta, run: &[Event]) -> String {
    let [turn, step, index] = &shared.place;
    let steps: Vec<String> = run
        .windows(2)
        .map(|pair| (pair[1].time_ms as i64 - pair[0].time_ms as i64).to_string())
        .collect();
    let texts: Vec<String> = run
        .iter()
        .flat_map(|event| &event.delta)
        .map(|delta| delta.text.clone())
        .collect();
    let id = shared
        .id
        .as_ref()
        .map_or(String::new(), |id| format!(",\"id\":{id}"));
    let name = shared
        .name
        .as_ref()
        .map_or(String::new(), |name| format!(",\"name\":{name}"));
    let member = if shared.kind == "tool-call" {
        "args"
    } else {
        "texts"
    };
    format!(
        "{{\"type\":\"{}-chunks\",\"seq0\":{},\"time0\":{},\"data\":{{\"turn\":{turn},\"step\":{step},\"index\":{index},\"dt\":[{}]{id}{name},\"{member}\":[{}]}}}}\n",
        shared.kind,
        run[0].seq,
        run[0].time_ms,
        steps.join(","),
        texts.join(",")
    )
}
