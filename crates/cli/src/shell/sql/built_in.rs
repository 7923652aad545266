//! SQL on the session's cluster.

use std::sync::Arc;

use halite::SqlContext;
use halite::sql::split_statements;
use halite_rowkey_tools::lint::TableRules;

use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use crate::sql::{Failure, Format, Runner};

/// Session of SQL, which keeps its settings between statements.
pub(in crate::shell) type SqlRunner = Runner;

/// Returns `true` if a semicolon ends the last statement of the text.
pub(in crate::shell) fn is_ended(text: &str) -> bool {
    let found = split_statements(text);
    !found.is_empty() && found.iter().all(|statement| statement.is_ended)
}

/// Runs the statements of a text, up to the first that fails.
pub(in crate::shell) fn run(session: &mut Session<'_>, text: &str) -> EvalResult {
    let runner = if let Some(runner) = session.sql.take() {
        runner
    } else {
        let sql = SqlContext::new(Arc::clone(session.async_cluster()));
        let sql = sql.with_lint(Arc::new(TableRules));
        let failed = |error: anyhow::Error| Interrupt::Problem(format!("{error:#}"));
        Runner::new(sql, Format::Table).map_err(failed)?
    };
    let is_terminal = session.width.is_some();
    let mut outcome = Ok(Value::Nil);
    for statement in split_statements(text) {
        let mut notices = Vec::new();
        let ran = runner.run_to(statement.text, session.output(), is_terminal, &mut notices);
        outcome = print_notices(session, &notices).and(match ran {
            Ok(()) => Ok(Value::Nil),
            Err(failure) => Err(problem(failure, statement.text)),
        });
        if outcome.is_err() {
            break;
        }
    }
    session.sql = Some(runner);
    outcome
}

fn print_notices(session: &mut Session<'_>, notices: &[String]) -> EvalResult<()> {
    notices.iter().try_for_each(|notice| session.print_line(format!("NOTICE: {notice}")))
}

fn problem(failure: Failure, text: &str) -> Interrupt {
    match failure {
        Failure::Statement(error) => Interrupt::Problem(crate::sql::describe(&error, text)),
        Failure::Output(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => Interrupt::Output(error),
            Err(error) => Interrupt::Problem(format!("{error:#}")),
        },
    }
}
