//! The table of field reports names tests that are there.

use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("../../../../tests/field-reports.md");

#[test]
fn every_test_that_the_table_names_is_there() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    let rows = TABLE
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| report"));
    for row in rows {
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap().trim();
        let named: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty() || last.starts_with("not yet"), "{row}");
        for name in named {
            let (file, test) = name.split_once("::").unwrap_or_else(|| panic!("{name}"));
            let text = fs::read_to_string(top.join(file))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {test}(")), "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
