//! `halite demo`: a year of real weather in a store, and what can be asked of it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::place::PlaceFlags;

/// Load a year of real weather into a store or a cluster and ask it questions
///
/// Shows row keys with reversed time, scans of time ranges, scans merged across regions, versions, and counters, each with the key range it
/// read. The data comes with the command. A second run finds it in the store; one that was interrupted is completed.
#[derive(clap::Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    place: PlaceFlags,
    /// Adds the key of each row to this file when the store has acknowledged it
    #[arg(long, value_name = "FILE", hide = true)]
    ack_log: Option<PathBuf>,
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match crate::demo::run(&self.place, self.ack_log.as_deref()) {
            // Whoever closed the pipe (`| head`) has seen enough; that is no failure.
            Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) => Ok(ExitCode::SUCCESS),
            result => result.map(|()| ExitCode::SUCCESS),
        }
    }
}
