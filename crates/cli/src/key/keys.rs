//! Keys of a table or a file, as samples: from a table a few from many places, without reading much of it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use halite::key::successor_of_row;
use halite::{Bytes, Filter, RegionInfo, Scan, Table, TableName, block_on};

use halite::rowkey::literal::read_bytes;
use halite::rowkey::{KeyFit, KeySchema};

use crate::place::PlaceFlags;

/// Places in each region where keys are read, at most.
const PLACES_OF_REGION: usize = 64;
/// Regions and keys that are looked at in passing, for a question about a table.
const GLANCED_REGIONS: usize = 16;
const GLANCED_KEYS: usize = 1_000;
/// Bytes of keys between which a place is guessed.
const GUESSED_BYTES: usize = 8;

/// Keys, and where known a time of a cell in the row of each, in milliseconds.
#[derive(Default)]
pub(crate) struct Sampled {
    pub(crate) keys: Vec<Bytes>,
    /// As many as keys, or none.
    pub(crate) times_ms: Vec<i64>,
}

/// Keys of a file, one in a line; `-` is standard input.
pub(super) fn of_file(file: &Path) -> anyhow::Result<Sampled> {
    let text = if file.as_os_str() == "-" {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("standard input")?;
        text
    } else {
        std::fs::read(file).with_context(|| format!("the keys in {}", file.display()))?
    };
    // Editors that write a byte order mark do not make it part of the first key.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).filter(|line| !line.is_empty());
    // What is no text cannot have been written by the shell, so it is the key itself.
    let key = |line: &[u8]| std::str::from_utf8(line).map_or_else(|_| Ok(line.to_vec()), read_bytes);
    let keys = lines.map(|line| key(line).map(Bytes::from)).collect::<Result<Vec<_>, _>>();
    let keys = keys.map_err(|error| anyhow!("the keys in {}: {error}", file.display()))?;
    Ok(Sampled { keys, times_ms: Vec::new() })
}

/// About `wanted` keys of a table: short scans at places all over each region.
pub(super) fn of_table(name: &TableName, place: &PlaceFlags, wanted: usize) -> anyhow::Result<(Sampled, Vec<RegionInfo>)> {
    let place = place.open_existing()?;
    let sampled = sample_of(&place.cluster().table(name), wanted)?;
    place.close()?;
    Ok(sampled)
}

/// The same of a table that is at hand.
///
/// # Errors
/// The table's.
pub(crate) fn sample_of(table: &Arc<dyn Table>, wanted: usize) -> halite::Result<(Sampled, Vec<RegionInfo>)> {
    let regions = block_on(table.regions())?;
    Ok((sample_in(table, &regions, wanted)?, regions))
}

/// What is to be said of rows that are no keys of what a table declares, if a glance at a few of its regions shows some.
///
/// # Errors
/// The table's.
pub(super) fn say_misfits(table: &Arc<dyn Table>, key: &KeySchema, regions: &[RegionInfo]) -> halite::Result<Option<String>> {
    let step = regions.len().div_ceil(GLANCED_REGIONS).max(1);
    let few: Vec<RegionInfo> = regions.iter().step_by(step).cloned().collect();
    let fit = KeyFit::of(key, &sample_in(table, &few, GLANCED_KEYS)?.keys);
    let odd = fit.keys - fit.fitting;
    Ok((odd > 0).then(|| {
        let name = table.name();
        format!(
            "{odd} of {} sampled row(s) of table {name} are no keys of its ROW KEY, and questions about fields do not find them; see halite key lint --table {name}",
            fit.keys
        )
    }))
}

fn sample_in(table: &Arc<dyn Table>, regions: &[RegionInfo], wanted: usize) -> halite::Result<Sampled> {
    let of_region = wanted.div_ceil(regions.len().max(1)).max(1);
    let mut sampled = Sampled::default();
    for region in regions {
        let left = wanted.saturating_sub(sampled.keys.len());
        if left == 0 {
            break;
        }
        region_keys(table, region, of_region.min(left), &mut sampled)?;
    }
    Ok(sampled)
}

/// Short scans at the region's beginning and at places that divide the keys between its first and its last one evenly.
fn region_keys(table: &Arc<dyn Table>, region: &RegionInfo, wanted: usize, sampled: &mut Sampled) -> halite::Result<()> {
    let first = read(table, region, region.start.clone(), 1, false)?.into_iter().next();
    let last = read(table, region, region.start.clone(), 1, true)?.into_iter().next();
    let (Some((first, _)), Some((last, _))) = (first, last) else { return Ok(()) };
    let places = wanted.div_ceil(32).clamp(1, PLACES_OF_REGION);
    let each = wanted.div_ceil(places);
    let mut found: BTreeMap<Bytes, i64> = BTreeMap::new();
    for start in between(&first, &last, places) {
        // Where keys are sparse the scan before came as far as this already.
        let behind = found.keys().next_back().map(|key| Bytes::from(successor_of_row(key)));
        let start = behind.into_iter().chain([start]).max().unwrap_or_default();
        found.extend(read(table, region, start, each.min(wanted - found.len()), false)?);
        if found.len() == wanted {
            break;
        }
    }
    if found.len() < wanted {
        // Few keys, or all of them near each other: then they are read from the first one on.
        let more = read(table, region, region.start.clone(), wanted, false)?;
        for (key, time) in more {
            if found.len() < wanted {
                found.insert(key, time);
            }
        }
    }
    let (keys, times): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    sampled.keys.extend(keys);
    sampled.times_ms.extend(times);
    Ok(())
}

/// Keys from `start` on in a region with the times of their first cells; its last ones if `reverse`.
fn read(table: &Arc<dyn Table>, region: &RegionInfo, start: Bytes, rows: usize, reverse: bool) -> halite::Result<Vec<(Bytes, i64)>> {
    let scan = Scan::range(start.max(region.start.clone()), region.end.clone()).limit(rows).filter(Filter::FirstKeyOnly);
    let mut found = table.scan(scan.reverse(reverse).cache_blocks(false));
    let mut keys = Vec::with_capacity(rows.min(1024));
    while let Some(row) = block_on(found.next())? {
        let time = row.iter().next().map_or(0, |cell| cell.timestamp());
        keys.push((Bytes::copy_from_slice(row.key()), time));
    }
    Ok(keys)
}

/// Places from `first` on, in even steps of the bytes in which the two differ.
fn between(first: &[u8], last: &[u8], places: usize) -> Vec<Bytes> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| (0..GUESSED_BYTES).fold(0_u64, |number, at| number << 8 | u64::from(key.get(common + at).copied().unwrap_or(0)));
    let (low, high) = (u128::from(number(first)), u128::from(number(last)));
    let place = |at: usize| {
        let step = low + high.saturating_sub(low) * at as u128 / places as u128;
        let bytes = u64::try_from(step).unwrap_or(u64::MAX).to_be_bytes();
        if at == 0 { Bytes::copy_from_slice(first) } else { Bytes::from([&first[..common], &bytes[..]].concat()) }
    };
    (0..places).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_divide_what_differs_between_two_keys() {
        let places = between(b"user_100", b"user_900", 4);
        assert_eq!(places[0], "user_100");
        assert!(places.is_sorted() && places.iter().all(|place| place.starts_with(b"user_") && place[..] < b"user_900"[..]), "{places:?}");
        assert!(places[2] > "user_4" && places[2] < "user_6", "{places:?}");
        assert_eq!(between(b"a", b"a", 3), [&b"a"[..], b"a\0\0\0\0\0\0\0\0", b"a\0\0\0\0\0\0\0\0"]);
    }
}
