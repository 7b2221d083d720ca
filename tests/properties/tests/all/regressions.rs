//! Inputs that showed something wrong once, each with its story. They run through every property.

use annals_properties::fuzzed::TARGETS;

fn check(input: &[u8]) {
    for (_, property) in TARGETS {
        property(input);
    }
}

#[test]
fn no_input_at_all() {
    check(b"");
}

// The message quoted the whole seq.
#[test]
fn a_long_seq() {
    let seq = "x".repeat(5000);
    check(format!("{{\"seq\":\"{seq}\"}}\n{{\"type\":\"turn/end\",\"seq\":0}}\n").as_bytes());
}

// Whitespace inside a value came through, and the message took two lines.
#[test]
fn a_line_break_inside_a_value() {
    check(b"{\"seq\":[1,\r2]}\n{\"type\":\"turn/end\",\"seq\":0}\n");
    check(b"{\"type\":\"session\",\"version\":[0,\r1]}\n");
    check(
        b"{\"type\":\"turn/start\",\"seq\":0,\"time\":1,\"data\":{\"turn\":[1,\r2]}}\n\
          {\"type\":\"step/start\",\"seq\":1,\"time\":1,\"data\":{\"step\":{\"a\":\r1}}}\n",
    );
}

// Data that is no object has no members, so one such result could be rewritten to any other.
#[test]
fn a_rewrite_of_data_without_members() {
    check(
        b"{\"type\":\"tool/result\",\"seq\":0,\"time\":0,\"data\":[1],\"surfaceOp\":\"append\"}\n\
          {\"type\":\"tool/result\",\"seq\":1,\"time\":0,\"data\":[2],\"sourceEventSeqs\":[0],\
          \"surfaceOp\":{\"op\":\"replace\",\"start\":0,\"end\":0}}\n",
    );
}
