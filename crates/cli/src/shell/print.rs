//! Output of tables, cells and times in the HBase shell's format.

use halite_types::calendar::civil_date;
use halite_types::cell::CellRef;
use halite_types::key::to_string_binary;

use super::convert::Converter;
use super::session::{EvalResult, Session};

impl Session<'_> {
    /// Prints the heading of a table of one or two columns.
    pub(crate) fn header(&mut self, titles: &[&str]) -> EvalResult<()> {
        match titles {
            [left, right] => self.columns("", left, "  ", right),
            _ => self.wrapped(&titles.join("  ")),
        }
    }

    /// Prints a line of a table of one column.
    pub(crate) fn row(&mut self, text: &str) -> EvalResult<()> {
        self.wrapped(text)
    }

    /// Prints a line of a table of two columns.
    pub(crate) fn row_pair(&mut self, left: &str, right: &str) -> EvalResult<()> {
        self.columns(" ", left, " ", right)
    }

    /// Prints the number of rows.
    pub(crate) fn footer(&mut self, rows: u64) -> EvalResult<()> {
        self.print_line(format!("{rows} row(s)"))
    }

    fn wrapped(&mut self, text: &str) -> EvalResult<()> {
        let width = self.width;
        chunks(text, width).into_iter().try_for_each(|piece| self.print_line(piece))
    }

    /// Prints two columns. On a terminal the left column takes a quarter of the width and both
    /// wrap; elsewhere nothing is padded.
    fn columns(&mut self, inset: &str, left: &str, gap: &str, right: &str) -> EvalResult<()> {
        let Some(width) = self.width else {
            return self.print_line(format!("{inset}{left}{gap}{right}"));
        };
        let left_width = width / 4;
        let (left, right) = (
            chunks(left, Some(left_width)),
            chunks(right, Some(width.saturating_sub(left_width + 2))),
        );
        for line in 0..left.len().max(right.len()) {
            let (left, right) = (
                left.get(line).map_or("", String::as_str),
                right.get(line).map_or("", String::as_str),
            );
            let text = format!("{inset}{left:left_width$}{gap}{right}");
            self.print_line(text.trim_end())?;
        }
        Ok(())
    }
}

/// Splits `text` into chunks of at most `width` characters. Without a width, returns one chunk,
/// which may be empty.
fn chunks(text: &str, width: Option<usize>) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    match width {
        Some(width) if width > 0 && characters.len() > width => {
            characters.chunks(width).map(|chunk| chunk.iter().collect()).collect()
        }
        _ => vec![text.to_owned()],
    }
}

/// Formats `timestamp=..., value=...`, or `type=...` for a delete marker.
pub(crate) fn cell(
    session: &Session<'_>,
    cell: &CellRef<'_>,
    converter: Converter,
    max_length: Option<usize>,
) -> EvalResult<String> {
    let value = if cell.is_delete() {
        String::new()
    } else {
        converter
            .format(cell.value())
            .map_err(|problem| problem.to_interrupt(&column_name(cell)))?
    };
    Ok(time_and_value(session, cell, &value, max_length))
}

/// As [`cell`], with a value that is formatted already.
pub(crate) fn time_and_value(
    session: &Session<'_>,
    cell: &CellRef<'_>,
    value: &str,
    max_length: Option<usize>,
) -> String {
    let time = time(session, cell.timestamp());
    let text = match cell.cell_type() {
        Some(kind) if kind.is_delete() => format!("timestamp={time}, type={}", kind.name()),
        _ => format!("timestamp={time}, value={value}"),
    };
    match max_length {
        Some(length) => text.chars().take(length).collect(),
        None => text,
    }
}

/// Formats `family:qualifier` with escapes.
pub(crate) fn column_name(cell: &CellRef<'_>) -> String {
    format!("{}:{}", to_string_binary(cell.family()), to_string_binary(cell.qualifier()))
}

/// Formats a timestamp as Java's `LocalDateTime` does: `1970-01-01T00:00:00.005`, without seconds
/// if they are zero.
pub(crate) fn time(session: &Session<'_>, milliseconds: i64) -> String {
    let offset = jiff::Timestamp::from_millisecond(milliseconds)
        .map_or(0, |instant| i64::from(session.zone.to_offset(instant).seconds()));
    let local = i128::from(milliseconds) + i128::from(offset) * 1000;
    let (days, in_day) = (local.div_euclid(86_400_000), local.rem_euclid(86_400_000));
    let (year, month, day) = civil_date(days);
    let (hour, minute, second, fraction) =
        (in_day / 3_600_000, in_day / 60_000 % 60, in_day / 1000 % 60, in_day % 1000);
    let year =
        if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+05}") };
    let date = format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}");
    match (second, fraction) {
        (0, 0) => date,
        (_, 0) => format!("{date}:{second:02}"),
        _ => format!("{date}:{second:02}.{fraction:03}"),
    }
}

/// Formats a time as Ruby's `Time#to_s` does, in seconds with the zone:
/// `2024-03-15 00:00:00 +0000`.
pub(crate) fn zoned_time(session: &Session<'_>, milliseconds: i64) -> String {
    match jiff::Timestamp::from_second(milliseconds.div_euclid(1000)) {
        Ok(instant) => {
            instant.to_zoned(session.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %z").to_string()
        }
        Err(_) => milliseconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_store::session;
    use super::*;

    #[test]
    fn times_print_as_java_prints_local_times() {
        let mut out = Vec::new();
        let mut session = session(&mut out);
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00"),
            (5, "1970-01-01T00:00:00.005"),
            (61_000, "1970-01-01T00:01:01"),
            (1_710_460_800_123, "2024-03-15T00:00:00.123"),
            (951_782_400_000, "2000-02-29T00:00"),
            (-1, "1969-12-31T23:59:59.999"),
            (i64::MAX, "+292278994-08-17T07:12:55.807"),
        ] {
            assert_eq!(time(&session, milliseconds), text);
        }
        assert_eq!(zoned_time(&session, 1_710_460_800_999), "2024-03-15 00:00:00 +0000");
        session.zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(time(&session, 0), "1970-01-01T08:00");
        assert_eq!(zoned_time(&session, -1), "1970-01-01 07:59:59 +0800");
    }

    #[test]
    fn columns_are_aligned_only_on_terminal() {
        let print = |width| {
            let mut out = Vec::new();
            let mut session = session(&mut out);
            session.width = width;
            session.header(&["ROW", "COLUMN+CELL"]).unwrap();
            session.row_pair("row-key-1", "column=f:a, value=1").unwrap();
            drop(session);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(print(None), "ROW  COLUMN+CELL\n row-key-1 column=f:a, value=1\n");
        assert_eq!(print(Some(24)), "ROW     COLUMN+CELL\n row-ke column=f:a, valu\n y-1    e=1\n");
    }
}
