//! Statement: the session's own, or one of SQL, prepared.

use halite_sql::datafusion::arrow::datatypes::{DataType, FieldRef};
use halite_sql::datafusion::logical_expr::Expr;
use halite_sql::{Prepared, SqlContext, split_statements};

use super::command::{self, Command};
use super::labels::{fields_of, labelled};
use crate::error::{PgError, Result, SYNTAX};
use crate::values::types::{self, Oid};

/// Statement that was parsed.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) work: Work,
    /// Numbers of the types of its parameters, as the client sends them.
    pub(super) parameters: Vec<Oid>,
    /// Text, for the places of errors.
    pub(super) text: String,
}

/// What a statement does.
#[derive(Debug)]
pub(super) enum Work {
    /// Nothing: the text has no words.
    Empty,
    /// The session's own.
    Command(Command),
    /// A cursor over a statement of SQL.
    Cursor {
        /// Name of the cursor.
        name: String,
        /// `true` to stay open after the transaction.
        is_held: bool,
        /// The statement.
        prepared: Prepared,
    },
    /// Statement of SQL.
    Sql(Prepared),
}

impl Statement {
    /// Reads a statement. `known` are types of its first parameters, 0 where the client does not
    /// know.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) async fn new(sql: &SqlContext, text: String, known: &[Oid]) -> Result<Self> {
        if split_statements(&text).len() > 1 {
            return Err(PgError::new(SYNTAX, "only one statement can be prepared at a time"));
        }
        let work = match command::read(&text)? {
            None if split_statements(&text).is_empty() => Work::Empty,
            None => Work::Sql(prepare(sql, &text, known).await?),
            Some(Command::Declare { name, is_held, query }) => {
                let prepared = prepare(sql, &query, known).await?;
                Work::Cursor { name, is_held, prepared }
            }
            Some(command) => Work::Command(command),
        };
        let parameters = match &work {
            Work::Sql(prepared) | Work::Cursor { prepared, .. } => {
                numbers(prepared.parameters(), known)
            }
            Work::Empty | Work::Command(_) => Vec::new(),
        };
        Ok(Self { work, parameters, text })
    }

    /// Returns about how many bytes it has: texts, parameters, columns, and the plan that is kept.
    pub(super) fn bytes(&self) -> usize {
        /// Bytes of the description of a parameter or a column.
        const FIELD_BYTES: usize = 256;
        /// Bytes of a value in a plan, in a list that has grown.
        const VALUE_BYTES: usize = 2 * size_of::<Expr>();
        let fields = self
            .prepared()
            .map_or(0, |prepared| prepared.parameters().len() + prepared.schema().fields().len());
        let values = if self.prepared().is_some() { words(&self.text) } else { 0 };
        2 * self.text.len() + FIELD_BYTES * fields + VALUE_BYTES * values
    }

    /// Returns the prepared statement of SQL.
    pub(super) fn prepared(&self) -> Option<&Prepared> {
        match &self.work {
            Work::Sql(prepared) | Work::Cursor { prepared, .. } => Some(prepared),
            Work::Empty | Work::Command(_) => None,
        }
    }

    /// Returns the columns of the rows of a statement of SQL.
    pub(super) fn fields(&self) -> Vec<FieldRef> {
        match &self.work {
            Work::Sql(prepared) => labelled(fields_of(prepared.schema()), &self.text),
            _ => Vec::new(),
        }
    }
}

async fn prepare(sql: &SqlContext, text: &str, known: &[Oid]) -> Result<Prepared> {
    let known: Vec<Option<DataType>> = known.iter().map(|oid| types::arrow_of(*oid)).collect();
    Ok(sql.prepare_typed(text, &known).await?)
}

/// Returns the types as which parameters come: those of the client, else those of the statement.
fn numbers(parameters: &[FieldRef], known: &[Oid]) -> Vec<Oid> {
    let number = |(at, field): (usize, &FieldRef)| match known.get(at) {
        None | Some(0 | &types::UNKNOWN) => types::oid_of(field),
        Some(given) => *given,
    };
    parameters.iter().enumerate().map(number).collect()
}

/// Returns about how many words, numbers and quoted texts a statement has, which are not less than
/// its values.
fn words(text: &str) -> usize {
    let (mut found, mut bytes, mut is_within) = (0, text.bytes(), false);
    while let Some(byte) = bytes.next() {
        let is_quote = matches!(byte, b'\'' | b'"');
        let is_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | 0x80..);
        found += usize::from(is_quote || is_word && !is_within);
        is_within = is_word;
        if is_quote {
            // A doubled quote within begins another one.
            let _ = bytes.by_ref().find(|other| *other == byte);
        }
    }
    found
}

/// Returns the first word of the tag of a statement of SQL with rows.
pub(super) fn verb(text: &str) -> &'static str {
    match command::first_word(text).as_str() {
        "EXPLAIN" => "EXPLAIN",
        "SHOW" | "DESCRIBE" | "DESC" => "SHOW",
        _ => "SELECT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_outside_of_quotes() {
        for (text, expected) in [
            ("", 0),
            ("SELECT a_1, 1.5e3, $1 FROM t", 6),
            ("VALUES (1,2,-3)", 4),
            ("SELECT 'a b, c', \"x y\"", 3),
            ("SELECT 'a b", 2),
            ("IN(1)", 2),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
