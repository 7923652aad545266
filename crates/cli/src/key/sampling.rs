//! Key samples of a table or a file. A table is sampled at many positions, without reading much of
//! it.

use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use halite::key::successor_of_row;
use halite::{Bytes, Filter, RegionInfo, Scan, Table, TableName, block_on};

use halite::rowkey::literal::read_bytes;
use halite::rowkey::{KeySchema, spread_regions};
use halite_rowkey_tools::KeyFit;

use super::trace_file;
use crate::backend::BackendArgs;

/// Maximum positions per region at which keys are read.
const MAX_POSITIONS_PER_REGION: usize = 64;
/// Maximum regions and keys examined incidentally by a query on a table.
const GLANCED_REGIONS: usize = 16;
const GLANCED_KEYS: usize = 1_000;
/// Bytes after the common prefix of two keys from which positions between them are interpolated.
const GUESSED_BYTES: usize = 8;

/// Sampled keys, and where known the timestamp of a cell in each row, in milliseconds.
#[derive(Default)]
pub(crate) struct SampledKeys {
    pub(crate) keys: Vec<Bytes>,
    /// One timestamp per key, or empty.
    pub(crate) times_ms: Vec<i64>,
}

/// Reads keys from a file, one per line; `-` is standard input.
pub(super) fn keys_from_file(file: &Path) -> anyhow::Result<SampledKeys> {
    let text = if file.as_os_str() == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("standard input")?;
        text
    } else {
        std::fs::read(file).with_context(|| format!("the keys in {}", file.display()))?
    };
    // A byte order mark written by an editor is not part of the first key.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    if let Some(text) = std::str::from_utf8(text).ok().filter(|text| trace_file::is_trace(text)) {
        return keys_of_trace(text).with_context(|| format!("{}", file.display()));
    }
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty());
    // A line that is not UTF-8 was not written by the shell, so it is the raw key.
    let key =
        |line: &[u8]| std::str::from_utf8(line).map_or_else(|_| Ok(line.to_vec()), read_bytes);
    let keys = lines.map(|line| key(line).map(Bytes::from)).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|error| anyhow!("the keys in {}: {error}", file.display()))?;
    Ok(SampledKeys { keys, times_ms: Vec::new() })
}

/// Returns the keys of the operations on single rows of a trace. Their times are not those of
/// cells, but near them for writes.
fn keys_of_trace(text: &str) -> anyhow::Result<SampledKeys> {
    let mut operations = trace_file::read(text)?;
    operations.retain(|operation| !operation.is_scan && !operation.key.is_empty());
    // Several operations of a row are one key.
    let mut seen = HashSet::new();
    operations.retain(|operation| seen.insert(operation.key.clone()));
    let is_written = operations.iter().all(|operation| !operation.is_read);
    let times = operations.iter().map(|operation| operation.time_ms);
    let times_ms = if is_written { times.collect() } else { Vec::new() };
    Ok(SampledKeys { keys: operations.into_iter().map(|one| one.key).collect(), times_ms })
}

/// Samples about `sample_size` keys of a table: short scans at positions in every region.
pub(super) fn sample_named_table(
    name: &TableName,
    place: &BackendArgs,
    sample_size: usize,
) -> anyhow::Result<(SampledKeys, Vec<RegionInfo>)> {
    let place = place.open_existing()?;
    let sampled = sample_table(&place.cluster().table(name), sample_size)?;
    place.close()?;
    Ok(sampled)
}

/// As [`sample_named_table`], for an open table.
///
/// # Errors
/// Returns an error of the table.
pub(crate) fn sample_table(
    table: &Arc<dyn Table>,
    sample_size: usize,
) -> halite::Result<(SampledKeys, Vec<RegionInfo>)> {
    let regions = block_on(table.regions())?;
    Ok((sample_regions(table, &regions, sample_size)?, regions))
}

/// Returns a note about rows whose keys do not fit the declared key, if a sample of a few regions
/// contains any.
///
/// # Errors
/// Returns an error of the table.
pub(super) fn format_misfits(
    table: &Arc<dyn Table>,
    key: &KeySchema,
    regions: &[RegionInfo],
) -> halite::Result<Option<String>> {
    let few: Vec<RegionInfo> =
        spread_regions(regions, GLANCED_REGIONS).into_iter().cloned().collect();
    let fit = KeyFit::from_sample(key, &sample_regions(table, &few, GLANCED_KEYS)?.keys);
    let odd = fit.keys - fit.fitting;
    Ok((odd > 0).then(|| {
        let name = table.name();
        format!(
            "{odd} of {} sampled row(s) of table {name} are no keys of its ROW KEY, and questions \
             about fields do not find them; see halite key lint --table {name}",
            fit.keys
        )
    }))
}

fn sample_regions(
    table: &Arc<dyn Table>,
    regions: &[RegionInfo],
    sample_size: usize,
) -> halite::Result<SampledKeys> {
    let of_region = sample_size.div_ceil(regions.len().max(1)).max(1);
    let mut sampled = SampledKeys::default();
    for region in regions {
        let left = sample_size.saturating_sub(sampled.keys.len());
        if left == 0 {
            break;
        }
        region_keys(table, region, of_region.min(left), &mut sampled)?;
    }
    Ok(sampled)
}

/// Returns keys from short scans at the start of the region and at positions that divide the range
/// between its first and its last key evenly.
fn region_keys(
    table: &Arc<dyn Table>,
    region: &RegionInfo,
    sample_size: usize,
    sampled: &mut SampledKeys,
) -> halite::Result<()> {
    let places = sample_size.div_ceil(32).clamp(1, MAX_POSITIONS_PER_REGION);
    let starts = region_positions(table, region, places)?;
    if starts.is_empty() {
        return Ok(());
    }
    let each = sample_size.div_ceil(places);
    let mut found: BTreeMap<Bytes, i64> = BTreeMap::new();
    for start in starts {
        // Where keys are sparse, the previous scan may already have passed this position.
        let behind = found.keys().next_back().map(|key| Bytes::from(successor_of_row(key)));
        let start = behind.into_iter().chain([start]).max().unwrap_or_default();
        found.extend(read(table, region, start, each.min(sample_size - found.len()), false)?);
        if found.len() == sample_size {
            break;
        }
    }
    if found.len() < sample_size {
        // The region contains few keys, or they are close together: read them from the first one
        // on.
        let more = read(table, region, region.start.clone(), sample_size, false)?;
        for (key, time) in more {
            if found.len() < sample_size {
                found.insert(key, time);
            }
        }
    }
    let (keys, times): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    sampled.keys.extend(keys);
    sampled.times_ms.extend(times);
    Ok(())
}

/// Returns places that divide the range between the first and the last key of a region evenly, the
/// first key among them; none if the region is empty.
///
/// # Errors
/// Returns an error of the table.
pub(crate) fn region_positions(
    table: &Arc<dyn Table>,
    region: &RegionInfo,
    places: usize,
) -> halite::Result<Vec<Bytes>> {
    let end = |reverse| -> halite::Result<_> {
        Ok(read(table, region, region.start.clone(), 1, reverse)?.into_iter().next())
    };
    let (Some((first, _)), Some((last, _))) = (end(false)?, end(true)?) else {
        return Ok(Vec::new());
    };
    Ok(between(&first, &last, places))
}

/// Reads keys of a region from `start` on, with the timestamps of their first cells, or its last
/// keys if `reverse`.
fn read(
    table: &Arc<dyn Table>,
    region: &RegionInfo,
    start: Bytes,
    rows: usize,
    reverse: bool,
) -> halite::Result<Vec<(Bytes, i64)>> {
    let scan = Scan::range(start.max(region.start.clone()), region.end.clone())
        .limit(rows)
        .filter(Filter::FirstKeyOnly);
    let mut found = table.scan(scan.reverse(reverse).cache_blocks(false));
    let mut keys = Vec::with_capacity(rows.min(1024));
    while let Some(row) = block_on(found.next())? {
        let time = row.iter().next().map_or(0, |cell| cell.timestamp());
        keys.push((Bytes::copy_from_slice(row.key()), time));
    }
    Ok(keys)
}

/// Returns positions from `first` on, in even steps of the bytes in which the two keys differ.
fn between(first: &[u8], last: &[u8], places: usize) -> Vec<Bytes> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        (0..GUESSED_BYTES).fold(0_u64, |number, at| {
            number << 8 | u64::from(key.get(common + at).copied().unwrap_or(0))
        })
    };
    let (low, high) = (u128::from(number(first)), u128::from(number(last)));
    let place = |at: usize| {
        let step = low + high.saturating_sub(low) * at as u128 / places as u128;
        let bytes = u64::try_from(step).unwrap_or(u64::MAX).to_be_bytes();
        if at == 0 {
            Bytes::copy_from_slice(first)
        } else {
            Bytes::from([&first[..common], &bytes[..]].concat())
        }
    };
    (0..places).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolated_keys_divide_differing_suffix() {
        let places = between(b"user_100", b"user_900", 4);
        assert_eq!(places[0], "user_100");
        assert!(
            places.is_sorted()
                && places
                    .iter()
                    .all(|place| place.starts_with(b"user_") && place[..] < b"user_900"[..]),
            "{places:?}"
        );
        assert!(places[2] > "user_4" && places[2] < "user_6", "{places:?}");
        assert_eq!(between(b"a", b"a", 3), [&b"a"[..], b"a\0\0\0\0\0\0\0\0", b"a\0\0\0\0\0\0\0\0"]);
    }
}
