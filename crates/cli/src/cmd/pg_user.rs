//! `halite pg-user`: the line of a user for `halite serve --pg-users`.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use halite_pg::Users;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::wrong_arguments::WrongArguments;

/// Print the line of a user of SQL for the file of `halite serve --pg-users`
///
/// Reads the password from the terminal, or the first line of standard input. The line has a
/// verifier, from which the password cannot be computed.
#[derive(clap::Args)]
pub(crate) struct PgUserArgs {
    /// Name of the user
    name: String,
    /// What the user may do: read; write rows too; admin, who may create and change tables too
    #[arg(long, default_value = "read", value_name = "ROLE")]
    role: String,
}

impl PgUserArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let access = halite_pg::access(&self.role).ok_or_else(|| {
            WrongArguments(anyhow!("--role {}: give read, write or admin", self.role))
        })?;
        let password = read_password().context("reading the password")?;
        let line = Users::line(&self.name, access, &password).map_err(anyhow::Error::msg)?;
        writeln!(std::io::stdout(), "{line}")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads a line, which a terminal does not show.
fn read_password() -> std::io::Result<String> {
    let stdin = std::io::stdin();
    let shown = if stdin.is_terminal() {
        write!(std::io::stderr(), "Password: ")?;
        let shown = tcgetattr(&stdin)?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
        Some(shown)
    } else {
        None
    };
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if let Some(shown) = shown {
        tcsetattr(&stdin, OptionalActions::Flush, &shown)?;
        writeln!(std::io::stderr())?;
    }
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
