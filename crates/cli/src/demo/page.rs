//! Demo output: headings, notes and tables, at most 100 columns wide.

use std::io::{self, IsTerminal as _, Write};

use crate::text_table::TextTable;

/// Maximum line length in columns.
const COLUMNS: usize = 100;

/// Formatted output of the demo.
pub(crate) struct Page<W> {
    out: W,
    /// Enables bold and dim text.
    styled: bool,
}

impl Page<io::StdoutLock<'static>> {
    /// Returns a page on standard output, styled if that is a terminal and `NO_COLOR` is not set.
    pub(crate) fn stdout() -> Self {
        let styled = io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { out: io::stdout().lock(), styled }
    }
}

impl<W: Write> Page<W> {
    /// Writes a heading after an empty line.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        if self.styled {
            writeln!(self.out, "\n\x1b[1m{text}\x1b[0m")
        } else {
            writeln!(self.out, "\n{text}")
        }
    }

    /// Writes a labeled paragraph, wrapped at blanks; further lines are indented to the text.
    pub(crate) fn note(&mut self, label: &str, text: &str) -> io::Result<()> {
        let mut line = format!("  {label:<10}");
        let indent = line.chars().count();
        for word in text.split(' ') {
            let used = line.chars().count();
            if used + 1 + word.chars().count() > COLUMNS && used > indent {
                self.dim(&line)?;
                line = " ".repeat(indent);
            } else if used > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.dim(&line)
    }

    /// Writes a table after an empty line.
    pub(crate) fn table(&mut self, table: &TextTable) -> io::Result<()> {
        writeln!(self.out)?;
        for (number, line) in table.lines().enumerate() {
            if self.styled && number == 0 {
                writeln!(self.out, "  \x1b[4m{line}\x1b[0m")?;
            } else {
                writeln!(self.out, "  {line}")?;
            }
        }
        self.out.flush()
    }

    /// Writes an empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    fn dim(&mut self, line: &str) -> io::Result<()> {
        if self.styled {
            writeln!(self.out, "\x1b[2m{line}\x1b[0m")
        } else {
            writeln!(self.out, "{line}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_wrap_at_spaces_before_column_100() {
        let mut page = Page { out: Vec::new(), styled: false };
        page.note("read", &"word ".repeat(40)).unwrap();
        let text = String::from_utf8(page.out).unwrap();
        assert!(
            text.lines().count() > 1
                && text
                    .lines()
                    .all(|line| line.len() <= COLUMNS && line[..12].trim_end().len() <= 6),
            "{text}"
        );
        assert_eq!(text.matches("word").count(), 40);
    }
}
