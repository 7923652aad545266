//! Packing the rows of `SERIES` columns while a major compaction writes them.

use halite_types::{Cells, FamilyDescriptor, Rewrite, RewriteRow, TableDescriptor};

use super::SeriesColumn;
use crate::language::{ColumnType, TableDeclaration};

/// Says to a store which families hold series, and packs their rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct RepackSeries;

impl Rewrite for RepackSeries {
    fn of_family(&self, table: &TableDescriptor, family: &FamilyDescriptor) -> Option<Box<dyn RewriteRow>> {
        // A declaration that cannot be read was written by somebody else; rows of such a table stay as they are.
        let declaration = TableDeclaration::of_table(table)?.ok()?;
        let series = declaration.columns.iter().filter(|column| matches!(column.ty, ColumnType::Series { .. }));
        let columns: Vec<_> = series.filter_map(|column| SeriesColumn::new(&declaration.key, column).ok()).collect();
        let columns: Vec<_> = columns.into_iter().filter(|column| column.may_pack_unasked(family)).collect();
        if columns.is_empty() { None } else { Some(Box::new(Columns(columns))) }
    }
}

/// The series of one family.
struct Columns(Vec<SeriesColumn>);

impl RewriteRow for Columns {
    fn rewrite(&mut self, cells: &Cells) -> Option<Cells> {
        self.0.iter().fold(None, |new: Option<Cells>, column| {
            let packed = column.repacked(new.as_ref().unwrap_or(cells));
            packed.or(new)
        })
    }
}
