//! `halite shell`: the HBase shell's language at a prompt, from a pipe or from a file.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use halite_types::Cluster;

use crate::shell::{self, Candidates, End, Session};

/// Speak the HBase shell's language to a store.
#[derive(clap::Args)]
pub(crate) struct Shell {
    /// Directory of the store; it is created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
    /// Stop at the first error and exit with 1, as a script wants it
    #[arg(short, long)]
    noninteractive: bool,
    /// Commands to run first; unless -n is given, standard input follows
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Shell {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let commands = self.file.as_ref().map(|path| File::open(path).with_context(|| format!("command file {}", path.display()))).transpose()?;
        let store = halite::open(&self.data)?;
        let cluster: Arc<dyn Cluster> = Arc::new(store.clone());
        let code = match self.talk(&cluster, commands, store.report()) {
            Ok(code) => code,
            Err(error) if is_broken_pipe(&error) => 0,
            Err(error) => return Err(error),
        };
        store.close().with_context(|| format!("closing the store {}", self.data.display()))?;
        Ok(ExitCode::from(code))
    }

    fn talk(&self, cluster: &Arc<dyn Cluster>, commands: Option<File>, report: &halite_engine::OpenReport) -> anyhow::Result<u8> {
        let mut session =
            Session::new(Arc::clone(cluster), io::BufWriter::new(io::stdout().lock()), Box::new(|| shell::read_line(&mut io::stdin().lock())));
        session.zone = jiff::tz::TimeZone::system();
        session.width = shell::terminal_width();
        let mut shell = shell::Shell::new(session);
        if let Some(file) = commands {
            let mut file = BufReader::new(file);
            match shell::run_lines(&mut shell, || shell::read_line(&mut file), self.noninteractive)? {
                End::Input if !self.noninteractive => {}
                end => return Ok(code_of(end)),
            }
        }
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            greet(&mut shell, &self.data, report)?;
            return shell::converse(&mut shell, Candidates::new(Arc::clone(cluster)), self.noninteractive);
        }
        Ok(code_of(shell::run_lines(&mut shell, || shell::read_line(&mut io::stdin().lock()), self.noninteractive)?))
    }
}

fn code_of(end: End) -> u8 {
    match end {
        End::Input => 0,
        End::Failed => 1,
        End::Exit(code) => code,
    }
}

fn greet(shell: &mut shell::Shell<'_>, data: &Path, report: &halite_engine::OpenReport) -> io::Result<()> {
    let place = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let state = match (report.created, report.replayed_writes) {
        (true, _) => ", a new store".to_owned(),
        (_, 0) => String::new(),
        (_, writes) => format!(", {writes} writes read back from its log"),
    };
    shell.show(&format!("Halite Shell {} on {}{state}", env!("CARGO_PKG_VERSION"), place.display()))?;
    shell.show("Use \"help\" to get list of supported commands.")?;
    shell.show("Use \"exit\" to quit this interactive shell.")
}

/// A reader that closed the pipe (`| head`) has seen enough; that is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
