//! The records of the interface: as the library has them, and as the sdk does.

use annals_sdk::types as sdk;

/// A header, both ways.
pub(super) mod header {
    use annals_sdk::types as sdk;

    pub(in crate::contract) fn given(header: &sdk::SessionHeader) -> annals::SessionHeader {
        let header = header.clone();
        annals::SessionHeader {
            version: header.version,
            id: header.id,
            created_at_ms: header.created_at_ms,
            cwd: header.cwd,
            parent_session: header.parent_session,
            seed_length: header.seed_length,
            delegation_depth: header.delegation_depth,
            extra: header.extra,
        }
    }

    pub(super) fn answered(header: annals::SessionHeader) -> sdk::SessionHeader {
        sdk::SessionHeader {
            version: header.version,
            id: header.id,
            created_at_ms: header.created_at_ms,
            cwd: header.cwd,
            parent_session: header.parent_session,
            seed_length: header.seed_length,
            delegation_depth: header.delegation_depth,
            extra: header.extra,
        }
    }
}

/// A summary, both ways.
pub(super) mod summary {
    use annals_sdk::types as sdk;

    pub(in crate::contract) fn given(summary: &sdk::SessionSummary) -> annals::SessionSummary {
        annals::SessionSummary {
            title: summary.title.clone(),
            first_prompt: summary.first_prompt.clone(),
        }
    }

    pub(super) fn answered(summary: annals::SessionSummary) -> sdk::SessionSummary {
        sdk::SessionSummary {
            title: summary.title,
            first_prompt: summary.first_prompt,
        }
    }
}

pub(super) fn batch(batch: &sdk::Batch) -> annals::Batch {
    annals::Batch {
        first_seq: batch.first_seq,
        count: batch.count,
        last_time_ms: batch.last_time_ms,
        lines: batch.lines.clone(),
    }
}

pub(super) fn eviction(eviction: &sdk::Eviction) -> annals::Eviction {
    annals::Eviction {
        token: eviction.token.clone(),
        why: match eviction.why {
            sdk::EvictionReason::Gone => annals::EvictionReason::Gone,
            sdk::EvictionReason::Silent => annals::EvictionReason::Silent,
        },
    }
}

pub(super) fn page(page: annals::Page) -> sdk::Page {
    sdk::Page {
        header: page.header.map(header::answered),
        at_byte: page.at_byte,
        lines: page.lines,
        raw: page.raw,
        next: page.next,
    }
}

pub(super) fn listing(listing: annals::Listing) -> sdk::Listing {
    sdk::Listing {
        sessions: listing.sessions.into_iter().map(entry).collect(),
        next: listing.next,
    }
}

fn entry(entry: annals::SessionEntry) -> sdk::SessionEntry {
    sdk::SessionEntry {
        id: entry.id,
        header: entry.header.map(header::answered),
        summary: summary::answered(entry.summary),
        updated_at_ms: entry.updated_at_ms,
        status: match entry.status {
            annals::SessionStatus::Ok => sdk::SessionStatus::Ok,
            annals::SessionStatus::Damaged => sdk::SessionStatus::Damaged,
            annals::SessionStatus::Unsupported => sdk::SessionStatus::Unsupported,
        },
        note: entry.note,
    }
}

pub(super) fn info(info: annals::BackendInfo) -> sdk::BackendInfo {
    sdk::BackendInfo {
        name: info.name,
        version: info.version,
        durability: match info.durability {
            annals::Durability::None => sdk::Durability::None,
            annals::Durability::Process => sdk::Durability::Process,
            annals::Durability::Power => sdk::Durability::Power,
        },
        wants_packed: info.wants_packed,
        lease: match info.lease {
            annals::LeaseScope::None => sdk::LeaseScope::None,
            annals::LeaseScope::Session => sdk::LeaseScope::Session,
            annals::LeaseScope::Root => sdk::LeaseScope::Root,
        },
        record_bytes_max: info.record_bytes_max,
        notes: info.notes,
    }
}

pub(super) fn error(error: annals::Error) -> sdk::Error {
    sdk::Error {
        code: code(error.code),
        reason: error.reason,
        message: error.message,
        detail: error.detail,
    }
}

fn code(code: annals::ErrorCode) -> sdk::ErrorCode {
    match code {
        annals::ErrorCode::NotFound => sdk::ErrorCode::NotFound,
        annals::ErrorCode::AlreadyExists => sdk::ErrorCode::AlreadyExists,
        annals::ErrorCode::SeqConflict => sdk::ErrorCode::SeqConflict,
        annals::ErrorCode::Busy => sdk::ErrorCode::Busy,
        annals::ErrorCode::Invalid => sdk::ErrorCode::Invalid,
        annals::ErrorCode::Corrupt => sdk::ErrorCode::Corrupt,
        annals::ErrorCode::UnsupportedVersion => sdk::ErrorCode::UnsupportedVersion,
        annals::ErrorCode::ReadOnly => sdk::ErrorCode::ReadOnly,
        annals::ErrorCode::NoSpace => sdk::ErrorCode::NoSpace,
        annals::ErrorCode::Limit => sdk::ErrorCode::Limit,
        annals::ErrorCode::NotConfigured => sdk::ErrorCode::NotConfigured,
        annals::ErrorCode::Reentrant => sdk::ErrorCode::Reentrant,
        annals::ErrorCode::Unavailable => sdk::ErrorCode::Unavailable,
        annals::ErrorCode::Other => sdk::ErrorCode::Other,
    }
}
