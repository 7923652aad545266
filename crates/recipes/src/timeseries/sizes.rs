//! Bytes of a point on disk, by the model of its values and by the design.

use std::io::Write;

use anyhow::{Result, anyhow};
use halite::{CompactionKind, declare_tables};
use timeseries::{PointRows, Reading, Sensors, TABLES};

use super::generator::PERIOD_MS;
use super::values::{VALUE_MODELS, ValueModel};
use crate::bench::stored_bytes;
use crate::random::Random;
use crate::recipe::{Load, Site, T0};

/// Points of one device: ten hours.
const DEVICE_POINTS: u64 = 3_600;
const MAX_POINTS: u64 = 100_000;
const JITTER_MS: u64 = 20;

/// Writes points of each model into tables of their own, compacts them, and prints the bytes of a
/// point. The tables are dropped.
pub(super) fn measure(site: &Site, load: Load, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n{:<28}{:>16}{:>16}", "bytes of a point", "a row an hour", "a row each")?;
    for jitter in [0, JITTER_MS] {
        for model in VALUE_MODELS {
            let points = points(model, jitter, load);
            let sizes = [true, false].map(|is_packed| size(site, &points, is_packed));
            let [packed, single] = sizes;
            let name = match jitter {
                0 => model.name().to_owned(),
                jitter => format!("{}, jitter {jitter} ms", model.name()),
            };
            writeln!(out, "{name:<28}{:>16.2}{:>16.2}", packed?, single?)?;
        }
    }
    Ok(())
}

/// Returns points of several devices, a batch for each.
fn points(model: ValueModel, jitter: u64, load: Load) -> Vec<Vec<Reading>> {
    let devices = (load.items.min(MAX_POINTS) / DEVICE_POINTS).max(1);
    let device = |device: u64| {
        let reading = |tick: u64| {
            let delay = match jitter {
                0 => 0,
                jitter => Random::new(load.seed ^ device, 5, tick).below(jitter),
            };
            let elapsed_ms = i64::try_from(tick).unwrap_or(0) * PERIOD_MS;
            Reading {
                device: format!("s{device}"),
                at_ms: T0 + elapsed_ms + i64::try_from(delay).unwrap_or(0),
                value: model.value(load.seed, device, tick),
            }
        };
        (0..DEVICE_POINTS).map(reading).collect()
    };
    (0..devices).map(device).collect()
}

/// Returns the bytes of a point after a major compaction.
fn size(site: &Site, points: &[Vec<Reading>], is_packed: bool) -> Result<f64> {
    let site = Site { namespace: format!("{}_sizes", site.namespace), ..site.clone() };
    let (cluster, namespace) = (&site.cluster, &site.namespace);
    let table = if is_packed {
        // One region, so that the fixed bytes of 16 small files do not count.
        let declared =
            declare_tables(cluster, namespace, &TABLES.concat().replace("SPLIT BY SALT", ""))?;
        let sensors = Sensors::open(cluster, namespace)?;
        points.iter().try_for_each(|points| sensors.write(points))?;
        declared.into_iter().next()
    } else {
        let rows = PointRows::open(cluster, namespace)?;
        points.iter().try_for_each(|points| rows.write(points))?;
        declare_tables(cluster, namespace, timeseries::POINT_TABLES)?.into_iter().next()
    };
    let table = table.ok_or_else(|| anyhow!("one statement is one table"))?.name;
    cluster.flush(&table)?;
    cluster.compact(&table, None, CompactionKind::Major)?;
    let bytes = stored_bytes(&site)?;
    cluster.disable_table(&table)?;
    cluster.drop_table(&table)?;
    cluster.drop_namespace(namespace)?;
    let count: usize = points.iter().map(Vec::len).sum();
    #[expect(clippy::cast_precision_loss, reason = "it is rounded to two decimals")]
    let each = bytes as f64 / count as f64;
    Ok(each)
}
