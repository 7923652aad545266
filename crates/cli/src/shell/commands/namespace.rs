//! Namespace commands: create, alter, describe, drop, list.

use halite_types::{Attributes, Error, ErrorKind};

use super::error_hints::unknown_namespace;
use super::options::Options;
use super::{Arguments, Group, ShellCommand};
use crate::shell::session::{EvalResult, Interrupt, Session};
use crate::shell::value::Value;

const BASE: ShellCommand = ShellCommand {
    name: "",
    aliases: &[],
    group: Group::Namespace,
    count: (1, Some(1)),
    takes_table: false,
    options: &[],
    synopsis: "",
    about: "",
    examples: &[],
    run: |_, _| Ok(Value::Nil),
};

pub(super) const COMMANDS: &[ShellCommand] = &[
    ShellCommand {
        name: "create_namespace",
        count: (1, None),
        synopsis: "create_namespace 'namespace' [, {'setting' => 'value', ...}]",
        about: "Makes a namespace, with settings of your own if you give any.",
        examples: &["create_namespace 'ns1'", "create_namespace 'ns1', {'owner' => 'me'}"],
        run: create,
        ..BASE
    },
    ShellCommand {
        name: "alter_namespace",
        count: (2, None),
        options: &["METHOD", "NAME"],
        synopsis: "alter_namespace 'namespace', {METHOD => 'set', 'setting' => 'value'} or {METHOD \
                   => 'unset', NAME => 'setting'}",
        about: "Sets or takes away settings of a namespace.",
        examples: &[
            "alter_namespace 'ns1', {METHOD => 'set', 'owner' => 'me'}",
            "alter_namespace 'ns1', {METHOD => 'unset', NAME => 'owner'}",
        ],
        run: alter,
        ..BASE
    },
    ShellCommand {
        name: "describe_namespace",
        synopsis: "describe_namespace 'namespace'",
        about: "Shows the settings of a namespace.",
        examples: &["describe_namespace 'ns1'"],
        run: describe,
        ..BASE
    },
    ShellCommand {
        name: "drop_namespace",
        synopsis: "drop_namespace 'namespace'",
        about: "Takes an empty namespace away.",
        examples: &["drop_namespace 'ns1'"],
        run: drop_namespace,
        ..BASE
    },
    ShellCommand {
        name: "list_namespace",
        count: (0, Some(1)),
        synopsis: "list_namespace ['pattern']",
        about: "Lists the namespaces, or those whose whole name matches a regular expression.",
        examples: &["list_namespace", "list_namespace 'abc.*'"],
        run: list,
        ..BASE
    },
    ShellCommand {
        name: "list_namespace_tables",
        synopsis: "list_namespace_tables 'namespace'",
        about: "Lists the tables of a namespace.",
        examples: &["list_namespace_tables 'ns1'"],
        run: list_tables,
        ..BASE
    },
];

fn explain_error(session: &Session<'_>, namespace: &str, error: &Error) -> Interrupt {
    Interrupt::Problem(match error.kind() {
        ErrorKind::NoSuchNamespace => unknown_namespace(session, namespace),
        ErrorKind::NamespaceExists => format!("Namespace {namespace} already exists"),
        ErrorKind::NamespaceNotEmpty => {
            format!(
                "Only empty namespaces can be removed; list_namespace_tables '{namespace}' shows \
                 what {namespace} still holds"
            )
        }
        _ => error.to_string(),
    })
}

fn settings(session: &Session<'_>, namespace: &str) -> EvalResult<Attributes> {
    let known = session.cluster().list_namespaces()?;
    let found = known.into_iter().find(|(name, _)| name == namespace);
    found
        .map(|(_, settings)| settings)
        .ok_or_else(|| Interrupt::Problem(unknown_namespace(session, namespace)))
}

fn create(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let namespace = arguments.name(0, "namespace")?;
    let mut settings = Attributes::new();
    for argument in arguments.flattened(1) {
        let Value::Hash(pairs) = argument else {
            return Err(Interrupt::Problem(format!(
                "{} is {}; give settings as a hash: {{'setting' => 'value'}}",
                argument.inspect(),
                argument.kind()
            )));
        };
        settings.extend(pairs.iter().map(|(name, value)| (name.to_text(), value.to_text())));
    }
    session
        .cluster()
        .create_namespace(&namespace, settings)
        .map_err(|error| explain_error(session, &namespace, &error))?;
    Ok(Value::Nil)
}

fn alter(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let namespace = arguments.name(0, "namespace")?;
    let mut settings = settings(session, &namespace)?;
    for argument in arguments.flattened(1) {
        let Value::Hash(pairs) = argument else {
            return Err(Interrupt::Problem(format!(
                "{} is {}; give a hash with METHOD => 'set' or 'unset'",
                argument.inspect(),
                argument.kind()
            )));
        };
        let mut options = Options::new("alter_namespace", pairs);
        match options.text("METHOD")?.as_deref() {
            Some("set") => settings.extend(options.rest()),
            Some("unset") => {
                let Some(name) = options.text("NAME")? else {
                    return Err(Interrupt::problem("unset needs the setting: NAME => 'setting'"));
                };
                if settings.remove(&name).is_none() {
                    return Err(Interrupt::Problem(format!(
                        "namespace {namespace} has no setting {name}"
                    )));
                }
                options.finish()?;
            }
            Some(method) => {
                return Err(Interrupt::Problem(format!(
                    "Unknown method {method}; there are set and unset"
                )));
            }
            None => {
                return Err(Interrupt::problem(
                    "METHOD is missing; give METHOD => 'set' or METHOD => 'unset'",
                ));
            }
        }
    }
    session
        .cluster()
        .alter_namespace(&namespace, settings)
        .map_err(|error| explain_error(session, &namespace, &error))?;
    Ok(Value::Nil)
}

fn describe(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let namespace = arguments.name(0, "namespace")?;
    let settings = settings(session, &namespace)?;
    let settings: Vec<_> =
        settings.iter().map(|(name, value)| format!(", {name} => '{value}'")).collect();
    session.header(&["DESCRIPTION"])?;
    session.row(&format!("{{NAME => '{namespace}'{}}}", settings.concat()))?;
    session.print_line("Quota is disabled")?;
    Ok(Value::Nil)
}

fn drop_namespace(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let namespace = arguments.name(0, "namespace")?;
    session
        .cluster()
        .drop_namespace(&namespace)
        .map_err(|error| explain_error(session, &namespace, &error))?;
    Ok(Value::Nil)
}

fn list(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let pattern = arguments.pattern(0)?;
    session.header(&["NAMESPACE"])?;
    let mut names: Vec<_> =
        session.cluster().list_namespaces()?.into_iter().map(|(name, _)| name).collect();
    names.retain(|name| pattern.is_match(name));
    for name in &names {
        session.row(name)?;
    }
    session.footer(names.len() as u64)?;
    Ok(Value::Nil)
}

fn list_tables(session: &mut Session<'_>, arguments: &Arguments) -> EvalResult {
    let namespace = arguments.name(0, "namespace")?;
    session.header(&["TABLE"])?;
    settings(session, &namespace)?;
    let tables = session.cluster().list_tables()?;
    let names: Vec<_> = tables
        .iter()
        .map(|table| table.name())
        .filter(|name| name.namespace() == namespace)
        .map(|name| name.qualifier().to_owned())
        .collect();
    for name in &names {
        session.row(name)?;
    }
    session.footer(names.len() as u64)?;
    Ok(Value::Array(names.into_iter().map(Value::text).collect()))
}
