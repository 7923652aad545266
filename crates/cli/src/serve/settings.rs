//! Everything `halite serve` can be told, with its defaults.

use std::path::PathBuf;

use halite::Options;
use halite_server::Config;

/// What the options come to.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Directory of the store.
    pub(crate) data: PathBuf,
    /// Whether the store lies in a temporary directory instead, which goes when the server ends.
    pub(crate) ephemeral: bool,
    /// Whether the demo's tables are loaded first.
    pub(crate) demo: bool,
    /// What is logged at least.
    pub(crate) log_level: tracing::Level,
    /// Threads that read calls from connections and answer what memory has.
    pub(crate) io_threads: usize,
    /// Whether the process ends when the store stops writing.
    pub(crate) exit_on_log_failure: bool,
    /// What the engine is told.
    pub(crate) engine: Options,
    /// What the server is told; the cluster's id comes from the data directory.
    pub(crate) server: Config,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data: PathBuf::from("halite-data"),
            ephemeral: false,
            demo: false,
            log_level: tracing::Level::INFO,
            io_threads: halite_server::default_io_threads(),
            exit_on_log_failure: false,
            engine: Options::default(),
            server: Config::default(),
        }
    }
}
