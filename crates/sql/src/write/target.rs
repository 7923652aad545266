//! The table that a statement writes: its columns by name, and the witness of its rows.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use datafusion::sql::sqlparser::ast::Ident;
use halite_rowkey::language::{ColumnType, TableDeclaration};
use halite_rowkey::{Dictionary, HashFunction, KeySchema, SegmentKind};
use halite_types::suggest::closest_match;
use halite_types::{Bytes, Table, TableDescriptor, TableName};

use super::row::{CellTimes, ColumnValue};
use super::syntax::{entry_of, placed};
use crate::catalog::HaliteCatalog;
use crate::catalog::local::PG_TEMP;
use crate::catalog::shape::{Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::names::{by_case, resolve};
use crate::session::settings::{Settings, UnreadableKeys};
use crate::types::map_entry::MapEntry;

/// Rows whose cells are read at once, to be written under conditions on them.
pub(super) const CHUNK_ROWS: usize = 1000;
/// Value of the marker.
pub(super) const MARKER_VALUE: &[u8] = &[1];

/// Cell that tells whether a row is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    pub(super) family: Bytes,
    pub(super) qualifier: Bytes,
}

/// What a statement gives a value to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteColumn {
    /// Field of the key or column, by its position in the shape.
    Column(usize),
    /// `_ts`: the time of the cells that are written.
    Ts,
    /// `_ttl`: their time to live.
    Ttl,
}

/// Table that a statement writes.
pub(super) struct WriteTarget {
    pub(super) table: Arc<dyn Table>,
    /// What the shape was read from, with what else decides it.
    descriptor: Arc<TableDescriptor>,
    settings: Settings,
    registrations: u64,
    pub(super) shape: Arc<TableShape>,
    pub(super) witness: Option<Witness>,
    /// Dictionaries of its key.
    pub(super) dictionary: Option<Dictionary>,
    /// Name of the table in the statement, as the catalog spells it.
    pub(super) name: Vec<Ident>,
    /// Name of its rows in expressions.
    pub(super) alias: Ident,
}

impl WriteTarget {
    /// Finds the table of a statement.
    ///
    /// # Errors
    /// `UndefinedTable`; `NotSupported` for tables of the catalog that are none of the cluster.
    pub(super) async fn find(
        catalog: &HaliteCatalog,
        parts: &[Ident],
        alias: Option<Ident>,
    ) -> Result<Self> {
        let path = resolve(catalog, parts).await?;
        if path.schema == PG_TEMP {
            return Err(SqlError::unsupported(format!(
                "{} is a temporary table or view of this session: INSERT and TRUNCATE are all \
                 that writes temporary tables",
                path.table
            )));
        }
        let name = TableName::new(path.schema.as_str(), path.table.as_str())?;
        let Some(descriptor) = catalog.descriptor(&name).await? else {
            return Err(SqlError::unsupported(format!(
                "{}.{} is no table of the cluster, and is not written by SQL",
                path.schema, path.table
            )));
        };
        let settings = catalog.settings.read().unwrap_or_else(PoisonError::into_inner).clone();
        let null_keys = settings.unreadable_keys == UnreadableKeys::Null;
        let shape = TableShape::of(&descriptor, null_keys)?;
        let dictionary = if shape.has_dictionary() {
            let cluster = catalog.cluster.as_ref();
            Some(Dictionary::open_lazily(cluster, &name, &shape.key).await?)
        } else {
            None
        };
        let quoted = |text: &str| Ident::with_quote('"', text);
        let table_ident = quoted(&path.table);
        let name = match parts.len() {
            1 => vec![table_ident.clone()],
            _ => vec![quoted(&path.schema), table_ident.clone()],
        };
        Ok(Self {
            table: catalog.cluster.table(descriptor.name()),
            settings,
            registrations: catalog.registrations(),
            witness: witness(&shape),
            shape: Arc::new(shape),
            dictionary,
            name,
            alias: alias.unwrap_or(table_ident),
            descriptor,
        })
    }

    /// Returns a table that is not created yet.
    ///
    /// # Errors
    /// A declaration that cannot be read.
    pub(super) fn declared(catalog: &HaliteCatalog, descriptor: TableDescriptor) -> Result<Self> {
        let shape = TableShape::of(&descriptor, false)?;
        let quoted = |text: &str| Ident::with_quote('"', text);
        let alias = quoted(descriptor.name().qualifier());
        Ok(Self {
            table: catalog.cluster.table(descriptor.name()),
            settings: catalog.settings.read().unwrap_or_else(PoisonError::into_inner).clone(),
            registrations: catalog.registrations(),
            witness: witness(&shape),
            shape: Arc::new(shape),
            dictionary: None,
            name: vec![quoted(descriptor.name().namespace()), alias.clone()],
            alias,
            descriptor: Arc::new(descriptor),
        })
    }

    /// Returns `true` if finding the table again would give the same.
    pub(super) async fn is_current(&self, catalog: &HaliteCatalog, settings: &Settings) -> bool {
        if self.registrations != catalog.registrations() || !self.settings.reads_as(settings) {
            return false;
        }
        // An error is reported by finding the table again.
        let now = self.table.descriptor().await;
        now.is_ok_and(|now| Arc::ptr_eq(&now, &self.descriptor) || now == self.descriptor)
    }

    /// Makes columns of the entries of a `MAP` among the names that are given values.
    ///
    /// # Errors
    /// `UndefinedColumn` for an entry of something else, `WrongType` for a key of another type.
    pub(super) fn name_entries<'n>(
        &mut self,
        names: impl Iterator<Item = &'n mut Ident>,
    ) -> Result<()> {
        let mut entries = BTreeSet::new();
        for name in names {
            let Some((map, key)) = entry_of(name) else { continue };
            let maps = self.shape.columns.iter().filter(|column| column.map_key.is_some());
            let found = by_case(map, maps.map(|column| column.name.as_str()))?;
            let Some(found) = found.and_then(|found| self.shape.position(found)) else {
                let text = format!("table {} has no MAP {map}", self.table.name());
                return Err(placed(SqlError::new(SqlState::UndefinedColumn, text), name));
            };
            let map = &self.shape.columns[found];
            let entry = MapEntry { map: map.name.clone(), key };
            let ty = map.map_key.as_ref().map(|keys| keys.ty());
            if ty.is_none_or(|ty| entry.key(ty).is_none()) {
                let keys = ty.map_or_else(String::new, |ty| format!(", and its keys are {ty}"));
                let text = format!("{} is no entry of the MAP {}{keys}", entry.column(), map.name);
                return Err(placed(SqlError::new(SqlState::WrongType, text), name));
            }
            (name.value, name.quote_style) = (entry.column(), Some('"'));
            entries.insert(entry);
        }
        if !entries.is_empty() {
            self.shape = Arc::new(self.shape.with_entries(&entries));
        }
        Ok(())
    }

    /// Returns the column that a name means.
    ///
    /// # Errors
    /// `UndefinedColumn` with the nearest name, `Ambiguous`.
    pub(super) fn column(&self, name: &Ident) -> Result<WriteColumn> {
        let names = || self.shape.columns.iter().map(|column| column.name.as_str());
        let found = match name.quote_style {
            Some(_) => names().find(|known| *known == name.value),
            None => by_case(&name.value, names()).map_err(|error| placed(error, name))?,
        };
        if let Some(found) = found
            && let Some(at) = self.shape.position(found)
        {
            return Ok(WriteColumn::Column(at));
        }
        match name.value.to_ascii_lowercase().as_str() {
            "_ts" => return Ok(WriteColumn::Ts),
            "_ttl" => return Ok(WriteColumn::Ttl),
            _ => {}
        }
        let near = closest_match(&name.value, names())
            .map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let text = format!("table {} has no column {}{near}", self.table.name(), name.value);
        Err(placed(SqlError::new(SqlState::UndefinedColumn, text), name))
    }

    /// Checks that a column can be written.
    ///
    /// # Errors
    /// `NotSupported` for columns that SQL does not write.
    pub(super) fn check_written(&self, at: usize) -> Result<()> {
        let column = &self.shape.columns[at];
        let what = match &column.source {
            Source::Map { .. } => {
                let (name, table) = (&column.name, self.table.name());
                return Err(SqlError::unsupported(format!(
                    "column {name} of table {table} is a MAP: name the entries that are written, \
                     as in {name}['key']; NULL removes one"
                )));
            }
            Source::Unread(ty) => ty.as_str(),
            Source::Pseudo(_) | Source::Part(_) | Source::CellTs { .. } => "a pseudo-column",
            Source::Key(_) | Source::Cell { .. } | Source::Series(_) => return Ok(()),
        };
        let text = format!(
            "column {} of table {} is {what} which SQL does not write",
            column.name,
            self.table.name()
        );
        Err(SqlError::unsupported(text))
    }

    /// Refuses a statement that changes rows as they are, for tables where SQL does not do it.
    ///
    /// # Errors
    /// `NotSupported` for points of a `SERIES`, which are parts of rows.
    pub(super) fn check_changed(&self, verb: &str) -> Result<()> {
        let name = self.table.name();
        if self.shape.is_points() {
            return Err(SqlError::unsupported(format!(
                "{verb} of table {name}: a row of it is a point of a SERIES, and points are only \
                 written by INSERT and UPSERT; halite series removes them"
            )));
        }
        Ok(())
    }

    /// Refuses a statement that looks for the row of given fields, for keys with a salt that is
    /// drawn for each row, so that the row may be under each of several keys.
    ///
    /// # Errors
    /// `NotSupported`.
    pub(super) fn check_found(&self, verb: &str) -> Result<()> {
        let Some(function) = drawn_salt(&self.shape.key) else { return Ok(()) };
        Err(SqlError::unsupported(format!(
            "{verb} of table {}: its salt is drawn for each row ({}), so the fields of a key do not \
             tell whether its row is there; UPSERT writes a row without looking, and SALT(n BY ..) \
             is computed from fields",
            self.table.name(),
            function.name()
        )))
    }

    /// Returns `true` if a write over a row leaves cells that live longer than those it writes, so
    /// that the marker of the row has to stay too.
    ///
    /// # Errors
    /// `NotSupported` where a column tells whether a row is there, and would not stay.
    pub(super) fn leaves_cells(
        &self,
        values: &[ColumnValue<'_>],
        times: CellTimes,
    ) -> Result<bool> {
        let (Some(witness), Some(_)) = (&self.witness, times.ttl_ms) else { return Ok(false) };
        // A row of a SERIES is one by its points.
        if self.shape.is_points() {
            return Ok(false);
        }
        let is_left = |at: &usize| match self.shape.columns[*at].source {
            Source::Cell { .. } => !values.iter().any(|(given, _)| given == at),
            Source::Map { .. } | Source::Unread(_) => true,
            Source::Key(_)
            | Source::Series(_)
            | Source::CellTs { .. }
            | Source::Pseudo(_)
            | Source::Part(_) => false,
        };
        let Some(left) = (0..self.shape.columns.len()).find(is_left) else { return Ok(false) };
        if self.shape.marker.as_ref() == Some(&witness.family) && witness.qualifier.is_empty() {
            return Ok(true);
        }
        let text = format!(
            "_ttl in UPSERT INTO {}: column {} would stay without the cell that tells whether the \
             row is there, which is a column that is NOT NULL; give all columns, NULL where there \
             is nothing, or INSERT the row",
            self.table.name(),
            self.shape.columns[left].name
        );
        Err(SqlError::unsupported(text))
    }

    /// Returns the positions of the columns that are cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        let is_cell = |at: &usize| matches!(self.shape.columns[*at].source, Source::Cell { .. });
        (0..self.shape.columns.len()).filter(is_cell)
    }

    /// Returns the witness.
    ///
    /// # Errors
    /// `NotSupported`: without one, nothing tells whether a row is there.
    pub(super) fn expect_witness(&self) -> Result<&Witness> {
        self.witness.as_ref().ok_or_else(|| {
            let name = self.table.name();
            SqlError::unsupported(format!(
                "INSERT INTO {name}: nothing tells whether a row is there, because no column of \
                 fixed width is NOT NULL, and the table was not created by SQL; UPSERT writes \
                 without looking, or declare a column NOT NULL"
            ))
        })
    }
}

/// Returns the function of a salt that is drawn for each row; `None` if the fields of a key tell the
/// key.
pub(super) fn drawn_salt(key: &KeySchema) -> Option<HashFunction> {
    key.segments().iter().find_map(|segment| match segment.kind {
        SegmentKind::Salt { function, .. } if !function.is_deterministic() => Some(function),
        _ => None,
    })
}

/// Returns the cell that every row has: one that is never empty, since to HBase an empty value is
/// absent too.
fn witness(shape: &TableShape) -> Option<Witness> {
    let column = shape.columns.iter().find_map(|column| {
        let cell = column.cell.as_ref()?;
        let Source::Cell { family, qualifier } = &column.source else { return None };
        let is_witness = cell.not_null
            && !cell.is_counter
            && column.ty.fixed_bytes().is_some_and(|bytes| bytes > 0);
        is_witness.then(|| Witness { family: family.clone(), qualifier: qualifier.clone() })
    });
    let marker = || {
        let family = shape.marker.clone()?;
        Some(Witness { family, qualifier: Bytes::new() })
    };
    column.or_else(marker)
}

/// Returns the family of the marker for a table that SQL creates; `None` if a column is the witness,
/// or if every family belongs to columns that own all of its qualifiers.
pub(crate) fn marker_family(
    declaration: &TableDeclaration,
    descriptor: &TableDescriptor,
) -> Option<String> {
    let has_witness = declaration.columns.iter().any(|column| {
        column.not_null
            && column.ty != ColumnType::Counter
            && column
                .ty
                .value_type()
                .and_then(halite_rowkey::FieldType::fixed_bytes)
                .is_some_and(|bytes| bytes > 0)
    });
    if has_witness {
        return None;
    }
    let families = descriptor
        .families()
        .filter_map(|family| std::str::from_utf8(family.name()).ok().map(ToOwned::to_owned));
    let is_free = |family: &String| {
        !declaration.columns.iter().any(|column| {
            let owns_all = matches!(column.ty, ColumnType::Series { .. }) || column.owns(b"");
            column.family == *family && owns_all
        })
    };
    let mut families = families.filter(is_free);
    families.next()
}
