//! Operations of two users: `cargo run -p halite-example-user-ops [DIR]`.

use std::io::Write as _;

use halite::rowkey::Page;
use user_ops::{History, Operation, PageRequest, user_id};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const HOUR_MS: i64 = 3_600_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-user-ops-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let history = History::open(&store, "user_ops")?;

    let user = user_id("12345")?;
    // Its reversed id begins with that of the other one; eight digits keep them apart.
    let neighbor = user_id("612345")?;
    let operation = |user: &str, hour: i64, sequence: u32, kind: &str, detail: &str| Operation {
        user: user.to_owned(),
        at_ms: T0 + hour * HOUR_MS,
        sequence,
        kind: kind.to_owned(),
        detail: detail.to_owned(),
    };
    history.record(&[
        operation(&user, 0, 0, "login", "phone"),
        operation(&user, 1, 0, "search", "shoes"),
        // Two operations of one millisecond.
        operation(&user, 2, 0, "buy", "order 17"),
        operation(&user, 2, 1, "pay", "order 17"),
        operation(&user, 30 * 24, 0, "login", "laptop"),
        operation(&neighbor, 1, 0, "login", "phone"),
    ])?;

    let newest = PageRequest { at_ms: 0..i64::MAX, limit: 3, after: None };
    let first = history.page(&user, &newest)?;
    print("page 1", &first)?;
    let next = PageRequest { after: first.next, ..newest.clone() };
    print("page 2", &history.page(&user, &next)?)?;
    // Thirty days in milliseconds do not fit into 32 bits; times here have 64.
    let month = PageRequest { at_ms: T0..T0 + 30 * 24 * HOUR_MS, limit: 10, after: None };
    print("the first 30 days", &history.page(&user, &month)?)?;
    print("the other user", &history.page(&neighbor, &newest)?)?;
    Ok(store.close()?)
}

fn print(title: &str, page: &Page<Operation>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{title} ({} rows examined)", page.examined)?;
    for Operation { user, at_ms, sequence, kind, detail } in &page.items {
        let hour = (at_ms - T0) / HOUR_MS;
        writeln!(out, "  {user} hour {hour:>3}, {sequence}: {kind} {detail}")?;
    }
    Ok(())
}
