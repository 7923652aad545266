//! Notation of the golden files: filters and comparators as lists in parentheses.

use bytes::Bytes;
use halite_types::key::RowRange;
use halite_types::{BitOp, Comparator, CompareOp, Filter, FuzzyKey, RegexString};
use std::ops::Bound;

/// Parses the bytes of a word: `\xNN` for any byte, `''` for none.
pub(super) fn bytes(word: &str) -> Bytes {
    let mut out = Vec::new();
    let mut rest = if word == "''" { &[] } else { word.as_bytes() };
    while let Some((&first, behind)) = rest.split_first() {
        let escaped = rest.strip_prefix(b"\\x").and_then(|rest| {
            u8::from_str_radix(std::str::from_utf8(rest.get(..2)?).ok()?, 16).ok()
        });
        out.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &rest[4..] } else { behind };
    }
    out.into()
}

/// Inverse of [`bytes`].
pub(super) fn print(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".into();
    }
    let word = |&byte: &u8| match byte {
        b'\\' | b'(' | b')' => format!("\\x{byte:02X}"),
        b'!'..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    bytes.iter().map(word).collect()
}

pub(super) struct Parser {
    words: Vec<String>,
    index: usize,
}

impl Parser {
    pub(super) fn new(text: &str) -> Self {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        Self { words: spaced.split_whitespace().map(str::to_owned).collect(), index: 0 }
    }

    fn word(&mut self) -> String {
        self.index += 1;
        self.words[self.index - 1].clone()
    }

    fn bytes(&mut self) -> Bytes {
        bytes(&self.word())
    }

    fn number<T: std::str::FromStr>(&mut self) -> T {
        let word = self.word();
        word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
    }

    fn is_more(&self) -> bool {
        self.words[self.index] != ")"
    }

    fn all_bytes(&mut self) -> Vec<Bytes> {
        self.list(Self::bytes)
    }

    fn list<T>(&mut self, one: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut list = Vec::new();
        while self.is_more() {
            list.push(one(self));
        }
        list
    }

    fn bound(&mut self) -> Option<Bytes> {
        Some(self.word()).filter(|word| word != "-").map(|word| bytes(&word))
    }

    fn yes(&mut self) -> bool {
        self.word() == "true"
    }

    fn op(&mut self) -> CompareOp {
        match self.word().as_str() {
            "<" => CompareOp::Less,
            "<=" => CompareOp::LessOrEqual,
            "=" => CompareOp::Equal,
            "!=" => CompareOp::NotEqual,
            ">=" => CompareOp::GreaterOrEqual,
            ">" => CompareOp::Greater,
            _ => CompareOp::NoOp,
        }
    }

    pub(super) fn filter(&mut self) -> Filter {
        assert_eq!(self.word(), "(");
        let name = self.word();
        let filter = match name.as_str() {
            "row" => Filter::Row(self.op(), self.comparator()),
            "family" => Filter::Family(self.op(), self.comparator()),
            "qualifier" => Filter::Qualifier(self.op(), self.comparator()),
            "value" => Filter::Value(self.op(), self.comparator()),
            "scv" => Filter::SingleColumnValue {
                family: self.bytes(),
                qualifier: self.bytes(),
                op: self.op(),
                comparator: self.comparator(),
                filter_if_missing: self.yes(),
                latest_version_only: self.yes(),
                exclude: self.yes(),
            },
            "cv" => Filter::ColumnValue {
                family: self.bytes(),
                qualifier: self.bytes(),
                op: self.op(),
                comparator: self.comparator(),
            },
            "dep" => Filter::DependentColumn {
                family: self.bytes(),
                qualifier: self.bytes(),
                drop_column: self.yes(),
                check: self.is_more().then(|| (self.op(), self.comparator())),
            },
            "prefix" => Filter::Prefix(self.bytes()),
            "page" => Filter::Page(self.number()),
            "stop" => Filter::InclusiveStop(self.bytes()),
            "random" => Filter::RandomRow(self.number()),
            "fuzzy" => Filter::FuzzyRow(self.list(Self::fuzzy_key)),
            "ranges" => Filter::MultiRowRange(self.list(Self::range)),
            "colprefix" => Filter::ColumnPrefix(self.bytes()),
            "colprefixes" => Filter::MultipleColumnPrefix(self.all_bytes()),
            "colrange" => Filter::ColumnRange {
                min: self.bound(),
                min_inclusive: self.yes(),
                max: self.bound(),
                max_inclusive: self.yes(),
            },
            "first" => Filter::FirstKeyOnly,
            "firstmatch" => Filter::FirstKeyValueMatchingQualifiers(self.all_bytes()),
            "keyonly" => Filter::KeyOnly(self.yes()),
            "count" => Filter::ColumnCountGet(self.number()),
            "pages" => Filter::ColumnPagination {
                limit: self.number(),
                offset: self.number(),
                column_offset: None,
            },
            "pagesat" => Filter::ColumnPagination {
                limit: self.number(),
                offset: 0,
                column_offset: Some(self.bytes()),
            },
            "stamps" => {
                let can_hint = self.yes();
                Filter::Timestamps { timestamps: self.list(Self::number), can_hint }
            }
            "while" => Filter::WhileMatch(Box::new(self.filter())),
            "skip" => Filter::Skip(Box::new(self.filter())),
            "all" => Filter::All(self.list(Self::filter)),
            "one" => Filter::One(self.list(Self::filter)),
            other => panic!("unknown filter {other}"),
        };
        assert_eq!(self.word(), ")", "behind {name}");
        filter
    }

    fn fuzzy_key(&mut self) -> FuzzyKey {
        let key = self.bytes();
        let mask: Vec<u8> = self.bytes().iter().map(|digit| digit.wrapping_sub(b'0')).collect();
        FuzzyKey { key, mask: mask.into() }
    }

    fn range(&mut self) -> RowRange {
        let start = if self.word() == "from" {
            Bound::Included(self.bytes())
        } else {
            Bound::Excluded(self.bytes())
        };
        let end = if self.word() == "through" {
            Bound::Included(self.bytes())
        } else {
            Bound::Excluded(self.bytes())
        };
        RowRange { start, end }
    }

    pub(super) fn comparator(&mut self) -> Comparator {
        assert_eq!(self.word(), "(");
        let comparator = match self.word().as_str() {
            "binary" => Comparator::Binary(self.bytes()),
            "bprefix" => Comparator::BinaryPrefix(self.bytes()),
            "component" => {
                Comparator::BinaryComponent { value: self.bytes(), offset: self.number() }
            }
            "bit" => {
                let op = match self.word().as_str() {
                    "and" => BitOp::And,
                    "or" => BitOp::Or,
                    _ => BitOp::Xor,
                };
                Comparator::Bit(op, self.bytes())
            }
            "substring" => Comparator::Substring(String::from_utf8(self.bytes().to_vec()).unwrap()),
            "regex" => {
                let mut regex = RegexString::new(String::from_utf8(self.bytes().to_vec()).unwrap());
                if self.is_more() {
                    regex.flags = self.number();
                }
                if self.is_more() {
                    regex.charset = self.word();
                }
                Comparator::Regex(regex)
            }
            "long" => Comparator::Long(self.number()),
            "decimal" => Comparator::BigDecimal(decimal(&self.word())),
            "null" => Comparator::Null,
            other => panic!("unknown comparator {other}"),
        };
        assert_eq!(self.word(), ")");
        comparator
    }
}

/// Encodes a decimal number as HBase stores it.
fn decimal(word: &str) -> Bytes {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let unscaled: i64 = format!("{whole}{fraction}").parse().unwrap();
    let mut bytes = i32::try_from(fraction.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(&unscaled.to_be_bytes());
    bytes.into()
}
