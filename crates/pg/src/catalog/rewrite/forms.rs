//! Casts, operators and functions in forms that DataFusion plans.

use std::ops::ControlFlow;

use halite_sql::datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident,
    ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, Value, Visit, Visitor,
};
use halite_sql::{SqlError, SqlState};

use super::super::columns::TABLE_FUNCTIONS;
use super::super::expand::EXPAND;
use super::super::names::{CURRENT_SCHEMAS, SCHEMA};
use crate::values::{list, types};

/// Returns the error of a COLLATE that is not the order of text here, which is that of its bytes.
pub(super) fn collation_error(expr: &Expr) -> Option<SqlError> {
    let Expr::Collate { collation, .. } = expr else { return None };
    let name = last(collation);
    if ["default", "c", "posix", "ucs_basic", "c.utf8", "c.utf-8"].contains(&name.as_str()) {
        return None;
    }
    let text = format!(
        "COLLATE {collation} is not there: text is ordered and compared by its bytes, which is \
         COLLATE \"C\"; leave it out, or order the rows in the client"
    );
    let ident = collation.0.last().and_then(|part| part.as_ident());
    let start = ident.map(|ident| ident.span.start).filter(|start| start.line > 0);
    let position = start.map(|start| (start.line, start.column));
    Some(SqlError { position, ..SqlError::new(SqlState::NotSupported, text) })
}

/// Changes one expression, whose parts have been changed.
pub(super) fn change(expr: &mut Expr) {
    match expr {
        Expr::Collate { expr: inner, .. } => *expr = take(inner),
        Expr::BinaryOp { op, .. } => {
            if let BinaryOperator::PGCustomBinaryOperator(parts) = op
                && let Some(plain) = operator(parts)
            {
                *op = plain;
            }
        }
        Expr::Function(function) if last(&function.name) == "_pg_expandarray" => {
            if let Some(list) = arguments(function).first_mut() {
                let list = take(list);
                *expr = call("unnest", vec![call(EXPAND, vec![list])]);
            }
        }
        Expr::Function(function) if last(&function.name) == "generate_subscripts" => {
            if let Some(list) = arguments(function).first_mut() {
                let length = call("array_length", vec![take(list)]);
                let length = cast(length, DataType::BigInt(None));
                let positions = call("generate_series", vec![number(1), length]);
                *expr = call("unnest", vec![positions]);
            }
        }
        Expr::Function(function) if last(&function.name) == "array_upper" => {
            if let Some(list) = arguments(function).first_mut() {
                *expr = upper(take(list));
            }
        }
        Expr::Function(function) => without_schema(&mut function.name),
        // A field of a value: (x).n
        Expr::CompoundFieldAccess { root, access_chain } => {
            if let [AccessExpr::Dot(Expr::Identifier(name))] = access_chain.as_slice() {
                let name = text(&name.value);
                *expr = call("get_field", vec![take(root), name]);
            }
        }
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            if let Some(Value::SingleQuotedString(escape)) =
                escape_char.as_ref().map(|escape| &escape.value)
                && escape.chars().count() == 1
                && escape != "\\"
            {
                let changed = match literal(pattern) {
                    Some(pattern) => with_backslashes(&pattern, escape).map(|new| text(&new)),
                    None => Some(computed_with_backslashes(take(pattern), escape)),
                };
                **pattern = changed.unwrap_or_else(null);
                *escape_char = None;
            }
        }
        Expr::Cast { data_type, expr: inner, .. } => {
            if let DataType::Array(ArrayElemTypeDef::SquareBracket(of, _)) = data_type {
                if let Some(items) = literal(inner).and_then(|text| list_items(&text)) {
                    *expr = list_of(items, of);
                }
            } else if let DataType::Custom(name, _) = data_type {
                match cast_of(&last(name)) {
                    Cast::To(plain) => *data_type = plain,
                    Cast::TypeName => match literal(inner) {
                        Some(name) => *expr = type_number(&name),
                        None => *expr = call("format_type", vec![take(inner), null()]),
                    },
                    Cast::Other => {}
                }
            }
        }
        _ => {}
    }
}

/// Returns a pattern of LIKE whose escapes are backslashes; `None` unless the escape is one letter.
fn with_backslashes(pattern: &str, escape: &str) -> Option<String> {
    let mut letters = escape.chars();
    let (Some(escape), None) = (letters.next(), letters.next()) else { return None };
    let mut changed = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter == escape => {
                changed.push('\\');
                changed.extend(letters.next());
            }
            '\\' => changed.push_str("\\\\"),
            other => changed.push(other),
        }
    }
    Some(changed)
}

/// Returns the same for a pattern that is not known yet. A letter for private use holds the place
/// of an escaped escape.
fn computed_with_backslashes(pattern: Expr, escape: &str) -> Expr {
    const PLACE: &str = "\u{e000}";
    let doubled = escape.repeat(2);
    let steps = [("\\", "\\\\"), (doubled.as_str(), PLACE), (escape, "\\"), (PLACE, escape)];
    let replaced =
        |of: Expr, (from, to): (&str, &str)| call("replace", vec![of, text(from), text(to)]);
    steps.into_iter().fold(pattern, replaced)
}

/// Returns the operator that `OPERATOR(pg_catalog.~)` is.
fn operator(parts: &[String]) -> Option<BinaryOperator> {
    Some(match parts.last()?.as_str() {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        _ => return None,
    })
}

/// What a cast to a type of PostgreSQL is.
enum Cast {
    To(DataType),
    /// To the name of a type, or from it.
    TypeName,
    Other,
}

fn cast_of(name: &str) -> Cast {
    Cast::To(match name {
        "text" | "name" | "char" | "bpchar" | "varchar" | "regproc" | "regprocedure"
        | "regrole" | "sql_identifier" | "character_data" | "aclitem" => DataType::Text,
        "oid" | "int8" | "xid" | "cardinal_number" => DataType::BigInt(None),
        "int4" => DataType::Integer(None),
        "int2" => DataType::SmallInt(None),
        "bool" => DataType::Boolean,
        "float8" => {
            DataType::Double(halite_sql::datafusion::sql::sqlparser::ast::ExactNumberInfo::None)
        }
        "regtype" => return Cast::TypeName,
        _ => return Cast::Other,
    })
}

/// Returns the items of a list that is written as text; `None` without any, or if it is none.
fn list_items(text: &str) -> Option<Vec<Option<String>>> {
    list::items(text).ok().filter(|items| !items.is_empty())
}

/// Returns a list of constants.
fn list_of(items: Vec<Option<String>>, of: &DataType) -> Expr {
    let of = match of {
        DataType::Custom(name, _) => match cast_of(&last(name)) {
            Cast::To(plain) => plain,
            Cast::TypeName | Cast::Other => of.clone(),
        },
        _ => of.clone(),
    };
    let is_text = matches!(of, DataType::Text | DataType::Varchar(_));
    let item = |item: Option<String>| match item {
        None => null(),
        Some(item) if is_text => text(&item),
        Some(item) => cast(text(&item), of.clone()),
    };
    Expr::Array(Array { elem: items.into_iter().map(item).collect(), named: true })
}

/// Returns the number of a type by its name.
fn type_number(name: &str) -> Expr {
    let plain = name.trim().trim_start_matches("pg_catalog.").trim_matches('"');
    let known = types::TYPES.iter().find(|ty| ty.name == plain || ty.long_name == plain);
    known.map_or_else(null, |ty| number(i64::from(ty.oid)))
}

/// Reads a correlated query for one value as an aggregate: it has at most one row, so that the
/// greatest value is the value.
pub(super) fn at_most_one(expr: &mut Expr) {
    let Expr::Subquery(query) = expr else { return };
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if has_aggregate(select) || select.from.is_empty() || query.limit_clause.is_some() {
        return;
    }
    if let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_mut_slice()
    {
        *value = call("max", vec![take(value)]);
        query.order_by = None;
    }
}

/// Returns `true` if a query has one row for several of its tables.
pub(super) fn has_aggregate(select: &Select) -> bool {
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(groups, _) => !groups.is_empty(),
    };
    is_grouped
        || select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                let mut aggregates = Aggregates::default();
                let _ = Visit::visit(expr, &mut aggregates);
                aggregates.found
            }
            _ => false,
        })
}

/// Aggregates outside of the queries within an expression.
#[derive(Default)]
struct Aggregates {
    depth: usize,
    found: bool,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        const NAMES: [&str; 11] = [
            "count",
            "max",
            "min",
            "sum",
            "avg",
            "string_agg",
            "array_agg",
            "bool_or",
            "bool_and",
            "json_agg",
            "json_object_agg",
        ];
        if let Expr::Function(function) = expr
            && self.depth == 0
        {
            self.found |= NAMES.contains(&last(&function.name).as_str());
        }
        ControlFlow::Continue(())
    }
}

/// Leaves out `pg_catalog.` in front of a function.
fn without_schema(name: &mut ObjectName) {
    let is_catalog = name.0.first().and_then(|part| part.as_ident());
    let is_catalog = is_catalog.is_some_and(|ident| ident.value.eq_ignore_ascii_case(SCHEMA));
    if name.0.len() == 2 && is_catalog {
        name.0.remove(0);
    }
}

/// Returns the last part of a name, in lower case.
pub(super) fn last(name: &ObjectName) -> String {
    let part = name.0.last().and_then(|part| part.as_ident());
    part.map_or_else(String::new, |ident| ident.value.to_ascii_lowercase())
}

/// Returns the last position of a list, as a number where the series of a table function has it.
fn upper(list: Expr) -> Expr {
    match &list {
        Expr::Function(function) if last(&function.name) == "current_schemas" => {
            number(i64::try_from(CURRENT_SCHEMAS.len()).unwrap_or(0))
        }
        _ => call("array_length", vec![list]),
    }
}

/// Leaves the schema of the catalog out of the name of a table function; those without arguments
/// are tables of the catalog.
pub(super) fn change_table(factor: &mut TableFactor) {
    if let TableFactor::Table { name, args, .. } = factor
        && args.as_ref().is_some_and(|args| args.args.is_empty())
        && let Some((table, _)) = TABLE_FUNCTIONS.iter().find(|(table, _)| last(name) == *table)
    {
        *args = None;
        *name = ObjectName::from(vec![Ident::new(SCHEMA), Ident::new(*table)]);
        return;
    }
    if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } =
        factor
    {
        without_schema(name);
    }
}

/// Returns the text of a constant.
pub(super) fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, null())
}

pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// Returns a list of text that is null.
pub(super) fn null_list() -> Expr {
    cast(null(), DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::Text), None)))
}

pub(super) fn cast(expr: Expr, data_type: DataType) -> Expr {
    let (kind, expr) = (CastKind::Cast, Box::new(expr));
    Expr::Cast { kind, expr, data_type, array: false, format: None }
}

pub(super) fn number(number: i64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

pub(super) fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).into())
}

/// Returns a call of a function.
pub(super) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Returns the arguments of a function.
pub(super) fn arguments(function: &mut Function) -> Vec<&mut Expr> {
    match &mut function.args {
        FunctionArguments::List(list) => list
            .args
            .iter_mut()
            .filter_map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns a query in parentheses as an expression.
pub(super) fn subquery(query: Query) -> Expr {
    Expr::Subquery(Box::new(query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_backslashes() {
        assert_eq!(with_backslashes("pg/_%", "/").as_deref(), Some("pg\\_%"));
        assert_eq!(with_backslashes("a\\//b/", "/").as_deref(), Some("a\\\\\\/b\\"));
        assert_eq!(with_backslashes("a", "xy"), None);
    }
}
