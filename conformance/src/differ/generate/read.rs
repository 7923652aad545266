//! Gets and scans with every option.

use super::{COUNTERS, Maker};

/// The filters that decide over whole rows.
const WHOLE_ROWS: &[&str] = &["SingleColumnValue", "DependentColumn", "Page(", "FilterAll", "WhileMatch", "Skip("];

impl Maker {
    pub(super) fn read(&mut self) -> String {
        if self.chance.one_in(3) { self.get() } else { self.scan() }
    }

    fn get(&mut self) -> String {
        let exists = if self.chance.one_in(8) { " exists" } else { "" };
        format!("get {}{exists}{}", self.row(), self.selection(false, false))
    }

    fn scan(&mut self) -> String {
        let raw = self.raw && self.chance.one_in(5);
        let reverse = self.chance.one_in(3);
        let mut line = String::from("scan");
        for (flag, is_set) in
            [("reverse", reverse), ("raw", raw), ("startexclusive", self.chance.one_in(4)), ("stopinclusive", self.chance.one_in(4))]
        {
            if is_set {
                line += &format!(" {flag}");
            }
        }
        line += &self.bounds(reverse);
        if self.chance.one_in(5) {
            line += &format!(" limit={}", self.chance.between(1, 4));
        }
        if self.chance.one_in(5) {
            line += &format!(" resultbytes={}", self.chance.pick(&["1", "40", "100", "400"]));
        }
        line += &self.selection(raw, reverse);
        // HBase's client refuses a batch limit beside a filter that decides over whole rows; its region does once it comes to it.
        if self.chance.one_in(4) && !WHOLE_ROWS.iter().any(|name| line.contains(name)) {
            line += &format!(" batch={}", self.chance.between(1, 4));
        }
        line
    }

    fn bounds(&mut self, reverse: bool) -> String {
        if self.chance.one_in(10) {
            return format!(" prefix={}", self.chance.pick(&["a", "b", "aa", "\\xff"]));
        }
        let mut line = String::new();
        let mut ends = [self.row(), self.row()];
        if !self.chance.one_in(10) {
            ends.sort_unstable();
            if reverse {
                ends.reverse();
            }
        }
        if self.chance.one_in(3) {
            line += &format!(" start={}", ends[0]);
        }
        if self.chance.one_in(3) {
            line += &format!(" stop={}", ends[1]);
        }
        line
    }

    /// What gets and scans share.
    fn selection(&mut self, raw: bool, reverse: bool) -> String {
        let (columns, chosen) = self.columns(raw);
        let mut line = columns;
        match self.chance.below(4) {
            0 => line += " versions=all",
            1 => line += &format!(" versions={}", self.chance.between(1, 4)),
            _ => {}
        }
        if self.time_ranges {
            line += &self.times();
        }
        if self.chance.one_in(6) {
            // A limit of no cells gives one in HBase (docs/differences.md).
            line += &format!(" storelimit={}", self.chance.between(1, 3));
        }
        if self.chance.one_in(8) {
            line += &format!(" storeoffset={}", self.chance.between(0, 3));
        }
        if self.chance.one_in(2) {
            // Prefixes over chosen columns can run past the end of an array in HBase.
            line += &format!(" filter={}", self.filter_over(2, reverse, chosen));
        }
        line
    }

    /// The families and columns, and whether there are columns.
    fn columns(&mut self, raw: bool) -> (String, bool) {
        if raw && self.counters || self.chance.one_in(6) {
            return if raw { (self.raw_families(), false) } else { (format!(" {}", self.read_family()), false) };
        }
        if raw || !self.chance.one_in(5) {
            return (String::new(), false);
        }
        let count = self.chance.between(1, 3);
        let column = |maker: &mut Self| match maker.read_family() {
            COUNTERS => format!(" {COUNTERS}:c"),
            family => format!(" {family}:{}", maker.qualifier()),
        };
        ((0..count).map(|_| column(self)).collect(), true)
    }

    fn times(&mut self) -> String {
        match self.chance.below(12) {
            0 | 1 => format!(" range={}", self.time_range()),
            2 => format!(" ts={}", self.chance.between(1, 9)),
            3 => format!(" familyrange={}:{}", self.real_family(), self.time_range()),
            _ => String::new(),
        }
    }
}
