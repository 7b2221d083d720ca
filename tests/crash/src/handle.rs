//! An open file of the simulated disk. One that failed must not be used any more; that it was is noted.

use std::io;
use std::path::PathBuf;

use annals_jsonl::files::{Handle, Mode};

use crate::directory::Node;
use crate::fault::{Fault, Loss, Operation};
use crate::file::BLOCK_BYTES;
use crate::sim::{Sim, shown};
use crate::tree::failed;

pub(crate) struct SimHandle {
    pub(crate) sim: Sim,
    pub(crate) path: PathBuf,
    pub(crate) node: Node,
    pub(crate) mode: Mode,
    /// Where it writes next, unless at the end.
    pub(crate) at: usize,
    pub(crate) has_failed: bool,
}

impl SimHandle {
    fn check(&self, doing: &str) {
        if self.has_failed {
            let misuse = format!("{doing} {} by a handle that failed", self.path.display());
            self.sim.0.borrow_mut().misuse.push(misuse);
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.sim.0.borrow_mut();
        let what = shown(&self.path);
        let due = state.due(Operation::Write).or(state.rest.take());
        let fitting = match due {
            None => bytes.len(),
            Some(fault @ (Fault::Short | Fault::ShortThenNoSpace | Fault::ShortThenIo)) => {
                state
                    .met
                    .get_or_insert(format!("{fault:?} at Write {what}"));
                state.rest = match fault {
                    Fault::ShortThenNoSpace => Some(Fault::NoSpace),
                    Fault::ShortThenIo => Some(Fault::Io),
                    _ => None,
                };
                (bytes.len() / 2).max(1)
            }
            Some(fault) => return state.fail(fault, &format!("Write {what}")),
        };
        let is_full = state.is_full;
        let file = state.tree.file_mut(self.node)?;
        let at = match self.mode {
            Mode::Append => file.seen().len(),
            Mode::Overwrite | Mode::New => self.at,
            Mode::Read => return failed(EBADF),
        };
        if is_full && at + fitting > file.seen().len().next_multiple_of(BLOCK_BYTES) {
            return state.fail(Fault::NoSpace, &format!("Write {what}"));
        }
        file.write(at, &bytes[..fitting]);
        self.at = at + fitting;
        state.keep(Operation::Write, format!("{what}, {fitting} bytes"));
        Ok(fitting)
    }

    fn make_durable(&mut self) -> io::Result<()> {
        let mut state = self.sim.0.borrow_mut();
        let what = shown(&self.path);
        let due = state.due(Operation::Sync);
        let file = state.tree.file_mut(self.node)?;
        if let Some(fault) = due {
            if let Fault::LostSync(loss) = fault {
                file.fail_to_sync(loss);
            } else {
                file.fail_to_sync(Loss::Kept);
            }
            return state.fail(fault, &format!("Sync {what}"));
        }
        file.sync();
        state.keep(Operation::Sync, what);
        Ok(())
    }
}

const EBADF: i32 = 9;

impl Handle for SimHandle {
    fn bytes(&mut self) -> io::Result<u64> {
        self.check("length of");
        let node = self.node;
        self.sim.look(&self.path, |tree| {
            tree.file(node).map(|file| file.seen().len() as u64)
        })
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.check("read of");
        let node = self.node;
        self.sim.look(&self.path, |tree| {
            let content = tree.file(node)?.seen();
            let start = usize::try_from(offset).unwrap().min(content.len());
            let count = into.len().min(content.len() - start);
            into[..count].copy_from_slice(&content[start..start + count]);
            Ok(count)
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check("write to");
        let written = self.put(bytes);
        self.has_failed |= written.is_err();
        written
    }

    fn set_bytes(&mut self, bytes: u64) -> io::Result<()> {
        self.check("cut of");
        let (node, length) = (self.node, usize::try_from(bytes).unwrap());
        let what = format!("{} to {bytes} bytes", self.path.display());
        let cut = self.sim.change(Operation::SetLength, what, |tree| {
            tree.file_mut(node).map(|file| file.set_length(length))
        });
        self.has_failed |= cut.is_err();
        cut
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check("sync of");
        let synced = self.make_durable();
        self.has_failed |= synced.is_err();
        synced
    }
}
