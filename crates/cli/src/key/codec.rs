//! `halite key encode` and `halite key decode`.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use halite::block_on;
use halite::key::{to_hex, to_string_binary};
use halite::rowkey::literal::{LiteralDisplay, read_bytes};
use halite::rowkey::values_of_line;
use halite::rowkey::{KeyBuf, KeyErrorKind, KeySchema, Value};

use super::key_spec::ResolvedKey;
use crate::key::arguments::KeySpecArgs;
use crate::text_table::TextTable;

/// Prints the key of values given as `FIELD=VALUE`, whole and by segments. Lists of values give
/// several keys. Without values, reads lines of standard input, one key per line, in the same
/// syntax. With `assign`, values that are missing from a dictionary are assigned numbers.
pub(crate) fn encode(
    key_spec: &KeySpecArgs,
    given: &[String],
    assign: bool,
) -> anyhow::Result<ExitCode> {
    if given.is_empty() {
        return encode_lines(key_spec, assign);
    }
    let parsed = |key: &KeySchema| {
        key.parse_value_lists(given.iter().map(String::as_str)).map_err(|error| anyhow!(error))
    };
    let found = key_spec
        .resolve_with(assign, |found| assign_numbers(found, assign, || parsed(&found.key)))?;
    let keys = parsed(&found.key)?;
    if let [values] = &keys[..] {
        return print_key(&found, values);
    }
    let mut out = std::io::stdout().lock();
    keys.iter()
        .try_for_each(|values| {
            Ok(writeln!(out, "{}", to_string_binary(&encode_key(&found, values)?))?)
        })
        .map(|()| ExitCode::SUCCESS)
}

/// Assigns numbers to dictionary values, if requested.
fn assign_numbers(
    found: &ResolvedKey,
    assign: bool,
    keys: impl FnOnce() -> anyhow::Result<Vec<Vec<Value<'static>>>>,
) -> anyhow::Result<()> {
    if let (true, Some(dictionary)) = (assign, &found.dictionary) {
        keys()?.iter().try_for_each(|values| block_on(dictionary.assign(values)))?;
    }
    Ok(())
}

/// Prints the keys of the lines of standard input. Each line contains `FIELD=VALUE` items,
/// separated by tabs, or by blanks where there is no tab, both outside of quotes.
fn encode_lines(key_spec: &KeySpecArgs, assign: bool) -> anyhow::Result<ExitCode> {
    let lines = std::io::stdin().lock().lines().collect::<Result<Vec<String>, _>>()?;
    let values = |key: &KeySchema| {
        let numbered = (1..).zip(&lines).filter(|(_, line)| !line.trim().is_empty());
        let mut all = Vec::new();
        for (number, line) in numbered {
            let keys = values_of_line(line)
                .and_then(|given| key.parse_value_lists(given))
                .map_err(|error| anyhow!("line {number}: {error}"))?;
            all.extend(keys.into_iter().map(|values| (number, values)));
        }
        anyhow::Ok(all)
    };
    let found = key_spec.resolve_with(assign, |found| {
        assign_numbers(found, assign, || {
            Ok(values(&found.key)?.into_iter().map(|(_, values)| values).collect())
        })
    })?;
    let mut out = std::io::stdout().lock();
    for (number, values) in values(&found.key)? {
        writeln!(
            out,
            "{}",
            to_string_binary(
                &encode_key(&found, &values).with_context(|| format!("line {number}"))?
            )
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the key of values, or an error that names the invalid field.
fn encode_key(found: &ResolvedKey, values: &[Value<'_>]) -> anyhow::Result<KeyBuf> {
    found.key.encode_with(values, &*found.resolver()).map_err(|error| {
        let text = found.key.describe_error(&error);
        match error.kind {
            KeyErrorKind::NotInDictionary if found.dictionary.is_some() => {
                anyhow!("{text}; --assign gives it a number")
            }
            KeyErrorKind::NotInDictionary => {
                anyhow!("{text}; dictionaries belong to tables: give --table")
            }
            _ => anyhow!(text),
        }
    })
}

/// Prints one key, whole and by segments.
fn print_key(found: &ResolvedKey, values: &[Value<'_>]) -> anyhow::Result<ExitCode> {
    let key = &found.key;
    let bytes = encode_key(found, values)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", to_string_binary(&bytes))?;
    writeln!(out, "x'{}', {} bytes\n", to_hex(&bytes), bytes.len())?;
    let mut table = TextTable::new(&[">", "segment", "bytes", "of"]);
    let ranges = key.split_segments(&bytes)?;
    for (at, range) in ranges.into_iter().enumerate() {
        let of = key.segments()[at].kind.field().map_or(String::new(), |field| {
            LiteralDisplay(&values[field], key.fields()[field].ty).to_string()
        });
        table.row([(at + 1).to_string(), key.segment_text(at), to_hex(&bytes[range]), of]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints decoded keys, one per line. Without keys, reads them from standard input.
pub(crate) fn decode(found: &ResolvedKey, keys: &[String]) -> anyhow::Result<ExitCode> {
    let (key, helper) = (&found.key, found.resolver());
    let mut out = std::io::stdout().lock();
    let mut bad = 0u64;
    let mut one = |text: &str| -> anyhow::Result<()> {
        let bytes = read_bytes(text).map_err(|error| anyhow!(error))?;
        match key.decode_with(&bytes, &*helper) {
            Ok(decoded) => {
                writeln!(out, "{}", key.format_values(&decoded))?;
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
