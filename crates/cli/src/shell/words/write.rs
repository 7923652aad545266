//! `put`, `incr` and `append`.

use halite_types::{Append, Increment, LATEST_TIMESTAMP, Put, RowOp, TableExt, TableName, block_on};

use super::explain::About;
use super::options::Options;
use super::{Arguments, Group, Word};
use crate::shell::column::Column;
use crate::shell::session::{Outcome, Session, Stop};
use crate::shell::value::Value;
use halite_types::key::print_bytes;

pub(super) const WORDS: &[Word] = &[
    Word {
        name: "put",
        aliases: &[],
        group: Group::Dml,
        count: (4, Some(6)),
        takes_table: true,
        options: &["TTL", "ATTRIBUTES"],
        synopsis: "put 'table', 'row', 'family:qualifier', 'value' [, timestamp] [, {TTL => milliseconds}]",
        about: "Writes a value. Without a timestamp the store's clock stamps it. Everything behind the first colon is the qualifier.",
        examples: &[
            "put 't1', 'r1', 'f:a', 'value'",
            "put 't1', 'r1', 'f:a', \"\\x00\\x01\", 1710460800000",
            "put 't1', 'r1', 'f:a', 'value', {TTL => 60000}",
        ],
        run: put,
    },
    Word {
        name: "incr",
        aliases: &[],
        group: Group::Dml,
        count: (3, Some(5)),
        takes_table: true,
        options: &["ATTRIBUTES"],
        synopsis: "incr 'table', 'row', 'family:qualifier' [, amount]",
        about: "Adds to a counter, 1 if no amount is given, and shows the new value. A cell that is not there counts as 0.",
        examples: &["incr 't1', 'r1', 'f:count'", "incr 't1', 'r1', 'f:count', -10"],
        run: incr,
    },
    Word {
        name: "append",
        aliases: &[],
        group: Group::Dml,
        count: (4, Some(5)),
        takes_table: true,
        options: &["ATTRIBUTES"],
        synopsis: "append 'table', 'row', 'family:qualifier', 'value'",
        about: "Appends bytes to a value and shows the new value. It joins text: to count, use incr.",
        examples: &["append 't1', 'r1', 'f:log', 'more'"],
        run: append,
    },
];

fn put(session: &mut Session<'_>, arguments: &Arguments) -> Outcome {
    let (table, row, text, value) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2), arguments.bytes(3));
    let column = Column::written(&text).check(&text)?;
    let timestamp = arguments.timestamp(4)?.unwrap_or(LATEST_TIMESTAMP);
    let mut options = arguments.options(4);
    let mut put = Put::new(row);
    if let Some(ttl) = options.integer("TTL")? {
        let wrong = |_| Stop::Problem(format!("TTL is {ttl}; give milliseconds, 1 or more"));
        put = put.ttl_ms(u64::try_from(ttl).map_err(wrong)?);
    }
    finish(options)?;
    put = put.add_at(&column.family, column.cell_qualifier(), timestamp, value);
    put.mutation().check()?;
    apply(session, &table, put).map(|_| Value::Nil)
}

/// Cell attributes are accepted and have no effect; visibility labels are refused, for ignoring them would show what was meant to be hidden.
fn finish(mut options: Options) -> Outcome<()> {
    if options.take("VISIBILITY").is_some() {
        return Err(Stop::problem("there are no visibility labels here; leave VISIBILITY out, or keep the cell in a table of its own"));
    }
    options.ignore(&["ATTRIBUTES"]);
    options.finish()
}

fn apply(session: &Session<'_>, table: &TableName, op: impl Into<RowOp>) -> Outcome<halite_types::OpResult> {
    block_on(session.table(table).apply_one(op.into())).about(session, table)
}

fn incr(session: &mut Session<'_>, arguments: &Arguments) -> Outcome {
    let (table, row, text) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2));
    let column = Column::written(&text).check(&text)?;
    let amount = match arguments.get(3) {
        None | Some(Value::Hash(_)) => 1,
        Some(Value::Integer(amount)) => *amount,
        Some(other) => return Err(Stop::Problem(format!("the amount is {}; give a whole number", other.inspect()))),
    };
    finish(arguments.options(3))?;
    let increment = Increment::new(row).add(&column.family, column.cell_qualifier(), amount);
    increment.mutation().check()?;
    let result = apply(session, &table, increment)?;
    let value = result.row.iter().next().and_then(|cell| <[u8; 8]>::try_from(cell.value()).ok());
    match value {
        Some(value) => session.say(format!("COUNTER VALUE = {}", i64::from_be_bytes(value)))?,
        None => session.say("No counter found at specified coordinates")?,
    }
    Ok(Value::Nil)
}

fn append(session: &mut Session<'_>, arguments: &Arguments) -> Outcome {
    let (table, row, text, value) = (arguments.table()?, arguments.bytes(1), arguments.bytes(2), arguments.bytes(3));
    let column = Column::written(&text).check(&text)?;
    finish(arguments.options(4))?;
    let append = Append::new(row).add(&column.family, column.cell_qualifier(), value);
    append.mutation().check()?;
    let result = apply(session, &table, append)?;
    if let Some(cell) = result.row.iter().next() {
        session.say(format!("CURRENT VALUE = {}", print_bytes(cell.value())))?;
    }
    Ok(Value::Nil)
}
