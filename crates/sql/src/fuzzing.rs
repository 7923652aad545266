//! What reads texts before DataFusion does, for the fuzzer.

use crate::copy::{CopyFormat, CopyStatement, Lines};
use crate::parse::{
    Kind, byte_at, kind_of, rewritten, split_statements, tokens_of, without_values,
};

/// Columns that a header may name.
const COLUMNS: [&str; 3] = ["k", "v", "w"];

/// Reads a text as statements, up to the parser of queries.
pub fn read_statements(text: &str) {
    let mut end = 0;
    for statement in split_statements(text) {
        assert!(statement.start >= end && text[statement.start..].starts_with(statement.text));
        end = statement.start + statement.text.len();
        let _ = without_values(statement.text);
        match tokens_of(statement.text).and_then(kind_of) {
            Ok(Kind::Query(tokens)) => drop(rewritten(tokens)),
            Ok(Kind::Explain(explain)) => drop(rewritten(explain.of)),
            Ok(_) => {}
            Err(error) => {
                if let Some((line, column)) = error.position {
                    let at = byte_at(statement.text, (line, column));
                    assert!(at.is_none_or(|at| at <= statement.text.len()), "{error}");
                }
            }
        }
    }
}

/// Reads bytes as the lines of a COPY statement, in pieces. The first line of `bytes` is the
/// statement.
pub fn read_lines(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let Ok(text) = std::str::from_utf8(&bytes[..end]) else { return };
    let _ = CopyStatement::read_with_file(text);
    let Ok(statement) = CopyStatement::read(text) else { return };
    if statement.options.format == CopyFormat::Binary {
        return;
    }
    let mut lines = Lines::new(statement.options);
    let rest = bytes.get(end + 1..).unwrap_or_default();
    let (one, other) = rest.split_at(rest.len() / 3);
    for (piece, is_end) in [(one, false), (other, false), (&[][..], true)] {
        lines.push(piece);
        while let Ok(Some(fields)) = lines.next_of_rows(is_end, COLUMNS.into_iter()) {
            assert!(fields.line > 0);
        }
    }
}
