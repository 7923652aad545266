//! Queries that a statement runs: the source of INSERT, the rows of UPDATE and DELETE.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{Query, Statement};
use halite_types::{Bytes, Filter, TableName};

use super::exprs::Parameters;
use super::running::Running;
use super::target::drawn_salt;
use crate::catalog::HaliteCatalog;
use crate::error::Result;
use crate::names;
use crate::scan::aggregated::as_aggregated;
use crate::scan::exec::{ScanExec, as_scan};
use crate::scan::full_scan::check_plan;
use crate::scan::history::History;
use crate::scan::spec::ScanSpec;
use crate::session::interrupt::{Running as RunningQuery, interruptible};
use crate::session::joins::{self, set_join};
use crate::session::large_stack::on_large_stack;
use crate::session::overflow::checked_plan;
use crate::session::parameters::{bound, types_of};

use crate::session::relations::Relations;
use crate::session::statement::StatementContext;

/// Plans a query as far as it does not depend on the values of parameters.
pub(super) async fn logical(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    query: Box<Query>,
) -> Result<LogicalPlan> {
    let mut statement = DfStatement::Statement(Box::new(Statement::Query(query)));
    let named = names::rewrite_query(catalog, &mut statement).await?;
    let mut state = session.state();
    let relations = Relations { named, ranges: BTreeMap::new(), statement: Arc::default() };
    state.register_relation_planner(Arc::new(relations))?;
    let plan = state.statement_to_plan(statement).await?;
    let only_reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    only_reads.verify_plan(&plan)?;
    Ok(plan)
}

/// Adds the parameters of a query to those that are known.
pub(super) fn collect_parameters(plan: &LogicalPlan, known: &mut Parameters) -> Result<()> {
    for (number, field) in types_of(plan)? {
        let entry = known.entry(number).or_default();
        if entry.is_none() {
            *entry = field;
        }
    }
    Ok(())
}

/// Query that is ready to run.
pub(super) struct ReadyQuery {
    pub(super) physical: Arc<dyn ExecutionPlan>,
    pub(super) context: Arc<TaskContext>,
}

impl ReadyQuery {
    /// Begins to run, in a task that ends with the statement.
    pub(super) fn run(self, statement: &Arc<StatementContext>) -> Result<RunningQuery> {
        check_plan(self.physical.as_ref(), statement)?;
        let rows = execute_stream(self.physical, self.context)?;
        Ok(RunningQuery::new(rows, Arc::clone(statement)))
    }
}

/// Fills in parameters and plans the rest.
pub(super) async fn physical(running: &Running, plan: LogicalPlan) -> Result<ReadyQuery> {
    let (mut state, values) = (running.state().clone(), running.values.to_vec());
    set_join(state.config_mut(), running.statement.settings.join);
    let statement = Arc::clone(&running.statement);
    let query: Result<ReadyQuery> = on_large_stack(move |handle| {
        handle.block_on(async move {
            let plan = checked_plan(&state, bound(plan, values)?)?;
            let plan = state.optimize(&plan)?;
            let physical = joins::physical(&mut state, &plan, &statement).await?;
            let physical = interruptible(physical, &statement)?;
            Ok(ReadyQuery { physical, context: state.task_ctx() })
        })
    })
    .await?;
    query.inspect(|query| running.keep(&query.physical))
}

/// How the rows of a table are found, if its scan checks every condition by itself.
pub(super) struct ExactScan {
    /// Whole keys, if the conditions give nothing else and all of them are meant.
    pub(super) points: Option<Vec<Bytes>>,
    /// Conditions on cells, as the filter that includes exactly the rows that satisfy them.
    pub(super) condition: Option<Filter>,
}

/// Returns the scan of a table, if nothing else decides which rows a query returns, but for its
/// LIMIT or OFFSET.
pub(super) fn exact_scan(
    plan: &Arc<dyn ExecutionPlan>,
    table: &TableName,
    has_limit: bool,
) -> Option<ExactScan> {
    /// Nodes that drop no rows, but for limits.
    const KEEPING: [&str; 8] = [
        "CooperativeExec",
        "ProjectionExec",
        "CoalesceBatchesExec",
        "CoalescePartitionsExec",
        "SortExec",
        "SortPreservingMergeExec",
        "GlobalLimitExec",
        "LocalLimitExec",
    ];
    let mut node = plan;
    let scan: &ScanExec = loop {
        if let Some(scan) = as_scan(node.as_ref()) {
            break scan;
        }
        let children = node.children();
        let [child] = children.as_slice() else { return None };
        if !KEEPING.contains(&node.name()) {
            return None;
        }
        node = child;
    };
    let spec = &scan.spec;
    (spec.target.table.name() == table).then(|| ExactScan::of(spec, has_limit)).flatten()
}

impl ExactScan {
    /// Returns how a scan finds its rows, if it checks every condition by itself.
    pub(super) fn of(spec: &ScanSpec, has_limit: bool) -> Option<Self> {
        if !spec.checked_again.is_empty() || spec.history != History::default() {
            return None;
        }
        // Of the keys with each salt that may have been drawn, most are no rows.
        let is_drawn = drawn_salt(spec.plan.schema()).is_some();
        let is_whole = !has_limit && !is_drawn && !spec.plan.has_residual();
        let points = if is_whole { spec.plan.points() } else { None };
        Some(Self { points, condition: spec.condition.clone() })
    }
}

/// Returns the number of scans of a table in a plan.
pub(super) fn scans_of(plan: &Arc<dyn ExecutionPlan>, table: &TableName) -> usize {
    if let Some(aggregated) = as_aggregated(plan.as_ref()) {
        return scans_of(aggregated.scan(), table);
    }
    let own = as_scan(plan.as_ref()).is_some_and(|scan| scan.spec.target.table.name() == table);
    let below: usize = plan.children().into_iter().map(|child| scans_of(child, table)).sum();
    usize::from(own) + below
}
