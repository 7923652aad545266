//! PostgreSQL's dialect, whose parser ends after a number of steps.
//!
//! The parser reads several forms a second time after it failed to read them in another way, and
//! what is nested in them as often: a nested text takes steps of two to the power of its depth.
//! Each of these reads begins an expression, so that those are counted here.

use std::any::TypeId;
use std::cell::Cell;

#[cfg(feature = "datafusion")]
use datafusion::sql::sqlparser;
use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// Expressions that are begun, for each byte of a text.
const PER_BYTE: usize = 16;
/// As many more, for all of a text.
const LEAST: usize = 100_000;

/// Dialect of one text.
#[derive(Debug)]
pub struct BoundedDialect {
    like: PostgreSqlDialect,
    left: Cell<usize>,
}

impl BoundedDialect {
    /// Returns the dialect of a text with a length in bytes or tokens. Its parser returns
    /// `RecursionLimitExceeded` after a multiple of them.
    pub fn new(length: usize) -> Self {
        let left = length.saturating_mul(PER_BYTE).saturating_add(LEAST);
        Self { like: PostgreSqlDialect {}, left: Cell::new(left) }
    }
}

/// Answers as PostgreSQL's dialect does.
macro_rules! as_postgresql {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            self.like.$name()
        })*
    };
}

impl Dialect for BoundedDialect {
    fn dialect(&self) -> TypeId {
        self.like.dialect()
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                None
            }
            None => Some(Err(ParserError::RecursionLimitExceeded)),
        }
    }

    /// Names of arguments are identifiers: the parser reads the first expression of all others
    /// twice.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.like.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        self.like.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.like.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.like.is_identifier_part(letter)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        self.like.is_reserved_for_identifier(keyword)
    }

    fn is_custom_operator_part(&self, letter: char) -> bool {
        self.like.is_custom_operator_part(letter)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        self.like.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.like.prec_value(precedence)
    }

    as_postgresql! {
        supports_unicode_string_literal
        supports_filter_during_aggregation
        supports_group_by_expr
        allow_extract_custom
        allow_extract_single_quotes
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_listen_notify
        supports_factorial_operator
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_colon_operator
        supports_empty_projections
        supports_nested_comments
        supports_string_escape_constant
        supports_numeric_literal_underscores
        supports_array_typedef_with_brackets
        supports_geometric_types
        supports_set_names
        supports_alter_column_type_using
        supports_notnull_operator
        supports_interval_options
        supports_insert_table_alias
        supports_create_table_like_parenthesized
        supports_select_wildcard_with_alias
        supports_comma_separated_trim
        supports_xml_expressions
        supports_comment_optimizer_hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<String, ParserError> {
        let dialect = BoundedDialect::new(text.len());
        let mut parser = Parser::new(&dialect).with_recursion_limit(1000).try_with_sql(text)?;
        let statements = parser.parse_statements()?;
        Ok(statements.iter().map(ToString::to_string).collect())
    }

    /// Text with one part in front of another and one after it, a number of times.
    fn nested(before: &str, of: &str, behind: &str, depth: usize) -> String {
        format!("SELECT {}{of}{}", before.repeat(depth), behind.repeat(depth))
    }

    #[test]
    fn nested_calls_are_read_once() {
        for (before, behind) in [("abs(", ")"), ("CAST(", " AS INT)"), ("ARRAY[", "]")] {
            assert!(parsed(&nested(before, "1", behind, 60)).is_ok(), "{before}");
        }
    }

    #[test]
    fn texts_that_are_read_again_and_again_end() {
        for (before, of, behind) in
            [("CAST(", "1 +", " AS INT)"), ("ARRAY[", "1 1", "]"), ("CASE WHEN ", ")", " END")]
        {
            assert!(parsed(&nested(before, of, behind, 60)).is_err(), "{before}");
        }
    }

    /// What differs is listed above.
    #[test]
    fn texts_are_read_as_in_postgresql() {
        for text in [
            "SELECT a ^@ 'x', b::INT[], E'\\n', U&'\\0041', 1_000, -x!, INTERVAL '1 day' FROM t",
            "SELECT extract('year' FROM d), f(a => 1), t.* FROM t AS t (a, b) WHERE a NOTNULL",
            "INSERT INTO t AS x (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.a",
            "SELECT a COLLATE \"C\", b AT TIME ZONE 'UTC', c << 2, d #> '{a}' /* /* */ */ FROM t",
            "EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FILTER (WHERE a) FROM t GROUP BY ()",
        ] {
            let expected = Parser::parse_sql(&PostgreSqlDialect {}, text)
                .map(|statements| statements.iter().map(ToString::to_string).collect::<String>());
            assert_eq!(parsed(text), expected, "{text}");
        }
    }
}
