//! `halite serve`: a server for HBase clients, including the HBase shell.

use std::process::ExitCode;

use crate::serve::ServeFlags;

/// Serve a store to HBase clients
///
/// Region server, master and ZooKeeper in one process: unmodified HBase clients connect to it.
/// Prints the settings that clients need, and then one line that starts with "ready". SIGTERM and
/// SIGINT stop the server after all memstores are flushed. docs/serve.md describes every option,
/// the configuration file and the HBase setting names.
#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    flags: ServeFlags,
}

impl ServeArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        crate::serve::run(&self.flags)?;
        Ok(ExitCode::SUCCESS)
    }
}
