//! `halite hfile`: inspects single store files, written by HBase or Halite.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::hfile::{check, dump, info, open};

/// Inspect a store file: an HFile of version 3, written by HBase or Halite
#[derive(clap::Args)]
pub(crate) struct HfileArgs {
    #[command(subcommand)]
    command: HfileCommand,
}

#[derive(clap::Subcommand)]
enum HfileCommand {
    /// Print the cells
    Dump {
        /// Print one cell per line as tab-separated values: row, family, qualifier (hex),
        /// timestamp, type code, sequence id, tags (hex), value (hex; above 64 bytes
        /// sha256:DIGEST:LENGTH)
        #[arg(long)]
        tsv: bool,
        /// Store file
        file: PathBuf,
    },
    /// Print the trailer, the file info and statistics of the blocks
    Info {
        /// Store file
        file: PathBuf,
    },
    /// Read the whole file and verify checksums, order, index, bloom filters and file info
    Check {
        /// Store files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl HfileArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = BufWriter::new(io::stdout().lock());
        let code = match self.command {
            HfileCommand::Dump { tsv, file } => open(&file)
                .and_then(|reader| dump::write(&mut out, reader, tsv))
                .map(|()| ExitCode::SUCCESS),
            HfileCommand::Info { file } => open(&file)
                .and_then(|reader| info::write(&mut out, &reader))
                .map(|()| ExitCode::SUCCESS),
            HfileCommand::Check { files } => check::write(&mut out, &files),
        };
        match code.and_then(|code| Ok(out.flush().map(|()| code)?)) {
            // The reader closed the pipe (`| head`), which is not a failure.
            Err(error)
                if error
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
            {
                Ok(ExitCode::SUCCESS)
            }
            result => result,
        }
    }
}
