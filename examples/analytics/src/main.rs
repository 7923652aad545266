//! Two days of a small shop: `cargo run -p halite-example-analytics [DIR]`.

use std::io::Write as _;

use analytics::{Analytics, DAY_MS, Event, Kind};
use halite::rowkey::typed::Days;

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const HOUR_MS: i64 = 3_600_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-analytics-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let analytics = Analytics::open(&store, "analytics")?;

    let mut events = Vec::new();
    let mut add = |user: u32, at_ms: i64, kind| {
        let id = events.len() as u64;
        events.push(Event { id, user, at_ms: T0 + at_ms, kind });
    };
    for user in 0..1_000_u32 {
        let at_ms = i64::from(user % 24) * HOUR_MS;
        add(user, at_ms, Kind::Join);
        for (one_in, minutes, kind) in [(2, 1, Kind::View), (4, 2, Kind::Cart), (8, 3, Kind::Pay)] {
            if user % one_in == 0 {
                add(user, at_ms + minutes * 60_000, kind);
            }
        }
        if user % 5 == 0 {
            add(user, DAY_MS + at_ms, Kind::Login);
        }
    }
    analytics.record(&events)?;
    // The reply was lost, and everything is sent again.
    let again = analytics.record(&events)?;

    let first = Days(i32::try_from(T0 / DAY_MS)?);
    let (exact, estimated) =
        (analytics.exact_users(first)?, analytics.estimated_users(T0..T0 + DAY_MS)?);
    let retention = analytics.retention(first, Days(first.0 + 1))?;
    let steps = [Kind::Join, Kind::View, Kind::Cart, Kind::Pay];
    let board = analytics.board(T0..T0 + HOUR_MS)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} of {} events are new again",
        again.iter().filter(|new| **new).count(),
        events.len()
    )?;
    writeln!(out, "users of the day: {} from {} rows", exact.users, exact.examined)?;
    writeln!(out, "  estimated: {:.0} from {} rows", estimated.users, estimated.examined)?;
    writeln!(out, "next-day retention: {} of {}", retention.returned, retention.joined)?;
    writeln!(out, "join, view, cart, pay: {:?}", analytics.funnel(first, &steps)?)?;
    writeln!(out, "events of the first hour, from {} rows", board.examined)?;
    for ((at_ms, kind), count) in &board.counts {
        writeln!(out, "  minute {}: {count} {}", (at_ms - T0) / 60_000, kind.name())?;
    }
    Ok(store.close()?)
}
