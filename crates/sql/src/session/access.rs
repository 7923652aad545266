//! What a session may do.

use crate::error::{Result, SqlError, SqlState};
use crate::parse::{Kind, is_show_create};

/// Statements that a session may run; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Queries, EXPLAIN, SHOW, DESCRIBE, and the session's own settings.
    Read,
    /// Statements that change rows.
    Write,
    /// Statements that create, change and drop tables.
    Admin,
}

impl Access {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Checks that a statement may be run.
    ///
    /// # Errors
    /// `NotPermitted`.
    pub(super) fn check(self, kind: &Kind, text: &str) -> Result<()> {
        self.require(needed(kind, text))
    }

    /// Checks that statements of a level may be run.
    ///
    /// # Errors
    /// `NotPermitted`.
    pub(super) fn require(self, needed: Self) -> Result<()> {
        if self >= needed {
            return Ok(());
        }
        Err(SqlError::new(
            SqlState::NotPermitted,
            format!(
                "this statement needs the role {}, and the session has {}; connect as a user with \
                 that role",
                needed.name(),
                self.name()
            ),
        ))
    }
}

/// Every kind is named, so that a new one has to say what it needs.
fn needed(kind: &Kind, text: &str) -> Access {
    match kind {
        Kind::Explain(explain) if explain.is_write() => Access::Write,
        Kind::Nothing
        | Kind::ShowTables(_)
        | Kind::Describe(_)
        | Kind::Show(_)
        | Kind::Set { .. }
        | Kind::Reset(_)
        | Kind::Transaction(_)
        | Kind::Query(_)
        | Kind::Explain(_)
        | Kind::Local(_) => Access::Read,
        Kind::Write(_) => Access::Write,
        Kind::Language if is_show_create(text) => Access::Read,
        Kind::Language | Kind::Analyze(_) | Kind::CreateAs(_) | Kind::Comment(_) => Access::Admin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{kind_of, tokens_of};

    #[test]
    fn levels_include_those_before_them() {
        let check = |access: Access, text: &str| {
            let kind = kind_of(tokens_of(text).expect("tokens")).expect("a kind");
            access.check(&kind, text)
        };
        for text in ["SELECT 1", "EXPLAIN SELECT 1", "SHOW TABLES", "show create table t", "BEGIN"]
        {
            assert_eq!(check(Access::Read, text), Ok(()), "{text}");
        }
        let write = "UPSERT INTO t VALUES (1)";
        assert_eq!(check(Access::Read, write).unwrap_err().state, SqlState::NotPermitted);
        assert_eq!(check(Access::Write, write), Ok(()));
        // EXPLAIN only tells, unless it runs the statement.
        assert_eq!(check(Access::Read, &format!("EXPLAIN {write}")), Ok(()));
        let analyzed = format!("EXPLAIN (ANALYZE) {write}");
        assert_eq!(check(Access::Read, &analyzed).unwrap_err().state, SqlState::NotPermitted);
        assert_eq!(check(Access::Write, &analyzed), Ok(()));
        for text in ["CREATE TABLE t (ROW KEY (k I64))", "ALTER TABLE t ADOPT ROW KEY (k I64)"] {
            let error = check(Access::Write, text).unwrap_err();
            assert_eq!(error.state, SqlState::NotPermitted, "{text}");
            assert_eq!(check(Access::Admin, text), Ok(()), "{text}");
        }
    }
}
