//! Splits derived from a schema: boundaries of salts, and the shares of regions if their number
//! differs from that of the salts.

use halite_types::Bytes;

use super::model::{Beginning, KeyModel};
use super::shares::Spread;
use super::{MAX_REGIONS, SplitError, SplitNote, Splits};
use crate::codec::KeyBuf;
use crate::schema::{KeySchema, SegmentKind};

/// Salt at the start of a key, after constants at most.
struct LeadingSalt {
    segment: usize,
    /// First bytes of each salt, including constants.
    starts: Vec<Bytes>,
}

impl LeadingSalt {
    fn from_schema(schema: &KeySchema) -> Option<Self> {
        let mut prefix = KeyBuf::new();
        for (segment, declared) in schema.segments().iter().enumerate() {
            match &declared.kind {
                SegmentKind::Const(bytes) => prefix.extend(bytes),
                SegmentKind::Salt { count, .. } => {
                    let start = |salt| {
                        let mut start = prefix.clone();
                        schema
                            .encode_salt(segment, salt, &mut start)
                            .ok()
                            .map(|()| Bytes::from(start))
                    };
                    return Some(Self {
                        segment,
                        starts: (0..*count).map(start).collect::<Option<_>>()?,
                    });
                }
                _ => return None,
            }
        }
        None
    }

    fn count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// Returns splits with the given numbers of regions for each salt.
    fn with_regions(
        &self,
        schema: &KeySchema,
        each: impl Fn(usize) -> u32,
        model: Option<&KeyModel>,
    ) -> Result<Splits, SplitError> {
        let is_divided = (0..self.starts.len()).any(|salt| each(salt) > 1);
        let behind = Beginning::from_schema(schema, self.segment + 1);
        let Some(inside) =
            model.copied().or(behind.assumed).or((!is_divided).then_some(KeyModel::Bytes))
        else {
            return Err(no_model(schema, &behind));
        };
        let (mut keys, mut shares) = (Vec::new(), Vec::new());
        for (salt, start) in self.starts.iter().enumerate() {
            let regions = each(salt).max(1);
            keys.push(start.clone());
            keys.extend(
                behind
                    .cuts(inside, regions)
                    .map(|cut| Bytes::from([&start[..], &cut[..]].concat())),
            );
            let share = 1.0 / f64::from(self.count()) / f64::from(regions);
            shares.extend((0..regions).map(|_| share));
        }
        // The first salt's region begins at the empty key.
        keys.remove(0);
        let notes = if is_divided && model.is_none() {
            vec![SplitNote::Assumed(inside)]
        } else {
            Vec::new()
        };
        Ok(Splits { keys, shares: Some(shares), notes })
    }
}

pub(super) fn by_salt(
    schema: &KeySchema,
    regions_each: u32,
    model: Option<&KeyModel>,
) -> Result<Splits, SplitError> {
    let salt = LeadingSalt::from_schema(schema).ok_or(SplitError::NoSalt)?;
    match salt.count().checked_mul(regions_each) {
        Some(1..=MAX_REGIONS) => salt.with_regions(schema, |_| regions_each, model),
        regions => Err(SplitError::Regions { regions: regions.unwrap_or(u32::MAX) }),
    }
}

pub(super) fn into_regions(
    schema: &KeySchema,
    regions: u32,
    model: Option<&KeyModel>,
) -> Result<Splits, SplitError> {
    if !(2..=MAX_REGIONS).contains(&regions) {
        return Err(SplitError::Regions { regions });
    }
    let Some(salt) = LeadingSalt::from_schema(schema) else {
        return unsalted(schema, regions, model);
    };
    let salts = salt.count();
    let mut splits = if regions <= salts {
        // Whole salts per region; the first regions get one more if the division has a remainder.
        let keys: Vec<_> = (1..regions)
            .map(|region| (u64::from(region) * u64::from(salts)).div_ceil(u64::from(regions)))
            .collect();
        let keys = keys
            .into_iter()
            .filter_map(|first| salt.starts.get(usize::try_from(first).ok()?).cloned())
            .collect();
        Splits { keys, shares: None, notes: Vec::new() }
    } else {
        let (each, more) = (regions / salts, regions % salts);
        salt.with_regions(schema, |salt| each + u32::from((salt as u64) < u64::from(more)), model)?
    };
    if splits.shares.is_none() {
        splits.shares = salt_shares(&salt, &splits.keys);
    }
    record_division(&mut splits, salts);
    Ok(splits)
}

fn unsalted(
    schema: &KeySchema,
    regions: u32,
    model: Option<&KeyModel>,
) -> Result<Splits, SplitError> {
    let beginning = Beginning::from_schema(schema, 0);
    let Some(used) = model.copied().or(beginning.assumed) else {
        return Err(no_model(schema, &beginning));
    };
    let keys = beginning.cuts(used, regions).collect();
    let shares = Some(vec![1.0 / f64::from(regions); regions as usize]);
    let is_certain = matches!(schema.segments()[beginning.segment].kind, SegmentKind::Hash { .. });
    let notes =
        if model.is_none() && !is_certain { vec![SplitNote::Assumed(used)] } else { Vec::new() };
    Ok(Splits { keys, shares, notes })
}

fn no_model(schema: &KeySchema, beginning: &Beginning) -> SplitError {
    let field = schema.segments()[beginning.segment].kind.field();
    SplitError::NoModel {
        field: field.map_or_else(String::new, |field| schema.fields()[field].name.clone()),
    }
}

/// Returns the shares of regions whose boundaries are all boundaries of salts, if every salt has
/// equally many rows.
fn salt_shares(salt: &LeadingSalt, keys: &[Bytes]) -> Option<Vec<f64>> {
    keys.iter()
        .all(|key| salt.starts.binary_search(key).is_ok())
        .then(|| super::region_shares(&salt.starts, keys))
}

pub(super) fn assess(mut splits: Splits, schema: &KeySchema) -> Splits {
    let Some(salt) = LeadingSalt::from_schema(schema) else { return splits };
    let inside = splits.keys.iter().filter(|key| salt.starts.binary_search(key).is_err());
    // A key before the first salt or after the last one is inside none.
    let inside: Vec<_> =
        inside.filter(|key| salt.starts.iter().any(|start| key.starts_with(start))).collect();
    let of_salt = |start: &Bytes| inside.iter().filter(|key| key.starts_with(start)).count();
    let is_even = salt.starts.windows(2).all(|pair| of_salt(&pair[0]) == of_salt(&pair[1]));
    if !is_even {
        splits.notes.push(SplitNote::NotAtSalts { splits: inside.len() });
    } else if inside.is_empty() && splits.shares.is_none() {
        splits.shares = Some(super::region_shares(&salt.starts, &splits.keys));
        record_division(&mut splits, salt.count());
    }
    splits
}

/// Adds a note if regions get different shares because of their number.
fn record_division(splits: &mut Splits, salts: u32) {
    let Some(spread) = splits.spread().filter(|spread| spread.max_over_mean > 1.001) else {
        return;
    };
    let regions = u32::try_from(splits.regions()).unwrap_or(u32::MAX);
    splits.notes.push(SplitNote::SaltsAndRegions {
        salts,
        regions,
        max_over_mean: spread.max_over_mean,
        empty: spread.empty,
    });
}

/// Returns the distribution of whole salts on regions: one salt stays in one region until an
/// operator splits inside it. Returns `None` for no salts or no regions.
pub fn salts_on_regions(salts: u32, regions: u32) -> Option<(Spread, Option<SplitNote>)> {
    if salts == 0 || regions == 0 {
        return None;
    }
    let fullest = f64::from(salts.div_ceil(regions)) / f64::from(salts);
    let empty = regions.saturating_sub(salts) as usize;
    let spread = Spread { max_over_mean: fullest * f64::from(regions), empty };
    let note =
        SplitNote::SaltsAndRegions { salts, regions, max_over_mean: spread.max_over_mean, empty };
    Some((spread, (spread.max_over_mean > 1.001).then_some(note)))
}
