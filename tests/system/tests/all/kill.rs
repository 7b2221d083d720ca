//! SIGKILL at any moment: what was printed as durable is there afterwards.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::command::{annals, program, turn};

const ROUNDS: u32 = 20;

/// Appends turns until it is killed; each line of `$1` is a turn's text and what `annals append` printed for it.
const RECORDER: &str = r#"
n=0
while :; do
  n=$((n + 1))
  printed=$(sed "s/TEXT/round $3 turn $n/" "$2" | "$0" --root "$4" --format jsonl append a1 2>/dev/null) &&
    printf 'round %s turn %s\t%s\n' "$3" "$n" "$printed" >>"$1"
done
"#;

/// Record for `milliseconds`, then kill shell and command at one stroke.
fn record(root: &Path, printed: &Path, template: &Path, round: u32, milliseconds: u64) {
    let mut recorder = Command::new("sh");
    recorder
        .arg("-c")
        .arg(RECORDER)
        .arg(program())
        .args([printed, template]);
    recorder.arg(round.to_string()).arg(root);
    let mut recorder = recorder
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(milliseconds));
    // the library has no call for a whole group
    let mut kill = Command::new("sh");
    let killed = kill
        .args(["-c", "kill -KILL -$0", &recorder.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success(), "the recorder ran until it was killed");
    recorder.wait().unwrap();
}

/// The text of every user message by its seq, as stored; reading repairs nothing.
fn stored(root: &Path) -> HashMap<u64, String> {
    let shown = annals(root, "show a1 --format jsonl", "");
    let events = shown
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let messages = events.filter(|event| event["type"] == "user/message");
    let texts = messages.map(|event| {
        let text = event["data"]["content"][0]["text"].as_str().unwrap();
        (event["seq"].as_u64().unwrap(), text.to_owned())
    });
    texts.collect()
}

#[test]
fn what_was_printed_as_durable_survives_sigkill() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let printed = folder.path().join("printed");
    let template = folder.path().join("template");
    fs::write(&template, turn(1, "TEXT")).unwrap();
    fs::write(&printed, "").unwrap();
    annals(&root, "create --id a1", "");

    for round in 0..ROUNDS {
        // delays that share no period with an append's own time
        let milliseconds = 60 + u64::from(round * 37 % 101);
        record(&root, &printed, &template, round, milliseconds);
        let stored = stored(&root);
        for line in fs::read_to_string(&printed).unwrap().lines() {
            let (text, batch) = line.split_once('\t').unwrap();
            let batch: Value = serde_json::from_str(batch).unwrap();
            let message_seq = batch["firstSeq"].as_u64().unwrap() + 1;
            let found = stored.get(&message_seq).map(String::as_str);
            assert_eq!(found, Some(text), "round {round}, seq {message_seq}");
        }
    }

    let turns = fs::read_to_string(&printed).unwrap().lines().count();
    assert!(turns > 0, "the recorder never got as far as printing");
    annals(&root, "append a1", &turn(1, "after the last kill"));
    annals(&root, "verify a1", "");
}
