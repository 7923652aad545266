//! Parser for blocks of lint pages: statements, with the contents and the load of the table in
//! comments.
//!
//! ```text
//! -- keys: user_{001..200}_{a|b}          row keys; a range counts up, a choice repeats in turn
//! -- keys in order: user_{001..200}       row keys in write order
//! -- row: user_{001..200} d:v=7@3 d!@4    cells of rows in scan order; {..} in a cell specifies several
//! -- row: ...                             =text, =text*1000 (repeated), ! (deleted), @version, ~milliseconds to live
//! -- load: rows 1000000, writes 500, servers 3
//! ```

use bytes::Bytes;
use halite_rowkey::KeySchema;
use halite_rowkey::language::{Statement, statements};
use halite_rowkey_tools::lint::{
    CellSample, Finding, KeySample, LintInput, LoadEstimate, lint, lint_declaration, lint_struct,
};
use halite_types::cell::{CellParts, TAG_TTL, write_tag};
use halite_types::key::to_bytes_binary;
use halite_types::{CellType, CellsBuilder, Row};

/// Returns the lint findings for a block.
pub(crate) fn findings(language: &str, text: &str) -> Vec<Finding> {
    if language == "java" {
        return lint_struct(text);
    }
    let (sample, cells, load) = (sample(text), cells(text), load(text));
    let known =
        LintInput { sample: sample.as_ref(), cells: cells.as_ref(), load, ..LintInput::default() };
    if text
        .lines()
        .find(|line| !line.starts_with("--"))
        .is_some_and(|line| line.starts_with("ROW KEY"))
    {
        let key: KeySchema = text
            .parse()
            .unwrap_or_else(|error: halite_rowkey::LanguageError| panic!("{}", error.render(text)));
        return lint(&LintInput { key: Some(&key), ..known });
    }
    let found = statements(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
    let of_statement = |statement: &Statement| match statement {
        Statement::CreateTable(table) => lint_declaration(table, &known),
        other => panic!("a page shows CREATE TABLE or ROW KEY, and this is {other:?}"),
    };
    found.iter().flat_map(of_statement).collect()
}

/// Returns the text after `word` in comments.
fn comment_lines<'t>(text: &'t str, word: &str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        line.trim().strip_prefix("-- ")?.strip_prefix(word)?.strip_prefix(": ")
    })
}

fn sample(text: &str) -> Option<KeySample> {
    let in_order: Vec<_> = comment_lines(text, "keys in order").flat_map(expand).collect();
    let is_in_arrival_order = !in_order.is_empty();
    let keys: Vec<_> = in_order
        .into_iter()
        .chain(comment_lines(text, "keys").flat_map(expand))
        .map(|key| Bytes::from(to_bytes_binary(&key)))
        .collect();
    (!keys.is_empty()).then_some(KeySample { keys, is_in_arrival_order })
}

fn load(text: &str) -> LoadEstimate {
    let mut load = LoadEstimate::default();
    for part in comment_lines(text, "load").flat_map(|line| line.split(", ")) {
        match part.split_once(' ').unwrap_or_else(|| panic!("{part:?} is a word and a number")) {
            ("rows", rows) => load.rows = Some(number(rows)),
            ("writes", writes) => load.writes_per_second = Some(number(writes)),
            ("servers", servers) => load.servers = Some(number(servers)),
            other => panic!("no load is {other:?}"),
        }
    }
    load
}

fn cells(text: &str) -> Option<CellSample> {
    let mut seen = CellSample::default();
    for line in comment_lines(text, "row") {
        let mut words = line.split_whitespace();
        let key = words.next().expect("a row has a key");
        let cells: Vec<String> = words.flat_map(expand).collect();
        for key in expand(key) {
            seen.add(&row(&to_bytes_binary(&key), &cells));
        }
    }
    seen.end_of_range();
    (seen.rows() > 0).then_some(seen)
}

fn row(key: &[u8], cells: &[String]) -> Row {
    let mut builder = CellsBuilder::default();
    for cell in cells {
        let (cell, ttl) = cell
            .split_once('~')
            .map_or((cell.as_str(), None), |(cell, ms)| (cell, Some(number::<i64>(ms))));
        let (cell, timestamp) =
            cell.rsplit_once('@').map_or((cell, 1), |(cell, version)| (cell, number(version)));
        let (name, value) =
            cell.split_once('=').map_or((cell, None), |(name, value)| (name, Some(value)));
        let (family, qualifier) =
            name.trim_end_matches('!').split_once(':').unwrap_or((name.trim_end_matches('!'), ""));
        let cell_type = match value {
            Some(_) => CellType::Put,
            None if name.contains(':') => CellType::DeleteColumn,
            None => CellType::DeleteFamily,
        };
        let (value, times) = value
            .unwrap_or("")
            .rsplit_once('*')
            .map_or((value.unwrap_or(""), 1), |(value, times)| (value, number(times)));
        let (value, mut tags) = (to_bytes_binary(value).repeat(times), Vec::new());
        ttl.into_iter().for_each(|ms| write_tag(&mut tags, TAG_TTL, &ms.to_be_bytes()));
        let (family, qualifier) = (family.as_bytes(), qualifier.as_bytes());
        builder.push_parts(CellParts {
            row: key,
            family,
            qualifier,
            timestamp,
            cell_type,
            value: &value,
            tags: &tags,
        });
    }
    Row::new(builder.finish())
}

/// Returns the texts of a pattern: as many as its longest range has elements, with choices repeated
/// in turn.
fn expand(pattern: &str) -> Vec<String> {
    let pieces: Vec<Vec<String>> = pattern
        .split('{')
        .flat_map(|piece| {
            piece.split_once('}').map_or(vec![vec![piece.to_owned()]], |(inside, behind)| {
                vec![choices(inside), vec![behind.to_owned()]]
            })
        })
        .collect();
    let count = pieces.iter().map(Vec::len).max().unwrap_or(1);
    (0..count)
        .map(|at| pieces.iter().map(|choices| choices[at % choices.len()].as_str()).collect())
        .collect()
}

fn choices(inside: &str) -> Vec<String> {
    match inside.split_once("..") {
        None => inside.split('|').map(str::to_owned).collect(),
        Some((first, last)) => {
            let (width, [first, last]) = (first.len(), [first, last].map(number::<u64>));
            (first..=last).map(|number| format!("{number:0width$}")).collect()
        }
    }
}

fn number<N: std::str::FromStr>(digits: &str) -> N {
    digits.parse().unwrap_or_else(|_| panic!("{digits:?} is no number"))
}
