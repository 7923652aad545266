//! `halite shell`: the HBase shell language, at a prompt, from a pipe or from a file.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use halite::BlockingCluster;

use crate::backend::{Backend, BackendArgs};
use crate::shell::{self, ScriptEnd, Session, ShellCompleter};

/// Run HBase shell commands on a store or a cluster
#[derive(clap::Args)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    backend: BackendArgs,
    /// Exit with status 1 at the first error, for scripts
    #[arg(short, long)]
    noninteractive: bool,
    /// Commands to run first; without -n, standard input follows
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl ShellArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let commands = self
            .file
            .as_ref()
            .map(|path| {
                File::open(path).with_context(|| format!("command file {}", path.display()))
            })
            .transpose()?;
        let place = self.backend.open()?;
        let code = match self.run_session(&place, commands) {
            Ok(code) => code,
            Err(error) if is_broken_pipe(&error) => 0,
            Err(error) => return Err(error),
        };
        place.close().with_context(|| format!("closing the store {}", self.backend.name()))?;
        Ok(ExitCode::from(code))
    }

    fn run_session(&self, place: &Backend, commands: Option<File>) -> anyhow::Result<u8> {
        let mut session = Session::new(
            BlockingCluster::clone(place),
            io::BufWriter::new(io::stdout().lock()),
            Box::new(|| shell::read_line(&mut io::stdin().lock())),
        );
        session.zone = jiff::tz::TimeZone::system();
        session.width = shell::terminal_width();
        let mut shell = shell::Shell::new(session);
        if let Some(file) = commands {
            let mut file = BufReader::new(file);
            match shell::run_lines(&mut shell, || shell::read_line(&mut file), self.noninteractive)?
            {
                ScriptEnd::Input if !self.noninteractive => {}
                end => return Ok(exit_code(end)),
            }
        }
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            shell.session.interactive = !self.noninteractive;
            self.print_banner(&mut shell, place)?;
            return shell::run_interactive(
                &mut shell,
                ShellCompleter::new(BlockingCluster::clone(place)),
                self.noninteractive,
            );
        }
        Ok(exit_code(shell::run_lines(
            &mut shell,
            || shell::read_line(&mut io::stdin().lock()),
            self.noninteractive,
        )?))
    }

    fn print_banner(&self, shell: &mut shell::Shell<'_>, place: &Backend) -> io::Result<()> {
        let path = self.backend.data().map(|data| {
            std::path::absolute(data).unwrap_or_else(|_| data.to_owned()).display().to_string()
        });
        let name = path.unwrap_or_else(|| self.backend.name());
        let state = match place
            .store()
            .map(|store| (store.open_report().created, store.open_report().replayed_writes))
        {
            Some((true, _)) => ", a new store".to_owned(),
            None | Some((_, 0)) => String::new(),
            Some((_, writes)) => format!(", {writes} writes read back from its log"),
        };
        shell
            .print_line(&format!("Halite Shell {} on {name}{state}", env!("CARGO_PKG_VERSION")))?;
        shell.print_line("Use \"help\" to get list of supported commands.")?;
        shell.print_line("Use \"exit\" to quit this interactive shell.")
    }
}

fn exit_code(end: ScriptEnd) -> u8 {
    match end {
        ScriptEnd::Input => 0,
        ScriptEnd::Failed => 1,
        ScriptEnd::Exit(code) => code,
    }
}

/// Returns `true` if the reader of the output closed the pipe (`| head`), which is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
