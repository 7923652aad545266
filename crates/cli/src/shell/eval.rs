//! Evaluator for statements: variables, operators, loops, and calls of commands and methods.

use std::time::Instant;

use halite_types::TableName;

use super::ast::{Block, CallExpression, Expression, StringSegment};
use super::commands::{self, Arguments, ShellCommand};
use super::help;
use super::methods;
use super::session::{EvalResult, Interrupt, Session};
use super::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

/// Evaluates statements in order. Returns the value of the last one.
pub(crate) fn run(session: &mut Session<'_>, statements: &[Expression]) -> EvalResult {
    let mut value = Value::Nil;
    for statement in statements {
        value = evaluate(session, statement)?;
    }
    Ok(value)
}

fn evaluate(session: &mut Session<'_>, expression: &Expression) -> EvalResult {
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
            let (first, last) =
                (Box::new(evaluate(session, first)?), Box::new(evaluate(session, last)?));
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

fn all(session: &mut Session<'_>, expressions: &[Expression]) -> EvalResult<Vec<Value>> {
    expressions.iter().map(|expression| evaluate(session, expression)).collect()
}

fn text(session: &mut Session<'_>, pieces: &[StringSegment]) -> EvalResult {
    let mut bytes = Vec::new();
    for piece in pieces {
        match piece {
            StringSegment::Bytes(part) => bytes.extend_from_slice(part),
            StringSegment::Code(statements) => {
                bytes.extend_from_slice(&run(session, statements)?.to_bytes());
            }
        }
    }
    Ok(Value::Text(bytes))
}

fn constant(name: &str) -> EvalResult {
    if let Some((_, value)) = commands::constants().find(|(known, _)| *known == name) {
        return Ok(Value::text(value));
    }
    let known = commands::constants().map(|(known, _)| known);
    Err(Interrupt::Problem(format!(
        "there is no constant {name}{}; text needs quotes: '{name}'",
        did_you_mean(closest_match(name, known))
    )))
}

fn binary(
    session: &mut Session<'_>,
    operator: &str,
    left: &Expression,
    right: &Expression,
) -> EvalResult {
    let left = evaluate(session, left)?;
    match operator {
        "&&" if !left.is_true() => Ok(left),
        "||" if left.is_true() => Ok(left),
        "&&" | "||" => evaluate(session, right),
        _ => methods::binary(operator, &left, &evaluate(session, right)?),
    }
}

/// Runs a block with its parameters set; restores their old values afterwards.
pub(crate) fn run_block(
    session: &mut Session<'_>,
    block: &Block,
    values: Vec<Value>,
) -> EvalResult {
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

fn evaluate_call(session: &mut Session<'_>, call: &CallExpression) -> EvalResult {
    let receiver =
        call.receiver.as_deref().map(|receiver| evaluate(session, receiver)).transpose()?;
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

fn call_by_name(session: &mut Session<'_>, name: &str, arguments: Vec<Value>) -> EvalResult {
    match name {
        "exit" | "quit" => Err(Interrupt::Exit(exit_code(&arguments)?)),
        "help" => help::help(session, arguments.first()).map(|()| Value::Nil),
        "puts" | "print" | "p" => methods::output(session, name, &arguments),
        "sleep" => methods::sleep(session, &arguments),
        _ => match commands::find(name) {
            Some(word) => run_command(session, word, arguments),
            None => Err(unknown_name(session, name, arguments.is_empty())),
        },
    }
}

fn exit_code(arguments: &[Value]) -> EvalResult<u8> {
    match arguments.first() {
        None | Some(Value::Bool(true)) => Ok(0),
        Some(Value::Bool(false)) => Ok(1),
        Some(Value::Integer(code)) => u8::try_from(*code).map_err(|_| {
            Interrupt::Problem(format!("the exit code is {code}; give a number from 0 to 255"))
        }),
        Some(other) => {
            Err(Interrupt::Problem(format!("the exit code is {}; give a number", other.kind())))
        }
    }
}

fn unknown_name(session: &Session<'_>, name: &str, may_be_variable: bool) -> Interrupt {
    let mut known: Vec<String> = session.variables.keys().cloned().collect();
    known.extend(
        commands::all()
            .flat_map(ShellCommand::names)
            .chain(["help", "exit", "quit", "puts"])
            .map(str::to_owned),
    );
    let suggestion = did_you_mean(closest_match(name, known.iter().map(String::as_str)));
    let kind = if may_be_variable { "command or variable" } else { "command" };
    let quotes =
        if may_be_variable { format!("; text needs quotes: '{name}'") } else { String::new() };
    Interrupt::Problem(format!(
        "there is no {kind} {name}{suggestion}{quotes}; 'help' lists the commands"
    ))
}

/// Runs a command. Prints its output, its error in the shell's form, and its duration.
fn run_command(
    session: &mut Session<'_>,
    word: &'static ShellCommand,
    arguments: Vec<Value>,
) -> EvalResult {
    let started = Instant::now();
    let outcome = word
        .check_count(arguments.len())
        .and_then(|()| (word.run)(session, &Arguments::new(word, arguments)));
    let outcome = match outcome {
        Err(Interrupt::Problem(text)) => {
            session.print_line(format!(
                "\nERROR: {text}\n\nFor usage try 'help \"{}\"'\n",
                word.name
            ))?;
            Err(Interrupt::Reported)
        }
        other => other,
    };
    if !matches!(outcome, Err(Interrupt::Output(_))) {
        session.print_line(format!("Took {:.4} seconds", started.elapsed().as_secs_f64()))?;
    }
    outcome
}

/// Calls a method of a table handle. `t.put ...` is `put 't', ...`; a few methods belong to the
/// handle only.
fn call_on_table(
    session: &mut Session<'_>,
    table: &TableName,
    name: &str,
    mut arguments: Vec<Value>,
) -> EvalResult {
    match name {
        "name" | "to_s" | "table" => return Ok(Value::text(table.to_string())),
        "help" => {
            return help::help(
                session,
                Some(arguments.first().unwrap_or(&Value::text("table_help"))),
            )
            .map(|()| Value::Nil);
        }
        "get_all_columns" => {
            let descriptor = session.cluster().descriptor(table)?;
            let families = descriptor
                .families()
                .map(|family| Value::Text([family.name(), &b":"[..]].concat()));
            return Ok(Value::Array(families.collect()));
        }
        _ => {}
    }
    let Some(word) = commands::find(name).filter(|word| word.takes_table) else {
        let known = commands::all()
            .filter(|word| word.takes_table)
            .flat_map(ShellCommand::names)
            .chain(["name", "help", "get_all_columns"]);
        return Err(Interrupt::Problem(format!(
            "a table has no method {name}{}",
            did_you_mean(closest_match(name, known))
        )));
    };
    arguments.insert(0, Value::text(table.to_string()));
    run_command(session, word, arguments)
}
