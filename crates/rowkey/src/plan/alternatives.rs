//! Conditions of which one of several holds, such as `a = 1 AND b > 5 OR a = 3`: a union of the
//! queries that they are, each with one choice. What would be more queries than a union has is
//! checked in each row.

use std::sync::Arc;

use super::constraint::Constraint;
use super::{Condition, KeyQuery, Plan, PlanError, PlanOptions, Predicate, residual};
use crate::codec::DecodedKey;
use crate::schema::{FieldId, KeySchema};

/// Queries of one union at most, where conditions give several.
pub const MAX_UNITED_QUERIES: usize = 64;
/// Values of the lists of the common conditions, which each query of a union has, at most.
const MAX_UNITED_VALUES: usize = 1 << 14;

/// Condition that rows satisfy if they satisfy all conditions of one term.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyOf {
    /// Terms; of none of them no row is selected.
    pub terms: Vec<Vec<Condition>>,
}

impl AnyOf {
    fn names(&self, is_named: impl Fn(FieldId) -> bool) -> bool {
        self.terms.iter().flatten().any(|condition| is_named(condition.field))
    }
}

/// Condition that is checked in each row.
#[derive(Debug)]
pub(super) struct CheckedAnyOf {
    pub(super) of: AnyOf,
    /// Constraints of each term, by field.
    terms: Vec<Vec<Constraint>>,
    /// `false` for each field, as no range contains exactly its values.
    exact: Vec<bool>,
}

impl CheckedAnyOf {
    fn new(schema: &KeySchema, of: AnyOf) -> Result<Self, PlanError> {
        let is_hashed = |condition: &&Condition| schema.is_only_hashed(condition.field);
        if let Some(hashed) = of.terms.iter().flatten().find(is_hashed) {
            let field = schema.fields()[hashed.field].name.clone();
            return Err(PlanError::OnlyHashed { field });
        }
        let terms = of.terms.iter().map(|term| Constraint::for_fields(schema, term));
        let exact = vec![false; schema.fields().len()];
        Ok(Self { terms: terms.collect::<Result<_, _>>()?, of, exact })
    }

    pub(super) fn admits(&self, schema: &KeySchema, row: &DecodedKey<'_>) -> bool {
        self.terms.iter().any(|term| residual::admits(schema, term, &self.exact, row))
    }
}

impl Plan {
    /// Plans the rows that satisfy the conditions of a query and each of `any_of`: a union of at most
    /// [`MAX_UNITED_QUERIES`] queries, and a check of each row for the conditions that would make
    /// it more. Those on the first fields of the key are chosen for the queries.
    ///
    /// # Errors
    /// As [`Self::new`]; `OnlyHashed` for a condition that would have to be checked and names a
    /// field of which the key has only a hash.
    pub fn with_alternatives(
        schema: &Arc<KeySchema>,
        query: &KeyQuery,
        any_of: &[AnyOf],
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        if any_of.is_empty() {
            return Self::new(schema, query, options);
        }
        let options = PlanOptions { distinct: Vec::new(), ..options.clone() };
        let place = |field: FieldId| {
            let segments = schema.segments().iter();
            segments.take_while(|segment| segment.kind.field() != Some(field)).count()
        };
        let rank = |any: &&AnyOf| {
            let is_hashed = any.names(|field| schema.is_only_hashed(field));
            let first = any.terms.iter().flatten().map(|condition| place(condition.field)).min();
            (!is_hashed, first, any.terms.len())
        };
        let mut ranked: Vec<&AnyOf> = any_of.iter().collect();
        ranked.sort_by_key(rank);
        let mut queries = vec![query.clone()];
        let mut checked = Vec::new();
        // Each query has the lists of the common conditions.
        let lists =
            query.conditions.iter().fold(1_usize, |all, condition| match &condition.predicate {
                Predicate::In(values) => all.saturating_mul(values.len().max(1)),
                _ => all,
            });
        let united = (MAX_UNITED_VALUES / lists).clamp(1, MAX_UNITED_QUERIES);
        for any in ranked {
            let is_hashed = any.names(|field| schema.is_only_hashed(field));
            // The values of a field that is only hashed cannot be checked in a row.
            let most = if is_hashed { MAX_UNITED_QUERIES } else { united };
            if queries.len() * any.terms.len() > most {
                checked.push(CheckedAnyOf::new(schema, any.clone())?);
                continue;
            }
            let chosen = queries.iter().flat_map(|query| {
                any.terms.iter().map(|term| {
                    let mut query = query.clone();
                    query.conditions.extend(term.iter().cloned());
                    query
                })
            });
            queries = chosen.collect();
        }
        let plan = match queries.as_slice() {
            [only] => Self::new(schema, only, &options)?,
            queries => Self::of_queries(schema, query.clone(), queries, options)?,
        };
        Ok(Self { checked: checked.into(), ..plan })
    }

    /// Returns the plan of the same rows with another limit and direction.
    ///
    /// # Errors
    /// None in practice: the conditions were planned before.
    pub fn replanned(&self, limit: Option<usize>, reverse: bool) -> Result<Self, PlanError> {
        self.changed(|query| (query.limit, query.reverse) = (limit, reverse))
    }

    /// Returns the plan of the rows that also satisfy other conditions.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn and(&self, more: &[Condition]) -> Result<Self, PlanError> {
        self.changed(|query| query.conditions.extend(more.iter().cloned()))
    }

    fn changed(&self, change: impl Fn(&mut KeyQuery)) -> Result<Self, PlanError> {
        let changed = |query: &KeyQuery| {
            let mut query = query.clone();
            change(&mut query);
            query
        };
        let query = changed(&self.query);
        let plan = if self.is_union {
            let queries: Vec<KeyQuery> = self.queries().map(changed).collect();
            Self::of_queries(&self.schema, query, &queries, self.options.clone())?
        } else {
            Self::new(&self.schema, &query, &self.options)?
        };
        Ok(Self { checked: Arc::clone(&self.checked), ..plan })
    }
}
