//! What was measured, for the advice: results in the documents, which a test finds there.

use super::fit::Data;

/// Figure of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Measured {
    /// What was measured, with the figure.
    pub text: &'static str,
    /// Document, from the root of the repository.
    pub document: &'static str,
    /// Words of the document with the figure.
    quote: &'static str,
}

const fn figure(text: &'static str, document: &'static str, quote: &'static str) -> Measured {
    Measured { text, document, quote }
}

const BENCH: &str = "docs/bench.md";
const RECIPES: &str = "docs/recipes.md";

static SYNCED_PUTS: Measured = figure(
    "8,800 puts per second, each on the disk before its reply",
    BENCH,
    "reaches 8.8 k puts a second",
);
static MESSAGES: Measured = figure(
    "11,600 messages per second sent by one core, the p99 of a page of 50 in 1.3 ms",
    RECIPES,
    "received           3612      360     0.21     1.25",
);
static SENSOR_RATE: Measured = figure(
    "100,400 readings per second written for ten minutes, while some are read, by 0.55 of a core",
    RECIPES,
    "write of 100     602284     1004",
);
static SENSOR_BYTES: Measured = figure(
    "0.33 bytes for a point with one decimal, 6.4 for random ones",
    RECIPES,
    "| one decimal | 0.33 | 4.41 |",
);
/// A metric of all hosts.
pub(super) static SERIES_SCAN: Measured = figure(
    "a metric of all hosts, 12,000 points, in 77 ms (p50)",
    RECIPES,
    "metric               48        5    77.46",
);
static LISTS: Measured = figure(
    "a list of 1,000 entries in 3.0 ms (p99), while 10,000 files per second are created",
    RECIPES,
    "list of 1000        427       43     0.93     3.04",
);
static HISTORY: Measured = figure(
    "a page of 50 rows through a server in 0.36 ms (p99), at 1,000 operations per second",
    RECIPES,
    "| user-ops | 1,000 | 36, 126 | 0.29 | record: 0.24, 0.42 | page of 50: 0.36",
);

/// Conditions on columns outside of the key.
pub(super) static OTHER_COLUMNS: Measured = figure(
    "seven queries of TPC-H on such columns take 10 to 86 times as long as SQLite with indexes",
    BENCH,
    "Q4, Q14, Q15, Q17, Q18, Q20 and Q21 (10 to 86 times), whose conditions are on columns that \
     SQLite has indexes of",
);
/// Aggregates over most rows.
pub(super) static AGGREGATES: Measured = figure(
    "such queries of ClickBench take 4.7 times SQLite's time in sum, DataFusion over columns in \
     memory a fifth of that",
    BENCH,
    "The others take 4.7 times SQLite's time in sum (1.1 to 17), DataFusion in memory a fifth of \
     that",
);
/// Changes of several rows.
pub(super) static SEVERAL_ROWS: Measured = figure(
    "moves and removals in a tree, which are several writes and a repair, have a p99 of 8.1 ms at \
     424 per second",
    RECIPES,
    "change 4243 424 0.45 8.09",
);
/// A process that is killed.
pub(super) static RESTART: Measured = figure(
    "6 M rows are read again 392 ms after their process was killed",
    BENCH,
    "open after SIGKILL, to the first read | 392 ms",
);
/// Size of the measured data.
pub(super) static LARGEST: Measured = figure(
    "the largest application has 10,000,000 messages of 259 bytes",
    RECIPES,
    "With 10,000,000 messages in the tables, which `gen` wrote in 113 s with 259 bytes each",
);
/// Processor time beside HBase's.
pub(super) static BESIDE_HBASE: Measured = figure(
    "an operation on messages takes 64 us of the server's processor, HBase's 359",
    RECIPES,
    "| messages | 1,000 | 64, 359 | 0.18",
);
/// Rate of a server.
pub(super) static SERVER_RATE: Measured = figure(
    "10,000 operations on messages per second through a server have a p99 of 35 to 41 ms",
    RECIPES,
    "Through the server, at 10,000 operations per second, 5,000 of them sent, the p99 was 35 to 41 \
     ms",
);
/// Series across devices.
pub(super) static ALL_DEVICES: Measured = figure(
    "the readings of all devices in a minute take 53 ms (p99), a day of one device 7.5 ms",
    RECIPES,
    "all devices 2526 4 19.27 53.08",
);
/// Metadata of an object.
pub(super) static METADATA: Measured = figure(
    "an operation on a tree of files leaves 175 bytes in its tables",
    RECIPES,
    "20,000 operations in 19 s, 175 bytes each",
);
/// Bytes of [`METADATA`].
pub(super) const METADATA_BYTES: u64 = 175;

/// Measurements that speak for or against something, besides those of [`measured`].
#[cfg(test)]
static REASONS: [&Measured; 9] = [
    &OTHER_COLUMNS,
    &AGGREGATES,
    &SEVERAL_ROWS,
    &RESTART,
    &LARGEST,
    &BESIDE_HBASE,
    &SERVER_RATE,
    &ALL_DEVICES,
    &METADATA,
];

/// Returns the results for a kind of data.
pub(super) fn measured(data: Data) -> Vec<&'static Measured> {
    match data {
        Data::Rows => vec![&SYNCED_PUTS, &HISTORY],
        Data::TimeSeries => vec![&SENSOR_RATE, &SENSOR_BYTES],
        Data::Messages => vec![&MESSAGES],
        Data::Objects => vec![&LISTS],
        Data::Monitoring => vec![&SERIES_SCAN, &SENSOR_BYTES],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_documents() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let of_data =
            [Data::Rows, Data::TimeSeries, Data::Messages, Data::Objects, Data::Monitoring];
        let all = of_data.into_iter().flat_map(measured).chain(REASONS);
        for Measured { text, document, quote } in all {
            let page = std::fs::read_to_string(root.join(document)).unwrap();
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let quote = quote.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(&quote), "{document} does not say {quote:?}: {text}");
        }
    }

    #[test]
    fn bytes_of_metadata_are_those_that_were_measured() {
        assert!(METADATA.quote.contains(&format!(" {METADATA_BYTES} bytes each")));
    }
}
