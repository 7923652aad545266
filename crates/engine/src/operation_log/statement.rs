//! Kind, families, columns and filter of a call as text: equal for all calls of one place of a
//! program, without the rows and values of a single call.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use halite_heat::operations::CallKind;
use halite_types::{CellRef, Selection};

/// Columns of a family that are named; more are counted.
const MAX_COLUMNS: usize = 4;
/// Longest column that is named.
const MAX_COLUMN_BYTES: usize = 24;
/// Cells of a write that are examined.
const MAX_CELLS: usize = 64;

/// Returns the statement of a get or scan, as `get f:name,age filter Prefix`.
pub(crate) fn of_selection(kind: CallKind, selection: &Selection) -> Arc<str> {
    let mut text = kind.name().to_owned();
    for (family, columns) in &selection.columns {
        push_family(&mut text, family);
        match columns {
            None => {}
            Some(columns) => push_columns(&mut text, columns.iter().map(|column| &column[..])),
        }
    }
    if let Some(filter) = &selection.filter {
        let mut name = FirstWord::default();
        // It ends the text after the name, which is no error.
        let _ = write!(name, "{filter:?}");
        text.push_str(" filter ");
        text.push_str(&name.0);
    }
    text.into()
}

/// Returns the statement of a write of these cells of one family, as `put f:name,age`.
pub(crate) fn of_cells<'c>(kind: CallKind, cells: impl Iterator<Item = CellRef<'c>>) -> Arc<str> {
    let mut text = kind.name().to_owned();
    let mut family: Option<&[u8]> = None;
    let mut columns: Vec<&[u8]> = Vec::new();
    for cell in cells.take(MAX_CELLS) {
        let first = *family.get_or_insert_with(|| cell.family());
        if cell.family() == first && !columns.contains(&cell.qualifier()) {
            columns.push(cell.qualifier());
        }
    }
    push_family(&mut text, family.unwrap_or_default());
    push_columns(&mut text, columns.into_iter());
    text.into()
}

fn push_family(text: &mut String, family: &[u8]) {
    text.push(' ');
    text.push_str(&halite_types::key::to_string_binary(family));
}

/// Adds columns. Names that look like data rather than like names are left out, since each call
/// would have others.
fn push_columns<'c>(text: &mut String, columns: impl Iterator<Item = &'c [u8]>) {
    let is_name = |column: &&[u8]| {
        column.len() <= MAX_COLUMN_BYTES
            && column.first().is_none_or(u8::is_ascii_alphabetic)
            && column.iter().all(u8::is_ascii_graphic)
    };
    let (mut names, mut others) = (Vec::new(), false);
    for column in columns {
        if is_name(&column) && names.len() < MAX_COLUMNS {
            names.push(String::from_utf8_lossy(column));
        } else {
            others = true;
        }
    }
    if others {
        names.push("*".into());
    }
    // The marker of a whole family has an empty qualifier.
    if names.iter().any(|name| !name.is_empty()) {
        text.push(':');
        text.push_str(&names.join(","));
    }
}

/// Text up to the first character that is not part of a word.
#[derive(Default)]
struct FirstWord(String);

impl fmt::Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|letter: char| !letter.is_alphanumeric());
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        end.map_or(Ok(()), |_| Err(fmt::Error))
    }
}

#[cfg(test)]
mod tests {
    use halite_types::{Filter, Get, Put};

    use super::*;

    fn of_put(columns: &[&str]) -> String {
        let put = columns.iter().fold(Put::new("r"), |put, column| put.add("f", *column, "v"));
        of_cells(CallKind::Put, put.mutation().cells().iter()).to_string()
    }

    #[test]
    fn statement_of_write_names_columns() {
        assert_eq!(of_put(&["name", "age"]), "put f:name,age");
        assert_eq!(of_put(&["name", "2024-03-15", "1710"]), "put f:name,*", "data is no name");
        assert_eq!(of_put(&["a", "b", "c", "d", "e", "g"]), "put f:a,b,c,d,*");
    }

    #[test]
    fn statement_of_read_names_filter_class() {
        let get = Get::new("r").column("f", "q").filter(Filter::Prefix("secret".into()));
        assert_eq!(&*of_selection(CallKind::Get, &get.selection), "get f:q filter Prefix");
        assert_eq!(&*of_selection(CallKind::Scan, &Get::new("r").selection), "scan");
    }
}
