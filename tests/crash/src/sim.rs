//! The simulated disk behind the backend's seam.

use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use annals_jsonl::files::{Fs, Handle, Kind, Mode};

use crate::directory::Directory;
use crate::fault::{Fault, Operation, Plan};
use crate::file::File;
use crate::handle::SimHandle;
use crate::tree::{Inode, Tree, failed};

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Default)]
pub struct Sim(pub(crate) Rc<RefCell<State>>);

/// The disk right after an operation.
pub struct Step {
    /// How many operations changed something before, or tried to.
    pub at: usize,
    /// What was done.
    pub operation: Operation,
    /// With which file.
    pub what: String,
    /// The mark that was set last.
    pub mark: usize,
    /// The disk.
    pub tree: Tree,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    changes: usize,
    looks: usize,
    mark: usize,
    steps: Option<Vec<Step>>,
    plan: Option<Plan>,
    pub(crate) met: Option<String>,
    // the rest of a write that stopped half-way
    pub(crate) rest: Option<Fault>,
    links: Option<Fault>,
    pub(crate) is_full: bool,
    pub(crate) misuse: Vec<String>,
}

impl Sim {
    /// The disk as it is in `tree`.
    pub fn over(tree: Tree) -> Sim {
        let sim = Sim::default();
        sim.0.borrow_mut().tree = tree;
        sim
    }

    /// From now on every link fails like that.
    pub fn without_links(self, fault: Fault) -> Sim {
        self.0.borrow_mut().links = Some(fault);
        self
    }

    /// The disk has no free block, until a file is cut or removed: no directory takes another name, and no file grows
    /// beyond its last block.
    pub fn fill(&self) {
        self.0.borrow_mut().is_full = true;
    }

    /// From now on the disk is kept after each operation, to be taken with [`Sim::steps`].
    pub fn keeping_steps(self) -> Sim {
        self.0.borrow_mut().steps = Some(Vec::new());
        self
    }

    /// What is going to fail.
    pub fn failing(self, plan: Plan) -> Sim {
        self.0.borrow_mut().plan = Some(plan);
        self
    }

    /// The disk after each operation so far.
    pub fn steps(&self) -> Vec<Step> {
        self.0.borrow_mut().steps.take().unwrap_or_default()
    }

    /// The disk as it is now.
    pub fn tree(&self) -> Tree {
        self.0.borrow().tree.clone()
    }

    /// How many operations changed something so far, or tried to.
    pub fn changes(&self) -> usize {
        self.0.borrow().changes
    }

    /// How many operations only looked so far.
    pub fn looks(&self) -> usize {
        self.0.borrow().looks
    }

    /// Marks the operations that follow.
    pub fn set_mark(&self, mark: usize) {
        self.0.borrow_mut().mark = mark;
    }

    /// A quiet time passes: everything is durable but what is in doubt.
    pub fn settle(&self) {
        self.0.borrow_mut().tree.settle();
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        let mut state = self.0.borrow_mut();
        state.plan = None;
        state.rest = None;
    }

    /// The operation that met what was planned.
    pub fn met(&self) -> Option<String> {
        self.0.borrow().met.clone()
    }

    /// How the backend used what it must not use any more.
    pub fn misuse(&self) -> Vec<String> {
        self.0.borrow().misuse.clone()
    }

    /// Bytes at the end of a file, from nobody in particular.
    pub fn scribble(&self, path: &str, bytes: &[u8]) {
        let mut state = self.0.borrow_mut();
        let node = state.tree.find(Path::new(path)).unwrap();
        let file = state.tree.file_mut(node).unwrap();
        file.write(file.seen().len(), bytes);
        state.changes += 1;
        state.keep(Operation::Write, path.to_owned());
    }

    pub(crate) fn look<T>(
        &self,
        what: &Path,
        look: impl FnOnce(&Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.0.borrow_mut();
        let at = state.looks;
        state.looks += 1;
        let plan = state.plan.filter(|plan| plan.is_look && plan.at == at);
        if let Some(Plan { fault, .. }) = plan {
            return state.fail(fault, &format!("look at {}", what.display()));
        }
        look(&state.tree)
    }

    pub(crate) fn change<T>(
        &self,
        operation: Operation,
        what: String,
        change: impl FnOnce(&mut Tree) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.0.borrow_mut();
        if let Some(fault) = state.due(operation) {
            return state.fail(fault, &format!("{operation:?} {what}"));
        }
        let changed = change(&mut state.tree)?;
        state.is_full &= !matches!(operation, Operation::SetLength | Operation::Remove);
        state.keep(operation, what);
        Ok(changed)
    }
}

impl State {
    // The fault that this operation meets.
    pub(crate) fn due(&mut self, operation: Operation) -> Option<Fault> {
        let at = self.changes;
        self.changes += 1;
        let planned = self.plan.filter(|plan| !plan.is_look).filter(|plan| {
            plan.at == at || (plan.is_lasting && plan.at < at && plan.fault.lasts_for(operation))
        });
        let links = self.links.filter(|_| operation == Operation::Link);
        let is_named = operation != Operation::Write && Fault::NoSpace.lasts_for(operation);
        let full = (self.is_full && is_named).then_some(Fault::NoSpace);
        planned.map(|plan| plan.fault).or(links).or(full)
    }

    pub(crate) fn fail<T>(&mut self, fault: Fault, what: &str) -> io::Result<T> {
        if self.links != Some(fault) {
            self.met
                .get_or_insert_with(|| format!("{fault:?} at {what}"));
        }
        failed(fault.number().unwrap())
    }

    pub(crate) fn keep(&mut self, operation: Operation, what: String) {
        if let Some(steps) = &mut self.steps {
            steps.push(Step {
                at: self.changes - 1,
                operation,
                what,
                mark: self.mark,
                tree: self.tree.clone(),
            });
        }
    }
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

impl Fs for Sim {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        self.look(path, |tree| match tree.find(path) {
            Ok(node) => Ok(Some(kind_of(&tree.inodes[node]))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn open(&self, path: &Path, mode: Mode) -> io::Result<Box<dyn Handle>> {
        let node = match mode {
            Mode::New => self.change(Operation::MakeFile, shown(path), |tree| {
                tree.add(path, Inode::File(File::default()))
            })?,
            Mode::Read | Mode::Append | Mode::Overwrite => self.look(path, |tree| {
                let node = tree.find(path)?;
                tree.file(node)?;
                Ok(node)
            })?,
        };
        Ok(Box::new(SimHandle {
            sim: self.clone(),
            path: path.to_owned(),
            node,
            mode,
            at: 0,
            has_failed: false,
        }))
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<(String, Kind)>> {
        self.look(directory, |tree| {
            let names = tree.directory(tree.find(directory)?)?.seen().iter();
            Ok(names
                .map(|(name, node)| (name.to_string(), kind_of(&tree.inodes[*node])))
                .collect())
        })
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        for directory in path.ancestors() {
            if self.kind(directory)?.is_some() {
                break;
            }
            missing.push(directory);
        }
        while let Some(directory) = missing.pop() {
            self.change(Operation::MakeDirectory, shown(directory), |tree| {
                tree.add(directory, Inode::Directory(Directory::default()))
            })?;
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("{} -> {}", from.display(), to.display());
        self.change(Operation::Link, what, |tree| tree.link(from, to))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = format!("{} -> {}", from.display(), to.display());
        self.change(Operation::Rename, what, |tree| tree.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(Operation::Remove, shown(path), |tree| tree.remove(path))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.change(Operation::RemoveDirectory, shown(path), |tree| {
            tree.remove_directory(path)
        })
    }

    fn pause(&self) {}
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let node = state.tree.find(path)?;
        let due = state.due(Operation::SyncDirectory);
        let directory = state.tree.directory_mut(node)?;
        if let Some(fault) = due {
            return state.fail(fault, &format!("SyncDirectory {}", path.display()));
        }
        directory.sync();
        state.keep(Operation::SyncDirectory, shown(path));
        Ok(())
    }
}

fn kind_of(inode: &Inode) -> Kind {
    match inode {
        Inode::File(_) => Kind::File,
        Inode::Directory(_) => Kind::Directory,
    }
}
