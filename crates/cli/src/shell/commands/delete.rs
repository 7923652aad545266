//! `delete` and `deleteall`.

use halite_types::{Bytes, Delete, Filter, LATEST_TIMESTAMP, RowOp, Scan, TableName};

use super::error_hints::ErrorContext;
use super::options::Options;
use super::{Arguments, Group, ShellCommand};
use crate::shell::column::Column;
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

/// Deletes per call to the store, unless CACHE specifies another number.
const BATCH_ROWS: usize = 100;

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "delete",
        aliases: &[],
        group: Group::Dml,
        count: (3, Some(5)),
        takes_table: true,
        options: &[],
        synopsis: "delete 'table', 'row', 'family:qualifier' [, timestamp]",
        about: "Takes one version of a column away: the newest, or the one with exactly this \
                timestamp. With a family and a timestamp it takes the cells of the family with \
                exactly that timestamp away. For all versions use deleteall.",
        examples: &["delete 't1', 'r1', 'f:a'", "delete 't1', 'r1', 'f:a', 1710460800000"],
        run: delete,
    },
    ShellCommand {
        name: "deleteall",
        aliases: &[],
        group: Group::Dml,
        count: (2, Some(5)),
        takes_table: true,
        options: &["ROWPREFIXFILTER", "CACHE"],
        synopsis: "deleteall 'table', 'row' or {ROWPREFIXFILTER => 'prefix', CACHE => n} [, \
                   'family' or 'family:qualifier' [, timestamp]]",
        about: "Takes a row, a family of it or all versions of a column away, up to a timestamp if \
                one is given; or does so to all rows that begin with a prefix.",
        examples: &[
            "deleteall 't1', 'r1'",
            "deleteall 't1', 'r1', 'f:a'",
            "deleteall 't1', 'r1', 'f:a', 1710460800000",
            "deleteall 't1', {ROWPREFIXFILTER => 'prefix'}",
        ],
        run: deleteall,
    },
];

fn apply(session: &Session<'_>, table: &TableName, deletes: Vec<Delete>) -> EvalResult<()> {
    for delete in &deletes {
        delete.mutation().check()?;
    }
    let deletes = deletes.into_iter().map(RowOp::Delete).collect();
    let results =
        session.table(table).and_then(|table| table.batch(deletes)).with_hint(session, table)?;
    results.into_iter().try_for_each(|result| result.map(drop)).with_hint(session, table)
}

fn delete(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row, text) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let column = Column::written(&text).check(&text)?;
    let timestamp = arguments.timestamp(3)?;
    refuse_options(arguments.options(3))?;
    let delete = Delete::new(row);
    let delete = match (column.qualifier, timestamp) {
        (Some(qualifier), None) => delete.newest(&column.family, qualifier),
        (Some(qualifier), Some(timestamp)) => delete.version(&column.family, qualifier, timestamp),
        (None, Some(timestamp)) => delete.family_version(&column.family, timestamp),
        (None, None) => {
            let family = String::from_utf8_lossy(&text).into_owned();
            return Err(Interrupt::Problem(format!(
                "'{family}' is a whole family, and delete takes single versions away: use \
                 deleteall for the family, name a column ('{family}:qualifier'), or give a \
                 timestamp"
            )));
        }
    };
    apply(session, &table, vec![delete]).map(|()| Value::Nil)
}

fn refuse_options(mut options: Options) -> EvalResult<()> {
    options.ignore(&["ATTRIBUTES"]);
    options.finish()
}

/// Part of each row to delete.
struct DeleteScope {
    column: Option<Column>,
    timestamp: i64,
}

impl DeleteScope {
    fn to_delete(&self, row: impl Into<Bytes>) -> Delete {
        let delete = Delete::new(row);
        match &self.column {
            None => delete.up_to(self.timestamp),
            Some(Column { family, qualifier: Some(qualifier), .. }) => {
                delete.column_up_to(family, qualifier, self.timestamp)
            }
            Some(Column { family, .. }) => delete.family_up_to(family, self.timestamp),
        }
    }
}

fn deleteall(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let table = arguments.table()?;
    let text = arguments.bytes(2);
    let column = if text.is_empty() || matches!(arguments.get(2), Some(Value::Hash(_))) {
        None
    } else {
        Some(Column::written(&text).check(&text)?)
    };
    let part =
        DeleteScope { column, timestamp: arguments.timestamp(3)?.unwrap_or(LATEST_TIMESTAMP) };
    if let Some(Value::Hash(pairs)) = arguments.get(1) {
        return delete_prefix(session, &table, Options::new("deleteall", pairs), &part);
    }
    refuse_options(arguments.options(2))?;
    apply(session, &table, vec![part.to_delete(arguments.bytes(1))]).map(|()| Value::Nil)
}

fn delete_prefix(
    session: &mut Session<'_>,
    table: &TableName,
    mut options: Options,
    part: &DeleteScope,
) -> EvalResult {
    let Some(prefix) = options.bytes("ROWPREFIXFILTER")? else {
        return Err(Interrupt::problem("deleteall takes a row, or {ROWPREFIXFILTER => 'prefix'}"));
    };
    let batch = options.limit("CACHE")?.unwrap_or(BATCH_ROWS);
    options.finish()?;
    if prefix.is_empty() {
        return Err(Interrupt::Problem(format!(
            "the prefix is empty, which is every row; to empty the table type truncate '{table}'"
        )));
    }
    let mut rows = session
        .table(table)
        .with_hint(session, table)?
        .scan(Scan::prefix(prefix).filter(Filter::KeyOnly(false)).cache_blocks(false));
    let mut deletes = Vec::new();
    while let Some(row) = rows.next().transpose().with_hint(session, table)? {
        deletes.push(part.to_delete(row.key().to_vec()));
        if deletes.len() >= batch {
            apply(session, table, std::mem::take(&mut deletes))?;
        }
    }
    apply(session, table, deletes).map(|()| Value::Nil)
}
