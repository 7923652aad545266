//! Statements that read whole tables, or from many salts at once, and what `halite.full_scan` says
//! of them.

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::GlobalLimitExec;
use halite_rowkey::Order;
use halite_rowkey::plan::OrderedBy;

use super::aggregated::as_aggregated;
use super::exec::{ScanExec, as_scan};
use super::order::is_pinned;
use super::spec::ScanSpec;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::explain::Sorted;
use crate::session::settings::FullScan;
use crate::session::statement::StatementContext;

/// Ranges of salts and hashes beyond which reading them at once is worth a note.
const MAX_FAN_OUT: usize = 256;
/// Rows from which on a statement that reads them all warns.
const MANY_ROWS: u64 = 100_000;

/// Why a scan may read many rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// Nothing in front of the key is known.
    Full,
    /// This number of ranges is read at once, without a limit.
    FanOut(usize),
}

impl ScanSpec {
    /// Returns why the scan may read many rows; `None` if it does not.
    pub(crate) fn wide(&self) -> Option<Wide> {
        let (plan, limit) = (&self.plan, self.plan.query().limit);
        let ends_early = limit.is_some() && self.condition.is_none() && !plan.has_residual();
        if self.first_of.is_some() || ends_early {
            return None;
        }
        if plan.is_full_scan() {
            return Some(Wide::Full);
        }
        let fan_out = plan.fan_out();
        let is_fan = fan_out > MAX_FAN_OUT && limit.is_none() && !plan.is_points();
        is_fan.then_some(Wide::FanOut(fan_out))
    }

    /// Ends a statement that would read many rows, or warns of it, as its settings say.
    ///
    /// # Errors
    /// `LimitExceeded`, with the key that would serve the statement.
    pub(crate) fn check_wide(&self, statement: &StatementContext) -> Result<()> {
        let setting = statement.settings.full_scan;
        let Some(wide) = self.wide().filter(|_| setting != FullScan::Allow) else { return Ok(()) };
        let table = self.target.table.name();
        let rows = self.known_rows();
        let serving = match self.serving_key(&Sorted::default()) {
            Some(key) => format!("; {key} would serve the statement"),
            None => String::new(),
        };
        let key = &self.target.shape.key;
        if setting == FullScan::Refuse {
            let what = match wide {
                Wide::Full => format!(
                    "Q-FULL: nothing in front of the key of table {table} is known, so the whole \
                     table would be read: give a condition on the first field of its key, {key}, \
                     or SET halite.full_scan = 'allow'"
                ),
                Wide::FanOut(ranges) => format!(
                    "Q-FAN: {ranges} ranges of table {table} would be read at once: give the \
                     fields of the salt of its key, {key}, or a LIMIT, or SET halite.full_scan = \
                     'allow'"
                ),
            };
            return Err(SqlError::new(SqlState::LimitExceeded, what + &serving));
        }
        if let Some(rows) = rows.filter(|rows| *rows > MANY_ROWS) {
            let what = match wide {
                Wide::Full => "Q-FULL: nothing in front of the key".to_owned(),
                Wide::FanOut(ranges) => format!("Q-FAN: not which of {ranges} salts"),
            };
            statement.notice(format!(
                "{what} of table {table} is known, so about {rows} rows are read{serving}; SET \
                 halite.full_scan = 'allow' says no more of it"
            ));
        }
        Ok(())
    }
}

/// Checks the scans of a plan, and tells of rows that are read to be dropped.
///
/// # Errors
/// As [`ScanSpec::check_wide`].
pub(crate) fn check_plan(plan: &dyn ExecutionPlan, statement: &StatementContext) -> Result<()> {
    if let Some(scan) = as_scan(plan) {
        // What the values of the other side leave of a join's is not known yet.
        return if scan.joined.is_empty() { scan.spec.check_wide(statement) } else { Ok(()) };
    }
    if let Some(aggregated) = as_aggregated(plan) {
        return check_plan(aggregated.scan().as_ref(), statement);
    }
    if let Some(text) = dropped_rows(plan) {
        statement.notice(text);
    }
    plan.children().into_iter().try_for_each(|child| check_plan(child.as_ref(), statement))
}

/// Returns what is to be said of OFFSET, where it drops rows of a table that are read for it.
pub(crate) fn dropped_rows(plan: &dyn ExecutionPlan) -> Option<String> {
    let any: &dyn std::any::Any = plan;
    let limit = any.downcast_ref::<GlobalLimitExec>().filter(|limit| limit.skip() > 0)?;
    let scan = scan_below(limit.input().as_ref())?;
    let table = scan.spec.target.table.name();
    let rows = limit.skip();
    let next = match behind_last_row(&scan.spec) {
        Some(condition) => format!("the next page begins behind the last row of this: {condition}"),
        None => "a condition on the last row of the page before would read none of them".to_owned(),
    };
    Some(format!("Q-OFFSET: OFFSET reads {rows} rows of table {table} and drops them; {next}"))
}

/// Returns the scan whose rows come as they are, but for some that are left out.
fn scan_below(plan: &dyn ExecutionPlan) -> Option<&ScanExec> {
    const PASSES: [&str; 7] = [
        "ProjectionExec",
        "FilterExec",
        "CooperativeExec",
        "CoalesceBatchesExec",
        "CoalescePartitionsExec",
        "SortPreservingMergeExec",
        "LocalLimitExec",
    ];
    if let Some(scan) = as_scan(plan) {
        return scan.spec.is_row_by_row().then_some(scan);
    }
    let [child] = plan.children().into_iter().collect::<Vec<_>>()[..] else { return None };
    if PASSES.contains(&plan.name()) || plan.name() == crate::session::rounds::NAME {
        return scan_below(child.as_ref());
    }
    None
}

/// Returns the condition of the rows behind one of a scan, with parameters for its fields, and the
/// order for which that holds; `None` if the fields of the key do not tell.
fn behind_last_row(spec: &ScanSpec) -> Option<String> {
    let shape = &spec.target.shape;
    let mut fields: Vec<(String, Order)> = Vec::new();
    for term in spec.plan.order().iter().filter(|term| !is_pinned(spec, term.field)) {
        let column = shape.columns.iter().find(|one| one.source == Source::Key(term.field))?;
        if term.by != OrderedBy::Value || column.field.is_nullable() {
            return None;
        }
        fields.push((column.name.clone(), term.order));
    }
    let order: Vec<String> = fields
        .iter()
        .map(|(name, order)| format!("{name}{}", if *order == Order::Desc { " DESC" } else { "" }))
        .collect();
    let op = |order: Order| if order == Order::Desc { "<" } else { ">" };
    let (_, first) = fields.first()?;
    let condition = if fields.iter().all(|(_, order)| order == first) {
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let values: Vec<String> = (1..=fields.len()).map(|at| format!("${at}")).collect();
        format!("({}) {} ({})", names.join(", "), op(*first), values.join(", "))
    } else {
        // A row value has one direction.
        let terms = (0..fields.len()).map(|at| {
            let equal =
                fields[..at].iter().zip(1..).map(|((name, _), at)| format!("{name} = ${at}"));
            let (name, order) = &fields[at];
            let last = format!("{name} {} ${}", op(*order), at + 1);
            equal.chain(std::iter::once(last)).collect::<Vec<_>>().join(" AND ")
        });
        terms.collect::<Vec<_>>().join(" OR ")
    };
    Some(format!("WHERE {condition} ORDER BY {}", order.join(", ")))
}
