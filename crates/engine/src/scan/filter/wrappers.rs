//! Filters around one other filter. As in HBase the inner filter never receives the reverse
//! direction of the scan.

use halite_types::cell::CellRef;

use super::evaluate::{Evaluate, ReturnCode, ValueForm};

/// `WhileMatchFilter`: the first row or cell that the inner filter excludes ends the scan.
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
    fn is_family_essential(&self, family: &[u8]) -> bool {
        self.inner.is_family_essential(family)
    }

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

/// `SkipFilter`: the first cell that the inner filter excludes removes the row. As in HBase the
/// inner filter never receives row keys, so one that needs them excludes everything.
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
    fn is_family_essential(&self, family: &[u8]) -> bool {
        self.inner.is_family_essential(family)
    }

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
