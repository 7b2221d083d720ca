use annals_core::json::{JsonFaultKind, Kind, Value, check, quote};
use proptest::prelude::*;

use crate::vectors;

#[test]
fn vectors_of_json_text() {
    for case in vectors::cases("json-values") {
        if case["op"] != "json_text" {
            continue;
        }
        let text = case["input"]["json_text"].as_str().unwrap();
        let result = check(text);
        match &case["expect"]["ok"]["accepted"] {
            serde_json::Value::Bool(true) => assert_eq!(result, Ok(()), "{}", case["name"]),
            serde_json::Value::Bool(false) => {
                assert_ne!(
                    result.unwrap_err().kind,
                    JsonFaultKind::Syntax,
                    "{}",
                    case["name"]
                );
            }
            _ => assert_eq!(
                result.unwrap_err().kind,
                JsonFaultKind::Syntax,
                "{}",
                case["name"]
            ),
        }
    }
}

#[test]
fn faults_say_where() {
    let cases = [
        (
            "{\"a\":[1,{\"b/c\":-0}]}",
            JsonFaultKind::NegativeZero,
            15,
            "/a/1/b~1c",
        ),
        ("[[[1e999]]]", JsonFaultKind::Overflow, 3, "/0/0/0"),
        ("-1e-400", JsonFaultKind::NegativeZero, 0, ""),
        // A text that is no JSON is that first of all.
        ("[1e999,}", JsonFaultKind::Syntax, 7, "/1"),
        ("{\"a\":1,}", JsonFaultKind::Syntax, 7, ""),
        ("\"a\u{0}\"", JsonFaultKind::Syntax, 2, ""),
        ("", JsonFaultKind::Syntax, 0, ""),
    ];
    for (text, kind, byte, path) in cases {
        let fault = check(text).unwrap_err();
        assert_eq!(
            (fault.kind, fault.byte, fault.path.as_str()),
            (kind, byte, path),
            "{text:?}"
        );
    }
}

#[test]
fn control_characters_and_bad_escapes_are_found_at_every_place_of_a_word() {
    for before in 0..20 {
        for bad in ["\u{1f}", "\n", "\\x", "\\u12", "\\"] {
            let text = format!(
                "\"{}{bad}\"",
                "é".repeat(before / 2) + &"a".repeat(before % 2)
            );
            assert!(check(&text).is_err(), "{text:?}");
        }
        let good = format!("\"{}\\\"\\u00e9\u{7f}\u{80}\"", "a".repeat(before));
        assert_eq!(check(&good), Ok(()));
    }
}

#[test]
fn nesting_has_no_limit() {
    let depth = 200_000;
    let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mixed = format!(
        "{}1{}",
        "{\"a\":[".repeat(depth / 2),
        "]}".repeat(depth / 2)
    );
    for text in [&arrays, &mixed] {
        assert_eq!(check(text), Ok(()));
        let spaced = text.replace(']', " ]");
        assert!(
            Value::parse(text)
                .unwrap()
                .same(Value::parse(&spaced).unwrap())
        );
        let last = text.len() - 1;
        assert!(check(&text[..last]).is_err());
        assert!(check(&format!("{}}}", &text[..last])).is_err() || text.ends_with('}'));
    }
    let deep = format!("{}-0{}", "[".repeat(depth), "]".repeat(depth));
    assert!(check(&deep).unwrap_err().path.starts_with("/0/0/0"));
    // Brackets of one kind may not close the other, beyond the first word of the stack as well.
    for depth in [1, 63, 64, 65, 128, 129, 200] {
        for wrong in 0..depth {
            let mut text = format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
            text[depth + wrong] = b'}';
            assert!(
                check(std::str::from_utf8(&text).unwrap()).is_err(),
                "{depth} {wrong}"
            );
        }
    }
}

#[test]
fn members_are_looked_up_as_javascript_does() {
    let value = Value::parse(" {\"a\" : 1, \"\\u0061\":[ 2 , \"x\" ] , \"b\":{} } ").unwrap();
    assert_eq!(value.kind(), Kind::Object);
    assert_eq!(value.members().count(), 3);
    assert_eq!(value.get("a").unwrap().text(), "[ 2 , \"x\" ]");
    let elements: Vec<_> = value
        .get("a")
        .unwrap()
        .elements()
        .map(Value::text)
        .collect();
    assert_eq!(elements, ["2", "\"x\""]);
    assert!(value.get("b").unwrap().members().next().is_none());
    assert!(value.get("c").is_none());
    assert!(Value::parse("[]").unwrap().elements().next().is_none());
    assert!(Value::parse("3").unwrap().get("a").is_none());
}

#[test]
fn numbers_are_their_doubles() {
    let integer = |text| Value::parse(text).unwrap().as_safe_integer();
    assert_eq!(integer("1.0"), Some(1));
    assert_eq!(integer("1e2"), Some(100));
    assert_eq!(integer("-7"), Some(-7));
    assert_eq!(integer("9007199254740991"), Some(9_007_199_254_740_991));
    assert_eq!(integer("9007199254740991.0"), Some(9_007_199_254_740_991));
    assert_eq!(integer("9007199254740992"), None);
    assert_eq!(integer("0.5"), None);
    assert_eq!(integer("\"1\""), None);
    assert_eq!(integer("null"), None);
    assert_eq!(Value::parse("-1").unwrap().as_seq(), None);
    assert_eq!(Value::parse("1.5e1").unwrap().as_f64(), Some(15.0));
}

#[test]
fn sameness() {
    let same = |left, right| {
        Value::parse(left)
            .unwrap()
            .same(Value::parse(right).unwrap())
    };
    assert!(same(
        "{\"a\":1,\"b\":[true,null]}",
        "{ \"b\":[true , null],\"a\":1e0 }"
    ));
    assert!(same("{\"a\":9,\"a\":1}", "{\"\\u0061\":1.0}"));
    assert!(same("\"\\ud83d\\ude00\"", "\"😀\""));
    assert!(same("9007199254740993", "9007199254740992"));
    assert!(!same("{\"a\":1}", "{\"a\":1,\"b\":null}"));
    assert!(!same("[1,2]", "[2,1]"));
    assert!(!same("[1]", "[1,1]"));
    assert!(!same("1", "\"1\""));
    assert!(!same("null", "false"));
    assert!(!same("[]", "{}"));
    assert!(!same("\"\\ud83d\"", "\"\\ud83e\""));
}

#[test]
fn strings_say_what_they_say() {
    let text = |json| Value::parse(json).unwrap().as_text().unwrap();
    assert_eq!(
        text("\"a\\n\\u00e9\\ud83d\\ude00\"").decode().unwrap(),
        "a\né😀"
    );
    assert_eq!(text("\"\\ud83d\"").decode(), None);
    assert_eq!(text("\"\\ud83dx\\ude00\"").decode(), None);
    assert!(text("\"\\u0061\"").is("a"));
    assert!(!text("\"\\u0061\"").is("\\u0061"));
    assert!(text("\"\\\\\"").is("\\"));
    assert_eq!(
        quote("a\"\\\u{8}\u{c}\n\r\t\u{1}\u{7f}/é"),
        "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001\u{7f}/é\""
    );
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        (-1e300..1e300f64).prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_json_text_is_accepted_and_same_as_itself(json in any_json()) {
        let (compact, pretty) = (json.to_string(), serde_json::to_string_pretty(&json).unwrap());
        let value = Value::parse(&compact).unwrap();
        prop_assert_eq!(value.text(), compact.as_str());
        prop_assert!(value.same(Value::parse(&pretty).unwrap()));
    }

    #[test]
    fn what_is_accepted_is_json_and_a_changed_byte_is_no_trouble(json in any_json(), at in any::<prop::sample::Index>(), byte in 0u8..128) {
        let mut bytes = json.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let ours = check(text).map_err(|fault| fault.kind);
            let theirs = serde_json::from_str::<serde_json::Value>(text).is_ok();
            // Lone surrogates and numbers beyond doubles are theirs to refuse or accept.
            prop_assert!(ours.is_ok() == theirs || text.contains("\\u") || ours != Err(JsonFaultKind::Syntax), "{}", text);
        }
    }

    #[test]
    fn quoting_is_undone_by_reading(text in any::<String>()) {
        let quoted = quote(&text);
        prop_assert_eq!(Value::parse(&quoted).unwrap().as_text().unwrap().decode().unwrap(), text);
    }
}
