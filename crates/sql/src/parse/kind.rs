//! Kind of a statement, by its first words.

use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use halite_types::suggest::misspelled;

use super::comment::{self, Comment};
use super::explain_options::ExplainOptions;
use super::local::{self, CreateAs, Local};
use super::tokens::tokens_of;
use super::transaction::TransactionStatement;
use crate::error::{Result, SqlError, SqlState};

/// Kind of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// No words.
    Nothing,
    /// Statement of the row-key language.
    Language,
    /// SHOW TABLES, of a schema if one is given.
    ShowTables(Option<String>),
    /// DESCRIBE.
    Describe(Vec<TokenWithSpan>),
    /// ANALYZE of a table.
    Analyze(Vec<TokenWithSpan>),
    /// SHOW of a setting; of all without a name.
    Show(Option<String>),
    /// SET.
    Set {
        /// Name of the setting.
        name: String,
        /// Value as text.
        value: String,
    },
    /// RESET.
    Reset(String),
    /// BEGIN, COMMIT, ROLLBACK: accepted around reads.
    Transaction(TransactionStatement),
    /// SELECT, VALUES, WITH.
    Query(Vec<TokenWithSpan>),
    /// EXPLAIN of a query or a statement that writes.
    Explain(Explain),
    /// INSERT, UPSERT, UPDATE, DELETE, MOVE ROW.
    Write(Vec<TokenWithSpan>),
    /// CREATE TABLE .. ROW KEY .. AS.
    CreateAs(CreateAs),
    /// A statement about temporary tables and views.
    Local(Local),
    /// COMMENT ON.
    Comment(Comment),
}

/// EXPLAIN of a query or a statement that writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explain {
    pub(crate) options: ExplainOptions,
    /// `true` if the statement writes.
    pub(crate) writes: bool,
    /// Tokens of the statement.
    pub(crate) of: Vec<TokenWithSpan>,
}

impl Explain {
    /// Returns `true` if rows are written: the statement writes, and is run.
    pub(crate) fn is_write(&self) -> bool {
        self.writes && self.options.analyze
    }
}

/// Statements of SQL that this dialect does not have.
const OTHERS: [&str; 12] = [
    "MERGE",
    "COPY",
    "DROP",
    "REPLACE",
    "ALTER",
    "GRANT",
    "REVOKE",
    "SAVEPOINT",
    "LISTEN",
    "NOTIFY",
    "UNLISTEN",
    "LOCK",
];
/// First words of statements.
const FIRST_WORDS: [&str; 22] = [
    "SELECT", "WITH", "VALUES", "EXPLAIN", "DESCRIBE", "SHOW", "SET", "RESET", "CREATE", "ALTER",
    "DROP", "TRUNCATE", "BEGIN", "COMMIT", "ROLLBACK", "INSERT", "UPSERT", "UPDATE", "DELETE",
    "ANALYZE", "DISCARD", "COMMENT",
];

/// Returns what a statement is.
///
/// # Errors
/// `Syntax` for words that begin none, `NotSupported` for statements of SQL that this dialect does
/// not have, with what to do instead.
pub(crate) fn kind_of(mut tokens: Vec<TokenWithSpan>) -> Result<Kind> {
    while tokens.last().is_some_and(|token| token.token == Token::SemiColon) {
        tokens.pop();
    }
    let Some(first) = tokens.first() else { return Ok(Kind::Nothing) };
    let words: Vec<String> = tokens.iter().take(4).map(word).collect();
    let word_at = |at: usize| words.get(at).map_or("", String::as_str);
    match word_at(0) {
        "SELECT" | "WITH" | "VALUES" | "TABLE" => Ok(Kind::Query(tokens)),
        "" if first.token == Token::LParen => Ok(Kind::Query(tokens)),
        "EXPLAIN" => explain(&tokens),
        "CREATE" => match (word_at(1), word_at(2), word_at(3)) {
            ("TABLE", ..) => created(&tokens),
            ("SCHEMA", ..) => Ok(Kind::Language),
            ("TEMP" | "TEMPORARY", "TABLE", _) => local::create_temp(&tokens, 1).map(Kind::Local),
            ("VIEW", ..) => local::create_view(&tokens, 1, false).map(Kind::Local),
            ("TEMP" | "TEMPORARY", "VIEW", _) => {
                local::create_view(&tokens, 2, false).map(Kind::Local)
            }
            ("OR", "REPLACE", "VIEW") => local::create_view(&tokens, 3, true).map(Kind::Local),
            ("OR", "REPLACE", "TEMP" | "TEMPORARY") if is_view(tokens.get(4)) => {
                local::create_view(&tokens, 4, true).map(Kind::Local)
            }
            _ => Err(unsupported(first, &format!("CREATE {}", word_at(1)))),
        },
        "ALTER" | "FLUSH" | "COMPACT" | "SPLIT" if word_at(1) == "TABLE" => Ok(Kind::Language),
        "DROP" if matches!(word_at(1), "TABLE" | "SCHEMA") => Ok(Kind::Language),
        "DROP" if word_at(1) == "VIEW" => local::drop_view(&tokens).map(Kind::Local),
        "COMMENT" => comment::comment(&tokens).map(Kind::Comment),
        "DISCARD" => local::discard(&tokens).map(Kind::Local),
        "TRUNCATE" => Ok(Kind::Language),
        "SHOW" => show(&tokens, &words),
        "DESCRIBE" | "DESC" => {
            let skipped = if word_at(1) == "TABLE" && tokens.len() > 2 { 2 } else { 1 };
            Ok(Kind::Describe(tokens.split_off(skipped)))
        }
        "ANALYZE" | "ANALYSE" => {
            let skipped = if word_at(1) == "TABLE" && tokens.len() > 2 { 2 } else { 1 };
            let table = tokens.split_off(skipped);
            if table.is_empty() {
                let at = first_place(&tokens);
                let text = "ANALYZE is followed by the name of a table";
                return Err(SqlError::new(SqlState::Syntax, text).at(at.line, at.column));
            }
            Ok(Kind::Analyze(table))
        }
        "SET" => set(&tokens),
        "RESET" => Ok(Kind::Reset(dotted(&tokens[1..]))),
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" => transaction(&tokens),
        "INSERT" | "UPSERT" | "UPDATE" | "DELETE" | "MOVE" => Ok(Kind::Write(tokens)),
        verb if OTHERS.contains(&verb) => Err(unsupported(first, verb)),
        other => {
            let near = misspelled(other, FIRST_WORDS.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let shown = first.token.to_string();
            let at = first.span.start;
            let text = format!("no statement begins with {shown}{near}");
            Err(SqlError::new(SqlState::Syntax, text).at(at.line, at.column))
        }
    }
}

fn first_place(tokens: &[TokenWithSpan]) -> Location {
    tokens.first().map_or(Location::empty(), |token| token.span.start)
}

fn transaction(tokens: &[TokenWithSpan]) -> Result<Kind> {
    let words: Vec<String> = tokens.iter().map(sign_or_word).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let at = tokens[0].span.start;
    match TransactionStatement::read(&words).map_err(|error| error.at(at.line, at.column))? {
        Some(statement) => Ok(Kind::Transaction(statement)),
        None if words.contains(&"TO") => Err(unsupported(&tokens[0], "SAVEPOINT")),
        None => {
            let text = "START is followed by TRANSACTION";
            Err(SqlError::new(SqlState::Syntax, text).at(at.line, at.column))
        }
    }
}

impl Kind {
    /// Returns `true` for statements that change rows or tables. `text` is that of the statement.
    pub(crate) fn is_change(&self, text: &str) -> bool {
        match self {
            Self::Write(_) | Self::Analyze(_) | Self::CreateAs(_) | Self::Comment(_) => true,
            Self::Explain(explain) => explain.is_write(),
            // What it makes would stay after ROLLBACK.
            Self::Local(local) => !matches!(local, Local::Discard { .. }),
            Self::Language => !is_show_create(text),
            Self::Nothing
            | Self::ShowTables(_)
            | Self::Describe(_)
            | Self::Show(_)
            | Self::Set { .. }
            | Self::Reset(_)
            | Self::Transaction(_)
            | Self::Query(_) => false,
        }
    }
}

/// Checks that a text is one query: SELECT, VALUES or WITH, as a cursor has.
///
/// # Errors
/// As a statement has them; `NotSupported` for other statements.
pub fn check_query(text: &str) -> Result<()> {
    match kind_of(tokens_of(text)?)? {
        Kind::Query(_) => Ok(()),
        _ => Err(SqlError::unsupported("a cursor is over a query: SELECT, VALUES or WITH")),
    }
}

/// Returns `true` for SHOW CREATE TABLE, which is the statement of the row-key language that only
/// reads.
pub(crate) fn is_show_create(text: &str) -> bool {
    tokens_of(text).is_ok_and(|tokens| tokens.first().map(word).is_some_and(|word| word == "SHOW"))
}

fn unsupported(at: &TokenWithSpan, what: &str) -> SqlError {
    let what = what.trim_end();
    let instead = match what {
        "MERGE" => "INSERT .. ON CONFLICT (key) DO UPDATE SET .. writes rows that may be there",
        "REPLACE" => "UPSERT INTO t (columns) VALUES (..) writes over a row that is there",
        "COPY" => {
            "it is a statement of the port for clients of PostgreSQL, and \\copy one of halite sql; \
             INSERT INTO t SELECT .. copies rows of a query"
        }
        "SAVEPOINT" => "there are no transactions: every statement is final",
        "LISTEN" | "NOTIFY" | "UNLISTEN" => {
            "rows are read again: keys that end in a time serve SELECT .. WHERE time > $1"
        }
        "LOCK" => {
            "there are no locks of tables; conditions of UPDATE and DELETE hold when each row is \
             written"
        }
        "CREATE SEQUENCE" => {
            "numbers come from a COUNTER, INSERT .. ON CONFLICT (key) DO UPDATE SET n = t.n + 1 \
             RETURNING n, and keys without an order from uuid()"
        }
        "CREATE TRIGGER" | "CREATE RULE" => {
            "what follows a write is written by the program that wrote it"
        }
        "CREATE INDEX" | "CREATE UNIQUE" => {
            "a table whose key begins with the columns of its questions is the index"
        }
        "CREATE FUNCTION" | "CREATE PROCEDURE" => {
            "functions are registered in Rust, with SqlContext::session"
        }
        "CREATE TABLE .. AS" => {
            "a table has a key, CREATE TABLE t (columns, ROW KEY (..)) AS SELECT ..; CREATE TEMP \
             TABLE t AS SELECT .. is in memory and of the session"
        }
        "CREATE MATERIALIZED" => {
            "CREATE TABLE t (columns, ROW KEY (..)) AS SELECT .. keeps rows, CREATE VIEW a query"
        }
        "CREATE USER" | "CREATE ROLE" | "GRANT" | "REVOKE" => {
            "users and their roles are lines of the file of --pg-users, by halite pg-user"
        }
        _ => {
            "tables are declared by CREATE TABLE .. ROW KEY (..), and changed by ALTER TABLE and DROP \
             TABLE"
        }
    };
    let text = format!("{what} is not part of this dialect: {instead}");
    SqlError::unsupported(text).at(at.span.start.line, at.span.start.column)
}

/// CREATE TABLE of the row-key language, with or without the rows of a query.
fn created(tokens: &[TokenWithSpan]) -> Result<Kind> {
    let Some(create) = local::created_as(tokens) else { return Ok(Kind::Language) };
    let is_key = |pair: &[TokenWithSpan]| {
        ["ROW", "PRIMARY"].contains(&word(&pair[0]).as_str()) && word(&pair[1]) == "KEY"
    };
    if tokens.windows(2).any(is_key) {
        return Ok(Kind::CreateAs(create));
    }
    Err(unsupported(&tokens[0], "CREATE TABLE .. AS"))
}

fn is_view(token: Option<&TokenWithSpan>) -> bool {
    token.is_some_and(|token| word(token) == "VIEW")
}

fn explain(tokens: &[TokenWithSpan]) -> Result<Kind> {
    let (options, at) = ExplainOptions::read(tokens)?;
    let explained = |writes, of| Ok(Kind::Explain(Explain { options, writes, of }));
    match kind_of(tokens[at..].to_vec())? {
        Kind::Query(of) => return explained(false, of),
        Kind::Write(of) => return explained(true, of),
        _ => {}
    }
    let place = tokens.get(at).unwrap_or(&tokens[0]).span.start;
    let text = "EXPLAIN is followed by a query or a statement that writes: EXPLAIN [ANALYZE] \
                [VERBOSE] SELECT .., EXPLAIN (FORMAT json) ..";
    Err(SqlError::new(SqlState::Syntax, text).at(place.line, place.column))
}

fn show(tokens: &[TokenWithSpan], words: &[String]) -> Result<Kind> {
    match words.get(1).map_or("", String::as_str) {
        "CREATE" => Ok(Kind::Language),
        "TABLES" if tokens.len() == 2 => Ok(Kind::ShowTables(None)),
        "TABLES" if matches!(words.get(2).map_or("", String::as_str), "FROM" | "IN") => {
            Ok(Kind::ShowTables(Some(dotted(&tokens[3..]))))
        }
        "ALL" | "SETTINGS" => Ok(Kind::Show(None)),
        "" => {
            let at = tokens[0].span.start;
            let text = "SHOW is followed by TABLES, CREATE TABLE t, or a setting";
            Err(SqlError::new(SqlState::Syntax, text).at(at.line, at.column))
        }
        _ => Ok(Kind::Show(Some(dotted(&tokens[1..])))),
    }
}

/// `SET [SESSION] name {= | TO} value`.
fn set(tokens: &[TokenWithSpan]) -> Result<Kind> {
    let skipped = if tokens.get(1).map(word).is_some_and(|word| word == "SESSION") { 2 } else { 1 };
    let rest = &tokens[skipped.min(tokens.len())..];
    if let [time, zone, value] = rest
        && (word(time).as_str(), word(zone).as_str()) == ("TIME", "ZONE")
    {
        let value = match &value.token {
            Token::SingleQuotedString(text) => text.clone(),
            _ if word(value) == "LOCAL" => "default".to_owned(),
            other => other.to_string(),
        };
        return Ok(Kind::Set { name: "TimeZone".to_owned(), value });
    }
    let sign = rest.iter().position(|token| token.token == Token::Eq || word(token) == "TO");
    let Some(sign) = sign.filter(|sign| *sign > 0 && *sign + 1 < rest.len()) else {
        let at = tokens[0].span.start;
        let text = "SET name = value; SELECT * FROM halite.settings lists the names";
        return Err(SqlError::new(SqlState::Syntax, text).at(at.line, at.column));
    };
    let value = rest[sign + 1..].iter().map(|token| match &token.token {
        Token::SingleQuotedString(text) => text.clone(),
        other => other.to_string(),
    });
    Ok(Kind::Set { name: dotted(&rest[..sign]), value: value.collect() })
}

/// Returns an unquoted word in upper case; empty for anything else.
pub(super) fn word(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => String::new(),
    }
}

/// Returns an unquoted word in upper case, a sign as it is; empty for quoted words.
fn sign_or_word(token: &TokenWithSpan) -> String {
    match &token.token {
        Token::Word(_) => word(token),
        other => other.to_string(),
    }
}

/// Returns a name such as `halite.full_scan`.
fn dotted(tokens: &[TokenWithSpan]) -> String {
    let part = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => word.value.clone(),
        Token::SingleQuotedString(text) => text.clone(),
        other => other.to_string(),
    };
    tokens.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tokens_of;

    fn kind(text: &str) -> Result<Kind> {
        kind_of(tokens_of(text)?)
    }

    #[test]
    fn first_words_tell_the_kind() {
        assert_eq!(kind(" -- only a comment\n;;"), Ok(Kind::Nothing));
        assert!(matches!(kind("select 1"), Ok(Kind::Query(_))));
        assert!(matches!(kind("(SELECT 1)"), Ok(Kind::Query(_))));
        assert_eq!(kind("CREATE TABLE t (a I32, ROW KEY (b STRING))"), Ok(Kind::Language));
        for text in [
            "show create table t;",
            "DROP TABLE IF EXISTS t",
            "truncate t",
            "CREATE SCHEMA s",
            "DROP SCHEMA s",
            "ALTER TABLE t DROP COLUMN c",
            "SPLIT TABLE t AT ('m')",
        ] {
            assert_eq!(kind(text), Ok(Kind::Language), "{text}");
        }
        assert_eq!(kind("SHOW TABLES FROM ns"), Ok(Kind::ShowTables(Some("ns".to_owned()))));
        assert_eq!(kind("show halite.full_scan"), Ok(Kind::Show(Some("halite.full_scan".into()))));
        let set = Kind::Set { name: "halite.bad_cells".into(), value: "null".into() };
        assert_eq!(kind("SET halite.bad_cells = 'null'"), Ok(set.clone()));
        assert_eq!(kind("SET SESSION halite.bad_cells TO null"), Ok(set));
        assert!(matches!(
            kind("EXPLAIN ANALYZE VERBOSE SELECT 1"),
            Ok(Kind::Explain(Explain { options, writes: false, .. }))
                if options.analyze && options.verbose
        ));
        let begin = TransactionStatement::Begin { read_only: None };
        assert_eq!(kind("begin;"), Ok(Kind::Transaction(begin)));
        for text in [
            "CREATE VIEW v AS SELECT 1",
            "create or replace temp view v (a) as (SELECT 1)",
            "CREATE TEMP TABLE t AS SELECT 1 AS a",
            "CREATE TEMPORARY TABLE IF NOT EXISTS t (a I64, b DECIMAL(3, 1))",
            "DROP VIEW IF EXISTS a, b",
            "DISCARD ALL",
        ] {
            assert!(matches!(kind(text), Ok(Kind::Local(_))), "{text}");
        }
        let text = "CREATE TABLE t (a I64, ROW KEY (b STRING)) AS SELECT 1 AS a, 'x' AS b";
        assert!(matches!(kind(text), Ok(Kind::CreateAs(_))));
        let Ok(Kind::Comment(comment)) = kind("COMMENT ON COLUMN s.t.c IS 'it''s'") else {
            panic!("a comment")
        };
        let column = comment.column.map(|column| column.value);
        assert_eq!((comment.table.len(), column.as_deref()), (2, Some("c")));
        assert_eq!(comment.text.as_deref(), Some("it's"));
        assert!(matches!(
            kind("COMMENT ON TABLE t IS NULL"),
            Ok(Kind::Comment(Comment { column: None, text: None, .. }))
        ));
        for text in ["DELETE FROM t", "update t SET a = 1", "UPSERT INTO t VALUES (1)"] {
            assert!(matches!(kind(text), Ok(Kind::Write(_))), "{text}");
        }
    }

    #[test]
    fn other_statements_are_refused_with_a_reason() {
        let state = |text| kind(text).unwrap_err().state;
        for text in [
            "MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE",
            "SAVEPOINT s",
            "ROLLBACK TO s",
            "COMMIT AND CHAIN",
            "CREATE TABLE t AS SELECT 1",
            "CREATE MATERIALIZED VIEW v AS SELECT 1",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
            "COPY t TO '/tmp/x'",
            "DROP SEQUENCE s",
        ] {
            assert_eq!(state(text), SqlState::NotSupported, "{text}");
        }
        assert_eq!(state("SELEC 1"), SqlState::Syntax);
        assert!(kind("SELEC 1").unwrap_err().message.contains("did you mean SELECT?"));
        assert_eq!(state("EXPLAIN SHOW TABLES"), SqlState::Syntax);
        assert_eq!(state("SET x"), SqlState::Syntax);
        for text in [
            "COMMENT",
            "COMMENT ON TABLE t",
            "COMMENT ON COLUMN c IS 'x'",
            "COMMENT ON TABLE t IS 5",
            "COMMENT ON TABLE t IS 'x' 'y'",
            "CREATE TEMP TABLE t",
            "CREATE VIEW v AS 5",
            "DROP VIEW a b",
            "DISCARD PLANS",
        ] {
            assert_eq!(state(text), SqlState::Syntax, "{text}");
        }
        for text in [
            "COMMENT ON SCHEMA s IS 'x'",
            "CREATE TEMP TABLE t (a I64, ROW KEY (b STRING))",
            "CREATE TEMP TABLE t (a I64) WITH (VERSIONS = 3)",
            "CREATE TEMP TABLE s.t AS SELECT 1",
        ] {
            assert_eq!(state(text), SqlState::NotSupported, "{text}");
        }
    }
}
