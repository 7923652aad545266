//! Labels of ranges of keys: a column for each field, with runs of equal values.

use super::text::short_field;

/// Labels of a panel, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gutter {
    /// Fields, in the order of the key.
    pub levels: Vec<Level>,
}

/// Labels of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Name of the field.
    pub name: String,
    /// Runs of ranges with equal values of this field and those before it.
    pub runs: Vec<Run>,
}

/// Ranges of keys with one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// First range.
    pub from: usize,
    /// Range after the last one.
    pub to: usize,
    /// Value; empty for ranges that do not have the field.
    pub text: String,
}

impl Gutter {
    /// Returns the labels of ranges, whose times are those of about `now_ms`.
    pub(super) fn of(names: &[String], labels: &[Vec<String>], now_ms: i64) -> Self {
        // The last fields of the beginnings of keys may be empty in all of them.
        let known = |label: &Vec<String>| label.iter().rposition(|text| !text.is_empty());
        let count = labels.iter().filter_map(known).max().map_or(0, |last| last + 1);
        let level = |at: usize| Level {
            name: names.get(at).cloned().unwrap_or_default(),
            runs: runs(labels, at, now_ms),
        };
        Self { levels: (0..count).map(level).collect() }
    }
}

fn runs(labels: &[Vec<String>], level: usize, now_ms: i64) -> Vec<Run> {
    let prefix = |label: &'_ Vec<String>| label.len().min(level + 1);
    let is_same =
        |one: &Vec<String>, next: &Vec<String>| one[..prefix(one)] == next[..prefix(next)];
    let mut from = 0;
    let run = |rows: &[Vec<String>]| {
        let text = rows[0].get(level).map_or_else(String::new, |text| short_field(text, now_ms));
        let run = Run { from, to: from + rows.len(), text };
        from = run.to;
        run
    };
    labels.chunk_by(is_same).map(run).collect()
}
