//! Operations that change a row: put, delete, increment, append, check-and-mutate, and groups of
//! them.

use std::str::FromStr;

use bytes::Bytes;

use crate::cell::{
    CellParts, CellType, CellsBuilder, LATEST_TIMESTAMP, MAX_FAMILY_BYTES, MAX_ROW_BYTES, TAG_TTL,
    write_tag,
};
use crate::error::{Error, Result};
use crate::filter::{CompareOp, Filter};
use crate::key::to_string_binary;
use crate::query::TimeRange;
use crate::row::Row;
use crate::schema::check_family_name;

/// Durability of an acknowledged write (HBase: `Durability`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The table's setting, or else the store's.
    #[default]
    UseDefault,
    /// None: only in memory until the next flush.
    SkipWal,
    /// Passed to the log, which is written shortly after.
    AsyncWal,
    /// The store's setting: `fsync` (the default) or `flush`.
    SyncWal,
    /// On the disk itself (`fdatasync`).
    FsyncWal,
}

impl FromStr for Durability {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_uppercase().as_str() {
            "USE_DEFAULT" => Self::UseDefault,
            "SKIP_WAL" => Self::SkipWal,
            "ASYNC_WAL" => Self::AsyncWal,
            "SYNC_WAL" => Self::SyncWal,
            "FSYNC_WAL" => Self::FsyncWal,
            _ => {
                return Err(Error::invalid(format!(
                    "invalid DURABILITY {text:?}: expected one of USE_DEFAULT, SKIP_WAL, \
                     ASYNC_WAL, SYNC_WAL, FSYNC_WAL"
                )));
            }
        })
    }
}

/// Row, cells and options of a mutation. Cells are encoded when they are added; a part that cannot
/// be encoded is recorded as a problem, which [`Mutation::check`] returns.
#[derive(Clone, Debug)]
pub struct Mutation {
    row: Bytes,
    cells: CellsBuilder,
    problem: Option<Error>,
    /// Durability of this write.
    pub durability: Durability,
}

impl Mutation {
    fn new(row: Bytes) -> Self {
        Self {
            row,
            cells: CellsBuilder::default(),
            problem: None,
            durability: Durability::default(),
        }
    }

    /// Returns the row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }

    /// Returns the cells in the order they were added; a timestamp of [`LATEST_TIMESTAMP`] means
    /// the current time.
    pub fn cells(&self) -> &CellsBuilder {
        &self.cells
    }

    /// Returns the cells, to stamp or replace; all must remain in the same row.
    pub fn cells_mut(&mut self) -> &mut CellsBuilder {
        &mut self.cells
    }

    /// Checks that the row key and all parts are within the limits.
    ///
    /// # Errors
    /// `InvalidRequest`: empty or long row, bad family name, negative timestamp, value over 2 GiB.
    pub fn check(&self) -> Result<()> {
        check_row(&self.row)?;
        self.problem.clone().map_or(Ok(()), Err)
    }

    fn push(
        &mut self,
        column: (&[u8], &[u8]),
        timestamp: i64,
        cell_type: CellType,
        value: &[u8],
        tags: &[u8],
    ) {
        let (family, qualifier) = column;
        if self.row.len() > MAX_ROW_BYTES || self.problem.is_some() {
            return;
        }
        if family.is_empty() || family.len() > MAX_FAMILY_BYTES || family.contains(&b':') {
            self.problem = check_family_name(family).err();
            return;
        }
        if timestamp < 0 {
            self.problem = Some(Error::invalid(format!(
                "row {}: timestamp {timestamp} of column {}:{} is negative; pass milliseconds \
                 since 1970 or omit it",
                to_string_binary(&self.row),
                to_string_binary(family),
                to_string_binary(qualifier)
            )));
            return;
        }
        if qualifier.len() + value.len() > i32::MAX as usize - (64 << 10) {
            self.problem = Some(Error::invalid(format!(
                "row {}: a cell of {} bytes is over 2 GiB; split the value",
                to_string_binary(&self.row),
                value.len()
            )));
            return;
        }
        self.cells.push_parts(CellParts {
            row: &self.row,
            family,
            qualifier,
            timestamp,
            cell_type,
            value,
            tags,
        });
    }
}

/// Checks that `row` is a valid row key.
///
/// # Errors
/// `InvalidRequest` if it is empty or longer than 32,767 bytes.
pub fn check_row(row: &[u8]) -> Result<()> {
    if row.is_empty() {
        return Err(Error::invalid(
            "the row key is empty (row length is 0); pass at least one byte",
        ));
    }
    if row.len() > MAX_ROW_BYTES {
        return Err(Error::invalid(format!(
            "the row key has {} bytes, more than {MAX_ROW_BYTES}: {}...; shorten it or hash a part \
             of it",
            row.len(),
            to_string_binary(&row[..16])
        )));
    }
    Ok(())
}

fn ttl_tag(milliseconds: u64) -> Vec<u8> {
    let mut tags = Vec::new();
    write_tag(&mut tags, TAG_TTL, &i64::try_from(milliseconds).unwrap_or(i64::MAX).to_be_bytes());
    tags
}

macro_rules! ttl_method {
    ($name:ident) => {
        impl $name {
            /// Sets the time to live, in milliseconds, of the columns added after this call. The
            /// family's limit still applies.
            #[must_use]
            pub fn ttl_ms(mut self, milliseconds: u64) -> Self {
                self.tags = ttl_tag(milliseconds);
                self
            }
        }
    };
}

macro_rules! mutation_methods {
    ($name:ident) => {
        impl $name {
            /// Sets the durability of this write.
            #[must_use]
            pub fn durability(mut self, durability: Durability) -> Self {
                self.mutation.durability = durability;
                self
            }

            /// Returns the row.
            pub fn row(&self) -> &Bytes {
                self.mutation.row()
            }

            /// Returns the row, cells and options.
            pub fn mutation(&self) -> &Mutation {
                &self.mutation
            }

            /// Returns the row, cells and options, to change or replace.
            pub fn mutation_mut(&mut self) -> &mut Mutation {
                &mut self.mutation
            }

            /// Converts into the row, cells and options.
            pub fn into_mutation(self) -> Mutation {
                self.mutation
            }
        }
    };
}

/// Put: writes values into a row.
#[derive(Clone, Debug)]
pub struct Put {
    mutation: Mutation,
    tags: Vec<u8>,
}
mutation_methods!(Put);
ttl_method!(Put);

impl Put {
    /// Creates a put of `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), tags: Vec::new() }
    }

    /// Creates a put of already encoded cells, including delete markers, all of `row`.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self {
            mutation: Mutation { row: row.into(), cells, problem: None, durability },
            tags: Vec::new(),
        }
    }

    /// Adds a value with the store's current time.
    #[must_use]
    pub fn add(
        self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Self {
        self.add_at(family, qualifier, LATEST_TIMESTAMP, value)
    }

    /// Adds a value with a timestamp, milliseconds since the epoch by convention, 0 or more.
    #[must_use]
    pub fn add_at(
        mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        timestamp: i64,
        value: impl AsRef<[u8]>,
    ) -> Self {
        self.mutation.push(
            (family.as_ref(), qualifier.as_ref()),
            timestamp,
            CellType::Put,
            value.as_ref(),
            &self.tags,
        );
        self
    }
}

/// Deletes parts of a row, or the whole row if no part is specified.
#[derive(Clone, Debug)]
pub struct Delete {
    mutation: Mutation,
    /// For a delete without parts: everything up to this timestamp is deleted.
    pub timestamp: i64,
}
mutation_methods!(Delete);

impl Delete {
    /// Creates a delete of the whole row up to the current time, unless parts are added.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), timestamp: LATEST_TIMESTAMP }
    }

    /// Creates a delete from already encoded delete markers, all of `row`; without any, the whole
    /// row is deleted up to the current time.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self {
            mutation: Mutation { row: row.into(), cells, problem: None, durability },
            timestamp: LATEST_TIMESTAMP,
        }
    }

    /// For a delete without parts: deletes everything up to and including `timestamp`.
    #[must_use]
    pub fn up_to(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Deletes one version of a column: the newest (HBase: `addColumn` without a timestamp).
    #[must_use]
    pub fn newest(self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Self {
        self.version(family, qualifier, LATEST_TIMESTAMP)
    }

    /// Deletes one version of a column: the one with exactly this timestamp (HBase: `addColumn`).
    #[must_use]
    pub fn version(
        mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        timestamp: i64,
    ) -> Self {
        self.mutation.push(
            (family.as_ref(), qualifier.as_ref()),
            timestamp,
            CellType::Delete,
            b"",
            b"",
        );
        self
    }

    /// Deletes all versions of a column up to the current time (HBase: `addColumns`).
    #[must_use]
    pub fn column(self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Self {
        self.column_up_to(family, qualifier, LATEST_TIMESTAMP)
    }

    /// Deletes all versions of a column up to and including `timestamp` (HBase: `addColumns`).
    #[must_use]
    pub fn column_up_to(
        mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        timestamp: i64,
    ) -> Self {
        self.mutation.push(
            (family.as_ref(), qualifier.as_ref()),
            timestamp,
            CellType::DeleteColumn,
            b"",
            b"",
        );
        self
    }

    /// Returns `true` if a part is the newest version of a column, which has to be looked for.
    pub fn has_newest(&self) -> bool {
        self.mutation.cells.iter().any(|cell| {
            cell.type_code() == CellType::Delete.code() && cell.timestamp() == LATEST_TIMESTAMP
        })
    }

    /// Deletes all columns of a family up to the current time (HBase: `addFamily`).
    #[must_use]
    pub fn family(self, family: impl AsRef<[u8]>) -> Self {
        self.family_up_to(family, LATEST_TIMESTAMP)
    }

    /// Deletes all columns of a family up to and including `timestamp`. Replaces the parts of the
    /// family added before (HBase: `addFamily`).
    #[must_use]
    pub fn family_up_to(mut self, family: impl AsRef<[u8]>, timestamp: i64) -> Self {
        if self.mutation.cells.iter().any(|cell| cell.family() == family.as_ref()) {
            let mut others = CellsBuilder::default();
            self.mutation
                .cells
                .iter()
                .filter(|cell| cell.family() != family.as_ref())
                .for_each(|cell| others.push(cell));
            self.mutation.cells = others;
        }
        self.mutation.push((family.as_ref(), b""), timestamp, CellType::DeleteFamily, b"", b"");
        self
    }

    /// Deletes the cells of a family with exactly this timestamp (HBase: `addFamilyVersion`).
    #[must_use]
    pub fn family_version(mut self, family: impl AsRef<[u8]>, timestamp: i64) -> Self {
        self.mutation.push(
            (family.as_ref(), b""),
            timestamp,
            CellType::DeleteFamilyVersion,
            b"",
            b"",
        );
        self
    }
}

/// Increment: adds to 8-byte big-endian counters.
#[derive(Clone, Debug)]
pub struct Increment {
    mutation: Mutation,
    tags: Vec<u8>,
    /// Time range outside which current values are ignored.
    pub time_range: TimeRange,
    /// `true` if the new values are returned.
    pub return_results: bool,
}
mutation_methods!(Increment);
ttl_method!(Increment);

impl Increment {
    /// Creates an increment of `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self {
            mutation: Mutation::new(row.into()),
            tags: Vec::new(),
            time_range: TimeRange::default(),
            return_results: true,
        }
    }

    /// Creates an increment from already encoded cells, all of `row`; their values are 8-byte
    /// big-endian amounts.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self {
            mutation: Mutation { row: row.into(), cells, problem: None, durability },
            ..Self::new(Bytes::new())
        }
    }

    /// Adds `delta` to a column; a missing cell counts as 0.
    #[must_use]
    pub fn add(
        mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        delta: i64,
    ) -> Self {
        self.mutation.push(
            (family.as_ref(), qualifier.as_ref()),
            LATEST_TIMESTAMP,
            CellType::Put,
            &delta.to_be_bytes(),
            &self.tags,
        );
        self
    }
}

/// Append: appends bytes to values.
#[derive(Clone, Debug)]
pub struct Append {
    mutation: Mutation,
    tags: Vec<u8>,
    /// Time range outside which current values are ignored.
    pub time_range: TimeRange,
    /// `true` if the new values are returned.
    pub return_results: bool,
}
mutation_methods!(Append);
ttl_method!(Append);

impl Append {
    /// Creates an append to `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self {
            mutation: Mutation::new(row.into()),
            tags: Vec::new(),
            time_range: TimeRange::default(),
            return_results: true,
        }
    }

    /// Creates an append from the values of already encoded cells, all of `row`.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self {
            mutation: Mutation { row: row.into(), cells, problem: None, durability },
            ..Self::new(Bytes::new())
        }
    }

    /// Appends `value` to a column; a missing cell counts as empty.
    #[must_use]
    pub fn add(
        mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Self {
        self.mutation.push(
            (family.as_ref(), qualifier.as_ref()),
            LATEST_TIMESTAMP,
            CellType::Put,
            value.as_ref(),
            &self.tags,
        );
        self
    }
}

/// Several mutations of one row, applied atomically.
#[derive(Clone, Debug)]
pub struct RowMutations {
    row: Bytes,
    /// Puts, deletes, increments and appends, in order.
    pub ops: Vec<RowOp>,
}

impl RowMutations {
    /// Creates a group without mutations of `row`.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), ops: Vec::new() }
    }

    /// Adds a put, delete, increment or append of the same row.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "the name HBase's `RowMutations` has for it")]
    pub fn add(mut self, op: impl Into<RowOp>) -> Self {
        self.ops.push(op.into());
        self
    }

    /// Returns the row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// Condition of a check-and-mutate.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `value op stored` holds for the newest value stored in the column: as in HBase, the given
    /// value is the left operand. `None` means that the column has no value, and with `NotEqual`
    /// that it has one.
    Column {
        /// Family name.
        family: Bytes,
        /// Qualifier.
        qualifier: Bytes,
        /// Comparison operator.
        op: CompareOp,
        /// Value to compare with.
        value: Option<Bytes>,
    },
    /// The filter returns at least one cell of the row.
    Filter(Filter),
}

/// Applies mutations of a row if a condition on that row holds, atomically.
#[derive(Clone, Debug)]
pub struct CheckAndMutate {
    row: Bytes,
    /// The condition.
    pub condition: Condition,
    /// Time range of the cells that are examined.
    pub time_range: TimeRange,
    /// Operation to apply: a put, delete, increment, append or row mutations of the same row.
    pub then: Box<RowOp>,
}

impl CheckAndMutate {
    /// Creates an operation that applies `then` if `condition` holds for `row`.
    pub fn new(row: impl Into<Bytes>, condition: Condition, then: impl Into<RowOp>) -> Self {
        Self {
            row: row.into(),
            condition,
            time_range: TimeRange::default(),
            then: Box::new(then.into()),
        }
    }

    /// Creates an operation that applies `then` if the newest value of the column equals `value`.
    pub fn if_equals(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
        then: impl Into<RowOp>,
    ) -> Self {
        let condition = Condition::Column {
            family: family.into(),
            qualifier: qualifier.into(),
            op: CompareOp::Equal,
            value: Some(value.into()),
        };
        Self::new(row, condition, then)
    }

    /// Creates an operation that applies `then` if the column has no value.
    pub fn if_not_exists(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        then: impl Into<RowOp>,
    ) -> Self {
        let condition = Condition::Column {
            family: family.into(),
            qualifier: qualifier.into(),
            op: CompareOp::Equal,
            value: None,
        };
        Self::new(row, condition, then)
    }

    /// Returns the row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// One operation on one row.
#[derive(Clone, Debug)]
pub enum RowOp {
    /// Put of values.
    Put(Put),
    /// Delete by delete markers.
    Delete(Delete),
    /// Increment of counters.
    Increment(Increment),
    /// Append to values.
    Append(Append),
    /// Several of the above, applied atomically.
    Mutate(RowMutations),
    /// One of the above, applied if a condition holds.
    CheckAndMutate(CheckAndMutate),
}

impl RowOp {
    /// Returns the row.
    pub fn row(&self) -> &Bytes {
        match self {
            Self::Put(op) => op.row(),
            Self::Delete(op) => op.row(),
            Self::Increment(op) => op.row(),
            Self::Append(op) => op.row(),
            Self::Mutate(op) => op.row(),
            Self::CheckAndMutate(op) => op.row(),
        }
    }

    /// Returns `true` if the operation reads the row before it changes it: all operations but puts,
    /// and deletes other than of the newest version.
    pub fn reads_first(&self) -> bool {
        match self {
            Self::Put(_) => false,
            Self::Delete(delete) => delete.has_newest(),
            Self::Increment(_) | Self::Append(_) | Self::Mutate(_) | Self::CheckAndMutate(_) => {
                true
            }
        }
    }

    /// Returns the row, cells and options of a put, delete, increment or append; `None` for
    /// operations that contain others.
    pub fn mutation(&self) -> Option<&Mutation> {
        match self {
            Self::Put(op) => Some(op.mutation()),
            Self::Delete(op) => Some(op.mutation()),
            Self::Increment(op) => Some(op.mutation()),
            Self::Append(op) => Some(op.mutation()),
            Self::Mutate(_) | Self::CheckAndMutate(_) => None,
        }
    }

    /// Returns the same, to change.
    pub fn mutation_mut(&mut self) -> Option<&mut Mutation> {
        match self {
            Self::Put(op) => Some(op.mutation_mut()),
            Self::Delete(op) => Some(op.mutation_mut()),
            Self::Increment(op) => Some(op.mutation_mut()),
            Self::Append(op) => Some(op.mutation_mut()),
            Self::Mutate(_) | Self::CheckAndMutate(_) => None,
        }
    }
}

macro_rules! row_op_from {
    ($($variant:ident($name:ident)),*) => {
        $(impl From<$name> for RowOp {
            fn from(op: $name) -> Self {
                Self::$variant(op)
            }
        })*
    };
}
row_op_from!(
    Put(Put),
    Delete(Delete),
    Increment(Increment),
    Append(Append),
    Mutate(RowMutations),
    CheckAndMutate(CheckAndMutate)
);

/// Result of one operation in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpResult {
    /// New values of an increment or append that requested them; otherwise empty.
    pub row: Row,
    /// For a check-and-mutate, `true` if the condition held; otherwise always `true`.
    pub processed: bool,
}
