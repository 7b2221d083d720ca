//! A call of a backend, written once for both ways to do it: on this thread, or on a runtime under a deadline.

/// Calls interface `persistence`: `persistence!(backend, call_has(&id))`.
macro_rules! persistence {
    ($backend:expr, $function:ident($($argument:expr),*)) => {
        $backend.call(
            |exports, store| {
                let guest = exports.persistence.annals_session_persistence();
                guest.$function(store, $($argument),*)
            },
            async |exports, store| {
                let guest = exports.persistence.annals_session_persistence();
                guest.$function(store, $($argument),*).await
            },
        )
    };
}

/// Calls interface `upkeep` in the same way; the answer, converted, is none where the backend does not have it.
macro_rules! upkeep {
    ($backend:expr, $function:ident($($argument:expr),*), $converted:expr) => {
        $backend.call(
            |exports, store| match &exports.upkeep {
                Some(upkeep) => {
                    let upkeep = upkeep.annals_session_upkeep();
                    Ok(upkeep.$function(store, $($argument),*)?.map(Some))
                }
                None => Ok(Ok(None)),
            },
            async |exports, store| match &exports.upkeep {
                Some(upkeep) => {
                    let upkeep = upkeep.annals_session_upkeep();
                    let answer = upkeep.$function(store, $($argument),*).await?;
                    Ok(answer.map(|found| Some($converted(found))))
                }
                None => Ok(Ok(None)),
            },
        )
    };
}
