//! Parser for the text after the name of a command or method: arguments, pairs that form a hash, a
//! block.

use super::{Parsed, Parser, RESERVED};
use crate::shell::ast::{Block, CallExpression, Expression};
use crate::shell::lexer::{SyntaxProblem, TokenKind};
use crate::shell::value::Value;

impl Parser {
    /// Parses the arguments and block after a name, if there are any.
    pub(super) fn call(
        &mut self,
        receiver: Option<Box<Expression>>,
        name: String,
    ) -> Parsed<Expression> {
        let mut call = CallExpression { receiver, name, arguments: Vec::new(), block: None };
        let is_variable = call.receiver.is_none() && self.variables.contains(&call.name);
        if self.peek().is("(") && !self.peek().space_before {
            self.next += 1;
            call.arguments = self.list(")")?;
        } else if !is_variable && self.starts_argument() {
            call.arguments = self.command_arguments()?;
        }
        let after_method = call.receiver.is_some();
        call.block = self.block(after_method)?;
        Ok(Expression::Call(call))
    }

    /// Returns `true` if the next token starts an argument of a command without parentheses.
    fn starts_argument(&self) -> bool {
        let token = self.peek();
        let tight = !self.ahead(1).space_before;
        match &token.kind {
            TokenKind::Integer(_)
            | TokenKind::Float(_)
            | TokenKind::Text(_)
            | TokenKind::Words(_)
            | TokenKind::Symbol(_)
            | TokenKind::Label(_)
            | TokenKind::Constant(_) => true,
            TokenKind::Name(name) => !RESERVED.contains(&name.as_str()),
            TokenKind::Operator("[" | "(") => token.space_before,
            TokenKind::Operator("-" | "!") => token.space_before && tight,
            TokenKind::Operator("{") => self.hash_follows(),
            _ => false,
        }
    }

    /// Returns `true` if the next `{` opens a hash rather than a block.
    fn hash_follows(&self) -> bool {
        matches!(self.ahead(1).kind, TokenKind::Label(_)) || self.ahead(2).is("=>")
    }

    fn command_arguments(&mut self) -> Parsed<Vec<Expression>> {
        let mut items = Items::default();
        loop {
            self.item(&mut items)?;
            if !self.accept(",") {
                return Ok(items.finish());
            }
            self.skip_newlines();
        }
    }

    /// Parses values and pairs up to `close`; the pairs form one hash at the end.
    pub(super) fn list(&mut self, close: &str) -> Parsed<Vec<Expression>> {
        let mut items = Items::default();
        loop {
            self.skip_newlines();
            if self.accept(close) {
                return Ok(items.finish());
            }
            self.item(&mut items)?;
            self.skip_newlines();
            if !self.accept(",") && !self.peek().is(close) {
                return Err(self.unexpected_instead_of(&format!("',' or '{close}'")));
            }
        }
    }

    fn item(&mut self, items: &mut Items) -> Parsed<()> {
        if let TokenKind::Label(name) = self.peek().kind.clone() {
            self.next += 1;
            self.skip_newlines();
            items.pairs.push((Expression::Literal(Value::Symbol(name)), self.expression()?));
            return Ok(());
        }
        let at = self.peek().offset;
        let value = self.expression()?;
        if self.accept("=>") {
            self.skip_newlines();
            items.pairs.push((value, self.expression()?));
        } else if items.pairs.is_empty() {
            items.values.push(value);
        } else {
            return Err(SyntaxProblem::wrong(
                at,
                "a value follows KEY => value pairs; put it before them, or the pairs in {}",
            ));
        }
        Ok(())
    }

    fn block(&mut self, after_method: bool) -> Parsed<Option<Block>> {
        let braces =
            self.peek().is("{") && (self.ahead(1).is("|") || after_method && !self.hash_follows());
        if !braces && !self.peek().is_name("do") {
            return Ok(None);
        }
        // `for x in list do` uses the `do` itself.
        if !braces && self.loop_header() {
            return Ok(None);
        }
        self.next += 1;
        let mut parameters = Vec::new();
        if self.accept("|") {
            while !self.accept("|") {
                let name = self.expect_name()?;
                self.variables.insert(name.clone());
                parameters.push(name);
                self.accept(",");
            }
        }
        let body = self.statements()?;
        if braces {
            self.expect("}")?;
        } else {
            self.take_end()?;
        }
        Ok(Some(Block { parameters, body }))
    }

    /// Returns `true` if the statement of the next token starts with `for`.
    fn loop_header(&self) -> bool {
        self.tokens[..self.next]
            .iter()
            .rev()
            .take_while(|token| token.kind != TokenKind::Newline && !token.is(";"))
            .any(|token| token.is_name("for"))
            && !self.ahead(1).is("|")
    }
}

#[derive(Default)]
struct Items {
    values: Vec<Expression>,
    pairs: Vec<(Expression, Expression)>,
}

impl Items {
    fn finish(mut self) -> Vec<Expression> {
        if !self.pairs.is_empty() {
            self.values.push(Expression::Hash(self.pairs));
        }
        self.values
    }
}
