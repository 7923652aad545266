//! `halite hfile`: looks into single store files, HBase's or Halite's own.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::hfile::{check, dump, info, open};

/// Look into a store file: an HFile of version 3, written by HBase or Halite
#[derive(clap::Args)]
pub(crate) struct Hfile {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print the cells
    Dump {
        /// One cell a line, its parts separated by tabs: row, family, qualifier (hex), timestamp, type code, sequence id, tags (hex), value
        /// (hex; above 64 bytes sha256:DIGEST:LENGTH)
        #[arg(long)]
        tsv: bool,
        /// The store file
        file: PathBuf,
    },
    /// Print what the file says about itself, and what blocks it consists of
    Info {
        /// The store file
        file: PathBuf,
    },
    /// Read everything and verify checksums, order, index, bloom filters and the stated facts
    Check {
        /// The store files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl Hfile {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut out = BufWriter::new(io::stdout().lock());
        let code = match self.what {
            What::Dump { tsv, file } => open(&file).and_then(|reader| dump::write(&mut out, reader, tsv)).map(|()| ExitCode::SUCCESS),
            What::Info { file } => open(&file).and_then(|reader| info::write(&mut out, &reader)).map(|()| ExitCode::SUCCESS),
            What::Check { files } => check::write(&mut out, &files),
        };
        match code.and_then(|code| Ok(out.flush().map(|()| code)?)) {
            // Whoever closed the pipe (`| head`) has seen enough; that is no failure.
            Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) => Ok(ExitCode::SUCCESS),
            result => result,
        }
    }
}
