//! Functions and casts that look something up, as queries of the table that has it.

use std::ops::ControlFlow;

use super::super::columns::{catalog_table, names_of};
use super::super::names::SCHEMA;
use super::super::oids::of_catalog;
use super::forms::{arguments, last, literal, number, subquery, take, text};
use halite_sql::datafusion::sql::sqlparser::ast::{
    DataType, Expr, Ident, Query, Statement, TableAlias, TableFactor, Value, VisitMut as _,
    VisitorMut,
};
use halite_sql::datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use halite_sql::datafusion::sql::sqlparser::parser::Parser;

/// Table of settings.
const SETTINGS: &str = "pg_settings";
/// Name in the queries below for what is looked up.
const WANTED: &str = "halite_wanted";
/// Name in them for a second value.
const SECOND: &str = "halite_second";

/// Conditions on the rows below, whose columns have names that no client uses: what a client asks
/// by is written into the condition, and has to mean its own columns.
const BY: &str = "halite_found.halite_by = halite_wanted";
const BY_BOTH: &str =
    "halite_found.halite_by = halite_wanted AND halite_found.halite_also = halite_second";
const BY_EITHER: &str = "halite_wanted IN (halite_found.halite_by, halite_found.halite_also)";

const INDEX_DEFINITION: &str =
    "SELECT indexdef AS halite_of, indexrelid AS halite_by FROM pg_catalog.pg_index";
const INDEX_COLUMN: &str = "SELECT attname AS halite_of, attrelid AS halite_by, \
     attnum AS halite_also FROM pg_catalog.pg_attribute";
const CONSTRAINT_DEFINITION: &str =
    "SELECT consrc AS halite_of, oid AS halite_by FROM pg_catalog.pg_constraint";
const VIEW_DEFINITION: &str = "SELECT x.definition AS halite_of, y.oid AS halite_by FROM \
     pg_catalog.pg_views AS x JOIN pg_catalog.pg_class AS y ON y.relname = x.viewname WHERE \
     y.relkind = 'v' AND y.relpersistence = 't'";
const COMMENT: &str = "SELECT description AS halite_of, objoid AS halite_by FROM \
     pg_catalog.pg_description WHERE objsubid = 0";
const COLUMN_COMMENT: &str = "SELECT description AS halite_of, objoid AS halite_by, \
     objsubid AS halite_also FROM pg_catalog.pg_description";
const TABLE_NAME: &str = "SELECT relname AS halite_of, oid AS halite_by FROM pg_catalog.pg_class";
const TABLE_NUMBER: &str = "SELECT x.oid AS halite_of, x.relname AS halite_by, \
     y.nspname || '.' || x.relname AS halite_also FROM pg_catalog.pg_class AS x JOIN \
     pg_catalog.pg_namespace AS y ON y.oid = x.relnamespace";
const TYPE_NUMBER: &str = "SELECT oid AS halite_of, typname AS halite_by FROM pg_catalog.pg_type";
const SCHEMA_NAME: &str =
    "SELECT nspname AS halite_of, oid AS halite_by FROM pg_catalog.pg_namespace";
const SCHEMA_NUMBER: &str =
    "SELECT oid AS halite_of, nspname AS halite_by FROM pg_catalog.pg_namespace";
const VISIBLE: &str =
    "SELECT x.oid FROM pg_catalog.pg_class AS x WHERE x.relnamespace IN (11, 2200, 13002)";

/// Changes one expression, whose parts have been changed.
pub(super) fn change(expr: &mut Expr) {
    let changed = match expr {
        Expr::Function(function) => {
            let name = last(&function.name);
            let mut arguments = arguments(function);
            match (name.as_str(), arguments.as_mut_slice()) {
                // Of one column, unless its number is 0.
                ("pg_get_indexdef", [oid, column, ..]) if column.to_string() != "0" => {
                    query_of(INDEX_COLUMN, BY_BOTH, &take(oid), Some(&take(column)))
                }
                ("pg_get_indexdef", [oid, ..]) => query(INDEX_DEFINITION, &take(oid)),
                ("pg_get_constraintdef", [oid, ..]) => query(CONSTRAINT_DEFINITION, &take(oid)),
                ("pg_get_viewdef", [oid, ..]) => query(VIEW_DEFINITION, &take(oid)),
                ("obj_description", [oid, ..]) => query(COMMENT, &take(oid)),
                ("col_description", [oid, column]) => {
                    query_of(COLUMN_COMMENT, BY_BOTH, &take(oid), Some(&take(column)))
                }
                ("to_regclass", [name, ..]) => table_number(&take(name)),
                ("to_regtype", [name, ..]) => query(TYPE_NUMBER, &take(name)),
                ("pg_table_is_visible", [oid, ..]) => {
                    parsed(VISIBLE).map(|visible| Expr::InSubquery {
                        expr: Box::new(take(oid)),
                        subquery: Box::new(visible),
                        negated: false,
                    })
                }
                _ => None,
            }
        }
        Expr::Cast { data_type, expr: inner, .. } => {
            let ty = match data_type {
                DataType::Custom(name, _) => last(name),
                DataType::Regclass => "regclass".to_owned(),
                _ => String::new(),
            };
            match (ty.as_str(), literal(inner)) {
                ("regclass", Some(name)) => {
                    let known = name.parse().ok().or_else(|| of_catalog(plain(&name)));
                    match known {
                        Some(oid) => Some(number(oid)),
                        None => table_number(&text(plain(&name))),
                    }
                }
                ("regclass", None) if is_text(inner) => table_number(&take(inner)),
                ("regclass", None) => query(TABLE_NAME, &take(inner)),
                ("regnamespace", Some(name)) => query(SCHEMA_NUMBER, &text(plain(&name))),
                ("regnamespace", None) => query(SCHEMA_NAME, &take(inner)),
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(changed) = changed {
        *expr = changed;
    }
}

/// Reads the settings as those of the session: the table has what they are unless one sets them.
pub(super) fn change_table(factor: &mut TableFactor) {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return };
    if catalog_table(name) != Some(SETTINGS) {
        return;
    }
    let columns = names_of(SETTINGS).map(|column| match column {
        "setting" => "current_setting(x.name, true) AS setting".to_owned(),
        other => format!("x.{other}"),
    });
    let columns: Vec<String> = columns.collect();
    let text = format!("SELECT {} FROM {SCHEMA}.{SETTINGS} AS x", columns.join(", "));
    let Some(query) = parsed(&text) else { return };
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(SETTINGS),
        columns: Vec::new(),
        at: None,
    });
    let subquery = Box::new(query);
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
}

/// Returns `true` for what is a name, and not a number.
fn is_text(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        Expr::Cast { data_type, .. } => {
            matches!(data_type, DataType::Text | DataType::Varchar(_) | DataType::String(_))
        }
        Expr::Nested(inner) => is_text(inner),
        _ => false,
    }
}

/// Leaves out the schema of the catalog, and quotes.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix(SCHEMA).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
    name.trim_matches('"')
}

/// Returns the query of the number of a table, whose name may begin with its schema.
fn table_number(name: &Expr) -> Option<Expr> {
    query_of(TABLE_NUMBER, BY_EITHER, name, None)
}

fn query(rows: &str, wanted: &Expr) -> Option<Expr> {
    query_of(rows, BY, wanted, None)
}

/// Returns the query of what is found in rows by a condition with what is wanted in it.
fn query_of(rows: &str, by: &str, wanted: &Expr, second: Option<&Expr>) -> Option<Expr> {
    struct Fill<'e> {
        wanted: &'e Expr,
        second: Option<&'e Expr>,
    }
    impl VisitorMut for Fill<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            let filled = match expr {
                Expr::Identifier(Ident { value, .. }) if value == WANTED => Some(self.wanted),
                Expr::Identifier(Ident { value, .. }) if value == SECOND => self.second,
                _ => None,
            };
            if let Some(filled) = filled {
                expr.clone_from(filled);
            }
            ControlFlow::Continue(())
        }
    }
    let text =
        format!("SELECT max(halite_found.halite_of) FROM ({rows}) AS halite_found WHERE {by}");
    let mut query = parsed(&text)?;
    let _ = query.visit(&mut Fill { wanted, second });
    Some(subquery(query))
}

fn parsed(text: &str) -> Option<Query> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, text).ok()?;
    match statements.pop()? {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use halite_sql::datafusion::sql::sqlparser::ast::SetExpr;

    use super::*;

    #[test]
    fn queries_are_queries() {
        for template in [
            INDEX_DEFINITION,
            CONSTRAINT_DEFINITION,
            VIEW_DEFINITION,
            COMMENT,
            TABLE_NAME,
            TYPE_NUMBER,
            SCHEMA_NAME,
            SCHEMA_NUMBER,
        ] {
            let filled = query(template, &number(5)).expect("a query").to_string();
            assert!(filled.contains('5') && !filled.contains(WANTED), "{filled}");
        }
        let filled = table_number(&number(5)).expect("a query").to_string();
        assert!(filled.contains("5 IN (") && !filled.contains(WANTED), "{filled}");
        assert!(matches!(parsed(VISIBLE).map(|query| *query.body), Some(SetExpr::Select(_))));
    }
}
