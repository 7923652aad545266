//! Filters of all kinds, nested, with arguments at the edge.

use super::{COUNTERS, Maker};

impl Maker {
    /// A filter with lists of filters in it, so many levels deep.
    pub(super) fn filter(&mut self, depth: usize, reverse: bool) -> String {
        self.filter_over(depth, reverse, false)
    }

    pub(super) fn filter_over(&mut self, depth: usize, reverse: bool, columns: bool) -> String {
        if depth == 0 || self.chance.one_in(2) {
            return self.leaf(reverse, columns);
        }
        match self.chance.below(8) {
            0 => format!("Skip({})", self.filter_over(depth - 1, reverse, columns)),
            1 => format!("WhileMatch({})", self.filter_over(depth - 1, reverse, columns)),
            kind => {
                let count = if self.chance.one_in(20) { 0 } else { self.chance.between(1, 3) };
                let inside: Vec<_> = (0..count).map(|_| self.filter_over(depth - 1, reverse, columns)).collect();
                format!("{}({})", if kind.is_multiple_of(2) { "All" } else { "One" }, inside.join(","))
            }
        }
    }

    fn leaf(&mut self, reverse: bool, columns: bool) -> String {
        match self.chance.below(25) {
            0 if !columns => format!("Prefix({})", self.chance.pick(&["a", "b", "aa", "\"\"", "\\xff"])),
            1 => format!("Row({},{})", self.operator(), self.row_comparator()),
            2 => format!("Family({},binary:{})", self.operator(), self.chance.pick(&["f", "g", "n", "e"])),
            3 | 4 => format!("Qualifier({},{})", self.operator(), self.qualifier_comparator()),
            5 | 6 => format!("Value({},{})", self.operator(), self.comparator()),
            7 | 8 => self.single_column(),
            9 => format!("ColumnValue({},{},{})", self.own_column(), self.operator(), self.comparator()),
            10 | 11 if self.time_ranges => self.dependent_column(),
            12 => format!("ColumnPrefix({})", self.chance.pick(&["p", "q", "\"\"", "z"])),
            13 if !columns => format!("MultipleColumnPrefix({})", self.chance.pick(&["p", "p,q", "q,pq", "\"\",qa"])),
            14 => format!("ColumnRange({},{})", self.bound(), self.bound()),
            15 => "FirstKeyOnly()".into(),
            16 => self.chance.pick(&["KeyOnly()", "KeyOnly(length)"]).into(),
            17 => format!("Page({})", self.chance.between(1, 3)),
            18 => format!("InclusiveStop({})", self.row()),
            19 => format!("ColumnCountGet({})", self.chance.between(1, 3)),
            20 => self.pagination(),
            21 if self.time_ranges => format!("Timestamps({})", self.chance.pick(&["1", "3,5", "2,4,6,8", "9,9", "3,5,hint", "1,2,hint"])),
            // In a reverse scan it may never end in HBase.
            22 if !reverse => {
                format!("FuzzyRow({})", self.chance.pick(&["a,\\x00", "ab,\\x00\\x01", "ab,\\x01\\x00", "b,\\x01", "aa,\\x00\\x00,ba,\\x01\\x00"]))
            }
            23 => format!("MultiRowRange({})", self.chance.pick(&["[a,!ab", "[a,[a", "!a,[b", "[aa,[ab,[b,!c", "!b,[c,[a,!aa", "[b,*"])),
            24 => self.chance.pick(&["FirstKeyMatching(q)", "FirstKeyMatching(p,qa)", "FilterAll()"]).into(),
            _ if self.counters => self.counter(),
            _ => format!("Value(!=,{})", self.comparator()),
        }
    }

    /// A filter over the one column whose values all are numbers of eight bytes.
    fn counter(&mut self) -> String {
        let test = format!("{COUNTERS}:c,{},long:{}", self.operator(), self.chance.pick(&["0", "7", "6", "-1"]));
        format!("{}({test})", self.chance.pick(&["ColumnValue", "SingleColumnValue"]))
    }

    pub(super) fn operator(&mut self) -> &'static str {
        self.chance.pick(&["=", "=", "!=", "<", "<=", ">", ">="])
    }

    /// What values are compared with. `LongComparator`, `BigDecimalComparator` and `BinaryComponentComparator` are not among them:
    /// HBase reads past the end of a value that is too short for them, or fails the scan.
    fn comparator(&mut self) -> String {
        match self.chance.below(9) {
            0..4 => format!("binary:{}", self.value()),
            4 => format!("prefix:{}", self.chance.pick(&["v", "V", "v2", "\"\"", "\\x00"])),
            5 => format!("substring:{}", self.chance.pick(&["V", "2", "w", "x"])),
            6 => format!("regex:{}", self.chance.pick(&["v", "^v.$", "[0-9]", "V|w", ".*"])),
            7 => format!("{}:{}", self.chance.pick(&["and", "or", "xor"]), self.chance.pick(&["v", "v1", "\\x00", "\\xff", "w"])),
            _ => "null".into(),
        }
    }

    fn row_comparator(&mut self) -> String {
        match self.chance.below(5) {
            0 => format!("prefix:{}", self.chance.pick(&["a", "b"])),
            3 => format!("component:0:{}", self.chance.pick(&["a", "b"])),
            1 => format!("substring:{}", self.chance.pick(&["a", "A", "b"])),
            2 => format!("regex:{}", self.chance.pick(&["^a", "b$", "a|c"])),
            _ => format!("binary:{}", self.row()),
        }
    }

    fn qualifier_comparator(&mut self) -> String {
        match self.chance.below(4) {
            0 => format!("prefix:{}", self.chance.pick(&["p", "q", "\"\""])),
            1 => format!("substring:{}", self.chance.pick(&["p", "Q"])),
            2 => format!("regex:{}", self.chance.pick(&["^p", "q$", "^$"])),
            _ => format!("binary:{}", self.qualifier_word()),
        }
    }

    /// A column of a family that the program stamps itself.
    fn own_column(&mut self) -> String {
        format!("{}:{}", self.real_family(), self.qualifier())
    }

    fn single_column(&mut self) -> String {
        let exclude = self.chance.one_in(3);
        let mut arguments = format!("{},{},{}", self.own_column(), self.operator(), self.comparator());
        // With the column excluded, HBase asks the test only of rows that have other cells (docs/differences.md).
        if !exclude && self.chance.one_in(3) {
            arguments += ",ifmissing";
        }
        if self.chance.one_in(3) {
            arguments += ",allversions";
        }
        format!("SingleColumnValue{}({arguments})", if exclude { "Exclude" } else { "" })
    }

    fn dependent_column(&mut self) -> String {
        let mut arguments = self.own_column();
        if self.chance.one_in(2) {
            arguments += ",drop";
        }
        if self.chance.one_in(2) {
            arguments += &format!(",{},{}", self.operator(), self.comparator());
        }
        format!("DependentColumn({arguments})")
    }

    fn bound(&mut self) -> String {
        match self.chance.below(5) {
            0 => "*".into(),
            1 | 2 => format!("!{}", self.qualifier_word()),
            _ => format!("[{}", self.qualifier_word()),
        }
    }

    fn pagination(&mut self) -> String {
        let limit = self.chance.between(1, 3);
        if self.chance.one_in(2) {
            format!("ColumnPagination({limit},from:{})", self.qualifier_word())
        } else {
            format!("ColumnPagination({limit},{})", self.chance.between(0, 2))
        }
    }
}
