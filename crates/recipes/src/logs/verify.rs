//! Model of the lines in memory, and the comparison of every table with it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Result, ensure};
use logs::{Found, Layout, Line, Question};

use super::comparison::busiest;
use super::design::Design;
use super::generator::Generator;
use crate::recipe::Verified;

const QUARTER_MS: i64 = 900_000;
const ALL_TIMES: Range<i64> = 0..i64::MAX;
/// Greatest share of the newest lines in one of sixteen regions: a busy host has several times the
/// mean.
const MAX_SHARE: f64 = 0.6;
/// Newest lines whose regions are counted, at least.
const MIN_NEWEST: usize = 32;

/// Lines in their order, of which those that are delivered twice are one.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle(BTreeMap<(Reverse<i64>, String, String, u32), Line>);

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    (0..written).for_each(|number| oracle.apply(generator.item(number)));
    let next = generator.item(written);
    let at = Question { at_ms: next.at_ms..next.at_ms + 1, ..Question::default() };
    if design.read(Layout::Time, &at)?.lines.contains(&next) {
        oracle.apply(next);
    }
    Ok(oracle)
}

impl Oracle {
    pub(super) fn apply(&mut self, line: Line) {
        let Line { host, event, at_ms, sequence, .. } = line.clone();
        self.0.insert((Reverse(at_ms), host, event, sequence), line);
    }

    /// Returns the lines that a question asks for.
    pub(super) fn answer(&self, question: &Question) -> Vec<Line> {
        let Question { host, event, at_ms } = question;
        let matches = |line: &&Line| {
            at_ms.contains(&line.at_ms)
                && host.as_ref().is_none_or(|host| *host == line.host)
                && event.as_ref().is_none_or(|event| *event == line.event)
        };
        self.0.values().filter(matches).cloned().collect()
    }

    /// Compares every table with the model for every question.
    pub(super) fn verify(&self, design: &dyn Design) -> Result<Verified> {
        let mut verified = Verified::default();
        for question in self.questions() {
            let expected = self.answer(&question);
            for layout in Layout::ALL {
                let what = format!("{question:?} of {}", layout.table());
                let found = design.read(layout, &question)?;
                compare(&what, &found, &expected)?;
                if let Some(rows) = self.needed_rows(layout, &question) {
                    ensure!(
                        found.examined <= rows,
                        "{what}: {} rows were examined, at most {rows} are needed",
                        found.examined
                    );
                }
                verified.add(expected.len() as u64, found.examined);
            }
        }
        self.verify_spread(design)?;
        Ok(verified)
    }

    /// Returns all times and a part of them: of all hosts, each host, each event, and both.
    fn questions(&self) -> Vec<Question> {
        let lines = || self.0.values();
        let middle = lines().nth(self.0.len() / 2).map_or(0, |line| line.at_ms);
        let hosts: BTreeSet<_> = lines().map(|line| Some(line.host.clone())).collect();
        let events: BTreeSet<_> = lines().map(|line| Some(line.event.clone())).collect();
        let any = |names: BTreeSet<Option<String>>| -> Vec<_> {
            std::iter::once(None).chain(names).collect()
        };
        let (hosts, events) = (any(hosts), any(events));
        let mut questions = Vec::new();
        for at_ms in [ALL_TIMES, middle..middle + 3 * QUARTER_MS] {
            for host in &hosts {
                questions.extend(events.iter().map(|event| Question {
                    host: host.clone(),
                    event: event.clone(),
                    at_ms: at_ms.clone(),
                }));
            }
        }
        questions
    }

    /// Returns the rows that a table needs for a question that its key serves; `None` for others.
    fn needed_rows(&self, layout: Layout, question: &Question) -> Option<u64> {
        let of_all = question.host.is_none() && question.event.is_none();
        let of_one = question.host.is_some() && question.event.is_some();
        match layout {
            Layout::Time | Layout::Salt => of_all.then(|| self.answer(question).len() as u64),
            Layout::Host | Layout::Code => of_one.then(|| self.answer(question).len() as u64),
            Layout::Quarter => of_one.then(|| {
                let Range { start, end } = question.at_ms;
                let at_ms = start / QUARTER_MS * QUARTER_MS
                    ..end.saturating_add(QUARTER_MS - 1) / QUARTER_MS * QUARTER_MS;
                let lines = self.answer(&Question { at_ms, ..question.clone() });
                let quarters: BTreeSet<_> =
                    lines.iter().map(|line| line.at_ms / QUARTER_MS).collect();
                quarters.len() as u64
            }),
        }
    }

    /// Checks that the newest lines are in many regions of every table but the one with the time
    /// first.
    fn verify_spread(&self, design: &dyn Design) -> Result<()> {
        let newest_first: Vec<&Line> = self.0.values().collect();
        for layout in Layout::ALL.into_iter().filter(|layout| *layout != Layout::Time) {
            let (share, newest) = busiest(design, layout, &newest_first)?;
            ensure!(
                newest < MIN_NEWEST || share <= MAX_SHARE,
                "{}: {:.0} percent of the newest {newest} lines are in one of 16 regions",
                layout.table(),
                share * 100.0
            );
        }
        Ok(())
    }
}

/// Compares lines with the expected ones.
pub(super) fn compare(what: &str, found: &Found, expected: &[Line]) -> Result<()> {
    if found.lines == expected {
        return Ok(());
    }
    let at = found.lines.iter().zip(expected).take_while(|(a, b)| a == b).count();
    anyhow::bail!(
        "{what}: {} lines, expected {}; line {at} is {:?}, expected {:?}",
        found.lines.len(),
        expected.len(),
        found.lines.get(at),
        expected.get(at)
    )
}
