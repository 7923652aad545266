//! Where tables are split: for the shell's `CREATE TABLE`, and `halite key split`.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use halite::rowkey::language::SplitClause;
use halite::rowkey::split::{Rolling, Splits, WIDTHS_AHEAD};
use halite::rowkey::{KeySchema, LanguageError};
use halite::{Bytes, TableName, parse_bytes, print_bytes};

use super::keys::of_file;
use crate::cmd::key::Declared;
use crate::text_table::TextTable;

/// Regions that are printed one by one; of more, the first ones.
const REGIONS_SHOWN: usize = 64;
/// Characters of the bar of the greatest region.
const BAR: f64 = 40.0;

/// The splits a clause asks for. `like` finds the keys at which another table is split.
///
/// # Errors
/// A clause that the key does not allow; a file that cannot be read; what `like` says.
pub(crate) fn splits_of(
    clause: &SplitClause,
    key: &KeySchema,
    like: impl FnOnce(&TableName) -> anyhow::Result<Vec<Bytes>>,
) -> anyhow::Result<Splits> {
    let splits = match (Splits::declared(clause, key)?, clause) {
        (Some(splits), _) => splits,
        (None, SplitClause::Like(table)) => Splits::at(like(table)?)?,
        (None, SplitClause::FromSample { file, regions }) => Splits::from_sample(of_file(Path::new(file))?.keys, *regions)?,
        (None, SplitClause::Rolling(width_ms)) => {
            let rolling = Rolling::of(&Arc::new(key.clone()), *width_ms).map_err(|error| anyhow!(error))?;
            Splits::at(rolling.borders(jiff::Timestamp::now().as_millisecond(), WIDTHS_AHEAD)?)?
        }
        (None, SplitClause::BySalt { .. } | SplitClause::Into(_) | SplitClause::At(_)) => bail!("SPLIT {clause} has no splits for this key"),
    };
    Ok(splits.for_schema(key))
}

/// `\xNN` in a key is a byte, as in HBase's `toBytesBinary`; other bytes are themselves.
pub(crate) fn unescape(key: &[u8]) -> Bytes {
    std::str::from_utf8(key).map_or_else(|_| Bytes::copy_from_slice(key), |text| parse_bytes(text).into())
}

/// Prints where a table is split, and what share of the rows each region gets.
pub(crate) fn split(which: &Declared, clause: Option<&str>, as_shell: bool) -> anyhow::Result<ExitCode> {
    let found = which.find()?;
    let splits = match clause {
        Some(text) => {
            let clause: SplitClause = text.parse().map_err(|error: LanguageError| anyhow!("the splits cannot be read\n{}", error.render(text)))?;
            splits_of(&clause, &found.key, |table| {
                let place = which.place.open_existing()?;
                let regions = place.table(&table.to_string())?.regions()?;
                place.close()?;
                Ok(Splits::like(&regions).keys)
            })?
        }
        None if which.table.is_some() => Splits::like(&found.regions).for_schema(&found.key),
        None => bail!("say how to split, as in 'BY SALT', 'INTO 16' or \"FROM SAMPLE 'keys.txt' INTO 16\""),
    };
    if as_shell { tell_shell(&splits) } else { tell(&splits) }
}

fn tell_shell(splits: &Splits) -> anyhow::Result<ExitCode> {
    let quoted: Vec<_> = splits.keys.iter().map(|key| format!("\"{}\"", print_bytes(key).replace('"', "\\x22").replace('#', "\\x23"))).collect();
    writeln!(std::io::stdout(), "SPLITS => [{}]", quoted.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn tell(splits: &Splits) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut table = TextTable::new(&[">region", "begins at", ">share", ""]);
    let most = splits.shares.iter().flatten().copied().fold(0.0, f64::max);
    let starts = std::iter::once(String::new()).chain(splits.keys.iter().map(|key| print_bytes(key)));
    for (at, start) in starts.enumerate().take(REGIONS_SHOWN) {
        let share = splits.shares.as_ref().and_then(|shares| shares.get(at));
        let percent = share.map_or_else(String::new, |share| format!("{:.2} %", share * 100.0));
        table.row([(at + 1).to_string(), start, percent, share.map_or_else(String::new, |share| bar(share / most))]);
    }
    for line in table.lines() {
        writeln!(out, "{line}")?;
    }
    if splits.regions() > REGIONS_SHOWN {
        writeln!(out, "and {} more", splits.regions() - REGIONS_SHOWN)?;
    }
    match splits.spread() {
        Some(spread) if spread.empty > 0 => writeln!(
            out,
            "\n{} regions; the greatest gets {:.2} times the mean, {} get nothing",
            splits.regions(),
            spread.max_over_mean,
            spread.empty
        )?,
        Some(spread) => writeln!(out, "\n{} regions; the greatest gets {:.2} times the mean", splits.regions(), spread.max_over_mean)?,
        None => writeln!(out, "\n{} regions", splits.regions())?,
    }
    splits.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most as many characters as the longest bar")]
fn bar(of_most: f64) -> String {
    "#".repeat((of_most * BAR).round() as usize)
}
