//! Plan of a query for listed combinations of values, as a join has them: the ranges of each
//! combination, and not those of every value of one field with every value of another.

use std::collections::BTreeMap;

use super::constraint::Constraint;
use super::walk::PrefixWalk;
use super::{Branch, Condition, KeyBuf, KeyRange, Plan, PlanError, Predicate};
use crate::schema::FieldId;
use crate::value::Value;

/// Combinations of values with the queries of a union that are planned.
const MAX_UNITED_ROWS: usize = 1 << 16;

impl Plan {
    /// Returns the plan of the same query for the rows in which `fields` have the values of one of
    /// `rows`, each in the order of `fields`. Its ranges may contain other rows too: the caller
    /// compares the values.
    ///
    /// Returns the plan as it is if there would be more ranges than its limit.
    ///
    /// # Errors
    /// A value that is invalid for its field.
    pub fn for_rows(
        &self,
        fields: &[FieldId],
        rows: &[Vec<Value<'static>>],
    ) -> Result<Self, PlanError> {
        if self.is_union {
            if self.parts.len().saturating_mul(rows.len()) > MAX_UNITED_ROWS {
                return Ok(self.clone());
            }
            let parts = self.parts.iter().map(|part| part.plan.for_rows(fields, rows));
            return Ok(self.of_plans(parts.collect::<Result<_, _>>()?));
        }
        let mut left = usize::try_from(self.options.limits.ranges).unwrap_or(usize::MAX);
        let mut by_derived: BTreeMap<KeyBuf, Vec<KeyRange>> = BTreeMap::new();
        let mut walks: Vec<Vec<Condition>> = Vec::new();
        if let [field] = fields {
            // Every combination of one field is one of its values: a single walk knows all of them.
            let values = rows.iter().flatten().cloned().collect();
            walks.push(vec![Condition { field: *field, predicate: Predicate::In(values) }]);
        } else {
            walks.extend(rows.iter().map(|row| {
                let pairs = fields.iter().zip(row);
                let equal = pairs.map(|(field, value)| Condition {
                    field: *field,
                    predicate: Predicate::Equals(value.clone()),
                });
                equal.collect()
            }));
        }
        for more in walks {
            let conditions: Vec<Condition> =
                self.query.conditions.iter().cloned().chain(more).collect();
            let constraints = Constraint::for_fields(&self.schema, &conditions)?;
            let mut walk = PrefixWalk::new(&self.schema, &constraints, &self.options);
            walk.run();
            for branch in super::branches(walk) {
                let Some(rest) = left.checked_sub(branch.ranges.len()) else {
                    return Ok(self.clone());
                };
                left = rest;
                by_derived.entry(branch.derived).or_default().extend(branch.ranges);
            }
        }
        let branches = by_derived.into_iter().map(|(derived, mut found)| {
            found.sort_by_cached_key(KeyRange::low_merge_key);
            let mut ranges: Vec<KeyRange> = Vec::with_capacity(found.len());
            for range in found {
                // Rows that differ behind the known part of the key have one range.
                if ranges.last().is_some_and(|last| last.range == range.range)
                    || ranges.last_mut().is_some_and(|last| last.join(&range))
                {
                    continue;
                }
                ranges.push(range);
            }
            Branch { ranges, derived }
        });
        Ok(Self { branches: branches.collect(), skip: None, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{KeyQuery, PlanOptions};
    use super::*;
    use crate::schema::KeySchema;

    fn plan(key: &str, query: &KeyQuery) -> (Arc<KeySchema>, Plan) {
        let schema: Arc<KeySchema> = Arc::new(key.parse().expect("a schema"));
        let plan = Plan::new(&schema, query, &PlanOptions::default()).expect("a plan");
        (schema, plan)
    }

    fn row(a: &str, b: i64) -> Vec<Value<'static>> {
        vec![Value::Text(a.to_owned().into()), Value::Signed(b)]
    }

    #[test]
    fn combinations_of_whole_keys_are_as_many_gets() {
        for key in ["ROW KEY (a STRING, b I64)", "ROW KEY (SALT(4 BY a), a STRING, b I64)"] {
            let (schema, all) = plan(key, &KeyQuery::all());
            let rows = [row("x", 1), row("y", 2), row("x", 3), row("y", 2)];
            let found = all.for_rows(&[0, 1], &rows).expect("a plan");
            let mut keys = found.points().expect("gets");
            keys.sort();
            let mut expected: Vec<_> = rows[..3]
                .iter()
                .map(|row| halite_types::Bytes::from(schema.encode(row).expect("a key").to_vec()))
                .collect();
            expected.sort();
            assert_eq!(keys, expected, "{key}");
        }
    }

    #[test]
    fn more_ranges_than_the_limit_leave_the_plan_as_it_is() {
        let schema: Arc<KeySchema> = Arc::new("ROW KEY (a STRING, b I64)".parse().expect("a key"));
        let limits = super::super::PlanLimits { ranges: 2, ..Default::default() };
        let options = PlanOptions { limits, ..PlanOptions::default() };
        let all = Plan::new(&schema, &KeyQuery::all(), &options).expect("a plan");
        let rows = [row("x", 1), row("y", 2), row("x", 3)];
        let count = |rows| all.for_rows(&[0, 1], rows).expect("a plan").ranges().count();
        assert_eq!((count(&rows[..2]), count(&rows[..])), (2, 1));
    }

    #[test]
    fn beginnings_of_keys_are_ranges_and_other_conditions_stay() {
        let a = |text: &str| vec![Value::Text(text.to_owned().into())];
        let (_, all) = plan("ROW KEY (a STRING, b I64)", &KeyQuery::all());
        let found = all.for_rows(&[0], &[a("x"), a("z"), a("x")]).expect("a plan");
        assert_eq!((found.ranges().count(), found.points()), (2, None));
        assert_eq!(all.for_rows(&[0], &[]).expect("a plan").ranges().count(), 0);
        let (_, known) =
            plan("ROW KEY (a STRING, b I64)", &KeyQuery::all().equals(1, Value::Signed(7)));
        let found = known.for_rows(&[0], &[a("x")]).expect("a plan");
        assert_eq!(found.points().map(|points| points.len()), Some(1));
    }
}
