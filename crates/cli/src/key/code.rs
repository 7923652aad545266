//! `halite key encode` and `decode`.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use halite::block_on;
use halite::key::{hexadecimal, print_bytes};
use halite::rowkey::literal::{Shown, read_bytes};
use halite::rowkey::values_of_line;
use halite::rowkey::{Cause, KeyBuf, KeySchema, Value};

use super::declared::Found;
use crate::cmd::key::Declared;
use crate::text_table::TextTable;

/// Prints the key of values given as `FIELD=VALUE`, whole and by segments; of lists of values, and of lines of standard input where no
/// value is given, a key a line, read as on the command line. With `assign`, values that have no number in a dictionary get one.
pub(crate) fn encode(which: &Declared, given: &[String], assign: bool) -> anyhow::Result<ExitCode> {
    if given.is_empty() {
        return encode_lines(which, assign);
    }
    let parsed = |key: &KeySchema| key.parse_value_lists(given.iter().map(String::as_str)).map_err(|error| anyhow!(error));
    let found = which.find_with(assign, |found| number(found, assign, || parsed(&found.key)))?;
    let keys = parsed(&found.key)?;
    if let [values] = &keys[..] {
        return show(&found, values);
    }
    let mut out = std::io::stdout().lock();
    keys.iter().try_for_each(|values| Ok(writeln!(out, "{}", print_bytes(&key_of(&found, values)?))?)).map(|()| ExitCode::SUCCESS)
}

/// Gives values of dictionaries their numbers, if that is asked for.
fn number(found: &Found, assign: bool, keys: impl FnOnce() -> anyhow::Result<Vec<Vec<Value<'static>>>>) -> anyhow::Result<()> {
    if let (true, Some(dictionary)) = (assign, &found.dictionary) {
        keys()?.iter().try_for_each(|values| block_on(dictionary.assign(values)))?;
    }
    Ok(())
}

/// The keys of the lines of standard input, each with `FIELD=VALUE` separated by tabs, or by blanks where there is no tab; both outside of quotes.
fn encode_lines(which: &Declared, assign: bool) -> anyhow::Result<ExitCode> {
    let lines = std::io::stdin().lock().lines().collect::<Result<Vec<String>, _>>()?;
    let values = |key: &KeySchema| {
        let numbered = (1..).zip(&lines).filter(|(_, line)| !line.trim().is_empty());
        let mut all = Vec::new();
        for (number, line) in numbered {
            let keys = values_of_line(line).and_then(|given| key.parse_value_lists(given)).map_err(|error| anyhow!("line {number}: {error}"))?;
            all.extend(keys.into_iter().map(|values| (number, values)));
        }
        anyhow::Ok(all)
    };
    let found = which.find_with(assign, |found| number(found, assign, || Ok(values(&found.key)?.into_iter().map(|(_, values)| values).collect())))?;
    let mut out = std::io::stdout().lock();
    for (number, values) in values(&found.key)? {
        writeln!(out, "{}", print_bytes(&key_of(&found, &values).with_context(|| format!("line {number}"))?))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The key of values, or which field of them is wrong.
fn key_of(found: &Found, values: &[Value<'_>]) -> anyhow::Result<KeyBuf> {
    found.key.encode_with(values, &*found.helper()).map_err(|error| {
        let text = found.key.describe_error(&error);
        match error.cause {
            Cause::NotInDictionary if found.dictionary.is_some() => anyhow!("{text}; --assign gives it a number"),
            Cause::NotInDictionary => anyhow!("{text}; dictionaries are kept beside tables: give --table"),
            _ => anyhow!(text),
        }
    })
}

/// One key, whole and by segments.
fn show(found: &Found, values: &[Value<'_>]) -> anyhow::Result<ExitCode> {
    let key = &found.key;
    let bytes = key_of(found, values)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", print_bytes(&bytes))?;
    writeln!(out, "x'{}', {} bytes\n", hexadecimal(&bytes), bytes.len())?;
    let mut table = TextTable::new(&[">", "segment", "bytes", "of"]);
    let ranges = key.split_segments(&bytes)?;
    for (at, range) in ranges.into_iter().enumerate() {
        let of = key.segments()[at].kind.field().map_or(String::new(), |field| Shown(&values[field], key.fields()[field].ty).to_string());
        table.row([(at + 1).to_string(), key.segment_text(at), hexadecimal(&bytes[range]), of]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what keys say, a line each; those of standard input where none is given.
pub(crate) fn decode(found: &Found, keys: &[String]) -> anyhow::Result<ExitCode> {
    let (key, helper) = (&found.key, found.helper());
    let mut out = std::io::stdout().lock();
    let mut bad = 0u64;
    let mut one = |text: &str| -> anyhow::Result<()> {
        let bytes = read_bytes(text).map_err(|error| anyhow!(error))?;
        match key.decode_with(&bytes, &*helper) {
            Ok(decoded) => {
                writeln!(out, "{}", key.show(&decoded))?;
            }
            Err(error) => {
                bad += 1;
                writeln!(out, "{text}: {}", key.describe_bad_key(&bytes, &*helper, &error))?;
            }
        }
        Ok(())
    };
    if keys.is_empty() {
        for line in std::io::stdin().lock().lines() {
            one(&line?)?;
        }
    } else {
        keys.iter().try_for_each(|text| one(text))?;
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
