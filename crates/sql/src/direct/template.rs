//! Query that is planned up to its values.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::scalar::ScalarValue;
use halite_types::Bytes;

use super::point::Point;
use super::recognize::{Parts, parts};
use super::rows::DirectRows;
use crate::catalog::HaliteCatalog;
use crate::catalog::provider::HaliteTable;
use crate::error::Result;
use crate::names::with_plain_names;
use crate::scan::exec::ScanExec;
use crate::scan::spec::ScanSpec;
use crate::session::overflow::checked_plan;
use crate::session::parameters::number;
use crate::session::settings::Settings;
use crate::session::statement::StatementContext;

/// Query of one table that becomes a scan by filling in values.
pub(crate) struct Template {
    table: HaliteTable,
    /// Conditions, all of which hold, over the columns of the table and the parameters.
    conditions: Vec<Expr>,
    /// Columns that are read, by position: those of the answer, then those of the order.
    columns: Vec<usize>,
    /// The same columns as a schema.
    read: SchemaRef,
    pub(super) outputs: Vec<Output>,
    pub(super) schema: SchemaRef,
    order: Vec<PhysicalSortExpr>,
    limit: Option<Expr>,
    /// Direction in which the order was served last.
    is_reverse: AtomicBool,
    /// The key, if the conditions are one.
    point: Option<Point>,
    /// `true` if a row of the answer is what is read.
    pub(super) is_as_read: bool,
    registrations: u64,
}

/// Column of the answer.
pub(super) enum Output {
    /// Column that is read, by its place among them.
    Read(usize),
    /// Constant, or cast of a column that is read.
    Computed(Arc<dyn PhysicalExpr>),
}

impl Template {
    /// Returns the template of a query whose parameters are `parameters`; `None` if it is none that
    /// is run directly.
    pub(crate) fn with_parameters(
        state: &SessionState,
        catalog: &HaliteCatalog,
        query: &LogicalPlan,
        parameters: &[FieldRef],
    ) -> Option<Self> {
        parts(query)?;
        let typed = typed(query.clone(), parameters).ok()?;
        Self::of_checked(state, catalog, &checked_plan(state, typed).ok()?)
    }

    /// Returns the template of a query whose types are known; `None` if it is none that is run
    /// directly.
    pub(crate) fn of_checked(
        state: &SessionState,
        catalog: &HaliteCatalog,
        query: &LogicalPlan,
    ) -> Option<Self> {
        let Parts { table, conditions, outputs, order, limit } = parts(query)?;
        let conditions = simplified(state, &table, conditions)?;
        let mut columns = Vec::new();
        let in_order = order.iter().map(|term| &term.expr);
        for expr in outputs.iter().chain(in_order) {
            for column in expr.column_refs() {
                let at = table.shape.position(&column.name)?;
                if !columns.contains(&at) {
                    columns.push(at);
                }
            }
        }
        let place = |expr: &Expr| {
            let Expr::Column(column) = expr else { return None };
            let at = table.shape.position(&column.name)?;
            columns.iter().position(|read| *read == at)
        };
        let fields = columns.iter().map(|at| table.shape.columns[*at].field.clone()).collect();
        let read = DFSchema::from_unqualified_fields(fields, HashMap::new()).ok()?;
        let output = |expr: &Expr| match place(expr) {
            Some(place) => Some(Output::Read(place)),
            None => state.create_physical_expr(expr.clone(), &read).ok().map(Output::Computed),
        };
        let outputs = outputs.iter().map(output).collect::<Option<Vec<_>>>()?;
        let schema = with_plain_names(query.schema().inner());
        let is_of_schema = |(at, output): (usize, &Output)| {
            let ty = match output {
                Output::Read(place) => Some(read.field(*place).data_type().clone()),
                Output::Computed(expr) => expr.data_type(read.as_arrow()).ok(),
            };
            ty.as_ref() == Some(schema.field(at).data_type())
        };
        if outputs.len() != schema.fields().len() || !outputs.iter().enumerate().all(is_of_schema) {
            return None;
        }
        let term = |term: &datafusion::logical_expr::SortExpr| {
            let place = place(&term.expr)?;
            let column = Column::new(&table.shape.columns[columns[place]].name, place);
            let options = SortOptions { descending: !term.asc, nulls_first: term.nulls_first };
            Some(PhysicalSortExpr::new(Arc::new(column), options))
        };
        let order = order.iter().map(term).collect::<Option<_>>()?;
        let point = Point::of(&table, &conditions, &columns);
        let is_read =
            |(at, output): (usize, &Output)| matches!(output, Output::Read(of) if *of == at);
        let is_as_read =
            schema.as_ref() == read.as_arrow() && outputs.iter().enumerate().all(is_read);
        Some(Self {
            table,
            conditions,
            columns,
            point,
            is_as_read,
            read: Arc::clone(read.inner()),
            outputs,
            schema,
            order,
            limit,
            is_reverse: AtomicBool::new(false),
            registrations: catalog.registrations(),
        })
    }

    /// Returns the columns of the answer.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns `true` if planning the query again would give the same.
    pub(crate) async fn is_current(&self, catalog: &HaliteCatalog, settings: &Settings) -> bool {
        // An error is reported by planning the query.
        self.registrations == catalog.registrations()
            && self.table.settings.reads_as(settings)
            && self.table.is_current().await.unwrap_or(false)
    }

    /// As [`Self::bind`], for a run of the query alone: keys after the first need no plan.
    pub(crate) async fn bind_run(self: &Arc<Self>, values: &[ScalarValue]) -> Option<Bound> {
        let point = self.point.as_ref().filter(|_| self.limit.is_none());
        if let Some((key, spec)) = point.and_then(|point| point.key(values)) {
            let (spec, template) = (Arc::clone(spec), Arc::clone(self));
            return Some(Bound { spec, template, key: Some(key) });
        }
        self.bind(values).await
    }

    /// Fills in the values of the parameters. `None` if DataFusion would have to check or to sort
    /// rows then, or to say what is wrong.
    pub(crate) async fn bind(self: &Arc<Self>, values: &[ScalarValue]) -> Option<Bound> {
        let limit = match &self.limit {
            None => None,
            Some(limit) => Some(rows(&bound(limit, values)?)?),
        };
        let conditions: Vec<Expr> =
            self.conditions.iter().map(|expr| bound(expr, values)).collect::<Option<_>>()?;
        let spec = self.table.spec(&self.columns, &self.read, &conditions, limit).await.ok()?;
        if !spec.checked_again.is_empty() {
            return None;
        }
        let spec = if self.order.is_empty() { spec } else { self.in_order(&spec)? };
        let spec = Arc::new(spec);
        if let Some(point) = &self.point {
            point.learn(&spec, values);
        }
        Some(Bound { spec, template: Arc::clone(self), key: None })
    }

    /// Returns the scan in the direction that serves the order.
    fn in_order(&self, spec: &ScanSpec) -> Option<ScanSpec> {
        let limit = spec.plan.query().limit;
        let last = self.is_reverse.load(Ordering::Relaxed);
        for is_reverse in [last, !last] {
            let spec = if is_reverse { spec.replanned(limit, true).ok()? } else { spec.clone() };
            let scan = ScanExec::new(spec);
            if scan.satisfies(&self.order).ok()? {
                self.is_reverse.store(is_reverse, Ordering::Relaxed);
                return Some(scan.spec.as_ref().clone());
            }
        }
        None
    }
}

/// Query with its values.
pub(crate) struct Bound {
    pub(crate) spec: Arc<ScanSpec>,
    template: Arc<Template>,
    /// Key of the only row, which is not that of the scan.
    key: Option<Bytes>,
}

impl Bound {
    /// Begins to read.
    ///
    /// # Errors
    /// A scan of the whole table that the settings refuse.
    pub(crate) fn open(self, statement: &Arc<StatementContext>) -> Result<DirectRows> {
        self.spec.check_wide(statement)?;
        match self.key {
            Some(key) => Ok(DirectRows::of_key(self.template, self.spec, key, statement)),
            None => DirectRows::open(self.template, &self.spec, statement),
        }
    }
}

/// Sets the types of parameters.
fn typed(query: LogicalPlan, parameters: &[FieldRef]) -> DataFusionResult<LogicalPlan> {
    let typed = query.transform_up(|plan| {
        plan.map_expressions(|expr| {
            expr.transform_up(|expr| match &expr {
                Expr::Placeholder(placeholder) => {
                    let field = number(placeholder).and_then(|at| parameters.get(at - 1));
                    let typed = Placeholder::new_with_field(placeholder.id.clone(), field.cloned());
                    Ok(Transformed::yes(Expr::Placeholder(typed)))
                }
                _ => Ok(Transformed::no(expr)),
            })
        })
    })?;
    Ok(typed.data)
}

/// Returns conditions with their constants computed, as the optimizer does it; `None` if no row
/// satisfies them.
fn simplified(
    state: &SessionState,
    table: &HaliteTable,
    conditions: Vec<Expr>,
) -> Option<Vec<Expr>> {
    let schema = DFSchema::try_from(table.shape.arrow()).ok()?;
    let info = SimplifyContext::builder()
        .with_schema(Arc::new(schema))
        .with_config_options(Arc::clone(state.config_options()))
        .build();
    let simplifier = ExprSimplifier::new(info);
    let mut simple = Vec::new();
    for condition in conditions {
        for condition in split_conjunction_owned(simplifier.simplify(condition).ok()?) {
            match condition {
                Expr::Literal(ScalarValue::Boolean(Some(true)), _) => {}
                Expr::Literal(..) => return None,
                condition => simple.push(condition),
            }
        }
    }
    Some(simple)
}

/// Fills in parameters, and computes the casts of constants that they become.
fn bound(expr: &Expr, values: &[ScalarValue]) -> Option<Expr> {
    let mut has_parameters = false;
    expr.apply(|expr| {
        has_parameters |= matches!(expr, Expr::Placeholder(_));
        Ok(if has_parameters { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })
    .ok()?;
    if !has_parameters {
        return Some(expr.clone());
    }
    let mut is_bound = true;
    let filled = expr.clone().transform_up(|expr| match expr {
        Expr::Placeholder(placeholder) => {
            let value = number(&placeholder).and_then(|at| values.get(at - 1));
            is_bound &= value.is_some();
            Ok(Transformed::yes(match value {
                Some(value) => Expr::Literal(value.clone(), None),
                None => Expr::Placeholder(placeholder),
            }))
        }
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(value, _) => {
                let value = value.cast_to(cast.field.data_type())?;
                Ok(Transformed::yes(Expr::Literal(value, None)))
            }
            _ => Ok(Transformed::no(Expr::Cast(cast))),
        },
        other => Ok(Transformed::no(other)),
    });
    // A value that cannot be cast is an error of the statement.
    filled.ok().filter(|_| is_bound).map(|filled| filled.data)
}

/// Returns a number of rows.
fn rows(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Literal(value, _) => {
            match value.cast_to(&datafusion::arrow::datatypes::DataType::Int64) {
                Ok(ScalarValue::Int64(Some(rows))) => usize::try_from(rows).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}
