//! Parser that converts tokens to statements: command calls with and without parentheses, literals,
//! operators, blocks.

mod arguments;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::ast::{CallExpression, Expression, StringSegment};
use super::lexer::{StringPart, SyntaxProblem, Token, TokenKind, tokens};
use super::value::Value;

type Parsed<T> = Result<T, SyntaxProblem>;

/// Operators by precedence, lowest first.
const LEVELS: [&[&str]; 6] =
    [&["||"], &["&&"], &["==", "!="], &["<", "<=", ">", ">="], &["<<", "+", "-"], &["*", "/", "%"]];
/// Maximum nesting of expressions; deeper nesting is a mistake or an attack on the stack.
const MAX_DEPTH: usize = 64;
/// Names that end a statement or an argument list and are never values.
const RESERVED: [&str; 9] = ["do", "end", "in", "if", "unless", "then", "else", "while", "until"];

/// Parses the statements of `source`. `variables` contains the names assigned so far, which are
/// never commands.
///
/// # Errors
/// Returns [`SyntaxProblem::Incomplete`] if further lines may complete the text.
pub(crate) fn parse(source: &str, variables: &BTreeSet<String>) -> Parsed<Vec<Expression>> {
    parse_inside(source, variables, 0)
}

fn parse_inside(
    source: &str,
    variables: &BTreeSet<String>,
    depth: usize,
) -> Parsed<Vec<Expression>> {
    let mut parser =
        Parser { tokens: tokens(source)?, next: 0, variables: variables.clone(), depth };
    let statements = parser.statements()?;
    match parser.peek().kind {
        TokenKind::End => Ok(statements),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    variables: BTreeSet<String>,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.next + distance).min(last)]
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn accept(&mut self, operator: &str) -> bool {
        let found = self.peek().is(operator);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, operator: &str) -> Parsed<()> {
        if self.accept(operator) {
            Ok(())
        } else {
            Err(self.unexpected_instead_of(&format!("'{operator}'")))
        }
    }

    fn expect_name(&mut self) -> Parsed<String> {
        match self.peek().kind.clone() {
            TokenKind::Name(name) => {
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected_instead_of("a name")),
        }
    }

    fn skip_newlines(&mut self) {
        while self.peek().kind == TokenKind::Newline {
            self.next += 1;
        }
    }

    fn unexpected(&self) -> SyntaxProblem {
        let token = self.peek();
        match &token.kind {
            TokenKind::End => SyntaxProblem::INCOMPLETE,
            TokenKind::Operator("{") => SyntaxProblem::wrong(
                token.offset,
                "'{' is not expected here; put a comma before the hash",
            ),
            TokenKind::Text(_) | TokenKind::Integer(_) | TokenKind::Constant(_) => {
                SyntaxProblem::wrong(
                    token.offset,
                    format!(
                        "{} is not expected here; is a comma missing before it?",
                        describe(&token.kind)
                    ),
                )
            }
            kind => SyntaxProblem::wrong(
                token.offset,
                format!("{} is not expected here", describe(kind)),
            ),
        }
    }

    fn unexpected_instead_of(&self, expected: &str) -> SyntaxProblem {
        let token = self.peek();
        match &token.kind {
            TokenKind::End => SyntaxProblem::INCOMPLETE,
            kind => SyntaxProblem::wrong(
                token.offset,
                format!("found {}, expected {expected}", describe(kind)),
            ),
        }
    }

    /// Parses statements up to the end of the text, `end` or `}`, which the caller then consumes.
    fn statements(&mut self) -> Parsed<Vec<Expression>> {
        let mut statements = Vec::new();
        loop {
            while self.peek().kind == TokenKind::Newline || self.peek().is(";") {
                self.next += 1;
            }
            if self.peek().kind == TokenKind::End
                || self.peek().is("}")
                || self.peek().is_name("end")
            {
                return Ok(statements);
            }
            statements.push(self.expression()?);
            let token = self.peek();
            if !(matches!(token.kind, TokenKind::Newline | TokenKind::End)
                || token.is(";")
                || token.is("}")
                || token.is_name("end"))
            {
                return Err(self.unexpected());
            }
        }
    }

    fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(Self::expression_here)
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Parsed<Expression>) -> Parsed<Expression> {
        if self.depth == MAX_DEPTH {
            return Err(SyntaxProblem::wrong(
                self.peek().offset,
                format!("this is nested more than {MAX_DEPTH} deep; take it apart with variables"),
            ));
        }
        self.depth += 1;
        let expression = read(self);
        self.depth -= 1;
        expression
    }

    fn expression_here(&mut self) -> Parsed<Expression> {
        if let TokenKind::Name(name) = self.peek().kind.clone() {
            if self.ahead(1).is("=") {
                self.next += 2;
                return self.assignment(name);
            }
            if let Some(operator) =
                [("+=", "+"), ("-=", "-")].iter().find(|(assign, _)| self.ahead(1).is(assign))
            {
                self.next += 2;
                self.skip_newlines();
                let old = CallExpression {
                    receiver: None,
                    name: name.clone(),
                    arguments: Vec::new(),
                    block: None,
                };
                let sum = Expression::Binary(
                    operator.1,
                    Box::new(Expression::Call(old)),
                    Box::new(self.expression()?),
                );
                return Ok(Expression::Assign(name, Box::new(sum)));
            }
            if name == "for" {
                self.next += 1;
                return self.for_loop();
            }
        }
        self.range()
    }

    fn assignment(&mut self, name: String) -> Parsed<Expression> {
        self.skip_newlines();
        let value = self.expression()?;
        self.variables.insert(name.clone());
        Ok(Expression::Assign(name, Box::new(value)))
    }

    fn for_loop(&mut self) -> Parsed<Expression> {
        let variable = self.expect_name()?;
        self.variables.insert(variable.clone());
        if !self.peek().is_name("in") {
            return Err(self.unexpected_instead_of("'in'"));
        }
        self.next += 1;
        let over = Box::new(self.range()?);
        if self.peek().is_name("do") {
            self.next += 1;
        }
        let body = self.statements()?;
        self.take_end()?;
        Ok(Expression::For { variable, over, body })
    }

    fn take_end(&mut self) -> Parsed<()> {
        if self.peek().is_name("end") {
            self.next += 1;
            return Ok(());
        }
        Err(self.unexpected_instead_of("'end'"))
    }

    fn range(&mut self) -> Parsed<Expression> {
        let first = self.binary(0)?;
        let exclusive = self.peek().is("...");
        if !exclusive && !self.peek().is("..") {
            return Ok(first);
        }
        self.next += 1;
        let last = Box::new(self.binary(0)?);
        Ok(Expression::Range { first: Box::new(first), last, exclusive })
    }

    fn binary(&mut self, level: usize) -> Parsed<Expression> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.peek().is(operator)) {
            self.next += 1;
            self.skip_newlines();
            let right = self.binary(level + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expression> {
        for operator in ["-", "!"] {
            if self.accept(operator) {
                return Ok(Expression::Unary(operator, Box::new(self.deeper(Self::unary)?)));
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expression> {
        let mut expression = self.primary()?;
        loop {
            if self.accept(".") {
                let name = match self.take().kind {
                    TokenKind::Name(name) | TokenKind::Constant(name) => name,
                    TokenKind::End => return Err(SyntaxProblem::INCOMPLETE),
                    _ => {
                        self.next -= 1;
                        return Err(self.unexpected_instead_of("the name of a method"));
                    }
                };
                expression = self.call(Some(Box::new(expression)), name)?;
            } else if self.peek().is("[") && !self.peek().space_before {
                self.next += 1;
                self.skip_newlines();
                let index = self.expression()?;
                self.skip_newlines();
                self.expect("]")?;
                expression = Expression::Index(Box::new(expression), Box::new(index));
            } else {
                return Ok(expression);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Expression> {
        match self.peek().kind.clone() {
            TokenKind::Integer(value) => Ok(self.literal(Value::Integer(value))),
            TokenKind::Float(value) => Ok(self.literal(Value::Float(value))),
            TokenKind::Symbol(name) => Ok(self.literal(Value::Symbol(name))),
            TokenKind::Words(words) => {
                Ok(self.literal(Value::Array(words.into_iter().map(Value::Text).collect())))
            }
            TokenKind::Text(_) => self.text(),
            TokenKind::Constant(name) => {
                self.next += 1;
                Ok(Expression::Constant(name))
            }
            TokenKind::Name(name) => match name.as_str() {
                "nil" => Ok(self.literal(Value::Nil)),
                "true" => Ok(self.literal(Value::Bool(true))),
                "false" => Ok(self.literal(Value::Bool(false))),
                reserved if RESERVED.contains(&reserved) => Err(self.unexpected()),
                _ => {
                    self.next += 1;
                    self.call(None, name)
                }
            },
            TokenKind::Operator("(") => {
                self.next += 1;
                self.skip_newlines();
                let inner = self.expression()?;
                self.skip_newlines();
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Operator("[") => {
                self.next += 1;
                Ok(Expression::Array(self.list("]")?))
            }
            TokenKind::Operator("{") => {
                self.next += 1;
                match self.list("}")?.pop() {
                    None => Ok(Expression::Hash(Vec::new())),
                    Some(hash @ Expression::Hash(_)) => Ok(hash),
                    Some(_) => Err(SyntaxProblem::wrong(
                        self.peek().offset,
                        "a hash holds pairs: write KEY => value",
                    )),
                }
            }
            _ => Err(self.unexpected_instead_of("a value")),
        }
    }

    fn literal(&mut self, value: Value) -> Expression {
        self.next += 1;
        Expression::Literal(value)
    }

    /// Parses one string, or several adjacent ones, which are concatenated.
    fn text(&mut self) -> Parsed<Expression> {
        let mut pieces = Vec::new();
        while let TokenKind::Text(parts) = self.peek().kind.clone() {
            let at = self.peek().offset;
            self.next += 1;
            for part in parts {
                pieces.push(match part {
                    StringPart::Bytes(bytes) => StringSegment::Bytes(bytes),
                    StringPart::Code(source) => StringSegment::Code(
                        parse_inside(&source, &self.variables, self.depth)
                            .map_err(|problem| inside_text(problem, at))?,
                    ),
                });
            }
        }
        if pieces.iter().any(|piece| matches!(piece, StringSegment::Code(_))) {
            return Ok(Expression::Text(pieces));
        }
        let bytes = pieces.into_iter().flat_map(|piece| {
            if let StringSegment::Bytes(bytes) = piece { bytes } else { Vec::new() }
        });
        Ok(Expression::Literal(Value::Text(bytes.collect())))
    }
}

/// Converts an error in `#{}` to an error of the string that starts at `at`.
fn inside_text(problem: SyntaxProblem, at: usize) -> SyntaxProblem {
    match problem {
        SyntaxProblem::Incomplete { .. } => {
            SyntaxProblem::wrong(at, "an expression in #{} is not complete")
        }
        SyntaxProblem::Wrong { text, .. } => SyntaxProblem::wrong(at, format!("in #{{}}: {text}")),
    }
}

fn describe(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Integer(value) => value.to_string(),
        TokenKind::Float(value) => value.to_string(),
        TokenKind::Text(_) => "a string".to_owned(),
        TokenKind::Words(_) => "a list of words".to_owned(),
        TokenKind::Symbol(name) => format!(":{name}"),
        TokenKind::Label(name) => format!("{name}:"),
        TokenKind::Name(name) | TokenKind::Constant(name) => name.clone(),
        TokenKind::Operator(operator) => format!("'{operator}'"),
        TokenKind::Newline => "the end of the line".to_owned(),
        TokenKind::End => "the end".to_owned(),
    }
}
