//! Verification of a whole file and of the consistency of its contents.
//!
//! Opening a file trusts data that is not needed yet. The verification reads every block and its
//! checksums, follows every path of the index, and compares every cell with the previous one. It
//! also looks up every cell in the bloom filters and verifies the properties of the file info.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::{Arc, Mutex};

use super::block::{Block, FoundPart};
use super::block_header::{BlockHandle, BlockKind};
use super::block_iter::BlockSummary;
use super::damaged;
use super::file_info::info_key;
use super::load_on_open::read_bytes;
use super::part_index::{Part, PartChoice};
use super::reader::{BlockSource, DirectBlocks, Reader};
use crate::heal::Healed;
use halite_types::cell::{CellType, MAX_FAMILY_BYTES, MAX_ROW_BYTES, key_family, key_row};
use halite_types::key::to_string_binary;
use halite_types::{CellRef, Error, Result};

/// Content of a consistent file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// Number of cells.
    pub cells: u64,
    /// Number of rows.
    pub rows: u64,
    /// Every block, in file order.
    pub blocks: Vec<BlockSummary>,
    /// Successful lookups in bloom filters; all of them had to succeed.
    pub bloom_lookups: u64,
}

impl Reader {
    /// Reads and verifies everything: checksums, the order of the cells, and the numbers of trailer
    /// and file info. The index must lead to every data block, and its keys must be in their
    /// bounds. The bloom filters must contain every cell.
    ///
    /// # Errors
    /// `Corrupt` for the first error, with its cause and position; `Io`.
    pub fn verify(&self) -> Result<VerifyReport> {
        let blocks = self.walk_blocks()?;
        for block in blocks.iter().filter(|block| block.kind != BlockKind::Data) {
            self.read_block(block.handle, block.kind)?;
        }
        let index = IndexWalk::run(self)?;
        self.check_reached(&blocks, &index)?;
        let mut cells = CellCheck::new(self);
        for entry in &index.data {
            let block = self.read_block(entry.handle, BlockKind::Data)?;
            let place = |error: Error| {
                self.with_path(error.at(format_args!("data block at {}", entry.handle.offset)))
            };
            cells.check_block(entry, &block).map_err(place)?;
        }
        cells.check_totals().map_err(|error| self.with_path(error))?;
        Ok(VerifyReport {
            cells: cells.count,
            rows: cells.rows,
            bloom_lookups: cells.bloom_lookups,
            blocks,
        })
    }

    /// Verifies that the blocks the index leads to are exactly those in the file.
    fn check_reached(&self, blocks: &[BlockSummary], index: &IndexWalk) -> Result<()> {
        let there = |kind: BlockKind| {
            blocks.iter().filter(move |block| block.kind == kind).map(|block| block.handle)
        };
        let mut named = index.data.iter().map(|entry| entry.handle).peekable();
        // Both ascend, so the first difference shows which side has a block that the other lacks.
        for pointer in there(BlockKind::Data) {
            match named.peek() {
                Some(next) if *next == pointer => named.next(),
                Some(next) if next.offset <= pointer.offset => break,
                _ => {
                    return Err(self.with_path(damaged(format_args!(
                        "no index entry leads to the data block at {}",
                        pointer.offset
                    ))));
                }
            };
        }
        if let Some(nowhere) = named.next() {
            let what = format_args!(
                "its index leads to {} bytes at {}, which are no data block",
                nowhere.on_disk_bytes, nowhere.offset
            );
            return Err(self.with_path(damaged(what)));
        }
        for (kind, reached) in [
            (BlockKind::LeafIndex, index.leaves),
            (BlockKind::IntermediateIndex, index.intermediates),
        ] {
            let count = there(kind).count();
            if count != reached {
                return Err(self.with_path(damaged(format_args!(
                    "it has {count} {}s, and its root leads to {reached} of them",
                    kind.name()
                ))));
            }
        }
        Ok(())
    }
}

/// Entry of the lowest index level.
struct DataEntry {
    handle: BlockHandle,
    key: Vec<u8>,
}

/// All blocks the index leads to.
struct IndexWalk {
    data: Vec<DataEntry>,
    leaves: usize,
    intermediates: usize,
}

impl IndexWalk {
    fn run(reader: &Reader) -> Result<Self> {
        let root = reader.root();
        let entry = |number| {
            Some(DataEntry { handle: root.handle(number)?, key: root.key(number).to_vec() })
        };
        let mut walk =
            Self { data: (0..root.len()).filter_map(entry).collect(), leaves: 0, intermediates: 0 };
        walk.check_order(reader)?;
        for level in 2..=reader.index_levels() {
            let kind = if level == reader.index_levels() {
                BlockKind::LeafIndex
            } else {
                BlockKind::IntermediateIndex
            };
            let reached = if kind == BlockKind::LeafIndex {
                &mut walk.leaves
            } else {
                &mut walk.intermediates
            };
            *reached = reached.saturating_add(walk.data.len());
            walk.descend(reader, kind)?;
            walk.check_order(reader)?;
        }
        Ok(walk)
    }

    /// Replaces the entries by those of the blocks they point to.
    fn descend(&mut self, reader: &Reader, kind: BlockKind) -> Result<()> {
        let mut below = Vec::new();
        for above in &self.data {
            let block = reader.read_block(above.handle, kind)?;
            let Some(index) = block.index() else { continue };
            let entries =
                (0..index.len()).filter_map(|number| index.entry(block.payload(), number));
            let before = below.len();
            below.extend(
                entries.map(|(pointer, key)| DataEntry { handle: pointer, key: key.to_vec() }),
            );
            if below.get(before).is_some_and(|first| first.key != above.key) {
                let place = format_args!("{} at {}", kind.name(), above.handle.offset);
                return Err(reader.with_path(
                    damaged("its first key is not the one under which the level above names it")
                        .at(place),
                ));
            }
        }
        self.data = below;
        Ok(())
    }

    fn check_order(&self, reader: &Reader) -> Result<()> {
        let wrong = self.data.windows(2).find(|pair| match pair {
            [before, after] => {
                before.handle.offset >= after.handle.offset
                    || reader.comparator().compare(&before.key, &after.key).is_ge()
            }
            _ => false,
        });
        match wrong {
            Some([before, after]) => Err(reader.with_path(damaged(format_args!(
                "its index entries for the blocks at {} and {} are not in ascending order",
                before.handle.offset, after.handle.offset
            )))),
            _ => Ok(()),
        }
    }
}

/// Verifies that a client could have written a cell. Clients can neither read nor delete any other
/// cell.
///
/// # Errors
/// The defect, as the end of a sentence about the cell.
pub(crate) fn check_storable(cell: CellRef<'_>) -> std::result::Result<(), &'static str> {
    match cell {
        cell if cell.row().is_empty() => Err("has an empty row"),
        cell if cell.row().len() > MAX_ROW_BYTES => Err("has a row above 32,767 bytes"),
        cell if cell.family().is_empty() || cell.family().len() > MAX_FAMILY_BYTES => {
            Err("has no family, or one above 127 bytes")
        }
        cell if cell.cell_type().is_none() => Err("is neither a put nor a delete"),
        _ => Ok(()),
    }
}

/// Parts of a data block, compared with the block.
struct BlockPartCheck<'a> {
    reader: &'a Reader,
    handle: BlockHandle,
    index: Arc<Block>,
}

impl<'a> BlockPartCheck<'a> {
    /// Reads the parts, verifies their checksums, and that they are the whole block. `None` if the block
    /// has no parts.
    fn new(
        reader: &'a Reader,
        source: &LastBlocks,
        handle: BlockHandle,
        block: &Block,
    ) -> Result<Option<Self>> {
        let Some(index) = reader.part_index_of(handle) else { return Ok(None) };
        let check = Self { reader, handle, index: source.block(reader, index, BlockKind::Meta)? };
        let (mut number, mut end) = (0_usize, 0);
        while let Some(part) = check.part(PartChoice::Number(number)) {
            if part.start != end {
                return Err(damaged("the parts in its part index do not follow one another"));
            }
            end = part.end();
            let found = FoundPart { part, index: Arc::clone(&check.index) };
            let cells = reader.read_part_by(&found, read_bytes)?;
            if block.payload().get(part.start as usize..end as usize) != Some(cells.payload()) {
                return Err(damaged("a part in its part index has other cells than the block"));
            }
            number = number.saturating_add(1);
        }
        match number {
            0 => Ok(None),
            _ if end as usize == block.payload().len() => Ok(Some(check)),
            _ => Err(damaged("the parts in its part index are not the whole block")),
        }
    }

    fn part(&self, choice: PartChoice<'_>) -> Option<Part> {
        self.index.find_part(self.handle, choice, self.reader.part_order())
    }

    /// Verifies that a search for the key of each cell leads to the part that holds the cell.
    fn check_cells(&self, block: &Block) -> Result<()> {
        let mut next = block.first_cell();
        while let Some(span) = next {
            let part = self.part(PartChoice::Key(block.key(&span)));
            if part.is_none_or(|part| span.start < part.start || part.end() < span.end) {
                return Err(damaged("its part index does not lead to one of its cells"));
            }
            next = block.cell_after(&span);
        }
        Ok(())
    }
}

/// State of the cells verified so far.
struct CellCheck<'a> {
    reader: &'a Reader,
    source: LastBlocks,
    count: u64,
    rows: u64,
    bloom_lookups: u64,
    delete_families: u64,
    earliest_put: i64,
    previous: Option<(Vec<u8>, u64)>,
}

impl<'a> CellCheck<'a> {
    fn new(reader: &'a Reader) -> Self {
        Self {
            reader,
            source: LastBlocks::default(),
            count: 0,
            rows: 0,
            bloom_lookups: 0,
            delete_families: 0,
            earliest_put: i64::MAX,
            previous: None,
        }
    }

    fn check_block(&mut self, entry: &DataEntry, block: &Block) -> Result<()> {
        let comparator = self.reader.comparator();
        let mut span = block.first_cell();
        let first = span.as_ref().map(|span| block.key(span));
        if first.is_some_and(|first| comparator.compare(&entry.key, first).is_gt()) {
            return Err(damaged("its index key is greater than its first cell"));
        }
        if self
            .previous
            .as_ref()
            .is_some_and(|(last, _)| comparator.compare(last, &entry.key).is_gt())
        {
            return Err(damaged("its index key lies before the last cell of the block before"));
        }
        while let Some(at) = span {
            self.check_cell(block.cell(&at))?;
            span = block.cell_after(&at);
        }
        match BlockPartCheck::new(self.reader, &self.source, entry.handle, block)? {
            Some(parts) => parts.check_cells(block),
            None => Ok(()),
        }
    }

    fn check_cell(&mut self, cell: CellRef<'_>) -> Result<()> {
        let number = self.count;
        let wrong = |what: &str| {
            Err(damaged(format_args!(
                "cell {number} (row {}) {what}",
                to_string_binary(cell.row())
            )))
        };
        if let Some((key, sequence)) = &self.previous {
            let order = self.reader.comparator().compare(key, cell.key());
            if order.is_gt() || (order.is_eq() && *sequence < cell.sequence_id()) {
                return wrong("is not greater than the previous cell");
            }
            if key_family(key) != cell.family() {
                return wrong("is of another family than the cell before it");
            }
        }
        if let Err(why) = check_storable(cell) {
            return wrong(why);
        }
        if self.reader.time_range().is_some_and(|range| !range.contains(&cell.timestamp())) {
            return wrong("has a timestamp outside the range in the file info");
        }
        if self.reader.has_sequence_ids() && cell.sequence_id() > self.reader.max_cell_sequence_id()
        {
            return wrong("has a sequence id above the highest in the file info");
        }
        if self.reader.max_tags_bytes().is_some_and(|most| cell.tags().len() > most) {
            return wrong("has longer tags than the longest in the file info");
        }
        if !self.is_in_blooms(cell)? {
            return wrong("is not in the bloom filter, so a read would miss it");
        }
        self.count_cell(cell);
        Ok(())
    }

    fn is_in_blooms(&mut self, cell: CellRef<'_>) -> Result<bool> {
        let (reader, source) = (self.reader, &self.source);
        let deletes_family = matches!(
            cell.cell_type(),
            Some(CellType::DeleteFamily | CellType::DeleteFamilyVersion)
        );
        self.bloom_lookups = self.bloom_lookups.saturating_add(u64::from(reader.bloom.is_some()));
        if deletes_family {
            self.delete_families = self.delete_families.saturating_add(1);
            self.bloom_lookups =
                self.bloom_lookups.saturating_add(u64::from(reader.delete_family_bloom.is_some()));
            if !reader.may_contain_delete_family(source, cell.row())? {
                return Ok(false);
            }
        }
        Ok(reader.may_contain_row(source, cell.row())?
            && reader.may_contain_column(source, cell.row(), cell.qualifier())?)
    }

    fn count_cell(&mut self, cell: CellRef<'_>) {
        let is_new_row = self.previous.as_ref().is_none_or(|(key, _)| key_row(key) != cell.row());
        self.rows = self.rows.saturating_add(u64::from(is_new_row));
        self.count = self.count.saturating_add(1);
        if cell.cell_type() == Some(CellType::Put) {
            self.earliest_put = self.earliest_put.min(cell.timestamp());
        }
        let (key, sequence) = self.previous.get_or_insert_default();
        key.clear();
        key.extend_from_slice(cell.key());
        *sequence = cell.sequence_id();
    }

    fn check_totals(&self) -> Result<()> {
        if self.count != self.reader.entry_count() {
            return Err(damaged(format_args!(
                "it has {} cells, its trailer states {}",
                self.count,
                self.reader.entry_count()
            )));
        }
        let last = self.previous.as_ref().map(|(key, _)| key.as_slice());
        if self.reader.last_key().is_some_and(|stated| Some(stated) != last) {
            return Err(damaged(format_args!(
                "its {} is not the key of its last cell",
                info_key::LAST_KEY
            )));
        }
        // A compaction drops older markers and all cells that they hide.
        if let Some(stated) =
            self.reader.earliest_put_timestamp().filter(|stated| *stated > self.earliest_put)
        {
            return Err(damaged(format_args!(
                "it has a put of {}, its {} states {stated}",
                self.earliest_put,
                info_key::EARLIEST_PUT
            )));
        }
        match self.reader.delete_family_count() {
            Some(stated) if stated != self.delete_families => Err(damaged(format_args!(
                "it has {} family delete markers, its {} states {stated}",
                self.delete_families,
                info_key::DELETE_FAMILY_COUNT
            ))),
            _ => Ok(()),
        }
    }
}

/// Disk source that retains the two blocks that were read last. Neighboring cells use the same
/// chunk of a bloom filter, and family deletes use one chunk of each of two filters.
#[derive(Default)]
struct LastBlocks(Mutex<[Option<KnownBlock>; 2]>);

/// Block with its offset in the file.
type KnownBlock = (u64, Arc<Block>);

impl BlockSource for LastBlocks {
    fn block(&self, reader: &Reader, pointer: BlockHandle, kind: BlockKind) -> Result<Arc<Block>> {
        let mut last = self.0.lock().healed();
        if let Some((_, block)) =
            last.iter().flatten().find(|(offset, _)| *offset == pointer.offset)
        {
            return Ok(Arc::clone(block));
        }
        let block = DirectBlocks.block(reader, pointer, kind)?;
        last.rotate_right(1);
        let [newest, _] = &mut *last;
        *newest = Some((pointer.offset, Arc::clone(&block)));
        Ok(block)
    }
}
