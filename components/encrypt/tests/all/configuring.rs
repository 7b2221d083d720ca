//! The key and the settings.

use annals_encrypt::{Encrypt, KEY_ENV_SETTING, Surroundings};
use annals_jsonl::Jsonl;
use annals_memory::Memory;
use annals_sdk::Persistence;
use annals_sdk::types::ErrorCode;

use crate::support::{KEY, OTHER_KEY, header, mixed, over_memory, refused, surroundings};

fn with_key(variable: fn(&str) -> Option<String>) -> Encrypt<Memory> {
    let surroundings = Surroundings {
        variable,
        ..Surroundings::own()
    };
    Encrypt::over(Memory::default(), surroundings)
}

#[test]
fn a_key_is_hex_or_base64() {
    let keys: [fn(&str) -> Option<String>; 6] = [
        |_| Some(KEY.to_owned()),
        |_| Some(KEY.to_uppercase()),
        |_| Some(format!(" {KEY}\n")),
        |_| Some(OTHER_KEY.to_owned()),
        |_| Some(OTHER_KEY.trim_end_matches('=').to_owned()),
        |_| Some("-_ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".to_owned()),
    ];
    for key in keys {
        with_key(key).configure(&[]).unwrap();
    }
}

#[test]
fn without_a_whole_key_nothing_begins() {
    let missing: [fn(&str) -> Option<String>; 3] = [
        |_| None,
        |_| Some(String::new()),
        |_| Some(" \n".to_owned()),
    ];
    for key in missing {
        let mut backend = with_key(key);
        let error = refused(backend.configure(&[]), ErrorCode::Invalid, "key-missing");
        assert!(
            error.message.contains("\"ANNALS_KEY\""),
            "{}",
            error.message
        );
        assert!(error.message.contains("openssl rand -hex 32"));
        refused(backend.has("a"), ErrorCode::NotConfigured, "not-configured");
    }
    let broken: [fn(&str) -> Option<String>; 5] = [
        |_| Some(KEY[2..].to_owned()),
        |_| Some(format!("{KEY}00")),
        |_| Some(KEY.replace("00", "0g")),
        |_| Some(OTHER_KEY[4..].to_owned()),
        |_| Some("swordfish".to_owned()),
    ];
    for key in broken {
        let mut backend = with_key(key);
        let error = refused(backend.configure(&[]), ErrorCode::Invalid, "key-invalid");
        let value = key("").unwrap();
        let said = format!("{}{}", error.message, error.detail);
        assert!(said.contains("ANNALS_KEY"), "{said}");
        assert!(
            !said.contains(&value) && !said.contains(&value[4..9]),
            "{said}"
        );
    }
}

#[test]
fn a_setting_names_the_variable() {
    let mut backend = Encrypt::over(Memory::default(), surroundings());
    let named = |name: &str| vec![("encrypt.key-env".to_owned(), name.to_owned())];
    backend.configure(&named("OTHER_KEY")).unwrap();
    let error = refused(
        backend.configure(&named("NO_KEY")),
        ErrorCode::Invalid,
        "key-missing",
    );
    assert!(error.message.contains("\"NO_KEY\""), "{}", error.message);
    for name in ["", "A=B"] {
        refused(
            backend.configure(&named(name)),
            ErrorCode::Invalid,
            "setting-out-of-range",
        );
    }
    let skip = [("encrypt.unopened".to_owned(), "yes".to_owned())];
    refused(
        backend.configure(&skip),
        ErrorCode::Invalid,
        "setting-out-of-range",
    );
    let unknown = [("encrypt.key".to_owned(), KEY.to_owned())];
    let error = refused(
        backend.configure(&unknown),
        ErrorCode::Invalid,
        "setting-unknown",
    );
    assert!(!format!("{error:?}").contains(KEY));
}

#[test]
fn all_other_settings_are_the_backends() {
    let mut backend = Encrypt::over(Memory::default(), surroundings());
    let packed = [("pack-chunks".to_owned(), "true".to_owned())];
    let info = backend.configure(&packed).unwrap();
    assert!(info.wants_packed);
    assert_eq!(info.name, "memory");
    assert!(info.notes.last().unwrap().contains("XChaCha20-Poly1305"));
    let error = refused(
        Encrypt::over(Jsonl::default(), surroundings()).configure(&[]),
        ErrorCode::Invalid,
        "setting-missing",
    );
    assert!(error.message.contains("root"));
}

#[test]
fn without_randomness_nothing_is_stored() {
    let mut backend = Encrypt::over(
        Memory::default(),
        Surroundings {
            fill_random: |_| false,
            ..surroundings()
        },
    );
    backend.configure(&[]).unwrap();
    let token = backend.acquire(Some("a"), "{}", None).unwrap();
    let created = backend.create(&header("a"), &token, &mixed());
    refused(created, ErrorCode::Other, "sealing-failed");
    assert!(!backend.has("a").unwrap());
}

#[test]
fn nothing_works_before_it_is_configured() {
    let mut backend = Encrypt::over(Memory::default(), surroundings());
    refused(
        backend.list(None, 1),
        ErrorCode::NotConfigured,
        "not-configured",
    );
    refused(
        backend.load("a", 0, 1),
        ErrorCode::NotConfigured,
        "not-configured",
    );
    assert!(!over_memory().has("a").unwrap());
}

#[test]
fn a_key_in_the_place_of_its_name_is_not_repeated() {
    for key in [KEY, OTHER_KEY] {
        let setting = (KEY_ENV_SETTING.to_owned(), key.to_owned());
        let error = refused(
            with_key(|_| None).configure(&[setting]),
            ErrorCode::Invalid,
            "setting-out-of-range",
        );
        assert!(!format!("{error:?}").contains(key), "{error:?}");
    }
}
