//! `update`: the summary, never the log.

use annals_sdk::types::{ErrorCode, SessionSummary};

use crate::Check;
use crate::expectation::{ensure, ok, refused, same};
use crate::samples::{batch, header, summary};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "update/fields",
        proves: "none leaves a field alone, \"\" clears it, and the other one stays",
        run: fields,
    },
    Check {
        name: "update/text",
        proves: "titles and first prompts keep their text",
        run: text,
    },
    Check {
        name: "update/log",
        proves: "an update leaves the log, its cut bytes and its cursors as they are",
        run: log,
    },
    Check {
        name: "update/missing",
        proves: "update of a session that is not stored is not-found and makes none",
        run: missing,
    },
];

fn becomes(trial: &mut Trial<'_>, change: &SessionSummary, due: &SessionSummary) -> Checked {
    ok("update", trial.backend()?.update("a", change))?;
    let found = trial.listed("a")?.summary;
    same(&format!("the summary after {change:?}"), &found, due)
}

fn fields(trial: &mut Trial<'_>) -> Checked {
    trial.stored("a", 1)?;
    trial.stored("b", 1)?;
    let none = summary(None, None);
    for (change, due) in [
        (none.clone(), none.clone()),
        (summary(Some("t"), None), summary(Some("t"), None)),
        (none.clone(), summary(Some("t"), None)),
        (summary(None, Some("p")), summary(Some("t"), Some("p"))),
        (summary(Some("u"), Some("")), summary(Some("u"), None)),
        (summary(Some("v"), Some("q")), summary(Some("v"), Some("q"))),
        (summary(Some(""), None), summary(None, Some("q"))),
        (summary(Some(""), Some("")), none.clone()),
    ] {
        becomes(trial, &change, &due)?;
    }
    same("the other's summary", &trial.listed("b")?.summary, &none)
}

fn text(trial: &mut Trial<'_>) -> Checked {
    trial.stored("a", 1)?;
    let long = "ä".repeat(200);
    for text in [
        "two\nlines\r\n",
        "\"quoted\" \\ back",
        "\u{2028}\u{0}\u{7f}\u{202E}😀",
        " space around ",
        &long,
    ] {
        let change = summary(Some(text), Some(text));
        becomes(trial, &change, &change)?;
    }
    Ok(())
}

fn log(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 6)?;
    trial.truncate("a", &token, 4)?;
    let (content, cursors) = trial.read("a", 1)?;
    let cut = trial.cut("a")?;
    let change = summary(Some("t"), Some("p"));
    ok("update", trial.backend()?.update("a", &change))?;
    let again = trial.read("a", 1)?;
    ensure(again == (content, cursors), || {
        "the log is another one, or its cursors are".to_owned()
    })?;
    let is_same = trial.cut("a")? == cut;
    ensure(is_same, || "the cut bytes are others".to_owned())?;
    trial.append("a", &token, &batch(4, 1))?;
    same("the summary", &trial.listed("a")?.summary, &change)?;
    trial.holds(&header("a"), &batch(0, 5).lines)
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    for change in [summary(None, None), summary(Some("t"), Some("p"))] {
        let answer = trial.backend()?.update("a", &change);
        refused("update", answer, ErrorCode::NotFound)?;
        trial.is_absent("a")?;
    }
    trial.stored("a", 1)?;
    let found = trial.listed("a")?.summary;
    same(
        "the summary of the session made after that",
        &found,
        &summary(None, None),
    )
}
