//! BEGIN, COMMIT, ROLLBACK and the modes of transactions: everything behind the first word is read,
//! since a word that is passed over would be a promise that is not held.

use crate::error::{Result, SqlError, SqlState};

/// Statement that begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// READ ONLY or READ WRITE, if given.
        read_only: Option<bool>,
    },
    /// COMMIT, END.
    Commit,
    /// ROLLBACK, ABORT.
    Rollback,
}

impl TransactionStatement {
    /// Reads a statement from its words and signs, words in upper case; `None` for any other one,
    /// ROLLBACK TO among them.
    ///
    /// # Errors
    /// `NotSupported` for what cannot be promised, `Syntax` for words that have no meaning.
    pub fn read(words: &[&str]) -> Result<Option<Self>> {
        let (statement, rest) = match words {
            ["START", "TRANSACTION", rest @ ..] => {
                return Ok(Some(Self::Begin { read_only: transaction_modes(rest)? }));
            }
            ["BEGIN", rest @ ..] => {
                let read_only = transaction_modes(behind_noise(rest))?;
                return Ok(Some(Self::Begin { read_only }));
            }
            ["COMMIT" | "ROLLBACK", "PREPARED", ..] => {
                return Err(SqlError::unsupported(
                    "there are no transactions in two phases; writes are final at once",
                ));
            }
            ["COMMIT" | "END", rest @ ..] => (Self::Commit, rest),
            ["ROLLBACK" | "ABORT", rest @ ..] => (Self::Rollback, rest),
            _ => return Ok(None),
        };
        match behind_noise(rest) {
            [] | ["AND", "NO", "CHAIN"] => Ok(Some(statement)),
            ["AND", "CHAIN"] => Err(SqlError::unsupported(
                "AND CHAIN is not part of this dialect: leave it out, and BEGIN again",
            )),
            ["TO", ..] if statement == Self::Rollback => Ok(None),
            [other, ..] => Err(SqlError::new(
                SqlState::Syntax,
                format!("{other} has no meaning behind COMMIT or ROLLBACK; leave it out"),
            )),
        }
    }

    /// Returns the tag of the statement.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Begin { .. } => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

/// Reads the modes of a transaction from words in upper case, and returns whether it only reads, if
/// they say so.
///
/// # Errors
/// `NotSupported` for isolation levels above READ COMMITTED, `Syntax` for other words.
pub fn transaction_modes(words: &[&str]) -> Result<Option<bool>> {
    let (mut read_only, mut rest) = (None, words);
    loop {
        rest = match rest {
            [] => return Ok(read_only),
            ["ISOLATION", "LEVEL", "SERIALIZABLE" | "REPEATABLE", ..] => {
                return Err(SqlError::unsupported(
                    "a statement sees what is there when it runs, and no snapshot spans several: \
                     READ COMMITTED is the highest isolation level",
                ));
            }
            ["READ", mode @ ("ONLY" | "WRITE"), rest @ ..] => {
                read_only = Some(*mode == "ONLY");
                rest
            }
            ["ISOLATION", "LEVEL", "READ", "COMMITTED" | "UNCOMMITTED", rest @ ..]
            | ["NOT", "DEFERRABLE", rest @ ..]
            | ["DEFERRABLE", rest @ ..] => rest,
            [",", rest @ ..] if !rest.is_empty() && rest.len() + 1 < words.len() => rest,
            [other, ..] => {
                return Err(SqlError::new(
                    SqlState::Syntax,
                    format!("{other} is no mode of a transaction: READ ONLY, READ WRITE"),
                ));
            }
        };
    }
}

fn behind_noise<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        ["WORK" | "TRANSACTION", rest @ ..] => rest,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<TransactionStatement>> {
        let words: Vec<&str> = text.split(' ').collect();
        TransactionStatement::read(&words)
    }

    #[test]
    fn modes_are_read() {
        let begin = |read_only| Ok(Some(TransactionStatement::Begin { read_only }));
        for (text, expected) in [
            ("BEGIN", None),
            ("BEGIN WORK", None),
            ("START TRANSACTION READ ONLY", Some(true)),
            ("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY NOT DEFERRABLE", Some(true)),
            ("BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED , READ WRITE", Some(false)),
        ] {
            assert_eq!(read(text), begin(expected), "{text}");
        }
    }

    #[test]
    fn words_without_a_meaning_are_refused() {
        let commit = Ok(Some(TransactionStatement::Commit));
        assert_eq!(read("COMMIT"), commit);
        assert_eq!(read("END WORK AND NO CHAIN"), commit);
        assert_eq!(read("ABORT"), Ok(Some(TransactionStatement::Rollback)));
        for text in ["SELECT 1", "ROLLBACK TO A", "ROLLBACK WORK TO SAVEPOINT A", "START x"] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
        let state = |text| read(text).unwrap_err().state;
        for text in ["COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "COMMIT PREPARED x"] {
            assert_eq!(state(text), SqlState::NotSupported, "{text}");
        }
        assert_eq!(state("BEGIN ISOLATION LEVEL REPEATABLE READ"), SqlState::NotSupported);
        for text in ["COMMIT x", "COMMIT TO a", "BEGIN x", "BEGIN READ", "BEGIN READ ONLY ,"] {
            assert_eq!(state(text), SqlState::Syntax, "{text}");
        }
    }
}
