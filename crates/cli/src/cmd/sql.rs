//! `halite sql`: SQL at a prompt, from a pipe, from a file or from the command line.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use halite::SqlContext;
use halite::sql::Resources;
use halite_rowkey_tools::lint::TableRules;

use crate::backend::{Backend, BackendArgs};
use crate::sql::lint::lint;
use crate::sql::{Format, Runner, run_interactive};
use crate::wrong_arguments::WrongArguments;

/// Run SQL on a store or a cluster
#[derive(clap::Args)]
pub(crate) struct SqlArgs {
    #[command(flatten)]
    backend: BackendArgs,
    /// Statements to run; may be repeated
    #[arg(short, long = "command", value_name = "STATEMENTS")]
    command: Vec<String>,
    /// File of statements to run
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Format of rows
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    format: Format,
    /// Look at the statements instead of running them: what they would read of the tables that
    /// they declare, and the keys that would serve them
    #[arg(long)]
    lint: bool,
    /// Setting, as by SET NAME = VALUE; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl SqlArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if self.lint {
            return self.run_lint();
        }
        let place = self.backend.open_existing()?;
        let code = self.run_session(&place)?;
        place.close().with_context(|| format!("closing the store {}", self.backend.name()))?;
        Ok(code)
    }

    /// Returns the statements of the arguments.
    fn texts(&self) -> anyhow::Result<Vec<String>> {
        let mut texts = self.command.clone();
        if let Some(path) = &self.file {
            let text = std::fs::read_to_string(path);
            texts.push(text.with_context(|| format!("statements of {}", path.display()))?);
        }
        Ok(texts)
    }

    /// Prints what is found in the statements; fails if one of them is wrong.
    fn run_lint(&self) -> anyhow::Result<ExitCode> {
        let mut texts = self.texts()?;
        if texts.is_empty() {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("statements of standard input")?;
            texts.push(text);
        }
        let findings = lint(&texts)?;
        let mut out = std::io::stdout().lock();
        for line in &findings.lines {
            writeln!(out, "{line}")?;
        }
        writeln!(
            std::io::stderr(),
            "{} statements, {} findings",
            findings.statements,
            findings.lines.len()
        )?;
        Ok(if findings.has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn run_session(&self, place: &Backend) -> anyhow::Result<ExitCode> {
        let resources = match self.backend.data() {
            Some(directory) => Resources::of_store(directory),
            None => Resources::default(),
        };
        let sql = SqlContext::with_resources(Arc::clone(place.cluster()), &resources)?;
        let sql = sql.with_lint(Arc::new(TableRules));
        let mut runner = Runner::new(sql, self.format)?;
        for setting in &self.set {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                WrongArguments(anyhow::anyhow!("--set takes NAME=VALUE, and not {setting:?}"))
            })?;
            let quoted = value.replace('\'', "''");
            runner
                .set(&format!("SET {name} = '{quoted}'"))
                .map_err(|error| WrongArguments(anyhow::anyhow!("--set {setting}: {error}")))?;
        }
        let mut texts = self.texts()?;
        if texts.is_empty() {
            if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
                run_interactive(&mut runner, &self.backend.name())?;
                return Ok(ExitCode::SUCCESS);
            }
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("statements of standard input")?;
            texts.push(text);
        }
        for text in texts {
            if !runner.run_all(&text)? {
                return Ok(ExitCode::FAILURE);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
