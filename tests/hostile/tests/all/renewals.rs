//! Leases of other sessions while the backend keeps the host waiting.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use annals::{Annals, OpenMode};

use crate::scene::{Scene, stored, turn, usual};

/// How long a holder of a lease may be silent, where the backend does not say.
const TTL: Duration = Duration::from_secs(10);

/// When the lease of the bystander was renewed while the backend was armed.
fn renewals(root: &Path) -> Vec<Duration> {
    let noted = fs::read_to_string(root.join("renewals")).unwrap_or_default();
    let of_bystander = noted
        .lines()
        .filter_map(|line| line.strip_prefix("bystander "));
    of_bystander
        .map(|ms| Duration::from_millis(ms.parse().unwrap()))
        .collect()
}

// One operation takes as many calls as it likes, and leases were renewed between operations only.
#[test]
fn leases_are_renewed_in_the_middle_of_a_long_operation() {
    let scene = Scene::new("slow log without end", |place, _| {
        place.operation_ms_max(5000)
    });
    scene.victim.close().unwrap();
    scene.arm();
    let began = Instant::now();
    let error = scene.annals.open("victim", OpenMode::Inspect).unwrap_err();
    assert_eq!(error.reason, "backend-timeout", "{}", error.message);
    assert!(began.elapsed() > Duration::from_secs(4));
    let renewed = renewals(&scene.root());
    assert!(renewed.len() >= 4, "{renewed:?}");
    for pair in renewed.windows(2) {
        assert!(pair[1] - pair[0] < TTL / 3, "{renewed:?}");
    }
    scene.goes_on(3).unwrap();
}

// A call could take a minute, and everybody else's lease was silent for six times as long as it lives.
#[test]
fn a_call_that_hangs_is_given_up_before_other_leases_are_silent() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let annals = Annals::builder()
        .place(usual(root, "sleep"))
        .build()
        .unwrap();
    let (victim, bystander) = (stored(&annals, "victim"), stored(&annals, "bystander"));
    victim.append(&turn(2)).unwrap();
    fs::write(root.join("armed"), "").unwrap();
    let began = Instant::now();
    let error = victim.flush().unwrap_err();
    assert_eq!(error.reason, "backend-timeout", "{}", error.message);
    let began_again = Instant::now();
    while renewals(root).is_empty() && began_again.elapsed() < TTL {
        std::thread::sleep(Duration::from_millis(50));
    }
    let silent = began.elapsed();
    assert!(silent < TTL * 8 / 10, "silent for {silent:?}");
    bystander.append(&turn(2)).unwrap();
    bystander.flush().unwrap();
    fs::remove_file(root.join("armed")).unwrap();
    victim.flush().unwrap();
    drop((victim, bystander));
    annals.shutdown().unwrap();
}
