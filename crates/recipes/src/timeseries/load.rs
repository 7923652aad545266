//! Operations of a measurement: nearly all write a batch of 100 readings, as a collector does.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::application::TimeseriesApplication;
use super::generator::PERIOD_MS;
use crate::bench::Part;
use crate::random::Random;
use crate::recipe::{Application as _, Outcome};

/// Readings of a write.
const BATCH_READINGS: u64 = 100;
const HOUR_MS: i64 = 3_600_000;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &TimeseriesApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let generator = &application.generator;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    let kind = part.draw(&mut random, 1_000, 970..1_000);
    if kind < 970 {
        let first = application.next_item.fetch_add(BATCH_READINGS, Ordering::Relaxed);
        outcome.begin(0);
        application.write(first..first + BATCH_READINGS)?;
        outcome.returned = BATCH_READINGS;
        return Ok(());
    }
    let device = generator.device(random.below(generator.devices()));
    let end_ms = generator.end_ms(application.next_item.load(Ordering::Relaxed));
    let design = &application.design;
    outcome.returned = match kind {
        970..980 => {
            outcome.begin(1);
            design.latest(&device)?.readings.len()
        }
        980..990 => {
            outcome.begin(2);
            design.recent(&device, 1, end_ms)?.readings.len()
        }
        990..996 => {
            outcome.begin(3);
            design.averages(&device, end_ms - 24 * HOUR_MS..end_ms, HOUR_MS)?.len()
        }
        _ => {
            outcome.begin(4);
            design.fleet(end_ms - 6 * PERIOD_MS..end_ms)?.readings.len()
        }
    } as u64;
    Ok(())
}
