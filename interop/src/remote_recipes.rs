//! Checks of the recipes on a real HBase, each with a writer that is killed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::clients::child;

/// Maximum duration of a check beside the others.
const LIMIT: Duration = Duration::from_mins(4);
/// Items of a check.
const SCALE: &str = "200";

/// Runs the check of every recipe that the command lists, all at once: each waits for tables and
/// for answers most of the time.
///
/// # Errors
/// Returns an error if a table differs from the recipe's model.
pub(crate) fn check(halite: &Path, work: &Path, zookeeper: u16) -> Result<()> {
    let folder = work.join("recipes");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let list = folder.join("list.log");
    child::run(Command::new(halite).args(["recipe", "list"]), &list, LIMIT)
        .map_err(|error| format!("recipe list {error}"))?;
    let uri = format!("zk://127.0.0.1:{zookeeper}/hbase");
    let mut running = Vec::new();
    for name in recipes(&child::text(&list)) {
        let log = folder.join(&name).with_added_extension("log");
        let mut command = Command::new(halite);
        command.args(["recipe", &name, "check", "--scale", SCALE, "--connect", &uri]);
        running.push((child::start(&mut command, &log)?, name, log));
    }
    // All of them end automatically, and each is awaited even if another has failed.
    let mut failures = Vec::new();
    for (mut child, name, log) in running {
        match child::finish(&mut child, &log, LIMIT) {
            Ok(()) => println!("{}", child::text(&log).lines().last().unwrap_or_default()),
            Err(error) => failures.push(format!("check of {name} {error}")),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Returns the first word of each line after the heading, until an empty one.
fn recipes(list: &str) -> Vec<String> {
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn recipes_are_the_first_words_of_the_list() {
        let list = "recipe  what\nfeed    of friends\nfiles   a tree\n\nBegin with: halite\n";
        assert_eq!(super::recipes(list), ["feed", "files"]);
    }
}
