//! `halite serve`: what HBase's clients, its shell among them, connect to.

use std::process::ExitCode;

use crate::serve::Flags;

/// Serve a store to HBase's clients
///
/// Region server, master and ZooKeeper in one process: unmodified HBase clients connect to it. It says what they have to be told, and then
/// one line that begins with "ready". SIGTERM and SIGINT end it: what is in memory is written to store files first. docs/serve.md describes
/// every option, the configuration file and HBase's own names of settings.
#[derive(clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        crate::serve::run(&self.flags)?;
        Ok(ExitCode::SUCCESS)
    }
}
