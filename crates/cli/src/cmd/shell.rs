//! `halite shell`: the HBase shell's language at a prompt, from a pipe or from a file.

use std::path::PathBuf;
use std::process::ExitCode;

/// Speak the HBase shell's language to a store.
#[derive(clap::Args)]
pub(crate) struct Shell {
    /// Directory of the store; it is created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
    /// Stop at the first error and exit with 1, as a script wants it
    #[arg(short, long)]
    noninteractive: bool,
    /// Commands to run instead of asking for them; without -n the prompt follows
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Shell {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { data, noninteractive, file } = self;
        anyhow::bail!("shell on {} (file {file:?}, noninteractive {noninteractive}): the store is not built in yet", data.display())
    }
}
