//! Tables as CSV (RFC 4180), safe to open in a spreadsheet.

use std::borrow::Cow;

/// Writes one line of cells.
pub(crate) fn write_line<'c>(out: &mut String, cells: impl IntoIterator<Item = Cow<'c, str>>) {
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_cell(out, &cell);
    }
    out.push_str("\r\n");
}

/// Writes a cell. Spreadsheets run what begins with `=`, `+`, `-` or `@`, some after a tab or an
/// end of line too, so an apostrophe comes before it.
fn write_cell(out: &mut String, cell: &str) {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let is_quoted = cell.contains([',', '"', '\r', '\n']) || is_formula;
    if is_quoted {
        out.push('"');
    }
    if is_formula {
        out.push('\'');
    }
    for part in cell.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    if is_quoted {
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_disarmed() {
        let mut out = String::new();
        let cells = ["a", "b,c", "say \"x\"", "=1+1", "@x", "-2", "+3", "\t=1", ""];
        write_line(&mut out, cells.into_iter().map(Cow::Borrowed));
        assert_eq!(
            out,
            "a,\"b,c\",\"say \"\"x\"\"\",\"'=1+1\",\"'@x\",\"'-2\",\"'+3\",\"'\t=1\",\r\n"
        );
    }
}
