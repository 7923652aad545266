//! Lists of values that the optimizer must not combine.
//!
//! Of `v NOT IN (1, 2) OR v NOT IN (3, 4)` DataFusion makes `true`, also where `v` is null and so is
//! the condition; of `v IN (1, 2) AND v IN (3, 4)` it makes `false`, so that NOT of it is true. Where
//! that matters, the expression of one list is written as a function of it here, which differs from
//! that of the other list. `v IN (5, 6) AND v NOT IN (5, NULL)` would become `v = 6`, and is never
//! true.

use std::collections::HashMap;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable as _, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

/// Use of an expression.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Rows are taken where it is true.
    Condition,
    /// Its value is used, so that null differs from false.
    Value,
}

/// Returns the expression with lists apart that must not be combined.
///
/// # Errors
/// None in practice: the parts of the expression stay as they are.
pub(super) fn separated(expr: Expr, used: Use, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if !may_combine(&expr, used)? {
        return Ok(Transformed::no(expr));
    }
    let place = match used {
        Use::Condition => Place::Condition { is_negated: false },
        Use::Value => Place::Value,
    };
    let mut separator = Separator { schema, functions: 0 };
    let (expr, _) = separator.separate(expr, place)?;
    Ok(Transformed::new_transformed(expr, separator.functions > 0))
}

/// Returns `true` if an expression has several lists in places where it matters.
fn may_combine(expr: &Expr, used: Use) -> Result<bool> {
    let (mut lists, mut matters) = (0, matches!(used, Use::Value));
    expr.apply(|expr| {
        match expr {
            Expr::InList(_) => {
                lists += 1;
                // It may have a null.
                matters = true;
            }
            Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }) => lists += 1,
            Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) | Expr::Not(_) => matters = true,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(matters && lists > 1)
}

/// Place of an expression in the one that is used.
#[derive(Clone, Copy)]
enum Place {
    /// Below AND, OR and NOT alone.
    Condition {
        /// Below an odd number of NOT.
        is_negated: bool,
    },
    Value,
}

/// Expressions that lists of values are compared with.
type Lists = HashMap<Expr, Compared>;

/// What is known of the lists that an expression is compared with.
#[derive(Clone, Copy)]
struct Compared {
    /// One of them is, in the end, of NOT IN.
    is_negated: bool,
    /// One of them has a null, or what is none of the constants that the optimizer compares.
    has_null: bool,
    /// The expression may be null.
    may_be_null: bool,
}

struct Separator<'s> {
    schema: &'s DFSchema,
    /// Number of functions that were made.
    functions: u64,
}

impl Separator<'_> {
    fn separate(&mut self, expr: Expr, place: Place) -> Result<(Expr, Lists)> {
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: op @ (Operator::And | Operator::Or),
                right,
            }) => {
                let (left, lists) = self.separate(*left, place)?;
                let (right, others) = self.separate(*right, place)?;
                let (right, lists) = self.joined(op, place, lists, (right, others))?;
                Ok((Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))), lists))
            }
            Expr::Not(inner) => {
                let place = match place {
                    Place::Condition { is_negated } => Place::Condition { is_negated: !is_negated },
                    Place::Value => place,
                };
                let (inner, lists) = self.separate(*inner, place)?;
                Ok((Expr::Not(Box::new(inner)), lists))
            }
            expr => {
                if let Some((of, negated, has_null)) = list(&expr) {
                    let is_negated = match place {
                        Place::Condition { is_negated } => negated != is_negated,
                        Place::Value => negated,
                    };
                    let may_be_null = of.nullable(self.schema).unwrap_or(true);
                    let compared = Compared { is_negated, has_null, may_be_null };
                    let lists = Lists::from([(of.clone(), compared)]);
                    return Ok((expr, lists));
                }
                let of_parts = expr.map_children(|part| {
                    let (part, _) = self.separate(part, Place::Value)?;
                    Ok(Transformed::yes(part))
                })?;
                Ok((of_parts.data, Lists::new()))
            }
        }
    }

    /// Returns the right side of AND or OR, and the lists of both sides.
    fn joined(
        &mut self,
        op: Operator,
        place: Place,
        mut lists: Lists,
        (mut right, others): (Expr, Lists),
    ) -> Result<(Expr, Lists)> {
        for (of, other) in others {
            let Some(known) = lists.get_mut(&of) else {
                lists.insert(of, other);
                continue;
            };
            let is_union = !other.is_negated && !known.is_negated;
            let matters_where_null = match place {
                // `false` in place of null differs below NOT only.
                Place::Condition { is_negated } => (op == Operator::Or) != is_negated && !is_union,
                Place::Value => op == Operator::And || !is_union,
            };
            let has_null = known.has_null || other.has_null;
            if has_null || known.may_be_null && matters_where_null {
                self.functions += 1;
                right = apart(right, &of, self.functions)?;
            } else {
                known.is_negated |= other.is_negated;
            }
        }
        Ok((right, lists))
    }
}

/// Returns the expression that is compared with values, `true` for NOT IN, and `true` if one of the
/// values is null or no constant. One that is equal to a constant is in a list of one.
fn list(expr: &Expr) -> Option<(&Expr, bool, bool)> {
    let is_value = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !value.is_null());
    match expr {
        Expr::InList(InList { expr, list, negated }) => {
            Some((expr, *negated, !list.iter().all(is_value)))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            match (left.as_ref(), right.as_ref()) {
                (of, value @ Expr::Literal(..)) | (value @ Expr::Literal(..), of) => {
                    Some((of, false, !is_value(value)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Writes what lists are compared with as a function.
fn apart(expr: Expr, of: &Expr, number: u64) -> Result<Expr> {
    let written = |part: Expr| if part == *of { Apart::of(part, number) } else { part };
    let separated = expr.transform_up(|expr| {
        Ok(match expr {
            Expr::InList(InList { expr, list, negated }) => {
                let expr = Box::new(written(*expr));
                Transformed::yes(Expr::InList(InList { expr, list, negated }))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                let (left, right) = (Box::new(written(*left)), Box::new(written(*right)));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(left, Operator::Eq, right)))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(separated.data)
}

/// Its argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Apart {
    number: u64,
    signature: Signature,
}

impl Apart {
    fn of(expr: Expr, number: u64) -> Expr {
        let signature = Signature::any(1, Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { number, signature }).call(vec![expr])
    }

    /// Returns the argument of such a function.
    pub(super) fn argument(expr: &Expr) -> Option<&Expr> {
        match expr {
            Expr::ScalarFunction(ScalarFunction { func, args }) if func.inner().is::<Self>() => {
                args.first()
            }
            _ => None,
        }
    }
}

impl ScalarUDFImpl for Apart {
    fn name(&self) -> &'static str {
        "apart"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [ty] => Ok(ty.clone()),
            _ => internal_err!("it has one argument"),
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("apart{}({})", self.number, args.join(", ")))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => internal_err!("it has one argument"),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::logical_expr::{col, lit};

    use super::*;

    fn shown(expr: Expr, used: Use) -> String {
        let fields =
            vec![Field::new("v", DataType::Int64, true), Field::new("k", DataType::Int64, false)];
        let schema = DFSchema::try_from(Schema::new(fields)).expect("a schema");
        separated(expr, used, &schema).expect("an expression").data.to_string()
    }

    #[test]
    fn lists_of_which_nothing_would_be_left_are_apart() {
        let list = |name: &str, negated| col(name).in_list(vec![lit(1), lit(2)], negated);
        let alternatives = |name| list(name, true).or(list(name, true));
        let both = |name| list(name, false).and(list(name, false));
        let is_apart = |expr: Expr, used| shown(expr, used).contains("apart");
        for (expr, as_condition, as_value) in [
            (alternatives("v"), true, true),
            (alternatives("k"), false, false),
            (both("v"), false, true),
            (!both("v"), true, true),
            (both("v").is_null(), true, true),
            (list("v", false).or(list("v", false)), false, false),
            (!list("v", false).or(list("v", false)), false, false),
            (!list("v", true).or(list("v", true)), false, true),
            (list("v", false).and(list("v", true)), false, true),
            (!(list("v", false).and(list("v", true))), true, true),
            (!(col("v").eq(lit(1)).and(col("v").eq(lit(2)))), true, true),
            (col("v").eq(lit(1)).or(col("v").eq(lit(2))), false, false),
            (col("v").eq(lit(1)).or(list("k", true)), false, false),
        ] {
            assert_eq!(is_apart(expr.clone(), Use::Condition), as_condition, "condition {expr}");
            assert_eq!(is_apart(expr.clone(), Use::Value), as_value, "value {expr}");
        }
        let null = Expr::Literal(datafusion::scalar::ScalarValue::Int64(None), None);
        for name in ["v", "k"] {
            let without = col(name).in_list(vec![lit(1), null.clone()], true);
            assert!(is_apart(list(name, false).and(without), Use::Condition), "{name}");
        }
    }
}
