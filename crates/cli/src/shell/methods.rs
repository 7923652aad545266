//! Operators and the few methods of plain values: enough for loops and for building keys.

use std::cmp::Ordering;

use super::ast::Block;
use super::eval::run_block;
use super::session::{EvalResult, Interrupt, Session};
use super::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

/// Maximum items of an expanded range, so that a typing error does not exhaust memory.
const MAX_RANGE_ITEMS: i64 = 10_000_000;

const METHODS: [&str; 24] = [
    "each", "times", "upto", "map", "length", "size", "count", "first", "last", "empty?",
    "include?", "reverse", "sort", "join", "keys", "values", "to_s", "to_i", "to_f", "to_a",
    "upcase", "downcase", "rjust", "ljust",
];

/// Calls a method of a value that is not a table.
pub(crate) fn call(
    session: &mut Session<'_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
    block: Option<&Block>,
) -> EvalResult {
    if let Some(block) = block {
        return call_with_block(session, value, name, arguments, block);
    }
    match (name, value) {
        ("length" | "size" | "count", Value::Text(bytes)) => {
            Ok(integer(String::from_utf8_lossy(bytes).chars().count()))
        }
        ("length" | "size" | "count", Value::Hash(pairs)) => Ok(integer(pairs.len())),
        ("length" | "size" | "count", _) => Ok(integer(items(value)?.len())),
        ("empty?", Value::Text(bytes)) => Ok(Value::Bool(bytes.is_empty())),
        ("empty?", _) => Ok(Value::Bool(items(value)?.is_empty())),
        ("first", _) => Ok(items(value)?.into_iter().next().unwrap_or(Value::Nil)),
        ("last", _) => Ok(items(value)?.pop().unwrap_or(Value::Nil)),
        ("include?", Value::Text(bytes)) => {
            let part = argument(name, arguments)?.to_bytes();
            Ok(Value::Bool(
                part.is_empty() || bytes.windows(part.len()).any(|window| window == part),
            ))
        }
        ("include?", _) => Ok(Value::Bool(items(value)?.contains(argument(name, arguments)?))),
        ("reverse", Value::Text(bytes)) => {
            Ok(Value::text(String::from_utf8_lossy(bytes).chars().rev().collect::<String>()))
        }
        ("reverse", _) => Ok(Value::Array(items(value)?.into_iter().rev().collect())),
        ("sort", _) => sort(items(value)?),
        ("to_a", _) => Ok(Value::Array(items(value)?)),
        ("join", Value::Array(list)) => {
            let separator = arguments.first().map(Value::to_bytes).unwrap_or_default();
            Ok(Value::Text(
                list.iter().map(Value::to_bytes).collect::<Vec<_>>().join(&separator[..]),
            ))
        }
        ("keys", Value::Hash(pairs)) => {
            Ok(Value::Array(pairs.iter().map(|(key, _)| key.clone()).collect()))
        }
        ("values", Value::Hash(pairs)) => {
            Ok(Value::Array(pairs.iter().map(|(_, value)| value.clone()).collect()))
        }
        ("to_s", _) => Ok(Value::Text(value.to_bytes())),
        ("to_i", Value::Float(number)) => Ok(Value::Integer(float_to_integer(*number))),
        ("to_i", _) => Ok(Value::Integer(leading_number(&value.to_text()))),
        ("to_f", _) => Ok(Value::Float(value.to_text().trim().parse().unwrap_or(0.0))),
        ("upcase", Value::Text(_)) => Ok(Value::text(value.to_text().to_uppercase())),
        ("downcase", Value::Text(_)) => Ok(Value::text(value.to_text().to_lowercase())),
        ("rjust" | "ljust", Value::Text(bytes)) => pad(bytes, name == "rjust", arguments),
        _ => Err(Interrupt::Problem(format!(
            "{} has no method {name}{}",
            value.kind(),
            did_you_mean(closest_match(name, METHODS.into_iter()))
        ))),
    }
}

fn call_with_block(
    session: &mut Session<'_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
    block: &Block,
) -> EvalResult {
    let list = match (name, value) {
        ("each" | "map", _) => items(value)?,
        ("times", Value::Integer(count)) => range_items(0, *count - 1)?,
        ("upto", Value::Integer(first)) => match argument(name, arguments)? {
            Value::Integer(last) => range_items(*first, *last)?,
            other => {
                return Err(Interrupt::Problem(format!(
                    "upto takes a whole number, not {}",
                    other.kind()
                )));
            }
        },
        _ => {
            return Err(Interrupt::Problem(format!(
                "{} has no method {name} that takes a block; each, map, times and upto do",
                value.kind()
            )));
        }
    };
    let mut results = Vec::new();
    for item in list {
        let values = match item {
            Value::Array(parts) if block.parameters.len() > 1 => parts,
            other => vec![other],
        };
        results.push(run_block(session, block, values)?);
    }
    Ok(if name == "map" { Value::Array(results) } else { value.clone() })
}

fn argument<'a>(method: &str, arguments: &'a [Value]) -> EvalResult<&'a Value> {
    arguments.first().ok_or_else(|| Interrupt::Problem(format!("{method} needs an argument")))
}

fn integer(count: usize) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "Ruby's to_i cuts the fraction; the cast saturates"
)]
fn float_to_integer(number: f64) -> i64 {
    number as i64
}

#[expect(clippy::cast_precision_loss, reason = "Ruby widens the same way")]
fn widen(number: i64) -> f64 {
    number as f64
}

fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits =
        text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| end + sign);
    text[..digits].parse().unwrap_or(0)
}

fn pad(bytes: &[u8], right: bool, arguments: &[Value]) -> EvalResult {
    let Some(Value::Integer(width)) = arguments.first() else {
        return Err(Interrupt::problem("rjust and ljust take a width"));
    };
    let fill = arguments.get(1).map_or_else(|| b" ".to_vec(), Value::to_bytes);
    let missing = usize::try_from(*width).unwrap_or(0).min(1 << 20).saturating_sub(bytes.len());
    let padding: Vec<u8> =
        if fill.is_empty() { Vec::new() } else { fill.into_iter().cycle().take(missing).collect() };
    Ok(Value::Text(if right { [&padding, bytes].concat() } else { [bytes, &padding].concat() }))
}

/// Returns the items of an array, a hash (as pairs) or a range.
pub(crate) fn items(value: &Value) -> EvalResult<Vec<Value>> {
    match value {
        Value::Array(list) => Ok(list.clone()),
        Value::Hash(pairs) => Ok(pairs
            .iter()
            .map(|(key, value)| Value::Array(vec![key.clone(), value.clone()]))
            .collect()),
        Value::Range { first, last, exclusive } => match (&**first, &**last) {
            (Value::Integer(first), Value::Integer(last)) => {
                range_items(*first, last - i64::from(*exclusive))
            }
            (Value::Text(first), Value::Text(last)) => text_range(first, last, *exclusive),
            _ => Err(Interrupt::problem("a range runs between two whole numbers or two strings")),
        },
        other => Err(Interrupt::Problem(format!(
            "{} has no items; give an array, a hash or a range",
            other.kind()
        ))),
    }
}

fn range_items(first: i64, last: i64) -> EvalResult<Vec<Value>> {
    if last.saturating_sub(first) > MAX_RANGE_ITEMS {
        return Err(Interrupt::Problem(format!(
            "{first}..{last} has more than {MAX_RANGE_ITEMS} items; take it in parts"
        )));
    }
    Ok((first..=last).map(Value::Integer).collect())
}

/// Expands `'a'..'e'` or `'row08'..'row12'`: each string is the successor of the one before.
fn text_range(first: &[u8], last: &[u8], exclusive: bool) -> EvalResult<Vec<Value>> {
    let mut list = Vec::new();
    let mut current = first.to_vec();
    while current.len() <= last.len() {
        if current == last {
            list.extend((!exclusive).then_some(Value::Text(current)));
            return Ok(list);
        }
        let next = successor(&current);
        list.push(Value::Text(current));
        if list.len() as u64 > MAX_RANGE_ITEMS.unsigned_abs() {
            return Err(Interrupt::problem(
                "the range of strings has too many items; take it in parts",
            ));
        }
        current = next;
    }
    Ok(list)
}

/// Returns the successor of a string of ASCII letters and digits, as Ruby's `succ`.
fn successor(text: &[u8]) -> Vec<u8> {
    let mut next = text.to_vec();
    for at in (0..next.len()).rev() {
        let (wrapped, carry) = match next[at] {
            b'z' => (b'a', b'a'),
            b'Z' => (b'A', b'A'),
            b'9' => (b'0', b'1'),
            byte => {
                next[at] = byte.wrapping_add(1);
                return next;
            }
        };
        next[at] = wrapped;
        if at == 0 || !next[at - 1].is_ascii_alphanumeric() {
            next.insert(at, carry);
            return next;
        }
    }
    next
}

fn sort(mut list: Vec<Value>) -> EvalResult {
    let mut problem = None;
    list.sort_by(|a, b| {
        compare(a, b).unwrap_or_else(|| {
            problem = Some(format!("{} and {} have no order", a.kind(), b.kind()));
            Ordering::Equal
        })
    });
    problem.map_or(Ok(Value::Array(list)), |text| Err(Interrupt::Problem(text)))
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Integer(a), Value::Float(b)) => widen(*a).partial_cmp(b),
        (Value::Float(a), Value::Integer(b)) => a.partial_cmp(&widen(*b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Evaluates `value[index]`.
pub(crate) fn index(value: &Value, index: &Value) -> EvalResult {
    match (value, index) {
        (Value::Hash(pairs), key) => Ok(pairs
            .iter()
            .find(|(name, _)| name == key)
            .map_or(Value::Nil, |(_, value)| value.clone())),
        (Value::Array(list), Value::Integer(at)) => {
            Ok(from_end(*at, list.len()).map_or(Value::Nil, |at| list[at].clone()))
        }
        (Value::Text(bytes), Value::Integer(at)) => {
            Ok(from_end(*at, bytes.len()).map_or(Value::Nil, |at| Value::text(vec![bytes[at]])))
        }
        (Value::Array(_) | Value::Text(_), other) => {
            Err(Interrupt::Problem(format!("an index is a whole number, not {}", other.kind())))
        }
        (other, _) => Err(Interrupt::Problem(format!("{} cannot be indexed", other.kind()))),
    }
}

fn from_end(at: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let at = if at < 0 { at + length } else { at };
    usize::try_from(at).ok().filter(|_| at < length)
}

/// Evaluates `-value` and `!value`.
pub(crate) fn unary(operator: &str, value: &Value) -> EvalResult {
    match (operator, value) {
        ("!", value) => Ok(Value::Bool(!value.is_true())),
        (_, Value::Integer(number)) => {
            number.checked_neg().map(Value::Integer).ok_or_else(overflow)
        }
        (_, Value::Float(number)) => Ok(Value::Float(-number)),
        (_, other) => Err(Interrupt::Problem(format!("{} cannot be negated", other.kind()))),
    }
}

fn overflow() -> Interrupt {
    Interrupt::problem("the result does not fit 64 bits")
}

/// Evaluates an operator between two values. The evaluator handles `&&` and `||`, which may skip
/// the right side.
pub(crate) fn binary(operator: &str, left: &Value, right: &Value) -> EvalResult {
    match operator {
        "==" => return Ok(Value::Bool(left == right)),
        "!=" => return Ok(Value::Bool(left != right)),
        "<" | "<=" | ">" | ">=" => {
            let order = compare(left, right).ok_or_else(|| {
                Interrupt::Problem(format!("{} and {} have no order", left.kind(), right.kind()))
            })?;
            return Ok(Value::Bool(match operator {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            }));
        }
        _ => {}
    }
    match (operator, left, right) {
        (_, Value::Integer(a), Value::Integer(b)) => integer_arithmetic(operator, *a, *b),
        (_, Value::Integer(a), Value::Float(b)) => float_arithmetic(operator, widen(*a), *b),
        (_, Value::Float(a), Value::Integer(b)) => float_arithmetic(operator, *a, widen(*b)),
        (_, Value::Float(a), Value::Float(b)) => float_arithmetic(operator, *a, *b),
        ("+" | "<<", Value::Text(a), Value::Text(b)) => Ok(Value::Text([&a[..], b].concat())),
        ("+", Value::Array(a), Value::Array(b)) => Ok(Value::Array([&a[..], b].concat())),
        ("*", Value::Text(text), Value::Integer(count)) => {
            let count = usize::try_from(*count)
                .ok()
                .filter(|count| count.saturating_mul(text.len()) <= 64 << 20);
            count.map(|count| Value::Text(text.repeat(count))).ok_or_else(|| {
                Interrupt::problem("the repeated string is over 64 MiB or less than nothing")
            })
        }
        ("+", Value::Text(_), other) => Err(Interrupt::Problem(format!(
            "a string and {} cannot be joined with +; write \"#{{...}}\" or .to_s",
            other.kind()
        ))),
        _ => Err(Interrupt::Problem(format!(
            "{} and {} cannot be combined with {operator}",
            left.kind(),
            right.kind()
        ))),
    }
}

fn integer_arithmetic(operator: &str, a: i64, b: i64) -> EvalResult {
    if b == 0 && matches!(operator, "/" | "%") {
        return Err(Interrupt::problem("division by zero"));
    }
    let result = match operator {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        // Ruby rounds a quotient toward negative infinity; the remainder has the sign of the
        // divisor.
        "/" => {
            a.checked_div(b).map(|quotient| quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        "%" => a
            .checked_rem(b)
            .map(|rest| if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }),
        _ => return Err(Interrupt::Problem(format!("numbers cannot be combined with {operator}"))),
    };
    result.map(Value::Integer).ok_or_else(overflow)
}

fn float_arithmetic(operator: &str, a: f64, b: f64) -> EvalResult {
    Ok(Value::Float(match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => a.rem_euclid(b),
        _ => return Err(Interrupt::Problem(format!("numbers cannot be combined with {operator}"))),
    }))
}

/// Executes `puts`, `print` and `p`.
pub(crate) fn output(session: &mut Session<'_>, name: &str, arguments: &[Value]) -> EvalResult {
    for argument in arguments {
        match (name, argument) {
            ("puts", Value::Array(list)) => {
                list.iter().try_for_each(|item| session.print_line(item.to_bytes()))?;
            }
            ("puts", value) => session.print_line(value.to_bytes())?,
            ("print", value) => session.print(value.to_bytes())?,
            (_, value) => session.print_line(value.inspect())?,
        }
    }
    if name == "puts" && arguments.is_empty() {
        session.print_line("")?;
    }
    Ok(Value::Nil)
}

/// Executes `sleep seconds`.
pub(crate) fn sleep(session: &mut Session<'_>, arguments: &[Value]) -> EvalResult {
    session.flush()?;
    let seconds = match arguments.first() {
        Some(Value::Integer(seconds)) => widen(*seconds),
        Some(Value::Float(seconds)) => *seconds,
        _ => return Err(Interrupt::problem("sleep takes a number of seconds")),
    };
    let duration = std::time::Duration::try_from_secs_f64(seconds);
    std::thread::sleep(
        duration.map_err(|_| Interrupt::problem("sleep takes a number of seconds, 0 or more"))?,
    );
    Ok(Value::Nil)
}
