//! The recipe on its tables: events recorded, and questions answered.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use analytics::{DAY_MS, Event, Kind};
use anyhow::{Result, ensure};
use halite::rowkey::typed::Days;

use super::design::Design;
use super::generator::Generator;
use super::load;
use super::verify::{STEPS, oracle, verify};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::read_while::read_while;
use crate::recipe::{Application, Load, Outcome, T0, Verified};

const HOUR_MS: i64 = 3_600_000;
/// Writers that record the same events at the same time.
const WRITERS: usize = 2;
/// Events that one of them records at once.
const BATCH_EVENTS: u64 = 25;

/// Analytics with the generator of the events.
pub(super) struct AnalyticsApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
}

impl AnalyticsApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        let next_item = AtomicU64::new(load.items);
        Self { design, generator: Generator::new(load), next_item }
    }

    /// Returns the last day of the items and the end of its last hour.
    fn last(&self) -> (i32, i64) {
        let end_ms = self.generator.end_ms(self.generator.load.items - 1);
        (i32::try_from(end_ms / DAY_MS).unwrap_or(0), end_ms)
    }

    /// Records the items of a range by several writers, each of which records all of them.
    fn record_concurrently(&self, items: Range<u64>) -> Result<()> {
        let record = || -> Result<()> {
            let starts = (items.start..items.end).step_by(usize::try_from(BATCH_EVENTS)?);
            starts
                .map(|start| start..items.end.min(start + BATCH_EVENTS))
                .try_for_each(|part| self.write(part))
        };
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(record)).collect();
            writers.into_iter().try_for_each(|writer| {
                writer.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked"))
            })
        })
    }
}

impl Application for AnalyticsApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        let events: Vec<Event> = items.map(|number| self.generator.item(number)).collect();
        self.design.record(&events)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let (day, end_ms) = self.last();
        let first = i32::try_from(T0 / DAY_MS)?;
        writeln!(out, "users of the last days")?;
        for day in first.max(day - 3)..=day {
            let start_ms = i64::from(day) * DAY_MS;
            let exact = self.design.exact_users(Days(day))?;
            let estimated = self.design.estimated_users(start_ms..start_ms + DAY_MS)?;
            writeln!(
                out,
                "  day {:>2}  {:>6} from {} rows, estimated {:.0} from {} rows",
                day - first,
                exact.users,
                exact.examined,
                estimated.users,
                estimated.examined
            )?;
        }
        writeln!(out, "users who came back after a day")?;
        for day in first.max(day - 3)..day {
            let found = self.design.retention(Days(day), Days(day + 1))?;
            writeln!(
                out,
                "  cohort of day {:>2}  {} of {}",
                day - first,
                found.returned,
                found.joined
            )?;
        }
        let steps = STEPS.map(Kind::name).join(", ");
        writeln!(
            out,
            "{steps} on day {}: {:?}",
            day - first,
            self.design.funnel(Days(day), &STEPS)?
        )?;
        let board = self.design.board(end_ms - HOUR_MS..end_ms)?;
        writeln!(out, "events of the last hour, from {} rows", board.examined)?;
        for kind in Kind::ALL {
            let counts = board.counts.iter().filter(|((_, other), _)| *other == kind);
            let sum: i64 = counts.map(|(_, count)| count).sum();
            writeln!(out, "  {:<6}{sum:>7}", kind.name())?;
        }
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let (day, end_ms) = self.last();
        let date = jiff::civil::date(1970, 1, 1).saturating_add(jiff::Span::new().days(day));
        let shards = (0..analytics::SHARDS).map(|shard| shard.to_string()).collect::<Vec<_>>();
        let shards = format!("shard={}", shards.join(","));
        let times = |start_ms: i64| format!("ts={start_ms}..{end_ms}");
        vec![
            NamedQuery::new(
                "logins",
                "logins of user 0 on the last day",
                "user_days",
                ["user=0".to_owned(), format!("day={date}")],
            ),
            NamedQuery::new(
                "exact users",
                "the users of the last day, each a row",
                "user_days",
                [format!("day={date}")],
            ),
            NamedQuery::new(
                "users of day",
                "the sketches of the hours of the last day",
                "hours",
                [shards.clone(), times(i64::from(day) * DAY_MS)],
            ),
            NamedQuery::new(
                "board",
                "the events of the last hour by minute and kind",
                "minutes",
                [shards.clone(), times(end_ms - HOUR_MS)],
            ),
            NamedQuery::new(
                "retention",
                "one of the two sets that are intersected: who logged in on the last day",
                "days",
                [shards, "kind=login".to_owned(), format!("day={date}")],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        verify(&*self.design, &oracle(&*self.design, &self.generator, written)?)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let count = |written| -> Result<i64> {
            let oracle = oracle(&*self.design, &self.generator, written)?;
            Ok(oracle.board(0..i64::MAX).values().sum())
        };
        let (mut least, mut verified) = (count(items.start)?, Verified::default());
        let read_board = || {
            let board = self.design.board(0..i64::MAX)?;
            let sum = board.counts.values().sum();
            ensure!(sum >= least, "the board has {sum} events, and had {least} before");
            least = sum;
            verified.add(board.counts.len() as u64, board.examined);
            Ok(())
        };
        read_while(|| self.record_concurrently(items.clone()), read_board)?;
        let most = count(items.end)?;
        ensure!(least <= most, "the board has {least} events of {most} that were recorded");
        Ok(verified)
    }
}
