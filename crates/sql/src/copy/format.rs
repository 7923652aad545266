//! Fields to text and CSV.

use super::statement::{CopyFormat, CopyOptions};

impl CopyOptions {
    /// Writes a row of a form other than binary, with the end of its line.
    pub fn write_row<'f>(
        &self,
        fields: impl Iterator<Item = Option<&'f str>>,
        out: &mut impl Extend<u8>,
    ) {
        for (at, field) in fields.enumerate() {
            if at > 0 {
                out.extend([self.delimiter]);
            }
            match field {
                None => out.extend(self.null.bytes()),
                Some(text) if self.format == CopyFormat::Csv => self.write_csv(text, out),
                Some(text) => self.write_text(text, out),
            }
        }
        out.extend(*b"\n");
    }

    fn write_text(&self, text: &str, out: &mut impl Extend<u8>) {
        let mut bytes = text.bytes();
        // Readers tell NULL by its bytes before the escapes.
        if text == self.null
            && let Some(first) = bytes.next()
        {
            out.extend(format!("\\{first:03o}").bytes());
        }
        for byte in bytes {
            match byte {
                b'\\' => out.extend(*b"\\\\"),
                b'\n' => out.extend(*b"\\n"),
                b'\r' => out.extend(*b"\\r"),
                b'\t' => out.extend(*b"\\t"),
                8 => out.extend(*b"\\b"),
                11 => out.extend(*b"\\v"),
                12 => out.extend(*b"\\f"),
                byte if byte == self.delimiter => out.extend([b'\\', byte]),
                byte => out.extend([byte]),
            }
        }
    }

    fn write_csv(&self, text: &str, out: &mut impl Extend<u8>) {
        let (quote, delimiter) = (self.quote, self.delimiter);
        let is_special = |byte| byte == quote || byte == delimiter || matches!(byte, b'\n' | b'\r');
        // The mark of the end is no row, and NULL is not text.
        let is_quoted = text == self.null || text == "\\." || text.bytes().any(is_special);
        if !is_quoted {
            out.extend(text.bytes());
            return;
        }
        out.extend([quote]);
        for byte in text.bytes() {
            if byte == quote || byte == self.escape {
                out.extend([self.escape]);
            }
            out.extend([byte]);
        }
        out.extend([quote]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::super::statement::CopyStatement;

    #[test]
    fn written_rows_are_read_again() {
        let rows = [
            vec![Some("a\tb\\n"), None, Some("")],
            vec![Some("\\."), Some("\"x\", 'y'; ~\r\n"), Some("\\N")],
            vec![Some("\u{1f600}\u{b}\u{c}\u{8}"), Some("n"), None],
        ];
        for option in [
            "",
            "(DELIMITER ';', NULL 'n')",
            "csv",
            "csv delimiter ';' quote '''' escape '~' null 'n'",
        ] {
            let statement = CopyStatement::read(&format!("COPY t FROM STDIN {option}"));
            let options = statement.unwrap().options;
            let mut bytes = Vec::new();
            rows.iter().for_each(|row| options.write_row(row.iter().copied(), &mut bytes));
            let mut lines = Lines::new(options);
            lines.push(&bytes);
            for row in &rows {
                let read = lines.next_of_rows(true, std::iter::empty()).unwrap().unwrap();
                let read: Vec<_> = read.fields.iter().map(Option::as_deref).collect();
                assert_eq!(read, *row, "{option}");
            }
            assert_eq!(lines.next_of_rows(true, std::iter::empty()), Ok(None));
        }
    }
}
