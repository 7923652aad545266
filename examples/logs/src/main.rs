//! Lines of three hosts under five keys: `cargo run -p halite-example-logs [DIR]`.

use std::io::Write as _;

use logs::{Layout, Line, Logs, Question};

/// 2024-03-15T00:00:00Z.
const T0: i64 = 1_710_460_800_000;
const SECOND_MS: i64 = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("halite-logs-{}", std::process::id())),
        Into::into,
    );
    let store = halite::open(directory)?;
    let logs = Logs::open(&store, "logs")?;

    let hosts = ["web-1", "web-10", "web-2"];
    let lines = (0..3_600).flat_map(|second| {
        hosts.map(|host| Line {
            host: host.to_owned(),
            event: if second % 10 == 0 { "http.error" } else { "http" }.to_owned(),
            at_ms: T0 + second * SECOND_MS,
            sequence: 0,
            message: format!("GET /{}", second % 7),
        })
    });
    logs.write(&lines.collect::<Vec<_>>())?;

    let end = T0 + 3_600 * SECOND_MS;
    let last_minute = end - 60 * SECOND_MS..end;
    let of_host = Question {
        host: Some("web-1".to_owned()),
        event: Some("http.error".to_owned()),
        at_ms: last_minute.clone(),
    };
    let of_all = Question { at_ms: last_minute, ..Question::default() };
    for (title, question) in [("errors of web-1", of_host), ("all lines", of_all)] {
        print(title, &logs, &question)?;
    }
    Ok(store.close()?)
}

fn print(title: &str, logs: &Logs, question: &Question) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{title}, the last minute")?;
    for layout in Layout::ALL {
        let found = logs.read(layout, question)?;
        let (lines, rows) = (found.lines.len(), found.examined);
        writeln!(out, "  {:<10} {lines:>3} lines, {rows:>5} rows examined", layout.table())?;
    }
    Ok(())
}
