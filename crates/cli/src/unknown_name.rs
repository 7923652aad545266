//! Unknown flags, subcommands and environment variables: the nearest known name.
//!
//! The shell, the configuration file and the attributes of tables ask the same function of
//! `halite-types` for it.

use anyhow::bail;
use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
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
    let command = arguments
        .iter()
        .fold(&root, |command, argument| command.find_subcommand(argument).unwrap_or(command));
    let near = if given == ContextKind::InvalidArg {
        let flags = command.get_arguments().filter_map(clap::Arg::get_long);
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

/// Checks the environment variables of the command. A name is refused only if a known one is near,
/// because other programs set variables with the prefix: an orchestrator names the addresses of a
/// service `halite` so.
///
/// # Errors
/// Returns an error for the first misspelt name.
pub(crate) fn check_variables(names: impl Iterator<Item = String>) -> anyhow::Result<()> {
    for name in names {
        let Some(own) = name.strip_prefix(PREFIX) else { continue };
        if VARIABLES.contains(&own) {
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
                "environment variable {name}: there is no such variable; give \"halite serve\" the option --{near}, or the key {near} in its configuration file"
            );
        }
    }
    Ok(())
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
    fn unknown_flags_and_subcommands_are_refused_with_the_nearest() {
        for (line, near) in [
            ("halite serve --zk-port 1", "'--zookeeper-port'"),
            ("halite serve --wal-snyc flush", "'--wal-sync'"),
            ("halite shell --conect x", "'--connect'"),
            ("halite key lnt", "'lint'"),
            ("halite serv", "'serve'"),
        ] {
            let text = refused(line);
            assert!(text.contains("similar") && text.contains(near), "{text}");
        }
    }

    #[test]
    fn misspelt_variables_are_refused_with_the_nearest() {
        let check = |name: &str| check_variables([name.to_owned()].into_iter());
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
    fn the_variables_of_all_arguments_are_known() {
        fn check(command: &Command) {
            for variable in command.get_arguments().filter_map(clap::Arg::get_env) {
                let own = variable.to_str().and_then(|name| name.strip_prefix(PREFIX));
                assert!(own.is_some_and(|own| VARIABLES.contains(&own)), "{variable:?}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
