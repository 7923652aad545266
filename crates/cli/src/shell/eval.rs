//! Evaluates statements: variables, operators, loops, and calls of commands and methods.

use std::time::Instant;

use halite_types::TableName;

use super::ast::{Block, Call, Expression, Piece};
use super::help;
use super::methods;
use super::session::{Outcome, Session, Stop};
use super::value::Value;
use super::words::{self, Arguments, Word};
use halite_types::nearest::{nearest, suggestion};

/// Evaluates statements in order; the value is the last one's.
pub(crate) fn run(session: &mut Session<'_>, statements: &[Expression]) -> Outcome {
    let mut value = Value::Nil;
    for statement in statements {
        value = evaluate(session, statement)?;
    }
    Ok(value)
}

fn evaluate(session: &mut Session<'_>, expression: &Expression) -> Outcome {
    match expression {
        Expression::Literal(value) => Ok(value.clone()),
        Expression::Text(pieces) => text(session, pieces),
        Expression::Array(items) => Ok(Value::Array(all(session, items)?)),
        Expression::Hash(pairs) => {
            let mut values = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                values.push((evaluate(session, key)?, evaluate(session, value)?));
            }
            Ok(Value::Hash(values))
        }
        Expression::Range { first, last, exclusive } => {
            let (first, last) = (Box::new(evaluate(session, first)?), Box::new(evaluate(session, last)?));
            Ok(Value::Range { first, last, exclusive: *exclusive })
        }
        Expression::Constant(name) => constant(name),
        Expression::Assign(name, value) => {
            let value = evaluate(session, value)?;
            session.variables.insert(name.clone(), value.clone());
            Ok(value)
        }
        Expression::Call(call) => evaluate_call(session, call),
        Expression::Index(value, index) => {
            let (value, index) = (evaluate(session, value)?, evaluate(session, index)?);
            methods::index(&value, &index)
        }
        Expression::Binary(operator, left, right) => binary(session, operator, left, right),
        Expression::Unary(operator, value) => methods::unary(operator, &evaluate(session, value)?),
        Expression::For { variable, over, body } => {
            let over = evaluate(session, over)?;
            let block = Block { parameters: vec![variable.clone()], body: body.clone() };
            for item in methods::items(&over)? {
                run_block(session, &block, vec![item])?;
            }
            Ok(over)
        }
    }
}

fn all(session: &mut Session<'_>, expressions: &[Expression]) -> Outcome<Vec<Value>> {
    expressions.iter().map(|expression| evaluate(session, expression)).collect()
}

fn text(session: &mut Session<'_>, pieces: &[Piece]) -> Outcome {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(part) => bytes.extend_from_slice(part),
            Piece::Code(statements) => bytes.extend_from_slice(&run(session, statements)?.to_bytes()),
        }
    }
    Ok(Value::Text(bytes))
}

fn constant(name: &str) -> Outcome {
    if let Some((_, value)) = words::constants().find(|(known, _)| *known == name) {
        return Ok(Value::text(value));
    }
    let known = words::constants().map(|(known, _)| known);
    Err(Stop::Problem(format!("there is no constant {name}{}; text needs quotes: '{name}'", suggestion(nearest(name, known)))))
}

fn binary(session: &mut Session<'_>, operator: &str, left: &Expression, right: &Expression) -> Outcome {
    let left = evaluate(session, left)?;
    match operator {
        "&&" if !left.is_true() => Ok(left),
        "||" if left.is_true() => Ok(left),
        "&&" | "||" => evaluate(session, right),
        _ => methods::binary(operator, &left, &evaluate(session, right)?),
    }
}

/// Runs a block with its parameters set; their old values come back afterwards.
pub(crate) fn run_block(session: &mut Session<'_>, block: &Block, values: Vec<Value>) -> Outcome {
    let mut hidden = Vec::new();
    for (name, value) in block.parameters.iter().zip(values) {
        hidden.push((name.clone(), session.variables.insert(name.clone(), value)));
    }
    let outcome = run(session, &block.body);
    for (name, value) in hidden {
        match value {
            Some(value) => session.variables.insert(name, value),
            None => session.variables.remove(&name),
        };
    }
    outcome
}

fn evaluate_call(session: &mut Session<'_>, call: &Call) -> Outcome {
    let receiver = call.receiver.as_deref().map(|receiver| evaluate(session, receiver)).transpose()?;
    if receiver.is_none()
        && call.arguments.is_empty()
        && let Some(value) = session.variables.get(&call.name)
    {
        return Ok(value.clone());
    }
    let arguments = all(session, &call.arguments)?;
    match receiver {
        None => call_by_name(session, &call.name, arguments),
        Some(Value::Table(table)) => call_on_table(session, &table, &call.name, arguments),
        Some(value) => methods::call(session, &value, &call.name, &arguments, call.block.as_ref()),
    }
}

fn call_by_name(session: &mut Session<'_>, name: &str, arguments: Vec<Value>) -> Outcome {
    match name {
        "exit" | "quit" => Err(Stop::Exit(exit_code(&arguments)?)),
        "help" => help::help(session, arguments.first()).map(|()| Value::Nil),
        "puts" | "print" | "p" => methods::output(session, name, &arguments),
        "sleep" => methods::sleep(session, &arguments),
        _ => match words::find(name) {
            Some(word) => run_word(session, word, arguments),
            None => Err(unknown_name(session, name, arguments.is_empty())),
        },
    }
}

fn exit_code(arguments: &[Value]) -> Outcome<u8> {
    match arguments.first() {
        None | Some(Value::Bool(true)) => Ok(0),
        Some(Value::Bool(false)) => Ok(1),
        Some(Value::Integer(code)) => u8::try_from(*code).map_err(|_| Stop::Problem(format!("the exit code is {code}; give a number from 0 to 255"))),
        Some(other) => Err(Stop::Problem(format!("the exit code is {}; give a number", other.kind()))),
    }
}

fn unknown_name(session: &Session<'_>, name: &str, may_be_variable: bool) -> Stop {
    let mut known: Vec<String> = session.variables.keys().cloned().collect();
    known.extend(words::all().flat_map(Word::names).chain(["help", "exit", "quit", "puts"]).map(str::to_owned));
    let suggestion = suggestion(nearest(name, known.iter().map(String::as_str)));
    let what = if may_be_variable { "command or variable" } else { "command" };
    let quotes = if may_be_variable { format!("; text needs quotes: '{name}'") } else { String::new() };
    Stop::Problem(format!("there is no {what} {name}{suggestion}{quotes}; 'help' lists the commands"))
}

/// Runs a command: its output, its error in the shell's form, and how long it took.
fn run_word(session: &mut Session<'_>, word: &'static Word, arguments: Vec<Value>) -> Outcome {
    let started = Instant::now();
    let outcome = word.check_count(arguments.len()).and_then(|()| (word.run)(session, &Arguments::new(word, arguments)));
    let outcome = match outcome {
        Err(Stop::Problem(text)) => {
            session.say(format!("\nERROR: {text}\n\nFor usage try 'help \"{}\"'\n", word.name))?;
            Err(Stop::Reported)
        }
        other => other,
    };
    if !matches!(outcome, Err(Stop::Output(_))) {
        session.say(format!("Took {:.4} seconds", started.elapsed().as_secs_f64()))?;
    }
    outcome
}

/// `t.put ...` is `put 't', ...`; a few methods are the handle's own.
fn call_on_table(session: &mut Session<'_>, table: &TableName, name: &str, mut arguments: Vec<Value>) -> Outcome {
    match name {
        "name" | "to_s" | "table" => return Ok(Value::text(table.to_string())),
        "help" => return help::help(session, Some(arguments.first().unwrap_or(&Value::text("table_help")))).map(|()| Value::Nil),
        "get_all_columns" => {
            let descriptor = halite_types::block_on(session.table(table).descriptor())?;
            let families = descriptor.families().map(|family| Value::Text([family.name(), &b":"[..]].concat()));
            return Ok(Value::Array(families.collect()));
        }
        _ => {}
    }
    let Some(word) = words::find(name).filter(|word| word.takes_table) else {
        let known = words::all().filter(|word| word.takes_table).flat_map(Word::names).chain(["name", "help", "get_all_columns"]);
        return Err(Stop::Problem(format!("a table has no method {name}{}", suggestion(nearest(name, known)))));
    };
    arguments.insert(0, Value::text(table.to_string()));
    run_word(session, word, arguments)
}
