//! `delete`: everything of one session, and nothing of another.

use annals_sdk::types::ErrorCode;

use crate::Check;
use crate::expectation::{ok, refused, same, same_bytes};
use crate::samples::{HOLDER, batch, header, header_in, summary};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "delete/everything",
        proves: "log, summary and cut bytes go, and the next session of the id inherits nothing",
        run: everything,
    },
    Check {
        name: "delete/lease",
        proves: "the lease goes with the session",
        run: lease,
    },
    Check {
        name: "delete/missing",
        proves: "delete of a session that is not stored is not-found",
        run: missing,
    },
    Check {
        name: "delete/apart",
        proves: "a delete leaves sessions of similar names alone",
        run: apart,
    },
];

fn everything(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 5)?;
    trial.truncate("a", &token, 3)?;
    let change = summary(Some("t"), Some("p"));
    ok("update", trial.backend()?.update("a", &change))?;
    ok("delete", trial.backend()?.delete("a", &token))?;
    trial.is_absent("a")?;
    let answer = trial.backend()?.update("a", &change);
    refused("update after delete", answer, ErrorCode::NotFound)?;
    let header = header_in("a", "/other");
    trial.stored_as(&header, &batch(0, 1))?;
    trial.holds(&header, &batch(0, 1).lines)?;
    same_bytes("what was saved", &trial.cut("a")?, b"")?;
    same(
        "the summary",
        &trial.listed("a")?.summary,
        &summary(None, None),
    )
}

fn lease(trial: &mut Trial<'_>) -> Checked {
    if trial.leased("a")?.is_none() {
        // the root's stays: it is of all sessions
        trial.open()?;
        let token = trial.stored("a", 1)?;
        ok("delete", trial.backend()?.delete("a", &token))?;
        return ok("renew", trial.backend()?.renew(None, &token));
    }
    let token = trial.stored("a", 1)?;
    let backend = trial.backend()?;
    ok("delete", backend.delete("a", &token))?;
    let answer = backend.renew(Some("a"), &token);
    refused("renew after delete", answer, ErrorCode::Busy)?;
    ok("release after delete", backend.release(Some("a"), &token))?;
    ok(
        "acquire after delete",
        backend.acquire(Some("a"), HOLDER, None),
    )
    .map(drop)
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    let token = trial.lease("a")?;
    let answer = trial.backend()?.delete("a", &token);
    refused("delete", answer, ErrorCode::NotFound)?;
    trial.create(&header("a"), &token, &batch(0, 1))?;
    ok("delete", trial.backend()?.delete("a", &token))?;
    trial.is_absent("a")
}

fn apart(trial: &mut Trial<'_>) -> Checked {
    let others = ["a.b", "a.1", "a.60", "A", "aa", "a ", "b"];
    let token = trial.stored("a", 3)?;
    let mut before = Vec::new();
    for id in others {
        let token = trial.stored(id, 4)?;
        trial.truncate(id, &token, 2)?;
        ok(
            "update",
            trial.backend()?.update(id, &summary(Some(id), None)),
        )?;
        before.push((id, trial.state(id)?));
    }
    ok("delete", trial.backend()?.delete("a", &token))?;
    for (id, before) in &before {
        trial.is_as_before("a delete of another session", id, before)?;
    }
    trial.is_absent("a")
}
