//! Lexer of the shell language: names, constants, numbers, strings with escapes, and operators.

/// Reason why a text is not a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxProblem {
    /// The text ends too early; further text may complete it. Inside a string, `quote` is the
    /// missing quote character.
    Incomplete { quote: Option<char> },
    /// The text cannot be completed. `offset` is the byte position of the error.
    Wrong { offset: usize, text: String },
}

impl SyntaxProblem {
    pub(crate) fn wrong(offset: usize, text: impl Into<String>) -> Self {
        Self::Wrong { offset, text: text.into() }
    }

    pub(crate) const INCOMPLETE: Self = Self::Incomplete { quote: None };
}

/// Part of a string: bytes, or the source of an expression in `#{}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StringPart {
    Bytes(Vec<u8>),
    Code(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Integer(i64),
    Float(f64),
    Text(Vec<StringPart>),
    /// `%w[a b]`
    Words(Vec<Vec<u8>>),
    Symbol(String),
    /// `name:` before a value
    Label(String),
    Name(String),
    Constant(String),
    Operator(&'static str),
    Newline,
    End,
}

/// Token with its start position and a flag for preceding white space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) offset: usize,
    pub(crate) space_before: bool,
}

impl Token {
    pub(crate) fn is(&self, operator: &str) -> bool {
        matches!(&self.kind, TokenKind::Operator(found) if *found == operator)
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        matches!(&self.kind, TokenKind::Name(found) if found == name)
    }
}

/// Maximum nesting of strings in `#{}` in strings.
const MAX_DEPTH: usize = 16;

/// Longest first, so that `...` is not read as `..`.
const OPERATORS: [&str; 36] = [
    "...", "=>", "==", "!=", "<=", ">=", "&&", "||", "..", "+=", "-=", "<<", "&.", "**", "=", "<",
    ">", "+", "-", "*", "/", "%", "!", ".", ",", ";", "(", ")", "[", "]", "{", "}", "|", "?", "&",
    ":",
];

/// Splits `source` into tokens; the last one is [`TokenKind::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, SyntaxProblem> {
    let mut lexer = Lexer { source, offset: 0, tokens: Vec::new(), depth: 0 };
    loop {
        let space_before = lexer.skip_blanks();
        let at = lexer.offset;
        let kind = lexer.next_kind()?;
        let ended = kind == TokenKind::End;
        lexer.tokens.push(Token { kind, offset: at, space_before });
        if ended {
            return Ok(lexer.tokens);
        }
    }
}

/// Returns the number of open brackets and blocks, for the prompt of the next line.
pub(crate) fn open_brackets(source: &str) -> usize {
    let Ok(tokens) = tokens(source) else { return 0 };
    tokens.iter().fold(0usize, |open, token| match &token.kind {
        TokenKind::Operator("(" | "[" | "{") => open + 1,
        TokenKind::Operator(")" | "]" | "}") => open.saturating_sub(1),
        TokenKind::Name(name) if name == "do" => open + 1,
        TokenKind::Name(name) if name == "end" => open.saturating_sub(1),
        _ => open,
    })
}

struct Lexer<'a> {
    source: &'a str,
    offset: usize,
    tokens: Vec<Token>,
    depth: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.source[self.offset..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.offset += character.len_utf8();
        Some(character)
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &str {
        let start = self.offset;
        while self.peek().is_some_and(&accept) {
            self.take();
        }
        &self.source[start..self.offset]
    }

    /// Skips blanks, comments and escaped line ends.
    fn skip_blanks(&mut self) -> bool {
        let start = self.offset;
        loop {
            self.take_while(|c| c == ' ' || c == '\t' || c == '\r');
            if self.rest().starts_with("\\\n") {
                self.offset += 2;
            } else if self.peek() == Some('#') {
                self.take_while(|c| c != '\n');
            } else {
                return self.offset > start;
            }
        }
    }

    fn next_kind(&mut self) -> Result<TokenKind, SyntaxProblem> {
        let Some(character) = self.peek() else { return Ok(TokenKind::End) };
        match character {
            '\n' => {
                self.take();
                Ok(TokenKind::Newline)
            }
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '0'..='9' => self.number(),
            ':' if self.rest()[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                self.take();
                Ok(TokenKind::Symbol(self.take_while(is_name_character).to_owned()))
            }
            '%' if self.rest().starts_with("%w")
                && self.rest()[2..].starts_with(['[', '(', '{']) =>
            {
                self.words()
            }
            c if c.is_alphabetic() || c == '_' => Ok(self.name()),
            _ => self.operator(),
        }
    }

    fn operator(&mut self) -> Result<TokenKind, SyntaxProblem> {
        if let Some(operator) =
            OPERATORS.iter().find(|operator| self.rest().starts_with(**operator))
        {
            self.offset += operator.len();
            return Ok(TokenKind::Operator(operator));
        }
        let found = self.peek().unwrap_or(' ');
        let fix = if matches!(found, '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') {
            "; write straight quotes, ' or \""
        } else {
            ""
        };
        Err(SyntaxProblem::wrong(self.offset, format!("{found:?} means nothing here{fix}")))
    }

    fn name(&mut self) -> TokenKind {
        let mut name = self.take_while(is_name_character).to_owned();
        if self.rest().starts_with(['?', '!']) && !self.rest().starts_with("!=") {
            name.extend(self.take());
        }
        // `name: value`, but not `a ? b : c` nor `A::B`.
        if self.peek() == Some(':') && !self.rest().starts_with("::") {
            self.take();
            return TokenKind::Label(name);
        }
        if name.starts_with(|c: char| c.is_uppercase()) {
            TokenKind::Constant(name)
        } else {
            TokenKind::Name(name)
        }
    }

    fn number(&mut self) -> Result<TokenKind, SyntaxProblem> {
        let start = self.offset;
        let too_large =
            |digits: &str| SyntaxProblem::wrong(start, format!("{digits} does not fit 64 bits"));
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.offset += 2;
            let digits = self.take_while(|c| c.is_ascii_hexdigit() || c == '_').replace('_', "");
            return i64::from_str_radix(&digits, 16)
                .map(TokenKind::Integer)
                .map_err(|_| too_large(&digits));
        }
        self.take_while(|c| c.is_ascii_digit() || c == '_');
        let mut float = false;
        if self.peek() == Some('.') && self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) {
            float = true;
            self.take();
            self.take_while(|c| c.is_ascii_digit() || c == '_');
        }
        if self.rest().starts_with(['e', 'E'])
            && self.rest()[1..]
                .trim_start_matches(['+', '-'])
                .starts_with(|c: char| c.is_ascii_digit())
        {
            float = true;
            self.take();
            self.take_while(|c| c.is_ascii_digit() || c == '+' || c == '-');
        }
        let digits = self.source[start..self.offset].replace('_', "");
        if float {
            return digits
                .parse()
                .map(TokenKind::Float)
                .map_err(|_| SyntaxProblem::wrong(start, format!("{digits} is not a number")));
        }
        digits.parse().map(TokenKind::Integer).map_err(|_| too_large(&digits))
    }

    /// Reads a single-quoted string. Only `\'` and `\\` are escapes in it; `'\x00'` is four
    /// characters.
    fn single_quoted(&mut self) -> Result<TokenKind, SyntaxProblem> {
        self.take();
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Err(SyntaxProblem::Incomplete { quote: Some('\'') }),
                Some('\'') => break,
                Some('\\') if matches!(self.peek(), Some('\'' | '\\')) => text.extend(self.take()),
                Some(other) => text.push(other),
            }
        }
        Ok(TokenKind::Text(vec![StringPart::Bytes(text.into_bytes())]))
    }

    fn double_quoted(&mut self) -> Result<TokenKind, SyntaxProblem> {
        self.take();
        let mut parts = Vec::new();
        let mut bytes = Vec::new();
        loop {
            match self.take() {
                None => return Err(SyntaxProblem::Incomplete { quote: Some('"') }),
                Some('"') => break,
                Some('\\') => self.escape(&mut bytes)?,
                Some('#') if self.peek() == Some('{') => {
                    parts.push(StringPart::Bytes(std::mem::take(&mut bytes)));
                    parts.push(StringPart::Code(self.interpolation()?));
                }
                Some(other) => push_character(&mut bytes, other),
            }
        }
        parts.push(StringPart::Bytes(bytes));
        Ok(TokenKind::Text(parts))
    }

    /// Reads the source between `#{` and its `}`; strings in it may contain braces.
    fn interpolation(&mut self) -> Result<String, SyntaxProblem> {
        if self.depth == MAX_DEPTH {
            return Err(SyntaxProblem::wrong(
                self.offset,
                "strings inside of #{} are nested too deep",
            ));
        }
        self.depth += 1;
        let source = self.interpolation_here();
        self.depth -= 1;
        source
    }

    fn interpolation_here(&mut self) -> Result<String, SyntaxProblem> {
        self.take();
        let start = self.offset;
        let mut depth = 1;
        while let Some(character) = self.peek() {
            match character {
                '\'' => drop(self.single_quoted()?),
                '"' => drop(self.double_quoted()?),
                _ => {
                    self.take();
                    depth += i32::from(character == '{') - i32::from(character == '}');
                    if depth == 0 {
                        return Ok(self.source[start..self.offset - 1].to_owned());
                    }
                }
            }
        }
        Err(SyntaxProblem::Incomplete { quote: Some('"') })
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), SyntaxProblem> {
        let Some(character) = self.take() else {
            return Err(SyntaxProblem::Incomplete { quote: Some('"') });
        };
        match character {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            's' => bytes.push(b' '),
            'e' => bytes.push(0x1b),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'v' => bytes.push(11),
            'f' => bytes.push(12),
            '\n' => {}
            'x' => bytes.push(self.digits(16, 2)?),
            '0'..='7' => {
                self.offset -= 1;
                bytes.push(self.digits(8, 3)?);
            }
            'u' => self.unicode(bytes)?,
            other => push_character(bytes, other),
        }
        Ok(())
    }

    /// Reads a byte of up to `most` digits.
    fn digits(&mut self, base: u32, most: usize) -> Result<u8, SyntaxProblem> {
        let start = self.offset;
        let count = self.rest().chars().take(most).take_while(|c| c.is_digit(base)).count();
        self.offset += count;
        let wrong = |_| {
            SyntaxProblem::wrong(
                start,
                format!("an escape for a byte needs digits of base {base} up to ff"),
            )
        };
        u32::from_str_radix(&self.source[start..self.offset], base)
            .map_err(wrong)
            .map(|value| (value & 0xff) as u8)
    }

    fn unicode(&mut self, bytes: &mut Vec<u8>) -> Result<(), SyntaxProblem> {
        let start = self.offset;
        let braced = self.peek() == Some('{');
        let digits = if braced {
            self.take();
            let digits = self.take_while(|c| c.is_ascii_hexdigit() || c == ' ').to_owned();
            self.take();
            digits
        } else {
            let count = self.rest().chars().take(4).take_while(char::is_ascii_hexdigit).count();
            self.offset += count;
            self.source[start..self.offset].to_owned()
        };
        for code in digits.split_whitespace() {
            let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
            push_character(
                bytes,
                character.ok_or_else(|| {
                    SyntaxProblem::wrong(start, format!("\\u{code} is not a character"))
                })?,
            );
        }
        if digits.trim().is_empty() {
            Err(SyntaxProblem::wrong(start, "\\u needs four hexadecimal digits, or {...}"))
        } else {
            Ok(())
        }
    }

    fn words(&mut self) -> Result<TokenKind, SyntaxProblem> {
        self.offset += 2;
        let close = match self.take() {
            Some('[') => ']',
            Some('(') => ')',
            _ => '}',
        };
        let text = self.take_while(|c| c != close).to_owned();
        if self.take().is_none() {
            return Err(SyntaxProblem::INCOMPLETE);
        }
        Ok(TokenKind::Words(text.split_whitespace().map(|word| word.as_bytes().to_vec()).collect()))
    }
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn push_character(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> Vec<u8> {
        match &tokens(source).unwrap()[0].kind {
            TokenKind::Text(parts) if parts.len() == 1 => match &parts[0] {
                StringPart::Bytes(bytes) => bytes.clone(),
                StringPart::Code(code) => panic!("{code}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn escapes_apply_only_in_double_quotes() {
        assert_eq!(
            text(r#""r\x00\xff\101\u00e9\u{41 42}\n\e\q\\""#),
            b"r\x00\xffA\xc3\xa9AB\n\x1bq\\"
        );
        assert_eq!(text(r"'r\x00\'\\\n'"), br"r\x00'\\n");
    }

    #[test]
    fn incomplete_input_is_distinguished_from_invalid_input() {
        assert_eq!(tokens("put 'abc"), Err(SyntaxProblem::Incomplete { quote: Some('\'') }));
        assert_eq!(tokens("\"a#{b"), Err(SyntaxProblem::Incomplete { quote: Some('"') }));
        assert!(
            matches!(tokens("put \u{2018}a\u{2019}"), Err(SyntaxProblem::Wrong { offset: 4, text }) if text.contains("straight quotes"))
        );
        assert!(matches!(tokens("99999999999999999999"), Err(SyntaxProblem::Wrong { .. })));
    }

    #[test]
    fn tokens_record_preceding_space() {
        let found: Vec<_> =
            tokens("list [0]; x[1]").unwrap().into_iter().map(|token| token.space_before).collect();
        assert_eq!(found, [false, true, false, false, false, true, false, false, false, false]);
    }

    #[test]
    fn lexer_skips_comments_and_counts_open_brackets() {
        assert_eq!(tokens("list # all {").unwrap().len(), 2);
        assert_eq!(open_brackets("scan 't', {\n  COLUMNS => ['a',"), 2);
        assert_eq!(open_brackets("3.times do |i|"), 1);
    }
}
