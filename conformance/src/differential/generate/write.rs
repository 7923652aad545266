//! Writes of every kind.

use super::{COUNTERS, ProgramGenerator};

impl ProgramGenerator {
    pub(super) fn write(&mut self) -> String {
        match self.rng.below(20) {
            0..2 => self.batch(),
            2..4 => {
                let row = self.row();
                format!("mutate {}", self.mutations(row))
            }
            4..7 => self.check(),
            7..9 if self.counters => {
                let row = self.row();
                self.count(row)
            }
            // Deletes the newest version; without one, the cluster assigns the time of the marker.
            9 if self.deletes && self.rng.one_in(3) => {
                format!("delete {} {}:{}", self.row(), self.real_family(), self.qualifier())
            }
            _ => {
                let row = self.row();
                self.plain(row)
            }
        }
    }

    /// Returns a put or a delete of a row, with explicit timestamps.
    fn plain(&mut self, row: &str) -> String {
        if self.deletes && self.rng.one_in(3) { self.delete(row) } else { self.put(row) }
    }

    fn put(&mut self, row: &str) -> String {
        let mut line = format!("put {row}");
        for _ in 0..self.rng.between(1, 3) {
            line += &format!(" {} {} @{}", self.column(), self.value(), self.timestamp());
        }
        line
    }

    fn delete(&mut self, row: &str) -> String {
        let verb = self.rng.pick(&[
            "delete",
            "deletecolumn",
            "deletefamily",
            "deletefamilyversion",
            "deleterow",
        ]);
        if verb == "deleterow" {
            return format!("deleterow {row} @{}", self.timestamp());
        }
        let mut line = format!("{verb} {row}");
        for _ in 0..self.rng.between(1, 2) {
            let what = if verb.starts_with("deletefamily") {
                self.family().to_string()
            } else {
                self.column()
            };
            line += &format!(" {what} @{}", self.timestamp());
        }
        line
    }

    /// Returns an increment or an append. The cluster assigns its timestamps, so it uses the family
    /// of counters, which has one version and no deletes without a timestamp.
    fn count(&mut self, row: &str) -> String {
        let verb = self.rng.pick(&["incr", "incr", "append"]);
        let mut line = format!("{verb} {row}");
        if self.rng.one_in(6) {
            line += " noresult";
        }
        for index in 0..self.rng.between(1, 2) {
            // One column is only incremented, one is only appended to, and one is used by both, so
            // that increments may fail.
            let qualifier = match index {
                1 => "z",
                _ if verb == "append" => "t",
                _ => "c",
            };
            let change = if verb == "append" {
                self.value()
            } else {
                self.rng.pick(&["1", "-1", "0", "7", "9223372036854775807"])
            };
            line += &format!(" {COUNTERS}:{qualifier} {change}");
        }
        line
    }

    fn mutations(&mut self, row: &str) -> String {
        let count = self.rng.between(1, 4);
        let mut inside: Vec<_> = (0..count).map(|_| self.plain(row)).collect();
        // Not two of them: in HBase their new cells are ordered by mutation (docs/differences.md).
        if self.counters && self.rng.one_in(4) {
            let index = self.rng.below(inside.len());
            inside[index] = self.count(row);
        }
        format!("{row} {{ {} }}", inside.join(" ; "))
    }

    fn batch(&mut self) -> String {
        let count = self.rng.between(1, 5);
        let inside: Vec<_> = (0..count)
            .map(|_| {
                let row = self.row();
                self.plain(row)
            })
            .collect();
        format!("batch {{ {} }}", inside.join(" ; "))
    }

    fn check(&mut self) -> String {
        let row = self.row();
        let condition = if self.rng.one_in(3) {
            format!("filter {}", self.filter(1, false))
        } else {
            let family = self.read_family();
            let value = if self.rng.one_in(4) { "null" } else { self.value() };
            format!("{family}:{} {} {value}", self.qualifier(), self.operator())
        };
        let range = if self.time_ranges && self.rng.one_in(5) {
            format!(" range={}", self.time_range())
        } else {
            String::new()
        };
        let then = match self.rng.below(6) {
            0 => format!("mutate {}", self.mutations(row)),
            1 if self.counters => self.count(row),
            _ => self.plain(row),
        };
        format!("check {row} {condition}{range} then {then}")
    }
}
