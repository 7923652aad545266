//! Points of devices, one of which everyone looks at.

use halite::Bytes;
use halite::rowkey::Value;

use super::operation::{NewRow, Operation};
use super::pattern::{KeyWriter, Pattern, PatternConfig};
use crate::bench::SeededRng;

/// Time of the first point of each device: 2026-01-01T00:00:00Z.
const FIRST_POINT_MS: i64 = 1_767_225_600_000;
/// Milliseconds between two points of a device.
const INTERVAL_MS: u64 = 1000;
/// Points of each device that are loaded.
const LOADED_POINTS: u64 = 40;
/// Most points of one scan.
const SCANNED_POINTS: usize = 5;
/// Share of the reads in the operations, and of the hot device in the reads, in thousandths. Its
/// share of all operations is 35 %: all devices write alike, or its rows would soon be a third of
/// the table, and a third of the load their due.
const READS: u64 = 800;
const HOT_READS: u64 = 435;

/// Time series of devices.
pub(super) struct Devices {
    keys: KeyWriter,
    chance: SeededRng,
    hot: u64,
    /// Points that each device has.
    points: Vec<u64>,
}

impl Devices {
    pub(super) fn new(keys: KeyWriter, config: &PatternConfig) -> Self {
        let mut chance = SeededRng::new(config.seed);
        let devices = devices(config.rows);
        let hot = chance.below(devices);
        let points = (0..devices).map(|device| (config.rows - device).div_ceil(devices)).collect();
        Self { keys, chance, hot, points }
    }

    fn devices(&self) -> u64 {
        self.points.len() as u64
    }

    fn key(&self, device: u64, point: u64) -> Bytes {
        let time = FIRST_POINT_MS.saturating_add_unsigned(point * INTERVAL_MS);
        self.keys.key(&[device_id(device).as_str().into(), Value::Signed(time)])
    }

    fn point(&self, device: u64, point: u64) -> NewRow {
        #[expect(clippy::cast_precision_loss, reason = "a temperature")]
        let value = 20.0 + (point % 50) as f64 / 10.0;
        NewRow::new(self.key(device, point)).with("v", value.to_be_bytes().to_vec())
    }
}

/// Returns the number of devices whose points are that many rows.
fn devices(rows: u64) -> u64 {
    (rows / LOADED_POINTS).max(20)
}

/// Returns the name of a device.
pub(super) fn device_id(device: u64) -> String {
    format!("sensor_{device:05}")
}

impl Pattern for Devices {
    fn row(&self, number: u64) -> NewRow {
        self.point(number % self.devices(), number / self.devices())
    }

    fn next(&mut self) -> Operation {
        let draw = self.chance.below(1000);
        let mut device = self.chance.below(self.devices());
        if draw >= READS {
            let points = &mut self.points[usize::try_from(device).unwrap_or(0)];
            *points += 1;
            let point = *points - 1;
            return Operation::Put(self.point(device, point));
        }
        if self.chance.below(1000) < HOT_READS {
            device = self.hot;
        }
        let points = self.points[usize::try_from(device).unwrap_or(0)];
        let point = self.chance.below(points);
        let row = self.key(device, point);
        if draw < READS / 2 {
            Operation::Get(row)
        } else {
            Operation::Scan { start: row, rows: SCANNED_POINTS }
        }
    }

    fn splits(&self, regions: u64) -> Option<Vec<Bytes>> {
        let regions = regions.min(self.devices());
        let start = |at| Bytes::from(device_id(at * self.devices() / regions));
        Some((1..regions).map(start).collect())
    }
}
