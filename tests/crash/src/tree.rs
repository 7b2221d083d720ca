//! The files and directories of a disk.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::directory::{Change, Directory, Node};
use crate::file::File;

/// What paths name.
#[derive(Clone, Debug)]
pub(crate) enum Inode {
    File(File),
    Directory(Directory),
}

/// A disk with what is durable on it and what is not yet. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Tree {
    // the first one is `/`; none is ever removed, so that an open file stays what it is
    pub(crate) inodes: Vec<Inode>,
}

const ENOENT: i32 = 2;
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EISDIR: i32 = 21;
const ENOTEMPTY: i32 = 39;

pub(crate) fn failed<T>(number: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(number))
}

impl Default for Tree {
    fn default() -> Tree {
        Tree {
            inodes: vec![Inode::Directory(Directory::default())],
        }
    }
}

impl Tree {
    pub(crate) fn find(&self, path: &Path) -> io::Result<Node> {
        let mut node = 0;
        for part in path.components() {
            match part {
                Component::RootDir | Component::CurDir => {}
                Component::Normal(name) => {
                    let name = name.to_str().unwrap();
                    match self.directory(node)?.seen().get(name) {
                        Some(found) => node = *found,
                        None => return failed(ENOENT),
                    }
                }
                Component::ParentDir | Component::Prefix(_) => panic!("{path:?} is not plain"),
            }
        }
        Ok(node)
    }

    pub(crate) fn directory(&self, node: Node) -> io::Result<&Directory> {
        match &self.inodes[node] {
            Inode::Directory(directory) => Ok(directory),
            Inode::File(_) => failed(ENOTDIR),
        }
    }

    pub(crate) fn directory_mut(&mut self, node: Node) -> io::Result<&mut Directory> {
        match &mut self.inodes[node] {
            Inode::Directory(directory) => Ok(directory),
            Inode::File(_) => failed(ENOTDIR),
        }
    }

    pub(crate) fn file(&self, node: Node) -> io::Result<&File> {
        match &self.inodes[node] {
            Inode::File(file) => Ok(file),
            Inode::Directory(_) => failed(EISDIR),
        }
    }

    pub(crate) fn file_mut(&mut self, node: Node) -> io::Result<&mut File> {
        match &mut self.inodes[node] {
            Inode::File(file) => Ok(file),
            Inode::Directory(_) => failed(EISDIR),
        }
    }

    fn parent(&self, path: &Path) -> io::Result<(Node, Arc<str>)> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap();
        Ok((self.find(path.parent().unwrap())?, name.into()))
    }

    /// Names a new file or directory.
    pub(crate) fn add(&mut self, path: &Path, inode: Inode) -> io::Result<Node> {
        let (parent, name) = self.parent(path)?;
        if self.directory(parent)?.seen().contains_key(&name) {
            return failed(EEXIST);
        }
        let node = self.inodes.len();
        self.inodes.push(inode);
        self.directory_mut(parent)?.change(Change::Add(name, node));
        Ok(node)
    }

    pub(crate) fn link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find(from)?;
        self.file(node)?;
        let (parent, name) = self.parent(to)?;
        if self.directory(parent)?.seen().contains_key(&name) {
            return failed(EEXIST);
        }
        self.directory_mut(parent)?.change(Change::Add(name, node));
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.find(from)?;
        self.file(node)?;
        let ((parent, from), (other, to)) = (self.parent(from)?, self.parent(to)?);
        assert_eq!(parent, other, "a rename from one directory into another");
        if let Some(replaced) = self.directory(parent)?.seen().get(&to) {
            self.file(*replaced)?;
        }
        self.directory_mut(parent)?
            .change(Change::Rename(from, to, node));
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        self.file(node)?;
        let (parent, name) = self.parent(path)?;
        self.directory_mut(parent)?
            .change(Change::Remove(name, node));
        Ok(())
    }

    pub(crate) fn remove_directory(&mut self, path: &Path) -> io::Result<()> {
        let node = self.find(path)?;
        if !self.directory(node)?.seen().is_empty() {
            return failed(ENOTEMPTY);
        }
        let (parent, name) = self.parent(path)?;
        self.directory_mut(parent)?
            .change(Change::Remove(name, node));
        Ok(())
    }

    /// Everything is durable, as after some quiet time. What is in doubt stays so.
    pub(crate) fn settle(&mut self) {
        for inode in &mut self.inodes {
            match inode {
                Inode::File(file) => file.sync(),
                Inode::Directory(directory) => directory.sync(),
            }
        }
    }

    /// Everything that names may lead to after a power loss.
    pub(crate) fn reachable(&self) -> Vec<Node> {
        let mut seen = HashSet::from([0]);
        let mut pending = vec![0];
        while let Some(node) = pending.pop() {
            if let Inode::Directory(directory) = &self.inodes[node] {
                pending.extend(directory.children().filter(|child| seen.insert(*child)));
            }
        }
        let mut nodes: Vec<Node> = seen.into_iter().collect();
        nodes.sort_unstable();
        nodes
    }

    /// Every file as it is seen: its path and content, in the order of the paths.
    pub fn files(&self) -> Vec<(PathBuf, Arc<Vec<u8>>)> {
        let mut files = Vec::new();
        let mut pending = vec![(PathBuf::from("/"), 0)];
        while let Some((path, node)) = pending.pop() {
            match &self.inodes[node] {
                Inode::File(file) => files.push((path, Arc::clone(file.seen()))),
                Inode::Directory(directory) => {
                    let names = directory.seen().iter();
                    pending.extend(names.map(|(name, node)| (path.join(&**name), *node)));
                }
            }
        }
        files.sort_unstable();
        files
    }

    /// Tells disks apart by what is seen on them.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut pending = vec![0];
        while let Some(node) = pending.pop() {
            match &self.inodes[node] {
                Inode::File(file) => file.seen().hash(&mut hasher),
                Inode::Directory(directory) => {
                    for (name, node) in directory.seen() {
                        name.hash(&mut hasher);
                        pending.push(*node);
                    }
                    0xFFu8.hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }
}
