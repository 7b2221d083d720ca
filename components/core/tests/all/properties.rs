//! Random logs against a model so plain that it is right by looking at it.

use annals_core::chunk_rows::{pack, unpack};
use annals_core::header::Header;
use annals_core::load::{Loaded, Loader};
use annals_core::session::Session;
use annals_core::surface::fold_surface;
use proptest::prelude::*;

/// What is done to a session: a kind of event and two numbers to choose by.
type Step = (u8, u16, u16);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..14, any::<u16>(), any::<u16>()), 0..60)
}

fn header() -> Header {
    Header {
        id: "s".into(),
        ..Header::default()
    }
}

/// The surface as a list of seqs with the message that each one shows.
#[derive(Clone, Default)]
struct Model {
    nodes: Vec<(u64, Option<String>)>,
    generation: u64,
    next_seq: u64,
    turn: u64,
}

/// What a line to append does: which nodes go, and what the new one shows. None: it is for the log only.
type Place = Option<(std::ops::Range<usize>, Option<String>)>;

fn user_content(text: &str) -> String {
    format!(r#"[{{"type":"text","text":"{text}"}}]"#)
}

fn user_message(text: &str) -> String {
    format!(r#"{{"role":"user","content":{}}}"#, user_content(text))
}

impl Model {
    /// A line to append, and whether it breaks no rule. Takes the change on itself when it does not.
    fn line(&mut self, (kind, a, b): Step) -> (String, bool) {
        let text = format!("é{a}\\n");
        let turn = self.turn + u64::from(kind == 0);
        let (line, place) = match kind {
            0 => (
                format!(r#"{{"type":"turn/start","data":{{"turn":{turn}}}}}"#),
                None,
            ),
            1 => (
                format!(r#"{{"type":"turn/end","data":{{"turn":{turn}}}}}"#),
                None,
            ),
            2 => (
                format!(r#"{{"type":"step/start","data":{{"turn":{turn},"step":{b}}}}}"#),
                None,
            ),
            3 => (
                format!(r#"{{"type":"step/end","data":{{"turn":{turn},"step":{b}}}}}"#),
                None,
            ),
            4 | 5 => {
                let content = user_content(&text);
                let line = format!(
                    r#"{{"type":"user/message","data":{{"content":{content}}},"surfaceOp":"append"}}"#
                );
                (line, self.end(Some(user_message(&text))))
            }
            6 => self.assistant(a, b % 4 == 0),
            7 => (
                format!(r#"{{"type":"tool/call","data":{{"callId":"c{}"}}}}"#, a % 5),
                None,
            ),
            8 => self.tool_result(a, b),
            9 | 10 if !self.nodes.is_empty() => self.replace(&text, a, b),
            11 => {
                let chunk = format!(r#"{{"type":"text-delta","index":0,"text":"{b}"}}"#);
                let data = format!(r#"{{"turn":1,"step":1,"chunk":{chunk}}}"#);
                (
                    format!(r#"{{"type":"assistant/chunk","time":{a},"data":{data}}}"#),
                    None,
                )
            }
            12 => return (r#"{"type":"user/message","data":{}}"#.to_owned(), false),
            13 => {
                let wrong = self.next_seq + 1;
                return (
                    format!(r#"{{"type":"plugin/x","data":{{}},"seq":{wrong}}}"#),
                    false,
                );
            }
            _ => (format!(r#"{{"type":"plugin/x","data":[{a},null]}}"#), None),
        };
        if let Some((range, shown)) = place {
            self.generation += u64::from(!range.is_empty());
            self.nodes.splice(range, [(self.next_seq, shown)]);
        }
        self.turn = turn;
        self.next_seq += 1;
        (line, true)
    }

    fn end(&self, shown: Option<String>) -> Place {
        Some((self.nodes.len()..self.nodes.len(), shown))
    }

    fn assistant(&self, a: u16, is_empty: bool) -> (String, Place) {
        let call = format!(
            r#"[{{"type":"tool-call","id":"c{}","name":"n","arguments":"{{}}"}}]"#,
            a % 5
        );
        let content = if is_empty { "[]" } else { call.as_str() };
        let parts = format!(r#""content":{content},"provenance":{{"provider":"p","model":"m"}}"#);
        let data = format!(r#"{{"turn":{},"step":1,{parts}}}"#, self.turn);
        let surface = r#""surfaceOp":"append","sourceEventSeqs":[]"#;
        let line = format!(r#"{{"type":"assistant/message","data":{data},{surface}}}"#);
        (
            line,
            self.end((!is_empty).then(|| format!(r#"{{"role":"assistant",{parts}}}"#))),
        )
    }

    fn tool_result(&self, a: u16, b: u16) -> (String, Place) {
        let (id, parts) = (
            format!("c{}", a % 5),
            format!(r#""content":{b},"isError":false"#),
        );
        let data = format!(r#"{{"callId":"{id}",{parts}}}"#);
        let line = format!(r#"{{"type":"tool/result","data":{data},"surfaceOp":"append"}}"#);
        let block = format!(r#"{{"type":"tool-result","toolCallId":"{id}",{parts}}}"#);
        (
            line,
            self.end(Some(format!(r#"{{"role":"user","content":[{block}]}}"#))),
        )
    }

    fn replace(&self, text: &str, a: u16, b: u16) -> (String, Place) {
        let from = usize::from(a) % self.nodes.len();
        let to = (from + usize::from(b) % 3).min(self.nodes.len() - 1);
        let sources: Vec<u64> = self.nodes[from..=to]
            .iter()
            .rev()
            .map(|(seq, _)| *seq)
            .collect();
        let (start, end) = (self.nodes[from].0, self.nodes[to].0);
        let op = format!(r#"{{"op":"replace","start":{start},"end":{end}}}"#);
        let surface = format!(r#""sourceEventSeqs":{sources:?},"surfaceOp":{op}"#);
        let data = format!(r#"{{"content":{}}}"#, user_content(text));
        let line = format!(r#"{{"type":"user/message","data":{data},{surface}}}"#);
        (line, Some((from..to + 1, Some(user_message(text)))))
    }

    fn seqs(&self) -> Vec<u64> {
        self.nodes.iter().map(|(seq, _)| *seq).collect()
    }

    fn messages(&self) -> Vec<String> {
        self.nodes
            .iter()
            .filter_map(|(_, message)| message.clone())
            .collect()
    }
}

/// A session of the steps that break no rule.
fn session_of(steps: &[Step]) -> Session {
    let (mut model, mut session) = (Model::default(), Session::new(header()).unwrap());
    for step in steps {
        let (line, is_good) = model.line(*step);
        assert_eq!(session.append(&line, 7).is_ok(), is_good, "{line}");
    }
    session
}

fn load(header_bytes: usize, body: &[u8], page_bytes: usize) -> Loaded {
    let mut loader = Loader::new(header(), header_bytes as u64);
    let (mut page, mut at) = (String::new(), header_bytes as u64);
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(text) if text.ends_with('\n') => page.push_str(text),
            _ => {
                loader.lines(std::mem::take(&mut page), Some(at));
                loader.raw(line, None);
                continue;
            }
        }
        if page.len() >= page_bytes {
            loader.lines(&page, Some(at));
            at += page.len() as u64;
            page.clear();
        }
    }
    if !page.is_empty() {
        loader.lines(&page, Some(at));
    }
    loader.finish().unwrap()
}

fn events(session: &Session) -> String {
    session.events(0, u32::MAX).unwrap().lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn incremental_and_whole_fold_agree_on_every_prefix(steps in steps(), batch in 1usize..6) {
        let (mut model, mut session) = (Model::default(), Session::new(header()).unwrap());
        for steps in steps.chunks(batch) {
            let before = model.clone();
            let (mut lines, mut is_good) = (String::new(), true);
            for step in steps {
                let (line, is_line_good) = model.line(*step);
                lines.push_str(&line);
                lines.push('\n');
                is_good &= is_line_good;
            }
            let result = session.append(&lines, 7);
            prop_assert_eq!(result.is_ok(), is_good, "{:?} {}", result, lines);
            if !is_good {
                model = before;
            }
            prop_assert_eq!(session.next_seq(), model.next_seq);
            prop_assert_eq!(session.surface().nodes().collect::<Vec<_>>(), model.seqs());
            prop_assert_eq!(session.surface().generation(), model.generation);
            let (nodes, replacements) = fold_surface(&session.stored_from(0).lines).unwrap();
            prop_assert_eq!(&nodes, &model.seqs());
            prop_assert_eq!(replacements.len() as u64, model.generation);
            let page = session.messages(0, u32::MAX).unwrap();
            prop_assert_eq!(page.lines.lines().map(str::to_owned).collect::<Vec<_>>(), model.messages());
        }
    }

    #[test]
    fn a_log_reads_back_byte_for_byte(steps in steps(), page_bytes in 1usize..2000) {
        let mut session = session_of(&steps);
        let body = session.stored_from(0).lines.into_owned();
        let Loaded { session: mut again, cut } = load(50, body.as_bytes(), page_bytes);
        prop_assert_eq!(cut, None);
        prop_assert_eq!(again.stored_from(0).lines, &*body);
        prop_assert_eq!(again.surface(), session.surface());
        prop_assert_eq!(again.messages(0, u32::MAX).unwrap(), session.messages(0, u32::MAX).unwrap());
        prop_assert_eq!(again.last_time_ms(), session.last_time_ms());
        prop_assert_eq!(again.closers(), session.closers());
    }

    #[test]
    fn a_repaired_log_needs_no_repair(steps in steps(), keep in any::<prop::sample::Index>(), page_bytes in 1usize..2000) {
        let body = session_of(&steps).stored_from(0).lines.into_owned();
        let torn = &body.as_bytes()[..keep.index(body.len() + 1)];
        let Loaded { mut session, cut } = load(50, torn, page_bytes);
        let kept = session.stored_from(0).lines.into_owned();
        prop_assert!(torn.starts_with(kept.as_bytes()));
        prop_assert_eq!(cut.map_or(0, |cut| cut.bytes) as usize, torn.len() - kept.len());
        let closers = session.close_turn().unwrap().lines;
        let Loaded { session: again, cut } = load(50, format!("{kept}{closers}").as_bytes(), page_bytes);
        prop_assert_eq!(cut, None);
        prop_assert_eq!(again.closers(), "");
        prop_assert!(!again.has_open_turn());
        prop_assert_eq!(again.surface(), session.surface());
    }

    #[test]
    fn a_packed_log_holds_the_same_events(steps in steps(), page_bytes in 1usize..2000, bytes_max in 0u32..500) {
        // Long runs of deltas, as a provider streams them.
        let steps: Vec<Step> = steps.into_iter().flat_map(|step| vec![step; if step.0 == 11 { 5 } else { 1 }]).collect();
        let session = session_of(&steps);
        let body = session.stored_from(0).lines.into_owned();
        let packed = pack(&body).unwrap();
        prop_assert_eq!(&unpack(&packed).unwrap(), &body);
        let Loaded { session: mut again, cut } = load(50, packed.as_bytes(), page_bytes);
        prop_assert_eq!(cut, None);
        prop_assert_eq!(again.stored_from(0).lines, &*packed);
        prop_assert_eq!(events(&again), body);
        prop_assert_eq!(again.surface(), session.surface());
        prop_assert_eq!(again.closers(), session.closers());
        let mut next = Some(0);
        let mut paged = String::new();
        while let Some(start) = next {
            let page = again.events(start, bytes_max).unwrap();
            paged.push_str(&page.lines);
            next = page.next;
        }
        prop_assert_eq!(paged, events(&session));
        prop_assert_eq!(again.append("{\"type\":\"turn/end\",\"data\":{}}", 9).unwrap().first_seq, session.next_seq());
    }
}
