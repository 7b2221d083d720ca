//! Sessions that are sealed on their way to files.

use crate::support::{OPEN_TURN, Place, Ran, TURN, without_leases};

const KEY: &str = "ANNALS_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER: &str = "ANNALS_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHiA=";

fn sealed() -> Place {
    Place::linked(&["--through".to_owned(), "encrypt".to_owned()])
}

fn with(place: &Place, key: &str, args: &[&str], stdin: &str) -> Ran {
    let starter: Vec<&str> = ["env", "-u", "OTHER_KEY", key].into();
    place.under(&starter, args, stdin.as_bytes())
}

fn ok(place: &Place, args: &[&str]) -> String {
    with(place, KEY, args, "").ok(args)
}

#[test]
fn every_command_works_through_encrypt() {
    let place = sealed();
    ok(&place, &["create", "--id", "a", "--cwd", "/w"]);
    with(&place, KEY, &["append", "a"], TURN).ok(&["append"]);
    with(
        &place,
        KEY,
        &["append", "a", "--link", "dynamic"],
        OPEN_TURN,
    )
    .ok(&["append"]);
    ok(&place, &["update", "a", "--title", "a title"]);
    let listed = ok(&place, &["list"]);
    assert!(listed.contains("a title"), "{listed}");
    ok(&place, &["doctor", "--fix"]);
    ok(&place, &["resume", "a"]);
    ok(&place, &["fork", "a", "--id", "b"]);
    ok(&place, &["salvage", "a", "--fork", "c"]);
    ok(&place, &["verify", "--strict"]);
    assert_eq!(
        ok(&place, &["messages", "a"]),
        ok(&place, &["messages", "b"])
    );
    let shown = ok(&place, &["show", "a", "--format", "jsonl"]);
    assert_eq!(shown, ok(&place, &["show", "c", "--format", "jsonl"]));
    let file = place.file("plain.jsonl", {
        let plain = Place::new();
        plain.ok(&["create", "--id", "d"]);
        plain.append("d", TURN);
        std::fs::read(plain.log()).unwrap()
    });
    ok(&place, &["import", &file]);
    assert!(ok(&place, &["show", "d"]).contains("turn/end"));
    ok(&place, &["delete", "d"]);
    for (path, bytes) in place.everything() {
        let text = String::from_utf8_lossy(&bytes);
        let is_sealed = !text.contains("turn/end") && !text.contains("a title");
        assert!(is_sealed || path == "plain.jsonl", "{path}");
    }
}

#[test]
fn a_torn_end_is_repaired() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], TURN).ok(&["append"]);
    with(&place, KEY, &["append", "a"], OPEN_TURN).ok(&["append"]);
    let whole = ok(&place, &["show", "a", "--format", "jsonl"]);
    let log = place.log();
    let bytes = std::fs::read(&log).unwrap();
    let length = bytes.len() - 7;
    std::fs::write(&log, &bytes[..length]).unwrap();
    let ran = with(&place, KEY, &["verify"], "");
    assert_eq!(ran.code, 3, "{}", ran.out);
    let done = ok(&place, &["resume", "a"]);
    assert!(done.contains("cut a bad end"), "{done}");
    let shown = ok(&place, &["show", "a", "--format", "jsonl"]);
    let kept = whole.lines().count() - 1;
    assert!(shown.lines().take(kept).eq(whole.lines().take(kept)));
    ok(&place, &["salvage", "a", "--fork", "b"]);
    ok(&place, &["verify"]);
}

/// A letter went bad on the medium: what else there is can be salvaged.
#[test]
fn past_a_record_that_does_not_open_there_is_salvage() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], TURN).ok(&["append"]);
    let log = place.log();
    let mut lines: Vec<String> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let data = lines[2].rfind(':').unwrap() + 30;
    let letter = if &lines[2][data..=data] == "A" {
        "B"
    } else {
        "A"
    };
    lines[2].replace_range(data..=data, letter);
    std::fs::write(&log, lines.join("\n") + "\n").unwrap();
    let before = without_leases(place.everything());
    let refused = with(&place, KEY, &["resume", "a"], "");
    refused.fails(3, &["line 3, seq 1", "encrypt.unopened"]);
    let skip = ["--set", "encrypt.unopened=skip"];
    let args = [&["salvage", "a", "--out", "saved.jsonl"][..], &skip].concat();
    let ran = with(&place, KEY, &args, "");
    let saved = place.dir.path().join("saved.jsonl");
    let saved = std::fs::read_to_string(saved).unwrap_or_else(|_| panic!("{}", ran.err));
    assert!(
        saved.contains("turn/start") && saved.contains("salvage/gap"),
        "{saved}"
    );
    assert!(
        saved.contains("turn/end") && !saved.contains("annals/sealed"),
        "{saved}"
    );
    let args = [&["resume", "a"][..], &skip].concat();
    with(&place, KEY, &args, "").fails(1, &["encrypt.unopened"]);
    let mut after = without_leases(place.everything());
    after.remove("saved.jsonl");
    assert_eq!(after, before);
}

#[test]
fn a_key_that_is_not_the_one_changes_nothing() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], OPEN_TURN).ok(&["append"]);
    let before = place.everything();
    for args in [
        &["resume", "a"][..],
        &["append", "a"],
        &["messages", "a"],
        &["update", "a", "--title", "t"],
        &["delete", "a"],
        &["fork", "a", "--id", "b"],
    ] {
        let ran = with(&place, OTHER, args, TURN);
        ran.fails(3, &["\"a\"", "another key", "ANNALS_KEY"]);
        assert!(!ran.err.contains("salvage"), "{}", ran.err);
        assert_eq!(place.everything(), before);
    }
    let ran = with(&place, OTHER, &["list"], "");
    assert!(
        ran.out
            .contains("damaged: the session was sealed with another key"),
        "{}",
        ran.out
    );
    for (key, words) in [
        ("ANNALS_KEY=", "is not set"),
        ("ANNALS_KEY=swordfish", "no key of 32 bytes"),
        ("X=y", "ANNALS_KEY"),
    ] {
        let ran = place.under(&["env", "-u", "ANNALS_KEY", key], &["list"], b"");
        ran.fails(2, &[words, "openssl rand"]);
        assert!(!ran.err.contains("swordfish"));
    }
    assert_eq!(place.everything(), before);
}

#[test]
fn without_the_middleware_sealed_sessions_are_left_alone() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], OPEN_TURN).ok(&["append"]);
    let before = without_leases(place.everything());
    let root = place.root().display().to_string();
    let plain = |args: &[&str]| {
        let args: Vec<&str> = [&["--root", &root], args].concat();
        crate::support::run(place.dir.path(), &args, b"")
    };
    plain(&["resume", "a"]).fails(3, &["is sealed", "--through encrypt"]);
    plain(&["messages", "a"]).fails(3, &["is sealed"]);
    for args in [
        &["update", "a", "--title", "t"][..],
        &["salvage", "a", "--fork", "b"],
        &["salvage", "a", "--out", "saved.jsonl"],
        &["salvage", "a"],
    ] {
        let ran = plain(args);
        ran.fails(3, &["session \"a\" is sealed", "--through encrypt"]);
        assert_eq!(ran.err.matches("\"a\"").count(), 1, "{}", ran.err);
    }
    assert_eq!(plain(&["doctor", "--fix"]).code, 3);
    assert_eq!(without_leases(place.everything()), before);
    // and a plain one is not taken for a sealed one
    plain(&["create", "--id", "b"]).ok(&["create"]);
    with(&place, KEY, &["resume", "b"], "").fails(3, &["not sealed", "import it through encrypt"]);
}

/// Without its header a sealed log still is one.
#[test]
fn a_sealed_log_without_its_header_is_not_salvaged_as_a_plain_one() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], TURN).ok(&["append"]);
    let log = place.log();
    let text = std::fs::read_to_string(&log).unwrap();
    let (_, records) = text.split_once('\n').unwrap();
    std::fs::write(&log, format!("{{\n{records}")).unwrap();
    let headless = place.file("headless.jsonl", std::fs::read(&log).unwrap());
    let before = without_leases(place.everything());
    let root = place.root().display().to_string();
    for (code, args) in [
        (3, ["salvage", "a", "--fork", "b"]),
        (1, ["import", "--salvage", &headless, "--wait=0"]),
    ] {
        let args: Vec<&str> = [&["--root", &root], &args[..]].concat();
        let ran = crate::support::run(place.dir.path(), &args, b"");
        ran.fails(code, &["is sealed", "--through encrypt"]);
    }
    assert_eq!(without_leases(place.everything()), before);
}

/// The advice was to let resume cut what does not open.
#[test]
fn messages_past_what_does_not_open_say_what_helps() {
    let place = sealed();
    ok(&place, &["create", "--id", "a"]);
    with(&place, KEY, &["append", "a"], TURN).ok(&["append"]);
    with(&place, KEY, &["append", "a"], OPEN_TURN).ok(&["append"]);
    let args = ["messages", "a", "--set", "encrypt.unopened=skip"];
    let ran = with(&place, OTHER, &args, "");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    for word in ["does not open", "another key", "ANNALS_KEY"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert!(!ran.err.contains("resume"), "{}", ran.err);
    // with the right one nothing is left out, and nothing can be closed
    let ran = with(&place, KEY, &args, "");
    assert!(!ran.out.is_empty() && ran.err.contains("last turn is open"));
    assert!(!ran.err.contains("resume"), "{}", ran.err);
}

#[test]
fn a_layer_is_a_name_or_a_component() {
    let place = Place::new();
    let ran = place.run(&["list", "--through", "encript"]);
    assert_eq!(ran.code, 2);
    let encrypt = crate::support::component("encrypt.wasm")
        .display()
        .to_string();
    let args = [
        "--through",
        &encrypt,
        "--set",
        "encrypt.key-env=MINE",
        "create",
        "--id",
        "a",
    ];
    let mine = KEY.replace("ANNALS_KEY", "MINE");
    place.under(&["env", &mine], &args, b"").ok(&args);
    // nothing is granted that was not named
    let ran = with(&place, KEY, &["--through", &encrypt, "list"], "");
    assert_eq!(ran.code, 2, "{}", ran.err);
}
