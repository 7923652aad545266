//! Files of one flush or compaction, each with a part of the cells.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{CellRef, Result};

use super::division::{Division, StripeFile};
use super::write::{FileLabels, UnfinishedFile};
use super::{NewFile, StoreFile, StripeBounds, write_file};
use crate::shared::EngineInner;

/// As [`write_file`], but divides the cells among several files. Leaves no file on failure.
pub(crate) fn write_files(
    shared: &EngineInner,
    new: &NewFile<'_>,
    division: &Division,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<Vec<Arc<StoreFile>>> {
    match division {
        Division::Whole => Ok(write_file(shared, new, fill)?.into_iter().collect()),
        Division::Times(bounds) if bounds.len() <= 1 => {
            Ok(write_file(shared, new, fill)?.into_iter().collect())
        }
        Division::Times(bounds) => write_by_time(shared, new, bounds, fill),
        Division::Stripes(stripes) => {
            let mut files = StripeWriter::new(shared, new);
            let mut at = 0;
            fill(&mut |cell| {
                while stripes.get(at).is_some_and(|stripe| stripe.bounds.is_before(cell.row())) {
                    files.end_stripe(&stripes[at])?;
                    at += 1;
                }
                debug_assert!(
                    stripes.get(at).is_some_and(|stripe| stripe.bounds.contains(cell.row())),
                    "a cell belongs to one of the stripes"
                );
                files.append(cell)
            })?;
            stripes.get(at..).into_iter().flatten().try_for_each(|rest| files.end_stripe(rest))?;
            files.finish()
        }
        Division::Cells { bounds, most, cells, is_required } => {
            write_by_number(shared, new, (bounds, *most, *cells), *is_required, fill)
        }
    }
}

fn write_by_time(
    shared: &EngineInner,
    new: &NewFile<'_>,
    bounds: &[i64],
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<Vec<Arc<StoreFile>>> {
    let mut files: BTreeMap<usize, UnfinishedFile<'_>> = BTreeMap::new();
    fill(&mut |cell| {
        let place = bounds.partition_point(|bound| *bound <= cell.timestamp());
        let file = match files.entry(place.max(1)) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(place) => place.insert(UnfinishedFile::create(shared, new)?),
        };
        file.append(cell)
    })?;
    let mut complete: Vec<_> = files.into_values().collect();
    complete.iter_mut().try_for_each(|file| file.complete(&FileLabels::of(new)))?;
    place_all(shared, complete)
}

/// Moves the files of one flush or compaction to their store. They stay in `.tmp` until all are
/// complete: a repair without a manifest takes a file of a compaction for all that the compaction
/// wrote.
fn place_all(
    shared: &EngineInner,
    complete: Vec<UnfinishedFile<'_>>,
) -> Result<Vec<Arc<StoreFile>>> {
    let mut placed = PlacedFiles { shared, files: Vec::new() };
    for file in complete {
        placed.files.extend(file.place()?);
    }
    Ok(placed.take())
}

/// Writes stripes of a number of cells, and the rest of the row in which it is reached (HBase:
/// `StripeMultiFileWriter.SizeMultiWriter`).
fn write_by_number(
    shared: &EngineInner,
    new: &NewFile<'_>,
    (bounds, most, cells): (&StripeBounds, usize, u64),
    is_required: bool,
    fill: impl FnOnce(&mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()>,
) -> Result<Vec<Arc<StoreFile>>> {
    let mut files = StripeWriter::new(shared, new);
    let (mut start, mut count) = (bounds.start.clone(), 1);
    // Row at which the number of cells was reached.
    let mut last_row: Option<Bytes> = None;
    let stripe = |start: Bytes, end: Bytes, is_required| StripeFile {
        bounds: StripeBounds { start, end },
        max_sequence: new.max_sequence,
        is_required,
    };
    fill(&mut |cell| {
        debug_assert!(bounds.contains(cell.row()), "a cell belongs to the stripes");
        if last_row.as_ref().is_some_and(|row| cell.row() != &row[..]) {
            let end = Bytes::copy_from_slice(cell.row());
            files.end_stripe(&stripe(std::mem::replace(&mut start, end.clone()), end, false))?;
            (count, last_row) = (count + 1, None);
        }
        files.append(cell)?;
        if last_row.is_none() && count < most && files.cells() >= cells {
            last_row = Some(Bytes::copy_from_slice(cell.row()));
        }
        Ok(())
    })?;
    let is_required = is_required && count == 1;
    files.end_stripe(&stripe(start, bounds.end.clone(), is_required))?;
    files.finish()
}

/// Writer of one stripe after the other.
struct StripeWriter<'a> {
    shared: &'a EngineInner,
    new: &'a NewFile<'a>,
    current: Option<UnfinishedFile<'a>>,
    complete: Vec<UnfinishedFile<'a>>,
}

impl<'a> StripeWriter<'a> {
    fn new(shared: &'a EngineInner, new: &'a NewFile<'a>) -> Self {
        Self { shared, new, current: None, complete: Vec::new() }
    }

    fn append(&mut self, cell: CellRef<'_>) -> Result<()> {
        if self.current.is_none() {
            self.current = Some(UnfinishedFile::create(self.shared, self.new)?);
        }
        self.current.as_mut().map_or(Ok(()), |file| file.append(cell))
    }

    /// Returns the number of cells in the current stripe.
    fn cells(&self) -> u64 {
        self.current.as_ref().map_or(0, UnfinishedFile::cells)
    }

    /// Completes the file of the current stripe.
    fn end_stripe(&mut self, stripe: &StripeFile) -> Result<()> {
        let file = match self.current.take() {
            None if stripe.is_required => Some(UnfinishedFile::create(self.shared, self.new)?),
            file => file,
        };
        if let Some(mut file) = file {
            file.complete(&FileLabels {
                max_sequence: stripe.max_sequence,
                stripe: Some(&stripe.bounds),
                is_required: stripe.is_required,
            })?;
            self.complete.push(file);
        }
        Ok(())
    }

    /// Moves the files to their store.
    fn finish(self) -> Result<Vec<Arc<StoreFile>>> {
        debug_assert!(self.current.is_none(), "every stripe has ended");
        place_all(self.shared, self.complete)
    }
}

/// Files in their store, which are deleted unless they are taken.
struct PlacedFiles<'a> {
    shared: &'a EngineInner,
    files: Vec<Arc<StoreFile>>,
}

impl PlacedFiles<'_> {
    fn take(mut self) -> Vec<Arc<StoreFile>> {
        std::mem::take(&mut self.files)
    }
}

impl Drop for PlacedFiles<'_> {
    fn drop(&mut self) {
        if !self.files.is_empty() {
            self.shared.archive_or_delete(self.files.iter().flat_map(|file| file.origins()));
        }
    }
}
