//! Cells of a data block, which are validated when the block is read, or each when it is read.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::sync::OnceLock;

use super::cell_layout::CellLayout;
use super::cell_map::CellMap;
use halite_types::Result;

/// When the cells of a data block are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validation {
    /// All of them before the first is read, for a block that is kept or searched.
    Whole,
    /// Each when it is read, for a reader that passes the block once. It saves a walk over the
    /// cells, which is a quarter of the time of a scan of small ones. Differences of cells without
    /// tags are also decoded then. A search validates all cells, or decodes the whole block.
    AsRead,
}

/// Cells of a data block, in its payload.
#[derive(Debug)]
pub(super) struct DataCells {
    pub(super) layout: CellLayout,
    /// Positions, once all cells are validated.
    map: OnceLock<CellMap>,
}

impl DataCells {
    /// Returns the cells of a payload.
    ///
    /// # Errors
    /// `Corrupt` if they are to be validated and one is damaged.
    pub(super) fn new(payload: &[u8], layout: CellLayout, validation: Validation) -> Result<Self> {
        match validation {
            Validation::Whole => Ok(Self::validated(CellMap::parse(payload, layout)?, layout)),
            Validation::AsRead => Ok(Self { layout, map: OnceLock::new() }),
        }
    }

    /// Returns cells with their positions.
    pub(super) fn validated(map: CellMap, layout: CellLayout) -> Self {
        Self { layout, map: OnceLock::from(map) }
    }

    /// Returns the positions; `None` unless all cells are validated.
    #[inline]
    pub(super) fn map(&self) -> Option<&CellMap> {
        self.map.get()
    }

    /// Returns the positions; validates all cells of the payload before, unless they are.
    ///
    /// # Errors
    /// `Corrupt`, with the number and the offset of the cell that is damaged.
    pub(super) fn validate(&self, payload: &[u8]) -> Result<&CellMap> {
        if let Some(map) = self.map() {
            return Ok(map);
        }
        let map = CellMap::parse(payload, self.layout)?;
        Ok(self.map.get_or_init(|| map))
    }
}
