//! `halite ui`: the web page over a cluster elsewhere.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::web::{UiOptions, run_ui};

/// Serve the web page of an HBase cluster or Halite server
///
/// Tables, regions, heat and rows of a cluster elsewhere, on a port of this machine. Statistics
/// that only a Halite server records are shown as not reported. `halite serve` has the same page on
/// its HTTP port. With --connect several times, each cluster has a page on a port of its own.
/// Prints the addresses, a token for changes, and then one line that starts with "ready".
#[derive(clap::Args)]
pub(crate) struct UiArgs {
    /// HBase cluster or Halite server: zk://HOST:PORT,...[/ZNODE], rpc://HOST:PORT,... or
    /// site:HBASE-SITE.XML; several times for several pages
    #[arg(long, value_name = "URI", env = "HALITE_CONNECT", required = true)]
    connect: Vec<String>,
    /// Port of the page on 127.0.0.1, of further clusters the ports after it; 0 for any free ports
    #[arg(long, value_name = "PORT", default_value_t = 16010)]
    port: u16,
    /// File with the token for changes, created if it does not exist; by default a token is
    /// generated and printed
    #[arg(long, value_name = "PATH")]
    web_token_file: Option<PathBuf>,
    /// Whether rows and values are shown
    #[arg(long, value_name = "MODE", default_value = "on")]
    web_rows: RowsMode,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RowsMode {
    On,
    Off,
}

impl UiArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        run_ui(&UiOptions {
            connect: self.connect,
            port: self.port,
            token_file: self.web_token_file,
            shows_rows: self.web_rows == RowsMode::On,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
