//! Reads filters in the language of HBase's shell:
//! `PrefixFilter('row') AND (QualifierFilter(>=, 'binary:xyz'))`.
//!
//! `SKIP` and `WHILE` bind tightest, then `AND`, then `OR`; parentheses group. Strings are in
//! single quotes, in which `''` is a quote; numbers, `true`, `false` and operators are unquoted.
//! Input that HBase 2.6 accepts is parsed in the same way, except for some errors it does not
//! detect (a `(` that is never closed).

use std::collections::BTreeSet;
use std::str::FromStr;

use bytes::Bytes;

use super::{Comparator, CompareOp, Filter, RegexString};
use crate::error::{Error, Result};

/// Filters of the language with the form of their arguments.
pub const FORMS: [(&str, &str); 19] = [
    ("ColumnCountGetFilter", "(columns)"),
    ("ColumnPaginationFilter", "(limit, offset)"),
    ("ColumnPrefixFilter", "('prefix')"),
    ("ColumnRangeFilter", "('from', true|false, 'to', true|false)"),
    ("ColumnValueFilter", "('family', 'qualifier', op, 'comparator:value')"),
    ("DependentColumnFilter", "('family', 'qualifier' [, true|false [, op, 'comparator:value']])"),
    ("FamilyFilter", "(op, 'comparator:value')"),
    ("FirstKeyOnlyFilter", "()"),
    ("InclusiveStopFilter", "('row')"),
    ("KeyOnlyFilter", "([true|false])"),
    ("MultipleColumnPrefixFilter", "('prefix', ...)"),
    ("PageFilter", "(rows)"),
    ("PrefixFilter", "('prefix')"),
    ("QualifierFilter", "(op, 'comparator:value')"),
    ("RowFilter", "(op, 'comparator:value')"),
    (
        "SingleColumnValueExcludeFilter",
        "('family', 'qualifier', op, 'comparator:value' [, true|false, true|false])",
    ),
    (
        "SingleColumnValueFilter",
        "('family', 'qualifier', op, 'comparator:value' [, true|false, true|false])",
    ),
    ("TimestampsFilter", "(timestamp, ...)"),
    ("ValueFilter", "(op, 'comparator:value')"),
];

/// Maximum nesting depth of filters; each level uses stack.
const MAX_DEPTH: usize = 100;

impl Filter {
    /// Parses a filter string; the bytes in quotes are arbitrary.
    ///
    /// # Errors
    /// `InvalidRequest` with the column, counted in characters from 1.
    pub fn parse_bytes(text: &[u8]) -> Result<Self> {
        let mut reader = Reader { text, offset: 0 };
        let filter = reader.either(0)?;
        if reader.peek().is_some() {
            return Err(reader.wrong(
                reader.offset,
                "unexpected text after the filter; join filters with AND or OR",
            ));
        }
        Ok(filter)
    }
}

impl FromStr for Filter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse_bytes(text.as_bytes())
    }
}

struct Reader<'a> {
    text: &'a [u8],
    offset: usize,
}

impl Reader<'_> {
    fn wrong(&self, at: usize, what: &str) -> Error {
        let column =
            String::from_utf8_lossy(&self.text[..at.min(self.text.len())]).chars().count() + 1;
        Error::invalid(format!("filter string, column {column}: {what}"))
    }

    /// Returns the next byte that is not a blank.
    fn peek(&mut self) -> Option<u8> {
        self.offset +=
            self.text[self.offset..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.get(self.offset).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn word(&mut self) -> String {
        self.peek();
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        self.text[self.offset..].iter().take_while(is_part).map(|&byte| char::from(byte)).collect()
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.offset += if found { word.len() } else { 0 };
        found
    }

    fn either(&mut self, depth: usize) -> Result<Filter> {
        let mut filters = vec![self.both(depth)?];
        while self.accept_word("OR") {
            filters.push(self.both(depth)?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::One(filters) })
    }

    fn both(&mut self, depth: usize) -> Result<Filter> {
        let mut filters = vec![self.single(depth)?];
        while self.accept_word("AND") {
            filters.push(self.single(depth)?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::All(filters) })
    }

    fn single(&mut self, depth: usize) -> Result<Filter> {
        if depth > MAX_DEPTH {
            return Err(self.wrong(self.offset, &format!("more than {MAX_DEPTH} nested filters")));
        }
        if self.accept_word("SKIP") {
            return Ok(Filter::Skip(Box::new(self.single(depth + 1)?)));
        }
        if self.accept_word("WHILE") {
            return Ok(Filter::WhileMatch(Box::new(self.single(depth + 1)?)));
        }
        let start = self.offset;
        if self.accept(b'(') {
            let filter = self.either(depth + 1)?;
            return if self.accept(b')') {
                Ok(filter)
            } else {
                Err(self.wrong(start, "unclosed parenthesis: add )"))
            };
        }
        self.named()
    }

    fn named(&mut self) -> Result<Filter> {
        let name = self.word();
        let start = self.offset;
        if name.is_empty() {
            return Err(self.wrong(start, "expected a filter, such as PrefixFilter('abc')"));
        }
        let Some(&(name, form)) = FORMS.iter().find(|(known, _)| *known == name) else {
            return Err(self.wrong(start, &format!("unknown filter {name}{}", suggestion(&name))));
        };
        self.offset += name.len();
        let arguments = self.arguments(name, form)?;
        Arguments { reader: self, name, form, start, list: arguments.into_iter() }.filter()
    }

    fn arguments(&mut self, name: &str, form: &str) -> Result<Vec<Argument>> {
        let open = self.offset;
        if !self.accept(b'(') {
            return Err(self.wrong(open, &format!("expected (; the form is {name}{form}")));
        }
        let mut arguments = Vec::new();
        loop {
            // HBase accepts blanks between arguments instead of a comma.
            while self.accept(b',') {}
            match self.peek() {
                Some(b')') => {
                    self.offset += 1;
                    return Ok(arguments);
                }
                Some(b'\'') => arguments.push(self.quoted()?),
                Some(_) => arguments.push(self.bare()),
                None => return Err(self.wrong(open, "unclosed parenthesis: add )")),
            }
        }
    }

    fn quoted(&mut self) -> Result<Argument> {
        let start = self.offset;
        self.offset += 1;
        let mut text = Vec::new();
        loop {
            match &self.text[self.offset..] {
                [b'\'', b'\'', ..] => {
                    text.push(b'\'');
                    self.offset += 2;
                }
                [b'\'', ..] => {
                    self.offset += 1;
                    return Ok(Argument { offset: start, quoted: true, text: text.into() });
                }
                [byte, ..] => {
                    text.push(*byte);
                    self.offset += 1;
                }
                [] => return Err(self.wrong(start, "unclosed string: add the quote '")),
            }
        }
    }

    fn bare(&mut self) -> Argument {
        let start = self.offset;
        self.offset += self.text[start..]
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace() && !b",)".contains(byte))
            .count();
        Argument {
            offset: start,
            quoted: false,
            text: Bytes::copy_from_slice(&self.text[start..self.offset]),
        }
    }
}

struct Argument {
    offset: usize,
    quoted: bool,
    text: Bytes,
}

/// Arguments of one filter, read in order.
struct Arguments<'a, 'b> {
    reader: &'a Reader<'b>,
    name: &'static str,
    form: &'static str,
    start: usize,
    list: std::vec::IntoIter<Argument>,
}

impl Arguments<'_, '_> {
    fn wrong(&self, at: usize, what: &str) -> Error {
        self.reader.wrong(at, &format!("{what}; the form is {}{}", self.name, self.form))
    }

    fn next(&mut self, quoted: bool, expected: &str) -> Result<Argument> {
        match self.list.next() {
            Some(argument) if argument.quoted == quoted => Ok(argument),
            Some(argument) => {
                let how = if quoted { "in single quotes" } else { "without quotes" };
                Err(self.wrong(argument.offset, &format!("expected {expected}, {how}")))
            }
            None => Err(self.wrong(self.start, &format!("{expected} is missing"))),
        }
    }

    fn is_done(&self) -> bool {
        self.list.len() == 0
    }

    fn bytes(&mut self) -> Result<Bytes> {
        Ok(self.next(true, "a string")?.text)
    }

    fn bound(&mut self) -> Result<Option<Bytes>> {
        Ok(Some(self.bytes()?).filter(|bytes| !bytes.is_empty()))
    }

    fn flag(&mut self) -> Result<bool> {
        let argument = self.next(false, "true or false")?;
        match argument.text.to_ascii_lowercase().as_slice() {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(self.wrong(argument.offset, "expected true or false")),
        }
    }

    fn number(&mut self, max: u64) -> Result<u64> {
        let argument = self.next(false, "a number")?;
        let number = std::str::from_utf8(&argument.text)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        number.and_then(|text| text.parse().ok()).filter(|&number| number <= max).ok_or_else(|| {
            self.wrong(argument.offset, &format!("expected a number from 0 to {max}"))
        })
    }

    /// Reads a number that HBase stores in a signed 32-bit field.
    fn count(&mut self) -> Result<u32> {
        Ok(u32::try_from(self.number(0x7fff_ffff)?).expect("31 bits fit"))
    }

    fn operator(&mut self) -> Result<CompareOp> {
        let argument = self.next(false, "an operator")?;
        Ok(match &argument.text[..] {
            b"<" => CompareOp::Less,
            b"<=" => CompareOp::LessOrEqual,
            b"=" => CompareOp::Equal,
            b"!=" => CompareOp::NotEqual,
            b">=" => CompareOp::GreaterOrEqual,
            b">" => CompareOp::Greater,
            _ => return Err(self.wrong(argument.offset, "expected one of < <= = != >= >")),
        })
    }

    fn comparator(&mut self) -> Result<(usize, Comparator)> {
        let argument = self.next(true, "a comparator")?;
        let colon = argument.text.iter().position(|&byte| byte == b':').unwrap_or(0);
        let (kind, value) =
            (&argument.text[..colon], argument.text.slice(argument.text.len().min(colon + 1)..));
        let text = || String::from_utf8_lossy(&value).into_owned();
        let comparator = match kind {
            b"binary" => Comparator::Binary(value),
            b"binaryprefix" => Comparator::BinaryPrefix(value),
            b"substring" => Comparator::Substring(text()),
            b"regexstring" => Comparator::Regex(RegexString::new(text())),
            b"regexstringnocase" => Comparator::Regex(RegexString::ignoring_case(text())),
            _ => {
                let kinds = "a comparator starts with binary: binaryprefix: substring: \
                             regexstring: or regexstringnocase:";
                return Err(self.wrong(argument.offset, kinds));
            }
        };
        Ok((argument.offset, comparator))
    }

    /// Reads an operator and its comparator.
    fn test(&mut self) -> Result<(CompareOp, Comparator)> {
        let op = self.operator()?;
        let (at, comparator) = self.comparator()?;
        let is_equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        if !is_equality && matches!(comparator, Comparator::Substring(_) | Comparator::Regex(_)) {
            return Err(self
                .wrong(at, "substring: regexstring: and regexstringnocase: allow only = and !="));
        }
        Ok((op, comparator))
    }

    fn filter(mut self) -> Result<Filter> {
        let filter = match self.name {
            "ColumnCountGetFilter" => Filter::ColumnCountGet(self.count()?),
            "ColumnPaginationFilter" => Filter::ColumnPagination {
                limit: self.count()?,
                offset: self.count()?,
                column_offset: None,
            },
            "ColumnPrefixFilter" => Filter::ColumnPrefix(self.bytes()?),
            "ColumnRangeFilter" => Filter::ColumnRange {
                min: self.bound()?,
                min_inclusive: self.flag()?,
                max: self.bound()?,
                max_inclusive: self.flag()?,
            },
            "FamilyFilter" => self.test().map(|(op, comparator)| Filter::Family(op, comparator))?,
            "FirstKeyOnlyFilter" => Filter::FirstKeyOnly,
            "InclusiveStopFilter" => Filter::InclusiveStop(self.bytes()?),
            "KeyOnlyFilter" => Filter::KeyOnly(!self.is_done() && self.flag()?),
            "MultipleColumnPrefixFilter" => Filter::MultipleColumnPrefix(self.prefixes()?),
            "PageFilter" => Filter::Page(self.number(i64::MAX.cast_unsigned())?),
            "PrefixFilter" => Filter::Prefix(self.bytes()?),
            "QualifierFilter" => {
                self.test().map(|(op, comparator)| Filter::Qualifier(op, comparator))?
            }
            "RowFilter" => self.test().map(|(op, comparator)| Filter::Row(op, comparator))?,
            "TimestampsFilter" => {
                Filter::Timestamps { timestamps: self.timestamps()?, can_hint: false }
            }
            "ValueFilter" => self.test().map(|(op, comparator)| Filter::Value(op, comparator))?,
            _ => self.column_filter()?,
        };
        match self.list.next() {
            Some(argument) => Err(self.wrong(argument.offset, "unexpected extra argument")),
            None => Ok(filter),
        }
    }

    /// Reads the arguments of the filters that begin with family and qualifier.
    fn column_filter(&mut self) -> Result<Filter> {
        let (family, qualifier) = (self.bytes()?, self.bytes()?);
        if self.name == "DependentColumnFilter" {
            let drop_column = !self.is_done() && self.flag()?;
            let check =
                if self.is_done() { None } else { Some((self.operator()?, self.comparator()?.1)) };
            return Ok(Filter::DependentColumn { family, qualifier, drop_column, check });
        }
        let (op, comparator) = self.test()?;
        if self.name == "ColumnValueFilter" {
            return Ok(Filter::ColumnValue { family, qualifier, op, comparator });
        }
        let (filter_if_missing, latest_version_only) =
            if self.is_done() { (false, true) } else { (self.flag()?, self.flag()?) };
        let exclude = self.name == "SingleColumnValueExcludeFilter";
        Ok(Filter::SingleColumnValue {
            family,
            qualifier,
            op,
            comparator,
            filter_if_missing,
            latest_version_only,
            exclude,
        })
    }

    fn prefixes(&mut self) -> Result<Vec<Bytes>> {
        let mut seen = BTreeSet::new();
        while let Some(at) = self.list.as_slice().first().map(|argument| argument.offset) {
            if !seen.insert(self.bytes()?) {
                return Err(self.wrong(at, "duplicate prefix"));
            }
        }
        Ok(seen.into_iter().collect())
    }

    fn timestamps(&mut self) -> Result<Vec<i64>> {
        let mut seen = BTreeSet::new();
        while !self.is_done() {
            seen.insert(self.number(i64::MAX.cast_unsigned())?.cast_signed());
        }
        Ok(seen.into_iter().collect())
    }
}

/// Returns a name of the language that differs from `name` by case, by a missing `Filter` or by up
/// to two letters.
fn suggestion(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let likely = FORMS.iter().map(|(known, _)| known).filter_map(|known| {
        let known_lower = known.to_ascii_lowercase();
        let distance =
            distance(&lower, &known_lower).min(distance(&format!("{lower}filter"), &known_lower));
        (distance <= 2).then_some((distance, known))
    });
    match likely.min() {
        Some((_, known)) => format!("; did you mean {known}?"),
        None => "; the names are those of HBase's classes, such as PrefixFilter".into(),
    }
}

/// Returns the number of letters to insert, delete or replace to change one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, y) in b.bytes().enumerate() {
            let step =
                (diagonal + usize::from(x != y)).min(row[column] + 1).min(row[column + 1] + 1);
            diagonal = std::mem::replace(&mut row[column + 1], step);
        }
    }
    row[b.len()]
}
