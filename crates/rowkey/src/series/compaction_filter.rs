//! Packing of the rows of `SERIES` columns during major compactions.

use halite_types::{
    Cells, CompactionFilter, CompactionFilterFactory, FamilyDescriptor, TableDescriptor,
};

use super::SeriesColumn;
use crate::language::{ColumnType, TableDeclaration};

/// Compaction filter factory that packs the rows of families with series.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeriesCompactionFilterFactory;

impl CompactionFilterFactory for SeriesCompactionFilterFactory {
    fn for_family(
        &self,
        table: &TableDescriptor,
        family: &FamilyDescriptor,
    ) -> Option<Box<dyn CompactionFilter>> {
        // A declaration that cannot be parsed is not Halite's; the rows of such a table stay
        // unchanged.
        let declaration = TableDeclaration::from_descriptor(table)?.ok()?;
        let series = declaration
            .columns
            .iter()
            .filter(|column| matches!(column.ty, ColumnType::Series { .. }));
        let columns: Vec<_> =
            series.filter_map(|column| SeriesColumn::new(&declaration.key, column).ok()).collect();
        let columns: Vec<_> =
            columns.into_iter().filter(|column| column.can_auto_pack(family)).collect();
        if columns.is_empty() { None } else { Some(Box::new(SeriesCompactionFilter(columns))) }
    }
}

/// Series of one family.
struct SeriesCompactionFilter(Vec<SeriesColumn>);

impl CompactionFilter for SeriesCompactionFilter {
    fn filter_row(&mut self, cells: &Cells) -> Option<Cells> {
        self.0.iter().fold(None, |new: Option<Cells>, column| {
            let packed = column.repacked(new.as_ref().unwrap_or(cells));
            packed.or(new)
        })
    }
}
