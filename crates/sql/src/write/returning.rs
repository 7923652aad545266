//! RETURNING: expressions over the rows that a statement wrote.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryViewArray, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{DFSchema, TableReference};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{
    self, Ident, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};
use halite_rowkey::value::{FieldType, Value};
use halite_types::Bytes;

use super::exprs::{Parameters, RowExprs};
use super::memory::bytes_of_row;
use super::parsed::{Names, table_factor, with_names};
use super::row::ColumnValue;
use super::running::Running;
use super::target::WriteTarget;
use super::values::{arrays, batch_of};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::{Pseudo, Source};
use crate::error::{Result, SqlError};
use crate::types::arrow_field;

/// Expressions of RETURNING.
pub(super) struct Returning {
    exprs: RowExprs,
    /// Columns that they name, by position.
    pub(super) columns: Vec<usize>,
    /// `true` if they name `_row`.
    has_row: bool,
    /// Columns of the answer.
    pub(super) output: SchemaRef,
}

/// Row as it was written.
#[derive(Clone, Debug)]
pub(super) struct RowImage {
    pub(super) row: Bytes,
    /// Values by column; what is missing is null.
    pub(super) values: Vec<ColumnValue<'static>>,
}

impl RowImage {
    /// Returns the bytes of the row, here and in the answer.
    pub(super) fn bytes(&self) -> usize {
        2 * bytes_of_row(&self.row, &self.values)
    }
}

impl Returning {
    /// Plans the expressions.
    ///
    /// # Errors
    /// Columns that do not exist; `NotSupported` for pseudo-columns that nothing tells.
    pub(super) async fn plan(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        target: &WriteTarget,
        items: Vec<SelectItem>,
    ) -> Result<Self> {
        let items = expanded(target, items)?;
        let from = vec![table_factor(&target.name, &target.alias)?];
        let (items, pseudo) = with_names(catalog, items, from).await?;
        if let Some(other) = pseudo.iter().find(|pseudo| **pseudo != Pseudo::Row) {
            let text = format!("RETURNING {}: select it after the write", other.name());
            return Err(SqlError::unsupported(text));
        }
        let (mut exprs, mut names) = (Vec::new(), Vec::new());
        for item in items {
            let (expr, name) = match item {
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value)),
                other => {
                    let text = format!("RETURNING {other}: name the columns");
                    return Err(SqlError::unsupported(text));
                }
            };
            exprs.push(expr);
            names.push(name);
        }
        let (columns, has_row) = named_columns(target, &exprs)?;
        let schema = input_schema(target, &columns, has_row)?;
        let exprs = RowExprs::plan(&session.state(), exprs, schema)?;
        let output = output_schema(&exprs, names)?;
        Ok(Self { exprs, columns, has_row, output })
    }

    /// Adds the parameters to those that are known.
    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        self.exprs.parameters(known)
    }

    /// Returns the rows of the answer.
    pub(super) fn rows(
        &self,
        running: &Running,
        target: &WriteTarget,
        images: &[RowImage],
    ) -> Result<RecordBatch> {
        let zero = Value::Signed(0);
        let values_of = |image: &RowImage| -> Vec<Value<'static>> {
            let of = |at: &usize| {
                let missing =
                    if target.shape.columns[*at].is_counter() { &zero } else { &Value::Null };
                image
                    .values
                    .iter()
                    .find(|(column, _)| column == at)
                    .map_or(missing, |one| &one.1)
                    .clone()
            };
            self.columns.iter().map(of).collect()
        };
        let rows: Vec<Vec<Value<'static>>> = images.iter().map(values_of).collect();
        let mut columns =
            arrays(&target.shape, &self.columns, rows.iter().map(|row| row.iter().collect()))?;
        if self.has_row {
            let rows: Vec<&[u8]> = images.iter().map(|image| &image.row[..]).collect();
            columns.push(Arc::new(BinaryViewArray::from_iter_values(rows)) as ArrayRef);
        }
        let input = batch_of(self.exprs.schema.as_arrow(), columns, images.len())?;
        let arrays = self.exprs.bind(running)?.evaluate(&input)?;
        batch_of(&self.output, arrays, images.len())
    }
}

/// Replaces `*` by the columns.
fn expanded(target: &WriteTarget, items: Vec<SelectItem>) -> Result<Vec<SelectItem>> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        let (SelectItem::Wildcard(options)
        | SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(_),
            options,
        )) = &item
        else {
            expanded.push(item);
            continue;
        };
        if *options != WildcardAdditionalOptions::default() {
            return Err(SqlError::unsupported(format!("RETURNING {item}: name the columns")));
        }
        let columns = target.shape.columns.iter();
        expanded.extend(columns.map(|column| {
            let name = Ident::with_quote('"', &column.name);
            SelectItem::UnnamedExpr(ast::Expr::Identifier(name))
        }));
    }
    Ok(expanded)
}

/// Returns the columns that expressions name, and whether they name `_row`.
fn named_columns(target: &WriteTarget, exprs: &[ast::Expr]) -> Result<(Vec<usize>, bool)> {
    let mut names = Names::default();
    exprs.iter().for_each(|expr| names.add(expr));
    let shape = &target.shape;
    let is_named = |at: &usize| names.0.contains(&shape.columns[*at].name.to_lowercase());
    let columns: Vec<usize> = (0..shape.columns.len()).filter(is_named).collect();
    for at in &columns {
        if !matches!(shape.columns[*at].source, Source::Key(_) | Source::Cell { .. }) {
            let text = format!("RETURNING {}: select it after the write", shape.columns[*at].name);
            return Err(SqlError::unsupported(text));
        }
    }
    let has_row = names.0.contains(Pseudo::Row.name()) && shape.position("_row").is_none();
    Ok((columns, has_row))
}

fn input_schema(target: &WriteTarget, columns: &[usize], has_row: bool) -> Result<DFSchema> {
    let of_column = |at: &usize| target.shape.columns[*at].field.clone();
    let mut fields: Vec<Field> = columns.iter().map(of_column).collect();
    if has_row {
        fields.push(arrow_field("_row", FieldType::Bytes, false));
    }
    let qualifier = TableReference::bare(target.alias.value.as_str());
    Ok(DFSchema::try_from_qualified_schema(qualifier, &Schema::new(fields))?)
}

fn output_schema(exprs: &RowExprs, names: Vec<Option<String>>) -> Result<SchemaRef> {
    let fields = exprs.fields()?;
    let named = fields.into_iter().zip(names).map(|(field, name)| match name {
        Some(name) => field.as_ref().clone().with_name(name),
        None => field.as_ref().clone(),
    });
    // What is missing is null.
    let fields: Vec<Field> = named.map(|field| field.with_nullable(true)).collect();
    Ok(Arc::new(Schema::new(fields)))
}
