//! Block between BEGIN and COMMIT. There are no transactions: reads are permitted in it, and
//! changes where the session says that it does not mind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::settings::Transactions;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::TransactionStatement;

/// Block of a session, open or not.
#[derive(Debug, Default)]
pub(super) struct Block {
    is_open: AtomicBool,
    /// `true` to refuse changes whatever the settings say.
    is_read_only: AtomicBool,
    /// Rows and tables that were changed since BEGIN.
    changes: AtomicU64,
}

impl Block {
    /// Begins or ends a block; returns what the user should know.
    pub(super) fn change(&self, change: TransactionStatement) -> Option<String> {
        let begins = matches!(change, TransactionStatement::Begin { .. });
        let was_open = self.is_open.swap(begins, Ordering::Relaxed);
        if begins && was_open {
            return None;
        }
        let read_only = match change {
            TransactionStatement::Begin { read_only } => read_only.unwrap_or(false),
            _ => false,
        };
        self.set_read_only(read_only);
        let changes = self.changes.swap(0, Ordering::Relaxed);
        let is_back = change == TransactionStatement::Rollback;
        (is_back && was_open && changes > 0).then(|| {
            format!("WARNING: {changes} row(s) written since BEGIN stay: every statement is final")
        })
    }

    pub(super) fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::Relaxed);
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    /// Counts changes.
    pub(super) fn add(&self, changes: u64) {
        self.changes.fetch_add(changes, Ordering::Relaxed);
    }

    /// Returns the changes since BEGIN.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Checks that a statement that changes something may run.
    ///
    /// # Errors
    /// `ReadOnly`, or `NotSupported` for one that COMMIT and ROLLBACK would not decide.
    pub(super) fn check(&self, transactions: Transactions) -> Result<()> {
        if self.is_read_only() {
            return Err(SqlError::new(
                SqlState::ReadOnly,
                "the transaction is READ ONLY, and this statement changes something; end it, or \
                 begin it as READ WRITE",
            ));
        }
        if transactions == Transactions::Statement || !self.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(SqlError::unsupported(
            "a write between BEGIN and COMMIT: there are no transactions, and it could not be rolled \
             back; use autocommit, or SET halite.transactions = 'statement' to have every statement \
             final",
        ))
    }
}
