//! Random writes beside a map in memory: counts and rows are those of the map.
//! `HALITE_SQL_CASES` sets the number of statements, `HALITE_SQL_SEED` the seed.

use std::collections::BTreeMap;

use crate::random::{Seeded, number_of};
use crate::store::TestStore;

/// Declared keys and columns: with a marker, with a witness, with salts.
const TABLES: [&str; 3] = [
    "v I64, w STRING, n I64 COUNTER, ROW KEY (a STRING, b I32 DESC)",
    "v I64, w STRING, n I64 COUNTER, one I8 NOT NULL DEFAULT 1, ROW KEY (SALT(4 BY a), a STRING, b I32)",
    "v I64, w STRING ENCODING ORDERED, n I64 COUNTER FAMILY f, ROW KEY (b I32, a STRING)",
];

type Key = (String, i32);

/// Row of the model.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cells {
    v: Option<i64>,
    w: Option<String>,
    n: i64,
}

/// Conditions whose meaning both sides know.
#[derive(Clone, Copy, Debug)]
enum Where {
    Key,
    KeyAnd(i64),
    Below(i64),
    NoText,
    Odd,
    Text,
}

struct Case<'s> {
    chance: &'s mut Seeded,
    table: String,
    rows: BTreeMap<Key, Cells>,
}

impl Case<'_> {
    fn key(&mut self) -> Key {
        let a = self.chance.pick(&["", "a", "b", "ab"]).to_owned();
        (a, i32::try_from(self.chance.below(4)).expect("a number") - 1)
    }

    fn value(&mut self) -> Option<i64> {
        (self.chance.below(4) > 0)
            .then(|| i64::try_from(self.chance.below(7)).expect("a number") - 3)
    }

    fn text(&mut self) -> Option<String> {
        (self.chance.below(3) > 0).then(|| self.chance.pick(&["", "x", "Y", "it''s"]).to_owned())
    }

    fn condition(&mut self) -> (Where, Key) {
        let number = i64::try_from(self.chance.below(6)).expect("a number") - 2;
        let one = match self.chance.below(7) {
            0 | 1 => Where::Key,
            2 => Where::KeyAnd(number),
            3 => Where::Below(number),
            4 => Where::NoText,
            5 => Where::Odd,
            _ => Where::Text,
        };
        (one, self.key())
    }

    /// Writes one statement, and does it to the model; returns text and expected count.
    fn statement(&mut self) -> (String, usize) {
        match self.chance.below(6) {
            0 => self.upsert(),
            1 => self.insert(),
            2 => self.conflict(),
            3 | 4 => self.update(),
            _ => self.delete(),
        }
    }

    fn upsert(&mut self) -> (String, usize) {
        let (key, v, w) = (self.key(), self.value(), self.text());
        let sets_w = self.chance.below(2) == 0;
        let row = self.rows.entry(key.clone()).or_default();
        row.v = v;
        if sets_w {
            row.w.clone_from(&w);
        }
        let (columns, values) = if sets_w {
            ("a, b, v, w", format!("{}, {}", number(v), quoted(w.as_ref())))
        } else {
            ("a, b, v", number(v))
        };
        let (a, b) = &key;
        (format!("UPSERT INTO {} ({columns}) VALUES ('{a}', {b}, {values})", self.table), 1)
    }

    fn insert(&mut self) -> (String, usize) {
        let (mut values, mut count) = (Vec::new(), 0);
        for _ in 0..=self.chance.below(3) {
            let ((a, b), v) = (self.key(), self.value());
            values.push(format!("('{a}', {b}, {})", number(v)));
            if let std::collections::btree_map::Entry::Vacant(row) = self.rows.entry((a, b)) {
                row.insert(Cells { v, ..Cells::default() });
                count += 1;
            }
        }
        let rows = values.join(", ");
        let table = &self.table;
        (format!("INSERT INTO {table} (a, b, v) VALUES {rows} ON CONFLICT DO NOTHING"), count)
    }

    fn conflict(&mut self) -> (String, usize) {
        let ((a, b), v) = (self.key(), self.value());
        let table = self.table.clone();
        if self.chance.below(2) == 0 {
            self.rows.entry((a.clone(), b)).or_default().n += 2;
            let set = format!("n = {table}.n + excluded.n");
            let text = format!(
                "INSERT INTO {table} (a, b, n) VALUES ('{a}', {b}, 2) ON CONFLICT (a, b) DO UPDATE \
                 SET {set}"
            );
            return (text, 1);
        }
        let row = self.rows.entry((a.clone(), b));
        row.and_modify(|row| {
            row.v = row.v.zip(v).map(|(one, other)| one + other);
            row.w = row.w.as_ref().map(|text| format!("{text}+"));
        })
        .or_insert_with(|| Cells { v, ..Cells::default() });
        let text = format!(
            "INSERT INTO {table} (a, b, v) VALUES ('{a}', {b}, {}) ON CONFLICT DO UPDATE SET v = \
             {table}.v + excluded.v, w = w || '+'",
            number(v)
        );
        (text, 1)
    }

    fn update(&mut self) -> (String, usize) {
        let (condition, key) = self.condition();
        let change = self.chance.below(4);
        let v = self.value();
        let mut count = 0;
        for (_, row) in self.rows.iter_mut().filter(|(of, row)| holds(condition, &key, of, row)) {
            count += 1;
            match change {
                0 => row.v = v,
                1 => row.v = row.v.map(|v| v + 1),
                2 => row.n += 3,
                _ => (row.w, row.v) = (None, Some(row.n)),
            }
        }
        let set = match change {
            0 => format!("v = {}", number(v)),
            1 => "v = v + 1".to_owned(),
            2 => "n = n + 3".to_owned(),
            _ => "w = NULL, v = n".to_owned(),
        };
        (format!("UPDATE {} SET {set} WHERE {}", self.table, text_of(condition, &key)), count)
    }

    fn delete(&mut self) -> (String, usize) {
        let (condition, key) = self.condition();
        let before = self.rows.len();
        self.rows.retain(|of, row| !holds(condition, &key, of, row));
        // A delete by the whole key does not look whether the row is there.
        let count = match condition {
            Where::Key => 1,
            _ => before - self.rows.len(),
        };
        (format!("DELETE FROM {} WHERE {}", self.table, text_of(condition, &key)), count)
    }

    fn expected(&self) -> Vec<String> {
        let rows = self.rows.iter().map(|((a, b), row)| {
            let v = row.v.map_or_else(|| "NULL".to_owned(), |v| v.to_string());
            let w = row.w.as_ref().map_or("NULL".to_owned(), |w| w.replace("''", "'"));
            format!("{a}|{b}|{v}|{w}|{}", row.n)
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        rows
    }
}

fn holds(condition: Where, key: &Key, of: &Key, row: &Cells) -> bool {
    match condition {
        Where::Key => of == key,
        Where::KeyAnd(number) => of == key && row.v == Some(number),
        Where::Below(number) => row.v.is_some_and(|v| v < number),
        Where::NoText => row.w.is_none(),
        Where::Odd => row.v.is_some_and(|v| v.rem_euclid(2) == 1) && *of.0 >= *"a",
        Where::Text => row.w.as_ref().is_some_and(|w| w.starts_with('x')) || row.n > 2,
    }
}

fn text_of(condition: Where, (a, b): &Key) -> String {
    match condition {
        Where::Key => format!("a = '{a}' AND b = {b}"),
        Where::KeyAnd(number) => format!("a = '{a}' AND b = {b} AND v = {number}"),
        Where::Below(number) => format!("v < {number}"),
        Where::NoText => "w IS NULL".to_owned(),
        Where::Odd => "(v + 100) % 2 = 1 AND a >= 'a'".to_owned(),
        Where::Text => "w LIKE 'x%' OR n > 2".to_owned(),
    }
}

fn number(v: Option<i64>) -> String {
    v.map_or_else(|| "NULL".to_owned(), |v| v.to_string())
}

fn quoted(w: Option<&String>) -> String {
    w.map_or_else(|| "NULL".to_owned(), |w| format!("'{w}'"))
}

#[test]
fn random_writes_do_what_the_model_does() {
    let (cases, seed) = (number_of("HALITE_SQL_CASES", 600), number_of("HALITE_SQL_SEED", 1));
    let store = TestStore::new();
    for (at, columns) in TABLES.iter().enumerate() {
        let table = format!("t{at}");
        store.run(&format!("CREATE TABLE {table} ({columns})")).expect(columns);
        let mut chance = Seeded(seed + at as u64);
        let mut case = Case { chance: &mut chance, table: table.clone(), rows: BTreeMap::new() };
        let mut script = Vec::new();
        for _ in 0..cases / TABLES.len() as u64 {
            let (text, count) = case.statement();
            script.push(text.clone());
            let context = || format!("seed {seed}, table {columns}:\n{};", script.join(";\n"));
            let answer = store.run(&text).unwrap_or_else(|error| panic!("{error}\n{}", context()));
            let tag = answer.tag.unwrap_or_default();
            assert!(tag.ends_with(&format!(" {count}")), "{tag} and not {count}\n{}", context());
            let mut rows = store.rows(&format!("SELECT a, b, v, w, n FROM {table}"));
            rows.sort();
            assert_eq!(rows, case.expected(), "{}", context());
        }
    }
}
