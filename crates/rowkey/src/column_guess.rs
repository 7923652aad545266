//! Columns that the cells of some rows look like.

use std::collections::BTreeMap;

use halite_types::{Bytes, Row, key::to_string_binary};

use crate::cell::{CellCodec, CellEncoding};
use crate::language::{Column, ColumnType};
use crate::value::{FieldType, TimeUnit};

/// Columns of a family from which on a note says that they may be the keys of a `MAP`.
const MANY_COLUMNS: usize = 64;
/// 2000-01-01 and 2100-01-01 in milliseconds since 1970.
const TIMES_MS: std::ops::Range<i64> = 946_684_800_000..4_102_444_800_000;

/// Family and qualifier of a cell.
type Place<'r> = (&'r [u8], &'r [u8]);

/// Column that some cells look like.
#[derive(Clone, Debug)]
pub(crate) struct Guess {
    pub(crate) column: Column,
    /// Rows that have a cell of it.
    pub(crate) rows: usize,
    /// What else the cells could be; empty if nothing.
    pub(crate) rival: &'static str,
    /// `true` if the name is the qualifier.
    is_named: bool,
}

/// Returns the columns of the cells that no declared column owns, by family and qualifier. `marker`
/// is the family of the cell without a qualifier that tells that a row is there.
pub(crate) fn guess_columns(
    rows: &[Row],
    declared: &[Column],
    taken: &[&str],
    marker: Option<&str>,
) -> (Vec<Guess>, Vec<String>) {
    let mut cells: BTreeMap<Place<'_>, Vec<&[u8]>> = BTreeMap::new();
    for row in rows {
        for cell in row {
            let is_declared = declared.iter().any(|column| column.owns_cell(&cell));
            let is_marker = cell.qualifier().is_empty()
                && marker.is_some_and(|family| family.as_bytes() == cell.family());
            if !is_declared && !is_marker {
                cells.entry((cell.family(), cell.qualifier())).or_default().push(cell.value());
            }
        }
    }
    let mut notes = Vec::new();
    let mut of_family: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (family, _) in cells.keys() {
        *of_family.entry(family).or_default() += 1;
    }
    for (family, count) in of_family.iter().filter(|(_, count)| **count >= MANY_COLUMNS) {
        notes.push(format!(
            "family {} has {count} columns in the sample: if they are keys of values, one column of \
             type MAP(STRING, ..) is all of them",
            String::from_utf8_lossy(family)
        ));
    }
    let mut names: Vec<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    names.extend(declared.iter().map(|column| column.name.clone()));
    let mut guesses = Vec::new();
    for ((family, qualifier), values) in cells {
        let Ok(family) = String::from_utf8(family.to_vec()) else { continue };
        let (name, is_named) = name_of(&family, qualifier, &names);
        names.push(name.clone());
        let (ty, encoding, rival) = type_of(&values);
        let mut column = Column::new(name, ColumnType::Value(ty), family)
            .qualified(Bytes::copy_from_slice(qualifier));
        column.encoding = encoding;
        guesses.push(Guess { column, rows: values.len(), rival, is_named });
    }
    (guesses, notes)
}

impl Guess {
    /// Returns what is known of it.
    pub(crate) fn evidence(&self, sampled: usize) -> String {
        let Self { column, rows, rival, .. } = self;
        let rival = if rival.is_empty() { String::new() } else { format!("; it may be {rival}") };
        let named = if self.is_named { "" } else { "; give it a name" };
        format!(
            "{}:{} looks like {column}, in {rows} of {sampled} sampled row(s), all of which fit\
             {rival}{named}",
            column.family,
            to_string_binary(&column.qualifier)
        )
    }
}

/// Returns a name for a column, and whether it is its qualifier.
fn name_of(family: &str, qualifier: &[u8], taken: &[String]) -> (String, bool) {
    let is_free = |name: &str| !taken.iter().any(|other| other.eq_ignore_ascii_case(name));
    let text = std::str::from_utf8(qualifier).ok();
    let plain = text.filter(|text| {
        text.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && text.chars().all(|one| one.is_alphanumeric() || one == '_')
    });
    if let Some(plain) = plain.filter(|plain| is_free(plain)) {
        return (plain.to_owned(), true);
    }
    let base = match plain {
        Some(plain) => format!("{family}_{plain}"),
        None => format!("{family}_column"),
    };
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    let found = std::iter::once(base.clone()).chain(numbered).find(|name| is_free(name));
    (found.unwrap_or(base), plain.is_some())
}

/// Returns the type and encoding that all values fit, and what else they could be.
fn type_of(values: &[&[u8]]) -> (FieldType, CellEncoding, &'static str) {
    let java = |ty, rival| (ty, CellEncoding::Java, rival);
    let fits = |ty, encoding| {
        CellCodec::new(ty, encoding)
            .is_ok_and(|codec| values.iter().all(|value| codec.decode(value).is_ok()))
    };
    let length = values.first().map_or(0, |first| first.len());
    let is_fixed = length > 0 && values.iter().all(|value| value.len() == length);
    let is_text = values.iter().all(|value| is_printable(value))
        && values.iter().any(|value| !value.is_empty());
    if is_text {
        let is_number = |value: &&[u8]| {
            let text = std::str::from_utf8(value).unwrap_or_default();
            text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
        };
        if values.iter().all(is_number) && fits(FieldType::I64, CellEncoding::Text) {
            return (FieldType::I64, CellEncoding::Text, "STRING");
        }
        let rival = match length {
            4 if is_fixed => "I32 whose bytes happen to be text",
            8 if is_fixed => "I64 whose bytes happen to be text",
            _ => "",
        };
        return java(FieldType::String, rival);
    }
    if !is_fixed {
        let has_some = values.iter().any(|value| !value.is_empty());
        return if has_some && fits(FieldType::String, CellEncoding::Java) {
            java(FieldType::String, "BYTES, as it has control characters")
        } else {
            java(FieldType::Bytes, "")
        };
    }
    match length {
        1 if values.iter().all(|value| matches!(value, [0 | 1 | 0xff])) => {
            java(FieldType::Bool, "I8")
        }
        1 => java(FieldType::I8, "U8"),
        2 => java(FieldType::I16, "U16"),
        4 => {
            let words = values.iter().filter_map(|value| value.first_chunk::<4>().copied());
            let is_real = |word: [u8; 4]| {
                let real = f32::from_be_bytes(word);
                i32::from_be_bytes(word).unsigned_abs() > 1 << 24
                    && (1e-9..1e9).contains(&real.abs())
            };
            if words.filter(|word| *word != [0; 4]).all(is_real)
                && values.iter().any(|v| **v != [0; 4])
            {
                java(FieldType::F32, "I32")
            } else {
                java(FieldType::I32, "U32, IPV4 or F32")
            }
        }
        8 => {
            let words: Vec<[u8; 8]> =
                values.iter().filter_map(|value| value.first_chunk::<8>().copied()).collect();
            let is_real = |word: &&[u8; 8]| {
                let real = f64::from_be_bytes(**word);
                i64::from_be_bytes(**word).unsigned_abs() > 1 << 52
                    && (1e-12..1e18).contains(&real.abs())
            };
            let some = words.iter().filter(|word| **word != [0; 8]);
            if words.iter().all(|word| TIMES_MS.contains(&i64::from_be_bytes(*word))) {
                java(FieldType::Timestamp(TimeUnit::Millis), "I64")
            } else if some.clone().count() > 0 && some.clone().all(|word| is_real(&word)) {
                java(FieldType::F64, "I64")
            } else {
                java(FieldType::I64, "I64 COUNTER, if Increment writes it, or U64")
            }
        }
        16 => java(FieldType::Bytes, "UUID or IPV6"),
        _ => java(FieldType::Bytes, ""),
    }
}

/// Returns `true` for text without control characters.
fn is_printable(value: &[u8]) -> bool {
    std::str::from_utf8(value)
        .is_ok_and(|text| !text.chars().any(|one| one.is_control() && !"\t\r\n".contains(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_all_values_fit() {
        let found = |values: &[&[u8]]| {
            let (ty, encoding, _) = type_of(values);
            format!("{ty} {encoding}")
        };
        let real = 21.5_f64.to_be_bytes();
        let number = 4711_i64.to_be_bytes();
        let time = 1_700_000_000_000_i64.to_be_bytes();
        assert_eq!(found(&[b"ada", b"alan"]), "STRING JAVA");
        assert_eq!(found(&[b"12", b"-7"]), "I64 TEXT");
        assert_eq!(found(&[b"12", b"007"]), "STRING JAVA");
        assert_eq!(found(&[&real, &[0; 8]]), "F64 JAVA");
        assert_eq!(found(&[&number, &[0; 8]]), "I64 JAVA");
        assert_eq!(found(&[&time]), "TIMESTAMP JAVA");
        assert_eq!(found(&[&time, &number]), "I64 JAVA");
        assert_eq!(found(&[&21.5_f32.to_be_bytes()]), "F32 JAVA");
        assert_eq!(found(&[&7_i32.to_be_bytes()]), "I32 JAVA");
        assert_eq!(found(&[b"\x00", b"\xff"]), "BOOL JAVA");
        assert_eq!(found(&[b"\x07"]), "I8 JAVA");
        assert_eq!(found(&[b"\xff\xfe", b"\xff"]), "BYTES JAVA");
        assert_eq!(found(&[b"", b""]), "BYTES JAVA");
    }

    #[test]
    fn names_are_qualifiers_where_they_can_be() {
        let taken = ["id".to_owned()];
        assert_eq!(name_of("f", b"age", &taken), ("age".to_owned(), true));
        assert_eq!(name_of("f", b"ID", &taken), ("f_ID".to_owned(), true));
        assert_eq!(name_of("f", b"\x00\x01", &taken), ("f_column".to_owned(), false));
        let taken = ["f_column".to_owned()];
        assert_eq!(name_of("f", b"1", &taken), ("f_column_2".to_owned(), false));
    }
}
