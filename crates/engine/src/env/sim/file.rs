//! Bytes of one simulated file: the content visible to processes, the durable content, and the
//! remainder after a power loss.
//!
//! ```text
//! seen by processes   | bytes[..shared] | bytes[shared..]       |     appended, not synced
//! on the platter      | bytes[..shared] | cut                   |     cut off, not synced
//! ```
//! Files only grow at their end and are truncated, so a common prefix and two suffixes describe
//! both contents. Preallocated space is represented as zeros at the end of both; writing there is a
//! truncation and an append like any other. A sector is written completely or not at all, and
//! rewriting it never damages the synced bytes in it. Sectors become durable in any order.

use std::ops::Range;

use crate::env::Rng as _;
use crate::env::rng::SeededRng;

/// Bytes that a disk writes atomically.
pub(super) const SECTOR_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct FileData {
    bytes: Vec<u8>,
    shared: usize,
    cut: Cut,
    /// Number of trailing bytes that the next bytes replace, zeros unless the writer went back.
    preallocated: usize,
    /// `true` if preallocated bytes may be others than zeros.
    is_rewound: bool,
    /// Durable length, unless the file is truncated: writing into preallocated space does not
    /// release it.
    durable_length: usize,
    /// Bytes of a failed sync: the system treats them as written, but they may not be durable.
    doubtful: Vec<Range<usize>>,
}

/// Bytes followed by zeros, of which a log has many after each of its records.
#[derive(Debug, Default)]
struct Cut {
    bytes: Vec<u8>,
    zeros: usize,
}

impl Cut {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.zeros == 0
    }

    fn prepend(&mut self, mut bytes: Vec<u8>) {
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
    }

    fn prepend_zeros(&mut self, zeros: usize) {
        if self.is_empty() {
            self.zeros = zeros;
        } else {
            self.prepend(vec![0; zeros]);
        }
    }

    /// Moves the bytes to the end of others.
    fn move_to(&mut self, end: &mut Vec<u8>) {
        let Self { bytes, zeros } = std::mem::take(self);
        end.extend_from_slice(&bytes);
        end.resize(end.len() + zeros, 0);
    }
}

impl FileData {
    /// Creates a file whose bytes are all durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { shared: bytes.len(), durable_length: bytes.len(), bytes, ..Self::default() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn preallocated(&self) -> usize {
        self.preallocated
    }

    /// Makes a newly opened writer append after the preallocated bytes.
    pub(super) fn keep_preallocated(&mut self) {
        self.preallocated = 0;
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (left, durable_length) =
            (self.preallocated.saturating_sub(bytes.len()), self.durable_length);
        let start = self.bytes.len() - self.preallocated;
        if left > 0 && !self.is_rewound {
            self.overwrite_zeros(start, bytes);
            self.preallocated = left;
            return;
        }
        self.truncate(start);
        self.bytes.extend_from_slice(bytes);
        self.preallocate(left);
        self.durable_length = durable_length;
    }

    /// Writes into preallocated zeros, which has the result of a truncation, an append and a
    /// preallocation without a copy of the zeros.
    fn overwrite_zeros(&mut self, start: usize, bytes: &[u8]) {
        if start < self.shared {
            self.cut.prepend_zeros(self.shared - start);
            self.shared = start;
        }
        self.forget_doubt_after(start);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Adds zeros after the written bytes, so that at least `bytes` are preallocated.
    pub(super) fn preallocate(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.preallocated);
        self.bytes.resize(self.bytes.len() + more, 0);
        self.preallocated += more;
    }

    /// Moves the write position to `length`. The bytes after it stay until they are overwritten.
    pub(super) fn rewind(&mut self, length: usize) {
        self.preallocated = self.bytes.len() - length;
        self.is_rewound = true;
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.preallocated = 0;
        self.is_rewound = false;
        self.durable_length = self.durable_length.min(length);
        if length < self.shared {
            self.cut.prepend(self.bytes[length..self.shared].to_vec());
            self.shared = length;
        }
        self.bytes.truncate(length);
        self.forget_doubt_after(length);
    }

    fn forget_doubt_after(&mut self, length: usize) {
        self.doubtful.retain_mut(|range| {
            range.end = range.end.min(length);
            range.start < range.end
        });
    }

    pub(super) fn sync(&mut self) {
        self.shared = self.bytes.len();
        self.durable_length = self.bytes.len();
        self.cut = Cut::default();
    }

    /// Records a failed sync. The pages count as clean afterwards, so no later sync writes them.
    pub(super) fn fail_sync(&mut self) {
        if self.shared < self.bytes.len() {
            self.doubtful.push(self.shared..self.bytes.len());
        }
    }

    /// Loses everything that was not synced.
    pub(super) fn drop_unsynced(&mut self) {
        self.bytes.truncate(self.shared);
        self.cut.move_to(&mut self.bytes);
        for range in std::mem::take(&mut self.doubtful) {
            let end = range.end.min(self.bytes.len());
            self.bytes[range.start.min(end)..end].fill(0);
        }
        self.shared = self.bytes.len();
        self.durable_length = self.bytes.len();
        self.preallocated = 0;
    }

    /// Replaces the content with a possible durable state at this moment.
    pub(super) fn lose_power(&mut self, rng: &SeededRng) {
        let (length, has_room) = (self.bytes.len(), self.preallocated > 0);
        if !self.cut.is_empty() && rng.one_in(2) {
            self.undo_cut(rng);
        } else {
            self.tear_end(rng);
        }
        for range in std::mem::take(&mut self.doubtful) {
            for sector in sectors(range.start..range.end.min(self.bytes.len())) {
                if rng.one_in(2) {
                    self.bytes[sector].fill(0);
                }
            }
        }
        if has_room && rng.one_in(2) {
            self.bytes.resize(length.max(self.bytes.len()), 0);
        }
        self.bytes.resize(self.durable_length.max(self.bytes.len()), 0);
        self.preallocated = 0;
        self.sync();
    }

    /// Restores the old durable length. The sector that contains the truncation may have been
    /// written since.
    fn undo_cut(&mut self, rng: &SeededRng) {
        let mut old = self.bytes[..self.shared].to_vec();
        self.cut.move_to(&mut old);
        if rng.one_in(2) {
            let end = (self.shared / SECTOR_BYTES + 1) * SECTOR_BYTES;
            let end = end.min(old.len()).min(self.bytes.len());
            old[self.shared..end].copy_from_slice(&self.bytes[self.shared..end]);
        }
        self.bytes = old;
    }

    /// Loses the appended bytes completely, after a sector, not at all, or in some sectors only.
    fn tear_end(&mut self, rng: &SeededRng) {
        let end = self.bytes.len();
        let ends: Vec<usize> = sectors(self.shared..end).map(|sector| sector.end).collect();
        let some_sector = |rng: &SeededRng| {
            ends.get(rng.up_to(ends.len().saturating_sub(1))).copied().unwrap_or(end)
        };
        match rng.below(4) {
            0 => self.bytes.truncate(self.shared),
            1 => self.bytes.truncate(some_sector(rng)),
            2 => {}
            _ => {
                if rng.one_in(2) {
                    self.bytes.truncate(some_sector(rng));
                }
                for sector in sectors(self.shared..self.bytes.len()) {
                    match rng.below(4) {
                        0 => self.bytes[sector].fill(0),
                        1 => self.bytes[sector].fill_with(|| rng.next_u64().to_le_bytes()[0]),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Returns the parts of `range` in one sector each.
fn sectors(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        at = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(range.end);
        (start < range.end).then_some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_power_loss(make: impl Fn() -> FileData, seed: u64) -> Vec<u8> {
        let mut file = make();
        file.lose_power(&SeededRng::new(seed));
        assert!(file.shared == file.bytes.len() && file.cut.is_empty() && file.doubtful.is_empty());
        file.bytes
    }

    #[test]
    fn sectors_are_aligned_to_the_file() {
        assert_eq!(sectors(500..1100).collect::<Vec<_>>(), [500..512, 512..1024, 1024..1100]);
        assert_eq!(sectors(7..7).count(), 0);
    }

    #[test]
    fn power_loss_keeps_synced_bytes_and_varies_the_rest() {
        let make = || {
            let mut file = FileData::durable(vec![1; 700]);
            file.append(&[2; 2000]);
            file
        };
        let outcomes: Vec<_> = (0..400).map(|seed| after_power_loss(make, seed)).collect();
        assert!(
            outcomes
                .iter()
                .all(|bytes| (700..=2700).contains(&bytes.len()) && bytes[..700] == [1; 700])
        );
        let any = |form: &dyn Fn(&[u8]) -> bool| outcomes.iter().any(|bytes| form(&bytes[700..]));
        assert!(any(&|end| end.is_empty()) && any(&|end| end == [2; 2000]));
        assert!(
            any(&|end| end.len() == 1024 - 700 && end.iter().all(|&byte| byte == 2)),
            "a whole number of sectors"
        );
        assert!(
            any(&|end| end.len() == 2000 && end[..324] == [0; 324] && end[1900..] == [2; 100]),
            "a hole before good bytes"
        );
    }

    #[test]
    fn preallocated_bytes_are_zeros_until_written_and_synced() {
        let make = || {
            let mut file = FileData::durable(vec![1; 100]);
            file.preallocate(2000);
            file.sync();
            file.append(&[2; 1200]);
            file
        };
        assert_eq!((make().bytes.len(), make().preallocated), (2100, 800));
        assert!(make().bytes[1300..] == [0; 800]);
        let outcomes: Vec<_> = (0..400).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| bytes.len() <= 2100 && bytes[..100] == [1; 100]));
        let any = |form: &dyn Fn(&[u8]) -> bool| outcomes.iter().any(|bytes| form(&bytes[100..]));
        assert!(any(&|end| end == [0; 2000]), "nothing was written");
        assert!(
            any(&|end| end.len() == 2000 && end[..1200] == [2; 1200] && end[1200..] == [0; 800]),
            "everything was"
        );
        let mut file = make();
        file.append(&[3; 1000]);
        file.sync();
        assert_eq!(file.preallocated, 0);
        assert_eq!(
            after_power_loss(
                || {
                    let mut file = make();
                    file.append(&[3; 1000]);
                    file.sync();
                    file
                },
                1
            ),
            file.bytes
        );
        file.preallocate(10);
        file.truncate(2300);
        assert_eq!((file.bytes.len(), file.preallocated), (2300, 0));
    }

    #[test]
    fn truncation_may_be_undone_until_synced() {
        let make = || {
            let mut file = FileData::durable(vec![1; 1500]);
            file.truncate(600);
            file.append(&[2; 300]);
            file.truncate(800);
            file
        };
        let mut old = vec![1; 1500];
        let outcomes: Vec<_> = (0..200).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| bytes[..600] == [1; 600]));
        assert!(outcomes.contains(&old), "the cut did not happen");
        assert!(outcomes.iter().any(|bytes| bytes.len() == 600), "only the cut happened");
        old[600..800].fill(2);
        assert!(outcomes.contains(&old), "the old length over the new sector");
        let mut file = make();
        file.sync();
        file.lose_power(&SeededRng::new(1));
        assert_eq!((file.bytes.len(), file.bytes[799]), (800, 2));
    }

    #[test]
    fn sync_after_failed_sync_does_not_restore_durability() {
        let make = || {
            let mut file = FileData::durable(vec![1; 512]);
            file.append(&[2; 512]);
            file.fail_sync();
            file.append(&[3; 512]);
            file.sync();
            file
        };
        let outcomes: Vec<_> = (0..50).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| bytes.len() == 1536
            && bytes[..512] == [1; 512]
            && bytes[1024..] == [3; 512]));
        let middle = |byte| outcomes.iter().any(|bytes| bytes[512..1024] == [byte; 512]);
        assert!(middle(0) && middle(2));
    }
}
