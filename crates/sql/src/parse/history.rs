//! Words behind a table that the parser does not know: columns with their types, `VERSIONS n
//! [BETWEEN a AND b]`, `AS OF ..` and `WITH (BUCKETS)` in front of an alias. They become hints, which
//! it reads behind the alias: `t VERSIONS 5 AS a` is parsed as `t AS a WITH (versions(5))`.
//!
//! Each is read as such only where PostgreSQL's grammar has no meaning for it: `AS of` and `versions`
//! may be aliases.

use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_TABLE_ALIAS};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::column_list;
use crate::error::{Result, SqlError, SqlState};

/// Hint of `VERSIONS`: the number, -1 for all, and the times of BETWEEN.
pub(crate) const VERSIONS_HINT: &str = "versions";
/// Hint of `AS OF`: the time.
pub(crate) const AS_OF_HINT: &str = "as_of";
/// Hint of `WITH (BUCKETS)`, without arguments.
pub(crate) const BUCKETS_HINT: &str = "buckets";

const ONCE: &str = "VERSIONS, AS OF and WITH (BUCKETS) stand once behind a table";

/// Rewrites the words to hints.
///
/// # Errors
/// `Syntax` with the place, for what is not complete or at no table.
pub(super) fn hinted(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let begins = |at: usize| Input { tokens: &tokens, at }.begins_modifier();
    if !(0..tokens.len()).any(begins) {
        return Ok(tokens);
    }
    let mut input = Input { tokens: &tokens, at: 0 };
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut queries = Queries::default();
    while let Some(token) = input.peek() {
        if !input.begins_modifier() {
            input.at += 1;
            queries.read(token, &out);
            out.push(token.clone());
            continue;
        }
        let hints = input.hints()?;
        let query = queries.innermost();
        let is_of_columns =
            |hint: &Vec<TokenWithSpan>| is_word(&hint[0], column_list::COLUMNS_HINT);
        let has_past = !hints.iter().all(is_of_columns);
        let at = match query.table_end(&out) {
            TableEnd::Here => {
                out.extend_from_slice(input.alias());
                out.len()
            }
            TableEnd::Before(_) if query.has_hints => {
                return Err(wrong(token, ONCE));
            }
            TableEnd::Before(at) => at,
            TableEnd::None => {
                let text = "VERSIONS, AS OF and WITH (BUCKETS) stand behind a table of FROM";
                return Err(wrong(token, text));
            }
        };
        query.has_hints |= has_past;
        if (Input { tokens: &out, at }).begins_list() {
            // The list of hints that the table has.
            out.splice(at + 2..at + 2, listed(hints, true, token));
        } else {
            out.splice(at..at, with(hints, token));
        }
    }
    Ok(out)
}

/// Queries that are open at a place, one in the other.
#[derive(Default)]
struct Queries(Vec<OpenQuery>);

/// Query, as far as it has been read: the SELECT or the parentheses that began last.
#[derive(Default)]
struct OpenQuery {
    /// Place of FROM.
    from: Option<usize>,
    /// `true` up to the word that ends the list of tables.
    is_in_from: bool,
    /// `true` once a table of it has hints.
    has_hints: bool,
}

impl Queries {
    fn innermost(&mut self) -> &mut OpenQuery {
        if self.0.is_empty() {
            self.0.push(OpenQuery::default());
        }
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// Reads a token behind others.
    fn read(&mut self, token: &TokenWithSpan, before: &[TokenWithSpan]) {
        /// Words that end the list of tables.
        const ENDS: [Keyword; 10] = [
            Keyword::WHERE,
            Keyword::GROUP,
            Keyword::HAVING,
            Keyword::WINDOW,
            Keyword::QUALIFY,
            Keyword::ORDER,
            Keyword::LIMIT,
            Keyword::OFFSET,
            Keyword::FETCH,
            Keyword::FOR,
        ];
        match &token.token {
            Token::LParen => {
                self.innermost();
                self.0.push(OpenQuery::default());
            }
            Token::RParen => drop(self.0.pop()),
            Token::Word(word) if word.quote_style.is_none() => {
                let query = self.innermost();
                match word.keyword {
                    Keyword::SELECT | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => {
                        *query = OpenQuery::default();
                    }
                    // IS DISTINCT FROM compares.
                    Keyword::FROM if !is_comparison(before) => {
                        query.from = Some(before.len());
                        query.is_in_from = true;
                    }
                    Keyword::JOIN => query.is_in_from = query.from.is_some(),
                    keyword if ENDS.contains(&keyword) => query.is_in_from = false,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn is_comparison(before: &[TokenWithSpan]) -> bool {
    matches!(before, [.., is, distinct]
        if is_keyword(distinct, &[Keyword::DISTINCT]) && is_keyword(is, &[Keyword::IS, Keyword::NOT]))
}

/// Place behind the table that the words belong to.
enum TableEnd {
    /// The table is the last of what precedes.
    Here,
    /// They stand behind a SELECT of one table, whose name and alias end here.
    Before(usize),
    None,
}

impl OpenQuery {
    /// Returns the end of the table in front of the end of `before`.
    fn table_end(&self, before: &[TokenWithSpan]) -> TableEnd {
        let Some(from) = self.from else { return TableEnd::None };
        let joins = [Keyword::FROM, Keyword::JOIN, Keyword::USING];
        if self.is_in_from
            && let Some(name) = name_start(before)
            && name.checked_sub(1).is_some_and(|at| {
                is_keyword(&before[at], &joins) || before[at].token == Token::Comma
            })
        {
            return TableEnd::Here;
        }
        let mut rest = Input { tokens: before, at: from + 1 };
        rest.skip_name();
        // A call, as in `cells(t)`.
        rest.parenthesized();
        let _ = rest.alias();
        let end = rest.at;
        if rest.is_word(0, "WITH") {
            rest.at += 1;
            rest.parenthesized();
        }
        let is_single = !rest.peek().is_some_and(|token| {
            token.token == Token::Comma
                || is_keyword(token, &[Keyword::JOIN, Keyword::INNER, Keyword::LEFT])
                || is_keyword(token, &[Keyword::RIGHT, Keyword::FULL, Keyword::CROSS])
                || is_keyword(token, &[Keyword::NATURAL])
        });
        if is_single && end > from + 1 { TableEnd::Before(end) } else { TableEnd::None }
    }
}

/// Returns the place where the name begins that is the end of the tokens: `t`, `s.t`, or a call.
pub(super) fn name_start(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut end = tokens.len();
    if tokens.last()?.token == Token::RParen {
        let mut depth = 0usize;
        end = tokens.iter().rposition(|token| {
            match token.token {
                Token::RParen => depth += 1,
                Token::LParen => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
    }
    let mut at = end.checked_sub(1)?;
    let is_word = |at: usize| matches!(tokens[at].token, Token::Word(_));
    if !is_word(at) {
        return None;
    }
    while at >= 2 && tokens[at - 1].token == Token::Period && is_word(at - 2) {
        at -= 2;
    }
    Some(at)
}

struct Input<'a> {
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl<'a> Input<'a> {
    fn peek(&self) -> Option<&'a TokenWithSpan> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|token| is_word(token, word))
    }

    fn begins_modifier(&self) -> bool {
        let counts = |token: &TokenWithSpan| {
            matches!(token.token, Token::Number(..) | Token::Placeholder(_))
                || is_keyword(token, &[Keyword::ALL])
        };
        self.is_word(0, "VERSIONS") && self.tokens.get(self.at + 1).is_some_and(counts)
            || self.is_word(0, "AS") && self.is_word(1, "OF") && self.begins_time(2)
            || self.is_word(0, "FOR") && self.is_word(1, "SYSTEM_TIME")
            || self.is_buckets() && !self.tokens[..self.at].is_empty()
            || column_list::begins(self.tokens, self.at)
    }

    /// Returns `true` if a time may begin at a token: not where `of` is an alias, which the end of
    /// the table follows, or a list of its columns.
    fn begins_time(&self, ahead: usize) -> bool {
        let rest = self.tokens.get(self.at + ahead..).unwrap_or_default();
        let Some(first) = rest.first() else { return false };
        match &first.token {
            Token::Comma | Token::RParen | Token::SemiColon | Token::Period => false,
            Token::LParen => {
                let inside = rest[1..].iter().take_while(|token| token.token != Token::RParen);
                let is_column =
                    |token: &TokenWithSpan| matches!(token.token, Token::Word(_) | Token::Comma);
                !inside.clone().all(is_column) || inside.count() == 0
            }
            Token::Word(word) if word.quote_style.is_none() => {
                let ends = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
                    || matches!(word.keyword, Keyword::AS | Keyword::FOR | Keyword::FROM)
                    || matches!(word.keyword, Keyword::INTO | Keyword::ASC | Keyword::DESC);
                !ends && !word.value.eq_ignore_ascii_case("VERSIONS")
            }
            _ => true,
        }
    }

    /// Returns `true` if a list of hints begins here.
    fn begins_list(&self) -> bool {
        self.is_word(0, "WITH")
            && self.tokens.get(self.at + 1).is_some_and(|token| token.token == Token::LParen)
    }

    fn is_buckets(&self) -> bool {
        self.begins_list()
            && self.is_word(2, "BUCKETS")
            && self.tokens.get(self.at + 3).is_some_and(|token| token.token == Token::RParen)
    }

    /// Reads all words from here on, and returns the hints without commas between them.
    fn hints(&mut self) -> Result<Vec<Vec<TokenWithSpan>>> {
        let mut hints: Vec<Vec<TokenWithSpan>> = Vec::new();
        while self.begins_modifier() {
            let at = self.at;
            let hint = self.hint()?;
            let name = |hint: &[TokenWithSpan]| hint.first().map(|word| word.token.to_string());
            if hints.iter().any(|known| name(known) == name(&hint)) {
                return Err(wrong(&self.tokens[at], ONCE));
            }
            hints.push(hint);
        }
        Ok(hints)
    }

    fn hint(&mut self) -> Result<Vec<TokenWithSpan>> {
        let first = self.tokens[self.at].clone();
        if column_list::begins(self.tokens, self.at) {
            let (hint, end) = column_list::hint(self.tokens, self.at)?;
            self.at = end;
            return Ok(hint);
        }
        if self.is_buckets() {
            self.at += 4;
            return Ok(call(BUCKETS_HINT, Vec::new(), &first));
        }
        if self.is_word(0, "VERSIONS") {
            let count = &self.tokens[self.at + 1];
            let is_all = is_keyword(count, &[Keyword::ALL]);
            let all = || TokenWithSpan::new(Token::Number("-1".to_owned(), false), count.span);
            let mut arguments = vec![if is_all { all() } else { count.clone() }];
            self.at += 2;
            if self.is_word(0, "BETWEEN") {
                self.at += 1;
                arguments.push(sign(Token::Comma, &first));
                arguments.extend(self.value(&first)?);
                if !self.is_word(0, "AND") {
                    return Err(wrong(&first, "VERSIONS n BETWEEN time AND time"));
                }
                self.at += 1;
                arguments.push(sign(Token::Comma, &first));
                arguments.extend(self.value(&first)?);
            }
            return Ok(call(VERSIONS_HINT, arguments, &first));
        }
        for word in ["FOR", "SYSTEM_TIME", "AS", "OF", "SYSTEM", "TIME", "TIMESTAMP"] {
            if self.is_word(0, word) {
                self.at += 1;
            }
        }
        let value = self.value(&first)?;
        Ok(call(AS_OF_HINT, value, &first))
    }

    /// Reads a time: everything up to the next word that can follow a table.
    fn value(&mut self, first: &TokenWithSpan) -> Result<Vec<TokenWithSpan>> {
        let from = self.at;
        let mut depth = 0usize;
        while let Some(token) = self.peek() {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen | Token::Comma | Token::SemiColon if depth == 0 => break,
                Token::RParen => depth -= 1,
                Token::Word(word) if depth == 0 && word.quote_style.is_none() => {
                    let ends = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
                        || matches!(word.keyword, Keyword::AND | Keyword::AS | Keyword::FOR);
                    if ends || word.value.eq_ignore_ascii_case("VERSIONS") {
                        break;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        if self.at == from {
            return Err(wrong(first, "a time is expected, as in AS OF TIMESTAMP '2024-03-15'"));
        }
        Ok(self.tokens[from..self.at].to_vec())
    }

    /// Reads the alias of a table, with its columns.
    fn alias(&mut self) -> &'a [TokenWithSpan] {
        let from = self.at;
        let has_as = self.is_word(0, "AS") && !self.begins_modifier();
        self.at += usize::from(has_as);
        let is_name = self.peek().is_some_and(|token| match &token.token {
            Token::Word(word) => {
                word.quote_style.is_some() || !RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
            }
            _ => false,
        });
        if !is_name || self.begins_modifier() {
            self.at = from;
            return &[];
        }
        self.at += 1;
        self.parenthesized();
        &self.tokens[from..self.at]
    }

    fn skip_name(&mut self) {
        while self.peek().is_some_and(|token| matches!(token.token, Token::Word(_))) {
            self.at += 1;
            if self.peek().is_none_or(|token| token.token != Token::Period) {
                return;
            }
            self.at += 1;
        }
    }

    /// Passes what is in parentheses here, if anything.
    fn parenthesized(&mut self) {
        let mut depth = 0usize;
        while let Some(token) = self.peek() {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen if depth > 0 => depth -= 1,
                _ if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

fn is_word(token: &TokenWithSpan, text: &str) -> bool {
    match &token.token {
        Token::Word(word) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text),
        _ => false,
    }
}

pub(super) fn is_keyword(token: &TokenWithSpan, keywords: &[Keyword]) -> bool {
    matches!(&token.token, Token::Word(word) if keywords.contains(&word.keyword))
}

pub(super) fn sign(token: Token, near: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan::new(token, near.span)
}

pub(super) fn call(
    name: &str,
    arguments: Vec<TokenWithSpan>,
    near: &TokenWithSpan,
) -> Vec<TokenWithSpan> {
    let mut call = vec![sign(Token::make_word(name, None), near), sign(Token::LParen, near)];
    call.extend(arguments);
    call.push(sign(Token::RParen, near));
    call
}

/// Returns `WITH (hint, ..)`.
fn with(hints: Vec<Vec<TokenWithSpan>>, near: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let mut list = vec![sign(Token::make_keyword("WITH"), near), sign(Token::LParen, near)];
    list.extend(listed(hints, false, near));
    list.push(sign(Token::RParen, near));
    list
}

/// Returns hints with commas between them, and one at the end if others follow.
fn listed(
    hints: Vec<Vec<TokenWithSpan>>,
    is_followed: bool,
    near: &TokenWithSpan,
) -> Vec<TokenWithSpan> {
    let count = hints.len();
    let mut list = Vec::new();
    for (at, hint) in (1..).zip(hints) {
        list.extend(hint);
        if at < count || is_followed {
            list.push(sign(Token::Comma, near));
        }
    }
    list
}

pub(super) fn wrong(near: &TokenWithSpan, text: &str) -> SqlError {
    SqlError::new(SqlState::Syntax, text).at(near.span.start.line, near.span.start.column)
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::parse::tokens_of;

    fn rewritten(text: &str) -> String {
        let tokens = hinted(tokens_of(text).unwrap()).unwrap();
        let words: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
        words.join(" ")
    }

    #[test]
    fn words_behind_table_become_hints_behind_alias() {
        let cases = [
            ("SELECT a FROM t VERSIONS 5", "SELECT a FROM t WITH ( versions ( 5 ) )"),
            (
                "SELECT a FROM s.t VERSIONS ALL x WHERE b = 1",
                "SELECT a FROM s . t x WITH ( versions ( -1 ) ) WHERE b = 1",
            ),
            (
                "SELECT a FROM t VERSIONS 2 BETWEEN 1 AND now() - interval '1 h' AS x, u",
                "SELECT a FROM t AS x WITH ( versions ( 2 , 1 , now ( ) - interval '1 h' ) ) , u",
            ),
            (
                "SELECT 1 FROM t FOR SYSTEM_TIME AS OF '2024-01-01' AS x JOIN u AS OF TIMESTAMP 7",
                "SELECT 1 FROM t AS x WITH ( as_of ( '2024-01-01' ) ) JOIN u WITH ( as_of ( 7 ) )",
            ),
            (
                "SELECT a FROM t x WHERE b = 1 ORDER BY a VERSIONS 3",
                "SELECT a FROM t x WITH ( versions ( 3 ) ) WHERE b = 1 ORDER BY a",
            ),
            (
                "SELECT a FROM t VERSIONS 3 AS OF SYSTEM TIME 9 LIMIT 1",
                "SELECT a FROM t WITH ( versions ( 3 ) , as_of ( 9 ) ) LIMIT 1",
            ),
            (
                "SELECT * FROM cells(t) VERSIONS ALL c",
                "SELECT * FROM cells ( t ) c WITH ( versions ( -1 ) )",
            ),
            ("SELECT p FROM t WITH (BUCKETS) x", "SELECT p FROM t x WITH ( buckets ( ) )"),
            (
                "SELECT a FROM t ORDER BY a, b VERSIONS 3",
                "SELECT a FROM t WITH ( versions ( 3 ) ) ORDER BY a , b",
            ),
            (
                "SELECT a FROM t WHERE a IS DISTINCT FROM b VERSIONS 3",
                "SELECT a FROM t WITH ( versions ( 3 ) ) WHERE a IS DISTINCT FROM b",
            ),
            (
                "SELECT a FROM t VERSIONS 3 JOIN u VERSIONS 5 ON a = b, v AS OF 7",
                "SELECT a FROM t WITH ( versions ( 3 ) ) JOIN u WITH ( versions ( 5 ) ) ON a = b , \
                 v WITH ( as_of ( 7 ) )",
            ),
            (
                "SELECT a FROM s.t (c I64, f.q STRING ENCODING TEXT) AS x, u (\"d 1\" DECIMAL(9, 2))",
                "SELECT a FROM s . t AS x WITH ( columns ( '' , 'c' , 'I64' , 'f' , 'q' , 'STRING \
                 ENCODING TEXT' ) ) , u WITH ( columns ( '' , 'd 1' , 'DECIMAL ( 9 , 2 )' ) )",
            ),
            (
                "SELECT a FROM t (c I64) VERSIONS 3 x",
                "SELECT a FROM t x WITH ( columns ( '' , 'c' , 'I64' ) , versions ( 3 ) )",
            ),
            (
                "SELECT a FROM t (c I64) WHERE c = 1 VERSIONS 3",
                "SELECT a FROM t WITH ( versions ( 3 ) , columns ( '' , 'c' , 'I64' ) ) WHERE c = 1",
            ),
            // A WITH that begins no list is the parser's to refuse.
            ("SELECT a FROM t WITH AS OF 7", "SELECT a FROM t WITH ( as_of ( 7 ) ) WITH"),
            ("SELECT a FROM t WITH u VERSIONS 3", "SELECT a FROM t WITH ( versions ( 3 ) ) WITH u"),
        ];
        for (text, expected) in cases {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }

    #[test]
    fn words_that_are_names_stay() {
        for text in [
            "SELECT versions FROM t AS v",
            "SELECT a FROM t AS of",
            "SELECT of . a FROM t AS of JOIN u AS versions ON of . k = versions . k",
            "SELECT a AS of , b FROM t AS of ( a , b ) WHERE a = 1",
            "SELECT a AS of FROM t",
            "SELECT a FROM ( SELECT 1 AS of ) x , t AS of",
            "SELECT a FROM t AS of UNION SELECT 1 AS of",
            "SELECT * FROM generate_series ( 1 , 3 )",
            "SELECT * FROM f ( a IS NULL , b COLLATE c )",
            "SELECT * FROM f ( DISTINCT a )",
            "SELECT f ( a I64 ) FROM t",
            "SELECT a , cast ( b AS int ) , array_agg ( c ORDER BY d ) FROM t",
        ] {
            assert_eq!(rewritten(text), text);
        }
        let cases = [
            ("SELECT a FROM t AS OF (now())", "SELECT a FROM t WITH ( as_of ( ( now ( ) ) ) )"),
            ("SELECT a FROM t VERSIONS 2 AS of", "SELECT a FROM t AS of WITH ( versions ( 2 ) )"),
            ("SELECT a FROM t AS of VERSIONS 2", "SELECT a FROM t AS of WITH ( versions ( 2 ) )"),
        ];
        for (text, expected) in cases {
            assert_eq!(rewritten(text), expected, "{text}");
        }
    }

    #[test]
    fn many_words_are_read_once() {
        // Each behind its own query, and many behind one.
        let query = "SELECT a FROM t x WHERE b IN (1, 2, 3) VERSIONS 3";
        let many = vec![query; 5000].join(" UNION ALL ");
        let started = std::time::Instant::now();
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, &many).tokenize_with_location();
        let is_text = |token: &TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        let tokens: Vec<_> = tokens.unwrap().into_iter().filter(is_text).collect();
        assert_eq!(hinted(tokens).unwrap().len(), 5000 * 22 + 4999 * 2);
        let tail = " VERSIONS 3 LIMIT 1".repeat(5000);
        assert!(hinted(tokens_of(&format!("SELECT a FROM t x WHERE b{tail}")).unwrap()).is_err());
        assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
    }

    #[test]
    fn incomplete_words_are_refused_with_their_place() {
        for text in [
            "SELECT 1 VERSIONS 5",
            "SELECT a FROM t AS OF TIMESTAMP",
            "SELECT a FROM t (c I64, d)",
            "SELECT a FROM t (c I64",
            "SELECT a FROM t VERSIONS 5 BETWEEN 1",
            "SELECT a FROM t, u WHERE a = b VERSIONS 5",
            "SELECT a FROM t VERSIONS 3 WHERE a = 1 VERSIONS 5",
            "SELECT a FROM t VERSIONS 3 VERSIONS 5",
            "SELECT p FROM t WITH (BUCKETS) WITH (buckets)",
            "SELECT 1 WITH (BUCKETS)",
            "SELECT a FROM t WHERE a = 1 VERSIONS 3 VERSIONS 5",
            "SELECT a FROM t UNION SELECT 1 VERSIONS 3",
        ] {
            let error = hinted(tokens_of(text).unwrap()).unwrap_err();
            assert!(error.to_string().contains("line 1"), "{text}: {error}");
        }
    }
}
