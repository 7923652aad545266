//! Transaction of a session: accepted around reads, and never a promise. `halite-sql` refuses what
//! changes something in it.

use crate::error::{
    FAILED_TRANSACTION, LIMIT_EXCEEDED, NO_SAVEPOINT, NO_TRANSACTION, PgError, Result,
};
use crate::wire::backend::TransactionState;

/// Transaction of a session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    state: TransactionState,
    /// Savepoints by name, with the changes before them.
    savepoints: Vec<(String, u64)>,
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

    pub(super) fn end(&mut self) {
        self.state = TransactionState::Idle;
        self.savepoints.clear();
    }

    /// Sets a savepoint after a number of changes: an error after it fails the transaction only
    /// up to it.
    ///
    /// # Errors
    /// No open transaction, or too many savepoints.
    pub(super) fn save(&mut self, name: &str, changes: u64) -> Result<()> {
        self.check_open("SAVEPOINT")?;
        if self.savepoints.len() >= MAX_SAVEPOINTS {
            let text = format!("{MAX_SAVEPOINTS} savepoints are set; RELEASE some");
            return Err(PgError::new(LIMIT_EXCEEDED, text));
        }
        self.savepoints.push((name.to_owned(), changes));
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

    /// Goes back to a savepoint; returns the changes before it.
    ///
    /// # Errors
    /// No such savepoint.
    pub(super) fn go_back(&mut self, name: &str) -> Result<u64> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        self.state = TransactionState::Open;
        Ok(self.savepoints[at].1)
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

    /// Checks that a statement may be run.
    ///
    /// # Errors
    /// `25P02` after an error.
    pub(super) fn check(&self) -> Result<()> {
        if self.state == TransactionState::Failed {
            return Err(PgError::new(
                FAILED_TRANSACTION,
                "a statement of this transaction has failed; ROLLBACK ends it",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_fails_the_transaction_to_its_end() {
        let mut transaction = Transaction::default();
        assert!(transaction.begin() && !transaction.begin());
        assert_eq!(transaction.check(), Ok(()));
        transaction.fail();
        assert_eq!(transaction.check().unwrap_err().code, FAILED_TRANSACTION);
        transaction.end();
        assert_eq!((transaction.state(), transaction.check()), (TransactionState::Idle, Ok(())));
    }

    #[test]
    fn savepoint_is_where_an_error_ends() {
        let mut transaction = Transaction::default();
        assert_eq!(transaction.save("a", 0).unwrap_err().code, NO_TRANSACTION);
        transaction.begin();
        transaction.save("a", 0).unwrap();
        transaction.save("b", 1).unwrap();
        transaction.fail();
        assert_eq!(transaction.go_back("c").unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(transaction.go_back("b"), Ok(1));
        assert_eq!(transaction.check(), Ok(()));
        assert_eq!(transaction.go_back("a"), Ok(0));
        assert_eq!(transaction.release("b").unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(transaction.release("a"), Ok(()));
    }

    #[test]
    fn error_outside_of_a_transaction_fails_none() {
        let mut transaction = Transaction::default();
        transaction.fail();
        assert_eq!(transaction.state(), TransactionState::Idle);
    }
}
