//! Table splits, for the shell's `CREATE TABLE` and for `halite key split`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use halite::rowkey::language::SplitClause;
use halite::rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, Splits};
use halite::rowkey::{KeySchema, LanguageError};
use halite::{Bytes, TableName, to_bytes_binary, to_string_binary};
use halite_rowkey_tools::split_sample;

use super::sampling::keys_from_file;
use crate::key::arguments::KeySpecArgs;
use crate::text_table::TextTable;

/// Maximum number of regions printed individually; further ones are omitted.
const MAX_PRINTED_REGIONS: usize = 64;
/// Bar length of the largest region, in characters.
const MAX_BAR_CHARS: f64 = 40.0;

/// Resolves the splits of a clause. `like` returns the split keys of another table.
///
/// # Errors
/// Returns an error if the key does not allow the clause, a file cannot be read, or `like` fails.
pub(crate) fn resolve_splits(
    clause: &SplitClause,
    key: &KeySchema,
    like: impl FnOnce(&TableName) -> anyhow::Result<Vec<Bytes>>,
) -> anyhow::Result<Splits> {
    let splits = match (Splits::declared(clause, key)?, clause) {
        (Some(splits), _) => splits,
        (None, SplitClause::Like(table)) => Splits::at(like(table)?)?,
        (None, SplitClause::FromSample { file, regions }) => {
            split_sample(keys_from_file(Path::new(file))?.keys, *regions)?
        }
        (None, SplitClause::Rolling(width_ms)) => {
            let rolling = Rolling::for_schema(&Arc::new(key.clone()), *width_ms)
                .map_err(|error| anyhow!(error))?;
            Splits::at(
                rolling
                    .boundaries(jiff::Timestamp::now().as_millisecond(), DEFAULT_WIDTHS_AHEAD)?,
            )?
        }
        (None, SplitClause::BySalt { .. } | SplitClause::Into(_) | SplitClause::At(_)) => {
            bail!("SPLIT {clause} has no splits for this key")
        }
    };
    Ok(splits.for_schema(key))
}

/// Decodes `\xNN` in a key to a byte, as HBase's `toBytesBinary` does; other bytes are unchanged.
pub(crate) fn unescape(key: &[u8]) -> Bytes {
    std::str::from_utf8(key)
        .map_or_else(|_| Bytes::copy_from_slice(key), |text| to_bytes_binary(text).into())
}

/// Prints the split keys of a table and the share of rows per region.
pub(crate) fn split(
    key_spec: &KeySpecArgs,
    clause: Option<&str>,
    as_shell: bool,
) -> anyhow::Result<ExitCode> {
    let found = key_spec.resolve()?;
    let splits = match clause {
        Some(text) => {
            let clause: SplitClause = text.parse().map_err(|error: LanguageError| {
                anyhow!("the splits cannot be read\n{}", error.render(text))
            })?;
            resolve_splits(&clause, &found.key, |table| {
                let place = key_spec.backend.open_existing()?;
                let regions = place.table(table)?.regions()?;
                place.close()?;
                Ok(Splits::like(&regions).keys)
            })?
        }
        None if key_spec.table.is_some() => Splits::like(&found.regions).for_schema(&found.key),
        None => bail!(
            "say how to split, as in 'BY SALT', 'INTO 16' or \"FROM SAMPLE 'keys.txt' INTO 16\""
        ),
    };
    if as_shell { print_shell_option(&splits) } else { print_table(&splits) }
}

fn print_shell_option(splits: &Splits) -> anyhow::Result<ExitCode> {
    let quoted: Vec<_> = splits
        .keys
        .iter()
        .map(|key| {
            format!("\"{}\"", to_string_binary(key).replace('"', "\\x22").replace('#', "\\x23"))
        })
        .collect();
    writeln!(std::io::stdout(), "SPLITS => [{}]", quoted.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn print_table(splits: &Splits) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut table = TextTable::new(&[">region", "begins at", ">share", ""]);
    let most = splits.shares.iter().flatten().copied().fold(0.0, f64::max);
    let starts =
        std::iter::once(String::new()).chain(splits.keys.iter().map(|key| to_string_binary(key)));
    for (at, start) in starts.enumerate().take(MAX_PRINTED_REGIONS) {
        let share = splits.shares.as_ref().and_then(|shares| shares.get(at));
        let percent = share.map_or_else(String::new, |share| format!("{:.2} %", share * 100.0));
        table.row([
            (at + 1).to_string(),
            start,
            percent,
            share.map_or_else(String::new, |share| bar(share / most)),
        ]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    if splits.regions() > MAX_PRINTED_REGIONS {
        writeln!(out, "and {} more", splits.regions() - MAX_PRINTED_REGIONS)?;
    }
    match splits.spread() {
        Some(spread) if spread.empty > 0 => writeln!(
            out,
            "\n{} regions; the greatest gets {:.2} times the mean, {} get nothing",
            splits.regions(),
            spread.max_over_mean,
            spread.empty
        )?,
        Some(spread) => writeln!(
            out,
            "\n{} regions; the greatest gets {:.2} times the mean",
            splits.regions(),
            spread.max_over_mean
        )?,
        None => writeln!(out, "\n{} regions", splits.regions())?,
    }
    splits.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(ExitCode::SUCCESS)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most as many characters as the longest bar"
)]
fn bar(of_most: f64) -> String {
    "#".repeat((of_most * MAX_BAR_CHARS).round() as usize)
}
