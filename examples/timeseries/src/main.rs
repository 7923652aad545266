//! Readings of two devices: `cargo run -p halite-example-timeseries [DIR]`.

use std::io::Write as _;

use timeseries::{Found, Reading, Sensors};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const MINUTE_MS: i64 = 60_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-timeseries-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let sensors = Sensors::open(&store, "timeseries")?;

    let reading = |device: &str, minute: i64, value: f64| Reading {
        device: device.to_owned(),
        at_ms: T0 + minute * MINUTE_MS,
        value,
    };
    let hours: Vec<Reading> = (0..180)
        .flat_map(|minute| {
            let tenths = f64::from(i32::try_from(minute % 7).unwrap_or(0));
            [reading("s1", minute, 20.5 + tenths / 10.0), reading("s10", minute, 18.0)]
        })
        .collect();
    sensors.write(&hours)?;
    // A point that arrives late, one that is corrected, and one of a month later.
    sensors.write(&[reading("s1", -1, 20.1), reading("s1", 179, 25.0)])?;
    sensors.write(&[reading("s1", 30 * 24 * 60, 19.5)])?;

    print("newest of s1", &sensors.latest("s1")?)?;
    let day = sensors.recent("s1", 1, T0 + 179 * MINUTE_MS)?;
    print("last day of s1, at 02:59", &day)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "all devices, 02:58 to 03:00")?;
    for reading in sensors.fleet(T0 + 178 * MINUTE_MS..T0 + 180 * MINUTE_MS)? {
        let Reading { device, at_ms, value } = reading?;
        writeln!(out, "  {device:<4} minute {:>5}: {value}", (at_ms - T0) / MINUTE_MS)?;
    }
    writeln!(out, "means of hours of s1")?;
    for average in sensors.averages("s1", T0..T0 + 180 * MINUTE_MS, 60 * MINUTE_MS)? {
        let hour = (average.at_ms - T0) / (60 * MINUTE_MS);
        writeln!(out, "  {hour:02}:00  {:.2} of {} readings", average.mean, average.readings)?;
    }
    Ok(store.close()?)
}

fn print(title: &str, found: &Found) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let Found { readings, examined } = found;
    writeln!(out, "{title}: {} readings, {examined} rows examined", readings.len())?;
    for Reading { device, at_ms, value } in readings.iter().take(4) {
        writeln!(out, "  {device:<4} minute {:>5}: {value}", (at_ms - T0).div_euclid(MINUTE_MS))?;
    }
    Ok(())
}
