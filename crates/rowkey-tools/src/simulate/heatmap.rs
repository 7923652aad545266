//! Heat map of writes: shares of regions by column of time.

/// Heat map of time and regions, as numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heatmap {
    /// Share of each row in the operations of a column, for each column of time.
    pub columns: Vec<Vec<f64>>,
    /// Share of each row in all operations.
    pub whole: Vec<f64>,
    /// Regions per row; the last row may have fewer.
    pub regions_per_row: usize,
    /// Number of regions.
    pub regions: usize,
    /// First and last time, in milliseconds since 1970.
    pub span_ms: (i64, i64),
}

impl Heatmap {
    /// Creates the heat map of operations with their times and regions, in the order of the times,
    /// with limits on columns and rows.
    #[expect(clippy::cast_precision_loss, reason = "shares of a picture")]
    pub(super) fn from_operations(
        operations: &[(i64, u32)],
        regions: usize,
        max_columns: usize,
        max_rows: usize,
    ) -> Self {
        let (Some(first), Some(last)) = (operations.first(), operations.last()) else {
            return Self::default();
        };
        let regions_per_row = regions.div_ceil(max_rows.max(1)).max(1);
        let rows = regions.div_ceil(regions_per_row);
        let columns = max_columns.clamp(1, operations.len());
        let span = u128::from(last.0.abs_diff(first.0)) + 1;
        let mut counts = vec![vec![0_u64; rows]; columns];
        for (at, (time, region)) in operations.iter().enumerate() {
            // Without distinct times, the order determines the columns.
            let (place, of) = if span > 1 {
                (u128::from(time.abs_diff(first.0)), span)
            } else {
                (at as u128, operations.len() as u128)
            };
            let column = usize::try_from(place * columns as u128 / of).unwrap_or(columns - 1);
            counts[column.min(columns - 1)][*region as usize / regions_per_row] += 1;
        }
        let shares = |counts: &[u64]| {
            let all = counts.iter().sum::<u64>().max(1) as f64;
            counts.iter().map(|&count| count as f64 / all).collect::<Vec<_>>()
        };
        let whole: Vec<u64> =
            (0..rows).map(|row| counts.iter().map(|column| column[row]).sum()).collect();
        Self {
            whole: shares(&whole),
            columns: counts.iter().map(|column| shares(column)).collect(),
            regions_per_row,
            regions,
            span_ms: (first.0, last.0),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.whole.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heatmap_column_contains_region_shares_of_its_time() {
        let operations: Vec<(i64, u32)> =
            (0..100_u32).map(|at| (i64::from(at) * 10, at / 25)).collect();
        let heat = Heatmap::from_operations(&operations, 4, 4, 64);
        assert_eq!(
            heat.columns,
            [
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 1.0, 0.0],
                [0.0, 0.0, 0.0, 1.0]
            ]
        );
        assert_eq!((heat.whole, heat.span_ms), (vec![0.25; 4], (0, 990)));
    }

    #[test]
    fn heatmap_groups_many_regions_and_accepts_no_operations() {
        let operations: Vec<(i64, u32)> = (0..1000).map(|at| (5, at)).collect();
        let heat = Heatmap::from_operations(&operations, 1000, 10, 64);
        assert_eq!((heat.rows(), heat.regions_per_row, heat.columns.len()), (63, 16, 10));
        assert!(heat.columns[0][0] > 0.1 && heat.columns[9][0].abs() < 1e-9);
        assert_eq!(Heatmap::from_operations(&[], 4, 4, 4), Heatmap::default());
    }
}
