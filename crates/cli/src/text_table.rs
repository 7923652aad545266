//! Human-readable tables: columns as wide as their longest entry, numbers right-aligned.

/// Rows of text under headings.
pub(crate) struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

struct Column {
    heading: &'static str,
    right: bool,
}

impl TextTable {
    /// Creates a table with these headings; a heading that starts with `>` right-aligns its column.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        let column = |heading: &&'static str| Column {
            heading: heading.trim_start_matches('>'),
            right: heading.starts_with('>'),
        };
        Self { columns: headings.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row, which must have one entry per heading.
    pub(crate) fn row(&mut self, entries: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(entries.into_iter().map(Into::into).collect());
    }

    /// Returns the heading line and one line per row, without trailing blanks.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let headings: Vec<String> =
            self.columns.iter().map(|column| column.heading.to_owned()).collect();
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        std::iter::once(&headings)
            .chain(&self.rows)
            .map(|row| self.line(row, &widths))
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn width(&self, at: usize) -> usize {
        let entries =
            self.rows.iter().filter_map(|row| row.get(at)).map(|entry| entry.chars().count());
        entries.max().unwrap_or(0).max(self.columns[at].heading.chars().count())
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((entry, width), column) in row.iter().zip(widths).zip(&self.columns) {
            let blanks = " ".repeat(width - entry.chars().count());
            let (before, after) =
                if column.right { (blanks.as_str(), "") } else { ("", blanks.as_str()) };
            line.extend([before, entry, after, "  "]);
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Formats a number with thousands separators.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a size in a suitable unit, with one decimal.
#[expect(clippy::cast_precision_loss, reason = "it is rounded to one decimal anyway")]
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut scaled = bytes as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_entry() {
        let mut table = TextTable::new(&["name", ">temp", "note"]);
        table.row(["JFK", "-1.1 \u{b0}C", "cold"]);
        table.row(["Newark", "30 \u{b0}C", ""]);
        assert_eq!(
            table.lines().collect::<Vec<_>>(),
            ["name       temp  note", "JFK     -1.1 \u{b0}C  cold", "Newark    30 \u{b0}C"]
        );
    }

    #[test]
    fn numbers_are_grouped_and_sizes_scaled() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [1023, 1024, 1_572_864, u64::MAX].map(size),
            ["1023 B", "1.0 KiB", "1.5 MiB", "16.0 EiB"]
        );
    }
}
