//! `halite shell`: the HBase shell's language at a prompt, from a pipe or from a file.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;

use crate::place::{Place, PlaceFlags};
use crate::shell::{self, Candidates, End, Session};

/// Speak the HBase shell's language to a store or a cluster.
#[derive(clap::Args)]
pub(crate) struct Shell {
    #[command(flatten)]
    place: PlaceFlags,
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
        let place = self.place.open()?;
        let code = match self.talk(&place, commands) {
            Ok(code) => code,
            Err(error) if is_broken_pipe(&error) => 0,
            Err(error) => return Err(error),
        };
        place.close().with_context(|| format!("closing the store {}", self.place.name()))?;
        Ok(ExitCode::from(code))
    }

    fn talk(&self, place: &Place, commands: Option<File>) -> anyhow::Result<u8> {
        let cluster = place.cluster();
        let mut session =
            Session::new(Arc::clone(&cluster), io::BufWriter::new(io::stdout().lock()), Box::new(|| shell::read_line(&mut io::stdin().lock())));
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
            shell.session.interactive = !self.noninteractive;
            self.greet(&mut shell, place)?;
            return shell::converse(&mut shell, Candidates::new(cluster), self.noninteractive);
        }
        Ok(code_of(shell::run_lines(&mut shell, || shell::read_line(&mut io::stdin().lock()), self.noninteractive)?))
    }

    fn greet(&self, shell: &mut shell::Shell<'_>, place: &Place) -> io::Result<()> {
        let path = self.place.data().map(|data| std::path::absolute(data).unwrap_or_else(|_| data.to_owned()).display().to_string());
        let name = path.unwrap_or_else(|| self.place.name());
        let state = match place.store().map(|store| (store.report().created, store.report().replayed_writes)) {
            Some((true, _)) => ", a new store".to_owned(),
            None | Some((_, 0)) => String::new(),
            Some((_, writes)) => format!(", {writes} writes read back from its log"),
        };
        shell.show(&format!("Halite Shell {} on {name}{state}", env!("CARGO_PKG_VERSION")))?;
        shell.show("Use \"help\" to get list of supported commands.")?;
        shell.show("Use \"exit\" to quit this interactive shell.")
    }
}

fn code_of(end: End) -> u8 {
    match end {
        End::Input => 0,
        End::Failed => 1,
        End::Exit(code) => code,
    }
}

/// A reader that closed the pipe (`| head`) has seen enough; that is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
