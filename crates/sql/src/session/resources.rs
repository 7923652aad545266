//! Memory and temporary files of statements.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use halite_types::Error;

use super::memory_pool::SharedMemory;
use crate::error::Result;

/// Temporary files of SQL in the directory of a store.
const OF_STORE: &str = ".tmp/sql";

/// Memory and disk that the statements of a session share with those of the sessions that
/// [`another`](super::SqlContext::another) creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Bytes that sorts, groups, joins and rows on their way into a table may hold. Sorts and
    /// groups get fifteen sixteenths of it and spill to temporary files beyond them, others fail
    /// beyond it. Default: 1 GiB.
    pub memory_bytes: usize,
    /// Bytes of the temporary files. Default: 10 GiB.
    pub disk_bytes: u64,
    /// Directory of the temporary files, which is created, and emptied when the session is: nothing
    /// else may be in it, nor another process use it. Default: a new one among the temporary files
    /// of the system, which is removed with the last session.
    pub directory: Option<PathBuf>,
}

impl Default for Resources {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, disk_bytes: 10 << 30, directory: None }
    }
}

impl Resources {
    /// Returns the defaults, with the temporary files in `.tmp/sql` of the directory of a store,
    /// which this process has open.
    pub fn of_store(directory: &Path) -> Self {
        Self { directory: Some(directory.join(OF_STORE)), ..Self::default() }
    }

    /// Creates the memory and the directory.
    ///
    /// # Errors
    /// An error of the directory.
    pub(super) fn runtime(&self) -> Result<Arc<RuntimeEnv>> {
        let pool: Arc<dyn MemoryPool> = Arc::new(SharedMemory::new(self.memory_bytes));
        let mode = match &self.directory {
            Some(directory) => {
                emptied(directory).map_err(|error| {
                    Error::io(format!("temporary files of SQL in {}", directory.display()), error)
                })?;
                DiskManagerMode::Directories(vec![directory.clone()])
            }
            None => DiskManagerMode::OsTmpDirectory,
        };
        let disk = DiskManagerBuilder::default()
            .with_mode(mode)
            .with_max_temp_directory_size(self.disk_bytes);
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool);
        Ok(runtime.with_disk_manager_builder(disk).build_arc()?)
    }
}

/// Creates a directory for the owner alone, without what is left of a process that was killed.
fn emptied(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => DirBuilder::new().recursive(true).mode(0o700).create(directory),
    }
}
