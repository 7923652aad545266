//! Entries of a `MAP` that a statement names, as in `tags['color']`: each is read as a column of its
//! own, so that only its cell is read, and conditions on it are those on a cell.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, Query, Select, SelectItem, Statement, Subscript, Value, Visit,
    VisitMut, Visitor, VisitorMut,
};

use halite_rowkey::value::FieldType;

use crate::types::map_entry::{EntryKey, MapEntry};

/// Types of the keys of `MAP` columns, by name; `None` where tables differ.
pub(super) type KeyTypes = BTreeMap<String, Option<FieldType>>;

/// Replaces the entries in a statement of one SELECT by columns, and returns them. In others, a `MAP`
/// may be one of a subquery, and `*` would have the columns too.
pub(super) fn rewrite(statement: &mut Statement, maps: &KeyTypes) -> BTreeSet<MapEntry> {
    let mut shape = StatementShape::default();
    let _ = Visit::visit(statement, &mut shape);
    let is_one_select = shape.queries == 1 && !shape.has_star;
    let mut replace = Replace { maps, entries: BTreeSet::new() };
    if is_one_select && !maps.is_empty() {
        let _ = VisitMut::visit(statement, &mut replace);
    }
    replace.entries
}

#[derive(Default)]
struct StatementShape {
    queries: usize,
    has_star: bool,
}

impl Visitor for StatementShape {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_star = |item: &SelectItem| {
            matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
        };
        self.has_star |= select.projection.iter().any(is_star);
        ControlFlow::Continue(())
    }
}

struct Replace<'f> {
    maps: &'f KeyTypes,
    entries: BTreeSet<MapEntry>,
}

impl VisitorMut for Replace<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some((mut name, key)) = named_entry(expr)
            && let Some(last) = name.last_mut()
            && let Some(ty) = self.maps.get(&last.value).copied().flatten()
        {
            let entry = MapEntry { map: last.value.clone(), key };
            if entry.key(ty).is_some() {
                *last = Ident::with_quote('"', entry.column());
                self.entries.insert(entry);
                *expr = match name.as_slice() {
                    [only] => Expr::Identifier(only.clone()),
                    _ => Expr::CompoundIdentifier(name),
                };
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the name in front of a constant in brackets, and that constant.
fn named_entry(expr: &Expr) -> Option<(Vec<Ident>, EntryKey)> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (last, between) = access_chain.split_last()?;
    let AccessExpr::Subscript(Subscript::Index { index: Expr::Value(value) }) = last else {
        return None;
    };
    let key = match &value.value {
        Value::SingleQuotedString(text) => EntryKey::Text(text.clone()),
        Value::Number(digits, _) => EntryKey::Number(digits.parse().ok()?),
        _ => return None,
    };
    let mut name = match root.as_ref() {
        Expr::Identifier(ident) => vec![ident.clone()],
        Expr::CompoundIdentifier(parts) => parts.clone(),
        _ => return None,
    };
    for access in between {
        let AccessExpr::Dot(Expr::Identifier(ident)) = access else { return None };
        name.push(ident.clone());
    }
    Some((name, key))
}
