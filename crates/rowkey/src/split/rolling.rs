//! `SPLIT ROLLING`: regions of a table whose key begins with a time are created before that time.

use std::sync::Arc;

use halite_types::key::to_string_binary;
use halite_types::{Bytes, Cluster, Error, RegionInfo, Result, TableDescriptor, TableName};

use crate::codec::{KeyBuf, NoResolver};
use crate::language::{SplitClause, TableDeclaration};
use crate::schema::{KeySchema, Order, SegmentKind};
use crate::value::{FieldType, Value};

/// Default number of widths whose regions are created in advance.
pub const DEFAULT_WIDTHS_AHEAD: u32 = 2;

const DAY_MS: u64 = 86_400_000;

/// 10000-01-01T00:00:00Z.
const YEAR_10000_MS: i128 = 253_402_300_800_000;

/// Maximum key prefixes (combinations of salts): each width has a region for each of them.
const MAX_PREFIXES: u64 = 1_024;

/// Boundaries of the regions of future time ranges.
#[derive(Clone, Debug)]
pub struct Rolling {
    schema: Arc<KeySchema>,
    /// Segment of the time, after salts and constants.
    segment: usize,
    /// Time range of one region, in the unit of the field.
    width: i64,
    /// Units of the field per milliseconds, as a fraction: units, milliseconds.
    units: (i64, i64),
    /// Maximum difference of two times in one key: a bucket, or one unit.
    step: i64,
}

/// Result of extending the rolling splits of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollResult {
    /// Split keys created.
    pub created: Vec<Bytes>,
    /// Number of existing boundaries.
    pub existing: usize,
}

impl Rolling {
    /// Returns the rolling splits of a key, with a region for each `width_ms` milliseconds.
    ///
    /// # Errors
    /// A key that does not begin with a time, after salts and constants; salts that require too
    /// many regions for each width; a width that is not a multiple of a bucket or a day.
    pub fn for_schema(schema: &Arc<KeySchema>, width_ms: u64) -> std::result::Result<Self, String> {
        let is_in_front =
            |kind: &SegmentKind| matches!(kind, SegmentKind::Const(_) | SegmentKind::Salt { .. });
        let found =
            schema.segments().iter().enumerate().find(|(_, segment)| !is_in_front(&segment.kind));
        let wrong = || {
            "SPLIT ROLLING needs a key that begins with a time, after salts and constants, so that \
             rows of future times are adjacent"
                .to_owned()
        };
        let (at, segment) = found.ok_or_else(wrong)?;
        let (field, bucket) = match segment.kind {
            SegmentKind::Plain(field) => (field, 1),
            SegmentKind::Bucket { field, width } => {
                (field, i64::try_from(width).map_err(|_| wrong())?)
            }
            _ => return Err(wrong()),
        };
        let prefixes = (0..at)
            .filter_map(|at| schema.salt_count(at))
            .fold(1, |product: u64, salts| product.saturating_mul(salts.into()));
        if prefixes > MAX_PREFIXES {
            return Err(format!(
                "SPLIT ROLLING makes a region for each salt, at most {MAX_PREFIXES} for one time, \
                 and this key has more; take fewer salts"
            ));
        }
        let units = match schema.fields()[field].ty {
            FieldType::Timestamp(unit) if unit.per_second() >= 1000 => {
                (unit.per_second() / 1000, 1)
            }
            FieldType::Date => (1, i64::try_from(DAY_MS).map_err(|_| wrong())?),
            _ => return Err(wrong()),
        };
        let width = i64::try_from(width_ms).ok().and_then(|ms| ms.checked_mul(units.0));
        let width = width
            .filter(|width| *width > 0 && width % units.1 == 0)
            .map(|width| width / units.1)
            .filter(|width| width % bucket == 0);
        let width = width.ok_or_else(|| {
            format!(
                "regions of {width_ms} ms do not end where buckets or days do; take a multiple of \
                 them"
            )
        })?;
        Ok(Self { schema: Arc::clone(schema), segment: at, width, units, step: bucket })
    }

    /// Returns the declared rolling splits of a table; `None` if it declares none.
    ///
    /// # Errors
    /// As [`Self::for_schema`]; a declaration that cannot be parsed.
    pub fn from_descriptor(table: &TableDescriptor) -> Option<std::result::Result<Self, String>> {
        let declaration = match TableDeclaration::from_descriptor(table)? {
            Ok(declaration) => declaration,
            Err(error) => return Some(Err(error.to_string())),
        };
        let Some(SplitClause::Rolling(width_ms)) = declaration.split else { return None };
        Some(Self::for_schema(&Arc::new(declaration.key), width_ms))
    }

    /// Returns the start keys of the regions of the current and the next `ahead` widths, for every
    /// salt, in key order.
    ///
    /// # Errors
    /// A time outside the range of the key, or after the year 9999.
    pub fn boundaries(&self, now_ms: i64, ahead: u32) -> Result<Vec<Bytes>> {
        let now = now_ms.saturating_mul(self.units.0).div_euclid(self.units.1);
        let first = now.div_euclid(self.width) * self.width;
        let is_descending = self.schema.segments()[self.segment].order == Order::Desc;
        let mut boundaries = Vec::new();
        for at in 0..=i64::from(ahead) {
            let begin = first.saturating_add(self.width.saturating_mul(at));
            self.must_come(begin)?;
            // For descending times, the last time of a width is its first key.
            let time =
                if is_descending { begin.saturating_add(self.width - self.step) } else { begin };
            self.with_prefixes(&mut boundaries, &Value::Signed(time))?;
        }
        boundaries.sort();
        Ok(boundaries)
    }

    /// Rejects times that never occur: regions split there stay empty.
    fn must_come(&self, time: i64) -> Result<()> {
        let ms = i128::from(time) * i128::from(self.units.1) / i128::from(self.units.0);
        if ms < YEAR_10000_MS {
            return Ok(());
        }
        let width_days = i128::from(self.width) * i128::from(self.units.1)
            / i128::from(self.units.0)
            / i128::from(DAY_MS);
        Err(Error::invalid(format!(
            "SPLIT ROLLING with a region for each {width_days} days splits after the year 9999; \
             use a shorter time"
        )))
    }

    /// Appends the first bytes of keys of a time, for each key prefix.
    fn with_prefixes(&self, boundaries: &mut Vec<Bytes>, time: &Value<'_>) -> Result<()> {
        let mut prefixes = vec![KeyBuf::new()];
        for at in 0..self.segment {
            let each = |prefix: &KeyBuf| -> Result<Vec<KeyBuf>> {
                let salts = self.schema.salt_count(at);
                (0..salts.unwrap_or(1))
                    .map(|salt| self.extended(at, prefix, salts.map(|_| salt)))
                    .collect()
            };
            prefixes = prefixes.iter().map(each).collect::<Result<Vec<_>>>()?.concat();
        }
        for mut prefix in prefixes {
            self.schema.encode_segment_with(self.segment, time, &NoResolver, &mut prefix)?;
            boundaries.push(Bytes::copy_from_slice(&prefix));
        }
        Ok(())
    }

    fn extended(&self, at: usize, prefix: &KeyBuf, salt: Option<u32>) -> Result<KeyBuf> {
        let mut longer = prefix.clone();
        match salt {
            Some(salt) => self.schema.encode_salt(at, salt, &mut longer)?,
            None => drop(self.schema.encode_derived(at, &[], &mut longer)?),
        }
        Ok(longer)
    }
}

/// Returns the region that a boundary must split; `None` if a region already begins there.
///
/// # Errors
/// `InvalidRequest` if no region contains the boundary.
pub fn to_split<'a>(regions: &'a [RegionInfo], boundary: &[u8]) -> Result<Option<&'a RegionInfo>> {
    let holder = regions.iter().find(|region| region.contains(boundary));
    let holder = holder.ok_or_else(|| {
        Error::invalid(format!("no region holds the boundary {}", to_string_binary(boundary)))
    })?;
    Ok((holder.start[..] != *boundary).then_some(holder))
}

/// Creates the regions of the current and the next `ahead` widths of a table that declares
/// `SPLIT ROLLING`; existing ones are kept.
///
/// # Errors
/// `NoSuchTable`; `InvalidRequest` for a table without such a split; errors of the cluster.
pub async fn extend_rolling_splits(
    cluster: &dyn Cluster,
    name: &TableName,
    now_ms: i64,
    ahead: u32,
) -> Result<RollResult> {
    let table = cluster.table(name);
    let fix = || {
        Error::invalid(format!(
            "table {name} does not declare SPLIT ROLLING; CREATE TABLE .. SPLIT ROLLING '1d' does"
        ))
    };
    let rolling = Rolling::from_descriptor(&*table.descriptor().await?)
        .ok_or_else(fix)?
        .map_err(Error::invalid)?;
    let mut rolled = RollResult::default();
    let mut regions = table.regions().await?;
    for boundary in rolling.boundaries(now_ms, ahead)? {
        match to_split(&regions, &boundary)? {
            None => rolled.existing += 1,
            Some(region) => {
                cluster.admin().split_region(&region.encoded_name, Some(boundary.clone())).await?;
                regions = table.regions().await?;
                rolled.created.push(boundary);
            }
        }
    }
    Ok(rolled)
}

#[cfg(test)]
mod tests {
    use halite_types::key::to_hex;

    use super::*;

    /// 2024-03-15T08:30:00Z.
    const NOW: i64 = 1_710_491_400_000;

    fn boundaries(
        key: &str,
        width_ms: u64,
        ahead: u32,
    ) -> std::result::Result<Vec<String>, String> {
        let rolling = Rolling::for_schema(&Arc::new(key.parse().expect("a key")), width_ms)?;
        Ok(rolling
            .boundaries(NOW, ahead)
            .expect("times of this century")
            .iter()
            .map(|boundary| to_hex(boundary))
            .collect())
    }

    #[test]
    fn rolling_regions_start_at_widths_for_every_salt() {
        assert_eq!(
            boundaries("(day DATE, user STRING)", DAY_MS, 1).unwrap(),
            ["80004d55", "80004d56"]
        );
        assert_eq!(
            boundaries("(ts TIMESTAMP)", 3_600_000, 1).unwrap(),
            ["8000018e41200000", "8000018e4156ee80"]
        );
        assert_eq!(boundaries("(BUCKET(ts, '1h'), host STRING)", DAY_MS, 0).unwrap(), ["00073ff8"]);
        let salted =
            boundaries("(CONST 'v', SALT(2 BY host), BUCKET(ts, '1h'), host STRING)", DAY_MS, 1)
                .unwrap();
        assert_eq!(salted, ["760000073ff8", "760000074010", "760100073ff8", "760100074010"]);
    }

    #[test]
    fn descending_time_region_starts_with_its_last_time() {
        // Bucket 0x00074010 - 1 and that of one day later, all bits inverted.
        assert_eq!(
            boundaries("(BUCKET(ts, '1h') DESC, host STRING)", DAY_MS, 1).unwrap(),
            ["fff8bfd8", "fff8bff0"]
        );
        let schema: Arc<KeySchema> = Arc::new("(ts TIMESTAMP DESC)".parse().unwrap());
        let [boundary] =
            &Rolling::for_schema(&schema, 3_600_000).unwrap().boundaries(NOW, 0).unwrap()[..]
        else {
            panic!("one boundary")
        };
        let key = |ts: i64| Bytes::copy_from_slice(&schema.encode(&[Value::Signed(ts)]).unwrap());
        assert!(
            key(1_710_493_200_000) < *boundary
                && *boundary <= key(1_710_493_199_999)
                && *boundary <= key(1_710_489_600_000)
        );
    }

    #[test]
    fn regions_after_year_9999_are_rejected() {
        for (key, days, comes) in [
            ("(ts TIMESTAMP)", 10_000_000_000, false),
            ("(day DATE)", 4_000_000, false),
            ("(ts TIMESTAMP)", 1_000_000, true),
        ] {
            let boundaries = Rolling::for_schema(&Arc::new(key.parse().unwrap()), days * DAY_MS)
                .unwrap()
                .boundaries(NOW, DEFAULT_WIDTHS_AHEAD);
            let message = boundaries.as_ref().map_or_else(Error::to_string, |_| String::new());
            assert_eq!(
                (boundaries.is_ok(), message.contains("after the year 9999")),
                (comes, !comes),
                "{key} {days}: {message}"
            );
        }
    }

    #[test]
    fn keys_unsuitable_for_rolling_splits_are_rejected() {
        for key in [
            "(host STRING, ts TIMESTAMP)",
            "(HASH(ts), ts TIMESTAMP)",
            "(id U64)",
            "(SALT(4 BY id), id U64)",
        ] {
            assert!(
                boundaries(key, DAY_MS, 1).unwrap_err().contains("begins with a time"),
                "{key}"
            );
        }
        for key in [
            "(SALT(65536 BY id), SALT(65536 BY id), ts TIMESTAMP, id STRING)",
            "(SALT(1025 BY id), ts TIMESTAMP, id STRING)",
        ] {
            let schema = Arc::new(key.parse().unwrap());
            assert!(
                Rolling::for_schema(&schema, DAY_MS).unwrap_err().contains("take fewer salts"),
                "{key}"
            );
        }
        assert_eq!(
            boundaries("(SALT(1024 BY id), ts TIMESTAMP, id STRING)", DAY_MS, 0).unwrap().len(),
            1_024
        );
        for (key, width) in [
            ("(day DATE)", 3_600_000),
            ("(BUCKET(ts, '1h'), a STRING)", 90 * 60_000),
            ("(ts TIMESTAMP)", 0),
        ] {
            assert!(boundaries(key, width, 1).unwrap_err().contains("take a multiple"), "{key}");
        }
    }
}
