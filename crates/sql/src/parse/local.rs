//! Statements about tables and views of the session, and CREATE TABLE .. AS.

use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::words::is_word;
use crate::error::{Result, SqlError, SqlState};

/// Statement about a table or view of the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Local {
    /// CREATE TEMP TABLE.
    CreateTable { name: Ident, if_not_exists: bool, rows: TempRows },
    /// CREATE VIEW.
    CreateView {
        name: Ident,
        replaces: bool,
        /// Names of its columns; empty for those of the query.
        columns: Vec<Ident>,
        query: Vec<TokenWithSpan>,
    },
    /// DROP VIEW.
    DropView { names: Vec<Ident>, if_exists: bool },
    /// DROP TABLE of temporary tables.
    DropTable(Vec<Ident>),
    /// TRUNCATE of a temporary table.
    Truncate(Ident),
    /// INSERT INTO a temporary table.
    Insert {
        name: Ident,
        /// Columns that are given; empty for all.
        columns: Vec<Ident>,
        query: Vec<TokenWithSpan>,
    },
    /// DISCARD ALL, DISCARD TEMP.
    Discard { views: bool },
}

/// Where the columns of a temporary table come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TempRows {
    /// Those of a query, with its rows.
    Query { columns: Vec<Ident>, query: Vec<TokenWithSpan> },
    /// They are declared; the word TEMP, and the last parenthesis.
    Declared { temp: (Location, Location), end: Location },
}

/// CREATE TABLE .. ROW KEY .. AS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CreateAs {
    /// Place of AS: what is in front of it declares the table.
    pub(crate) at: (u64, u64),
    pub(crate) query: Vec<TokenWithSpan>,
}

fn syntax(text: &str, at: Option<&TokenWithSpan>) -> SqlError {
    let error = SqlError::new(SqlState::Syntax, text);
    match at {
        Some(token) => error.at(token.span.start.line, token.span.start.column),
        None => error,
    }
}

/// Tokens that are read one after the other.
struct Reader<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
}

impl<'t> Reader<'t> {
    fn new(tokens: &'t [TokenWithSpan]) -> Self {
        Self { tokens, at: 0 }
    }

    fn next(&self) -> Option<&'t TokenWithSpan> {
        self.tokens.get(self.at)
    }

    fn is(&self, word: &str) -> bool {
        self.next().is_some_and(|token| is_word(&token.token, word))
    }

    /// Passes words over, all or none.
    fn take(&mut self, words: &[&str]) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let is_there = rest.len() >= words.len()
            && rest.iter().zip(words).all(|(token, word)| is_word(&token.token, word));
        self.at += if is_there { words.len() } else { 0 };
        is_there
    }

    fn takes(&mut self, sign: &Token) -> bool {
        let is_there = self.next().is_some_and(|token| token.token == *sign);
        self.at += usize::from(is_there);
        is_there
    }

    /// Reads the name of a table or view of the session.
    fn name(&mut self, what: &str) -> Result<Ident> {
        let parts = self.parts(what)?;
        match parts.as_slice() {
            [name] => Ok(name.clone()),
            [schema, name] if schema.value.eq_ignore_ascii_case("pg_temp") => Ok(name.clone()),
            [first, ..] => {
                let at = first.span.start;
                let text = format!("{what} is of the session and has no schema: leave {first} out");
                Err(SqlError::unsupported(text).at(at.line, at.column))
            }
            [] => Err(syntax(&format!("{what} has a name"), self.next())),
        }
    }

    fn parts(&mut self, what: &str) -> Result<Vec<Ident>> {
        let mut parts = Vec::new();
        loop {
            match self.next() {
                Some(TokenWithSpan { token: Token::Word(word), span }) => {
                    parts.push(word.clone().into_ident(*span));
                    self.at += 1;
                }
                other => return Err(syntax(&format!("the name of {what} is expected"), other)),
            }
            if !self.takes(&Token::Period) {
                return Ok(parts);
            }
        }
    }

    /// Reads `(a, b)`, if it is there.
    fn columns(&mut self) -> Result<Vec<Ident>> {
        let mut columns = Vec::new();
        if !self.takes(&Token::LParen) {
            return Ok(columns);
        }
        loop {
            let mut parts = self.parts("a column")?;
            columns.extend(parts.pop());
            if self.takes(&Token::RParen) {
                return Ok(columns);
            }
            if !self.takes(&Token::Comma) {
                return Err(syntax("a comma or ) is expected after a column", self.next()));
            }
        }
    }

    fn rest(&self) -> Vec<TokenWithSpan> {
        self.tokens.get(self.at..).unwrap_or_default().to_vec()
    }
}

/// Returns `true` for the beginning of a query.
fn begins_query(token: Option<&TokenWithSpan>) -> bool {
    token.is_some_and(|token| {
        token.token == Token::LParen
            || ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| is_word(&token.token, word))
    })
}

/// Reads `CREATE TEMP TABLE ..`; the word TEMP is at `temp`.
pub(super) fn create_temp(tokens: &[TokenWithSpan], temp: usize) -> Result<Local> {
    let mut reader = Reader { tokens, at: temp + 1 };
    if !reader.take(&["TABLE"]) {
        return Err(syntax("CREATE TEMP is followed by TABLE or VIEW", reader.next()));
    }
    let if_not_exists = reader.take(&["IF", "NOT", "EXISTS"]);
    let name = reader.name("a temporary table")?;
    let start = reader.at;
    // Columns with types are none of a query.
    let columns = reader.columns().ok().filter(|_| reader.is("AS"));
    if let Some(columns) = columns {
        let as_word = reader.next();
        reader.at += 1;
        if !begins_query(reader.next()) {
            return Err(syntax("CREATE TEMP TABLE t AS is followed by a query", as_word));
        }
        let rows = TempRows::Query { columns, query: reader.rest() };
        return Ok(Local::CreateTable { name, if_not_exists, rows });
    }
    let is_list = tokens.get(start).is_some_and(|token| token.token == Token::LParen);
    let depth = |depth: i32, token: &TokenWithSpan| match token.token {
        Token::LParen => depth + 1,
        Token::RParen => depth - 1,
        _ => depth,
    };
    let mut open = 0;
    let end = tokens.iter().skip(start).position(|token| {
        open = depth(open, token);
        open == 0
    });
    let Some(end) = end.filter(|_| is_list) else {
        let text = "CREATE TEMP TABLE t is followed by its columns, (a I64, b STRING), or by AS \
                    and a query";
        return Err(syntax(text, tokens.get(start)));
    };
    if let Some(more) = tokens.get(start + end + 1) {
        let text = format!(
            "{} behind the columns of a temporary table, which is in memory and of the session",
            more.token
        );
        let at = more.span.start;
        return Err(SqlError::unsupported(text).at(at.line, at.column));
    }
    let is_key = |pair: &[TokenWithSpan]| {
        is_word(&pair[0].token, "ROW") && is_word(&pair[1].token, "KEY")
            || is_word(&pair[0].token, "PRIMARY") && is_word(&pair[1].token, "KEY")
    };
    if let Some(key) = tokens[start..].windows(2).find(|pair| is_key(pair)) {
        let at = key[0].span.start;
        let text = "a temporary table has no key: it is in memory, and read as a whole; leave it \
                    out, or create the table without TEMP";
        return Err(SqlError::unsupported(text).at(at.line, at.column));
    }
    let span = tokens[temp].span;
    let rows =
        TempRows::Declared { temp: (span.start, span.end), end: tokens[start + end].span.start };
    Ok(Local::CreateTable { name, if_not_exists, rows })
}

/// Reads `CREATE [OR REPLACE] [TEMP] VIEW ..`, from the word VIEW on.
pub(super) fn create_view(tokens: &[TokenWithSpan], view: usize, replaces: bool) -> Result<Local> {
    let mut reader = Reader { tokens, at: view + 1 };
    if reader.is("IF") {
        let text = "CREATE OR REPLACE VIEW takes the place of one that is there";
        return Err(SqlError::unsupported(text));
    }
    let name = reader.name("a view")?;
    let columns = reader.columns()?;
    let as_word = reader.next();
    if !reader.take(&["AS"]) || !begins_query(reader.next()) {
        return Err(syntax("CREATE VIEW v is followed by AS and a query", as_word));
    }
    Ok(Local::CreateView { name, replaces, columns, query: reader.rest() })
}

/// Reads `DROP VIEW ..`.
pub(super) fn drop_view(tokens: &[TokenWithSpan]) -> Result<Local> {
    let mut reader = Reader::new(tokens);
    reader.take(&["DROP", "VIEW"]);
    let if_exists = reader.take(&["IF", "EXISTS"]);
    let names = dropped(&mut reader, "a view")?;
    Ok(Local::DropView { names, if_exists })
}

fn dropped(reader: &mut Reader<'_>, what: &str) -> Result<Vec<Ident>> {
    let mut names = vec![reader.name(what)?];
    while reader.takes(&Token::Comma) {
        names.push(reader.name(what)?);
    }
    ended(reader, "DROP")?;
    Ok(names)
}

/// Passes CASCADE or RESTRICT over, of which neither changes anything: no table and no view knows
/// which views read it.
///
/// # Errors
/// `Syntax` for what follows.
fn ended(reader: &mut Reader<'_>, what: &str) -> Result<()> {
    let _ = reader.take(&["CASCADE"]) || reader.take(&["RESTRICT"]);
    match reader.next() {
        None => Ok(()),
        more => Err(syntax(&format!("{what} ends here"), more)),
    }
}

/// Reads `DISCARD ALL` and the like.
pub(super) fn discard(tokens: &[TokenWithSpan]) -> Result<Local> {
    let mut reader = Reader::new(tokens);
    reader.take(&["DISCARD"]);
    let found = reader.next();
    let views = reader.take(&["ALL"]);
    if (views || reader.take(&["TEMP"]) || reader.take(&["TEMPORARY"])) && reader.next().is_none() {
        return Ok(Local::Discard { views });
    }
    Err(syntax("DISCARD is followed by ALL or TEMP", found))
}

/// Returns the query of `CREATE TABLE .. AS`; `None` for one without a query.
pub(super) fn created_as(tokens: &[TokenWithSpan]) -> Option<CreateAs> {
    let mut depth = 0;
    let at = tokens.iter().enumerate().position(|(at, token)| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 && is_word(&token.token, "AS") && begins_query(tokens.get(at + 1))
    })?;
    let start = tokens[at].span.start;
    Some(CreateAs { at: (start.line, start.column), query: tokens[at + 1..].to_vec() })
}

/// Returns a statement about a temporary table or view that is named as if it were another one.
/// `find` returns what the name of one means.
///
/// # Errors
/// `NotSupported` for what cannot be done with it.
pub(crate) fn of_local(
    tokens: &[TokenWithSpan],
    find: impl Fn(&Ident) -> Option<Found>,
) -> Result<Option<Local>> {
    let mut reader = Reader::new(tokens);
    let known = |reader: &mut Reader<'_>| -> Option<(Ident, Found)> {
        let at = reader.at;
        let name = reader.name("a table").ok()?;
        let found = find(&name);
        if found.is_none() {
            reader.at = at;
        }
        Some((name, found?))
    };
    if reader.take(&["DROP", "TABLE"]) {
        reader.take(&["IF", "EXISTS"]);
        let Some((name, found)) = known(&mut reader) else { return Ok(None) };
        if found.is_view {
            return Err(refused(&name, &found, "DROP TABLE", "DROP VIEW drops it"));
        }
        let mut names = vec![found.named(&name)];
        while reader.takes(&Token::Comma) {
            let Some((name, found)) = known(&mut reader) else {
                let text = "DROP TABLE of temporary tables names no others: drop those by \
                            themselves";
                return Err(SqlError::unsupported(text));
            };
            names.push(found.named(&name));
        }
        ended(&mut reader, "DROP TABLE")?;
        return Ok(Some(Local::DropTable(names)));
    }
    if reader.take(&["TRUNCATE"]) {
        reader.take(&["TABLE"]);
        let Some((name, found)) = known(&mut reader) else { return Ok(None) };
        if found.is_view {
            return Err(refused(&name, &found, "TRUNCATE", "it has no rows of its own"));
        }
        ended(&mut reader, "TRUNCATE of a temporary table, one at a time,")?;
        return Ok(Some(Local::Truncate(found.named(&name))));
    }
    if reader.take(&["INSERT", "INTO"]) {
        let Some((name, found)) = known(&mut reader) else { return Ok(None) };
        if found.is_view {
            return Err(refused(&name, &found, "INSERT INTO", "write the tables that it reads"));
        }
        return inserted(&mut reader, found.named(&name)).map(Some);
    }
    for (words, verb) in [
        (&["UPSERT", "INTO"][..], "UPSERT INTO"),
        (&["UPDATE"], "UPDATE"),
        (&["DELETE", "FROM"], "DELETE FROM"),
        (&["ALTER", "TABLE"], "ALTER TABLE"),
        (&["ANALYZE", "TABLE"], "ANALYZE"),
        (&["ANALYZE"], "ANALYZE"),
    ] {
        if reader.take(words) {
            reader.take(&["ONLY"]);
            let Some((name, found)) = known(&mut reader) else { return Ok(None) };
            let instead = if found.is_view {
                "change the tables that it reads"
            } else {
                "its rows have no key; INSERT adds rows, TRUNCATE removes all, and CREATE TEMP \
                 TABLE .. AS SELECT .. makes another one"
            };
            return Err(refused(&name, &found, verb, instead));
        }
    }
    Ok(None)
}

/// What the name of a temporary table or view means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Name as it was created.
    pub(crate) name: String,
    pub(crate) is_view: bool,
}

impl Found {
    fn named(&self, name: &Ident) -> Ident {
        Ident { value: self.name.clone(), quote_style: Some('"'), span: name.span }
    }
}

fn refused(name: &Ident, found: &Found, verb: &str, instead: &str) -> SqlError {
    let what = if found.is_view { "a view" } else { "a temporary table" };
    let text = format!("{verb} {}: {} is {what} of this session; {instead}", name, found.name);
    SqlError::unsupported(text).at(name.span.start.line, name.span.start.column)
}

fn inserted(reader: &mut Reader<'_>, name: Ident) -> Result<Local> {
    let start = reader.at;
    let columns = match reader.columns() {
        Ok(columns) => columns,
        // It is a query in parentheses.
        Err(_) => {
            reader.at = start;
            Vec::new()
        }
    };
    if !begins_query(reader.next()) {
        return Err(syntax(
            "INSERT INTO t (columns) is followed by VALUES or a query",
            reader.next(),
        ));
    }
    let query = reader.rest();
    let mut depth = 0;
    let clause = query.iter().find(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 && ["RETURNING", "CONFLICT"].iter().any(|word| is_word(&token.token, word))
    });
    if let Some(clause) = clause {
        let text = format!("{} of INSERT INTO a temporary table", clause.token);
        let at = clause.span.start;
        return Err(SqlError::unsupported(text).at(at.line, at.column));
    }
    Ok(Local::Insert { name, columns, query })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::tokens_of;

    fn local(text: &str) -> Result<Option<Local>> {
        of_local(&tokens_of(text)?, |name| {
            let is_view = name.value == "v";
            let found = Found { name: name.value.clone(), is_view };
            ["t", "v"].contains(&name.value.as_str()).then_some(found)
        })
    }

    #[test]
    fn statements_about_temporary_tables_are_found() {
        assert!(matches!(
            local("DROP TABLE IF EXISTS t, pg_temp.t"),
            Ok(Some(Local::DropTable(_)))
        ));
        assert!(matches!(local("TRUNCATE t"), Ok(Some(Local::Truncate(_)))));
        for text in ["TRUNCATE t CASCADE", "TRUNCATE TABLE pg_temp.t RESTRICT"] {
            assert!(matches!(local(text), Ok(Some(Local::Truncate(_)))), "{text}");
        }
        assert!(matches!(local("DROP TABLE t CASCADE"), Ok(Some(Local::DropTable(_)))));
        for text in ["TRUNCATE t, other", "TRUNCATE t CASCADE x", "DROP TABLE t other"] {
            let error = local(text).expect_err(text);
            assert_eq!(error.state, SqlState::Syntax, "{text}");
            assert!(error.position.is_some(), "{text}");
        }
        let Ok(Some(Local::Insert { columns, query, .. })) =
            local("INSERT INTO t (a, b) SELECT 1, 2")
        else {
            panic!("an INSERT")
        };
        assert_eq!((columns.len(), query.len()), (2, 4));
        for text in
            ["DROP TABLE other", "INSERT INTO other VALUES (1)", "SELECT 1", "UPDATE u SET a = 1"]
        {
            assert_eq!(local(text), Ok(None), "{text}");
        }
        for text in [
            "DROP TABLE v",
            "UPDATE t SET a = 1",
            "DELETE FROM t",
            "UPSERT INTO t VALUES (1)",
            "INSERT INTO v VALUES (1)",
            "INSERT INTO t VALUES (1) RETURNING a",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "DROP TABLE t, other",
        ] {
            assert_eq!(local(text).unwrap_err().state, SqlState::NotSupported, "{text}");
        }
    }

    #[test]
    fn queries_of_created_tables_are_outside_of_parentheses() {
        let query =
            |text: &str| created_as(&tokens_of(text).unwrap()).map(|found| found.query.len());
        assert_eq!(query("CREATE TABLE t (a I64, ROW KEY (b STRING)) AS SELECT 1"), Some(2));
        assert_eq!(query("CREATE TABLE t (a I64, ROW KEY (b STRING)) SPLIT BY SALT"), None);
    }
}
