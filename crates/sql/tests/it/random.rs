//! Random queries on tables of random rows: the answers are those of DataFusion on a copy of the
//! rows in memory. `HALITE_SQL_CASES` sets the number of queries, `HALITE_SQL_SEED` the first seed.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use halite_sql::datafusion::datasource::MemTable;

use crate::store::TestStore;

/// Declared keys; every one has the same columns.
pub(crate) const KEYS: [&str; 6] = [
    "ROW KEY (a STRING, b I32 DESC, c STRING NULLABLE)",
    "ROW KEY (SALT(4 BY a), a STRING, b I32, c STRING NULLABLE)",
    "ROW KEY (b I32, SALT(3 BY a, b), c STRING NULLABLE, a STRING)",
    "ROW KEY (HASH(a), a STRING, b I32, c STRING NULLABLE DESC)",
    "ROW KEY (b I32 DESC, a STRING DESC, c STRING NULLABLE)",
    "ROW KEY (SALT(4), c STRING NULLABLE, a STRING, b I32) PROFILE ORDERED",
];

const TEXTS: [&str; 8] = ["", "a", "ab", "abc", "b", "b%", "user_1", "userX1"];

/// Numbers from a seed.
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        // Steele, Lea and Flood's SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = usize::try_from((mixed ^ mixed >> 31) >> 33).expect("31 bits");
        mixed % most
    }

    pub(crate) fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn number(&mut self) -> i64 {
        [-2_147_483_648, -2, -1, 0, 1, 2, 3, 2_147_483_647][self.below(8)]
    }

    fn text(&mut self) -> String {
        format!("'{}'", self.pick(&TEXTS))
    }

    pub(crate) fn condition(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 9 } else { 14 }) {
            0 | 1 => format!("a {} {}", self.comparison(), self.text()),
            2 => format!("b {} {}", self.comparison(), self.number()),
            3 => format!("c {} {}", self.comparison(), self.text()),
            4 => format!("v {} {}", self.comparison(), self.number()),
            5 => format!("w {} {}", self.comparison(), self.text()),
            6 => {
                let column = self.pick(&["c", "v", "w", "a"]);
                format!("{column} IS {}NULL", self.pick(&["", "NOT "]))
            }
            7 => {
                let column = self.pick(&["a", "c", "w"]);
                let pattern = self.pick(&["a%", "user\\_1%", "user_1%", "%b", "ab", "_", "b\\%%"]);
                format!("{column} {}LIKE '{pattern}'", self.pick(&["", "", "NOT "]))
            }
            8 => match self.below(8) {
                0 => format!("a IN ({}, {})", self.text(), self.text()),
                1 => format!("v IN ({}, {})", self.number(), self.number()),
                3 => {
                    let op = self.pick(&["<", "<=", ">", ">=", "=", "<>"]);
                    format!("(a, b) {op} ({}, {})", self.text(), self.number())
                }
                4 => {
                    let op = self.pick(&["<", "<=", ">", ">="]);
                    let order = self.pick(&["a, b, c", "b, a, c", "c, a, b"]);
                    let value = |field: &str, random: &mut Self| match field {
                        "b" => random.number().to_string(),
                        _ => random.text(),
                    };
                    let values: Vec<String> =
                        order.split(", ").map(|field| value(field, self)).collect();
                    format!("({order}) {op} ({})", values.join(", "))
                }
                5 => {
                    let row =
                        |random: &mut Self| format!("({}, {})", random.text(), random.number());
                    let not = self.pick(&["", "", "NOT "]);
                    format!("(a, b) {not}IN ({}, {}, {})", row(self), row(self), row(self))
                }
                // Ranges of the first fields, which become several queries.
                6 => {
                    let term = |random: &mut Self| {
                        let (a, b) = (random.comparison(), random.comparison());
                        format!("(a {a} {} AND b {b} {})", random.text(), random.number())
                    };
                    let terms: Vec<String> = (0..2 + self.below(4)).map(|_| term(self)).collect();
                    format!("({})", terms.join(" OR "))
                }
                // Longer lists are no ORs, and this number is none of I64.
                2 => format!(
                    "b IN ({}, {}, 9223372036854775808, {}, 1)",
                    self.number(),
                    self.number(),
                    self.number()
                ),
                _ => format!("b BETWEEN {} AND {}", self.number(), self.number()),
            },
            9 | 10 => {
                format!("({} AND {})", self.condition(depth - 1), self.condition(depth - 1))
            }
            11 | 12 => {
                format!("({} OR {})", self.condition(depth - 1), self.condition(depth - 1))
            }
            _ => format!("NOT ({})", self.condition(depth - 1)),
        }
    }

    fn comparison(&mut self) -> &'static str {
        self.pick(&["=", "=", "<", "<=", ">", ">=", "<>"])
    }

    /// Returns a query of `{}`, and whether its order is total.
    pub(crate) fn query(&mut self) -> (String, bool) {
        let columns = self.pick(&["*", "a, b, c", "v", "w, a", "b, w", "count(*), sum(v)"]);
        let mut sql = format!("SELECT {columns} FROM {{}}");
        if self.below(5) > 0 {
            let _ = write!(sql, " WHERE {}", self.condition(2));
            if self.below(2) == 0 {
                let _ = write!(sql, " AND {}", self.condition(1));
            }
        }
        if columns.starts_with("count") || self.below(2) == 0 {
            return (sql, false);
        }
        let order = self.pick(&[
            "a, b DESC, c NULLS FIRST",
            "a DESC, b, c DESC NULLS LAST",
            "a, b, c",
            "b, a, c NULLS FIRST",
            "b DESC, a DESC, c NULLS FIRST",
            "c NULLS FIRST, a, b",
            "v, a, b, c",
        ]);
        let _ = write!(sql, " ORDER BY {order}");
        if self.below(2) == 0 {
            let _ = write!(sql, " LIMIT {}", self.below(12));
        }
        if self.below(4) == 0 {
            let _ = write!(sql, " OFFSET {}", self.below(4));
        }
        (sql, true)
    }

    /// Returns a query of aggregates, or of the first rows of groups, and whether its order is
    /// total.
    pub(crate) fn aggregate(&mut self) -> (String, bool) {
        let filter = match self.below(4) {
            0 => String::new(),
            1 => format!(" WHERE a {} {}", self.comparison(), self.text()),
            2 => format!(" WHERE b {} {}", self.comparison(), self.number()),
            _ => format!(" WHERE {}", self.condition(1)),
        };
        let of = self.pick(&["a", "b", "a, b", "b, a", "c", "c, a", "a, b, c"]);
        match self.below(4) {
            0 => (format!("SELECT DISTINCT {of} FROM {{}}{filter}"), false),
            1 => {
                let rest = self.pick(&[
                    "a, b, c NULLS FIRST",
                    "a, b DESC, c NULLS FIRST",
                    "a DESC, b DESC, c DESC NULLS LAST",
                    "a, b, c",
                    "b, a, c NULLS FIRST",
                    "b DESC, c NULLS FIRST, a",
                ]);
                let of = rest.split([',', ' ']).next().unwrap_or_default();
                let columns = "a, b, c, v, w";
                (
                    format!(
                        "SELECT DISTINCT ON ({of}) {columns} FROM {{}}{filter} ORDER BY {rest}"
                    ),
                    true,
                )
            }
            form => {
                let values = self.pick(&[
                    "min(b)",
                    "max(b)",
                    "min(b), max(b)",
                    "max(a)",
                    "min(a), max(a), min(b)",
                    "max(c)",
                    "min(c), count(c)",
                    "count(v)",
                    "sum(v), count(w)",
                    "min(v), max(w)",
                    "count(*), max(b)",
                    "count(DISTINCT a)",
                    "count(DISTINCT b)",
                ]);
                if form == 2 {
                    (format!("SELECT {values} FROM {{}}{filter}"), false)
                } else {
                    (format!("SELECT {of}, {values} FROM {{}}{filter} GROUP BY {of}"), false)
                }
            }
        }
    }

    /// Returns a join of two scans, by parts of the key.
    pub(crate) fn join(&mut self) -> (String, bool) {
        let on = self.pick(&[
            "s.a = t.a",
            "s.b = t.b",
            "s.a = t.a AND s.b = t.b",
            "s.a = t.a AND s.b = t.b AND s.c = t.c",
            "s.c = t.c AND s.a = t.a",
            "s.v = t.b",
            "s.w = t.a AND s.b = t.b",
            "s.a = t.a AND s.v = t.v",
            "s.a = t.a AND s.b < t.b",
        ]);
        let side = self.pick(&["", "", "LEFT ", "RIGHT ", "FULL "]);
        let inner = format!("(SELECT * FROM {{}} WHERE {}) AS s", self.condition(1));
        let outer = match self.below(3) {
            0 => format!("(SELECT * FROM {{}} WHERE {}) AS t", self.condition(1)),
            _ => "{} AS t".to_owned(),
        };
        let (first, second) = if self.below(2) == 0 { (inner, outer) } else { (outer, inner) };
        let sql = match self.below(5) {
            0 => {
                let (of, list) = [("a", "w"), ("b", "v"), ("c", "a")][self.below(3)];
                let inner = self.condition(1);
                format!(
                    "SELECT a, v FROM {{}} WHERE {of} IN (SELECT {list} FROM {{}} WHERE {inner})"
                )
            }
            _ => format!(
                "SELECT s.a, s.b, s.v, t.a, t.b, t.c, t.w FROM {first} {side}JOIN {second} ON {on}"
            ),
        };
        (sql, false)
    }

    fn rows(&mut self, table: &str) -> String {
        let rows: Vec<String> = (0..80)
            .map(|_| {
                let c = if self.below(3) == 0 { "NULL".to_owned() } else { self.text() };
                let v =
                    if self.below(3) == 0 { "NULL".to_owned() } else { self.number().to_string() };
                let w = if self.below(3) == 0 { "NULL".to_owned() } else { self.text() };
                // A row needs a cell to exist.
                format!("({}, {}, {c}, {v}, {w}, true)", self.text(), self.number())
            })
            .collect();
        format!("LOAD INTO {table} (a, b, c, v, w, x) VALUES {}", rows.join(", "))
    }
}

pub(crate) fn number_of(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns queries of all kinds, one for each seed, and whether each has an order.
pub(crate) fn queries(seeds: Range<u64>) -> Vec<(String, bool)> {
    let query = |seed: u64| {
        let mut random = Seeded(seed);
        let at = random.below(KEYS.len());
        let (sql, is_ordered) = match seed % 3 {
            0 => random.query(),
            1 => random.aggregate(),
            _ => random.join(),
        };
        (sql.replace("{}", &format!("t{at}")), is_ordered)
    };
    seeds.map(query).collect()
}

/// Returns the rows of each query, sorted if it has no order.
pub(crate) fn answers(store: &TestStore, queries: &[(String, bool)]) -> Vec<Vec<String>> {
    queries.iter().map(|(sql, is_ordered)| answer(store, sql, *is_ordered)).collect()
}

fn answer(store: &TestStore, sql: &str, is_ordered: bool) -> Vec<String> {
    if is_ordered { store.rows(sql) } else { sorted(store, sql) }
}

/// Returns the rows of a query that has no order, sorted.
pub(crate) fn sorted(store: &TestStore, sql: &str) -> Vec<String> {
    let mut rows = store.rows(sql);
    rows.sort();
    rows
}

/// Creates the tables, and copies of their rows in memory.
pub(crate) fn tables(store: &TestStore) {
    for (at, key) in KEYS.iter().enumerate() {
        let table = format!("t{at}");
        store
            .run(&format!("CREATE TABLE {table} (v I32, w STRING FAMILY g, x BOOL, {key})"))
            .unwrap_or_else(|error| panic!("{key}: {error}"));
        store.run(&Seeded(at as u64).rows(&table)).expect("rows");
        store.runtime.block_on(async {
            let session = store.sql.session();
            let frame = session.sql(&format!("SELECT * FROM {table}")).await.expect("a query");
            let schema = Arc::clone(frame.schema().inner());
            let batches = frame.collect().await.expect("rows");
            let copy = MemTable::try_new(schema, vec![batches]).expect("a table");
            session.register_table(format!("m{at}").as_str(), Arc::new(copy)).expect("a table");
        });
    }
}

/// Compares the answers to random queries with those of the copies.
fn compare(query: impl Fn(&mut Seeded) -> (String, bool)) {
    let (cases, first) = (number_of("HALITE_SQL_CASES", 600), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    tables(&store);
    for seed in first..first + cases {
        let mut random = Seeded(seed);
        let at = random.below(KEYS.len());
        let (sql, is_ordered) = query(&mut random);
        let answer = |table: &str| answer(&store, &sql.replace("{}", table), is_ordered);
        let expected = answer(&format!("m{at}"));
        for direct in ["on", "off"] {
            store.sql.change(|settings| settings.set("halite.direct", direct)).expect("a setting");
            let found = answer(&format!("t{at}"));
            assert_eq!(found, expected, "seed {seed}, {}, direct {direct}: {sql}", KEYS[at]);
        }
    }
}

#[test]
fn answers_are_those_of_the_rows_in_memory() {
    compare(Seeded::query);
}

#[test]
fn aggregates_are_those_of_the_rows_in_memory() {
    compare(Seeded::aggregate);
}

#[test]
fn joins_are_those_of_the_rows_in_memory() {
    compare(Seeded::join);
}
