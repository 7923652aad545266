//! Shapes of traffic: what each does, and what a diagnosis says about it.

/// Shape of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shape {
    /// Gets, puts and short scans of users with hashed keys
    Even,
    /// Events with rising numbers, which all go to the end of the table
    Frontier,
    /// One user with 30 % of the reads and of the counted visits
    HotRow,
    /// One device of a time series with 35 % of the requests
    HotPrefix,
    /// 80 % of the gets in one tenth of the keys, which no prefix describes
    HotRange,
    /// A batch job over evenly hashed keys in a third of every period
    Periodic,
    /// A scan of the whole table, over and over; --rate is in rows per second
    Sweep,
    /// A salt of a field with eight values: some salts have several of them, most have none
    SaltImbalance,
    /// A queue: tasks are put at the end, found by scans from the start, and deleted
    TombstoneHead,
}

/// Texts and statement of a shape.
struct Facts {
    name: &'static str,
    what: &'static str,
    diagnosis: &'static str,
    splitting: &'static str,
    /// Columns and row key; `{salts}` is the number of regions.
    columns: &'static str,
}

/// Users of `even`, `hot-row` and `periodic`.
const USERS: &str = "name STRING FAMILY d QUALIFIER name, city STRING FAMILY d QUALIFIER city, \
                     visits I64 FAMILY d QUALIFIER visits, ROW KEY (HASH(user_id BYTES 4), user_id \
                     STRING)";

impl Shape {
    /// All shapes, in the order of the help.
    pub(crate) const ALL: [Self; 9] = [
        Self::Even,
        Self::Frontier,
        Self::HotRow,
        Self::HotPrefix,
        Self::HotRange,
        Self::Periodic,
        Self::Sweep,
        Self::SaltImbalance,
        Self::TombstoneHead,
    ];

    fn facts(self) -> Facts {
        let facts = |name, what, diagnosis, splitting, columns| Facts {
            name,
            what,
            diagnosis,
            splitting,
            columns,
        };
        match self {
            Self::Even => facts(
                "even",
                "gets, puts and short scans of users with hashed keys",
                "even",
                "nothing to split",
                USERS,
            ),
            Self::Frontier => facts(
                "frontier",
                "several writers put events with rising numbers, all at the end of the table",
                "sequential frontier",
                "does not help: the next event is beyond every split",
                "kind STRING FAMILY d QUALIFIER kind, source STRING FAMILY d QUALIFIER source, ROW \
                 KEY TEXT 'evt_{event_id:12}'",
            ),
            Self::HotRow => facts(
                "hot-row",
                "one celebrity has 30 % of the reads and of the counted visits of all users",
                "hot row",
                "does not help: a row is in one region",
                USERS,
            ),
            Self::HotPrefix => facts(
                "hot-prefix",
                "one device of a time series has 35 % of the requests",
                "hot prefix",
                "helps: the times of the device can be divided",
                "v F64 FAMILY d QUALIFIER v, ROW KEY (device_id STRING, ts TIMESTAMP DESC)",
            ),
            Self::HotRange => facts(
                "hot-range",
                "80 % of the gets are in one tenth of the keys, which no prefix describes",
                "hot range",
                "helps: inside of the range",
                "customer STRING FAMILY d QUALIFIER customer, state STRING FAMILY d QUALIFIER \
                 state, ROW KEY TEXT 'order_{order_id:10}'",
            ),
            Self::Periodic => facts(
                "periodic",
                "a batch job over evenly hashed keys in a third of every period, else little",
                "periodic",
                "does not help: all regions are busy, and idle, together",
                USERS,
            ),
            Self::Sweep => facts(
                "sweep",
                "a scan of the whole table in key order, over and over; --rate in rows per second",
                "full scan sweep",
                "does not help: one region is read at a time",
                "title STRING FAMILY d QUALIFIER title, body STRING FAMILY d QUALIFIER body, ROW \
                 KEY TEXT 'page_{page_id:10}'",
            ),
            Self::SaltImbalance => facts(
                "salt-imbalance",
                "orders salted by a country, of which there are eight: some salts have several",
                "salt imbalance",
                "helps within a salt; another field in the salt helps more",
                "amount F64 FAMILY d QUALIFIER amount, state STRING FAMILY d QUALIFIER state, ROW \
                 KEY (SALT({salts} BY country), country STRING, order_id U64)",
            ),
            Self::TombstoneHead => facts(
                "tombstone-head",
                "a queue: tasks are put at the end, found by scans from the start, and deleted",
                "queue (tombstones at the head)",
                "does not help: the deleted rows stay where every scan begins",
                "what STRING FAMILY d QUALIFIER what, ROW KEY TEXT 'task_{task_id:12}'",
            ),
        }
    }

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns what the traffic does.
    pub(crate) fn what(self) -> &'static str {
        self.facts().what
    }

    /// Returns what a diagnosis of the traffic says.
    pub(crate) fn diagnosis(self) -> &'static str {
        self.facts().diagnosis
    }

    /// Returns whether splitting of the loaded regions helps.
    pub(crate) fn splitting(self) -> &'static str {
        self.facts().splitting
    }

    /// Returns the statement that declares the table, without its splits. The number of regions is
    /// that of the salts, if the key has some; fewer than four cannot differ much.
    pub(super) fn statement(self, regions: u64) -> String {
        const MIN_SALTS: u64 = 4;
        let salts = regions.max(MIN_SALTS).to_string();
        let columns = self.facts().columns.replace("{salts}", &salts);
        format!("CREATE TABLE traffic ({columns})")
    }

    /// Returns the default of `--rows`. A sweep takes half a minute: one that passes a region
    /// several times in the ten seconds of a column of a heat map is not seen as one.
    pub(crate) fn default_rows(self, rate: u64) -> u64 {
        const ROWS: u64 = 4000;
        const SWEEP_SECONDS: u64 = 30;
        const MAX_ROWS: u64 = 1_000_000;
        if self == Self::Sweep { (rate * SWEEP_SECONDS).clamp(ROWS, MAX_ROWS) } else { ROWS }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn names_are_those_of_the_command_line() {
        assert_eq!(Shape::value_variants(), Shape::ALL);
        for shape in Shape::ALL {
            assert_eq!(shape.to_possible_value().unwrap().get_name(), shape.name());
        }
    }

    #[test]
    fn page_lists_all_shapes_with_an_example() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traffic.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let mut table =
            "| shape | what it does | diagnosis | splitting |\n|---|---|---|---|\n".to_owned();
        for shape in Shape::ALL {
            let Facts { name, what, diagnosis, splitting, .. } = shape.facts();
            writeln!(table, "| `{name}` | {what} | {diagnosis} | {splitting} |").unwrap();
            assert!(page.contains(&format!("$ halite traffic {name} ")), "{name}");
        }
        let (before, rest) = page.split_once("<!-- shapes -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        let expected = format!("{before}<!-- shapes -->\n{table}<!-- end -->{after}");
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert_eq!(page, expected, "docs/traffic.md is old; cargo xtask golden --update");
        }
    }
}
