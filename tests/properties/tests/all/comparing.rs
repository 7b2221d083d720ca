//! Equality of JSON values, against the plain one over trees.

use annals_core::json::Value;
use annals_properties::json::Json;
use annals_properties::random::Random;
use proptest::prelude::*;

use crate::check::LOGS;

/// The same value with one part of it changed, mostly.
fn tweaked(value: &Json, random: &mut Random) -> Json {
    let mut tweaked = value.clone();
    match &mut tweaked {
        Json::Array(elements, _) if !elements.is_empty() && !random.once_in(3) => {
            let at = random.below(elements.len());
            elements[at] = match random.once_in(4) {
                true => elements[random.below(elements.len())].clone(),
                false => self::tweaked(&elements[at], random),
            };
        }
        Json::Object(members, _) if !members.is_empty() && !random.once_in(3) => {
            let at = random.below(members.len());
            if random.once_in(4) {
                let again = members[random.below(members.len())].clone();
                members.insert(at, again);
            } else {
                members[at].1 = self::tweaked(&members[at].1, random);
            }
        }
        _ => tweaked = random.json(2),
    }
    tweaked
}

proptest! {
    #![proptest_config(ProptestConfig { cases: LOGS, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_are_the_same_or_not(seed in any::<u32>(), depth in 0usize..7, how in 0u8..4) {
        let random = &mut Random::new(u64::from(seed));
        let one = random.json(depth);
        let other = match how {
            0 => random.respelled(&one),
            1 => random.json(depth),
            2 => tweaked(&one, random),
            _ => {
                let tweaked = tweaked(&one, random);
                random.respelled(&tweaked)
            }
        };
        let (text, other_text) = (one.text(), other.text());
        let same = Value::parse(&text).unwrap().same(Value::parse(&other_text).unwrap());
        prop_assert_eq!(same, one.same(&other), "{} {}", text, other_text);
        prop_assert!(how > 0 || same, "{} {}", text, other_text);
    }
}
