//! Listing: a header, a summary and the end of each log, whatever their lengths. One bad session never fails it,
//! nor does a bucket that cannot be read.

use std::io::ErrorKind;

use annals_core::fault::{Class, quoted};
use annals_core::header::Header;
use annals_core::record::read_record;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Listing, SessionEntry, SessionStatus};

use crate::fault;
use crate::files::{Handle, Kind, Mode};
use crate::holding::Holding;
use crate::lines::{self, FirstLine, LastLine};
use crate::paths::{self, LOG_SUFFIX};
use crate::place::Place;
use crate::root::Root;
use crate::summary::{Stored, no_summary, summary_out};

/// The most entries of one call.
pub const ENTRIES_MAX: usize = 1000;

/// How far back from a log's end a listing looks.
pub const TAIL_BYTES_MAX: u64 = 64 << 10;

/// What is still to be listed, the next one last. Kept so that a page does not read directories again.
pub(crate) struct Walk {
    cursor: String,
    buckets: Vec<Names>,
    /// Where names are, as far as there is more than one bucket.
    holding: Holding,
}

/// The logs of a bucket.
struct Names {
    bucket: String,
    logs: Vec<(String, Kind)>,
}

impl Root {
    /// A piece of the listing, by bucket and then name, bytewise. The cursor is the last place that was listed.
    pub fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let count_max = lines::usize_of(u64::from(count_max)).clamp(1, ENTRIES_MAX);
        let mut walk = match (cursor, self.walk.take()) {
            (Some(cursor), Some(walk)) if walk.cursor == cursor => walk,
            (Some(cursor), _) => self.walk_after(cursor)?,
            (None, _) => self.walk()?,
        };
        let mut sessions = Vec::new();
        while let Some(names) = walk.buckets.last_mut() {
            let Some((name, kind)) = names.logs.pop() else {
                walk.buckets.pop();
                continue;
            };
            if sessions.len() == count_max {
                names.logs.push((name, kind));
                let next = Some(walk.cursor.clone());
                self.walk = Some(walk);
                return Ok(Listing { sessions, next });
            }
            let bucket = names.bucket.clone();
            walk.cursor = format!("{bucket}/{name}");
            sessions.extend(self.entry(&Place { bucket, name }, kind, &walk.holding));
        }
        Ok(Listing {
            sessions,
            next: None,
        })
    }

    fn walk(&self) -> Result<Walk> {
        let mut buckets: Vec<Names> = Vec::new();
        for (bucket, kind) in self.buckets_with_kinds()?.into_iter().rev() {
            let logs = match kind {
                Kind::Directory => self.names_to_list(&bucket),
                Kind::File | Kind::Link | Kind::Other => vec![(UNREAD_BUCKET.to_owned(), kind)],
            };
            buckets.push(Names { bucket, logs });
        }
        let mut holding = Holding::default();
        if buckets.len() > 1 {
            for names in &buckets {
                let logs = names.logs.iter().map(|(name, _)| name.as_str());
                holding.add(&names.bucket, logs.filter(|name| *name != UNREAD_BUCKET));
            }
        }
        Ok(Walk {
            cursor: String::new(),
            buckets,
            holding,
        })
    }

    fn walk_after(&self, cursor: &str) -> Result<Walk> {
        let Some((bucket, name)) = cursor
            .split_once('/')
            .filter(|(_, name)| !name.contains('/'))
        else {
            let message = format!(
                "no listing gave the cursor {}; list from the start again",
                quoted(cursor)
            );
            return Err(Error::new(ErrorCode::Invalid, "cursor-invalid", message));
        };
        let mut walk = self.walk()?;
        cursor.clone_into(&mut walk.cursor);
        walk.buckets.retain(|names| names.bucket.as_str() >= bucket);
        if let Some(first) = walk.buckets.last_mut()
            && first.bucket == bucket
        {
            first.logs.retain(|(other, _)| other.as_str() > name);
        }
        Ok(walk)
    }

    // A bucket that cannot be read is one entry, so that nobody takes its sessions for gone.
    fn names_to_list(&self, bucket: &str) -> Vec<(String, Kind)> {
        let unread = |_| vec![(UNREAD_BUCKET.to_owned(), Kind::Directory)];
        self.log_names(bucket).unwrap_or_else(unread)
    }

    // The last one first, as `Walk` has them. What has a log's name and is no file is an entry too.
    fn log_names(&self, bucket: &str) -> Result<Vec<(String, Kind)>> {
        let mut names: Vec<(String, Kind)> = self
            .names(bucket)?
            .into_iter()
            .filter_map(|(name, kind)| Some((name.strip_suffix(LOG_SUFFIX)?.to_owned(), kind)))
            // of no id
            .filter(|(name, _)| name != UNREAD_BUCKET)
            .collect();
        names.sort_unstable_by(|one, other| other.0.cmp(&one.0));
        Ok(names)
    }

    // None for a session that was deleted meanwhile, and for a log that is not the one that is read.
    fn entry(&mut self, place: &Place, kind: Kind, holding: &Holding) -> Option<SessionEntry> {
        if place.name == UNREAD_BUCKET {
            return self.bucket_entry(&place.bucket, kind);
        }
        let mut view = self.view(place, kind)?;
        if view.is_empty && self.is_coming(place) == Ok(true) {
            return None;
        }
        let in_place = paths::decode_name(&place.name);
        let id = match &view.header {
            Some(header) if paths::is_name_of(&place.name, &header.id) => header.id.clone(),
            // a shortened name holds no id
            Some(_) | None => in_place.unwrap_or_else(|| place.name.clone()),
        };
        if holding.is_repeated(&place.name) {
            let buckets = holding.buckets_of(&id);
            let logs = self.search_in(&id, buckets).unwrap_or_default();
            if logs.len() > 1 && logs.iter().any(|log| log.place == *place) {
                if logs.first().is_some_and(|first| first.place != *place) {
                    return None;
                }
                view.note_damage(fault::words_of_several(&logs));
            }
        } else if view.header.as_ref().is_some_and(|header| header.id == id)
            && holding.buckets_of(&id).len() < 2
        {
            // whoever lists reads next
            self.note_seen(&id, place);
        }
        let summary = match self.summary(place) {
            Ok(Stored::Members(members)) => summary_out(&members),
            Ok(Stored::Damaged(_)) => {
                view.note_damage(format!(
                    "its summary {:?} is damaged; doctor --fix or update makes a new one and keeps the old beside it",
                    place.summary()
                ));
                no_summary()
            }
            Err(error) => {
                view.note_damage(error.message);
                no_summary()
            }
        };
        Some(SessionEntry {
            id,
            header: view.header.map(Into::into),
            summary,
            updated_at_ms: view.updated_at_ms,
            status: view.status,
            note: view.note,
        })
    }

    fn view(&self, place: &Place, kind: Kind) -> Option<View> {
        let relative = place.log();
        if kind != Kind::File {
            return Some(View::damaged(fault::of_no_file(&relative, kind).message));
        }
        let read = |error| View::damaged(fault::of_reading(&relative, &error).message);
        match self.files.open(&self.path(&relative), Mode::Read) {
            Ok(mut log) => Some(view_of(log.as_mut(), place).unwrap_or_else(read)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => Some(read(error)),
        }
    }

    // None for a bucket that can be read again: its sessions come with the next listing.
    fn bucket_entry(&self, bucket: &str, kind: Kind) -> Option<SessionEntry> {
        let note = match kind {
            Kind::Directory => self.log_names(bucket).err()?.message,
            Kind::File | Kind::Link | Kind::Other => {
                let what = kind.words();
                format!("{bucket:?} is {what}, not a directory; not followed, move it away")
            }
        };
        Some(SessionEntry {
            id: bucket.to_owned(),
            header: None,
            summary: no_summary(),
            updated_at_ms: None,
            status: SessionStatus::Damaged,
            note: Some(format!("all sessions of this directory are hidden: {note}")),
        })
    }
}

/// Stands for the logs of a bucket whose names cannot be read; no log has this name.
const UNREAD_BUCKET: &str = "";

/// What a short look at a log shows.
struct View {
    header: Option<Header>,
    updated_at_ms: Option<u64>,
    status: SessionStatus,
    note: Option<String>,
    is_empty: bool,
}

impl View {
    fn damaged(note: String) -> View {
        View {
            is_empty: false,
            header: None,
            updated_at_ms: None,
            status: SessionStatus::Damaged,
            note: Some(note),
        }
    }

    fn note_damage(&mut self, note: String) {
        if self.status == SessionStatus::Ok {
            self.status = SessionStatus::Damaged;
        }
        self.note = Some(match self.note.take() {
            None => note,
            Some(first) => format!("{first}; {note}"),
        });
    }
}

fn view_of(log: &mut dyn Handle, place: &Place) -> std::io::Result<View> {
    let (first, last) = lines::ends(log, TAIL_BYTES_MAX)?;
    let first = match first {
        FirstLine::None => {
            return Ok(View {
                is_empty: true,
                ..View::damaged("the log is empty".to_owned())
            });
        }
        FirstLine::Torn(_) => {
            return Ok(View::damaged("the header line has no end".to_owned()));
        }
        FirstLine::Longer => return Ok(View::damaged("the header line is endless".to_owned())),
        FirstLine::Whole(line) => line,
    };
    let mut view = match lines::text_of(&first).map(Header::parse_line) {
        Some(Ok(header)) => {
            let mut view = View {
                header: None,
                updated_at_ms: None,
                status: SessionStatus::Ok,
                note: None,
                is_empty: false,
            };
            if !paths::is_name_of(&place.name, &header.id) {
                let named = quoted(&header.id);
                view.note_damage(format!("the header names another session, {named}"));
            }
            view.header = Some(header);
            view
        }
        Some(Err(fault)) if fault.class() == Class::UnsupportedVersion => View {
            status: SessionStatus::Unsupported,
            ..View::damaged(fault.message)
        },
        Some(Err(fault)) => View::damaged(fault.message),
        None => View::damaged("the header line is no UTF-8".to_owned()),
    };
    match last {
        LastLine::Torn => view.note_damage("the last line has no end".to_owned()),
        LastLine::None | LastLine::Longer | LastLine::Whole { start: 0, .. } => {}
        LastLine::Whole { line, .. } => match lines::text_of(&line).map(read_record) {
            Some(Ok(record)) => view.updated_at_ms = Some(record.last_time_ms),
            Some(Err(_)) | None => view.note_damage("the last line is no record".to_owned()),
        },
    }
    Ok(view)
}
