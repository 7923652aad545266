//! Repair: lines that a stopped writer left in some of the tables only.

use std::collections::HashMap;
use std::ops::Range;

use halite::Result;

use crate::Line;
use crate::key::Layout;
use crate::logs::{Logs, Question};

impl Logs {
    /// Adds the lines between two times that are in `by_time` and not in the other tables. Returns
    /// the number of added ones. Call it after a writer has stopped, for the times since it last
    /// wrote; the lines of these times are in memory meanwhile.
    pub fn repair(&self, at_ms: Range<i64>) -> Result<u64> {
        let question = Question { at_ms, ..Question::default() };
        let complete = self.read(Layout::Time, &question)?.lines;
        let mut repaired = 0;
        for layout in Layout::ALL.into_iter().filter(|layout| *layout != Layout::Time) {
            let found = self.read(layout, &question)?.lines;
            let found: HashMap<_, &Line> = found.iter().map(|line| (name(line), line)).collect();
            let is_missing = |line: &&Line| found.get(&name(line)) != Some(line);
            let missing: Vec<Line> = complete.iter().filter(is_missing).cloned().collect();
            self.write_to(layout, &missing)?;
            repaired += missing.len() as u64;
        }
        Ok(repaired)
    }
}

fn name(line: &Line) -> (&str, &str, i64, u32) {
    (&line.host, &line.event, line.at_ms, line.sequence)
}
