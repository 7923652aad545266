//! A process that is killed after its writes were acknowledged, and the next one.

use std::time::Instant;

use rustix::process::{Signal, getpid, kill_process};

use super::load::{print_resident, settle};
use super::phase::Phase;
use super::reader::Reader;
use super::rows::Stage;
use crate::Result;
use crate::data::Rows;
use crate::output::figure;

const NAME: &str = "large open after SIGKILL";

/// Puts rows and kills this process at once, before a flush.
///
/// # Errors
/// A failed put or kill. There is no return otherwise.
pub(super) fn write_and_die(phase: &Phase) -> Result<()> {
    write(phase)?;
    kill_process(getpid(), Signal::KILL).map_err(|error| format!("kill: {error}"))?;
    Err("this process survived SIGKILL".to_string())
}

/// Puts the rows of the part that is killed.
pub(super) fn write(phase: &Phase) -> Result<()> {
    let mut value = Vec::new();
    for row in phase.rows.unflushed() {
        phase.rows.write_value(row, 0, &mut value);
        phase.store.put(&Rows::key(row), &value)?;
    }
    Ok(())
}

/// Gets a row of the killed process, which ends the measured time since `start`, and verifies the
/// others.
pub(super) fn recover(phase: &Phase, start: Instant) -> Result<()> {
    let rows = phase.rows.unflushed();
    let mut reader = Reader::new(phase, Stage::Changed)?;
    let answered = reader.get(rows.start)?;
    figure(NAME, "ms to first read", answered.duration_since(start).as_secs_f64() * 1e3);
    let mut progress = phase.progress("acknowledged rows", rows.end - rows.start);
    for row in rows.clone() {
        let now = reader.get(row).map_err(|error| format!("after the kill: {error}"))?;
        progress.tick(row - rows.start, now);
    }
    print_resident(NAME, "MB resident")?;
    // The reads that follow are of sorted files in every store.
    phase.store.flush()?;
    settle(phase)
}
