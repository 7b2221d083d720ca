//! Records of the interface, which every way of linking generates for itself, field by field.

/// Core's header from a `session-header`.
macro_rules! header {
    ($from:expr) => {{
        let from = $from;
        annals_core::header::Header {
            version: from.version,
            id: from.id,
            created_at_ms: from.created_at_ms,
            cwd: from.cwd,
            parent_session: from.parent_session,
            seed_length: from.seed_length,
            delegation_depth: from.delegation_depth,
            extra: from.extra,
        }
    }};
}

/// A rejection from an `error`; `index` in its detail is the first offending event.
macro_rules! refused {
    ($error:expr) => {{
        let error = $error;
        $crate::answer::Stop::Refused($crate::answer::Refusal::of_record(
            &error.reason,
            &error.message,
            &error.detail,
        ))
    }};
}

pub(crate) use {header, refused};
