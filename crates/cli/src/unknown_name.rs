//! Unknown flags, subcommands and environment variables: the nearest known name.
//!
//! The shell, the configuration file and the attributes of tables ask the same function of
//! `halite-types` for it.

use anyhow::bail;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};
use halite_types::suggest::{closest_match, did_you_mean};

use crate::serve::option_names;

/// Environment variables that the command reads, without the prefix.
const VARIABLES: [&str; 4] = ["CONNECT", "DATA", "HISTORY", "WAL_RECOVERY"];
const PREFIX: &str = "HALITE_";

/// Replaces the suggestion of an error about an unknown flag or subcommand by the nearest name, if
/// one is near.
pub(crate) fn suggest(mut error: Error, mut root: Command, arguments: &[String]) -> Error {
    let (given, suggestion) = match error.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        ErrorKind::InvalidSubcommand => {
            (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand)
        }
        _ => return error,
    };
    let Some(ContextValue::String(name)) = error.get(given) else { return error };
    root.build();
    let command = failed_command(&root, arguments);
    let near = if given == ContextKind::InvalidArg {
        let flags = command.get_arguments().filter_map(Arg::get_long);
        closest_match(name.trim_start_matches('-'), flags).map(|flag| format!("--{flag}"))
    } else {
        closest_match(name, command.get_subcommands().map(Command::get_name)).map(str::to_owned)
    };
    if let Some(near) = near {
        error.insert(suggestion, ContextValue::Strings(vec![near]));
        // The usage of the error is that of another suggestion.
        let usage = command.clone().render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    error
}

/// Returns the subcommand in which the unknown name is: the last one before it.
fn failed_command<'a>(root: &'a Command, arguments: &[String]) -> &'a Command {
    let mut command = root;
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        if argument.starts_with('-') {
            let Some(flag) = find_flag(command, argument) else { break };
            if flag.get_action().takes_values() && !argument.contains('=') {
                arguments.next();
            }
        } else {
            let Some(subcommand) = command.find_subcommand(argument) else { break };
            command = subcommand;
        }
    }
    command
}

/// Returns the flag of an argument such as `--data`, `--data=PATH` or `-v`.
fn find_flag<'a>(command: &'a Command, argument: &str) -> Option<&'a Arg> {
    let name = argument.split('=').next().unwrap_or_default();
    command.get_arguments().find(|flag| match name.strip_prefix("--") {
        Some(long) => flag.get_long() == Some(long),
        None => flag.get_short().is_some_and(|short| name[1..].chars().eq([short])),
    })
}

/// Checks the names and values of environment variables. A name is refused only if a known one is
/// near, because other programs set variables with the prefix.
///
/// # Errors
/// Returns an error for the first misspelt name.
pub(crate) fn check_variables(
    variables: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<()> {
    for (name, value) in variables {
        let Some(own) = name.strip_prefix(PREFIX) else { continue };
        if VARIABLES.contains(&own) || is_service_address(&name, &value) {
            continue;
        }
        let near = closest_match(own, VARIABLES.into_iter()).map(|near| format!("{PREFIX}{near}"));
        if near.is_some() {
            bail!(
                "environment variable {name}: there is no such variable{}",
                did_you_mean(near.as_deref())
            );
        }
        let option = own.to_lowercase().replace('_', "-");
        if let Some(near) = closest_match(&option, option_names()) {
            bail!(
                "environment variable {name}: there is no such variable; give \"halite serve\" the \
                 option --{near}, or the key {near} in its configuration file"
            );
        }
    }
    Ok(())
}

/// Returns `true` for a variable with which Kubernetes gives every container the addresses of a
/// service, such as `HALITE_HTTP_PORT=tcp://10.0.0.1:80` of a service `halite-http`.
fn is_service_address(name: &str, value: &str) -> bool {
    let is_url = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    is_url
        || name.contains("_PORT_")
        || name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::Cli;

    /// Returns the error text of a command line.
    fn refused(line: &str) -> String {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = Cli::try_parse_from(&arguments).err().expect("an unknown name");
        suggest(error, Cli::command(), &arguments).to_string()
    }

    #[test]
    fn unknown_flags_and_subcommands_suggest_nearest_name() {
        for (line, near) in [
            ("halite serve --zk-port 1", "'--zookeeper-port'"),
            ("halite serve --wal-snyc flush", "'--wal-sync'"),
            ("halite shell --conect x", "'--connect'"),
            ("halite key lnt", "'lint'"),
            ("halite serv", "'serve'"),
            // An argument after the unknown name is no subcommand.
            ("halite shel key", "'shell'"),
        ] {
            let text = refused(line);
            assert!(text.contains("similar") && text.contains(near), "{text}");
        }
    }

    #[test]
    fn misspelled_variables_suggest_nearest_name() {
        let check = |name: &str| check_variables([(name.to_owned(), "1".to_owned())].into_iter());
        for (name, near) in [
            ("HALITE_DATTA", "(did you mean HALITE_DATA?)"),
            ("HALITE_WAL_RECOVRY", "(did you mean HALITE_WAL_RECOVERY?)"),
            ("HALITE_ZOOKEEPER_PORT", "--zookeeper-port"),
            ("HALITE_ZK_PORT", "--zookeeper-port"),
        ] {
            let text = check(name).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(near), "{text}");
        }
        for name in ["HALITE_DATA", "HALITE_SERVICE_HOST", "HALITE_PORT_80_TCP", "HOME"] {
            check(name).unwrap();
        }
    }

    #[test]
    fn addresses_of_services_are_no_misspelled_variables() {
        for (name, value) in [
            ("HALITE_HTTP_PORT", "tcp://10.0.0.1:80"),
            ("HALITE_HTTP_PORT_80_TCP_PORT", "80"),
            ("HALITE_ZOOKEEPER_SERVICE_PORT", "2181"),
            ("HALITE_ZOOKEEPER_SERVICE_PORT_CLIENT", "2181"),
            ("HALITE_DATA_SERVICE_HOST", "10.0.0.1"),
        ] {
            check_variables([(name.to_owned(), value.to_owned())].into_iter()).unwrap();
        }
    }

    #[test]
    fn variables_of_all_arguments_are_listed() {
        fn check(command: &Command) {
            for variable in command.get_arguments().filter_map(Arg::get_env) {
                let own = variable.to_str().and_then(|name| name.strip_prefix(PREFIX));
                assert!(own.is_some_and(|own| VARIABLES.contains(&own)), "{variable:?}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
