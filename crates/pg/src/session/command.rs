//! Statements that are the session's own, by their first words.

use halite_sql::datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use halite_sql::datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use halite_sql::{CopyStatement, TransactionStatement, byte_at, check_query, transaction_modes};

use super::settings::READ_ONLY_DEFAULT;
use crate::error::{LIMIT_EXCEEDED, NOT_SUPPORTED, PgError, Result, SYNTAX};

/// Statement of the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// SET of a setting; `None` for its default.
    Set { name: String, value: Option<String>, is_local: bool },
    /// SHOW of a setting.
    Show(String),
    /// RESET of all settings, DISCARD ALL.
    ResetAll { tag: &'static str, is_discard: bool },
    /// BEGIN, COMMIT, ROLLBACK.
    Transaction(TransactionStatement),
    /// SET TRANSACTION.
    Modes { read_only: Option<bool> },
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
    /// COPY, with its text.
    Copy(Box<CopyStatement>, String),
    /// Accepted, as there is nothing to do: UNLISTEN, transaction modes that hold anyway.
    Nothing(&'static str),
}

/// Bytes of a statement, as in `halite-sql`.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// First words of the statements that may be the session's own.
const OWN: [&str; 24] = [
    "COPY",
    "SET",
    "SHOW",
    "RESET",
    "DISCARD",
    "BEGIN",
    "START",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT",
    "RELEASE",
    "DEALLOCATE",
    "DECLARE",
    "FETCH",
    "MOVE",
    "CLOSE",
    "UNLISTEN",
    "LISTEN",
    "NOTIFY",
    "PREPARE",
    "EXECUTE",
    "LOCK",
];

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
    // Comments in front of it may be long; what follows it is not read.
    let mut end = 256;
    loop {
        let piece = &text[..text.floor_char_boundary(end)];
        let mut tokens = Vec::new();
        // What comes before a mistake has been collected.
        let _ = Tokenizer::new(&PostgreSqlDialect {}, piece)
            .tokenize_with_location_into_buf(&mut tokens);
        let is_space = |token: &TokenWithSpan| {
            matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
        };
        let first = tokens.iter().position(|token| !is_space(token));
        // The end of the piece may cut the last one.
        let is_whole = piece.len() == text.len() || first.is_some_and(|at| at + 1 < tokens.len());
        if is_whole {
            let first = first.map(|at| tokens.swap_remove(at));
            return first.map_or_else(String::new, |token| word(token).upper);
        }
        end *= 4;
    }
}

/// Reads a statement; `None` for those of SQL.
///
/// # Errors
/// `42601` for one that is not complete, `0A000` for what the session cannot do, with what to do
/// instead.
pub(super) fn read(text: &str) -> Result<Option<Command>> {
    if !OWN.contains(&first_word(text).as_str()) {
        return Ok(None);
    }
    let words = words(text)?;
    if words.first().is_some_and(|word| word.upper == "COPY") {
        let copy = CopyStatement::read(text)?;
        return Ok(Some(Command::Copy(Box::new(copy), text.to_owned())));
    }
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
        ["RESET", _, ..] => setting(name(&words[1..]), None),
        ["DISCARD", "ALL"] => Command::ResetAll { tag: "DISCARD ALL", is_discard: true },
        ["DISCARD", "TEMP" | "TEMPORARY"] => return Ok(None),
        ["DISCARD", ..] => Command::Nothing("DISCARD"),
        ["PREPARE", "TRANSACTION", ..] => {
            return unsupported(
                "there are no transactions in two phases; writes are final at once",
            );
        }
        ["BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT", ..] => {
            match TransactionStatement::read(&upper)? {
                Some(statement) => Command::Transaction(statement),
                None => go_back(&upper, &words)?,
            }
        }
        ["SAVEPOINT", _] => Command::Save(words[1].plain.clone()),
        ["RELEASE", "SAVEPOINT", _] | ["RELEASE", _] => {
            Command::Release(words[words.len() - 1].plain.clone())
        }
        ["SAVEPOINT" | "RELEASE", ..] => return Err(syntax("SAVEPOINT name, RELEASE name")),
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

/// SET for the session.
fn setting(name: String, value: Option<String>) -> Command {
    Command::Set { name, value, is_local: false }
}

fn syntax(text: &str) -> PgError {
    PgError::new(SYNTAX, text)
}

/// `SET [SESSION | LOCAL] name {= | TO} value`, `SET TIME ZONE`, `SET TRANSACTION`.
fn set(upper: &[&str], words: &[Word]) -> Result<Command> {
    // The name of a setting comes before a sign.
    let is_sign = |rest: &[&str]| matches!(rest.first(), Some(&("=" | "TO")));
    match upper {
        ["SESSION", "CHARACTERISTICS", "AS", "TRANSACTION", rest @ ..] => {
            let Some(is_on) = transaction_modes(rest)? else { return Ok(Command::Nothing("SET")) };
            let value = Some(if is_on { "on" } else { "off" }.to_owned());
            Ok(setting(READ_ONLY_DEFAULT.to_owned(), value))
        }
        ["TRANSACTION", rest @ ..] => Ok(Command::Modes { read_only: transaction_modes(rest)? }),
        ["SESSION", rest @ ..] if !is_sign(rest) => set(rest, &words[1..]),
        ["LOCAL", rest @ ..] if !is_sign(rest) => Ok(match set(rest, &words[1..])? {
            Command::Set { name, value, .. } => Command::Set { name, value, is_local: true },
            other => other,
        }),
        ["TIME", "ZONE", ..] => {
            let value = words[2..].iter().map(|word| word.plain.as_str()).collect::<String>();
            Ok(setting("timezone".into(), Some(value)))
        }
        ["NAMES", ..] => {
            let value = words.get(1).map(|word| word.plain.clone());
            Ok(setting("client_encoding".into(), value))
        }
        _ => {
            let sign = upper.iter().position(|word| matches!(*word, "=" | "TO"));
            let sign = sign.filter(|sign| *sign > 0 && *sign + 1 < words.len());
            let sign = sign.ok_or_else(|| syntax("SET name = value; SHOW ALL lists the names"))?;
            let value: String = words[sign + 1..].iter().map(|word| word.plain.as_str()).collect();
            let is_default = upper[sign + 1..] == ["DEFAULT"];
            Ok(setting(name(&words[..sign]), (!is_default).then_some(value)))
        }
    }
}

/// `ROLLBACK [WORK | TRANSACTION] TO [SAVEPOINT] name`.
fn go_back(upper: &[&str], words: &[Word]) -> Result<Command> {
    let rest = match upper {
        [_, "WORK" | "TRANSACTION", rest @ ..] | [_, rest @ ..] => rest,
        [] => &[],
    };
    match rest {
        ["TO", "SAVEPOINT", _] | ["TO", _] => {
            Ok(Command::GoBack(words[words.len() - 1].plain.clone()))
        }
        _ => Err(syntax("START TRANSACTION, or ROLLBACK TO a savepoint, is expected here")),
    }
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
    let start = byte_at(text, query.place).ok_or_else(wrong)?;
    let is_held = is("WITH") && is("HOLD");
    // Spaces keep the places of errors.
    let blank: String =
        text[..start].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
    let query = blank + &text[start..];
    // What is no query would change something, and FETCH is no place for that.
    check_query(&query)?;
    Ok(Command::Declare { name, is_held, query })
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

/// Returns the words and signs of a statement.
///
/// # Errors
/// `42601` for text that has none, `54000` for text that is longer than a statement may be.
fn words(text: &str) -> Result<Vec<Word>> {
    if text.len() > MAX_TEXT_BYTES {
        let text = format!("the statement has {} bytes, and the limit is 1 MiB", text.len());
        return Err(PgError::new(LIMIT_EXCEEDED, text));
    }
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| syntax(&error.message))?;
    let has_text = |token: &TokenWithSpan| {
        !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
    };
    Ok(tokens.into_iter().filter(has_text).map(word).collect())
}

fn word(token: TokenWithSpan) -> Word {
    let place = (token.span.start.line, token.span.start.column);
    match token.token {
        Token::Word(word) if word.quote_style.is_none() => Word {
            upper: word.value.to_ascii_uppercase(),
            plain: word.value.to_ascii_lowercase(),
            place,
        },
        Token::Word(word) => Word { upper: String::new(), plain: word.value, place },
        Token::SingleQuotedString(text) => Word { upper: String::new(), plain: text, place },
        other => Word { upper: other.to_string(), plain: other.to_string(), place },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Command {
        setting(name.into(), Some(value.into()))
    }

    fn local(name: &str, value: &str) -> Command {
        Command::Set { name: name.into(), value: Some(value.into()), is_local: true }
    }

    #[test]
    fn settings_are_read() {
        for (text, expected) in [
            ("SET DateStyle = 'ISO, MDY'", Some(set("datestyle", "ISO, MDY"))),
            ("set session halite.full_scan to refuse", Some(set("halite.full_scan", "refuse"))),
            ("SET LOCAL x = 5", Some(local("x", "5"))),
            ("SET LOCAL TIME ZONE 'UTC'", Some(local("timezone", "UTC"))),
            ("SET LOCAL = 5", Some(set("local", "5"))),
            ("SET TIME ZONE 'UTC'", Some(set("timezone", "UTC"))),
            ("SET NAMES 'utf8'", Some(set("client_encoding", "utf8"))),
            ("SET x TO DEFAULT", Some(setting("x".into(), None))),
            ("RESET x", Some(setting("x".into(), None))),
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
        let begin = TransactionStatement::Begin { read_only: Some(true) };
        assert_eq!(read("begin read only"), Ok(Some(Command::Transaction(begin))));
        let long = format!("/* {} */ begin /* {} */ read only", "x".repeat(5000), "y".repeat(5000));
        assert_eq!(read(&long), Ok(Some(Command::Transaction(begin))));
        assert_eq!(
            read("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"),
            Ok(Some(set(READ_ONLY_DEFAULT, "on")))
        );
        assert!(read("BEGIN ISOLATION LEVEL SERIALIZABLE").is_err());
        let rollback = Command::Transaction(TransactionStatement::Rollback);
        assert_eq!(read("ROLLBACK"), Ok(Some(rollback)));
        assert_eq!(read("COMMIT AND CHAIN").unwrap_err().code, NOT_SUPPORTED);
        for text in ["ROLLBACK TO a b", "RELEASE a b", "COMMIT x", "START x"] {
            assert_eq!(read(text).unwrap_err().code, SYNTAX, "{text}");
        }
        let of_delete = read("DECLARE c CURSOR FOR DELETE FROM t WHERE k = 1");
        assert_eq!(of_delete.unwrap_err().code, NOT_SUPPORTED);
        assert_eq!(read("ROLLBACK TO SAVEPOINT a"), Ok(Some(Command::GoBack("a".into()))));
        assert_eq!(read("RELEASE \"_pg3_1\""), Ok(Some(Command::Release("_pg3_1".into()))));
        assert_eq!(read("DEALLOCATE ALL"), Ok(Some(Command::Deallocate(None))));
        assert_eq!(
            read("DEALLOCATE \"_pg3_0\""),
            Ok(Some(Command::Deallocate(Some("_pg3_0".into()))))
        );
    }
}
