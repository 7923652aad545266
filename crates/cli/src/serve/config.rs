//! Configuration of `halite serve`, with its defaults.

use std::path::PathBuf;

use halite::Options;
use halite_server::Config;

/// Operations per second of the demo's traffic: visible, and little even for a slow disk.
const DEFAULT_DEMO_TRAFFIC: u64 = 200;

/// Effective configuration of the server.
#[derive(Clone, Debug)]
pub(crate) struct ServeConfig {
    /// Directory of the store.
    pub(crate) data: PathBuf,
    /// Uses a temporary directory instead, which is deleted when the server exits.
    pub(crate) ephemeral: bool,
    /// Loads the demo's tables at startup.
    pub(crate) demo: bool,
    /// Operations per second on the demo's tables, if they are loaded; `None` for none.
    pub(crate) demo_traffic: Option<u64>,
    /// Minimum level of logged events.
    pub(crate) log_level: tracing::Level,
    /// Threads that read calls from connections and execute those that need only memory.
    pub(crate) io_threads: usize,
    /// Exits the process when the store can no longer write.
    pub(crate) exit_on_log_failure: bool,
    /// Configuration of the web page.
    pub(crate) web: WebSettings,
    /// Configuration of the SQL port.
    pub(crate) pg: PgSettings,
    /// Configuration of the engine.
    pub(crate) engine: Options,
    /// Configuration of the server; the cluster id comes from the data directory.
    pub(crate) server: Config,
}

/// Configuration of the web page.
#[derive(Clone, Debug)]
pub(crate) struct WebSettings {
    /// File with the token for changes; `None` for a generated one if only this machine can
    /// connect, and else none.
    pub(crate) token_file: Option<PathBuf>,
    /// Shows rows and values.
    pub(crate) shows_rows: bool,
    /// Host names under which browsers may request the page, besides those of this machine.
    pub(crate) hosts: Vec<String>,
}

/// Configuration of the SQL port.
#[derive(Clone, Debug, Default)]
pub(crate) struct PgSettings {
    /// Port; `None` for no such port.
    pub(crate) port: Option<u16>,
    /// File with the users.
    pub(crate) users: Option<PathBuf>,
    /// File with the certificates.
    pub(crate) certificate: Option<PathBuf>,
    /// File with the private key.
    pub(crate) key: Option<PathBuf>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            data: PathBuf::from("halite-data"),
            ephemeral: false,
            demo: false,
            demo_traffic: Some(DEFAULT_DEMO_TRAFFIC),
            log_level: tracing::Level::INFO,
            io_threads: halite_server::default_io_threads(),
            exit_on_log_failure: false,
            web: WebSettings { token_file: None, shows_rows: true, hosts: Vec::new() },
            pg: PgSettings::default(),
            engine: Options::default(),
            server: Config::default(),
        }
    }
}
