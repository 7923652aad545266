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

const RECIPES: &str = "docs/recipes.md";

static SYNCED_PUTS: Measured = figure(
    "8,800 puts per second, each on the disk before its reply",
    "docs/bench.md",
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
static SERIES_SCAN: Measured = figure(
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
        for data in [Data::Rows, Data::TimeSeries, Data::Messages, Data::Objects, Data::Monitoring]
        {
            for Measured { text, document, quote } in measured(data) {
                let page = std::fs::read_to_string(root.join(document)).unwrap();
                let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
                let quote = quote.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(page.contains(&quote), "{document} does not say {quote:?}: {text}");
            }
        }
    }
}
