//! Filters of all kinds, nested, with boundary arguments.

use super::{COUNTERS, ProgramGenerator};

impl ProgramGenerator {
    /// Returns a filter with nested filter lists up to `depth` levels.
    pub(super) fn filter(&mut self, depth: usize, reverse: bool) -> String {
        self.filter_over(depth, reverse, false)
    }

    pub(super) fn filter_over(&mut self, depth: usize, reverse: bool, columns: bool) -> String {
        if depth == 0 || self.rng.one_in(2) {
            return self.leaf(reverse, columns);
        }
        match self.rng.below(8) {
            0 => format!("Skip({})", self.filter_over(depth - 1, reverse, columns)),
            1 => format!("WhileMatch({})", self.filter_over(depth - 1, reverse, columns)),
            kind => {
                let count = if self.rng.one_in(20) { 0 } else { self.rng.between(1, 3) };
                let inside: Vec<_> =
                    (0..count).map(|_| self.filter_over(depth - 1, reverse, columns)).collect();
                format!(
                    "{}({})",
                    if kind.is_multiple_of(2) { "All" } else { "One" },
                    inside.join(",")
                )
            }
        }
    }

    fn leaf(&mut self, reverse: bool, columns: bool) -> String {
        match self.rng.below(25) {
            0 if !columns => {
                format!("Prefix({})", self.rng.pick(&["a", "b", "aa", "\"\"", "\\xff"]))
            }
            1 => format!("Row({},{})", self.operator(), self.row_comparator()),
            2 => format!(
                "Family({},binary:{})",
                self.operator(),
                self.rng.pick(&["f", "g", "n", "e"])
            ),
            3 | 4 => format!("Qualifier({},{})", self.operator(), self.qualifier_comparator()),
            5 | 6 => format!("Value({},{})", self.operator(), self.comparator()),
            7 | 8 => self.single_column(),
            9 => format!(
                "ColumnValue({},{},{})",
                self.own_column(),
                self.operator(),
                self.comparator()
            ),
            10 | 11 if self.time_ranges => self.dependent_column(),
            12 => format!("ColumnPrefix({})", self.rng.pick(&["p", "q", "\"\"", "z"])),
            13 if !columns => {
                format!("MultipleColumnPrefix({})", self.rng.pick(&["p", "p,q", "q,pq", "\"\",qa"]))
            }
            14 => format!("ColumnRange({},{})", self.bound(), self.bound()),
            15 => "FirstKeyOnly()".into(),
            16 => self.rng.pick(&["KeyOnly()", "KeyOnly(length)"]).into(),
            17 => format!("Page({})", self.rng.between(1, 3)),
            18 => format!("InclusiveStop({})", self.row()),
            19 => format!("ColumnCountGet({})", self.rng.between(1, 3)),
            20 => self.pagination(),
            21 if self.time_ranges => format!(
                "Timestamps({})",
                self.rng.pick(&["1", "3,5", "2,4,6,8", "9,9", "3,5,hint", "1,2,hint"])
            ),
            // In a reverse scan it may never end in HBase.
            22 if !reverse => {
                format!(
                    "FuzzyRow({})",
                    self.rng.pick(&[
                        "a,\\x00",
                        "ab,\\x00\\x01",
                        "ab,\\x01\\x00",
                        "b,\\x01",
                        "aa,\\x00\\x00,ba,\\x01\\x00"
                    ])
                )
            }
            23 => format!(
                "MultiRowRange({})",
                self.rng.pick(&[
                    "[a,!ab",
                    "[a,[a",
                    "!a,[b",
                    "[aa,[ab,[b,!c",
                    "!b,[c,[a,!aa",
                    "[b,*"
                ])
            ),
            24 => self
                .rng
                .pick(&["FirstKeyMatching(q)", "FirstKeyMatching(p,qa)", "FilterAll()"])
                .into(),
            _ if self.counters => self.counter(),
            _ => format!("Value(!=,{})", self.comparator()),
        }
    }

    /// Returns a filter on the one column whose values are all eight-byte numbers.
    fn counter(&mut self) -> String {
        let test = format!(
            "{COUNTERS}:c,{},long:{}",
            self.operator(),
            self.rng.pick(&["0", "7", "6", "-1"])
        );
        format!("{}({test})", self.rng.pick(&["ColumnValue", "SingleColumnValue"]))
    }

    pub(super) fn operator(&mut self) -> &'static str {
        self.rng.pick(&["=", "=", "!=", "<", "<=", ">", ">="])
    }

    /// Returns a comparator. `LongComparator`, `BigDecimalComparator` and
    /// `BinaryComponentComparator` are excluded: HBase reads past the end of a value that is too
    /// short for them, or fails the scan.
    fn comparator(&mut self) -> String {
        match self.rng.below(9) {
            0..4 => format!("binary:{}", self.value()),
            4 => format!("prefix:{}", self.rng.pick(&["v", "V", "v2", "\"\"", "\\x00"])),
            5 => format!("substring:{}", self.rng.pick(&["V", "2", "w", "x"])),
            6 => format!("regex:{}", self.rng.pick(&["v", "^v.$", "[0-9]", "V|w", ".*"])),
            7 => format!(
                "{}:{}",
                self.rng.pick(&["and", "or", "xor"]),
                self.rng.pick(&["v", "v1", "\\x00", "\\xff", "w"])
            ),
            _ => "null".into(),
        }
    }

    fn row_comparator(&mut self) -> String {
        match self.rng.below(5) {
            0 => format!("prefix:{}", self.rng.pick(&["a", "b"])),
            3 => format!("component:0:{}", self.rng.pick(&["a", "b"])),
            1 => format!("substring:{}", self.rng.pick(&["a", "A", "b"])),
            2 => format!("regex:{}", self.rng.pick(&["^a", "b$", "a|c"])),
            _ => format!("binary:{}", self.row()),
        }
    }

    fn qualifier_comparator(&mut self) -> String {
        match self.rng.below(4) {
            0 => format!("prefix:{}", self.rng.pick(&["p", "q", "\"\""])),
            1 => format!("substring:{}", self.rng.pick(&["p", "Q"])),
            2 => format!("regex:{}", self.rng.pick(&["^p", "q$", "^$"])),
            _ => format!("binary:{}", self.qualifier_word()),
        }
    }

    /// Returns a column of a family with timestamps set by the program.
    fn own_column(&mut self) -> String {
        format!("{}:{}", self.real_family(), self.qualifier())
    }

    fn single_column(&mut self) -> String {
        let exclude = self.rng.one_in(3);
        let mut arguments =
            format!("{},{},{}", self.own_column(), self.operator(), self.comparator());
        // If the column is excluded, HBase applies the test only to rows with other cells
        // (docs/differences.md).
        if !exclude && self.rng.one_in(3) {
            arguments += ",ifmissing";
        }
        if self.rng.one_in(3) {
            arguments += ",allversions";
        }
        format!("SingleColumnValue{}({arguments})", if exclude { "Exclude" } else { "" })
    }

    fn dependent_column(&mut self) -> String {
        let mut arguments = self.own_column();
        if self.rng.one_in(2) {
            arguments += ",drop";
        }
        if self.rng.one_in(2) {
            arguments += &format!(",{},{}", self.operator(), self.comparator());
        }
        format!("DependentColumn({arguments})")
    }

    fn bound(&mut self) -> String {
        match self.rng.below(5) {
            0 => "*".into(),
            1 | 2 => format!("!{}", self.qualifier_word()),
            _ => format!("[{}", self.qualifier_word()),
        }
    }

    fn pagination(&mut self) -> String {
        let limit = self.rng.between(1, 3);
        if self.rng.one_in(2) {
            format!("ColumnPagination({limit},from:{})", self.qualifier_word())
        } else {
            format!("ColumnPagination({limit},{})", self.rng.between(0, 2))
        }
    }
}
