//! A medium that is full or read-only. Mounting one needs the right to; without it these tests say that they were left
//! out.

#![cfg(target_os = "linux")]

use crate::support::{Place, Ran, TURN};

/// A run with the root on a filesystem of its own, after a session was stored there.
fn on(mount: &str, place: &Place, args: &[&str], stdin: &str) -> Option<Ran> {
    let root = place.root().display().to_string();
    std::fs::create_dir_all(&root).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=256k tmpfs '{root}' && \"$0\" --root '{root}' create --id a1 >&2 && {mount} || exit 99; exec \"$0\" \"$@\""
    );
    let ran = place.under(
        &["unshare", "-m", "sh", "-c", &script],
        args,
        stdin.as_bytes(),
    );
    if ran.code == 99 || ran.err.contains("unshare:") {
        eprintln!("left out: {}", ran.err);
        return None;
    }
    Some(ran)
}

/// What the run itself said, after what the one before it did.
fn last_line(ran: &Ran) -> &str {
    ran.err.lines().last().unwrap_or_default()
}

// Through WASI both were "I/O error" of code `other`, and nothing said what to do.
#[test]
fn a_full_medium_is_told_from_a_broken_one() {
    let place = Place::new();
    let long = format!("{{\"type\":\"x/y\",\"data\":\"{}\"}}\n", "z".repeat(60_000));
    let Some(ran) = on("true", &place, &["append", "a1"], &long.repeat(9)) else {
        return;
    };
    assert_eq!(ran.code, 1, "{}", ran.err);
    let said = last_line(&ran);
    let starts = "annals: session \"a1\": the filesystem of the root is full";
    assert!(said.starts_with(starts), "{said}");
    assert!(said.contains("free some space"), "{said}");
    let is_vague = said.contains("os error") || said.contains("I/O error");
    assert!(!is_vague, "{said}");
}

#[test]
fn a_read_only_medium_is_told_from_a_broken_one() {
    for args in [
        &["append", "a1"][..],
        &["create", "--id", "b1"],
        &["resume", "a1"],
    ] {
        let place = Place::new();
        let root = place.root().display().to_string();
        let remount = format!("mount -o remount,ro '{root}'");
        let Some(ran) = on(&remount, &place, args, TURN) else {
            return;
        };
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(
            last_line(&ran).contains("filesystem of the root is read-only"),
            "{}",
            ran.err
        );
        assert!(!ran.err.contains("os error"), "{}", ran.err);
    }
}

/// People delete to make room, and were told that there was none for that.
#[test]
fn a_delete_needs_no_room() {
    let place = Place::new();
    let root = place.root().display().to_string();
    let fill = format!("{{ dd if=/dev/zero of='{root}/fill' bs=4k 2>&2 || true; }}");
    let leases = format!("rm -r '{root}/_leases/a1.lease'");
    for before in [fill.clone(), format!("{leases} && {fill}")] {
        let refused = format!("{before} && \"$0\" --root '{root}' append a1 </dev/stdin >&2");
        let is_full = format!("! {{ {refused}; }}");
        let Some(ran) = on(&is_full, &place, &["delete", "a1"], TURN) else {
            return;
        };
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("is full"), "{}", ran.err);
    }
}
