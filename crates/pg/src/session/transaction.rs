//! Transaction of a session: accepted around reads, and never a promise.

use crate::error::{
    FAILED_TRANSACTION, LIMIT_EXCEEDED, NO_SAVEPOINT, NO_TRANSACTION, NOT_SUPPORTED, PgError,
    Result,
};
use crate::wire::backend::TransactionState;

/// Treatment of writes between BEGIN and COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Writes {
    /// They are refused, as they could not be undone.
    #[default]
    Refuse,
    /// Each is final by itself.
    Statement,
}

/// Transaction of a session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    state: TransactionState,
    /// Statements since BEGIN that changed something.
    written: u64,
    /// Savepoints by name, with what had been written then.
    savepoints: Vec<(String, u64)>,
    /// Setting `halite.transactions`.
    pub(super) writes: Writes,
}

/// Savepoints of a transaction.
const MAX_SAVEPOINTS: usize = 1000;

impl Transaction {
    pub(super) fn state(&self) -> TransactionState {
        self.state
    }

    pub(super) fn is_open(&self) -> bool {
        self.state != TransactionState::Idle
    }

    /// Begins; returns `false` if one was open.
    pub(super) fn begin(&mut self) -> bool {
        let is_new = !self.is_open();
        if is_new {
            self.state = TransactionState::Open;
        }
        is_new
    }

    /// Remembers that a statement has failed.
    pub(super) fn fail(&mut self) {
        if self.is_open() {
            self.state = TransactionState::Failed;
        }
    }

    /// Ends; returns the statements that changed something.
    pub(super) fn end(&mut self) -> u64 {
        self.state = TransactionState::Idle;
        self.savepoints.clear();
        std::mem::take(&mut self.written)
    }

    /// Sets a savepoint: an error after it fails the transaction only up to it.
    ///
    /// # Errors
    /// No open transaction, or too many savepoints.
    pub(super) fn save(&mut self, name: &str) -> Result<()> {
        self.check_open("SAVEPOINT")?;
        if self.savepoints.len() >= MAX_SAVEPOINTS {
            let text = format!("{MAX_SAVEPOINTS} savepoints are set; RELEASE some");
            return Err(PgError::new(LIMIT_EXCEEDED, text));
        }
        self.savepoints.push((name.to_owned(), self.written));
        Ok(())
    }

    /// Forgets a savepoint and those after it.
    ///
    /// # Errors
    /// No such savepoint.
    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(())
    }

    /// Goes back to a savepoint; returns the statements after it that changed something.
    ///
    /// # Errors
    /// No such savepoint.
    pub(super) fn go_back(&mut self, name: &str) -> Result<u64> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        self.state = TransactionState::Open;
        Ok(self.written - self.savepoints[at].1)
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        self.check_open("a savepoint")?;
        let at = self.savepoints.iter().rposition(|(known, _)| known == name);
        at.ok_or_else(|| PgError::new(NO_SAVEPOINT, format!("there is no savepoint {name}")))
    }

    fn check_open(&self, what: &str) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        Err(PgError::new(NO_TRANSACTION, format!("{what} needs a BEGIN first")))
    }

    /// Checks that a statement may be run. `is_write` is `true` if it changes something.
    ///
    /// # Errors
    /// `25P02` after an error, `0A000` for a write that COMMIT and ROLLBACK would not decide.
    pub(super) fn check(&mut self, is_write: bool) -> Result<()> {
        if self.state == TransactionState::Failed {
            return Err(PgError::new(
                FAILED_TRANSACTION,
                "a statement of this transaction has failed; ROLLBACK ends it",
            ));
        }
        if !is_write || !self.is_open() {
            return Ok(());
        }
        if self.writes == Writes::Refuse {
            return Err(PgError::new(
                NOT_SUPPORTED,
                "a write between BEGIN and COMMIT is final at once, and could not be rolled back: \
                 use autocommit, or SET halite.transactions = 'statement' to have it so",
            ));
        }
        self.written += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_refused_or_counted() {
        let mut transaction = Transaction::default();
        assert_eq!(transaction.check(true), Ok(()));
        assert!(transaction.begin() && !transaction.begin());
        assert_eq!(transaction.check(false), Ok(()));
        assert_eq!(transaction.check(true).unwrap_err().code, NOT_SUPPORTED);
        transaction.writes = Writes::Statement;
        assert_eq!(transaction.check(true), Ok(()));
        transaction.fail();
        assert_eq!(transaction.check(false).unwrap_err().code, FAILED_TRANSACTION);
        assert_eq!(transaction.end(), 1);
        assert_eq!((transaction.state(), transaction.end()), (TransactionState::Idle, 0));
    }

    #[test]
    fn savepoint_is_where_an_error_ends() {
        let mut transaction = Transaction { writes: Writes::Statement, ..Transaction::default() };
        assert_eq!(transaction.save("a").unwrap_err().code, NO_TRANSACTION);
        transaction.begin();
        transaction.save("a").unwrap();
        transaction.check(true).unwrap();
        transaction.save("b").unwrap();
        transaction.fail();
        assert_eq!(transaction.go_back("c").unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(transaction.go_back("b"), Ok(0));
        assert_eq!(transaction.check(false), Ok(()));
        assert_eq!(transaction.go_back("a"), Ok(1));
        assert_eq!(transaction.release("b").unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(transaction.release("a"), Ok(()));
        assert_eq!(transaction.end(), 1);
    }

    #[test]
    fn error_outside_of_a_transaction_fails_none() {
        let mut transaction = Transaction::default();
        transaction.fail();
        assert_eq!(transaction.state(), TransactionState::Idle);
    }
}
