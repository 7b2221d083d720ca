#![no_main]

use annals_properties::fuzzed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzed::scan(data));
