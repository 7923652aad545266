//! `halite key encode` and `decode`.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use halite::block_on;
use halite::key::{hexadecimal, parse_bytes, print_bytes};
use halite::rowkey::literal::Shown;
use halite::rowkey::{Cause, KeySchema, Value};

use super::declared::Found;
use crate::cmd::key::Declared;
use crate::text_table::TextTable;

/// Prints the key of values given as `FIELD=VALUE`, whole and by segments.
/// With `assign`, values that have no number in a dictionary get one.
pub(crate) fn encode(which: &Declared, given: &[String], assign: bool) -> anyhow::Result<ExitCode> {
    let parsed = |key: &KeySchema| key.parse_values(given.iter().map(String::as_str)).map_err(|error| anyhow!(error));
    let found = which.find_with(|found| match &found.dictionary {
        Some(dictionary) if assign => Ok(block_on(dictionary.assign(&parsed(&found.key)?))?),
        _ => Ok(()),
    })?;
    let key = &found.key;
    let values = parsed(key)?;
    let bytes = key.encode_with(&values, &*found.helper()).map_err(|error| match error.cause {
        Cause::NotInDictionary if found.dictionary.is_some() => anyhow!("{error}; --assign gives it a number"),
        Cause::NotInDictionary => anyhow!("{error}; dictionaries are kept beside tables: give --table"),
        _ => error.into(),
    })?;
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
        let bytes = read_key_bytes(text)?;
        match key.decode_with(&bytes, &*helper) {
            Ok(decoded) => {
                writeln!(out, "{}", key.show(&decoded))?;
            }
            Err(error) => {
                bad += 1;
                writeln!(out, "{text}: {error}")?;
            }
        }
        Ok(())
    };
    if keys.is_empty() {
        for line in std::io::stdin().lock().lines() {
            one(line?.trim_end())?;
        }
    } else {
        keys.iter().try_for_each(|text| one(text))?;
    }
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Bytes as the shell prints them, or in hexadecimal.
pub(super) fn read_key_bytes(text: &str) -> anyhow::Result<Vec<u8>> {
    if text.starts_with("x'") {
        return match halite::rowkey::FieldType::Bytes.parse(text) {
            Ok(Value::Bytes(bytes)) => Ok(bytes.into_owned()),
            _ => bail!("{text}: an even number of hexadecimal digits is wanted between x' and '"),
        };
    }
    Ok(parse_bytes(text))
}
