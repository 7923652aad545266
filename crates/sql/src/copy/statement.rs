//! The statement: `COPY t (columns) FROM STDIN`, `COPY {t | (query)} TO STDOUT`, and its options.

use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{Result, SqlError, SqlState};
use crate::parse::{byte_at, check_query, is_word};

/// COPY between a client and a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyStatement {
    /// What is copied.
    pub source: CopySource,
    /// `true` for rows from the client.
    pub is_from: bool,
    /// How a row is written.
    pub options: CopyOptions,
}

/// What is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// Table, with its columns as a statement names them; none for all.
    Table {
        /// Name, as a statement has it.
        name: String,
        /// Columns.
        columns: Vec<String>,
    },
    /// Rows of a query, whose places are those in the statement.
    Query(String),
}

/// Form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Fields with a delimiter between them, and escapes with a backslash.
    Text,
    /// Comma-separated values.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// First line with the names of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// None.
    No,
    /// Written, and passed over.
    Yes,
    /// Passed over if the names are those of the columns, else an error.
    Match,
}

/// How a row is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// Form.
    pub format: CopyFormat,
    /// Between two fields.
    pub delimiter: u8,
    /// Field that is NULL.
    pub null: String,
    /// First line.
    pub header: Header,
    /// Around fields of CSV that have a delimiter in them.
    pub quote: u8,
    /// In front of a quote in such a field.
    pub escape: u8,
}

const SYNTAX: &str = "COPY t [(columns)] FROM STDIN, COPY {t | (query)} TO STDOUT, \
                      [WITH (FORMAT csv, HEADER, DELIMITER ',', NULL '', QUOTE '\"', ESCAPE '\"')]";

impl CopyStatement {
    /// Reads a statement whose first word is COPY.
    ///
    /// # Errors
    /// What is wrong with it, with its place; `NotPermitted` for files and programs of the server.
    pub fn read(text: &str) -> Result<Self> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().map_err(
            |error| {
                let at = error.location;
                SqlError::new(SqlState::Syntax, error.message).at(at.line, at.column)
            },
        )?;
        let is_text = |token: &TokenWithSpan| {
            !matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
        };
        let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(is_text).collect();
        Reader { text, tokens: &tokens, at: 1 }.statement()
    }

    /// Reads what follows `\copy`, where a file of the client is in place of STDIN and STDOUT.
    /// Returns it as the statement to run, its text, and the file; `None` for standard input and
    /// output.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_file(text: &str) -> Result<(Self, String, Option<String>)> {
        let text = format!("COPY {text}");
        let mut tokens = Vec::new();
        // The name of a file may be anything.
        let _ = Tokenizer::new(&PostgreSqlDialect {}, &text)
            .tokenize_with_location_into_buf(&mut tokens);
        let mut depth = 0i64;
        let end = tokens.iter().find(|token| {
            depth += i64::from(token.token == Token::LParen);
            depth -= i64::from(token.token == Token::RParen);
            depth == 0 && (is_word(&token.token, "FROM") || is_word(&token.token, "TO"))
        });
        let wrong = || SqlError::new(SqlState::Syntax, "\\copy t FROM 'file' [options]");
        let end = end.ok_or_else(wrong)?;
        let end_word = if is_word(&end.token, "FROM") { "STDIN" } else { "STDOUT" };
        let start = byte_at(&text, place_of(end)).ok_or_else(wrong)? + end.token.to_string().len();
        let (head, rest) = text.split_at(start);
        let rest = rest.trim_start();
        let (file, options) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').ok_or_else(wrong)?,
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        if file.is_empty() {
            return Err(wrong());
        }
        let is_standard = ["stdin", "stdout", "pstdin", "pstdout"]
            .iter()
            .any(|name| !rest.starts_with('\'') && file.eq_ignore_ascii_case(name));
        let text = format!("{head} {end_word} {options}");
        Ok((Self::read(&text)?, text, (!is_standard).then(|| file.to_owned())))
    }

    /// Returns the text of the query whose rows are copied.
    pub fn query(&self) -> String {
        match &self.source {
            CopySource::Query(text) => text.clone(),
            CopySource::Table { name, columns } if columns.is_empty() => {
                format!("SELECT * FROM {name}")
            }
            CopySource::Table { name, columns } => {
                format!("SELECT {} FROM {name}", columns.join(", "))
            }
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl Reader<'_> {
    fn statement(mut self) -> Result<CopyStatement> {
        let mut is_binary = self.takes("BINARY");
        let source =
            if self.peek() == Some(&Token::LParen) { self.query()? } else { self.table()? };
        let is_from = match (self.takes("FROM"), self.takes("TO")) {
            (true, _) => true,
            (_, true) => false,
            _ => return Err(self.wrong(SYNTAX)),
        };
        if is_from && matches!(source, CopySource::Query(_)) {
            return Err(self.wrong("rows are copied into a table, not into a query"));
        }
        let (end, other) = if is_from { ("STDIN", "STDOUT") } else { ("STDOUT", "STDIN") };
        if !self.takes(end) && !self.takes(other) {
            return Err(self.no_file());
        }
        self.takes("WITH");
        is_binary |= self.takes("BINARY");
        let mut options = Given::default();
        if self.peek() == Some(&Token::LParen) {
            self.at += 1;
            loop {
                self.option(&mut options)?;
                match self.next() {
                    Some(Token::Comma) => {}
                    Some(Token::RParen) => break,
                    _ => return Err(self.wrong(SYNTAX)),
                }
            }
        } else {
            // The form before PostgreSQL 9.0, which people still write.
            while self.peek().is_some() {
                self.option(&mut options)?;
            }
        }
        if self.peek().is_some() {
            return Err(self.wrong("COPY ends here; a condition is one of COPY (SELECT ..) TO"));
        }
        if is_binary {
            options.format = Some(CopyFormat::Binary);
        }
        Ok(CopyStatement { source, is_from, options: options.checked(is_from)? })
    }

    /// Name of a table, and columns.
    fn table(&mut self) -> Result<CopySource> {
        let mut name = String::new();
        while let Some(Token::Word(_) | Token::Period | Token::Colon) = self.peek() {
            // A word ends the name unless a sign joins it.
            if !name.is_empty()
                && !name.ends_with(['.', ':'])
                && matches!(self.peek(), Some(Token::Word(_)))
            {
                break;
            }
            name.push_str(&self.next().map_or_else(String::new, ToString::to_string));
        }
        if name.is_empty() {
            return Err(self.wrong(SYNTAX));
        }
        let mut columns = Vec::new();
        if self.peek() == Some(&Token::LParen) {
            self.at += 1;
            loop {
                match self.next() {
                    Some(Token::Word(word)) => columns.push(word.to_string()),
                    _ => return Err(self.wrong("columns are named here: COPY t (a, b) ..")),
                }
                match self.next() {
                    Some(Token::Comma) => {}
                    Some(Token::RParen) => break,
                    _ => return Err(self.wrong("columns are named here: COPY t (a, b) ..")),
                }
            }
        }
        Ok(CopySource::Table { name, columns })
    }

    /// Query in parentheses.
    fn query(&mut self) -> Result<CopySource> {
        let first = self.at + 1;
        let mut depth = 0usize;
        while let Some(token) = self.next() {
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let last = self.at.saturating_sub(1);
        let place = |at: usize| {
            let token = self.tokens.get(at)?;
            byte_at(self.text, place_of(token))
        };
        let (Some(start), Some(end), 0) = (place(first), place(last), depth) else {
            return Err(self.wrong("the parenthesis in front of the query is not closed"));
        };
        // Blanks keep the places of errors.
        let blank = |letter| if letter == '\n' { '\n' } else { ' ' };
        let blanks: String = self.text[..start].chars().map(blank).collect();
        let query = blanks + &self.text[start..end.max(start)];
        check_query(&query)?;
        Ok(CopySource::Query(query))
    }

    fn option(&mut self, options: &mut Given) -> Result<()> {
        let name = match self.next() {
            Some(Token::Word(word)) => word.value.to_ascii_uppercase(),
            _ => return Err(self.wrong(SYNTAX)),
        };
        self.takes("AS");
        match name.as_str() {
            "CSV" => options.format = Some(CopyFormat::Csv),
            "BINARY" => options.format = Some(CopyFormat::Binary),
            "FORMAT" => {
                options.format = Some(match self.value()?.to_ascii_lowercase().as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    _ => return Err(self.wrong("FORMAT is text, csv or binary")),
                });
            }
            "HEADER" => {
                options.header = if self.takes("MATCH") {
                    Header::Match
                } else if self.takes("FALSE") || self.takes("OFF") {
                    Header::No
                } else {
                    let _ = self.takes("TRUE") || self.takes("ON");
                    Header::Yes
                };
            }
            "DELIMITER" => options.delimiter = Some(self.letter("DELIMITER")?),
            "QUOTE" => options.quote = Some(self.letter("QUOTE")?),
            "ESCAPE" => options.escape = Some(self.letter("ESCAPE")?),
            "NULL" => options.null = Some(self.value()?),
            "ENCODING" => {
                let value = self.value()?.to_ascii_lowercase().replace('-', "");
                if value != "utf8" {
                    return Err(SqlError::unsupported("ENCODING is always UTF8"));
                }
            }
            _ => {
                let text = format!("COPY has no option {name}: {SYNTAX}");
                return Err(self.placed(SqlError::unsupported(text)));
            }
        }
        Ok(())
    }

    fn value(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => {
                Ok(text.clone())
            }
            Some(Token::Word(word)) => Ok(word.value.clone()),
            _ => Err(self.wrong("a value is expected here, in single quotes")),
        }
    }

    fn letter(&mut self, option: &str) -> Result<u8> {
        let value = self.value()?;
        match value.as_bytes() {
            [letter] if letter.is_ascii() && !matches!(letter, b'\n' | b'\r' | b'\\' | 0) => {
                Ok(*letter)
            }
            _ => Err(self.wrong(&format!("{option} is one letter of ASCII, and not {value:?}"))),
        }
    }

    fn no_file(&self) -> SqlError {
        match self.peek() {
            None => self.wrong(SYNTAX),
            Some(_) => self.placed(SqlError::new(
                SqlState::NotPermitted,
                "COPY reaches no file and no program of the server: it is FROM STDIN or TO STDOUT; \
                 \\copy of psql and halite sql copies files of the client",
            )),
        }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    fn next(&mut self) -> Option<&Token> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(&token.token)
    }

    /// Passes over a word, if it is there.
    fn takes(&mut self, word: &str) -> bool {
        let is_there = self.peek().is_some_and(|token| is_word(token, word));
        self.at += usize::from(is_there);
        is_there
    }

    fn wrong(&self, text: &str) -> SqlError {
        self.placed(SqlError::new(SqlState::Syntax, text))
    }

    fn placed(&self, error: SqlError) -> SqlError {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        let start = token.map_or(Location::new(1, 1), |token| token.span.start);
        error.at(start.line, start.column)
    }
}

/// Options that were given.
struct Given {
    format: Option<CopyFormat>,
    delimiter: Option<u8>,
    null: Option<String>,
    header: Header,
    quote: Option<u8>,
    escape: Option<u8>,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            format: None,
            delimiter: None,
            null: None,
            header: Header::No,
            quote: None,
            escape: None,
        }
    }
}

impl Given {
    fn checked(self, is_from: bool) -> Result<CopyOptions> {
        let format = self.format.unwrap_or(CopyFormat::Text);
        let wrong = |text: &str| Err(SqlError::new(SqlState::Syntax, text));
        let is_csv = format == CopyFormat::Csv;
        if !is_csv && (self.quote.is_some() || self.escape.is_some()) {
            return wrong("QUOTE and ESCAPE are options of FORMAT csv");
        }
        let has_text = self.delimiter.is_some() || self.null.is_some() || self.header != Header::No;
        if format == CopyFormat::Binary && has_text {
            return wrong("FORMAT binary has no DELIMITER, NULL and HEADER");
        }
        if !is_from && self.header == Header::Match {
            return wrong("HEADER MATCH is an option of COPY FROM");
        }
        let delimiter = self.delimiter.unwrap_or(if is_csv { b',' } else { b'\t' });
        let null = self.null.unwrap_or_else(|| if is_csv { "" } else { "\\N" }.to_owned());
        let quote = self.quote.unwrap_or(b'"');
        if is_csv && delimiter == quote {
            return wrong("DELIMITER and QUOTE have to differ");
        }
        if null.contains(['\n', '\r']) || null.bytes().any(|byte| byte == delimiter) {
            return wrong("NULL has no DELIMITER and no end of a line in it");
        }
        let escape = self.escape.unwrap_or(quote);
        Ok(CopyOptions { format, delimiter, null, header: self.header, quote, escape })
    }
}

fn place_of(token: &TokenWithSpan) -> (u64, u64) {
    (token.span.start.line, token.span.start.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_read_in_both_forms() {
        let table = |name: &str, columns: &[&str]| CopySource::Table {
            name: name.to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        };
        let read = |text: &str| CopyStatement::read(text).unwrap();
        let plain = read("COPY ns.\"T 1\" (a, \"B\") FROM STDIN;");
        assert_eq!(plain.source, table("ns.\"T 1\"", &["a", "\"B\""]));
        assert!(plain.is_from);
        assert_eq!((plain.options.delimiter, plain.options.null.as_str()), (b'\t', "\\N"));
        let csv = read("copy t to stdout with (format csv, header, delimiter ';', null 'x')");
        let old = read("copy t to stdout csv header delimiter as ';' null as 'x'");
        assert_eq!(csv, old);
        assert_eq!(csv.options.header, Header::Yes);
        assert_eq!(read("COPY BINARY t FROM stdin"), read("COPY t FROM stdin (FORMAT binary)"));
        let query = read("COPY\n (SELECT (1), ')' FROM t) TO STDOUT");
        assert_eq!(query.query(), "    \n  SELECT (1), ')' FROM t");
        assert_eq!(read("COPY t (a) TO STDOUT").query(), "SELECT a FROM t");
    }

    #[test]
    fn file_of_the_client_stands_in_place_of_its_standard_input() {
        let read = |text: &str| {
            let (copy, text, file) = CopyStatement::read_with_file(text).unwrap();
            (copy.is_from, text, file)
        };
        let file = |name: &str| Some(name.to_owned());
        let from = "COPY t (a) FROM STDIN  csv header".to_owned();
        assert_eq!(read("t (a) FROM 'a b.csv' csv header"), (true, from, file("a b.csv")));
        let to = "COPY (SELECT 1 FROM t) to STDOUT ".to_owned();
        assert_eq!(read("(SELECT 1 FROM t) to /tmp/x.csv"), (false, to, file("/tmp/x.csv")));
        assert_eq!(read("t to stdout").2, None);
        assert!(CopyStatement::read_with_file("t").is_err());
        assert!(CopyStatement::read_with_file("t from 'x").is_err());
    }

    #[test]
    fn what_is_no_copy_is_refused_with_its_place() {
        for (text, code) in [
            ("COPY t TO '/tmp/x'", "42501"),
            ("COPY t FROM PROGRAM 'rm'", "42501"),
            ("COPY t", "42601"),
            ("COPY t FROM", "42601"),
            ("COPY t FROM STDIN WHERE a = 1", "0A000"),
            ("COPY (SELECT 1) FROM STDIN", "42601"),
            ("COPY (SELECT 1 TO STDOUT", "42601"),
            ("COPY (DELETE FROM t) TO STDOUT", "0A000"),
            ("COPY t FROM STDIN (FORMAT orc)", "42601"),
            ("COPY t FROM STDIN (QUOTE 'x')", "42601"),
            ("COPY t FROM STDIN (DELIMITER 'ab')", "42601"),
            ("COPY t FROM STDIN (FORMAT binary, HEADER)", "42601"),
            ("COPY t TO STDOUT (HEADER MATCH)", "42601"),
            ("COPY t FROM STDIN (ENCODING 'latin1')", "0A000"),
        ] {
            let error = CopyStatement::read(text).unwrap_err();
            assert_eq!(error.state.code(), code, "{text}: {error}");
        }
        let error = CopyStatement::read("COPY t\nFROM STDIN (x 1)").unwrap_err();
        assert_eq!(error.position, Some((2, 15)));
    }
}
