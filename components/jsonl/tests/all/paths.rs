//! Names of files.

use std::fs;
use std::path::Path;

use annals_jsonl::paths::*;
use serde_json::Value;

#[test]
fn names_follow_the_recorded_ones() {
    let Ok(vectors) = std::env::var("ANNALS_VECTORS") else {
        eprintln!("ANNALS_VECTORS is not set: recorded names are left out");
        return;
    };
    let text = fs::read_to_string(Path::new(&vectors).join("jsonl-paths.json")).unwrap();
    let suite: Value = serde_json::from_str(&text).unwrap();
    let units = |value: &Value| -> Option<Vec<u16>> {
        let units = value
            .as_array()?
            .iter()
            .map(|unit| unit.as_u64().unwrap() as u16);
        Some(units.collect())
    };
    for case in suite["cases"].as_array().unwrap() {
        let (input, expected) = (&case["input"], &case["expect"]["ok"]);
        match case["op"].as_str().unwrap() {
            "encode_id" => {
                let found = match units(&input["id_utf16"]) {
                    Some(units) => encode_id_utf16(&units),
                    None => encode_id(input["id"].as_str().unwrap()),
                };
                match expected["segment"].as_str() {
                    None => assert_eq!(found, Err(EmptyId)),
                    Some(segment) if segment.len() > NAME_BYTES_MAX => {
                        let hash = hash_hex(segment.as_bytes(), 32);
                        assert_eq!(found, Ok(format!("{}~{hash}", &segment[..60])));
                    }
                    Some(segment) => assert_eq!(found.as_deref(), Ok(segment)),
                }
            }
            "cwd_bucket" => {
                let found = match units(&input["cwd_utf16"]) {
                    Some(units) => bucket_utf16(Some(&units)),
                    None => bucket(input["cwd"].as_str()),
                };
                assert_eq!(Some(found.as_str()), expected["bucket"].as_str());
            }
            other => panic!("unknown op {other}"),
        }
    }
}

#[test]
fn a_name_is_short_from_101_bytes_on() {
    let longest = "x".repeat(NAME_BYTES_MAX);
    assert_eq!(encode_id(&longest), Ok(longest.clone()));
    let name = encode_id(&format!("{longest}x")).unwrap();
    assert_eq!(name.len(), 93);
    assert!(name.starts_with(&"x".repeat(60)));
    assert_eq!(spare_name(&longest).unwrap().len(), 94);
}

#[test]
fn names_decode_to_their_ids() {
    for id in [
        "s", ".", "..", "...", "a/b:c", "~", "~002E", "é", "😀", "\0", "Abc",
    ] {
        assert_eq!(decode_name(&encode_id(id).unwrap()).as_deref(), Some(id));
        assert!(is_name_of(&encode_id(id).unwrap(), id));
        assert!(is_name_of(&spare_name(id).unwrap(), id));
        assert_eq!(decode_name(&spare_name(id).unwrap()), None);
    }
    for name in ["", "~", "~00", "~002e", "~0041", "a b", "~D800", "."] {
        assert_eq!(decode_name(name), None, "{name:?}");
    }
}

// OMP#7642: ids that differ only in case met in one file where the filesystem folds case.
#[test]
fn lease_names_differ_also_without_case() {
    let ids = [
        "abc", "Abc", "aBC", "ABC", "~0041bc", "é", "éa", "éA", "a\u{c1}",
    ];
    let names: Vec<String> = ids
        .iter()
        .map(|id| lease_name(id).unwrap().to_ascii_lowercase())
        .collect();
    for (place, name) in names.iter().enumerate() {
        assert!(!names[place + 1..].contains(name), "{name}");
    }
    assert_eq!(lease_name("0191-a.b_c").as_deref(), Ok("0191-a.b_c"));
}
