//! Transaction of a session: accepted around reads, and never a promise. `halite-sql` refuses what
//! changes something in it.

use super::saved::Saved;
use crate::error::{
    FAILED_TRANSACTION, LIMIT_EXCEEDED, NO_SAVEPOINT, NO_TRANSACTION, PgError, Result,
};
use crate::wire::backend::TransactionState;

/// Transaction of a session.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    state: TransactionState,
    /// Settings before it, and those after its COMMIT: without those that are LOCAL.
    settings: Option<(Saved, Saved)>,
    savepoints: Vec<Savepoint>,
}

#[derive(Debug)]
struct Savepoint {
    name: String,
    /// Changes before it.
    changes: u64,
    /// Settings as they are, and as they would be after COMMIT.
    settings: (Saved, Saved),
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

    /// Begins, with the settings of the session.
    pub(super) fn begin(&mut self, now: Saved) {
        self.state = TransactionState::Open;
        self.settings = Some((now.clone(), now));
    }

    /// Remembers that a setting stays after COMMIT as it is now.
    pub(super) fn keep(&mut self, name: &str, now: &Saved) {
        if let Some((_, after)) = &mut self.settings {
            after.take_over(name, now);
        }
    }

    /// Remembers that all settings stay after COMMIT as they are now.
    pub(super) fn keep_all(&mut self, now: Saved) {
        if let Some((_, after)) = &mut self.settings {
            *after = now;
        }
    }

    /// Remembers that a statement has failed.
    pub(super) fn fail(&mut self) {
        if self.is_open() {
            self.state = TransactionState::Failed;
        }
    }

    /// Ends, and returns the settings from then on; `None` if none was open.
    pub(super) fn end(&mut self, is_commit: bool) -> Option<Saved> {
        self.state = TransactionState::Idle;
        self.savepoints.clear();
        self.settings.take().map(|(before, after)| if is_commit { after } else { before })
    }

    /// Sets a savepoint after a number of changes: an error after it fails the transaction only up
    /// to it.
    ///
    /// # Errors
    /// No open transaction, or too many savepoints.
    pub(super) fn save(&mut self, name: &str, changes: u64, now: Saved) -> Result<()> {
        self.check_open("SAVEPOINT")?;
        if self.savepoints.len() >= MAX_SAVEPOINTS {
            let text = format!("{MAX_SAVEPOINTS} savepoints are set; RELEASE some");
            return Err(PgError::new(LIMIT_EXCEEDED, text));
        }
        let after = self.settings.as_ref().map_or_else(|| now.clone(), |(_, after)| after.clone());
        self.savepoints.push(Savepoint { name: name.to_owned(), changes, settings: (now, after) });
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

    /// Goes back to a savepoint; returns the changes before it, and the settings at it.
    ///
    /// # Errors
    /// No such savepoint.
    pub(super) fn go_back(&mut self, name: &str) -> Result<(u64, Saved)> {
        let at = self.savepoint(name)?;
        self.savepoints.truncate(at + 1);
        self.state = TransactionState::Open;
        let (now, after) = self.savepoints[at].settings.clone();
        self.keep_all(after);
        Ok((self.savepoints[at].changes, now))
    }

    fn savepoint(&self, name: &str) -> Result<usize> {
        self.check_open("a savepoint")?;
        let at = self.savepoints.iter().rposition(|known| known.name == name);
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
    use halite_sql::Settings as SqlSettings;

    use super::super::settings::Settings;
    use super::*;
    use crate::wire::Backend;

    /// Settings with a name of the application, and a guard of SQL.
    fn settings(application: &str, max_rows_examined: u64) -> Saved {
        let mut own = Settings::new("ann");
        own.set("application_name", Some(application), &mut Backend::default()).unwrap();
        let sql = SqlSettings { max_rows_examined, ..SqlSettings::default() };
        Saved { own, sql, is_read_only: false }
    }

    fn shown(saved: &Saved) -> (&str, u64) {
        (saved.own.get("application_name").unwrap(), saved.sql.max_rows_examined)
    }

    #[test]
    fn error_fails_the_transaction_to_its_end() {
        let mut transaction = Transaction::default();
        transaction.begin(settings("", 0));
        assert_eq!(transaction.check(), Ok(()));
        transaction.fail();
        assert_eq!(transaction.check().unwrap_err().code, FAILED_TRANSACTION);
        transaction.end(false);
        assert_eq!((transaction.state(), transaction.check()), (TransactionState::Idle, Ok(())));
    }

    #[test]
    fn savepoint_is_where_an_error_ends() {
        let mut transaction = Transaction::default();
        let now = || settings("", 0);
        let changes = |gone_back: Result<(u64, Saved)>| gone_back.map(|(changes, _)| changes);
        assert_eq!(transaction.save("a", 0, now()).unwrap_err().code, NO_TRANSACTION);
        transaction.begin(now());
        transaction.save("a", 0, now()).unwrap();
        transaction.save("b", 1, now()).unwrap();
        transaction.fail();
        assert_eq!(changes(transaction.go_back("c")).unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(changes(transaction.go_back("b")), Ok(1));
        assert_eq!(transaction.check(), Ok(()));
        assert_eq!(changes(transaction.go_back("a")), Ok(0));
        assert_eq!(transaction.release("b").unwrap_err().code, NO_SAVEPOINT);
        assert_eq!(transaction.release("a"), Ok(()));
    }

    #[test]
    fn settings_are_those_before_or_those_that_were_not_local() {
        let mut transaction = Transaction::default();
        assert!(transaction.end(true).is_none());
        for (is_commit, expected) in [(true, ("session", 7)), (false, ("before", 7))] {
            transaction.begin(settings("before", 7));
            // The guard is LOCAL.
            transaction.keep("application_name", &settings("session", 9));
            let after = transaction.end(is_commit).unwrap();
            assert_eq!(shown(&after), expected);
        }
        transaction.begin(settings("before", 7));
        transaction.keep("halite.max_rows_examined", &settings("before", 8));
        transaction.save("a", 0, settings("local", 8)).unwrap();
        transaction.keep("application_name", &settings("session", 8));
        let (_, now) = transaction.go_back("a").unwrap();
        assert_eq!(shown(&now), ("local", 8));
        assert_eq!(shown(&transaction.end(true).unwrap()), ("before", 8));
    }

    #[test]
    fn error_outside_of_a_transaction_fails_none() {
        let mut transaction = Transaction::default();
        transaction.fail();
        assert_eq!(transaction.state(), TransactionState::Idle);
    }
}
