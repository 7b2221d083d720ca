//! `configure`.

use annals_jsonl::Jsonl;
use annals_sdk::Persistence;
use annals_sdk::types::{Durability, ErrorCode, LeaseScope};

use crate::support::{Stand, refused};

fn given(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    settings
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

#[test]
fn info_says_what_the_settings_mean() {
    let table = [
        (&[][..], Durability::Power, false),
        (
            &[("sync", "always"), ("lease-ttl-ms", "1")],
            Durability::Power,
            false,
        ),
        (
            &[("sync", "flush"), ("pack-chunks", "true")],
            Durability::Process,
            true,
        ),
        (
            &[("sync", "never"), ("pack-chunks", "false")],
            Durability::None,
            false,
        ),
    ];
    for (settings, durability, wants_packed) in table {
        let mut settings = given(settings);
        settings.push(("root".to_owned(), "nowhere".to_owned()));
        let info = Jsonl::default().configure(&settings).unwrap();
        assert_eq!(
            (info.durability, info.wants_packed),
            (durability, wants_packed)
        );
        assert_eq!(
            (info.name.as_str(), info.lease),
            ("jsonl", LeaseScope::Session)
        );
    }
}

#[test]
fn a_wrong_setting_is_named() {
    let table = [
        (&[][..], "setting-missing", "root"),
        (&[("root", "")], "setting-out-of-range", "root"),
        (&[("root", "a"), ("root", "b")], "setting-repeated", "root"),
        (
            &[("root", "a"), ("sync", "maybe")],
            "setting-out-of-range",
            "sync",
        ),
        (
            &[("root", "a"), ("pack-chunks", "1")],
            "setting-out-of-range",
            "pack-chunks",
        ),
        (
            &[("root", "a"), ("lease-ttl-ms", "0")],
            "setting-out-of-range",
            "lease-ttl-ms",
        ),
        (
            &[("root", "a"), ("lease-ttl-ms", "-1")],
            "setting-out-of-range",
            "lease-ttl-ms",
        ),
        (
            &[("root", "a"), ("compress", "yes")],
            "setting-unknown",
            "compress",
        ),
    ];
    for (settings, reason, name) in table {
        let result = Jsonl::default().configure(&given(settings));
        let error = refused(result, ErrorCode::Invalid, reason);
        assert!(error.message.contains(name), "{}", error.message);
    }
}

#[test]
fn a_root_that_is_a_file_is_refused() {
    let stand = Stand::new();
    stand.write("file", "x");
    let root = stand.path("file").to_str().unwrap().to_owned();
    let result = Jsonl::default().configure(&[("root".to_owned(), root)]);
    refused(result, ErrorCode::Invalid, "root-not-a-directory");
}

#[test]
fn nothing_works_before_configure() {
    let mut backend = Jsonl::default();
    refused(backend.has("s"), ErrorCode::NotConfigured, "not-configured");
    refused(
        backend.list(None, 1),
        ErrorCode::NotConfigured,
        "not-configured",
    );
}

#[test]
fn a_missing_root_is_empty_until_something_is_stored() {
    let mut stand = Stand::new();
    let root = stand.path("a/b");
    stand.backend =
        crate::support::backend(&root, std::rc::Rc::new(annals_jsonl::files::Disk), &[]);
    assert!(!stand.backend.has("s").unwrap());
    assert!(stand.backend.list(None, 9).unwrap().sessions.is_empty());
    refused(
        stand.backend.load("s", 0, 9),
        ErrorCode::NotFound,
        "session-not-found",
    );
    assert!(!root.exists());
    stand.stored("s", 1);
    assert!(root.join("_no-cwd/s.jsonl").exists());
}
