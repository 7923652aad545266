//! Gets and scans with every option.

use super::{COUNTERS, ProgramGenerator};

/// Filters that decide on whole rows.
const WHOLE_ROWS: &[&str] =
    &["SingleColumnValue", "DependentColumn", "Page(", "FilterAll", "WhileMatch", "Skip("];

impl ProgramGenerator {
    pub(super) fn read(&mut self) -> String {
        if self.rng.one_in(3) { self.get() } else { self.scan() }
    }

    fn get(&mut self) -> String {
        let exists = if self.rng.one_in(8) { " exists" } else { "" };
        format!("get {}{exists}{}", self.row(), self.selection(false, false))
    }

    fn scan(&mut self) -> String {
        let raw = self.raw && self.rng.one_in(5);
        let reverse = self.rng.one_in(3);
        let mut line = String::from("scan");
        for (flag, is_set) in [
            ("reverse", reverse),
            ("raw", raw),
            ("startexclusive", self.rng.one_in(4)),
            ("stopinclusive", self.rng.one_in(4)),
        ] {
            if is_set {
                line += &format!(" {flag}");
            }
        }
        line += &self.bounds(reverse);
        if self.rng.one_in(5) {
            line += &format!(" limit={}", self.rng.between(1, 4));
        }
        if self.rng.one_in(5) {
            line += &format!(" resultbytes={}", self.rng.pick(&["1", "40", "100", "400"]));
        }
        line += &self.selection(raw, reverse);
        // HBase's client rejects a batch limit together with a filter on whole rows; its region
        // rejects it when it reaches the filter.
        if self.rng.one_in(4) && !WHOLE_ROWS.iter().any(|name| line.contains(name)) {
            line += &format!(" batch={}", self.rng.between(1, 4));
        }
        line
    }

    fn bounds(&mut self, reverse: bool) -> String {
        if self.rng.one_in(10) {
            return format!(" prefix={}", self.rng.pick(&["a", "b", "aa", "\\xff"]));
        }
        let mut line = String::new();
        let mut ends = [self.row(), self.row()];
        if !self.rng.one_in(10) {
            ends.sort_unstable();
            if reverse {
                ends.reverse();
            }
        }
        if self.rng.one_in(3) {
            line += &format!(" start={}", ends[0]);
        }
        if self.rng.one_in(3) {
            line += &format!(" stop={}", ends[1]);
        }
        line
    }

    /// Generates the options common to gets and scans.
    fn selection(&mut self, raw: bool, reverse: bool) -> String {
        let (columns, chosen) = self.columns(raw);
        let mut line = columns;
        match self.rng.below(4) {
            0 => line += " versions=all",
            1 => line += &format!(" versions={}", self.rng.between(1, 4)),
            _ => {}
        }
        if self.time_ranges {
            line += &self.times();
        }
        if self.rng.one_in(6) {
            // A limit of 0 cells returns one in HBase (docs/differences.md).
            line += &format!(" storelimit={}", self.rng.between(1, 3));
        }
        if self.rng.one_in(8) {
            line += &format!(" storeoffset={}", self.rng.between(0, 3));
        }
        if self.rng.one_in(2) {
            // Prefix filters on selected columns can read past the end of an array in HBase.
            line += &format!(" filter={}", self.filter_over(2, reverse, chosen));
        }
        line
    }

    /// Returns the families and columns, and `true` if there are columns.
    fn columns(&mut self, raw: bool) -> (String, bool) {
        if raw && self.counters || self.rng.one_in(6) {
            return if raw {
                (self.raw_families(), false)
            } else {
                (format!(" {}", self.read_family()), false)
            };
        }
        if raw || !self.rng.one_in(5) {
            return (String::new(), false);
        }
        let count = self.rng.between(1, 3);
        let column = |maker: &mut Self| match maker.read_family() {
            COUNTERS => format!(" {COUNTERS}:c"),
            family => format!(" {family}:{}", maker.qualifier()),
        };
        ((0..count).map(|_| column(self)).collect(), true)
    }

    fn times(&mut self) -> String {
        match self.rng.below(12) {
            0 | 1 => format!(" range={}", self.time_range()),
            2 => format!(" ts={}", self.rng.between(1, 9)),
            3 => format!(" familyrange={}:{}", self.real_family(), self.time_range()),
            _ => String::new(),
        }
    }
}
