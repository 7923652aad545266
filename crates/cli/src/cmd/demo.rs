//! `halite demo`: a year of real weather data in a store, with queries on it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::backend::BackendArgs;

/// Load a year of real weather data into a store or a cluster and run queries on it
///
/// Shows row keys with reversed time, scans of time ranges, scans merged across regions, versions
/// and counters, each with the key range it read. The data is part of the program. A second run
/// reuses the loaded data; an interrupted load is completed.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    backend: BackendArgs,
    /// Append the key of each acknowledged row to this file
    #[arg(long, value_name = "FILE", hide = true)]
    ack_log: Option<PathBuf>,
}

impl DemoArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match crate::demo::run(&self.backend, self.ack_log.as_deref()) {
            // The reader closed the pipe (`| head`), which is not a failure.
            Err(error)
                if error
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
            {
                Ok(ExitCode::SUCCESS)
            }
            result => result.map(|()| ExitCode::SUCCESS),
        }
    }
}
