//! Leases, as `info.lease` says.

use annals_sdk::types::{Durability, Error, ErrorCode, Eviction, EvictionReason, LeaseScope};
use serde_json::Value;

use crate::Check;
use crate::expectation::{ensure, facts, ok, refused, same};
use crate::samples::{HOLDER, OTHER, batch, header, summary};
use crate::trial::{Checked, Stop, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "lease/one-holder",
        proves: "a second acquire is busy and learns holder, token and renewals",
        run: one_holder,
    },
    Check {
        name: "lease/renew",
        proves: "renew changes what contenders see, and only the lease can be renewed",
        run: renew,
    },
    Check {
        name: "lease/release",
        proves: "a lease that was given back is free; a stale token gives nothing back",
        run: release,
    },
    Check {
        name: "lease/evict",
        proves: "an eviction of the present token has one winner, any other is busy",
        run: evict,
    },
    Check {
        name: "lease/tokens",
        proves: "a token of a stored session is never given twice",
        run: tokens,
    },
    Check {
        name: "lease/writes",
        proves: "create, append, truncate and delete are busy without the lease and change nothing",
        run: writes,
    },
    Check {
        name: "lease/reading",
        proves: "reading and update need no lease",
        run: reading,
    },
    Check {
        name: "lease/apart",
        proves: "sessions have leases of their own",
        run: apart,
    },
    Check {
        name: "lease/none",
        proves: "with info.lease none every acquire, renew and release succeeds",
        run: none,
    },
    Check {
        name: "lease/two-instances",
        proves: "a lease holds between instances, and whoever was evicted by another writes no more",
        run: two_instances,
    },
    Check {
        name: "lease/restart",
        proves: "a lease is on the medium: it outlives a restart",
        run: restart,
    },
];

/// Tokens that nobody was given.
const MADE_UP: [&str; 6] = ["", "no token", "../1", "\0", "-1", "18446744073709551615"];

fn eviction(token: &str, why: EvictionReason) -> Eviction {
    let token = token.to_owned();
    Eviction { token, why }
}

/// The facts of a `busy` that says who holds the lease.
fn held(error: &Error, holder: &str, token: &str) -> Checked<u64> {
    let facts = facts("acquire", error)?;
    let due: Value = serde_json::from_str(holder).unwrap_or_default();
    same(
        "the holder shown",
        facts.get("holder").unwrap_or(&Value::Null),
        &due,
    )?;
    same(
        "the token shown",
        facts.get("token").unwrap_or(&Value::Null),
        &Value::from(token),
    )?;
    let renewals = facts.get("renewals").and_then(Value::as_u64);
    renewals.ok_or_else(|| Stop::Failed(format!("no renewals are shown: {facts}")))
}

fn busy(trial: &mut Trial<'_>, of: Option<&str>) -> Checked<Error> {
    let answer = trial.backend()?.acquire(of, OTHER, None);
    refused("a second acquire", answer, ErrorCode::Busy)
}

fn one_holder(trial: &mut Trial<'_>) -> Checked {
    let of = trial.leased("not stored")?;
    let token = ok("acquire", trial.backend()?.acquire(of, HOLDER, None))?;
    for _ in 0..2 {
        let error = busy(trial, of)?;
        held(&error, HOLDER, &token)?;
    }
    // being refused took nothing away
    ok("renew", trial.backend()?.renew(of, &token))
}

fn renew(trial: &mut Trial<'_>) -> Checked {
    let of = trial.leased("a")?;
    let token = ok("acquire", trial.backend()?.acquire(of, HOLDER, None))?;
    let mut before = held(&busy(trial, of)?, HOLDER, &token)?;
    for _ in 0..3 {
        ok("renew", trial.backend()?.renew(of, &token))?;
        let now = held(&busy(trial, of)?, HOLDER, &token)?;
        ensure(now != before, || format!("renew left renewals at {before}"))?;
        before = now;
    }
    for made_up in MADE_UP {
        let call = format!("renew with the token {made_up:?}");
        refused(&call, trial.backend()?.renew(of, made_up), ErrorCode::Busy)?;
    }
    let now = held(&busy(trial, of)?, HOLDER, &token)?;
    same("renewals after that", &now, &before)
}

fn release(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 1)?;
    trial.release("a", &token)?;
    let of = trial.leased("a")?;
    let backend = trial.backend()?;
    let first = ok("acquire", backend.acquire(of, HOLDER, None))?;
    ok("release", backend.release(of, &first))?;
    ok("release again", backend.release(of, &first))?;
    refused(
        "renew after release",
        backend.renew(of, &first),
        ErrorCode::Busy,
    )?;
    let second = ok("acquire after release", backend.acquire(of, OTHER, None))?;
    ok("release of a stale token", backend.release(of, &first))?;
    for made_up in MADE_UP {
        ok("release of a made-up token", backend.release(of, made_up))?;
    }
    held(&busy(trial, of)?, OTHER, &second).map(drop)?;
    ok("renew", trial.backend()?.renew(of, &second))
}

fn evict(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 2)?;
    trial.release("a", &token)?;
    let of = trial.leased("a")?;
    let mut token = ok("acquire", trial.backend()?.acquire(of, HOLDER, None))?;
    for why in [EvictionReason::Gone, EvictionReason::Silent] {
        let backend = trial.backend()?;
        let wrong = eviction("no token", why);
        let answer = backend.acquire(of, OTHER, Some(&wrong));
        refused("an eviction of another token", answer, ErrorCode::Busy)?;
        ok("renew after that", backend.renew(of, &token))?;
        let evicted = eviction(&token, why);
        let next = ok("an eviction", backend.acquire(of, OTHER, Some(&evicted)))?;
        ensure(next != token, || {
            format!("the evicted token {token:?} was given again")
        })?;
        let answer = backend.acquire(of, HOLDER, Some(&evicted));
        let error = refused("a second winner", answer, ErrorCode::Busy)?;
        held(&error, OTHER, &next)?;
        let backend = trial.backend()?;
        refused(
            "renew by the evicted",
            backend.renew(of, &token),
            ErrorCode::Busy,
        )?;
        let answer = backend.append("a", &token, &batch(2, 1));
        refused("append by the evicted", answer, ErrorCode::Busy)?;
        ok("release by the evicted", backend.release(of, &token))?;
        ok("renew by the winner", backend.renew(of, &next))?;
        token = next;
    }
    trial.append("a", &token, &batch(2, 1))?;
    trial.holds(&header("a"), &batch(0, 3).lines)
}

fn tokens(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 1)?;
    trial.release("a", &token)?;
    let of = trial.leased("a")?;
    let mut seen = vec![token];
    for _ in 0..5 {
        let backend = trial.backend()?;
        let token = ok("acquire", backend.acquire(of, HOLDER, None))?;
        for old in &seen {
            ensure(*old != token, || format!("token {token:?} was given twice"))?;
            let answer = backend.append("a", old, &batch(1, 1));
            refused("append with an old token", answer, ErrorCode::Busy)?;
        }
        ok("release", backend.release(of, &token))?;
        seen.push(token);
    }
    Ok(())
}

fn writes(trial: &mut Trial<'_>) -> Checked {
    if trial.info()?.lease == LeaseScope::None {
        return trial.leased("a").map(drop);
    }
    trial.stored("a", 2)?;
    trial.lease("b")?;
    let before = trial.state("a")?;
    for token in MADE_UP {
        let backend = trial.backend()?;
        let answers = [
            ("create", backend.create(&header("b"), token, &batch(0, 1))),
            ("append", backend.append("a", token, &batch(2, 1))),
            ("truncate", backend.truncate("a", token, 1)),
            ("delete", backend.delete("a", token)),
        ];
        for (call, answer) in answers {
            let call = format!("{call} with the token {token:?}");
            refused(&call, answer, ErrorCode::Busy)?;
        }
        trial.is_as_before("a write", "a", &before)?;
        trial.is_absent("b")?;
    }
    Ok(())
}

fn reading(trial: &mut Trial<'_>) -> Checked {
    if trial.info()?.lease == LeaseScope::Root {
        let why = "info.lease is root: reading is under the lease too";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    let token = trial.stored("a", 2)?;
    let before = trial.state("a")?;
    trial.release("a", &token)?;
    trial.is_as_before("release", "a", &before)?;
    let change = summary(Some("t"), None);
    ok("update", trial.backend()?.update("a", &change))?;
    same("the title", &trial.listed("a")?.summary, &change)
}

fn apart(trial: &mut Trial<'_>) -> Checked {
    if trial.info()?.lease == LeaseScope::Root {
        let why = "info.lease is root: there is one lease";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    trial.leased("a")?;
    let first = trial.stored("a", 1)?;
    let second = trial.stored("b", 1)?;
    trial.release("a", &first)?;
    trial.append("b", &second, &batch(1, 1))?;
    let answer = trial.backend()?.append("a", &first, &batch(1, 1));
    refused("append after release", answer, ErrorCode::Busy).map(drop)
}

fn none(trial: &mut Trial<'_>) -> Checked {
    if trial.info()?.lease != LeaseScope::None {
        let why = "there are leases";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    let backend = trial.backend()?;
    let first = ok("acquire", backend.acquire(Some("a"), HOLDER, None))?;
    let second = ok("a second acquire", backend.acquire(Some("a"), OTHER, None))?;
    for token in [first.as_str(), second.as_str(), "any other"] {
        ok("renew", backend.renew(Some("a"), token))?;
        ok("release", backend.release(Some("a"), token))?;
    }
    ok("append", backend.create(&header("a"), &first, &batch(0, 1)))?;
    ok("append", backend.append("a", &second, &batch(1, 1)))
}

fn restart(trial: &mut Trial<'_>) -> Checked {
    let of = trial.leased("a")?;
    if of.is_none() {
        let why = "info.lease is root: it may end with the process";
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    let token = trial.stored("a", 1)?;
    trial.restart(&token)?;
    held(&busy(trial, of)?, HOLDER, &token)?;
    ok("renew", trial.backend()?.renew(of, &token))?;
    trial.append("a", &token, &batch(1, 1))
}

fn two_instances(trial: &mut Trial<'_>) -> Checked {
    let of = trial.leased("a")?;
    let why = match trial.info()? {
        info if info.durability == Durability::None => {
            "durability is none: the medium is the instance's"
        }
        info if info.lease == LeaseScope::Root => "info.lease is root: one instance has it all",
        _ => "",
    };
    if !why.is_empty() {
        return Err(Stop::NotApplicable(why.to_owned()));
    }
    let token = trial.stored("a", 2)?;
    let mut other = trial.second()?;
    let answer = other.acquire(of, OTHER, None);
    let error = refused("acquire by another instance", answer, ErrorCode::Busy)?;
    held(&error, HOLDER, &token)?;
    ok("renew", trial.backend()?.renew(of, &token))?;
    trial.append("a", &token, &batch(2, 1))?;
    let evicted = eviction(&token, EvictionReason::Gone);
    let next = ok("an eviction", other.acquire(of, OTHER, Some(&evicted)))?;
    let before = trial.state("a")?;
    let backend = trial.backend()?;
    let answers = [
        ("renew", backend.renew(of, &token)),
        ("append", backend.append("a", &token, &batch(3, 1))),
        ("truncate", backend.truncate("a", &token, 1)),
        ("delete", backend.delete("a", &token)),
    ];
    for (call, answer) in answers {
        let call = format!("{call} by the instance that was evicted");
        refused(&call, answer, ErrorCode::Busy)?;
    }
    trial.is_as_before("a write of the evicted", "a", &before)?;
    ok(
        "append by the winner",
        other.append("a", &next, &batch(3, 1)),
    )?;
    // what is on the medium, not what an instance remembers
    trial.holds(&header("a"), &batch(0, 4).lines)
}
