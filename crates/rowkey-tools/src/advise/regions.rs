//! Regions of a table: those that its declaration creates, and those that its bytes make of them.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "estimates, whose factors are not negative"
)]

use halite_engine::Options;
use halite_rowkey::language::{SplitClause, TableDeclaration};
use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Splits};

/// Regions with which a table is created.
#[derive(Debug)]
pub(super) enum CreatedRegions {
    /// This many, of as many rows each.
    Even(u64),
    /// With these shares of the rows.
    Shares(Vec<f64>),
}

impl CreatedRegions {
    /// Returns the regions of a declaration whose splits are these, and what is assumed of them.
    pub(super) fn of(table: &TableDeclaration, splits: Option<&Splits>) -> (Self, Vec<String>) {
        let Some(splits) = splits else { return (Self::Even(1), Vec::new()) };
        let mut doubts: Vec<String> =
            splits.notes.iter().map(|note| format!("SPLIT: {note}")).collect();
        let created = match (&table.split, &splits.shares) {
            (Some(SplitClause::Rolling(width_ms)), _) => {
                rolling(table, splits, *width_ms, &mut doubts)
            }
            (_, Some(shares)) => Self::Shares(shares.clone()),
            (_, None) => {
                let count = splits.regions() as u64;
                if count > 1 {
                    doubts.push(format!(
                        "each of the {count} regions is assumed to get as many rows"
                    ));
                }
                Self::Even(count)
            }
        };
        let (count, most) = (created.count(), Options::default().max_regions_per_table as u64);
        if count > most {
            doubts.push(format!(
                "SPLIT makes {count} regions, and a new table has {most} at most by default"
            ));
        }
        (created, doubts)
    }

    /// Returns the number of regions.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Even(count) => (*count).max(1),
            Self::Shares(shares) => (shares.len() as u64).max(1),
        }
    }

    /// Returns the number of regions when the table has these bytes, each of which is split at a
    /// size.
    pub(super) fn grown(&self, disk_bytes: u64, region_bytes: u64) -> u64 {
        let region_bytes = region_bytes.max(1);
        let count = self.count();
        match self {
            Self::Even(_) => {
                count.saturating_mul(disk_bytes.div_ceil(count).div_ceil(region_bytes).max(1))
            }
            Self::Shares(shares) => shares.iter().fold(0, |sum: u64, share| {
                let bytes = (share * disk_bytes as f64) as u64;
                sum.saturating_add(bytes.div_ceil(region_bytes).max(1))
            }),
        }
    }
}

/// Returns the regions of `SPLIT ROLLING`: those of one time to live, if the table has one.
fn rolling(
    table: &TableDeclaration,
    splits: &Splits,
    width_ms: u64,
    doubts: &mut Vec<String>,
) -> CreatedRegions {
    let widths = u64::from(DEFAULT_WIDTHS_AHEAD) + 1;
    let each = (splits.keys.len() as u64 / widths).max(1);
    let families = table.descriptor.families();
    // Without a time to live in one family, rows remain.
    let live_ms = families
        .map(halite_types::FamilyDescriptor::ttl_ms)
        .max_by_key(|live| live.unwrap_or(i64::MAX));
    let Some(live_ms) = live_ms.flatten().and_then(|live| u64::try_from(live).ok()) else {
        doubts.push(format!(
            "SPLIT ROLLING makes {each} regions more for each of its times, and the table has no \
             time to live"
        ));
        return CreatedRegions::Even(splits.regions() as u64);
    };
    doubts.push("the regions of SPLIT ROLLING are those of one time to live".to_owned());
    let kept = live_ms.div_ceil(width_ms.max(1)).saturating_add(widths);
    CreatedRegions::Even(kept.saturating_mul(each).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_grow_from_those_of_the_declaration() {
        for (created, disk, region, expected) in [
            (CreatedRegions::Even(1), 0, 10, 1),
            (CreatedRegions::Even(1), 101, 10, 11),
            (CreatedRegions::Even(16), 15, 10, 16),
            (CreatedRegions::Even(16), 161, 10, 32),
            (CreatedRegions::Shares(vec![0.5, 0.25, 0.25, 0.0]), 100, 10, 5 + 3 + 3 + 1),
            (CreatedRegions::Even(u64::MAX), u64::MAX, 1, u64::MAX),
            (CreatedRegions::Even(0), 9, 0, 9),
        ] {
            assert_eq!(created.grown(disk, region), expected, "{created:?}");
        }
    }
}
