//! Listing: a header, a summary and the end of each log, whatever their lengths. One bad session never fails it,
//! nor does a bucket that cannot be read.

use annals_core::fault::Class;
use annals_core::header::Header;
use annals_core::record::read_record;
use annals_sdk::Result;
use annals_sdk::types::{Error, ErrorCode, Listing, SessionEntry, SessionStatus};

use crate::fault;
use crate::files::{Handle, Kind, Mode};
use crate::lines::{self, FirstLine, LastLine};
use crate::paths::{self, LOG_SUFFIX};
use crate::place::Place;
use crate::root::Root;
use crate::summary::{Stored, no_summary, summary_out};

/// The most entries of one call.
pub const ENTRIES_MAX: usize = 1000;

/// How far back from a log's end a listing looks.
pub const TAIL_BYTES_MAX: u64 = 64 << 10;

/// Names that are still to be listed, the next one last. Kept so that a page does not read directories again.
pub(crate) struct Walk {
    cursor: String,
    buckets: Vec<String>,
    names: Vec<String>,
}

impl Root {
    /// A piece of the listing, by bucket and then name, bytewise. The cursor is the last place that was listed.
    pub fn list(&mut self, cursor: Option<&str>, count_max: u32) -> Result<Listing> {
        let count_max = lines::usize_of(u64::from(count_max)).clamp(1, ENTRIES_MAX);
        let mut walk = match (cursor, self.walk.take()) {
            (Some(cursor), Some(walk)) if walk.cursor == cursor => walk,
            (Some(cursor), _) => self.walk_after(cursor)?,
            (None, _) => self.walk_from_start()?,
        };
        let mut sessions = Vec::new();
        while let Some(bucket) = walk.buckets.last().cloned() {
            if sessions.len() == count_max {
                let next = Some(walk.cursor.clone());
                self.walk = Some(walk);
                return Ok(Listing { sessions, next });
            }
            if let Some(name) = walk.names.pop() {
                walk.cursor = format!("{bucket}/{name}");
                sessions.extend(self.entry(&Place { bucket, name }));
            }
            // on to the next bucket that holds anything
            while walk.names.is_empty() && walk.buckets.pop().is_some() {
                if let Some(bucket) = walk.buckets.last() {
                    walk.names = self.names_to_list(bucket);
                }
            }
        }
        Ok(Listing {
            sessions,
            next: None,
        })
    }

    fn walk_from_start(&self) -> Result<Walk> {
        let mut buckets = self.buckets()?;
        buckets.reverse();
        let names = match buckets.last() {
            Some(bucket) => self.names_to_list(bucket),
            None => Vec::new(),
        };
        Ok(Walk {
            cursor: String::new(),
            buckets,
            names,
        })
    }

    fn walk_after(&self, cursor: &str) -> Result<Walk> {
        let Some((bucket, name)) = cursor
            .split_once('/')
            .filter(|(_, name)| !name.contains('/'))
        else {
            let message =
                format!("no listing gave the cursor {cursor:?}; list from the start again");
            return Err(Error::new(ErrorCode::Invalid, "cursor-invalid", message));
        };
        let mut buckets = self.buckets()?;
        buckets.retain(|other| other.as_str() >= bucket);
        buckets.reverse();
        let mut names = match buckets.last() {
            Some(first) => self.names_to_list(first),
            None => Vec::new(),
        };
        if buckets.last().is_some_and(|first| first == bucket) {
            names.retain(|other| other.as_str() > name);
        }
        Ok(Walk {
            cursor: cursor.to_owned(),
            buckets,
            names,
        })
    }

    // A bucket that cannot be read is one entry, so that nobody takes its sessions for gone.
    fn names_to_list(&self, bucket: &str) -> Vec<String> {
        let unread = |_| vec![UNREAD_BUCKET.to_owned()];
        self.log_names(bucket).unwrap_or_else(unread)
    }

    // The last one first, as `Walk` has them.
    fn log_names(&self, bucket: &str) -> Result<Vec<String>> {
        let mut names: Vec<String> = self
            .names(bucket)?
            .into_iter()
            .filter(|(_, kind)| *kind == Kind::File)
            .filter_map(|(name, _)| name.strip_suffix(LOG_SUFFIX).map(str::to_owned))
            // of no id
            .filter(|name| name != UNREAD_BUCKET)
            .collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(names)
    }

    // None for a session that was deleted meanwhile.
    fn entry(&self, place: &Place) -> Option<SessionEntry> {
        if place.name == UNREAD_BUCKET {
            return self.bucket_entry(&place.bucket);
        }
        let relative = place.log();
        let mut view = match self.files.open(&self.path(&relative), Mode::Read) {
            Ok(mut log) => view_of(log.as_mut(), place).unwrap_or_else(|error| {
                View::damaged(fault::of_reading(&relative, &error).message)
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => View::damaged(fault::of_reading(&relative, &error).message),
        };
        if view.is_empty && self.is_coming(place) == Ok(true) {
            return None;
        }
        let summary = match self.summary(place) {
            Ok(Stored::Members(members)) => summary_out(&members),
            Ok(Stored::Unreadable) | Err(_) => {
                view.note_damage(format!("{:?} cannot be read", place.summary()));
                no_summary()
            }
        };
        let in_place = paths::decode_name(&place.name);
        let id = match &view.header {
            Some(header) if paths::is_name_of(&place.name, &header.id) => header.id.clone(),
            // a shortened name holds no id
            Some(_) | None => in_place.unwrap_or_else(|| place.name.clone()),
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

    // None for a bucket that can be read again: its sessions come with the next listing.
    fn bucket_entry(&self, bucket: &str) -> Option<SessionEntry> {
        let error = self.log_names(bucket).err()?;
        Some(SessionEntry {
            id: bucket.to_owned(),
            header: None,
            summary: no_summary(),
            updated_at_ms: None,
            status: SessionStatus::Damaged,
            note: Some(format!(
                "all sessions of this directory are hidden: {}",
                error.message
            )),
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

    // The first thing that is wrong is the one that is shown.
    fn note_damage(&mut self, note: String) {
        if self.status == SessionStatus::Ok {
            self.status = SessionStatus::Damaged;
            self.note = Some(note);
        }
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
                view.note_damage(format!("the header names another session, {:?}", header.id));
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
