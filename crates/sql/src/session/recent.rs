//! Statements that were prepared last: drivers that name no statement prepare the same text for
//! each run.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::datatypes::DataType;

use super::prepared::Prepared;

/// Statements that are remembered.
const MAX_STATEMENTS: usize = 64;
/// Bytes of the text of one.
const MAX_TEXT_BYTES: usize = 4096;

/// Statements of a session, the last one at the end.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    types: Vec<Option<DataType>>,
    prepared: Prepared,
}

impl Recent {
    /// Returns a statement with the text and the types that were given for it.
    pub(super) fn find(&self, text: &str, types: &[Option<DataType>]) -> Option<Prepared> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            entries.iter().rev().find(|one| one.prepared.text() == text && one.types == types);
        found.map(|one| one.prepared.clone())
    }

    /// Remembers a statement, in place of one with the same text.
    pub(super) fn add(&self, types: &[Option<DataType>], prepared: &Prepared) {
        if prepared.text().len() > MAX_TEXT_BYTES {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|one| one.prepared.text() != prepared.text() || one.types != types);
        if entries.len() >= MAX_STATEMENTS {
            entries.pop_front();
        }
        entries.push_back(Entry { types: types.to_vec(), prepared: prepared.clone() });
    }
}
