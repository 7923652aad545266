//! File system with a hook before a rename, which simulates a concurrent thread.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use halite_engine::env::sim::SimEnv;
use halite_engine::env::{DirEntry, Env, FileIdentity, FileKind, FileReader, FileWriter, Fs, Lock};

type Hook = Box<dyn FnOnce() + Send>;

/// Simulated disk that runs a hook before the next rename to a path that contains a text.
pub(crate) struct RenameHook {
    disk: Arc<dyn Fs>,
    hook: Mutex<Option<(String, Hook)>>,
}

impl RenameHook {
    /// Wraps the simulated disk without a hook; returns it and its environment.
    pub(crate) fn wrap(sim: &SimEnv) -> (Arc<Self>, Env) {
        let env = sim.env();
        let meanwhile = Arc::new(Self { disk: Arc::clone(&env.fs), hook: Mutex::new(None) });
        (Arc::clone(&meanwhile), Env { fs: meanwhile, ..env })
    }

    /// Starts `work` on another thread before the next rename to a path that contains `text`. The
    /// rename continues when `work` is done, or after 300 ms in case `work` waits for this thread.
    pub(crate) fn before_rename(&self, text: &str, work: impl FnOnce() + Send + 'static) {
        let work = move || {
            let (done, is_done) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                work();
                let _ = done.send(());
            });
            let _ = is_done.recv_timeout(Duration::from_millis(300));
        };
        *self.hook.lock().unwrap() = Some((text.to_owned(), Box::new(work)));
    }
}

impl Fs for RenameHook {
    fn root(&self) -> String {
        self.disk.root()
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        self.disk.create(path)
    }

    fn append(&self, path: &str) -> io::Result<Box<dyn FileWriter>> {
        self.disk.append(path)
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        self.disk.open(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let work = self.hook.lock().unwrap().take_if(|(text, _)| to.contains(&**text));
        if let Some((_, work)) = work {
            work();
        }
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn kind(&self, path: &str) -> io::Result<Option<FileKind>> {
        self.disk.kind(path)
    }

    fn identity(&self, path: &str) -> io::Result<Option<FileIdentity>> {
        self.disk.identity(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn open_external(&self, path: &str) -> io::Result<Arc<dyn FileReader>> {
        self.disk.open_external(path)
    }

    fn link_external(&self, path: &str, to: &str) -> io::Result<()> {
        self.disk.link_external(path, to)
    }

    fn remove_external(&self, path: &str) -> io::Result<()> {
        self.disk.remove_external(path)
    }

    fn lock(&self, path: &str, owner: &str) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.lock(path, owner)
    }
}
