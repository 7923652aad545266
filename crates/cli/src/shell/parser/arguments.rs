//! Reads what follows the name of a command or method: arguments, pairs that make a hash, a block.

use super::{Parsed, Parser, RESERVED};
use crate::shell::ast::{Block, Call, Expression};
use crate::shell::lexer::{Kind, SyntaxProblem};
use crate::shell::value::Value;

impl Parser {
    /// What follows a name: its arguments and block, if it has any.
    pub(super) fn call(&mut self, receiver: Option<Box<Expression>>, name: String) -> Parsed<Expression> {
        let mut call = Call { receiver, name, arguments: Vec::new(), block: None };
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

    /// Whether the next token begins an argument of a command without parentheses.
    fn starts_argument(&self) -> bool {
        let token = self.peek();
        let tight = !self.ahead(1).space_before;
        match &token.kind {
            Kind::Integer(_) | Kind::Float(_) | Kind::Text(_) | Kind::Words(_) | Kind::Symbol(_) | Kind::Label(_) | Kind::Constant(_) => true,
            Kind::Name(name) => !RESERVED.contains(&name.as_str()),
            Kind::Operator("[" | "(") => token.space_before,
            Kind::Operator("-" | "!") => token.space_before && tight,
            Kind::Operator("{") => self.hash_follows(),
            _ => false,
        }
    }

    /// Whether the `{` that comes next opens a hash and not a block.
    fn hash_follows(&self) -> bool {
        matches!(self.ahead(1).kind, Kind::Label(_)) || self.ahead(2).is("=>")
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

    /// Values and pairs up to `close`; the pairs become one hash at the end.
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
        if let Kind::Label(name) = self.peek().kind.clone() {
            self.next += 1;
            self.skip_newlines();
            items.pairs.push((Expression::Literal(Value::Symbol(name)), self.expression()?));
            return Ok(());
        }
        let at = self.peek().at;
        let value = self.expression()?;
        if self.accept("=>") {
            self.skip_newlines();
            items.pairs.push((value, self.expression()?));
        } else if items.pairs.is_empty() {
            items.values.push(value);
        } else {
            return Err(SyntaxProblem::wrong(at, "a value stands behind KEY => value pairs; put it before them, or the pairs in {}"));
        }
        Ok(())
    }

    fn block(&mut self, after_method: bool) -> Parsed<Option<Block>> {
        let braces = self.peek().is("{") && (self.ahead(1).is("|") || after_method && !self.hash_follows());
        if !braces && !self.peek().is_name("do") {
            return Ok(None);
        }
        // `for x in list do` takes the `do` itself.
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

    /// Whether the statement the next token belongs to began with `for`.
    fn loop_header(&self) -> bool {
        self.tokens[..self.next].iter().rev().take_while(|token| token.kind != Kind::Newline && !token.is(";")).any(|token| token.is_name("for"))
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
