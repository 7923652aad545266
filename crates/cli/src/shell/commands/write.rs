//! `put`, `incr` and `append`.

use halite_types::{Append, Increment, LATEST_TIMESTAMP, Put, RowOp, TableName};

use super::error_hints::ErrorContext;
use super::options::Options;
use super::{Arguments, Group, ShellCommand};
use crate::shell::column::Column;
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;
use halite_types::key::to_string_binary;

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "put",
        aliases: &[],
        group: Group::Dml,
        count: (4, Some(6)),
        takes_table: true,
        options: &["TTL", "ATTRIBUTES"],
        synopsis: "put 'table', 'row', 'family:qualifier', 'value' [, timestamp] [, {TTL => \
                   milliseconds}]",
        about: "Writes a value. Without a timestamp the store's clock stamps it. Everything after \
                the first colon is the qualifier.",
        examples: &[
            "put 't1', 'r1', 'f:a', 'value'",
            "put 't1', 'r1', 'f:a', \"\\x00\\x01\", 1710460800000",
            "put 't1', 'r1', 'f:a', 'value', {TTL => 60000}",
        ],
        run: put,
    },
    ShellCommand {
        name: "incr",
        aliases: &[],
        group: Group::Dml,
        count: (3, Some(5)),
        takes_table: true,
        options: &["ATTRIBUTES"],
        synopsis: "incr 'table', 'row', 'family:qualifier' [, amount]",
        about: "Adds to a counter, 1 if no amount is given, and shows the new value. A cell that \
                is not there counts as 0.",
        examples: &["incr 't1', 'r1', 'f:count'", "incr 't1', 'r1', 'f:count', -10"],
        run: incr,
    },
    ShellCommand {
        name: "append",
        aliases: &[],
        group: Group::Dml,
        count: (4, Some(5)),
        takes_table: true,
        options: &["ATTRIBUTES"],
        synopsis: "append 'table', 'row', 'family:qualifier', 'value'",
        about: "Appends bytes to a value and shows the new value. It joins text: to count, use \
                incr.",
        examples: &["append 't1', 'r1', 'f:log', 'more'"],
        run: append,
    },
];

fn put(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row, text, value) =
        (arguments.table()?, arguments.bytes(1), arguments.bytes(2), arguments.bytes(3));
    let column = Column::written(&text).check(&text)?;
    let timestamp = arguments.timestamp(4)?.unwrap_or(LATEST_TIMESTAMP);
    let mut options = arguments.options(4);
    let mut put = Put::new(row);
    if let Some(ttl) = options.integer("TTL")? {
        let wrong = |_| Interrupt::Problem(format!("TTL is {ttl}; give milliseconds, 1 or more"));
        put = put.ttl_ms(u64::try_from(ttl).map_err(wrong)?);
    }
    finish(options)?;
    put = put.add_at(&column.family, column.cell_qualifier(), timestamp, value);
    put.mutation().check()?;
    apply(session, &table, put).map(|_| Value::Nil)
}

/// Finishes the options. Cell attributes are accepted without effect. Visibility labels are
/// rejected, because ignoring them would expose cells that should be hidden.
fn finish(mut options: Options) -> EvalResult<()> {
    if options.take("VISIBILITY").is_some() {
        return Err(Interrupt::problem(
            "there are no visibility labels here; leave VISIBILITY out, or keep the cell in a \
             table of its own",
        ));
    }
    options.ignore(&["ATTRIBUTES"]);
    options.finish()
}

fn apply(
    session: &Session<'_>,
    table: &TableName,
    op: impl Into<RowOp>,
) -> EvalResult<halite_types::OpResult> {
    session.table(table).and_then(|table| table.mutate(op.into())).with_hint(session, table)
}

fn incr(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row, text) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let column = Column::written(&text).check(&text)?;
    let amount = match arguments.get(3) {
        None | Some(Value::Hash(_)) => 1,
        Some(Value::Integer(amount)) => *amount,
        Some(other) => {
            return Err(Interrupt::Problem(format!(
                "the amount is {}; give a whole number",
                other.inspect()
            )));
        }
    };
    finish(arguments.options(3))?;
    let increment = Increment::new(row).add(&column.family, column.cell_qualifier(), amount);
    increment.mutation().check()?;
    let result = apply(session, &table, increment)?;
    let value = result.row.iter().next().and_then(|cell| <[u8; 8]>::try_from(cell.value()).ok());
    match value {
        Some(value) => {
            session.print_line(format!("COUNTER VALUE = {}", i64::from_be_bytes(value)))?;
        }
        None => session.print_line("No counter found at specified coordinates")?,
    }
    Ok(Value::Nil)
}

fn append(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let (table, row, text, value) =
        (arguments.table()?, arguments.bytes(1), arguments.bytes(2), arguments.bytes(3));
    let column = Column::written(&text).check(&text)?;
    finish(arguments.options(4))?;
    let append = Append::new(row).add(&column.family, column.cell_qualifier(), value);
    append.mutation().check()?;
    let result = apply(session, &table, append)?;
    if let Some(cell) = result.row.iter().next() {
        session.print_line(format!("CURRENT VALUE = {}", to_string_binary(cell.value())))?;
    }
    Ok(Value::Nil)
}
