//! Writer of a check as a child process that is killed with SIGKILL: with an embedded store the
//! store is killed, with a cluster its client. A command can kill the server of a cluster too.

use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use halite::BlockingCluster;
use halite_recipes::{CheckTarget, Load, Recipe};

use crate::backend::{Backend, BackendArgs};

/// Target of a check on the backend of the command.
pub(crate) struct KilledWriter<'a> {
    args: &'a BackendArgs,
    /// File of real data.
    data: Option<&'a Path>,
    /// Command that kills the server and starts it again while the writer writes.
    crash: Option<&'a str>,
    opened: Option<Backend>,
}

impl<'a> KilledWriter<'a> {
    pub(crate) fn new(
        args: &'a BackendArgs,
        data: Option<&'a Path>,
        crash: Option<&'a str>,
    ) -> Self {
        Self { args, data, crash, opened: None }
    }

    /// Closes the store if it is open.
    pub(crate) fn close(&mut self) -> anyhow::Result<()> {
        match self.opened.take() {
            Some(backend) => {
                backend.close().with_context(|| format!("closing the store {}", self.args.name()))
            }
            None => Ok(()),
        }
    }

    /// Kills the server and starts it again, by the command of the caller.
    fn crash(&self) -> anyhow::Result<()> {
        let Some(command) = self.crash else { return Ok(()) };
        let status = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .status()
            .context("starting sh for --crash")?;
        if !status.success() {
            bail!(
                "the command of --crash ended with {status}; it must kill the server, start it \
                 again, and succeed when it answers: {command}"
            );
        }
        Ok(())
    }

    fn command(&self, recipe: &dyn Recipe, load: Load, until: u64) -> anyhow::Result<Command> {
        let program = std::env::current_exe().context("path of this program")?;
        let mut command = Command::new(program);
        command.args(["recipe", recipe.about().name, "writer"]);
        for (flag, value) in [("--until", until), ("--scale", load.items), ("--seed", load.seed)] {
            command.arg(flag).arg(value.to_string());
        }
        if let Some(file) = self.data {
            command.arg("--from").arg(file);
        }
        match self.args.data() {
            Some(directory) => command.arg("--data").arg(directory),
            None => command.arg("--connect").arg(self.args.name()),
        };
        Ok(command)
    }
}

impl CheckTarget for KilledWriter<'_> {
    fn open(&mut self) -> anyhow::Result<BlockingCluster> {
        self.close()?;
        let backend = self.args.open()?;
        let cluster = (*backend).clone();
        self.opened = Some(backend);
        Ok(cluster)
    }

    fn write_until_killed(
        &mut self,
        recipe: &dyn Recipe,
        _: &str,
        load: Load,
        items: Range<u64>,
    ) -> anyhow::Result<u64> {
        self.close()?;
        let mut command = self.command(recipe, load, items.end)?;
        let mut writer = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the writer")?;
        let output = writer.stdout.take().context("output of the writer")?;
        let (mut acknowledged, mut is_killed) = (items.start, false);
        let kill_at = items.start + (items.end - items.start) / 2;
        for line in BufReader::new(output).lines() {
            acknowledged = line?.trim().parse().context("output of the writer")?;
            if acknowledged >= kill_at && !is_killed {
                let crashed = self.crash();
                // The writer is in one of the next items by now, or waits after the last one.
                writer.kill().context("killing the writer")?;
                is_killed = true;
                crashed?;
            }
        }
        let status = writer.wait().context("waiting for the writer")?;
        if !is_killed || status.success() {
            bail!("the writer ended ({status}) after {acknowledged} items, before it was killed");
        }
        Ok(acknowledged)
    }
}
