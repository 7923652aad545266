//! Filters written as one word, `Name(argument,...)`.

use std::ops::Bound;

use bytes::Bytes;
use halite_types::{BitOp, Comparator, CompareOp, Filter, FuzzyKey, RegexString, RowRange};

use super::tokens::number;
use super::{CommandError, text};

pub(super) fn parse(word: &str) -> Result<Filter, CommandError> {
    let (filter, rest) = filter(word)?;
    if rest.is_empty() {
        Ok(filter)
    } else {
        Err(CommandError::malformed(format!("unexpected text {rest:?} after the filter")))
    }
}

pub(super) fn operator(sign: &str) -> Result<CompareOp, CommandError> {
    Ok(match sign {
        "=" => CompareOp::Equal,
        "!=" => CompareOp::NotEqual,
        "<" => CompareOp::Less,
        "<=" => CompareOp::LessOrEqual,
        ">" => CompareOp::Greater,
        ">=" => CompareOp::GreaterOrEqual,
        _ => return Err(CommandError::malformed(format!("invalid operator {sign:?}"))),
    })
}

/// Parses the filter at the start of `text`, and returns it with the remaining text.
fn filter(text: &str) -> Result<(Filter, &str), CommandError> {
    let (name, rest) = text.split_once('(').ok_or_else(|| {
        CommandError::malformed(format!("invalid filter {text:?}: missing parenthesis"))
    })?;
    match name {
        "All" => filters(rest).map(|(list, rest)| (Filter::All(list), rest)),
        "One" => filters(rest).map(|(list, rest)| (Filter::One(list), rest)),
        "Skip" => only(rest).map(|(inner, rest)| (Filter::Skip(inner), rest)),
        "WhileMatch" => only(rest).map(|(inner, rest)| (Filter::WhileMatch(inner), rest)),
        _ => {
            let (inside, rest) = rest.split_once(')').ok_or_else(|| {
                CommandError::malformed(format!(
                    "invalid filter {text:?}: missing closing parenthesis"
                ))
            })?;
            let arguments: Vec<&str> =
                if inside.is_empty() { Vec::new() } else { inside.split(',').collect() };
            Ok((leaf(name, &arguments)?, rest))
        }
    }
}

fn filters(mut text: &str) -> Result<(Vec<Filter>, &str), CommandError> {
    let mut list = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix(')') {
            return Ok((list, rest));
        }
        let (one, rest) = filter(text.strip_prefix(',').unwrap_or(text))?;
        list.push(one);
        text = rest;
    }
}

fn only(text: &str) -> Result<(Box<Filter>, &str), CommandError> {
    let (mut list, rest) = filters(text)?;
    match (list.pop(), list.is_empty()) {
        (Some(one), true) => Ok((Box::new(one), rest)),
        _ => Err(CommandError::malformed("Skip and WhileMatch take one filter")),
    }
}

fn leaf(name: &str, a: &[&str]) -> Result<Filter, CommandError> {
    Ok(match (name, a) {
        ("Prefix", [prefix]) => Filter::Prefix(text::bytes(prefix)?),
        ("Row", [op, with]) => Filter::Row(operator(op)?, comparator(with)?),
        ("Family", [op, with]) => Filter::Family(operator(op)?, comparator(with)?),
        ("Qualifier", [op, with]) => Filter::Qualifier(operator(op)?, comparator(with)?),
        ("Value", [op, with]) => Filter::Value(operator(op)?, comparator(with)?),
        ("SingleColumnValue", [column, op, with, flags @ ..]) => {
            single_column(column, op, with, flags, false)?
        }
        ("SingleColumnValueExclude", [column, op, with, flags @ ..]) => {
            single_column(column, op, with, flags, true)?
        }
        ("ColumnValue", [column, op, with]) => {
            let (family, qualifier) = text::column(column)?;
            Filter::ColumnValue {
                family,
                qualifier,
                op: operator(op)?,
                comparator: comparator(with)?,
            }
        }
        ("DependentColumn", [column, rest @ ..]) => dependent_column(column, rest)?,
        ("ColumnPrefix", [prefix]) => Filter::ColumnPrefix(text::bytes(prefix)?),
        ("MultipleColumnPrefix", prefixes) => Filter::MultipleColumnPrefix(each(prefixes)?),
        ("ColumnRange", [low, high]) => {
            let ((min, min_inclusive), (max, max_inclusive)) =
                (column_bound(low)?, column_bound(high)?);
            Filter::ColumnRange { min, min_inclusive, max, max_inclusive }
        }
        ("FirstKeyOnly", []) => Filter::FirstKeyOnly,
        ("FirstKeyMatching", qualifiers) => {
            Filter::FirstKeyValueMatchingQualifiers(each(qualifiers)?)
        }
        ("FilterAll", []) => Filter::FilterAll,
        ("KeyOnly", []) => Filter::KeyOnly(false),
        ("KeyOnly", ["length"]) => Filter::KeyOnly(true),
        ("Page", [rows]) => Filter::Page(number(rows)?),
        ("InclusiveStop", [row]) => Filter::InclusiveStop(text::bytes(row)?),
        ("ColumnCountGet", [columns]) => Filter::ColumnCountGet(number(columns)?),
        ("ColumnPagination", [limit, offset]) => {
            let from = offset.strip_prefix("from:");
            let offset = if from.is_some() { 0 } else { number(offset)? };
            Filter::ColumnPagination {
                limit: number(limit)?,
                offset,
                column_offset: from.map(text::bytes).transpose()?,
            }
        }
        ("Timestamps", stamps) => {
            let can_hint = stamps.contains(&"hint");
            let timestamps = stamps
                .iter()
                .filter(|stamp| **stamp != "hint")
                .map(|stamp| number(stamp))
                .collect::<Result<_, _>>()?;
            Filter::Timestamps { timestamps, can_hint }
        }
        ("FuzzyRow", keys) => Filter::FuzzyRow(pairs(keys, |key, mask| {
            Ok(FuzzyKey { key: text::bytes(key)?, mask: text::bytes(mask)? })
        })?),
        ("MultiRowRange", bounds) => Filter::MultiRowRange(pairs(bounds, |low, high| {
            Ok(RowRange { start: row_bound(low)?, end: row_bound(high)? })
        })?),
        _ => {
            return Err(CommandError::malformed(format!(
                "invalid filter {name} with {} arguments",
                a.len()
            )));
        }
    })
}

fn single_column(
    column: &str,
    op: &str,
    with: &str,
    flags: &[&str],
    exclude: bool,
) -> Result<Filter, CommandError> {
    let (family, qualifier) = text::column(column)?;
    Ok(Filter::SingleColumnValue {
        family,
        qualifier,
        op: operator(op)?,
        comparator: comparator(with)?,
        filter_if_missing: flags.contains(&"ifmissing"),
        latest_version_only: !flags.contains(&"allversions"),
        exclude,
    })
}

fn dependent_column(column: &str, rest: &[&str]) -> Result<Filter, CommandError> {
    let (family, qualifier) = text::column(column)?;
    let (drop_column, rest) = match rest {
        ["drop", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let check = match rest {
        [] => None,
        [op, with] => Some((operator(op)?, comparator(with)?)),
        _ => {
            return Err(CommandError::malformed(
                "DependentColumn takes a column, optionally drop, optionally an operator and a \
                 comparator",
            ));
        }
    };
    Ok(Filter::DependentColumn { family, qualifier, drop_column, check })
}

fn comparator(word: &str) -> Result<Comparator, CommandError> {
    let (kind, rest) = word.split_once(':').unwrap_or((word, ""));
    let plain = || Ok::<_, CommandError>(String::from_utf8_lossy(&text::bytes(rest)?).into_owned());
    Ok(match kind {
        "binary" => Comparator::Binary(text::bytes(rest)?),
        "prefix" => Comparator::BinaryPrefix(text::bytes(rest)?),
        "substring" => Comparator::Substring(plain()?),
        "regex" => Comparator::Regex(RegexString::new(plain()?)),
        "long" => Comparator::Long(number(rest)?),
        "and" => Comparator::Bit(BitOp::And, text::bytes(rest)?),
        "or" => Comparator::Bit(BitOp::Or, text::bytes(rest)?),
        "xor" => Comparator::Bit(BitOp::Xor, text::bytes(rest)?),
        "component" => {
            let (offset, value) = rest.split_once(':').ok_or_else(|| {
                CommandError::malformed(format!(
                    "invalid component {word:?}: expected component:OFFSET:BYTES"
                ))
            })?;
            Comparator::BinaryComponent { value: text::bytes(value)?, offset: number(offset)? }
        }
        "decimal" => Comparator::BigDecimal(decimal(rest)?),
        "null" => Comparator::Null,
        _ => return Err(CommandError::malformed(format!("invalid comparator {word:?}"))),
    })
}

/// Encodes a decimal number as `Bytes.toBytes(BigDecimal)` does: the scale as 4 bytes, then the
/// digits in the fewest bytes.
fn decimal(number_text: &str) -> Result<Bytes, CommandError> {
    let (whole, fraction) = number_text.split_once('.').unwrap_or((number_text, ""));
    let digits: i64 = number(&[whole, fraction].concat())?;
    let scale = i32::try_from(fraction.len())
        .map_err(|_| CommandError::malformed(format!("{number_text:?} has too many digits")))?;
    let bytes = digits.to_be_bytes();
    let is_sign = |at: usize| {
        bytes[at] == if digits < 0 { 0xff } else { 0 } && (bytes[at + 1] ^ bytes[at]) & 0x80 == 0
    };
    let first = (0..7).find(|&at| !is_sign(at)).unwrap_or(7);
    Ok([&scale.to_be_bytes()[..], &bytes[first..]].concat().into())
}

fn column_bound(word: &str) -> Result<(Option<Bytes>, bool), CommandError> {
    Ok(match row_bound(word)? {
        Bound::Included(qualifier) => (Some(qualifier), true),
        Bound::Excluded(qualifier) => (Some(qualifier), false),
        Bound::Unbounded => (None, false),
    })
}

fn row_bound(word: &str) -> Result<Bound<Bytes>, CommandError> {
    if word == "*" {
        Ok(Bound::Unbounded)
    } else if let Some(inside) = word.strip_prefix('[') {
        Ok(Bound::Included(text::bytes(inside)?))
    } else if let Some(outside) = word.strip_prefix('!') {
        Ok(Bound::Excluded(text::bytes(outside)?))
    } else {
        Err(CommandError::malformed(format!(
            "invalid bound {word:?}: start it with [ or !, or write *"
        )))
    }
}

fn each(words: &[&str]) -> Result<Vec<Bytes>, CommandError> {
    words.iter().map(|word| text::bytes(word)).collect()
}

fn pairs<T>(
    words: &[&str],
    make: impl Fn(&str, &str) -> Result<T, CommandError>,
) -> Result<Vec<T>, CommandError> {
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(CommandError::malformed("missing argument: arguments are pairs"));
    }
    pairs.iter().map(|[first, second]| make(first, second)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_nest() {
        let x = || Filter::Value(CompareOp::NotEqual, Comparator::Binary("x".into()));
        let nested = Filter::All(vec![
            Filter::One(vec![x(), Filter::FirstKeyOnly]),
            Filter::Skip(Box::new(x())),
        ]);
        assert_eq!(
            parse("All(One(Value(!=,binary:x),FirstKeyOnly()),Skip(Value(!=,binary:x)))").unwrap(),
            nested
        );
        assert_eq!(parse("One()").unwrap(), Filter::One(vec![]));
    }

    #[test]
    fn bounds_are_inside_outside_or_missing() {
        let range = Filter::ColumnRange {
            min: Some("b".into()),
            min_inclusive: true,
            max: None,
            max_inclusive: false,
        };
        assert_eq!(parse("ColumnRange([b,*)").unwrap(), range);
        let rows =
            RowRange { start: Bound::Excluded("a".into()), end: Bound::Included("b".into()) };
        assert_eq!(parse("MultiRowRange(!a,[b)").unwrap(), Filter::MultiRowRange(vec![rows]));
    }

    #[test]
    fn decimals_are_written_as_java_writes_them() {
        for (text, bytes) in [
            ("0", &[0, 0, 0, 0, 0][..]),
            ("1.50", &[0, 0, 0, 2, 0, 150]),
            ("-1", &[0, 0, 0, 0, 255]),
            ("-128", &[0, 0, 0, 0, 128]),
        ] {
            assert_eq!(decimal(text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn invalid_filter_is_rejected() {
        for text in [
            "Prefix",
            "Prefix(a",
            "Prefix(a)b",
            "Prefix(a,b)",
            "Row(~,binary:a)",
            "Row(=,a)",
            "Skip()",
            "Nothing()",
            "All(Prefix(a)",
            "FuzzyRow(a)",
        ] {
            assert!(matches!(parse(text), Err(CommandError::Malformed(_))), "{text}");
        }
    }
}
