//! `*` of tables of the catalog, as the columns that it is: clients name some of them too, as in
//! `SELECT c.oid, c.*`.

use halite_sql::datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor,
};

use super::super::columns::{catalog_table, names_of};

/// Table of the catalog in FROM.
struct Relation {
    /// What qualifies its columns.
    name: Ident,
    table: &'static str,
}

/// Replaces the stars of the SELECTs of a query.
pub(super) fn expand(query: &mut Query) {
    expand_body(&mut query.body);
}

fn expand_body(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            expand_body(left);
            expand_body(right);
        }
        SetExpr::Select(select) => expand_select(select),
        _ => {}
    }
}

fn expand_select(select: &mut Select) {
    let factors = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    let relations: Vec<Option<Relation>> = factors.map(relation).collect();
    let named: Vec<Vec<Ident>> = select.projection.iter().filter_map(column_of).collect();
    let mut projection = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        let found: Option<Vec<&Relation>> = match &item {
            SelectItem::Wildcard(_) => relations.iter().map(Option::as_ref).collect(),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                relations.iter().flatten().find(|one| is_name(name, one)).map(|one| vec![one])
            }
            _ => None,
        };
        match found {
            Some(found) => {
                projection.extend(found.into_iter().flat_map(|one| columns(one, &named)));
            }
            None => projection.push(item),
        }
    }
    select.projection = projection;
}

fn relation(factor: &TableFactor) -> Option<Relation> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let table = catalog_table(name)?;
    let name = match alias {
        Some(alias) if !alias.columns.is_empty() => return None,
        Some(alias) => alias.name.clone(),
        None => name.0.last()?.as_ident()?.clone(),
    };
    Some(Relation { name, table })
}

fn is_name(name: &ObjectName, relation: &Relation) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|last| last.value.eq_ignore_ascii_case(&relation.name.value))
}

/// Returns the parts of a column that is selected as it is.
fn column_of(item: &SelectItem) -> Option<Vec<Ident>> {
    match item {
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => Some(parts.clone()),
        _ => None,
    }
}

/// Returns the columns of a relation; those of `named` as they are written there, so that they are
/// seen to be the same.
fn columns(relation: &Relation, named: &[Vec<Ident>]) -> impl Iterator<Item = SelectItem> {
    names_of(relation.table).map(|column| {
        let is_it = |parts: &&Vec<Ident>| match parts.as_slice() {
            [of, name] => {
                of.value.eq_ignore_ascii_case(&relation.name.value)
                    && name.value.eq_ignore_ascii_case(column)
            }
            _ => false,
        };
        let known = named.iter().find(is_it).cloned();
        let parts =
            known.unwrap_or_else(|| vec![relation.name.clone(), Ident::with_quote('"', column)]);
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
    })
}

#[cfg(test)]
mod tests {
    use halite_sql::datafusion::sql::sqlparser::ast::Statement;
    use halite_sql::datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use halite_sql::datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn expanded(text: &str) -> String {
        let statement = Parser::parse_sql(&PostgreSqlDialect {}, text).unwrap().remove(0);
        let Statement::Query(mut query) = statement else { panic!("{text}") };
        expand(&mut query);
        query.to_string()
    }

    #[test]
    fn stars_are_the_columns_of_their_tables() {
        assert_eq!(
            expanded("SELECT n.oid, n.*, d.x FROM pg_catalog.pg_namespace n JOIN d ON true"),
            "SELECT n.oid, n.oid, n.\"nspname\", n.\"nspowner\", n.\"nspacl\", d.x FROM \
             pg_catalog.pg_namespace n JOIN d ON true"
        );
        assert_eq!(
            expanded("SELECT * FROM pg_foreign_table"),
            "SELECT pg_foreign_table.\"ftrelid\", pg_foreign_table.\"ftserver\", \
             pg_foreign_table.\"ftoptions\" FROM pg_foreign_table"
        );
        for other in [
            "SELECT * FROM pg_class, t",
            "SELECT t.* FROM t, pg_class",
            "SELECT * FROM pg_class AS c (a, b)",
            "SELECT count(*) FROM pg_class",
        ] {
            assert_eq!(expanded(other), other);
        }
    }
}
