//! The bytes of one simulated file: what processes see, what the platter has, and what a power loss leaves.
//!
//! ```text
//! seen by processes   | bytes[..shared] | bytes[shared..]       |     appended, not synced
//! on the platter      | bytes[..shared] | cut                   |     cut off, not synced
//! ```
//! Files only grow at their end and are cut, so a common front and two ends say everything. Room that is reserved stands as
//! zeros at the end of both; writing there is a cut and an end like any other. A sector is written whole
//! or not at all, and writing one again never harms the synced bytes in it; sectors reach the platter in any order.

use std::ops::Range;

use crate::env::Rng as _;
use crate::env::chance::SeededRng;

/// What a disk writes in one piece.
pub(super) const SECTOR_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct FileData {
    bytes: Vec<u8>,
    shared: usize,
    cut: Vec<u8>,
    /// How many of the last bytes are zeros that the next ones take the place of.
    reserved: usize,
    /// The length on the platter, as long as nobody cuts it off: writing into room does not give the room back.
    durable_length: usize,
    /// Bytes that a failed sync left behind: the system holds them for written, the platter may not have them.
    doubtful: Vec<Range<usize>>,
}

impl FileData {
    /// A file whose bytes are all on the platter.
    pub(super) fn durable(bytes: Vec<u8>) -> Self {
        Self { shared: bytes.len(), durable_length: bytes.len(), bytes, ..Self::default() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn reserved(&self) -> usize {
        self.reserved
    }

    /// Whoever opens it now writes behind all of it.
    pub(super) fn keep_reserved(&mut self) {
        self.reserved = 0;
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (left, durable_length) = (self.reserved.saturating_sub(bytes.len()), self.durable_length);
        self.truncate(self.bytes.len() - self.reserved);
        self.bytes.extend_from_slice(bytes);
        self.reserve(left);
        self.durable_length = durable_length;
    }

    /// Zeros behind what is written, so that there are at least so many.
    pub(super) fn reserve(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.reserved);
        self.bytes.resize(self.bytes.len() + more, 0);
        self.reserved += more;
    }

    /// What stands behind `length` is there until something else is written in its place.
    pub(super) fn rewind(&mut self, length: usize) {
        self.reserved = self.bytes.len() - length;
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.reserved = 0;
        self.durable_length = self.durable_length.min(length);
        if length < self.shared {
            let mut cut = self.bytes[length..self.shared].to_vec();
            cut.append(&mut self.cut);
            self.cut = cut;
            self.shared = length;
        }
        self.bytes.truncate(length);
        self.doubtful.retain_mut(|range| {
            range.end = range.end.min(length);
            range.start < range.end
        });
    }

    pub(super) fn sync(&mut self) {
        self.shared = self.bytes.len();
        self.durable_length = self.bytes.len();
        self.cut = Vec::new();
    }

    /// A sync that returned an error. The pages count as clean afterwards, so that no later sync writes them.
    pub(super) fn fail_sync(&mut self) {
        if self.shared < self.bytes.len() {
            self.doubtful.push(self.shared..self.bytes.len());
        }
    }

    /// Loses everything that was not synced.
    pub(super) fn lose_all(&mut self) {
        self.bytes.truncate(self.shared);
        self.bytes.append(&mut self.cut);
        for range in std::mem::take(&mut self.doubtful) {
            let end = range.end.min(self.bytes.len());
            self.bytes[range.start.min(end)..end].fill(0);
        }
        self.shared = self.bytes.len();
        self.durable_length = self.bytes.len();
        self.reserved = 0;
    }

    /// What the platter may have at this moment; from here on that is the file.
    pub(super) fn lose_power(&mut self, rng: &SeededRng) {
        let (length, has_room) = (self.bytes.len(), self.reserved > 0);
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
        self.reserved = 0;
        self.sync();
    }

    /// The length on the platter is still the old one. The sector in which the cut fell may have been written since.
    fn undo_cut(&mut self, rng: &SeededRng) {
        let mut old = self.bytes[..self.shared].to_vec();
        old.append(&mut self.cut);
        if rng.one_in(2) {
            let end = (self.shared / SECTOR_BYTES + 1) * SECTOR_BYTES;
            let end = end.min(old.len()).min(self.bytes.len());
            old[self.shared..end].copy_from_slice(&self.bytes[self.shared..end]);
        }
        self.bytes = old;
    }

    /// The appended bytes are lost, there up to a sector, all there, or there in some sectors and not in others.
    fn tear_end(&mut self, rng: &SeededRng) {
        let end = self.bytes.len();
        let ends: Vec<usize> = sectors(self.shared..end).map(|sector| sector.end).collect();
        let some_sector = |rng: &SeededRng| ends.get(rng.up_to(ends.len().saturating_sub(1))).copied().unwrap_or(end);
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

/// The parts of `range` that lie in one sector each.
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
    fn synced_bytes_always_stay_and_the_rest_comes_in_every_form() {
        let make = || {
            let mut file = FileData::durable(vec![1; 700]);
            file.append(&[2; 2000]);
            file
        };
        let outcomes: Vec<_> = (0..400).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| (700..=2700).contains(&bytes.len()) && bytes[..700] == [1; 700]));
        let any = |form: &dyn Fn(&[u8]) -> bool| outcomes.iter().any(|bytes| form(&bytes[700..]));
        assert!(any(&|end| end.is_empty()) && any(&|end| end == [2; 2000]));
        assert!(any(&|end| end.len() == 1024 - 700 && end.iter().all(|&byte| byte == 2)), "a whole number of sectors");
        assert!(any(&|end| end.len() == 2000 && end[..324] == [0; 324] && end[1900..] == [2; 100]), "a hole before good bytes");
    }

    #[test]
    fn reserved_room_is_zeros_in_front_of_which_bytes_come_and_may_be_lost() {
        let make = || {
            let mut file = FileData::durable(vec![1; 100]);
            file.reserve(2000);
            file.sync();
            file.append(&[2; 1200]);
            file
        };
        assert_eq!((make().bytes.len(), make().reserved), (2100, 800));
        assert!(make().bytes[1300..] == [0; 800]);
        let outcomes: Vec<_> = (0..400).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| bytes.len() <= 2100 && bytes[..100] == [1; 100]));
        let any = |form: &dyn Fn(&[u8]) -> bool| outcomes.iter().any(|bytes| form(&bytes[100..]));
        assert!(any(&|end| end == [0; 2000]), "nothing was written");
        assert!(any(&|end| end.len() == 2000 && end[..1200] == [2; 1200] && end[1200..] == [0; 800]), "everything was");
        let mut file = make();
        file.append(&[3; 1000]);
        file.sync();
        assert_eq!(file.reserved, 0);
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
        file.reserve(10);
        file.truncate(2300);
        assert_eq!((file.bytes.len(), file.reserved), (2300, 0));
    }

    #[test]
    fn a_cut_may_be_undone_until_it_is_synced() {
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
    fn a_sync_after_a_failed_one_proves_nothing() {
        let make = || {
            let mut file = FileData::durable(vec![1; 512]);
            file.append(&[2; 512]);
            file.fail_sync();
            file.append(&[3; 512]);
            file.sync();
            file
        };
        let outcomes: Vec<_> = (0..50).map(|seed| after_power_loss(make, seed)).collect();
        assert!(outcomes.iter().all(|bytes| bytes.len() == 1536 && bytes[..512] == [1; 512] && bytes[1024..] == [3; 512]));
        let middle = |byte| outcomes.iter().any(|bytes| bytes[512..1024] == [byte; 512]);
        assert!(middle(0) && middle(2));
    }
}
