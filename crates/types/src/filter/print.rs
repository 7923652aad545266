//! Formatter of filters in the language of HBase's shell.

use std::fmt;
use std::ops::Bound;

use super::{Comparator, CompareOp, Filter, RegexString};
use crate::key::RowRange;

impl fmt::Display for CompareOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::GreaterOrEqual => ">=",
            Self::Greater => ">",
            Self::NoOp => "NO_OP",
        })
    }
}

/// Formats the filter string. Bytes other than printable ASCII, and the backslash, are written
/// `\xNN` as in the double quotes of the shell; without such bytes, parsing the string returns the
/// filter. Filters and comparators that the language does not have are written in the same style
/// under the names of their classes.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(op, comparator) => write!(f, "RowFilter({op}, {})", Compare(comparator)),
            Self::Family(op, comparator) => {
                write!(f, "FamilyFilter({op}, {})", Compare(comparator))
            }
            Self::Qualifier(op, comparator) => {
                write!(f, "QualifierFilter({op}, {})", Compare(comparator))
            }
            Self::Value(op, comparator) => write!(f, "ValueFilter({op}, {})", Compare(comparator)),
            Self::SingleColumnValue {
                family,
                qualifier,
                op,
                comparator,
                filter_if_missing,
                latest_version_only,
                exclude,
            } => {
                let name = if *exclude {
                    "SingleColumnValueExcludeFilter"
                } else {
                    "SingleColumnValueFilter"
                };
                write!(
                    f,
                    "{name}({}, {}, {op}, {}",
                    Quoted(family),
                    Quoted(qualifier),
                    Compare(comparator)
                )?;
                if *filter_if_missing || !latest_version_only {
                    write!(f, ", {filter_if_missing}, {latest_version_only}")?;
                }
                f.write_str(")")
            }
            Self::ColumnValue { family, qualifier, op, comparator } => {
                write!(
                    f,
                    "ColumnValueFilter({}, {}, {op}, {})",
                    Quoted(family),
                    Quoted(qualifier),
                    Compare(comparator)
                )
            }
            Self::DependentColumn { family, qualifier, drop_column, check } => {
                write!(f, "DependentColumnFilter({}, {}", Quoted(family), Quoted(qualifier))?;
                match check {
                    Some((op, comparator)) => {
                        write!(f, ", {drop_column}, {op}, {})", Compare(comparator))
                    }
                    None if *drop_column => f.write_str(", true)"),
                    None => f.write_str(")"),
                }
            }
            Self::Prefix(prefix) => write!(f, "PrefixFilter({})", Quoted(prefix)),
            Self::ColumnPrefix(prefix) => write!(f, "ColumnPrefixFilter({})", Quoted(prefix)),
            Self::MultipleColumnPrefix(prefixes) => {
                call(f, "MultipleColumnPrefixFilter", prefixes.iter().map(|prefix| Quoted(prefix)))
            }
            Self::ColumnRange { min, min_inclusive, max, max_inclusive } => {
                let [min, max] =
                    [min, max].map(|bound| Quoted(bound.as_deref().unwrap_or_default()));
                write!(f, "ColumnRangeFilter({min}, {min_inclusive}, {max}, {max_inclusive})")
            }
            Self::FirstKeyOnly => f.write_str("FirstKeyOnlyFilter()"),
            Self::FirstKeyValueMatchingQualifiers(qualifiers) => call(
                f,
                "FirstKeyValueMatchingQualifiersFilter",
                qualifiers.iter().map(|qualifier| Quoted(qualifier)),
            ),
            Self::KeyOnly(false) => f.write_str("KeyOnlyFilter()"),
            Self::KeyOnly(true) => f.write_str("KeyOnlyFilter(true)"),
            Self::Page(rows) => write!(f, "PageFilter({rows})"),
            Self::InclusiveStop(row) => write!(f, "InclusiveStopFilter({})", Quoted(row)),
            Self::ColumnCountGet(limit) => write!(f, "ColumnCountGetFilter({limit})"),
            Self::ColumnPagination { limit, column_offset: Some(offset), .. } => {
                write!(f, "ColumnPaginationFilter({limit}, {})", Quoted(offset))
            }
            Self::ColumnPagination { limit, offset, column_offset: None } => {
                write!(f, "ColumnPaginationFilter({limit}, {offset})")
            }
            Self::Timestamps { timestamps, can_hint } => {
                let hint = can_hint.then(|| "canHint".to_owned());
                call(f, "TimestampsFilter", timestamps.iter().map(ToString::to_string).chain(hint))
            }
            Self::FuzzyRow(keys) => call(
                f,
                "FuzzyRowFilter",
                keys.iter().flat_map(|fuzzy| [Quoted(&fuzzy.key), Quoted(&fuzzy.mask)]),
            ),
            Self::MultiRowRange(ranges) => call(f, "MultiRowRangeFilter", ranges.iter().map(Range)),
            Self::RandomRow(share) => write!(f, "RandomRowFilter({share})"),
            Self::FilterAll => f.write_str("FilterAllFilter()"),
            Self::WhileMatch(inner) => write!(f, "WHILE {}", Operand(inner)),
            Self::Skip(inner) => write!(f, "SKIP {}", Operand(inner)),
            Self::All(filters) => list(f, filters, " AND "),
            Self::One(filters) => list(f, filters, " OR "),
        }
    }
}

/// Formats a list. Lists of fewer than two filters have no form in the language; they are written
/// as a class with its arguments.
fn list(f: &mut fmt::Formatter<'_>, filters: &[Filter], operator: &str) -> fmt::Result {
    if filters.len() < 2 {
        return call(
            f,
            if operator == " AND " { "FilterListWithAND" } else { "FilterListWithOR" },
            filters.iter(),
        );
    }
    for (position, filter) in filters.iter().enumerate() {
        f.write_str(if position == 0 { "" } else { operator })?;
        write!(f, "{}", Operand(filter))?;
    }
    Ok(())
}

fn call(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    arguments: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    for (position, argument) in arguments.enumerate() {
        f.write_str(if position == 0 { "" } else { ", " })?;
        write!(f, "{argument}")?;
    }
    f.write_str(")")
}

/// Filter as an operand of an operator: lists need parentheses there.
struct Operand<'a>(&'a Filter);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Filter::All(filters) | Filter::One(filters) if filters.len() > 1 => {
                write!(f, "({})", self.0)
            }
            other => write!(f, "{other}"),
        }
    }
}

struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", Inside(self.0))
    }
}

struct Inside<'a>(&'a [u8]);

impl fmt::Display for Inside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            match byte {
                b'\'' => f.write_str("''")?,
                b' '..=b'~' if byte != b'\\' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02X}")?,
            }
        }
        Ok(())
    }
}

struct Compare<'a>(&'a Comparator);

impl fmt::Display for Compare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Comparator::Binary(value) => write!(f, "'binary:{}'", Inside(value)),
            Comparator::BinaryPrefix(value) => write!(f, "'binaryprefix:{}'", Inside(value)),
            Comparator::Substring(text) => write!(f, "'substring:{}'", Inside(text.as_bytes())),
            Comparator::Regex(regex) => {
                let pattern = regex.pattern.as_bytes();
                // Flags and character set of the two keywords.
                match (regex.flags, regex.charset.eq_ignore_ascii_case("UTF-8")) {
                    (RegexString::DOTALL, true) => write!(f, "'regexstring:{}'", Inside(pattern)),
                    (RegexString::DOTALL_IGNORING_CASE, true) => {
                        write!(f, "'regexstringnocase:{}'", Inside(pattern))
                    }
                    (flags, _) => write!(
                        f,
                        "RegexStringComparator({}, {flags}, {})",
                        Quoted(pattern),
                        Quoted(regex.charset.as_bytes())
                    ),
                }
            }
            Comparator::BinaryComponent { value, offset } => {
                write!(f, "BinaryComponentComparator({}, {offset})", Quoted(value))
            }
            Comparator::Bit(op, value) => write!(f, "BitComparator({op:?}, {})", Quoted(value)),
            Comparator::Long(number) => write!(f, "LongComparator({number})"),
            Comparator::BigDecimal(value) => write!(f, "BigDecimalComparator({})", Quoted(value)),
            Comparator::Null => f.write_str("NullComparator()"),
        }
    }
}

/// Range in mathematical notation.
struct Range<'a>(&'a RowRange);

impl fmt::Display for Range<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.start {
            Bound::Unbounded => f.write_str("['', ")?,
            Bound::Included(row) => write!(f, "[{}, ", Quoted(row))?,
            Bound::Excluded(row) => write!(f, "({}, ", Quoted(row))?,
        }
        match &self.0.end {
            Bound::Unbounded => f.write_str("'')"),
            Bound::Included(row) => write!(f, "{}]", Quoted(row)),
            Bound::Excluded(row) => write!(f, "{})", Quoted(row)),
        }
    }
}
