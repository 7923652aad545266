//! Statements that are the session's own, by their first words.

use halite_sql::datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use halite_sql::datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{NOT_SUPPORTED, PgError, Result, SYNTAX};

/// Statement of the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// SET of a setting; `None` for its default.
    Set { name: String, value: Option<String> },
    /// SHOW of a setting.
    Show(String),
    /// RESET of all settings, DISCARD ALL.
    ResetAll { tag: &'static str, is_discard: bool },
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT.
    Save(String),
    /// RELEASE of a savepoint.
    Release(String),
    /// ROLLBACK TO a savepoint.
    GoBack(String),
    /// DEALLOCATE; `None` for all.
    Deallocate(Option<String>),
    /// DECLARE .. CURSOR FOR.
    Declare { name: String, is_held: bool, query: String },
    /// FETCH; `None` for all rows.
    Fetch { name: String, rows: Option<usize> },
    /// MOVE; `None` for all rows.
    Move { name: String, rows: Option<usize> },
    /// CLOSE; `None` for all cursors.
    Close(Option<String>),
    /// Accepted, as there is nothing to do: UNLISTEN, transaction modes that hold anyway.
    Nothing(&'static str),
}

/// Word of a statement.
struct Word {
    /// Text: of words without quotes in upper case.
    upper: String,
    /// As it is written, without quotes.
    plain: String,
    /// Line and column.
    place: (u64, u64),
}

/// Returns the first word, in upper case; empty if there is none.
pub(super) fn first_word(text: &str) -> String {
    let words = words(text, 1);
    words.into_iter().next().map_or_else(String::new, |word| word.upper)
}

/// Returns `true` for statements that change something, by their first words.
pub(super) fn is_write(text: &str) -> bool {
    const VERBS: [&str; 13] = [
        "INSERT", "UPSERT", "UPDATE", "DELETE", "MERGE", "COPY", "MOVE", "TRUNCATE", "CREATE",
        "ALTER", "DROP", "COMMENT", "REPLACE",
    ];
    let words = words(text, 4);
    let explained = words.first().is_some_and(|word| word.upper == "EXPLAIN");
    let is_option = |word: &&Word| matches!(word.upper.as_str(), "EXPLAIN" | "VERBOSE" | "ANALYZE");
    let is_run = !explained || words.iter().any(|word| word.upper == "ANALYZE");
    let verb = words.iter().find(|word| !is_option(word));
    is_run && verb.is_some_and(|verb| VERBS.contains(&verb.upper.as_str()))
}

/// Reads a statement; `None` for those of SQL.
///
/// # Errors
/// `42601` for one that is not complete, `0A000` for what the session cannot do, with what to do
/// instead.
pub(super) fn read(text: &str) -> Result<Option<Command>> {
    let words = words(text, 64);
    let upper: Vec<&str> = words.iter().map(|word| word.upper.as_str()).collect();
    let unsupported = |what: &str| Err(PgError::new(NOT_SUPPORTED, what));
    Ok(Some(match upper.as_slice() {
        ["SET", rest @ ..] => set(rest, &words[1..])?,
        ["SHOW", "TRANSACTION", "ISOLATION", "LEVEL"] => {
            Command::Show("transaction_isolation".into())
        }
        ["SHOW", "TIME", "ZONE"] => Command::Show("timezone".into()),
        ["SHOW", "TABLES" | "CREATE" | "ALL" | "SETTINGS", ..] | ["SHOW"] => return Ok(None),
        ["SHOW", ..] => Command::Show(name(&words[1..])),
        ["RESET", "ALL"] => Command::ResetAll { tag: "RESET", is_discard: false },
        ["RESET", _, ..] => Command::Set { name: name(&words[1..]), value: None },
        ["DISCARD", "ALL"] => Command::ResetAll { tag: "DISCARD ALL", is_discard: true },
        ["DISCARD", ..] => Command::Nothing("DISCARD"),
        ["BEGIN", rest @ ..] | ["START", "TRANSACTION", rest @ ..] => {
            check_isolation(rest)?;
            Command::Begin
        }
        ["COMMIT" | "ROLLBACK", "PREPARED", ..] | ["PREPARE", "TRANSACTION", ..] => {
            return unsupported(
                "there are no transactions in two phases; writes are final at once",
            );
        }
        ["ROLLBACK" | "ABORT", rest @ ..] if !rest.contains(&"TO") => Command::Rollback,
        ["COMMIT" | "END", ..] => Command::Commit,
        ["SAVEPOINT", _] => Command::Save(words[1].plain.clone()),
        ["RELEASE", .., _] => Command::Release(words[words.len() - 1].plain.clone()),
        ["ROLLBACK" | "ABORT", .., _] => Command::GoBack(words[words.len() - 1].plain.clone()),
        ["DEALLOCATE", "PREPARE", one] | ["DEALLOCATE", one] => {
            let last = words.last().map_or_else(String::new, |word| word.plain.clone());
            Command::Deallocate((*one != "ALL").then_some(last))
        }
        ["DECLARE", ..] => declare(text, &words)?,
        ["FETCH", ..] => {
            let (name, rows) = cursor_rows(&words)?;
            Command::Fetch { name, rows }
        }
        // MOVE ROW is a statement of SQL.
        ["MOVE", second, ..] if *second != "ROW" => {
            let (name, rows) = cursor_rows(&words)?;
            Command::Move { name, rows }
        }
        ["CLOSE", "ALL"] => Command::Close(None),
        ["CLOSE", _] => Command::Close(Some(words[1].plain.clone())),
        ["UNLISTEN", ..] => Command::Nothing("UNLISTEN"),
        ["LISTEN" | "NOTIFY", ..] => {
            return unsupported("there are no notifications; ask again for what may have changed");
        }
        ["PREPARE" | "EXECUTE", ..] => {
            return unsupported("PREPARE is a message of the protocol here, which drivers send");
        }
        ["LOCK", ..] => return unsupported("there are no locks on tables; a row is written whole"),
        _ => return Ok(None),
    }))
}

fn syntax(text: &str) -> PgError {
    PgError::new(SYNTAX, text)
}

/// `SET [SESSION | LOCAL] name {= | TO} value`, `SET TIME ZONE`, `SET TRANSACTION`.
fn set(upper: &[&str], words: &[Word]) -> Result<Command> {
    match upper {
        ["SESSION", "CHARACTERISTICS", rest @ ..] | ["TRANSACTION", rest @ ..] => {
            check_isolation(rest)?;
            Ok(Command::Nothing("SET"))
        }
        ["SESSION" | "LOCAL", rest @ ..] if !matches!(rest.first(), Some(&("=" | "TO"))) => {
            set(rest, &words[1..])
        }
        ["TIME", "ZONE", ..] => {
            let value = words[2..].iter().map(|word| word.plain.as_str()).collect::<String>();
            Ok(Command::Set { name: "timezone".into(), value: Some(value) })
        }
        ["NAMES", ..] => {
            let value = words.get(1).map(|word| word.plain.clone());
            Ok(Command::Set { name: "client_encoding".into(), value })
        }
        _ => {
            let sign = upper.iter().position(|word| matches!(*word, "=" | "TO"));
            let sign = sign.filter(|sign| *sign > 0 && *sign + 1 < words.len());
            let sign = sign.ok_or_else(|| syntax("SET name = value; SHOW ALL lists the names"))?;
            let value: String = words[sign + 1..].iter().map(|word| word.plain.as_str()).collect();
            let is_default = upper[sign + 1..] == ["DEFAULT"];
            Ok(Command::Set { name: name(&words[..sign]), value: (!is_default).then_some(value) })
        }
    }
}

/// Checks the modes of a transaction: each statement sees what is there when it runs.
fn check_isolation(upper: &[&str]) -> Result<()> {
    if upper.contains(&"SERIALIZABLE") || upper.contains(&"REPEATABLE") {
        return Err(PgError::new(
            NOT_SUPPORTED,
            "a statement sees what is there when it runs, and no snapshot spans several: READ \
             COMMITTED is the highest isolation level",
        ));
    }
    Ok(())
}

/// `DECLARE name [BINARY] [INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query`.
fn declare(text: &str, words: &[Word]) -> Result<Command> {
    let wrong = || syntax("DECLARE name CURSOR [WITH HOLD] FOR query");
    let at = words.iter().position(|word| word.upper == "FOR").ok_or_else(wrong)?;
    let (head, query) = (&words[..at], words.get(at + 1).ok_or_else(wrong)?);
    let is = |word: &str| head.iter().any(|one| one.upper == word);
    let name = head.get(1).map(|word| word.plain.clone()).ok_or_else(wrong)?;
    if !is("CURSOR") {
        return Err(wrong());
    }
    if is("SCROLL") && !is("NO") {
        let what = "cursors go forward only; leave out SCROLL";
        return Err(PgError::new(NOT_SUPPORTED, what));
    }
    let start = offset_of(text, query.place).ok_or_else(wrong)?;
    let is_held = is("WITH") && is("HOLD");
    // Spaces keep the places of errors.
    let blank: String =
        text[..start].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
    Ok(Command::Declare { name, is_held, query: blank + &text[start..] })
}

/// `FETCH [NEXT | n | ALL | FORWARD [n | ALL]] [FROM | IN] name`.
fn cursor_rows(words: &[Word]) -> Result<(String, Option<usize>)> {
    let wrong = || syntax("FETCH [FORWARD] {n | ALL} FROM name");
    let (last, middle) = words[1..].split_last().ok_or_else(wrong)?;
    let mut rows = Some(1);
    for word in middle {
        match word.upper.as_str() {
            "NEXT" | "FORWARD" | "FROM" | "IN" => {}
            "ALL" => rows = None,
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                rows = Some(number.parse().map_err(|_| wrong())?);
            }
            _ => {
                let what = "cursors go forward only: FETCH [FORWARD] {n | ALL} FROM name";
                return Err(PgError::new(NOT_SUPPORTED, what));
            }
        }
    }
    Ok((last.plain.clone(), rows))
}

/// Returns the name of a setting, whose parts points separate, in lower case.
fn name(words: &[Word]) -> String {
    words.iter().map(|word| word.plain.to_ascii_lowercase()).collect()
}

/// Returns the byte at a line and a column, which count letters from 1 on.
fn offset_of(text: &str, (line, column): (u64, u64)) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (offset, _) = text.get(before..)?.char_indices().nth(column.checked_sub(1)?)?;
    Some(before + offset)
}

/// Returns the first words and signs of a statement. Text that has no
/// tokens has no words.
fn words(text: &str, most: usize) -> Vec<Word> {
    // What follows the words that matter is not read, and may be long.
    const MAX_BYTES: usize = 4096;
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut tokens = Vec::new();
    // What comes before a mistake has been collected.
    let _ = Tokenizer::new(&PostgreSqlDialect {}, &text[..end])
        .tokenize_with_location_into_buf(&mut tokens);
    tokens
        .into_iter()
        .filter(|token| {
            !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
        })
        .take(most)
        .map(|token| {
            let place = (token.span.start.line, token.span.start.column);
            match token.token {
                Token::Word(word) if word.quote_style.is_none() => Word {
                    upper: word.value.to_ascii_uppercase(),
                    plain: word.value.to_ascii_lowercase(),
                    place,
                },
                Token::Word(word) => Word { upper: String::new(), plain: word.value, place },
                Token::SingleQuotedString(text) => {
                    Word { upper: String::new(), plain: text, place }
                }
                other => Word { upper: other.to_string(), plain: other.to_string(), place },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Command {
        Command::Set { name: name.into(), value: Some(value.into()) }
    }

    #[test]
    fn settings_are_read() {
        for (text, expected) in [
            ("SET DateStyle = 'ISO, MDY'", Some(set("datestyle", "ISO, MDY"))),
            ("set session halite.full_scan to refuse", Some(set("halite.full_scan", "refuse"))),
            ("SET LOCAL x = 5", Some(set("x", "5"))),
            ("SET TIME ZONE 'UTC'", Some(set("timezone", "UTC"))),
            ("SET NAMES 'utf8'", Some(set("client_encoding", "utf8"))),
            ("SET x TO DEFAULT", Some(Command::Set { name: "x".into(), value: None })),
            ("RESET x", Some(Command::Set { name: "x".into(), value: None })),
            ("SHOW server_version;", Some(Command::Show("server_version".into()))),
            ("SHOW halite.full_scan", Some(Command::Show("halite.full_scan".into()))),
            ("SHOW TABLES", None),
            ("SHOW CREATE TABLE t", None),
            ("SELECT 1", None),
            ("", None),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        assert_eq!(read("SET x").unwrap_err().code, SYNTAX);
    }

    #[test]
    fn transactions_and_cursors_are_read() {
        let cursor = |rows| Ok(Some(Command::Fetch { name: "C".into(), rows }));
        assert_eq!(read("FETCH FORWARD 10 FROM \"C\""), cursor(Some(10)));
        assert_eq!(read("fetch all in \"C\""), cursor(None));
        assert_eq!(read("FETCH \"C\""), cursor(Some(1)));
        assert_eq!(read("FETCH BACKWARD 1 FROM c").unwrap_err().code, NOT_SUPPORTED);
        assert_eq!(
            read("DECLARE c CURSOR\nFOR SELECT '\u{e9}' FROM t"),
            Ok(Some(Command::Declare {
                name: "c".into(),
                is_held: false,
                query: "                \n    SELECT '\u{e9}' FROM t".into(),
            }))
        );
        assert_eq!(read("DECLARE c SCROLL CURSOR FOR SELECT 1").unwrap_err().code, NOT_SUPPORTED);
        assert_eq!(read("MOVE ROW IN t (a = 1) TO (a = 2)"), Ok(None));
        assert_eq!(read("begin read only"), Ok(Some(Command::Begin)));
        assert!(read("BEGIN ISOLATION LEVEL SERIALIZABLE").is_err());
        assert_eq!(read("ROLLBACK"), Ok(Some(Command::Rollback)));
        assert_eq!(read("ROLLBACK TO SAVEPOINT a"), Ok(Some(Command::GoBack("a".into()))));
        assert_eq!(read("RELEASE \"_pg3_1\""), Ok(Some(Command::Release("_pg3_1".into()))));
        assert_eq!(read("DEALLOCATE ALL"), Ok(Some(Command::Deallocate(None))));
        assert_eq!(
            read("DEALLOCATE \"_pg3_0\""),
            Ok(Some(Command::Deallocate(Some("_pg3_0".into()))))
        );
    }

    #[test]
    fn writes_are_told_by_their_first_word() {
        for text in
            ["insert into t values (1)", "/* x */ UPSERT INTO t", "EXPLAIN ANALYZE DELETE FROM t"]
        {
            assert!(is_write(text), "{text}");
        }
        for text in ["SELECT 1", "EXPLAIN DELETE FROM t", "WITH x AS (SELECT 1) SELECT 2", ""] {
            assert!(!is_write(text), "{text}");
        }
    }
}
