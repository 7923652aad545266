//! Columns of a table as SQL sees them: fields of its key, declared cells, pseudo-columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use halite_rowkey::cell::{CellCodec, CellEncoding};
use halite_rowkey::language::{Column, ColumnType, TableDeclaration};
use halite_rowkey::series::SeriesColumn;
use halite_rowkey::strict::ROW_MARKER;
use halite_rowkey::value::{FieldType, TimeUnit, Value};
use halite_rowkey::{FieldId, KeySchema, SegmentKind};
use halite_types::{Bytes, TableDescriptor};

use crate::error::{Result, SqlError, SqlState};
use crate::types::map_entry::MapEntry;
use crate::types::point_list::point_list_field;
use crate::types::{arrow_field, cells_type, decimal_field, map_field, timestamp_type};

/// Key of tables that declare none: the row as it is.
const UNDECLARED_KEY: &str = "ROW KEY (_row BYTES)";

/// Column that every table has and `*` leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pseudo {
    /// `_row`: the bytes of the key.
    Row,
    /// `_salt`: the number of the key's first salt.
    Salt,
    /// `_region`: the encoded name of the region.
    Region,
    /// `_ts`: the newest time among the row's declared cells; of a version its time.
    Ts,
    /// `_version`: the number of the version, 1 for the newest.
    Version,
    /// `_cells`: the cells that are not declared.
    Cells,
}

impl Pseudo {
    pub(crate) const ALL: [Self; 6] =
        [Self::Row, Self::Salt, Self::Region, Self::Ts, Self::Version, Self::Cells];

    /// Returns its name in statements.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Row => "_row",
            Self::Salt => "_salt",
            Self::Region => "_region",
            Self::Ts => "_ts",
            Self::Version => "_version",
            Self::Cells => "_cells",
        }
    }

    fn field(self) -> Field {
        let (data_type, nullable) = match self {
            Self::Row => return arrow_field(self.name(), FieldType::Bytes, false),
            Self::Salt => (DataType::UInt32, true),
            Self::Region => (DataType::Utf8View, true),
            Self::Ts => (timestamp_type(), true),
            Self::Version => (DataType::UInt32, false),
            Self::Cells => (cells_type(), false),
        };
        Field::new(self.name(), data_type, nullable)
    }
}

/// Part of a cell, a column of `cells(t)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellPart {
    /// Family.
    Family,
    /// Qualifier.
    Qualifier,
    /// Timestamp.
    Ts,
    /// `Put`, or the kind of a delete marker.
    Type,
    /// Value.
    Value,
}

impl CellPart {
    const ALL: [Self; 5] = [Self::Family, Self::Qualifier, Self::Ts, Self::Type, Self::Value];

    /// Returns the type with which it is compared.
    fn ty(self) -> FieldType {
        match self {
            Self::Family | Self::Type => FieldType::String,
            Self::Qualifier | Self::Value => FieldType::Bytes,
            Self::Ts => FieldType::Timestamp(TimeUnit::Millis),
        }
    }

    fn field(self) -> Field {
        match self {
            Self::Family => Field::new("family", DataType::Utf8View, false),
            Self::Qualifier => arrow_field("qualifier", FieldType::Bytes, false),
            Self::Ts => Field::new("ts", timestamp_type(), false),
            Self::Type => Field::new("type", DataType::Utf8View, false),
            Self::Value => arrow_field("value", FieldType::Bytes, false),
        }
    }
}

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Field of the key.
    Key(FieldId),
    /// Newest cell of a column.
    Cell {
        /// Family.
        family: Bytes,
        /// Qualifier.
        qualifier: Bytes,
    },
    /// Time of the newest cell of a column.
    CellTs {
        /// Family.
        family: Bytes,
        /// Qualifier.
        qualifier: Bytes,
    },
    /// All cells of a family whose qualifiers begin alike: a `MAP`.
    Map {
        /// Family.
        family: Bytes,
        /// Beginning of the qualifiers; the keys are what follows it.
        prefix: Bytes,
    },
    /// Points of a bucket row, by the position among those of the table: a `SERIES`.
    Series(usize),
    /// Cells that SQL does not read, with their declared type.
    Unread(String),
    /// Pseudo-column.
    Pseudo(Pseudo),
    /// Part of a cell.
    Part(CellPart),
}

/// What is declared of the cells of a column.
#[derive(Clone, Debug)]
pub(crate) struct CellDeclaration {
    /// Values to bytes and back.
    pub(crate) codec: CellCodec,
    /// Encoding.
    pub(crate) encoding: CellEncoding,
    /// `true` for a counter: a missing cell reads as 0.
    pub(crate) is_counter: bool,
    /// `true` if every row has a cell.
    pub(crate) not_null: bool,
    /// Value that is written where none is given.
    pub(crate) default: Option<Value<'static>>,
}

impl CellDeclaration {
    pub(super) fn of(column: &Column) -> Option<Self> {
        Some(Self {
            codec: column.codec().ok()?,
            encoding: column.encoding,
            is_counter: column.ty == ColumnType::Counter,
            not_null: column.not_null,
            default: column.default.clone(),
        })
    }

    /// Returns `true` if equal values have equal bytes, those of Java's `Bytes.toBytes`.
    pub(crate) fn is_java(&self) -> bool {
        matches!(self.encoding, CellEncoding::Java | CellEncoding::Raw)
    }
}

/// Column of a table.
#[derive(Clone, Debug)]
pub(crate) struct ShapeColumn {
    /// Name.
    pub(crate) name: String,
    /// Type; `BYTES` for pseudo-columns, whose type is in `field`.
    pub(crate) ty: FieldType,
    /// Source.
    pub(crate) source: Source,
    /// Arrow field.
    pub(crate) field: Field,
    /// Declaration of its cells; `None` for fields of the key, `SERIES`, pseudo-columns.
    pub(crate) cell: Option<Arc<CellDeclaration>>,
    /// Keys of a `MAP` to bytes and back.
    pub(crate) map_key: Option<Arc<CellCodec>>,
    /// `true` for what a statement makes a column of and the table does not declare: a cell by its
    /// name, an entry of a `MAP`, the time of a cell.
    pub(crate) is_extra: bool,
    /// `true` if only the statement says of which type its cells are.
    pub(crate) is_guessed: bool,
}

impl ShapeColumn {
    /// Returns `true` for a counter.
    pub(crate) fn is_counter(&self) -> bool {
        self.cell.as_ref().is_some_and(|cell| cell.is_counter)
    }
}

/// What a row of the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// A row of the table; a point if the table has a `SERIES`.
    Plain,
    /// A cell.
    Cell,
    /// A row of a table with a `SERIES`, of which each is a list of points.
    Bucket,
}

/// Columns of a table, and its key.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    /// Key; of undeclared tables the row as one field.
    pub(crate) key: Arc<KeySchema>,
    /// `true` if the table declares its key.
    pub(crate) is_declared: bool,
    /// `true` if rows whose keys are none of the schema are shown with null fields.
    pub(crate) null_keys: bool,
    /// What a row of the answer is.
    pub(crate) rows: RowKind,
    /// Columns in the order of `*`, then the pseudo-columns that the statement names.
    pub(crate) columns: Vec<ShapeColumn>,
    /// Its `SERIES`, all of the same time; a row of the answer is then a point, unless buckets or
    /// cells are read.
    pub(crate) series: Arc<[SeriesColumn]>,
    /// Family of the marker, a cell with an empty qualifier that every row written by SQL has.
    pub(crate) marker: Option<Bytes>,
    /// Families of the table.
    pub(crate) families: Arc<[Bytes]>,
    /// `true` with columns that a statement makes: its rows then have more than is declared.
    pub(crate) is_extended: bool,
}

impl TableShape {
    /// Returns the shape of a table. `null_keys` is `true` if rows whose keys are none of the
    /// schema are shown with null fields.
    ///
    /// # Errors
    /// `Corrupt` for a declaration that cannot be read.
    pub(crate) fn of(descriptor: &TableDescriptor, null_keys: bool) -> Result<Self> {
        let families = descriptor.families().map(|family| family.name().clone()).collect();
        match TableDeclaration::from_descriptor(descriptor) {
            None => Ok(Self { families, ..Self::undeclared()? }),
            Some(Ok(declaration)) => {
                let marker = descriptor
                    .attributes
                    .get(ROW_MARKER)
                    .map(|family| Bytes::copy_from_slice(family.as_bytes()));
                Ok(Self { marker, families, ..Self::declared(&declaration, null_keys) })
            }
            Some(Err(error)) => Err(SqlError::new(
                SqlState::Corrupt,
                format!(
                    "table {}: its ROW_KEY or ROW_SCHEMA cannot be read: {error}; ALTER TABLE .. \
                     ADOPT ROW KEY declares it again",
                    descriptor.name()
                ),
            )),
        }
    }

    fn undeclared() -> Result<Self> {
        let key: KeySchema = UNDECLARED_KEY
            .parse()
            .map_err(|error| SqlError::of_language(&error, UNDECLARED_KEY))?;
        let row = ShapeColumn {
            name: "_row".to_owned(),
            ty: FieldType::Bytes,
            source: Source::Key(0),
            field: arrow_field("_row", FieldType::Bytes, false),
            cell: None,
            map_key: None,
            is_extra: false,
            is_guessed: false,
        };
        let columns = vec![row, pseudo_column(Pseudo::Cells)];
        Ok(Self {
            key: Arc::new(key),
            is_declared: false,
            null_keys: false,
            rows: RowKind::Plain,
            columns,
            series: Arc::default(),
            marker: None,
            families: Arc::default(),
            is_extended: false,
        })
    }

    fn declared(declaration: &TableDeclaration, null_keys: bool) -> Self {
        let key = &declaration.key;
        let nullable = |id: FieldId| {
            null_keys
                || key.is_only_hashed(id)
                || key
                    .segments()
                    .iter()
                    .any(|segment| segment.nullable && segment.kind.field() == Some(id))
        };
        let fields = key.fields().iter().enumerate().map(|(id, field)| ShapeColumn {
            name: field.name.clone(),
            ty: field.ty,
            source: Source::Key(id),
            field: arrow_field(&field.name, field.ty, nullable(id)),
            cell: None,
            map_key: None,
            is_extra: false,
            is_guessed: false,
        });
        let series = series_of(declaration);
        let cells = declaration.columns.iter().map(|column| {
            let ty = match column.ty {
                ColumnType::Value(ty) => ty,
                ColumnType::Decimal { .. } => FieldType::Decimal,
                ColumnType::Counter => FieldType::I64,
                ColumnType::Map { value, .. } => value,
                ColumnType::Series { of, .. } => of,
            };
            let cell = CellDeclaration::of(column).map(Arc::new);
            let map_key = map_key_of(column).map(Arc::new);
            let is_map = matches!(column.ty, ColumnType::Map { .. });
            let is_read = cell.is_some() && (!is_map || map_key.is_some());
            let source = source_of(column, &series, is_read);
            let field = match &source {
                Source::Map { .. } => map_field(column),
                _ if let ColumnType::Decimal { precision, scale } = column.ty => {
                    decimal_field(&column.name, precision, scale)
                }
                _ => arrow_field(&column.name, ty, column.ty != ColumnType::Counter),
            };
            ShapeColumn {
                name: column.name.clone(),
                ty,
                source,
                field,
                cell,
                map_key,
                is_extra: false,
                is_guessed: false,
            }
        });
        let columns = fields.chain(cells).collect();
        Self {
            key: Arc::new(key.clone()),
            is_declared: true,
            null_keys,
            rows: RowKind::Plain,
            columns,
            series: series.unwrap_or_default().into(),
            marker: None,
            families: Arc::default(),
            is_extended: false,
        }
    }

    /// Returns `true` if a row of the answer is a cell.
    pub(crate) fn is_cells(&self) -> bool {
        self.rows == RowKind::Cell
    }

    /// Returns `true` if a row of the answer is a point of a `SERIES`.
    pub(crate) fn is_points(&self) -> bool {
        !self.series.is_empty() && self.rows == RowKind::Plain
    }

    /// Returns the field of the key that is the time of a point; `None` unless a row of the answer
    /// is one.
    pub(crate) fn point_time(&self) -> Option<FieldId> {
        self.series.first().filter(|_| self.is_points()).map(SeriesColumn::field)
    }

    /// Returns the shape of the bucket rows: each `SERIES` is a list of points, and the time is the
    /// start of the bucket. `None` if the table has no `SERIES` that SQL reads.
    pub(crate) fn with_buckets(&self) -> Option<Self> {
        let time = self.point_time()?;
        let time = self.key.fields()[time].ty;
        let mut shape = Self { rows: RowKind::Bucket, ..self.clone() };
        for column in &mut shape.columns {
            if matches!(column.source, Source::Series(_)) {
                column.field = point_list_field(&column.name, time, column.ty);
            }
        }
        Some(shape)
    }

    /// Returns the shape with pseudo-columns behind the others, as far as it has no column of that
    /// name.
    pub(crate) fn with_pseudo(&self, wanted: &BTreeSet<Pseudo>) -> Self {
        let mut shape = self.clone();
        for pseudo in wanted {
            if !shape.columns.iter().any(|column| column.name == pseudo.name()) {
                shape.columns.push(pseudo_column(*pseudo));
            }
        }
        shape
    }

    /// Returns the shape with entries of its `MAP` columns behind the others, each as a column.
    pub(crate) fn with_entries(&self, wanted: &BTreeSet<MapEntry>) -> Self {
        let mut shape = self.clone();
        for entry in wanted {
            let Some(map) = self.position(&entry.map).map(|at| &self.columns[at]) else { continue };
            let (Source::Map { family, prefix }, Some(keys)) = (&map.source, &map.map_key) else {
                continue;
            };
            let key = entry.key(keys.ty()).and_then(|key| keys.encode(&key).ok());
            let Some(key) = key else { continue };
            let (name, qualifier) = (entry.column(), Bytes::from([&prefix[..], &key].concat()));
            shape.columns.push(ShapeColumn {
                field: arrow_field(&name, map.ty, true),
                name,
                ty: map.ty,
                source: Source::Cell { family: family.clone(), qualifier },
                cell: map.cell.clone(),
                map_key: None,
                is_extra: true,
                is_guessed: false,
            });
        }
        shape
    }

    /// Returns the shape with columns that the statement makes behind the others, each once.
    pub(crate) fn with_extras(&self, extras: &[ShapeColumn]) -> Self {
        let mut shape = self.clone();
        for extra in extras {
            if shape.position(&extra.name).is_none() {
                shape.columns.push(extra.clone());
                shape.is_extended = true;
            }
        }
        shape
    }

    /// Returns the shape with counters that may be null: those of a time without a cell of theirs,
    /// and cells that are none of a counter.
    pub(crate) fn with_null_counters(&self) -> Self {
        let mut shape = self.clone();
        for column in shape.columns.iter_mut().filter(|column| column.is_counter()) {
            column.field.set_nullable(true);
        }
        shape
    }

    /// Returns the shape of the table's cells: the fields of the key, `_row`, and the parts of a
    /// cell. A part that is called as a field of the key is has `cell_` in front.
    pub(crate) fn cells_of(&self) -> Self {
        let is_field = |column: &&ShapeColumn| matches!(column.source, Source::Key(_));
        let mut columns: Vec<ShapeColumn> = self.columns.iter().filter(is_field).cloned().collect();
        if !columns.iter().any(|column| column.name == Pseudo::Row.name()) {
            columns.push(pseudo_column(Pseudo::Row));
        }
        for part in CellPart::ALL {
            let mut name = part.field().name().clone();
            while columns.iter().any(|column| column.name == name) {
                name.insert_str(0, "cell_");
            }
            columns.push(ShapeColumn {
                field: part.field().with_name(&name),
                name,
                ty: part.ty(),
                source: Source::Part(part),
                cell: None,
                map_key: None,
                is_extra: false,
                is_guessed: false,
            });
        }
        Self { rows: RowKind::Cell, columns, ..self.clone() }
    }

    /// Returns the Arrow schema.
    pub(crate) fn arrow(&self) -> SchemaRef {
        let fields: Vec<Field> = self.columns.iter().map(|column| column.field.clone()).collect();
        Arc::new(Schema::new(fields))
    }

    /// Returns the position of a column by its exact name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Returns the declared cells: family and qualifier.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        let declared = self.columns.iter().filter(|column| !column.is_extra);
        declared.filter_map(|column| match &column.source {
            Source::Cell { family, qualifier } => Some((family, qualifier)),
            _ => None,
        })
    }

    /// Returns the families of its `MAP` and `SERIES`.
    pub(crate) fn wide_families(&self) -> impl Iterator<Item = &Bytes> {
        let maps = self.columns.iter().filter_map(|column| match &column.source {
            Source::Map { family, .. } => Some(family),
            _ => None,
        });
        maps.chain(self.series.iter().map(SeriesColumn::family))
    }

    /// Returns `true` if SQL declares a cell: that of a column, or the marker.
    pub(crate) fn is_declared_cell(&self, family: &[u8], qualifier: &[u8]) -> bool {
        let is_marker = qualifier.is_empty() && self.marker.as_deref() == Some(family);
        is_marker || self.is_cell_of_column(family, qualifier)
    }

    /// Returns `true` if a cell is one of a column.
    pub(crate) fn is_cell_of_column(&self, family: &[u8], qualifier: &[u8]) -> bool {
        let is_of = |column: &ShapeColumn| match &column.source {
            Source::Cell { family: of, qualifier: name } => family == of && qualifier == name,
            Source::Map { family: of, prefix } => family == of && qualifier.starts_with(prefix),
            Source::Series(at) => self.series.get(*at).is_some_and(|series| {
                family == series.family()
                    && (qualifier == series.qualifier() || series.may_be_loose(qualifier))
            }),
            _ => false,
        };
        self.columns.iter().filter(|column| !column.is_extra).any(is_of)
    }

    /// Returns `true` if the key contains the values of a field completely.
    pub(crate) fn is_whole(&self, field: FieldId) -> bool {
        self.key.carrier(field).is_some()
    }

    /// Returns `true` if the key numbers values by a dictionary.
    pub(crate) fn has_dictionary(&self) -> bool {
        self.key.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { .. }))
    }
}

/// Returns the `SERIES` of a table.
///
/// # Errors
/// `()` if they are of several times, or of none, so that a row of the answer is no point.
fn series_of(declaration: &TableDeclaration) -> std::result::Result<Vec<SeriesColumn>, ()> {
    let declared = declaration.columns.iter();
    let declared = declared.filter(|column| matches!(column.ty, ColumnType::Series { .. }));
    let series: Vec<SeriesColumn> = declared
        .map(|column| SeriesColumn::new(&declaration.key, column).map_err(drop))
        .collect::<std::result::Result<_, ()>>()?;
    let is_one_time = series.windows(2).all(|pair| pair[0].field() == pair[1].field());
    if is_one_time { Ok(series) } else { Err(()) }
}

fn map_key_of(column: &Column) -> Option<CellCodec> {
    match column.ty {
        ColumnType::Map { key, .. } => CellCodec::new(key, column.encoding).ok(),
        _ => None,
    }
}

fn source_of(
    column: &Column,
    series: &std::result::Result<Vec<SeriesColumn>, ()>,
    is_read: bool,
) -> Source {
    let (family, qualifier) = (Bytes::from(column.family.clone()), column.qualifier.clone());
    let of_series = |one: &SeriesColumn| *one.family() == family && *one.qualifier() == qualifier;
    match (&column.ty, series) {
        (ColumnType::Value(_) | ColumnType::Decimal { .. } | ColumnType::Counter, _) if is_read => {
            Source::Cell { family, qualifier }
        }
        (ColumnType::Map { .. }, _) if is_read => Source::Map { family, prefix: qualifier },
        (ColumnType::Series { .. }, Ok(all)) if all.iter().any(of_series) => {
            Source::Series(all.iter().position(of_series).unwrap_or_default())
        }
        _ if column.encoding == CellEncoding::Java => Source::Unread(column.ty.to_string()),
        _ => Source::Unread(format!("{} ENCODING {}", column.ty, column.encoding)),
    }
}

fn pseudo_column(pseudo: Pseudo) -> ShapeColumn {
    ShapeColumn {
        name: pseudo.name().to_owned(),
        ty: FieldType::Bytes,
        source: Source::Pseudo(pseudo),
        field: pseudo.field(),
        cell: None,
        map_key: None,
        is_extra: false,
        is_guessed: false,
    }
}
