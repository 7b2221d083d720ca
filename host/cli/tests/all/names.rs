//! Names that somebody chose badly, or on purpose: each goes through every command, stays apart from all others, and
//! never leads out of the root.

use std::fs;
use std::path::Path;

use crate::support::{Place, TURN, files, json};

/// CC#59726: the longest file name on eCryptfs.
const FILE_NAME_BYTES_MAX: usize = 143;

/// Ids, with the story of each.
fn ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        // out of the root
        "..",
        ".",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:\\x",
        "~",
        "~root.lease",
        "~002E",
        // OMP#7642: reserved elsewhere, or one file with another where case is folded
        "con",
        "nul",
        "aux.txt",
        "COM1",
        "trailing.",
        "trailing ",
        "Abc",
        "abc",
        "ABC",
        // names of our own files
        "a.jsonl",
        "_leases",
        "_no-cwd",
        "a.summary",
        "a.60.torn",
        "a.0123456789abcdef.tmp",
        "a.0123456789abcdef.summary.tmp",
        // not Latin, invisible, moving the cursor
        "日本語",
        "é",
        "e\u{301}",
        "😀",
        "مرحبا",
        "\u{202e}cba",
        "\u{feff}a",
        "a\nb",
        "a\tb",
        "a\u{1b}[2J",
        "a'b\"c",
        "$(touch x)",
        "-x",
        "--root",
        "*",
        "a%00b",
    ]
    .map(String::from)
    .into();
    // CC#59726, and one whose name is just not shortened
    for length in [100, 101, 143, 255, 4096] {
        ids.push("x".repeat(length));
    }
    ids.push(format!("{}X", "x".repeat(100)));
    ids.push("日".repeat(1400));
    ids
}

fn listed(place: &Place) -> Vec<String> {
    let lines = place.ok(&["list", "--format", "jsonl"]);
    let ids = lines.lines().map(|line| {
        let entry = json(line);
        assert_eq!(entry["status"], "ok", "{line}");
        entry["id"].as_str().unwrap().to_owned()
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids
}

fn events(place: &Place, id: &str) -> usize {
    place
        .ok(&["show", "--format", "jsonl", "--", id])
        .lines()
        .count()
}

/// Only files of ours, with names that every filesystem takes.
fn assert_tame(place: &Place) {
    for path in files(place.dir.path()).keys() {
        assert!(path.starts_with("root/"), "{path:?}");
        for name in Path::new(path).iter().map(|name| name.to_str().unwrap()) {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "~._-".contains(c);
            assert!(name.chars().all(is_plain), "{path:?}");
            // names of leases and temporary files may get this much longer
            assert!(name.len() + 31 <= FILE_NAME_BYTES_MAX, "{path:?}");
        }
    }
}

#[test]
fn every_id_goes_through_every_command() {
    let place = Place::new();
    let ids = ids();
    for id in &ids {
        place.ok(&["create", &format!("--id={id}")]);
    }
    let mut sorted = ids.clone();
    sorted.sort();
    assert_eq!(listed(&place), sorted);
    assert_tame(&place);
    for (n, id) in ids.iter().enumerate() {
        let id = id.as_str();
        let again = place.run(&["create", &format!("--id={id}")]);
        again.fails(1, &["already"]);
        let append = ["append", "--", id];
        assert_eq!(
            place.feed(&append, TURN.as_bytes()).ok(&append),
            "0\n1\n2\n"
        );
        place.ok(&["update", &format!("--title=title {n}"), "--", id]);
        place.ok(&["resume", "--", id]);
        place.ok(&["verify", "--", id]);
        assert_eq!(place.ok(&["messages", "--", id]).lines().count(), 1);
        let child = format!("{id}'");
        place.ok(&["fork", &format!("--id={child}"), "--", id]);
        assert_eq!((events(&place, id), events(&place, &child)), (3, 3));
        place.ok(&["delete", "--", &child]);
        place.run(&["show", "--", &child]).fails(1, &["not found"]);
    }
    assert_tame(&place);
    assert_eq!(listed(&place), sorted);
    place.ok(&["verify"]);
    let titles = place.ok(&["list", "--format", "jsonl"]);
    for line in titles.lines().map(json) {
        let n = ids.iter().position(|id| line["id"] == id.as_str()).unwrap();
        assert_eq!(line["title"], format!("title {n}"));
    }
    for id in &ids {
        place.ok(&["delete", "--", id]);
    }
    let left = files(&place.root());
    let left: Vec<_> = left.keys().filter(|path| !path.ends_with('/')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn every_cwd_goes_through_every_command() {
    let long = format!("/{}d", "d/".repeat(2048));
    let cwds = [
        "/",
        "/etc",
        "/b",
        "/con",
        "/trailing.",
        "/Abc",
        "/abc",
        "/日本語",
        "/a\nb",
        "/a\u{1b}[2J",
        "/_leases",
        "/*",
        "/-x",
        long.as_str(),
    ];
    let place = Place::new();
    for (n, cwd) in cwds.iter().enumerate() {
        let id = format!("s{n}");
        place.ok(&["create", "--id", &id, "--cwd", cwd]);
        place.append(&id, TURN);
        let child = format!("c{n}");
        place.ok(&["fork", &id, "--id", &child]);
        let moved = format!("m{n}");
        place.ok(&["fork", &id, "--id", &moved, "--cwd", "/moved"]);
        let listed = place.ok(&["list", "--format", "jsonl", "--cwd", cwd]);
        let listed: Vec<_> = listed.lines().map(json).collect();
        assert_eq!(listed.len(), 2, "{cwd:?}");
        for entry in &listed {
            assert_eq!(entry["header"]["cwd"], *cwd);
        }
        for id in [&id, &child, &moved] {
            assert_eq!(events(&place, id), 3);
            place.ok(&["update", id, "--title", "T"]);
            place.ok(&["resume", id]);
            place.ok(&["messages", id]);
            place.ok(&["verify", id]);
        }
        place.ok(&["delete", &child]);
    }
    assert_tame(&place);
    place.ok(&["verify"]);
}

/// One directory had as many places for sessions as it has spellings.
#[test]
fn a_cwd_is_one_however_it_is_spelled() {
    let place = Place::new();
    let table = [
        ("/..", "/"),
        ("/../../etc", "/etc"),
        ("/a/../b", "/b"),
        ("/b/", "/b"),
        ("//b/./", "/b"),
        ("/b/c/..", "/b"),
    ];
    for (number, (given, stored)) in table.into_iter().enumerate() {
        let id = format!("s{number}");
        place.ok(&["create", "--id", &id, "--cwd", given]);
        place.append(&id, TURN);
        place.ok(&["fork", &id, "--id", &format!("m{number}"), "--cwd", given]);
        for id in [id, format!("m{number}")] {
            let shown = json(&place.ok(&["show", &id, "--format", "json"]));
            assert_eq!(shown["header"]["cwd"], stored, "{given:?}");
        }
    }
    let listed = |cwd: &str| place.ok(&["list", "--format", "jsonl", "--cwd", cwd]);
    for cwd in ["/b", "/b/", "/x/../b/."] {
        assert_eq!(listed(cwd).lines().count(), 8, "{cwd:?}");
    }
    // a link is not followed, whatever it leads to
    let here = place.dir.path().canonicalize().unwrap();
    std::fs::create_dir(here.join("real")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(here.join("real"), here.join("link")).unwrap();
    place.ok(&["create", "--id", "l", "--cwd", "link/"]);
    let shown = json(&place.ok(&["show", "l", "--format", "json"]));
    let link = here.join("link").display().to_string();
    assert_eq!(shown["header"]["cwd"], link);
}

/// No command line can name these, but a file can.
#[test]
fn ids_and_cwds_that_only_a_file_can_name() {
    let place = Place::new();
    let header = |id: &str, cwd: &str| {
        format!(
            "{{\"type\":\"session\",\"version\":0,\"id\":\"{id}\",\"createdAt\":7,\"cwd\":\"{cwd}\"}}\n"
        )
    };
    let nul = place.file("nul", header("a\\u0000b", "/x\\u0000y"));
    place.ok(&["import", &nul]);
    fs::remove_file(nul).unwrap();
    assert_eq!(listed(&place), ["a\0b"]);
    // kept as it came, for a header never changes
    let dots = place.file("dots", header("dots", "/a/../b/"));
    place.ok(&["import", &dots]);
    fs::remove_file(dots).unwrap();
    let shown = json(&place.ok(&["show", "dots", "--format", "json"]));
    assert_eq!(shown["header"]["cwd"], "/a/../b/");
    place.ok(&["delete", "dots"]);
    place.ok(&["verify"]);
    assert_tame(&place);

    for (id, cwd) in [
        ("", "/x"),
        ("b", ""),
        ("b", "relative"),
        ("b", "../x"),
        ("\\ud800", "/x"),
    ] {
        let file = place.file("bad", header(id, cwd));
        place.run(&["import", &file]).fails(1, &["cannot import"]);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(listed(&place), ["a\0b"]);
}

/// ruby-sdk#85, hermes-agent#74678, github/app#2309: a name that nobody had used got a session by being asked for.
#[test]
fn an_unknown_id_is_an_error_and_makes_nothing() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    let before = place.everything();
    let commands: [&[&str]; 9] = [
        &["append", "b1"],
        &["append", "b1", "--follow"],
        &["show", "b1"],
        &["messages", "b1"],
        &["verify", "b1"],
        &["resume", "b1"],
        &["fork", "b1"],
        &["update", "b1", "--title", "T"],
        &["delete", "b1"],
    ];
    for args in commands {
        place
            .feed(args, TURN.as_bytes())
            .fails(1, &["\"b1\" not found"]);
        assert_eq!(place.everything(), before, "{args:?}");
    }
}

/// CC#37954: a project was moved, and its sessions were not found any more.
#[test]
fn a_project_that_moved_goes_on_in_a_fork_with_its_new_place() {
    let place = Place::new();
    let (old, new) = (place.dir.path().join("old"), place.dir.path().join("new"));
    fs::create_dir(&old).unwrap();
    let old = old.canonicalize().unwrap();
    place.ok(&["create", "--id", "a1", "--cwd", old.to_str().unwrap()]);
    place.append("a1", TURN);
    fs::rename(&old, &new).unwrap();
    let new = new.canonicalize().unwrap();
    let new = new.to_str().unwrap();

    let all = json(&place.ok(&["list", "--format", "json"]));
    assert_eq!(all[0]["header"]["cwd"], old.to_str().unwrap());
    let before = fs::read(place.log()).unwrap();
    place.ok(&["fork", "a1", "--id", "a2", "--cwd", "new"]);
    let moved = json(&place.ok(&["list", "--format", "json", "--cwd", new]));
    assert_eq!(moved.as_array().unwrap().len(), 1);
    assert_eq!(moved[0]["header"]["cwd"], new);
    assert_eq!(moved[0]["header"]["parentSession"], "a1");
    assert_eq!(place.ok(&["messages", "a2"]), place.ok(&["messages", "a1"]));
    let logs = files(&place.root());
    assert!(
        logs.values().any(|log| *log == before),
        "the header never changes"
    );
}

/// CC#64844: the list was ordered by the time of the files, and looking at one made it the newest.
#[test]
fn the_last_event_orders_the_list_not_the_file() {
    let place = Place::new();
    for (id, time) in [("old", 1_000), ("new", 2_000)] {
        place.ok(&["create", "--id", id]);
        let event = format!("{{\"type\":\"plugin/x\",\"time\":{time},\"data\":{{}}}}");
        place.append(id, &event);
    }
    let old = fs::File::options()
        .append(true)
        .open(place.root().join("_no-cwd/old.jsonl"));
    old.unwrap()
        .set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60))
        .unwrap();
    place.ok(&["show", "old"]);
    place.ok(&["update", "old", "--title", "touched"]);
    let listed = json(&place.ok(&["list", "--format", "json"]));
    let order = [&listed[0], &listed[1]].map(|entry| (&entry["id"], &entry["updatedAt"]));
    assert_eq!(
        order,
        [
            (&json("\"new\""), &json("2000")),
            (&json("\"old\""), &json("1000"))
        ]
    );
}

/// The first prompt was captured again by every later one.
#[test]
fn the_first_prompt_is_captured_once() {
    let place = Place::new();
    place.ok(&["create", "--id", "a1"]);
    place.append("a1", TURN);
    place.append(
        "a1",
        &TURN.replace("\"hi\"", "\"second\"").replace(":1,", ":2,"),
    );
    place.ok(&["update", "a1", "--title", "T"]);
    place.ok(&["fork", "a1", "--id", "a2"]);
    let listed = json(&place.ok(&["list", "--format", "json"]));
    for entry in listed.as_array().unwrap() {
        assert_eq!(entry["firstPrompt"], "hi", "{entry}");
    }
}
