//! Statements and expressions of the shell language, produced by the parser and executed by the
//! evaluator.

use super::value::Value;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Literal(Value),
    /// String with embedded expressions, concatenated at evaluation.
    Text(Vec<StringSegment>),
    Array(Vec<Expression>),
    Hash(Vec<(Expression, Expression)>),
    Range {
        first: Box<Expression>,
        last: Box<Expression>,
        exclusive: bool,
    },
    Constant(String),
    Assign(String, Box<Expression>),
    Call(CallExpression),
    Index(Box<Expression>, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Unary(&'static str, Box<Expression>),
    For {
        variable: String,
        over: Box<Expression>,
        body: Vec<Expression>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StringSegment {
    Bytes(Vec<u8>),
    Code(Vec<Expression>),
}

/// `name args`, `name(args)`, `receiver.name args`, or a bare `name`, which may be a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallExpression {
    pub(crate) receiver: Option<Box<Expression>>,
    pub(crate) name: String,
    pub(crate) arguments: Vec<Expression>,
    pub(crate) block: Option<Block>,
}

/// `{ |a, b| ... }` or `do |a, b| ... end`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Vec<Expression>,
}
