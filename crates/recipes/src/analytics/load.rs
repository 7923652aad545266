//! Operations of a measurement: most of them record a batch of events, as a collector does.

use std::sync::atomic::Ordering;

use analytics::DAY_MS;
use anyhow::Result;
use halite::rowkey::typed::Days;

use super::application::AnalyticsApplication;
use super::verify::STEPS;
use crate::bench::Part;
use crate::random::Random;
use crate::recipe::{Application as _, Outcome};

/// Events of a write.
const BATCH_EVENTS: u64 = 100;
const HOUR_MS: i64 = 3_600_000;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &AnalyticsApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut random = Random::new(application.generator.load.seed, OPERATIONS, number);
    let kind = part.draw(&mut random, 100, 80..100);
    if kind < 80 {
        outcome.begin(0);
        let first = application.next_item.fetch_add(BATCH_EVENTS, Ordering::Relaxed);
        application.write(first..first + BATCH_EVENTS)?;
        outcome.returned = BATCH_EVENTS;
        return Ok(());
    }
    let items = application.next_item.load(Ordering::Relaxed);
    let end_ms = application.generator.end_ms(items);
    let day = Days(i32::try_from(end_ms / DAY_MS)?);
    let design = &application.design;
    outcome.returned = match kind {
        80..90 => {
            outcome.begin(1);
            design.board(end_ms - HOUR_MS..end_ms)?.counts.len() as u64
        }
        90..92 => {
            outcome.begin(2);
            let start_ms = i64::from(day.0) * DAY_MS;
            design.estimated_users(start_ms..start_ms + DAY_MS)?;
            1
        }
        92..94 => {
            outcome.begin(3);
            design.retention(Days(day.0 - 1), day)?;
            1
        }
        94..96 => {
            outcome.begin(4);
            design.funnel(day, &STEPS)?.len() as u64
        }
        _ => {
            outcome.begin(5);
            let rank = random.zipf(application.generator.users(items));
            design.logins(u32::try_from(rank)?, day)?;
            1
        }
    };
    Ok(())
}
