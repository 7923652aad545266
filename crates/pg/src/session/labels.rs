//! Names of columns that a statement does not name, as PostgreSQL gives them.

use std::sync::Arc;

use halite_sql::BoundedDialect;
use halite_sql::datafusion::arrow::datatypes::{FieldRef, Schema};
use halite_sql::datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use halite_sql::datafusion::sql::sqlparser::parser::Parser;

/// Bytes of a statement whose columns are examined.
const MAX_BYTES: usize = 16 << 10;
/// Depth of the parser, which is that of its own default: the thread's stack is a usual one.
const PARSER_DEPTH: usize = 50;
/// Name of what has none.
const NO_NAME: &str = "?column?";

/// Returns the columns of a query with the names of PostgreSQL for those that the query does not
/// name. Those of other statements, and of queries with `*`, stay as they are.
pub(super) fn labelled(fields: Vec<FieldRef>, text: &str) -> Vec<FieldRef> {
    match names(text) {
        Some(names) if names.len() == fields.len() => {
            let named = |(field, name): (FieldRef, Option<String>)| match name {
                Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
                None => field,
            };
            fields.into_iter().zip(names).map(named).collect()
        }
        _ => fields,
    }
}

/// Returns the columns of a schema.
pub(super) fn fields_of(schema: &Schema) -> Vec<FieldRef> {
    schema.fields().iter().map(Arc::clone).collect()
}

/// Returns the names of the columns, `None` for each that the query names.
fn names(text: &str) -> Option<Vec<Option<String>>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let dialect = BoundedDialect::new(text.len());
    let parser = Parser::new(&dialect).with_recursion_limit(PARSER_DEPTH);
    let statements = parser.try_with_sql(text).ok()?.parse_statements().ok()?;
    let [Statement::Query(query)] = statements.as_slice() else { return None };
    let mut body = query.body.as_ref();
    // The first query of a UNION names the columns.
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    let SetExpr::Select(select) = body else { return None };
    let name = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        | SelectItem::ExprWithAlias { .. } => Some(None),
        SelectItem::UnnamedExpr(expr) => Some(Some(name_of(expr))),
        // How many columns these are is not known here.
        _ => None,
    };
    select.projection.iter().map(name).collect()
}

fn name_of(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            parts.last().map_or_else(|| NO_NAME.to_owned(), |part| part.value.clone())
        }
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.map_or_else(|| NO_NAME.to_owned(), |name| name.value.to_ascii_lowercase())
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Cast { expr, data_type, .. } => match name_of(expr) {
            name if name == NO_NAME => {
                let ty = data_type.to_string().to_ascii_lowercase();
                ty.split(['(', ' ']).next().unwrap_or(NO_NAME).to_owned()
            }
            name => name,
        },
        Expr::Case { .. } => "case".to_owned(),
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Trim { .. } => "trim".to_owned(),
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        _ => NO_NAME.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_name_get_that_of_postgresql() {
        let text = "SELECT 1, count(*), a, t.b, 'x' AS c, v + 1, '5'::bigint, (lower(n)), \
                    CASE WHEN a THEN 1 END FROM t UNION ALL SELECT 2";
        let found = names(text).unwrap();
        let found: Vec<_> = found.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        let expected = [NO_NAME, "count", "-", "-", "-", NO_NAME, "bigint", "lower", "case"];
        assert_eq!(found, expected);
        for text in ["SELECT *, 1 FROM t", "SHOW TABLES", "SELECT 1; SELECT 2", "nonsense"] {
            assert_eq!(names(text), None, "{text}");
        }
        let deep = format!("SELECT {}1{}", "(".repeat(1000), ")".repeat(1000));
        assert_eq!(names(&deep), None);
        for (before, behind) in [("CAST(", " AS INT)"), ("NOT (", ")"), ("ARRAY[", "]")] {
            let again = format!("SELECT {}true{}", before.repeat(80), behind.repeat(80));
            assert_eq!(names(&again), None, "{before}");
        }
    }
}
