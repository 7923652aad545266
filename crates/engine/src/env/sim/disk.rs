//! Simulated disk: the tree visible to processes, the durable tree, and the operations between
//! them.
//!
//! Every change of a name is an operation in one list. `sync_dir` makes the operations on that
//! directory durable, together with earlier operations on the same names. A rename is one
//! operation, also between directories. At a power loss, one of two models is chosen for the rest
//! of the list:
//! - *Journal* (ext4, xfs): the operations up to a random one happened; the later ones did not.
//! - *Any order* (btrfs and others): each operation happened or not, except that an operation that
//!   depends on a lost one is lost.
//!
//! Neither model considers a file's sync when it decides about the file's name, in accordance with
//! POSIX: a synced file whose directory was not synced may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::fault::{FsCall, InjectedFault};
use super::file::FileData;
use crate::env::rng::SeededRng;
use crate::env::{DirEntry, FileKind};

const ROOT: u64 = 0;

/// File shared by trees and handles.
pub(super) type SharedFile = Arc<Mutex<FileData>>;
/// Directory number and a name in it.
type Key = (u64, String);
type Tree = BTreeMap<Key, Node>;

#[derive(Clone, Debug)]
enum Node {
    File(SharedFile),
    Dir(u64),
}

/// Change of names: each key gets a node, or is removed.
#[derive(Debug)]
struct Operation {
    changes: Vec<(Key, Option<Node>)>,
}

impl Operation {
    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.changes.iter().map(|(key, _)| key)
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    visible: Tree,
    durable: Tree,
    pending: Vec<Operation>,
    next_dir: u64,
    /// Current process; handles of earlier processes are invalid.
    pub(super) generation: u64,
    /// Number of machine starts.
    pub(super) boot: u64,
    pub(super) gone: bool,
    pub(super) calls: u64,
    pub(super) last_call: Option<(FsCall, String)>,
    pub(super) die_at: Option<u64>,
    pub(super) faults: Vec<InjectedFault>,
    pub(super) failures: u64,
    pub(super) capacity: Option<u64>,
    pub(super) read_only: bool,
    pub(super) locks: BTreeSet<String>,
    pub(super) rng: SeededRng,
}

/// Acquires a lock, ignoring poisoning by a test that panicked elsewhere.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            visible: Tree::new(),
            durable: Tree::new(),
            pending: Vec::new(),
            next_dir: ROOT + 1,
            generation: 1,
            boot: 1,
            gone: false,
            calls: 0,
            last_call: None,
            die_at: None,
            faults: Vec::new(),
            failures: 0,
            capacity: None,
            read_only: false,
            locks: BTreeSet::new(),
            rng: SeededRng::new(seed),
        }
    }

    pub(super) fn is_alive(&self, life: u64) -> bool {
        life == self.generation && !self.gone
    }

    /// Counts a call and checks that it may proceed.
    pub(super) fn enter(&mut self, life: u64, call: FsCall, path: &str) -> io::Result<()> {
        if !self.is_alive(life) {
            return Err(process_gone());
        }
        self.last_call = Some((call, path.to_owned()));
        if self.die_at.is_some_and(|at| self.calls >= at) {
            self.gone = true;
            return Err(process_gone());
        }
        self.calls += 1;
        if self.read_only && call.changes_disk() {
            return Err(Errno::ROFS.into());
        }
        match self.faults.iter_mut().find_map(|fault| fault.strike(call, path)) {
            Some(error) => {
                self.failures += 1;
                Err(error)
            }
            None => Ok(()),
        }
    }

    fn node(&self, path: &str) -> io::Result<Node> {
        let mut node = Node::Dir(ROOT);
        for name in path.split('/').filter(|_| !path.is_empty()) {
            let Node::Dir(dir) = node else { return Err(Errno::NOTDIR.into()) };
            node = self.visible.get(&(dir, check_name(name)?)).cloned().ok_or(Errno::NOENT)?;
        }
        Ok(node)
    }

    fn dir(&self, path: &str) -> io::Result<u64> {
        match self.node(path)? {
            Node::Dir(dir) => Ok(dir),
            Node::File(_) => Err(Errno::NOTDIR.into()),
        }
    }

    pub(super) fn file(&self, path: &str) -> io::Result<SharedFile> {
        match self.node(path)? {
            Node::File(file) => Ok(file),
            Node::Dir(_) => Err(Errno::ISDIR.into()),
        }
    }

    pub(super) fn exists(&self, path: &str) -> io::Result<bool> {
        match self.node(path) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(false)
            }
            other => other.map(|_| true),
        }
    }

    pub(super) fn kind(&self, path: &str) -> io::Result<Option<FileKind>> {
        if !self.exists(path)? {
            return Ok(None);
        }
        Ok(Some(if self.dir(path).is_ok() { FileKind::Directory } else { FileKind::File }))
    }

    fn key(&self, path: &str) -> io::Result<Key> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.dir(parent)?, check_name(name)?))
    }

    fn change(&mut self, changes: Vec<(Key, Option<Node>)>) {
        apply(&mut self.visible, &changes);
        self.pending.push(Operation { changes });
    }

    pub(super) fn create(&mut self, path: &str) -> io::Result<SharedFile> {
        let key = self.key(path)?;
        if self.visible.contains_key(&key) {
            return Err(Errno::EXIST.into());
        }
        if self.free_bytes() == 0 {
            return Err(Errno::NOSPC.into());
        }
        let file = SharedFile::default();
        self.change(vec![(key, Some(Node::File(Arc::clone(&file))))]);
        Ok(file)
    }

    pub(super) fn create_dir_all(&mut self, path: &str) -> io::Result<()> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.filter(|_| !path.is_empty()) {
            let key = self.key(&path[..end])?;
            match self.visible.get(&key) {
                Some(Node::Dir(_)) => {}
                Some(Node::File(_)) => return Err(Errno::EXIST.into()),
                None => {
                    let dir = Node::Dir(self.next_dir);
                    self.next_dir += 1;
                    self.change(vec![(key, Some(dir))]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Errno::INVAL.into());
        }
        let (from, to) = (self.key(from)?, self.key(to)?);
        let node = self.visible.get(&from).cloned().ok_or(Errno::NOENT)?;
        match (&node, self.visible.get(&to)) {
            _ if from == to => return Ok(()),
            (Node::File(_), Some(Node::Dir(_))) => return Err(Errno::ISDIR.into()),
            (Node::Dir(_), Some(Node::File(_))) => return Err(Errno::NOTDIR.into()),
            (Node::Dir(_), Some(Node::Dir(old))) if self.children(*old).next().is_some() => {
                return Err(Errno::NOTEMPTY.into());
            }
            _ => {}
        }
        self.change(vec![(from, None), (to, Some(node))]);
        Ok(())
    }

    /// Adds a second name for a file.
    pub(super) fn link(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.file(from)?;
        let to = self.key(to)?;
        if self.visible.contains_key(&to) {
            return Err(Errno::EXIST.into());
        }
        self.change(vec![(to, Some(Node::File(file)))]);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &str) -> io::Result<()> {
        self.file(path)?;
        let key = self.key(path)?;
        self.change(vec![(key, None)]);
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        let dir = self.dir(path)?;
        if self.children(dir).next().is_some() {
            return Err(Errno::NOTEMPTY.into());
        }
        let key = self.key(path)?;
        self.change(vec![(key, None)]);
        Ok(())
    }

    fn children(&self, dir: u64) -> impl Iterator<Item = (&Key, &Node)> {
        self.visible.range((dir, String::new())..(dir + 1, String::new()))
    }

    pub(super) fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let dir = self.dir(path)?;
        let entry = |((_, name), node): (&Key, &Node)| match node {
            Node::Dir(_) => {
                DirEntry { name: name.clone(), is_dir: true, bytes: 0, unexpected: None }
            }
            Node::File(file) => DirEntry {
                name: name.clone(),
                is_dir: false,
                bytes: locked(file).bytes().len() as u64,
                unexpected: None,
            },
        };
        Ok(self.children(dir).map(entry).collect())
    }

    /// Makes the operations on a directory durable, together with the earlier ones that they depend
    /// on.
    pub(super) fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        let dir = self.dir(path)?;
        let mut needed: BTreeSet<Key> = BTreeSet::new();
        let mut commits = vec![false; self.pending.len()];
        for (operation, commit) in self.pending.iter().zip(&mut commits).rev() {
            *commit = operation.keys().any(|key| key.0 == dir || needed.contains(key));
            if *commit {
                needed.extend(operation.keys().cloned());
            }
        }
        let mut commits = commits.into_iter();
        self.commit(|_| commits.next().unwrap_or(false));
        Ok(())
    }

    /// Makes the operations selected by `chosen` durable, in order; the others stay pending.
    fn commit(&mut self, mut chosen: impl FnMut(&Operation) -> bool) {
        let (now, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(|operation| chosen(operation));
        for operation in now {
            apply(&mut self.durable, &operation.changes);
        }
        self.pending = later;
    }

    pub(super) fn free_bytes(&self) -> u64 {
        let Some(capacity) = self.capacity else { return u64::MAX };
        let bytes = |node: &Node| match node {
            Node::File(file) => locked(file).bytes().len() as u64,
            Node::Dir(_) => 0,
        };
        capacity.saturating_sub(self.visible.values().map(bytes).sum())
    }

    /// Ends the process; its writes remain.
    pub(super) fn kill(&mut self) {
        self.generation += 1;
        self.gone = false;
        self.die_at = None;
        self.locks.clear();
    }

    /// Loses everything that was not synced.
    pub(super) fn drop_unsynced(&mut self) {
        self.pending.clear();
        self.reboot(FileData::drop_unsynced);
    }

    /// Loses unsynced changes selected by the random sequence of `seed`.
    pub(super) fn lose_power(&mut self, seed: u64) {
        let rng = SeededRng::new(seed);
        if rng.one_in(2) {
            let mut happened = rng.up_to(self.pending.len());
            self.commit(|_| {
                let keep = happened > 0;
                happened = happened.saturating_sub(1);
                keep
            });
        } else {
            let mut lost: BTreeSet<Key> = BTreeSet::new();
            self.commit(|operation| {
                let keep = !operation.keys().any(|key| lost.contains(key)) && rng.one_in(2);
                if !keep {
                    lost.extend(operation.keys().cloned());
                }
                keep
            });
        }
        self.pending.clear();
        self.reboot(|file| file.lose_power(&rng));
    }

    /// Makes the durable tree the visible one. Directories that cannot be reached from the root are
    /// removed.
    fn reboot(&mut self, mut lose: impl FnMut(&mut FileData)) {
        let mut reached = BTreeSet::from([ROOT]);
        let mut to_visit = vec![ROOT];
        while let Some(dir) = to_visit.pop() {
            for (_, node) in self.durable.range((dir, String::new())..(dir + 1, String::new())) {
                if let Node::Dir(below) = node
                    && reached.insert(*below)
                {
                    to_visit.push(*below);
                }
            }
        }
        self.durable.retain(|(dir, _), _| reached.contains(dir));
        for node in self.durable.values() {
            if let Node::File(file) = node {
                lose(&mut locked(file));
            }
        }
        self.visible = self.durable.clone();
        self.boot += 1;
        self.kill();
    }

    /// Returns every file visible to processes, by path.
    pub(super) fn files(&self) -> BTreeMap<String, SharedFile> {
        let mut files = BTreeMap::new();
        let mut to_visit = vec![(ROOT, String::new())];
        while let Some((dir, prefix)) = to_visit.pop() {
            for ((_, name), node) in self.children(dir) {
                let path = format!("{prefix}{name}");
                match node {
                    Node::Dir(below) => to_visit.push((*below, path + "/")),
                    Node::File(file) => drop(files.insert(path, Arc::clone(file))),
                }
            }
        }
        files
    }

    /// Adds a fully durable file with these bytes, for tests. With `alone`, earlier pending name
    /// changes stay pending.
    pub(super) fn put_file(&mut self, path: &str, bytes: Vec<u8>, alone: bool) -> io::Result<()> {
        let before = self.pending.len();
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.create_dir_all(parent)?;
        }
        let key = self.key(path)?;
        self.change(vec![(key, Some(Node::File(Arc::new(Mutex::new(FileData::durable(bytes))))))]);
        let mut at = 0;
        self.commit(|_| {
            at += 1;
            !alone || at > before
        });
        Ok(())
    }
}

fn apply(tree: &mut Tree, changes: &[(Key, Option<Node>)]) {
    for (key, node) in changes {
        match node {
            Some(node) => drop(tree.insert(key.clone(), node.clone())),
            None => drop(tree.remove(key)),
        }
    }
}

fn check_name(name: &str) -> io::Result<String> {
    match name {
        "" | "." | ".." => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a name in a directory"),
        )),
        _ => Ok(name.to_owned()),
    }
}

fn process_gone() -> io::Error {
    io::Error::other("the simulated process is gone")
}
