//! Inputs to begin with: small logs, decisions, and the lines of recorded logs where there are any.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::DECISIONS;
use crate::random::Random;

/// The longest recorded log that is an input as a whole.
const LOG_BYTES_MAX: usize = 16 << 10;

const HEADER: &str = r#"{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"/w","parentSession":"p","seedLength":2,"delegationDepth":1,"x":[1]}"#;

const TURN: &str = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"message"}}}
{"type":"request/header","seq":1,"time":1,"data":{"header":{"config":{"provider":"p","model":"m"},"system":"s"},"reason":"initial"}}
{"type":"user/message","seq":2,"time":1,"data":{"content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}
{"type":"step/start","seq":3,"time":2,"data":{"turn":1,"step":1}}
{"type":"assistant/message","seq":4,"time":3,"data":{"turn":1,"step":1,"content":[{"type":"tool-call","id":"a","name":"n","arguments":{}},{"type":"tool-call","id":"b","name":"n","arguments":{}}],"provenance":{"provider":"p","model":"m"}},"sourceEventSeqs":[3],"surfaceOp":"append"}
{"type":"tool/call","seq":5,"time":4,"data":{"turn":1,"step":1,"callId":"a"}}
{"type":"tool/result","seq":6,"time":5,"data":{"turn":1,"step":1,"callId":"a","content":[{"type":"text","text":"done"}],"isError":false},"sourceEventSeqs":[5],"surfaceOp":"append"}
{"type":"tool/result","seq":7,"time":6,"data":{"turn":1,"step":1,"callId":"a","content":"short","isError":false},"sourceEventSeqs":[6],"surfaceOp":{"op":"replace","start":6,"end":6}}
{"type":"user/message","seq":8,"time":7,"data":{"content":"sum"},"sourceEventSeqs":[2,4],"surfaceOp":{"op":"replace","start":2,"end":4}}
"#;

// Calls asked for again, answered, begun again.
const CALLS: &str = r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}
{"type":"step/start","seq":1,"time":1,"data":{"turn":1,"step":1}}
{"type":"tool/call","seq":2,"time":1,"data":{"turn":1,"step":1,"callId":"b"}}
{"type":"assistant/message","seq":3,"time":1,"data":{"turn":1,"step":1,"content":[{"type":"tool-call","id":"a"},{"type":"tool-call","id":"b"},{"type":"text"}],"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}
{"type":"tool/call","seq":4,"time":1,"data":{"turn":1,"step":1,"callId":"a"}}
{"type":"tool/result","seq":5,"time":1,"data":{"turn":1,"step":1,"callId":"\u0061"},"surfaceOp":"append"}
{"type":"assistant/message","seq":6,"time":1,"data":{"turn":1,"step":1,"content":[{"type":"tool-call","id":"b"},{"type":"tool-call","id":"a"}],"provenance":{"provider":"p","model":"m"}},"surfaceOp":"append"}
{"type":"tool/result","seq":7,"time":1,"data":{"turn":1,"step":1,"callId":"b"},"surfaceOp":"append"}
"#;

const ROWS: &str = r#"{"type":"text-chunks","seq0":0,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[5,-9,2],"texts":["a","\u0062","é",""]}}
{"type":"reasoning-chunks","seq0":4,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}
{"type":"tool-call-chunks","seq0":5,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[0],"id":"c","name":"n","args":["{","}"]}}
{"type":"assistant/chunk","seq":7,"time":100,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"x"}}}
{"type":"assistant/chunk","seq":8,"time":101,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"y"}}}
{"type":"assistant/chunk","seq":9,"time":101,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"z"}}}
"#;

/// Small inputs that need no file, `decisions` of them rows of decisions.
pub fn built_in(decisions: usize) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Vec<u8>> = vec![HEADER.into(), TURN.into(), CALLS.into(), ROWS.into()];
    inputs.extend(TURN.lines().chain(ROWS.lines()).map(Vec::from));
    inputs.push(format!("{TURN}{{\"type\":\"turn/end\",\"seq\":9,\"ti").into_bytes());
    let mut random = Random::new(7);
    for _ in 0..decisions {
        let length = random.below(400);
        let mut input = vec![DECISIONS];
        input.extend((0..length).map(|_| random.number() as u8));
        inputs.push(input);
    }
    inputs
}

/// Inputs from the files of a directory: of `.jsonl` the whole log and each line, of `.json` every text in it that
/// looks like JSON and every list of events.
///
/// # Errors
/// The directory or one of its files cannot be read.
pub fn recorded(directory: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        match kind {
            Some("jsonl") => add_log(&fs::read_to_string(&path)?, &mut inputs),
            Some("json") => {
                let file = serde_json::from_str(&fs::read_to_string(&path)?)?;
                add_value(&file, &mut inputs);
            }
            Some(_) | None => {}
        }
    }
    inputs.retain(|input| !input.is_empty() && input.len() <= LOG_BYTES_MAX);
    inputs.sort_unstable();
    inputs.dedup();
    Ok(inputs)
}

fn add_log(log: &str, inputs: &mut Vec<Vec<u8>>) {
    let events = log.split_once('\n').map_or("", |(_, events)| events);
    inputs.push(events.into());
    inputs.extend(log.lines().map(Vec::from));
}

fn add_value(value: &Value, inputs: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if text.contains(['{', '[']) => {
            let events = text.split_once('\n').map_or("", |(_, events)| events);
            inputs.extend([text.as_str(), events].map(Vec::from));
        }
        Value::Array(elements) => {
            if elements.iter().any(|element| element.get("type").is_some()) {
                let lines = elements.iter().map(|element| format!("{element}\n"));
                inputs.push(lines.collect::<String>().into_bytes());
            }
            elements
                .iter()
                .for_each(|element| add_value(element, inputs));
        }
        Value::Object(members) => members
            .values()
            .for_each(|member| add_value(member, inputs)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
