//! Tab at the prompt: commands, words of SQL, tables, columns, functions and settings.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::names::{Names, TableNames};

/// Commands of the prompt.
pub(super) const COMMANDS: [&str; 11] =
    ["\\?", "\\copy", "\\d", "\\dt", "\\e", "\\h", "\\i", "\\o", "\\q", "\\timing", "\\x"];

/// Words that begin a statement.
const FIRST_WORDS: [&str; 26] = [
    "ALTER", "ANALYZE", "BEGIN", "COMMIT", "COPY", "CREATE", "DELETE", "DESCRIBE", "DROP",
    "EXPLAIN", "INSERT", "MOVE", "RESET", "ROLLBACK", "SELECT", "SET", "SHOW", "TABLE", "TRUNCATE",
    "UPDATE", "UPSERT", "VALUES", "WITH", "FLUSH", "COMPACT", "SPLIT",
];

/// Words within a statement.
const WORDS: [&str; 93] = [
    "ADD",
    "ADOPT",
    "ALL",
    "ANALYZE",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BUCKET",
    "BUCKETS",
    "BY",
    "BYTES",
    "CASE",
    "CAST",
    "COLUMN",
    "CONFLICT",
    "COUNTER",
    "CREATE",
    "CROSS",
    "DATE",
    "DECIMAL",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DO",
    "DOUBLE",
    "DROP",
    "ELSE",
    "ENCODING",
    "END",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FAMILY",
    "FIRST",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IF",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAP",
    "NOT",
    "NOTHING",
    "NULL",
    "NULLS",
    "OF",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "RETURNING",
    "RIGHT",
    "ROW",
    "SALT",
    "SELECT",
    "SERIES",
    "SET",
    "SPLIT",
    "STRING",
    "SYSTEM_TIME",
    "TABLE",
    "TABLES",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "UNION",
    "UPDATE",
    "USING",
    "VALUES",
    "VERSIONS",
    "WHERE",
];

/// Words that a table follows.
const BEFORE_TABLES: [&str; 8] =
    ["ANALYZE", "DESCRIBE", "FROM", "INTO", "JOIN", "TABLE", "UPDATE", "COPY"];
/// Words that a setting follows.
const BEFORE_SETTINGS: [&str; 3] = ["SET", "SHOW", "RESET"];

/// Completer of the prompt.
pub(super) struct SqlCompleter {
    pub(super) names: Names,
    /// Lines of the statement before the one that is typed.
    pub(super) before: String,
}

impl Completer for SqlCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let line = &line[..position];
        let start = start_of_word(line);
        let typed = &line[start..];
        let text = format!("{}{}", self.before, &line[..start]);
        let mut found: Vec<String> = candidates(&text, typed, &self.names)
            .into_iter()
            .filter(|name| begins_with(name, typed))
            .collect();
        found.sort_unstable();
        found.dedup();
        Ok((start, found))
    }
}

impl Hinter for SqlCompleter {
    type Hint = String;
}
impl Highlighter for SqlCompleter {}
impl Validator for SqlCompleter {}
impl Helper for SqlCompleter {}

/// Returns where the word at the end of a line begins.
fn start_of_word(line: &str) -> usize {
    let is_part = |letter: char| letter.is_alphanumeric() || "_.:\\\"?".contains(letter);
    line.rfind(|letter| !is_part(letter))
        .map_or(0, |at| at + line[at..].chars().next().map_or(0, char::len_utf8))
}

/// Compares ignoring case, as names without quotes are.
fn begins_with(name: &str, typed: &str) -> bool {
    let mut letters = name.chars();
    typed
        .chars()
        .all(|one| letters.next().is_some_and(|two| one.to_lowercase().eq(two.to_lowercase())))
}

/// Names that statements may use.
pub(super) trait KnownNames {
    /// Returns the tables with their columns.
    fn tables(&self) -> Vec<TableNames>;
    /// Returns the functions.
    fn functions(&self) -> Vec<String>;
    /// Returns the settings.
    fn settings(&self) -> Vec<String>;
}

/// Returns what may stand behind `text`, the statement before the word `typed`.
fn candidates(text: &str, typed: &str, names: &impl KnownNames) -> Vec<String> {
    let begun = text.trim();
    if begun.is_empty() {
        let first = COMMANDS.iter().filter(|_| typed.starts_with('\\'));
        let words = FIRST_WORDS.iter().map(|word| as_typed(word, typed));
        return first.map(|command| (*command).to_owned()).chain(words).collect();
    }
    let last = begun.rsplit(|letter: char| !is_name(letter)).next().unwrap_or_default();
    let is_after = |words: &[&str]| {
        // Of `FROM a` the word before is a; a comma continues the list of tables.
        begun.ends_with(last) && words.iter().any(|word| word.eq_ignore_ascii_case(last))
    };
    if ["\\e", "\\i", "\\o"].contains(&begun) {
        return Vec::new();
    }
    let named = |tables: Vec<TableNames>| tables.into_iter().map(|table| table.name).collect();
    if begun.starts_with('\\') || is_after(&BEFORE_TABLES) {
        return named(names.tables());
    }
    if is_after(&BEFORE_SETTINGS) && !text.to_ascii_uppercase().contains("UPDATE") {
        let word = if last.eq_ignore_ascii_case("SHOW") { Some("TABLES") } else { None };
        let words = word.into_iter().map(|word| as_typed(word, typed));
        return names.settings().into_iter().chain(words).collect();
    }
    let tables = names.tables();
    if let Some((of, _)) = typed.rsplit_once('.') {
        return qualified(&tables, of);
    }
    let words = WORDS.iter().map(|word| as_typed(word, typed));
    let mentioned = tables.iter().filter(|table| is_mentioned(begun, &table.name));
    let columns = mentioned.flat_map(|table| table.columns.iter().cloned());
    let mut found: Vec<String> = words.chain(columns).collect();
    found.extend(names.functions());
    found.extend(named(tables));
    found
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || "_.:\"".contains(letter)
}

/// Returns `true` if a statement names a table.
fn is_mentioned(text: &str, table: &str) -> bool {
    text.split(|letter: char| !is_name(letter)).any(|word| word.eq_ignore_ascii_case(table))
}

/// Returns the columns of a table, or the tables of a namespace, behind its name and a point.
fn qualified(tables: &[TableNames], of: &str) -> Vec<String> {
    let prefix = format!("{of}.");
    let is_of = |table: &&TableNames| table.name.eq_ignore_ascii_case(of);
    let columns = tables.iter().filter(is_of).flat_map(|table| &table.columns);
    let columns = columns.map(|column| format!("{prefix}{column}"));
    let inside = tables.iter().map(|table| &table.name);
    columns.chain(inside.filter(|name| begins_with(name, &prefix)).cloned()).collect()
}

/// Returns a word of SQL in the case in which it was begun.
fn as_typed(word: &str, typed: &str) -> String {
    let is_lower = typed.chars().next().is_some_and(char::is_lowercase);
    if is_lower { word.to_ascii_lowercase() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl KnownNames for Fixed {
        fn tables(&self) -> Vec<TableNames> {
            let table = |name: &str, columns: &[&str]| TableNames {
                name: name.to_owned(),
                columns: columns.iter().map(|&column| column.to_owned()).collect(),
            };
            vec![
                table("inbox", &["receiver", "ts", "\"Body\""]),
                table("readings", &["device", "v"]),
                table("shop.orders", &["id", "total"]),
            ]
        }

        fn functions(&self) -> Vec<String> {
            vec!["round".to_owned()]
        }

        fn settings(&self) -> Vec<String> {
            vec!["halite.direct".to_owned(), "statement_timeout".to_owned()]
        }
    }

    /// Completes the end of a text, of which the last line is typed.
    fn complete(text: &str) -> Vec<String> {
        let (before, line) = text.rsplit_once('\n').unwrap_or(("", text));
        let start = start_of_word(line);
        let typed = &line[start..];
        let before = format!("{before}\n{}", &line[..start]);
        let mut found = candidates(&before, typed, &Fixed);
        found.retain(|name| begins_with(name, typed));
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn first_word_is_of_a_statement_or_a_command() {
        assert_eq!(complete("sel"), ["select"]);
        assert_eq!(complete("UPS"), ["UPSERT"]);
        assert_eq!(complete("\\t"), ["\\timing"]);
        assert_eq!(complete("\\"), COMMANDS);
    }

    #[test]
    fn tables_follow_words_that_name_one() {
        assert_eq!(complete("select * from i"), ["inbox"]);
        assert_eq!(complete("UPSERT INTO "), ["inbox", "readings", "shop.orders"]);
        assert_eq!(complete("select * from shop."), ["shop.orders"]);
        assert_eq!(complete("\\d re"), ["readings"]);
        assert_eq!(complete("\\copy in"), ["inbox"]);
    }

    #[test]
    fn columns_are_those_of_tables_that_the_statement_names() {
        assert_eq!(complete("select * from inbox where rec"), ["receiver"]);
        assert_eq!(
            complete("select device\nfrom readings where d"),
            [
                "date", "decimal", "default", "delete", "desc", "device", "distinct", "do",
                "double", "drop"
            ]
        );
        assert_eq!(complete("select * from inbox where dev"), Vec::<String>::new());
        assert_eq!(complete("select readings.v"), ["readings.v"]);
        assert_eq!(complete("select * from inbox order by \"b"), ["\"Body\""]);
        assert_eq!(complete("select rou"), ["round"]);
    }

    #[test]
    fn settings_follow_set_and_show() {
        assert_eq!(complete("set hal"), ["halite.direct"]);
        assert_eq!(complete("SHOW TAB"), ["TABLES"]);
        assert_eq!(complete("reset "), ["halite.direct", "statement_timeout"]);
        // Of UPDATE it is a column.
        assert_eq!(complete("update inbox set re"), ["readings", "receiver", "returning"]);
    }
}
