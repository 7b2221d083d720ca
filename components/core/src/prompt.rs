//! What people see of prompts, and how the last turn that one of them began came out.

use crate::event::{Envelope, TURN_END};
use crate::fault::{Fault, Reason};
use crate::json::Value;
use crate::session::split_lines;

/// The content of a `user/message` or `steering/message` as a person gave it: `envelope.displayContent`, without what
/// was put before it for the model, or `content` where there is none. None when `data` has neither.
pub fn display_prompt(data: Value<'_>) -> Option<Value<'_>> {
    data.get("envelope")
        .and_then(|envelope| envelope.get("displayContent"))
        .filter(|content| !content.is_null())
        .or_else(|| data.get("content"))
}

/// The line of the last `turn/end` whose turn a message began; none when no such turn has ended.
///
/// Turns that something else began (an injection, a plugin's turn without steps) have outcomes of their own and are
/// passed over, and so is an end whose start does not stand in `lines`. Packed rows may stand among the lines. Fails
/// with [`Reason::JsonSyntax`] at a line that is no JSON, with its `line` counted from 1.
pub fn last_message_turn_end(lines: &str) -> Result<Option<&str>, Fault> {
    let (mut open, mut last) = (None, None);
    for (number, line) in (1u64..).zip(split_lines(lines)) {
        let event = Envelope::read(line).map_err(|fault| {
            Fault::new(Reason::JsonSyntax, format!("line {number}: {fault}")).number("line", number)
        })?;
        let member = |name| event.data.and_then(|data| data.get(name));
        if event.is_type("turn/start") {
            let kind = member("trigger").and_then(|trigger| trigger.get("kind"));
            open = member("turn").filter(|_| kind.is_some_and(|kind| kind.is_str("message")));
        } else if event.is_type(TURN_END)
            && let (Some(start), Some(end)) = (open, member("turn"))
            && start.same(end)
        {
            (open, last) = (None, Some(line));
        }
    }
    Ok(last)
}
