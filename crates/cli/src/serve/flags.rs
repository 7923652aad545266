//! Command-line flags of the options.

use clap::builder::Arg;
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::config::ServeConfig;
use super::options::OPTIONS;

/// Contents of the command line, still as text.
#[derive(Debug, Default)]
pub(crate) struct ServeFlags {
    /// Names and values of the options that were passed.
    pub(crate) options: Vec<(&'static str, String)>,
    /// HBase setting names and values, in command-line order.
    pub(crate) hbase_settings: Vec<(String, String)>,
    /// Configuration file.
    pub(crate) config: Option<String>,
}

impl FromArgMatches for ServeFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self { config: matches.get_one("config").cloned(), ..Self::default() };
        for option in OPTIONS {
            match option.value {
                Some(_) => flags.options.extend(
                    matches
                        .get_one::<String>(option.name)
                        .map(|value| (option.name, value.clone())),
                ),
                None => flags.options.extend(
                    matches.get_flag(option.name).then(|| (option.name, "true".to_owned())),
                ),
            }
        }
        let typed = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        if typed("data") && typed("ephemeral") {
            return Err(Error::raw(
                ErrorKind::ArgumentConflict,
                "--ephemeral keeps the store in a directory of its own; leave out --data or \
                 --ephemeral\n",
            ));
        }
        flags.hbase_settings.extend(
            matches.get_many::<(String, String)>("hbase-conf").into_iter().flatten().cloned(),
        );
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ServeFlags {
    fn augment_args(command: Command) -> Command {
        let defaults = ServeConfig::default();
        let mut command = command
            .arg(Arg::new("config").long("config").value_name("FILE").help(
                "Read options from this TOML file; what the command line says comes before it",
            ))
            .arg(
                Arg::new("hbase-conf")
                    .long("hbase-conf")
                    .value_name("KEY=VALUE")
                    .action(ArgAction::Append)
                    .value_parser(name_and_value)
                    .help(
                        "Set what HBase calls by this name, as in \
                         hbase.client.scanner.timeout.period=5000; may be repeated",
                    ),
            );
        for option in OPTIONS {
            let arg = Arg::new(option.name).long(option.name);
            let arg = match option.value {
                Some(value) => arg.value_name(value).help(format!(
                    "{} [default: {}]",
                    option.help,
                    option.format(&defaults)
                )),
                None => arg.action(ArgAction::SetTrue).help(option.help),
            };
            // The same variables as for the other commands.
            command = command.arg(match option.name {
                "data" => arg.env("HALITE_DATA"),
                "wal-recovery" => arg.env("HALITE_WAL_RECOVERY"),
                _ => arg,
            });
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err("give it as KEY=VALUE".into()),
    }
}
