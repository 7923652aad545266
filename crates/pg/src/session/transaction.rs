//! Transaction of a session: accepted around reads, and never a promise.

use crate::error::{FAILED_TRANSACTION, NOT_SUPPORTED, PgError, Result};
use crate::wire::backend::TransactionState;

/// What becomes of writes between BEGIN and COMMIT.
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
    /// Setting `halite.transactions`.
    pub(super) writes: Writes,
}

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
        std::mem::take(&mut self.written)
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
    fn error_outside_of_a_transaction_fails_none() {
        let mut transaction = Transaction::default();
        transaction.fail();
        assert_eq!(transaction.state(), TransactionState::Idle);
    }
}
