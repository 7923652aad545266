//! Plans of queries, by DataFusion.
//!
//! Plans are walked, cloned and dropped by recursion, so all of it is done on a thread with a large
//! stack.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::Analyzer;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use super::functions;
use super::interrupt::interruptible;
use super::joins::{self, set_join};
use super::large_stack::on_large_stack;
use super::literals::TypedLiterals;
use super::overflow::checked_plan;
use super::parameters;
use super::query_shape::{Kept, QueryShape};
use super::ranges;
use super::relations::Relations;
use super::settings::Direct;
use super::statement::StatementContext;
use super::sum::checked_sum;
use crate::catalog::{CATALOG, CatalogHandle, DEFAULT, HaliteCatalog};
use crate::direct::{Bound, Template};
use crate::error::Result;
use crate::names::{self, with_plain_names};
use crate::parse::parse_query;
use crate::rules::{
    AggregatesInRegions, JoinFilters, KeyAggregates, LateColumnsRule, ScanParts, WholeFilters,
};

/// Values of one side of a join that become gets or ranges of the other.
const MAX_JOINED_VALUES: usize = 10_000;

/// How a query is run.
pub(crate) enum Way {
    /// By a scan alone.
    Direct(Bound),
    /// By a plan of DataFusion.
    Planned(Planned),
}

/// Plan of a query, ready to run.
pub(crate) struct Planned {
    pub(crate) physical: Arc<dyn ExecutionPlan>,
    pub(crate) context: Arc<TaskContext>,
    /// The optimized logical plan, as text.
    pub(crate) logical: String,
}

/// Change of a parsed query before its names are looked up.
pub type Rewrite = dyn Fn(&mut ast::Statement) -> Result<()> + Send + Sync;

/// Creates DataFusion's session over a catalog.
pub(super) fn session(
    catalog: &Arc<HaliteCatalog>,
    runtime: Option<Arc<RuntimeEnv>>,
) -> SessionContext {
    let config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, DEFAULT)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(true)
        .with_extension(Arc::clone(&catalog.local))
        // A scan is one stream, and its rows are in order.
        .with_round_robin_repartition(false)
        // The row-key language tells case apart; `names/` finds what is meant.
        .set_bool("datafusion.sql_parser.enable_ident_normalization", false)
        .set_str("datafusion.sql_parser.dialect", "PostgreSQL")
        // Errors have places.
        .set_bool("datafusion.sql_parser.collect_spans", true)
        // The scan of a join waits for the values of the other side. Others change while it runs.
        .set_bool("datafusion.optimizer.enable_topk_dynamic_filter_pushdown", false)
        .set_bool("datafusion.optimizer.enable_aggregate_dynamic_filter_pushdown", false)
        .set_usize("datafusion.optimizer.hash_join_inlist_pushdown_max_size", 4 << 20)
        .set_usize(
            "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values",
            MAX_JOINED_VALUES,
        );
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(TypedLiterals));
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_analyzer_rules(rules)
        .with_physical_optimizer_rules(physical_rules());
    if let Some(runtime) = runtime {
        state = state.with_runtime_env(runtime);
    }
    let session = SessionContext::new_with_state(state.build());
    session.register_udaf(checked_sum());
    functions::register(&session, &catalog.settings);
    session.register_catalog(CATALOG, Arc::new(CatalogHandle(Arc::clone(catalog))));
    session
}

/// Returns DataFusion's rules behind ours, which see aggregates directly over their scans. One of
/// ours is in front of each that moves projections, one around that which moves filters, and one
/// behind all.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = Vec::new();
    for rule in PhysicalOptimizer::new().rules {
        if rule.name() == "ProjectionPushdown" {
            rules.push(Arc::new(WholeFilters));
        }
        match rule.name() {
            "FilterPushdown" => {}
            "FilterPushdown(Post)" => rules.push(Arc::new(JoinFilters(rule))),
            _ => rules.push(rule),
        }
    }
    rules.insert(0, Arc::new(KeyAggregates));
    rules.insert(1, Arc::new(ScanParts));
    rules.insert(2, Arc::new(AggregatesInRegions));
    rules.push(Arc::new(LateColumnsRule));
    rules
}

/// Query to plan: its tokens, and the values of its parameters.
pub(super) struct Query {
    pub(super) tokens: Vec<TokenWithSpan>,
    pub(super) values: Vec<ScalarValue>,
    pub(super) rewrite: Option<Arc<Rewrite>>,
}

/// Plans a query, by DataFusion if it cannot be run directly, or should not be.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn plan(
    session: &SessionContext,
    catalog: &Arc<HaliteCatalog>,
    query: Query,
    statement: Arc<StatementContext>,
    direct: Direct,
) -> Result<Way> {
    let (mut state, catalog) = (session.state(), Arc::clone(catalog));
    on_large_stack(move |handle| {
        handle.block_on(async {
            state.config_mut().set_extension(Arc::clone(&statement));
            set_join(state.config_mut(), statement.settings.join);
            let logical = logical(&mut state, &catalog, query.tokens, query.rewrite).await?;
            let logical = checked_plan(&state, parameters::bound(logical, query.values)?)?;
            if direct == Direct::On
                && let Some(template) = Template::of_checked(&state, &catalog, &logical)
                && let Some(bound) = Arc::new(template).bind(&[]).await
            {
                return Ok(Way::Direct(bound));
            }
            let logical = state.optimize(&logical)?;
            let physical = joins::physical(&mut state, &logical, &statement).await?;
            let physical = interruptible(physical, &statement)?;
            Ok(Way::Planned(Planned {
                physical,
                context: state.task_ctx(),
                logical: logical.display_indent().to_string(),
            }))
        })
    })
    .await?
}

/// Returns the plan of a query that is part of another one, and is not run.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn physical_plan(
    state: &SessionState,
    catalog: &HaliteCatalog,
    tokens: Vec<TokenWithSpan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut state = state.clone();
    // Its notices are not those of the statement around it.
    state.config_mut().set_extension(Arc::new(StatementContext::default()));
    let logical = logical(&mut state, catalog, tokens, None).await?;
    let logical = state.optimize(&checked_plan(&state, logical)?)?;
    Ok(state.query_planner().create_physical_plan(&logical, &state).await?)
}

/// Returns the parameters and the columns of a query. `types` are those that the caller knows.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn shape(
    session: &SessionContext,
    catalog: &Arc<HaliteCatalog>,
    query: Query,
    types: Vec<Option<DataType>>,
) -> Result<QueryShape> {
    let (mut state, catalog) = (session.state(), Arc::clone(catalog));
    on_large_stack(move |handle| {
        handle.block_on(async {
            let logical = logical(&mut state, &catalog, query.tokens, query.rewrite).await?;
            shape_of(&state, &catalog, logical, &types)
        })
    })
    .await?
}

/// Returns the plan of a query whose names are looked up.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn logical(
    state: &mut SessionState,
    catalog: &HaliteCatalog,
    tokens: Vec<TokenWithSpan>,
    rewrite: Option<Arc<Rewrite>>,
) -> Result<LogicalPlan> {
    let mut parsed = parse_query(tokens)?;
    if let (Some(rewrite), DfStatement::Statement(statement)) = (rewrite, &mut parsed) {
        rewrite(statement)?;
    }
    let named = names::rewrite_query(catalog, &mut parsed).await?;
    let statement = state.config().get_extension::<StatementContext>().unwrap_or_default();
    let ranges = ranges::tables(state, catalog, &parsed).await?;
    state.register_relation_planner(Arc::new(Relations { named, ranges, statement }))?;
    let logical: LogicalPlan = state.statement_to_plan(parsed).await?;
    let only_reads =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    only_reads.verify_plan(&logical)?;
    Ok(logical)
}

/// Returns the parameters and the columns of a query. `known` are types that the caller gives.
///
/// # Errors
/// `UndefinedParameter` for parameters that are not `$1` and so on; a query that is wrong with
/// values of those types.
fn shape_of(
    state: &SessionState,
    catalog: &HaliteCatalog,
    logical: LogicalPlan,
    known: &[Option<DataType>],
) -> Result<QueryShape> {
    let found = parameters::types_of(&logical)?;
    let fields = parameters::with_known(parameters::fields_of(&found), known);
    let direct = Template::with_parameters(state, catalog, &logical, &fields);
    let nulls = fields.iter().map(|field| ScalarValue::try_from(field.data_type()));
    let typed = parameters::bound(logical, nulls.collect::<DataFusionResult<_>>()?)?;
    let analyzed = state.analyzer().execute_and_check(typed, state.config_options(), |_, _| {})?;
    let schema: Schema = analyzed.schema().as_arrow().clone();
    let schema = with_plain_names(&Arc::new(schema));
    let is_same = |template: &Template| {
        let types = |schema: &Schema| -> Vec<DataType> {
            schema.fields().iter().map(|field| field.data_type().clone()).collect()
        };
        types(template.schema()) == types(&schema)
    };
    let kept = direct.filter(is_same).map_or(Kept::Nothing, |one| Kept::Query(Arc::new(one)));
    Ok(QueryShape { parameters: fields, schema, kept })
}
