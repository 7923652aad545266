//! Distribution of the rows of a page over the regions of its tables, as bars and as skew.

use bytes::Bytes;
use halite::key::to_hex;
use halite::to_string_binary;
use halite_rowkey_tools::simulate::Skew;

use crate::page_writer::PageWriter;
use crate::scan_spec::ScanSpec;
use crate::table::LabTable;

/// Writes per window when keys are examined in the order in which they were written.
pub(crate) const WINDOW: usize = 250;
/// Maximum characters shown of a split key.
const MAX_BOUNDARY_CHARS: usize = 24;

/// Distribution of rows over regions.
impl PageWriter {
    /// Reads all keys of a table and counts them by the regions with which the table was created.
    /// Appends nothing to the page.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn stored_skew(&self, table: &LabTable) -> anyhow::Result<Skew> {
        let rows = self.rows(table, &ScanSpec::all())?;
        Ok(Skew::from_keys(rows.iter().map(halite::Row::key), table.splits(), 0))
    }

    /// Like [`Self::stored_skew`], and shows the share of each region as a bar.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn distribution(&mut self, table: &LabTable) -> anyhow::Result<Skew> {
        let skew = self.stored_skew(table)?;
        self.bars(shares(table.splits(), &skew));
        Ok(skew)
    }

    /// Returns the skew of keys in the order in which they are written, in windows of 250, on the
    /// regions of a table. Appends nothing to the page.
    pub fn skew<K: AsRef<[u8]>>(&self, table: &LabTable, keys: &[K]) -> Skew {
        Skew::from_keys(keys.iter().map(AsRef::as_ref), table.splits(), WINDOW)
    }
}

/// Returns one bar per region; consecutive empty regions share one bar.
#[expect(clippy::cast_precision_loss, reason = "counts of rows of a page")]
fn shares(splits: &[Bytes], skew: &Skew) -> Vec<(String, f64)> {
    let all = skew.operations.max(1) as f64;
    let start = |region: usize| {
        region.checked_sub(1).map_or_else(
            || "first".to_owned(),
            |split| format!("from {}", boundary_text(splits, split)),
        )
    };
    let mut bars = Vec::new();
    let mut region = 0;
    for run in skew.counts.chunk_by(|a, b| a + b == 0) {
        let more = run.len() - 1;
        let label =
            if more > 1 { format!("{}, and {more} more", start(region)) } else { start(region) };
        bars.push((label, run[0] as f64 / all));
        if more == 1 {
            bars.push((start(region + 1), 0.0));
        }
        region += run.len();
    }
    bars
}

/// Returns a split key as text, or in hexadecimal digits if any split key has a byte that is not a
/// graphic character. Longer texts are cut.
fn boundary_text(splits: &[Bytes], split: usize) -> String {
    let is_text = splits.iter().all(|split| split.iter().all(u8::is_ascii_graphic));
    let printed = if is_text { to_string_binary(&splits[split]) } else { to_hex(&splits[split]) };
    if printed.len() <= MAX_BOUNDARY_CHARS {
        printed
    } else {
        format!("{}...", &printed[..MAX_BOUNDARY_CHARS - 3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_empty_regions_share_bar() {
        let splits: Vec<_> = [1_u8, 2, 3, 4, 5, 6].map(|first| Bytes::from(vec![first])).to_vec();
        let keys = [[0_u8], [4], [4], [4]];
        let skew = Skew::from_keys(keys.iter().map(|key| &key[..]), &splits, 0);
        let bars = shares(&splits, &skew);
        let labels: Vec<_> = bars.iter().map(|(label, share)| (label.as_str(), *share)).collect();
        assert_eq!(
            labels,
            [
                ("first", 0.25),
                ("from 01, and 2 more", 0.0),
                ("from 04", 0.75),
                ("from 05", 0.0),
                ("from 06", 0.0)
            ]
        );
    }
}
