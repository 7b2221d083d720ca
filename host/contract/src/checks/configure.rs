//! `configure`: settings, and nothing before it.

use annals_sdk::types::ErrorCode;

use crate::Check;
use crate::expectation::{ensure, ok, refused, same};
use crate::samples::{HOLDER, batch, header, summary};
use crate::trial::{Checked, Trial};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "configure/before",
        proves: "every other function fails with not-configured before configure",
        run: before,
    },
    Check {
        name: "configure/unknown",
        proves: "an unknown setting is refused, its name said, and configures nothing",
        run: unknown,
    },
    Check {
        name: "configure/missing",
        proves: "a required setting that is missing is refused, its name said",
        run: missing,
    },
    Check {
        name: "configure/repeated",
        proves: "configure may be repeated: same promises, same sessions, same leases",
        run: repeated,
    },
    Check {
        name: "configure/info",
        proves: "the backend names itself and a longest record",
        run: info,
    },
];

fn before(trial: &mut Trial<'_>) -> Checked {
    let backend = trial.start()?;
    let answers = [
        (
            "acquire",
            backend.acquire(Some("a"), HOLDER, None).map(drop),
        ),
        (
            "acquire of the root",
            backend.acquire(None, HOLDER, None).map(drop),
        ),
        ("renew", backend.renew(Some("a"), "1")),
        ("release", backend.release(Some("a"), "1")),
        ("create", backend.create(&header("a"), "1", &batch(0, 1))),
        ("append", backend.append("a", "1", &batch(0, 1))),
        ("load", backend.load("a", 0, 1).map(drop)),
        ("truncate", backend.truncate("a", "1", 0)),
        ("list", backend.list(None, 1).map(drop)),
        ("has", backend.has("a").map(drop)),
        ("load-cut", backend.load_cut("a", 0, 1).map(drop)),
        ("delete", backend.delete("a", "1")),
        ("update", backend.update("a", &summary(None, None))),
    ];
    for (call, answer) in answers {
        refused(call, answer, ErrorCode::NotConfigured)?;
    }
    Ok(())
}

fn unknown(trial: &mut Trial<'_>) -> Checked {
    const NAME: &str = "no-backend-has-this";
    let good = trial.settings();
    let mut settings = good.clone();
    settings.push((NAME.to_owned(), "1".to_owned()));
    let backend = trial.start()?;
    let error = refused(
        "configure",
        backend.configure(&settings),
        ErrorCode::Invalid,
    )?;
    ensure(error.message.contains(NAME), || {
        format!("the message does not name the setting: {}", error.message)
    })?;
    refused("has after that", backend.has("a"), ErrorCode::NotConfigured)?;
    ok("configure after that", backend.configure(&good)).map(drop)
}

fn missing(trial: &mut Trial<'_>) -> Checked {
    let settings = trial.settings();
    let backend = trial.start()?;
    if backend.configure(&[]).is_ok() {
        return Ok(());
    }
    let error = refused("configure", backend.configure(&[]), ErrorCode::Invalid)?;
    let is_named = |(name, _): &(String, String)| error.message.contains(name.as_str());
    ensure(settings.iter().any(is_named), || {
        format!("the message names no setting: {}", error.message)
    })
}

fn repeated(trial: &mut Trial<'_>) -> Checked {
    let token = trial.stored("a", 2)?;
    let settings = trial.settings();
    let first = trial.info()?.clone();
    let second = ok("configure again", trial.backend()?.configure(&settings))?;
    same("the second answer", &second, &first)?;
    trial.holds(&header("a"), &batch(0, 2).lines)?;
    trial.append("a", &token, &batch(2, 1))
}

fn info(trial: &mut Trial<'_>) -> Checked {
    let info = trial.info()?;
    ensure(!info.name.is_empty() && !info.version.is_empty(), || {
        "name or version is empty".to_owned()
    })?;
    ensure(info.record_bytes_max > 0, || {
        "record-bytes-max is 0".to_owned()
    })
}
