//! Verdict on a load: its shape, how sure that is, and over how many regions it is distributed.

use std::fmt::Write as _;

use halite_heat::{Finding, Shape, ShapeWords};

use super::text::number;

/// Distribution of a load over regions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSpread {
    /// Regions.
    pub regions: usize,
    /// Number of regions that would be as uneven if they were loaded evenly (D2), median of
    /// windows.
    pub effective_regions: f64,
    /// Load of the busiest region over the mean (D1), 99th percentile of windows.
    pub window_skew: f64,
    /// The same of the whole time, or of the rows at its end (D3).
    pub whole_skew: f64,
    /// Ranges per query (D8); `None` without queries.
    pub ranges: Option<f64>,
}

/// Shape of a load in words, with its distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Shape.
    pub shape: Shape,
    /// Words for it.
    pub words: ShapeWords,
    /// Whether a split helps, in words; empty if there is nothing to split.
    pub split: &'static str,
    /// Confidence, from 0 to 1.
    pub confidence: f64,
    /// Distribution over regions.
    pub spread: LoadSpread,
    /// What limits the verdict.
    pub doubts: Vec<&'static str>,
}

impl Verdict {
    /// Returns the verdict of a finding.
    #[must_use]
    pub fn new(finding: &Finding, spread: LoadSpread) -> Self {
        Self {
            shape: finding.shape,
            words: finding.words(),
            split: finding.split_text(),
            confidence: finding.confidence,
            spread,
            doubts: finding.doubts.clone(),
        }
    }

    /// Returns the shape with its confidence: `Sequential frontier, 99 %`.
    #[must_use]
    pub fn title(&self) -> String {
        let title = self.words.title;
        match self.shape {
            Shape::Even if self.is_unexplained() => "Uneven, and no key explains it".to_owned(),
            Shape::Idle | Shape::TooFew => title.to_owned(),
            _ => format!("{title}, {:.0} %", self.confidence * 100.0),
        }
    }

    /// Returns `ok`, `info`, `warn` or `bad`.
    #[must_use]
    pub fn severity(&self) -> &'static str {
        if self.is_unexplained() { "warn" } else { self.words.severity }
    }

    /// Returns `true` if regions have different loads, and none of the shapes is the cause.
    fn is_unexplained(&self) -> bool {
        self.shape == Shape::Even && !self.doubts.is_empty()
    }

    /// Returns the distribution over regions and the cost of queries.
    #[must_use]
    pub fn distribution(&self) -> String {
        let LoadSpread { regions, effective_regions, window_skew, whole_skew, ranges } =
            self.spread;
        let mut text = if regions < 2 {
            "one region takes all of it".to_owned()
        } else {
            format!(
                "load lands on {} of {regions} regions; busiest {} \u{d7} the mean at a time, {} \
                 \u{d7} in all",
                factor(effective_regions),
                factor(window_skew),
                factor(whole_skew)
            )
        };
        if let Some(ranges) = ranges {
            let are = if factor(ranges) == "1.0" { "range" } else { "ranges" };
            let count = factor(ranges);
            // Writing to a text does not fail.
            let _ = write!(text, "; {} {are} per query", count.trim_end_matches(".0"));
        }
        text
    }

    /// Returns whether a split helps, and why; empty if there is nothing to split.
    #[must_use]
    pub fn split(&self) -> String {
        let (text, why) = (self.split, self.words.why);
        if text.is_empty() || why.is_empty() { text.to_owned() } else { format!("{text}: {why}") }
    }
}

/// Returns a ratio with one digit after the point below 100.
fn factor(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { number(value) }
}
