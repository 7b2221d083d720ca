//! Long logs: a million texts of one byte, and tens of thousands of rewrites.

use annals_properties::large::{PACKED, REWRITTEN, STREAMED};

use crate::calls::{
    ALL, APPEND, APPEND_EACH, CLOSE, DERIVE, EVENTS, FOLD, LOAD, SEED, STORED, UNPACK,
};
use crate::measure::taken;

#[test]
fn texts_of_one_byte() {
    for shape in STREAMED {
        taken(shape, ALL);
    }
    for shape in PACKED {
        taken(shape, &[LOAD, SEED, UNPACK, EVENTS, CLOSE, DERIVE, STORED]);
    }
}

#[test]
fn rewrites_of_a_long_surface() {
    for shape in REWRITTEN {
        taken(
            shape,
            &[LOAD, SEED, APPEND, APPEND_EACH, FOLD, DERIVE, CLOSE],
        );
    }
}
