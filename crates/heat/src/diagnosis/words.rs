//! Words for shapes: those of the page, of pictures and of the terminal.

use super::finding::{Finding, Shape};

/// Words for a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeWords {
    /// Name in a heading.
    pub title: &'static str,
    /// `ok`, `info`, `warn` or `bad`.
    pub severity: &'static str,
    /// Lint rule, or metric of the row-key adviser; empty if there is none.
    pub rule: &'static str,
    /// Sentence without a period.
    pub text: &'static str,
    /// Reason why a split helps or not, to follow a colon; may be empty.
    pub why: &'static str,
    /// What to do.
    pub advice: Option<&'static str>,
}

/// Effective number of frontiers from which it is not one.
const SEVERAL: f64 = 1.8;

impl Finding {
    /// Returns the words for the finding: those of the shape, as far as they are true of it.
    #[must_use]
    pub fn words(&self) -> ShapeWords {
        let mut words = self.shape.words();
        match self.shape {
            Shape::Frontier => {
                let falls = self.evidence("order").is_some_and(|order| order < 0.0);
                let are_several = self.evidence("frontiers").is_some_and(|all| all >= SEVERAL);
                words.text = match (falls, are_several) {
                    (false, false) => words.text,
                    (false, true) => "Keys rise with time, so few regions take all new rows",
                    (true, false) => "Keys fall with time, so one region takes all new rows",
                    (true, true) => "Keys fall with time, so few regions take all new rows",
                };
                if falls {
                    words.why = "the lower half of a split takes all new rows again";
                    words.advice = Some(
                        "put a salt or a hash before the falling field, or the field that queries \
                         name",
                    );
                }
            }
            Shape::HotRange if self.moves() => {
                words.text = "A range of rows has much of the load at a time, and others later";
                words.why = "the load moves on to other rows";
                words.advice = Some("spread the requests of each time over the keys");
            }
            Shape::Sweep if self.evidence("gets_in_order").is_some() => {
                words.text = "Gets read the keys in their order";
                words.why = "the reader is in one region at a time";
                words.advice = Some("read parts of the keys in parallel, or scan them");
            }
            _ => {}
        }
        words
    }

    /// Returns whether a split helps, in words; empty if there is nothing to split.
    #[must_use]
    pub fn split_text(&self) -> &'static str {
        split_text(self.split_helps())
    }
}

fn split_text(helps: Option<bool>) -> &'static str {
    match helps {
        Some(true) => "Splitting helps",
        Some(false) => "Splitting will not help",
        None => "",
    }
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 11] = [
        Self::Even,
        Self::Frontier,
        Self::HotRow,
        Self::HotPrefix,
        Self::HotRange,
        Self::Periodic,
        Self::Sweep,
        Self::SaltImbalance,
        Self::TombstoneHead,
        Self::Idle,
        Self::TooFew,
    ];

    /// Returns whether a split helps, in words; empty if there is nothing to split.
    #[must_use]
    pub fn split_text(self) -> &'static str {
        split_text(self.split_helps())
    }

    /// Returns the words for the shape.
    #[must_use]
    pub fn words(self) -> ShapeWords {
        let words = |title, severity, rule, text, why, advice| ShapeWords {
            title,
            severity,
            rule,
            text,
            why,
            advice,
        };
        match self {
            Self::Idle => words("Idle", "ok", "", "No requests in this time", "", None),
            Self::TooFew => words("Too early", "ok", "", "Too early to judge", "", None),
            Self::Even => {
                words("Even", "ok", "", "The load is even", "no key has too much of it", None)
            }
            Self::Frontier => words(
                "Sequential frontier",
                "bad",
                "K-MONO",
                "Keys rise with time, so one region takes all new rows",
                "the upper half of a split takes all new rows again",
                Some(
                    "put a salt or a hash before the rising field, or the field that queries name",
                ),
            ),
            Self::HotRow => words(
                "Hot row",
                "bad",
                "D5",
                "One row has much of the load",
                "a row is in one region, however often it is split",
                Some(
                    "cache the row, or divide it: a counter into several cells or rows, a list by \
                     time",
                ),
            ),
            Self::HotPrefix => words(
                "Hot prefix",
                "warn",
                "D5",
                "Rows that begin alike have much of the load",
                "the rows of the prefix can be in several regions",
                Some("split inside the prefix, or add a salt that is computed from a later field"),
            ),
            Self::HotRange => words(
                "Hot range",
                "warn",
                "D1",
                "A range of rows has much of the load",
                "the range can be in several regions",
                Some("split the range at its half load"),
            ),
            Self::Periodic => words(
                "Periodic",
                "info",
                "D1",
                "The load of all keys rises and falls together",
                "the peaks meet all regions alike",
                Some("spread the job that runs at the peaks over time, or plan for them"),
            ),
            Self::Sweep => words(
                "Full-scan sweep",
                "info",
                "Q-FULL",
                "Scans read through all keys in order",
                "a scan is in one region at a time",
                Some(
                    "scan parts of the keys in parallel, or give the query a key that selects its \
                     rows",
                ),
            ),
            Self::SaltImbalance => words(
                "Salt imbalance",
                "bad",
                "D6",
                "Values of the salt have different loads",
                "the regions of the loaded salts can be divided",
                Some("compute the salt from fields with many values"),
            ),
            Self::TombstoneHead => words(
                "Tombstone head",
                "bad",
                "Q-TOMB",
                "Reads pass over many deleted rows",
                "the deleted rows stay together in one of the parts",
                Some(
                    "begin scans after the last deleted row, compact more often, or use a time to \
                     live instead of deletes",
                ),
            ),
        }
    }
}
