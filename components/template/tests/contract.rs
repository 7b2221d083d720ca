//! The whole persistence contract, natively. `cargo test -- --nocapture` shows the table.

use annals_contract::{InDirectory, run};
use annals_template::Template;

#[test]
fn keeps_the_contract() {
    let mut subject = InDirectory::<Template>::new("root");
    let report = run(&mut subject, |row| println!("{row}"));
    println!("{}", report.counts());
    assert!(report.is_ok(), "{}", report.counts());
}
