//! Every recorded log, each into a root of its own, through the bundled backend and the same one linked both ways.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, json, links};

#[test]
fn recorded_logs_come_back_as_they_went_in() {
    let Some(fixtures) = std::env::var_os("ANNALS_FIXTURES") else {
        println!("left out: the recorded logs; set ANNALS_FIXTURES to their directory");
        return;
    };
    let mut directory = Path::new(&fixtures).to_path_buf();
    if !directory.join("expected.json").exists() {
        directory.push("dsh-logs");
    }
    let expected = json(&fs::read_to_string(directory.join("expected.json")).unwrap());
    let logs = expected["logs"].as_array().unwrap();
    for link in links() {
        for log in logs {
            let name = log["file"].as_str().unwrap();
            let text = fs::read_to_string(directory.join(name)).unwrap();
            println!("{link:?} {name}");
            // Only the header has to be valid; the expected messages have the placeholders that the events have.
            let (header, events) = text.split_once('\n').unwrap();
            let text = format!("{}\n{events}", header.replace("{{cwd}}", "/cwd"));
            one(&link, &text, log);
        }
    }
    println!("{} logs, linked in {} ways", logs.len(), links().len());
}

fn one(link: &[String], text: &str, log: &Value) {
    let place = Place::linked(link);
    let file = place.file("log.jsonl", text);
    let (header, events) = text.split_once('\n').unwrap();
    let id = json(header)["id"].as_str().unwrap().to_owned();
    if let Some(error) = log["seed"].get("error") {
        let rule = error["kind"].as_str().unwrap().replace('_', "-");
        // The header is line 1, event 0 line 2.
        let line = format!("line {}", index(error) + 2);
        place
            .run(&["import", &file])
            .fails(1, &[&file, &line, &rule]);
        return;
    }
    assert_eq!(place.ok(&["import", &file]), format!("{id}\n"));
    assert_eq!(place.ok(&["show", &id, "--format", "jsonl"]), events);
    let expanded = place.ok(&["show", &id, "--expand", "--format", "jsonl"]);
    assert_eq!(
        expanded.lines().count() as u64,
        log["events"].as_u64().unwrap()
    );
    let messages = json(&place.ok(&["messages", &id, "--format", "json"]));
    assert_eq!(messages, log["messages"]);
    assert_eq!(
        place.ok(&["messages", &id]).lines().count(),
        messages.as_array().unwrap().len()
    );
    place.ok(&["verify", &id]);
    let stored = fs::read_to_string(place.log()).unwrap();
    let kept = json(stored.lines().next().unwrap());
    assert_eq!(kept, json(header), "the header's members");
}

fn index(error: &Value) -> u64 {
    let message = error["message"].as_str().unwrap();
    let digits = message.rsplit("index ").next().unwrap();
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
