//! Reading never writes: not a byte, not a time, and not on a medium where it could not.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::support::{OPEN_TURN, Place, Ran, TURN, cannot_run};

/// Every command that reads. In session `torn` the log ends torn, in a turn that is open.
const READING: [&[&str]; 13] = [
    &["list"],
    &["list", "--cwd", "/nowhere"],
    &["show", "a1"],
    &["show", "a1", "--expand"],
    &["show", "a1", "--format", "jsonl"],
    &["messages", "a1"],
    &["verify", "a1"],
    &["verify"],
    &["list", "--verify"],
    &["doctor"],
    &["messages", "torn"],
    &["show", "torn"],
    &["salvage", "torn"],
];

/// A root with a healthy session, one with a torn end, and a lease that nobody gave back.
fn place() -> Place {
    let place = Place::new();
    for id in ["a1", "torn"] {
        place.ok(&["create", "--id", id]);
        place.append(id, TURN);
        place.append(id, OPEN_TURN);
    }
    let torn = place.root().join("_no-cwd/torn.jsonl");
    let mut bytes = fs::read(&torn).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"plugin/x\",\"se");
    fs::write(torn, bytes).unwrap();
    let holder = r#"{"host":"elsewhere","pid":7,"since":1783860675270}"#;
    let lease = format!("{:020} held done\n{holder}\n", 3);
    fs::write(place.root().join("_leases/a1.lease/9"), lease).unwrap();
    place
}

/// Number, time of change and content of a file or directory.
type Trace = (u64, i64, i64, Option<Vec<u8>>);

/// Those of everything below a directory.
fn traces(directory: &Path) -> BTreeMap<String, Trace> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            left.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
        let content = metadata.is_file().then(|| fs::read(&path).unwrap());
        let trace = (
            metadata.ino(),
            metadata.ctime(),
            metadata.ctime_nsec(),
            content,
        );
        found.insert(path.display().to_string(), trace);
    }
    found
}

fn is_read(ran: &Ran, args: &[&str]) {
    // what is torn is damaged in part, and these say so
    let may_find = [&["verify"][..], &["doctor"]].contains(&args);
    assert!(
        ran.code == 0 || (may_find && ran.code == 3),
        "{args:?}: {}",
        ran.err
    );
    assert!(
        !ran.out.is_empty() || args.contains(&"/nowhere"),
        "{args:?}"
    );
}

#[test]
fn reading_leaves_no_trace() {
    let place = place();
    let before = traces(&place.root());
    for args in READING {
        is_read(&place.run(args), args);
        assert!(traces(&place.root()) == before, "{args:?} wrote");
    }
}

/// cli-sub-agent#2979: on a read-only root not even a list was possible.
#[test]
fn a_read_only_root_serves_every_command_that_reads() {
    if cannot_run(&["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]) {
        return;
    }
    let place = place();
    let root = place.root().display().to_string();
    let script = format!(
        "mount --bind '{root}' '{root}' && mount -o remount,ro,bind '{root}' && exec \"$0\" \"$@\""
    );
    let read_only = ["unshare", "-m", "sh", "-c", &script];
    let before = traces(&place.root());
    for args in READING {
        is_read(&place.under(&read_only, args, b""), args);
    }
    for args in [
        &["create", "--id", "b1"][..],
        &["append", "torn"],
        &["resume", "torn"],
        &["fork", "torn", "--at", "2"],
        &["update", "torn", "--title", "T"],
        &["delete", "torn"],
    ] {
        let ran = place.under(&read_only, args, TURN.as_bytes());
        ran.fails(1, &["read-only"]);
    }
    assert!(traces(&place.root()) == before, "something was written");
}

/// The same where it is the user who may not write.
#[test]
fn a_root_that_one_may_only_read_serves_every_command_that_reads() {
    let place = place();
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let annals = env!("CARGO_BIN_EXE_annals");
    if cannot_run(&[&nobody[..], &[annals, "--version"]].concat()) {
        return;
    }
    fs::set_permissions(place.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for path in traces(&place.root()).keys() {
        let mode = if Path::new(path).is_dir() {
            0o755
        } else {
            0o644
        };
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let before = traces(&place.root());
    for args in READING {
        is_read(&place.under(&nobody, args, b""), args);
    }
    for args in [
        &["create", "--id", "b1"][..],
        &["append", "torn"],
        &["delete", "torn"],
    ] {
        let ran = place.under(&nobody, args, TURN.as_bytes());
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.err);
        assert!(
            ran.err.to_lowercase().contains("permission denied"),
            "{}",
            ran.err
        );
    }
    assert!(traces(&place.root()) == before, "something was written");
}
