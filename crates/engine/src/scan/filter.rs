//! Evaluation of filters: the calls of a scanner, with the results of HBase 2.6.
//!
//! ```text
//! each row:   filter_all_remaining -> reset -> filter_row_key
//! each cell:    filter_cell -> code [-> next_cell_hint] [-> transform_value]
//! its end:    keep_cell for each cell -> filter_row
//! ```
//! The order of the calls is part of the semantics. Several filters retain data of an earlier call,
//! and a filter that never received a row key excludes every cell of that row.
//!
//! Each call is verified against HBase's classes (`testdata/filter`). Halite differs deliberately
//! where those lose rows. Reverse hints after `7f` and `ff` bytes are exact. Ranges without an end
//! work in reverse. Of ranges with one start the one that includes it counts. Limits and offsets
//! near 2^31 do not wrap around. Values that a comparator cannot parse are excluded instead of
//! failing the scan.

mod column;
mod comparator;
mod compare;
mod compiled_regex;
mod decimal;
mod evaluate;
mod expression;
mod full_match;
mod fuzzy;
mod java_regex;
mod list;
mod range;
mod row;
#[cfg(test)]
mod tests;
mod wrappers;

use halite_types::cell::CellRef;
use halite_types::{Error, Filter, Result};

use compiled_regex::RegexBudget;
pub use evaluate::ReturnCode;
use evaluate::{Evaluate, ValueForm};
pub use full_match::FullMatch;

/// Maximum nesting of filters; deeper ones are rejected, because each level uses stack.
const MAX_DEPTH: usize = 100;

/// Filter with its state between calls, for one scan or get of one region.
pub struct FilterState {
    root: Box<dyn Evaluate>,
    reversed: bool,
    cost: usize,
}

impl FilterState {
    /// Prepares a filter for a forward scan.
    ///
    /// # Errors
    /// `InvalidRequest` if it cannot be evaluated: a regular expression that does not parse, an
    /// invalid operator or range, lists nested too deep, or regular expressions that together use
    /// too much memory.
    pub fn new(filter: &Filter) -> Result<Self> {
        let root = evaluator(filter, 0, &mut RegexBudget::for_expressions(filter.regex_count()))?;
        Ok(Self { root, reversed: false, cost: filter.cost().max(1) })
    }

    /// Returns the cost per byte that the filter examines, at least 1 ([`Filter::cost`]).
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Sets the direction of the scan; `true` for descending rows. Must be called before the first
    /// row.
    pub fn set_reversed(&mut self, reversed: bool) {
        self.root.set_reversed(reversed);
        self.reversed = reversed;
    }

    /// Returns `true` if the scan is in reverse.
    pub fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Seeds the random numbers of a `RandomRowFilter`, which are the same for each state
    /// otherwise.
    pub fn set_seed(&mut self, seed: u64) {
        self.root.set_seed(seed);
    }

    /// Clears the state of the previous row; must be called before each row.
    pub fn reset(&mut self) {
        self.root.reset();
    }

    /// Returns `true` if no later row can pass, so the scan of this region ends.
    pub fn filter_all_remaining(&self) -> bool {
        self.root.filter_all_remaining()
    }

    /// Passes the row key, once for each row. Returns `true` if the row is excluded.
    pub fn filter_row_key(&mut self, row: &[u8]) -> bool {
        self.root.filter_row_key(row)
    }

    /// Returns the code for a cell.
    pub fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        self.root.filter_cell(cell)
    }

    /// Returns the position to continue from after [`ReturnCode::SeekNextUsingHint`], as a flat
    /// search key; `None` means the next cell.
    ///
    /// A key of another row is the first of that row. In a reverse scan the next candidate is the
    /// greatest row not above it; the current row does not count. A key that is not ahead means the
    /// next cell.
    pub fn next_cell_hint(&mut self, cell: CellRef<'_>) -> Option<Vec<u8>> {
        self.root.next_cell_hint(cell)
    }

    /// Returns `true` if included cells get another value, from [`Self::transform_value`].
    pub fn transforms(&self) -> bool {
        self.root.transforms()
    }

    /// Returns the value of the last cell that [`Self::filter_cell`] included. `scratch` contains
    /// it if it is not the stored one.
    pub fn transform_value<'a>(&self, cell: &CellRef<'a>, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        match self.root.transform(ValueForm::Stored(cell.value().len())) {
            ValueForm::Stored(_) => cell.value(),
            ValueForm::Empty => &[],
            ValueForm::Length(length) => {
                scratch.clear();
                scratch.extend_from_slice(&length.to_be_bytes());
                scratch
            }
        }
    }

    /// Returns `true` if [`Self::filter_row`] decides on whole rows, so that a row cannot be
    /// returned in parts.
    pub fn has_filter_row(&self) -> bool {
        self.root.has_filter_row()
    }

    /// Returns `true` if the cells of a family decide on a row. If not, they need to be read only
    /// for rows that the filter includes for the cells of other families.
    pub fn is_family_essential(&self, family: &[u8]) -> bool {
        self.root.is_family_essential(family)
    }

    /// Returns `true` if [`Self::keep_cell`] must be called at the end of a row.
    pub fn drops_cells(&self) -> bool {
        self.root.drops_cells()
    }

    /// Returns `true` if a cell of the finished row is retained (HBase: `filterRowCells`).
    pub fn keep_cell(&mut self, cell: CellRef<'_>) -> bool {
        self.root.keep_cell(cell)
    }

    /// Decides on the row at its end, once, if it has cells left. Returns `true` if the row is
    /// excluded.
    pub fn filter_row(&mut self) -> bool {
        self.root.filter_row()
    }
}

fn evaluator(filter: &Filter, depth: usize, room: &mut RegexBudget) -> Result<Box<dyn Evaluate>> {
    if depth > MAX_DEPTH {
        return Err(Error::invalid(format!(
            "filter: more than {MAX_DEPTH} filters inside one another; make the lists flat"
        )));
    }
    Ok(match filter {
        Filter::Row(op, comparator) => Box::new(compare::RowCompare::new(*op, comparator, room)?),
        Filter::Family(op, comparator) => {
            Box::new(compare::PartCompare::family(*op, comparator, room)?)
        }
        Filter::Qualifier(op, comparator) => {
            Box::new(compare::PartCompare::qualifier(*op, comparator, room)?)
        }
        Filter::Value(op, comparator) => {
            Box::new(compare::PartCompare::value(*op, comparator, room)?)
        }
        Filter::SingleColumnValue {
            family,
            qualifier,
            op,
            comparator,
            filter_if_missing,
            latest_version_only,
            exclude,
        } => {
            let column = compare::Column::new(family, qualifier);
            let test = compare::Comparison::new(*op, comparator, room)?;
            Box::new(compare::SingleColumnValue::new(
                column,
                test,
                *filter_if_missing,
                *latest_version_only,
                *exclude,
            )?)
        }
        Filter::ColumnValue { family, qualifier, op, comparator } => {
            Box::new(compare::ColumnValue::new(
                compare::Column::new(family, qualifier),
                compare::Comparison::new(*op, comparator, room)?,
            ))
        }
        Filter::DependentColumn { family, qualifier, drop_column, check } => {
            let check = check
                .as_ref()
                .map(|(op, comparator)| compare::Comparison::new(*op, comparator, room))
                .transpose()?;
            Box::new(compare::DependentColumn::new(
                compare::Column::new(family, qualifier),
                *drop_column,
                check,
            ))
        }
        Filter::Prefix(prefix) => Box::new(row::Prefix::new(prefix)),
        Filter::Page(rows) => Box::new(row::Page::new(*rows)),
        Filter::InclusiveStop(stop) => Box::new(row::InclusiveStop::new(stop)),
        Filter::RandomRow(chance) => Box::new(row::RandomRow::new(*chance)),
        Filter::FilterAll => Box::new(row::FilterAll),
        Filter::FuzzyRow(keys) => Box::new(fuzzy::FuzzyRow::new(keys)?),
        Filter::MultiRowRange(ranges) => Box::new(range::MultiRowRange::new(ranges)?),
        Filter::ColumnPrefix(prefix) => Box::new(column::ColumnPrefix::new(prefix)),
        Filter::MultipleColumnPrefix(prefixes) => {
            Box::new(column::MultipleColumnPrefix::new(prefixes)?)
        }
        Filter::ColumnRange { min, min_inclusive, max, max_inclusive } => Box::new(
            column::ColumnRange::new(min.as_ref(), *min_inclusive, max.as_ref(), *max_inclusive),
        ),
        Filter::FirstKeyOnly => Box::new(column::FirstKeyOnly::new(None)),
        Filter::FirstKeyValueMatchingQualifiers(qualifiers) => {
            Box::new(column::FirstKeyOnly::new(Some(qualifiers)))
        }
        Filter::KeyOnly(length_as_value) => Box::new(column::KeyOnly::new(*length_as_value)),
        Filter::ColumnCountGet(limit) => Box::new(column::ColumnCountGet::new(*limit)),
        Filter::ColumnPagination { limit, offset, column_offset } => {
            Box::new(column::ColumnPagination::new(*limit, *offset, column_offset.as_ref()))
        }
        Filter::Timestamps { timestamps, can_hint } => {
            Box::new(column::Timestamps::new(timestamps, *can_hint)?)
        }
        Filter::WhileMatch(inner) => {
            Box::new(wrappers::WhileMatch::new(evaluator(inner, depth + 1, room)?))
        }
        Filter::Skip(inner) => Box::new(wrappers::Skip::new(evaluator(inner, depth + 1, room)?)),
        Filter::All(filters) => {
            Box::new(list::MustPassAll::new(evaluators(filters, depth + 1, room)?))
        }
        Filter::One(filters) => {
            Box::new(list::MustPassOne::new(evaluators(filters, depth + 1, room)?))
        }
    })
}

fn evaluators(
    filters: &[Filter],
    depth: usize,
    room: &mut RegexBudget,
) -> Result<Vec<Box<dyn Evaluate>>> {
    filters.iter().map(|filter| evaluator(filter, depth, room)).collect()
}
