//! Filters around one other filter. As in HBase the inner filter is never told that the scan goes backwards.

use halite_types::cell::CellRef;

use super::{Evaluate, ReturnCode, ValueForm};

/// `WhileMatchFilter`: the first thing the inner filter leaves out ends the scan.
pub(super) struct WhileMatch {
    inner: Box<dyn Evaluate>,
    ended: bool,
}

impl WhileMatch {
    pub(super) fn new(inner: Box<dyn Evaluate>) -> Self {
        Self { inner, ended: false }
    }
}

impl Evaluate for WhileMatch {
    fn set_seed(&mut self, seed: u64) {
        self.inner.set_seed(seed);
    }

    fn reset(&mut self) {
        self.inner.reset();
    }

    fn filter_all_remaining(&self) -> bool {
        self.ended || self.inner.filter_all_remaining()
    }

    fn filter_row_key(&mut self, row: &[u8]) -> bool {
        if self.filter_all_remaining() {
            return true;
        }
        let filtered = self.inner.filter_row_key(row);
        self.ended |= filtered;
        filtered
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let code = self.inner.filter_cell(cell);
        self.ended |= code != ReturnCode::Include;
        code
    }

    fn transforms(&self) -> bool {
        self.inner.transforms()
    }

    fn transform(&self, value: ValueForm) -> ValueForm {
        self.inner.transform(value)
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        let filtered = self.inner.filter_row();
        self.ended |= filtered;
        filtered
    }
}

/// `SkipFilter`: the first cell the inner filter leaves out takes the row with it. As in HBase the inner filter never
/// hears of row keys, so that one which needs them leaves everything out.
pub(super) struct Skip {
    inner: Box<dyn Evaluate>,
    filter_row: bool,
}

impl Skip {
    pub(super) fn new(inner: Box<dyn Evaluate>) -> Self {
        Self { inner, filter_row: false }
    }
}

impl Evaluate for Skip {
    fn set_seed(&mut self, seed: u64) {
        self.inner.set_seed(seed);
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.filter_row = false;
    }

    fn filter_cell(&mut self, cell: CellRef<'_>) -> ReturnCode {
        let code = self.inner.filter_cell(cell);
        self.filter_row |= code != ReturnCode::Include;
        code
    }

    fn transforms(&self) -> bool {
        self.inner.transforms()
    }

    fn transform(&self, value: ValueForm) -> ValueForm {
        self.inner.transform(value)
    }

    fn has_filter_row(&self) -> bool {
        true
    }

    fn filter_row(&mut self) -> bool {
        self.filter_row
    }
}
