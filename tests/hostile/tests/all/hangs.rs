//! A backend that hangs where nobody asked it for anything.

use std::time::{Duration, Instant};

use crate::scene::{Scene, stored};

/// How long it may hang in one call.
const CALL_MS: u64 = 4000;

// Each round asked once for every session, and the next one began a second later.
#[test]
fn renewals_that_hang_leave_time_for_calls() {
    let grant = |place: annals::Place, _: &_| place.call_ms_max(CALL_MS).operation_ms_max(60_000);
    let scene = Scene::new("hang in renew", grant);
    let others: Vec<_> = (0..3)
        .map(|number| stored(&scene.annals, &format!("other-{number}")))
        .collect();
    scene.arm();
    let began = Instant::now();
    let (mut waited, mut longest) = (Duration::ZERO, Duration::ZERO);
    while began.elapsed() < Duration::from_secs(10) {
        let asked = Instant::now();
        scene.goes_on(3).unwrap();
        let took = asked.elapsed();
        longest = longest.max(took);
        if took > Duration::from_millis(300) {
            waited += took;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(longest < Duration::from_secs(3), "{longest:?}");
    assert!(waited < began.elapsed() / 2, "{waited:?}");
    drop(others);
    scene.ends_well(3).unwrap();
}
