//! Interface `store` through the library's handles.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use annals::{ForkOptions, OpenMode, Place};
use annals_core::header::Header;
use annals_store::{CreateOptions, Surface};

use super::{Entry, NOW_MS, WasmStore};
use crate::answer::{Skip, Stop};
use crate::host::{LISTED, MESSAGES_BYTES, Opened, PAGE_BYTES, Sessions};
use crate::records::{header, refused};

impl Sessions for WasmStore {
    type Key = usize;

    fn bind(&mut self, root: &Path) -> Result<(), Stop> {
        let place = Place::jsonl(root).setting("sync", "never");
        let bound = self
            .annals()?
            .rebind(place)
            .map_err(|error| refused!(error))?;
        match bound.into_iter().find_map(|bound| bound.error) {
            Some(error) => Err(refused!(error)),
            None => Ok(()),
        }
    }

    fn create(&mut self, options: CreateOptions, time_ms: u64) -> Result<usize, Stop> {
        NOW_MS.store(time_ms, Ordering::SeqCst);
        let options = self.options(options)?;
        let session = self.annals()?.create(options);
        Ok(self.keep_session(session.map_err(|error| refused!(error))?))
    }

    fn prepare(&mut self, options: CreateOptions, time_ms: u64) -> Result<usize, Stop> {
        NOW_MS.store(time_ms, Ordering::SeqCst);
        let options = self.options(options)?;
        let header = Header {
            id: options.id.clone().unwrap_or_default(),
            created_at_ms: options.created_at_ms.unwrap_or(time_ms),
            cwd: options.cwd.clone(),
            parent_session: options.parent_session.clone(),
            seed_length: options.seed_length,
            delegation_depth: options.delegation_depth,
            extra: options.extra.clone(),
            ..Header::default()
        };
        let seed = options.seed.as_deref().unwrap_or_default().lines().count() as u64;
        let prepared = self.annals()?.prepare(options);
        Ok(self.keep(Entry {
            header,
            seed,
            prepared: Some(Arc::new(prepared.map_err(|error| refused!(error))?)),
            session: None,
        }))
    }

    fn enter(&mut self, key: &usize) -> Result<(), Stop> {
        let entry = self.entry(*key)?;
        let Some(prepared) = entry.prepared else {
            return Err(Stop::Skipped(Skip::Prepared));
        };
        let session = prepared.enter().map_err(|error| refused!(error))?;
        let seq = session.next_seq().map_err(|error| refused!(error))?;
        if (header!(session.header().clone()), seq) != (entry.header, entry.seed) {
            return Err(Stop::Misread(
                "another session than was prepared".to_owned(),
            ));
        }
        if let Some(entry) = self.entries().get_mut(*key) {
            entry.session = Some(session);
        }
        Ok(())
    }

    fn announce(&mut self, key: &usize) -> Result<(), Stop> {
        let session = self.session(*key)?;
        session.announce().map_err(|error| refused!(error))
    }

    fn detach(&mut self, key: &usize) -> Result<(), Stop> {
        let session = self.session(*key)?;
        session.detach().map_err(|error| refused!(error))
    }

    fn open(&mut self, id: &str) -> Result<(usize, Opened), Stop> {
        let opened = self.annals()?.open(id, OpenMode::Resume);
        let (session, repair) = opened.map_err(|error| refused!(error))?;
        let (cut_bytes, closers) = (repair.cut_bytes, repair.closers);
        Ok((self.keep_session(session), Opened { cut_bytes, closers }))
    }

    fn fork(
        &mut self,
        id: &str,
        boundary: Option<u64>,
        child: Option<String>,
        time_ms: u64,
    ) -> Result<usize, Stop> {
        NOW_MS.store(time_ms, Ordering::SeqCst);
        let options = ForkOptions {
            boundary,
            child: Some(self.id(child)?),
            cwd: None,
        };
        let session = self.annals()?.fork(id, options);
        Ok(self.keep_session(session.map_err(|error| refused!(error))?))
    }

    fn append(&mut self, key: &usize, lines: &str, time_ms: u64) -> Result<String, Stop> {
        let batch = self.session(*key)?.append_at(lines, time_ms);
        Ok(batch.map_err(|error| refused!(error))?.lines)
    }

    fn append_out_of_band(
        &mut self,
        key: &usize,
        line: &str,
        trigger: &str,
        time_ms: u64,
    ) -> Result<String, Stop> {
        NOW_MS.store(time_ms, Ordering::SeqCst);
        let batch = self.session(*key)?.append_out_of_band(line, trigger);
        Ok(batch.map_err(|error| refused!(error))?.lines)
    }

    fn flush(&mut self, key: &usize) -> Result<(), Stop> {
        let session = self.session(*key)?;
        session.flush().map_err(|error| refused!(error))
    }

    fn persist(&mut self, key: &usize) -> Result<(), Stop> {
        let session = self.session(*key)?;
        session.persist().map_err(|error| refused!(error))
    }

    fn close(&mut self, key: &usize) -> Result<(), Stop> {
        let session = self.session(*key)?;
        session.close().map_err(|error| refused!(error))
    }

    fn header(&self, key: &usize) -> Result<Header, Stop> {
        Ok(self.entry(*key)?.header)
    }

    fn next_seq(&self, key: &usize) -> Result<u64, Stop> {
        let entry = self.entry(*key)?;
        match entry.session {
            Some(session) => session.next_seq().map_err(|error| refused!(error)),
            None => Ok(entry.seed),
        }
    }

    fn surface(&self, key: &usize) -> Result<Surface, Stop> {
        let surface = self.session(*key)?.surface();
        let surface = surface.map_err(|error| refused!(error))?;
        Ok(Surface {
            nodes: surface.nodes,
            generation: surface.generation,
        })
    }

    fn request_header(&self, key: &usize) -> Result<Option<String>, Stop> {
        let session = self.session(*key)?;
        session.request_header().map_err(|error| refused!(error))
    }

    fn events_page(&self, key: &usize, start: u64) -> Result<(String, Option<u64>), Stop> {
        let page = self.session(*key)?.events(start, PAGE_BYTES);
        let page = page.map_err(|error| refused!(error))?;
        Ok((page.lines, page.next))
    }

    fn messages_page(&mut self, key: &usize, start: u32) -> Result<(String, u32), Stop> {
        let page = self.session(*key)?.messages(start, MESSAGES_BYTES);
        let page = page.map_err(|error| refused!(error))?;
        Ok((page.lines, page.total))
    }

    fn listing(&mut self, cursor: Option<&str>) -> Result<(Vec<Header>, Option<String>), Stop> {
        let page = self.annals()?.list(cursor, LISTED);
        let page = page.map_err(|error| refused!(error))?;
        let readable = page.sessions.into_iter().filter_map(|entry| entry.header);
        Ok((readable.map(|header| header!(header)).collect(), page.next))
    }

    fn has(&mut self, id: &str) -> Result<bool, Stop> {
        self.annals()?.has(id).map_err(|error| refused!(error))
    }

    fn live(&mut self) -> Result<Vec<String>, Stop> {
        self.annals()?.live().map_err(|error| refused!(error))
    }

    fn key_of(&mut self, id: &str) -> Result<Option<usize>, Stop> {
        if !self.live()?.iter().any(|live| live == id) {
            return Ok(None);
        }
        let is_it = |entry: &Entry| entry.session.is_some() && entry.header.id == id;
        Ok(self.entries().iter().rposition(is_it))
    }

    fn check_callable(&self) -> Result<(), Stop> {
        self.annals().map(drop)
    }

    /// Calls are done in the order in which they came, those that a callback left behind too.
    fn settle(&mut self) -> Result<(), Stop> {
        self.live().map(drop)
    }
}
