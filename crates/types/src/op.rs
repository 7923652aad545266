//! Operations that change a row: put, delete, increment, append, check-and-mutate, and several at once.

use std::str::FromStr;

use bytes::Bytes;

use crate::cell::{CellParts, CellType, CellsBuilder, LATEST_TIMESTAMP, MAX_FAMILY_BYTES, MAX_ROW_BYTES, TAG_TTL, write_tag};
use crate::error::{Error, Result};
use crate::filter::{CompareOp, Filter};
use crate::key::print_bytes;
use crate::query::TimeRange;
use crate::row::Row;
use crate::schema::check_family_name;

/// What an acknowledged write has survived (HBase: `Durability`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// What the table says, else what the store is configured for.
    #[default]
    UseDefault,
    /// Nothing: only in memory until the next flush.
    SkipWal,
    /// Handed to the log, which is written a moment later.
    AsyncWal,
    /// As the store is configured: `fsync` (the default) or `flush`.
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
            _ => return Err(Error::invalid(format!("DURABILITY is {text:?}; give one of USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL, FSYNC_WAL"))),
        })
    }
}

/// Row, cells and options that every mutation has. The cells are encoded as they are added; a part that cannot be
/// encoded is remembered as a problem, which [`Mutation::check`] reports.
#[derive(Clone, Debug)]
pub struct Mutation {
    row: Bytes,
    cells: CellsBuilder,
    problem: Option<Error>,
    /// How durable this write is.
    pub durability: Durability,
}

impl Mutation {
    fn new(row: Bytes) -> Self {
        Self { row, cells: CellsBuilder::default(), problem: None, durability: Durability::default() }
    }

    /// The row it changes.
    pub fn row(&self) -> &Bytes {
        &self.row
    }

    /// Its cells, in the order they were added; a timestamp of [`LATEST_TIMESTAMP`] means now.
    pub fn cells(&self) -> &CellsBuilder {
        &self.cells
    }

    /// Its cells, to stamp or replace; all must stay of its row.
    pub fn cells_mut(&mut self) -> &mut CellsBuilder {
        &mut self.cells
    }

    /// Whether the row key and all parts are within the limits.
    ///
    /// # Errors
    /// `InvalidRequest`: empty or long row, bad family name, negative timestamp, value over 2 GiB.
    pub fn check(&self) -> Result<()> {
        check_row(&self.row)?;
        self.problem.clone().map_or(Ok(()), Err)
    }

    fn push(&mut self, column: (&[u8], &[u8]), timestamp: i64, cell_type: CellType, value: &[u8], tags: &[u8]) {
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
                "row {}: timestamp {timestamp} of column {}:{} is negative; give milliseconds since 1970 or leave it out",
                print_bytes(&self.row),
                print_bytes(family),
                print_bytes(qualifier)
            )));
            return;
        }
        if qualifier.len() + value.len() > i32::MAX as usize - (64 << 10) {
            self.problem =
                Some(Error::invalid(format!("row {}: a cell of {} bytes is over 2 GiB; split the value", print_bytes(&self.row), value.len())));
            return;
        }
        self.cells.push_parts(CellParts { row: &self.row, family, qualifier, timestamp, cell_type, value, tags });
    }
}

/// Whether `row` may be a row key.
///
/// # Errors
/// `InvalidRequest` if it is empty or longer than 32,767 bytes.
pub fn check_row(row: &[u8]) -> Result<()> {
    if row.is_empty() {
        return Err(Error::invalid("the row key is empty (row length is 0); give it at least one byte"));
    }
    if row.len() > MAX_ROW_BYTES {
        return Err(Error::invalid(format!(
            "the row key has {} bytes, more than {MAX_ROW_BYTES}: {}...; shorten it or hash a part of it",
            row.len(),
            print_bytes(&row[..16])
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
            /// Gives the cells of the columns added from here on a time to live of their own, in milliseconds. The
            /// family's own limit still holds.
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
            /// Sets how durable this write is.
            #[must_use]
            pub fn durability(mut self, durability: Durability) -> Self {
                self.mutation.durability = durability;
                self
            }

            /// The row it changes.
            pub fn row(&self) -> &Bytes {
                self.mutation.row()
            }

            /// Row, cells and options.
            pub fn mutation(&self) -> &Mutation {
                &self.mutation
            }

            /// Row, cells and options, to change or take.
            pub fn mutation_mut(&mut self) -> &mut Mutation {
                &mut self.mutation
            }

            /// Row, cells and options, taken out.
            pub fn into_mutation(self) -> Mutation {
                self.mutation
            }
        }
    };
}

/// Writes values into a row.
#[derive(Clone, Debug)]
pub struct Put {
    mutation: Mutation,
    tags: Vec<u8>,
}
mutation_methods!(Put);
ttl_method!(Put);

impl Put {
    /// A put of `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), tags: Vec::new() }
    }

    /// A write of cells that are encoded already, delete markers included, all of `row`.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self { mutation: Mutation { row: row.into(), cells, problem: None, durability }, tags: Vec::new() }
    }

    /// Adds a value, stamped with the store's clock.
    #[must_use]
    pub fn add(self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.add_at(family, qualifier, LATEST_TIMESTAMP, value)
    }

    /// Adds a value with a timestamp, milliseconds since the epoch by convention, 0 or more.
    #[must_use]
    pub fn add_at(mut self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, timestamp: i64, value: impl AsRef<[u8]>) -> Self {
        self.mutation.push((family.as_ref(), qualifier.as_ref()), timestamp, CellType::Put, value.as_ref(), &self.tags);
        self
    }
}

/// Deletes parts of a row, or all of it when no part is named.
#[derive(Clone, Debug)]
pub struct Delete {
    mutation: Mutation,
    /// For a delete that names no part: everything up to this timestamp goes.
    pub timestamp: i64,
}
mutation_methods!(Delete);

impl Delete {
    /// A delete of the whole row, up to now, unless parts are named.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), timestamp: LATEST_TIMESTAMP }
    }

    /// Delete markers that are encoded already, all of `row`; without any the whole row goes, up to now.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self { mutation: Mutation { row: row.into(), cells, problem: None, durability }, timestamp: LATEST_TIMESTAMP }
    }

    /// For a delete that names no part: everything up to and including `timestamp` goes.
    #[must_use]
    pub fn up_to(mut self, timestamp: i64) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// One version of a column: the newest there is (HBase: `addColumn` without a timestamp).
    #[must_use]
    pub fn newest(self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Self {
        self.version(family, qualifier, LATEST_TIMESTAMP)
    }

    /// One version of a column: the one with exactly this timestamp (HBase: `addColumn`).
    #[must_use]
    pub fn version(mut self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, timestamp: i64) -> Self {
        self.mutation.push((family.as_ref(), qualifier.as_ref()), timestamp, CellType::Delete, b"", b"");
        self
    }

    /// All versions of a column up to now (HBase: `addColumns`).
    #[must_use]
    pub fn column(self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>) -> Self {
        self.column_up_to(family, qualifier, LATEST_TIMESTAMP)
    }

    /// All versions of a column up to and including `timestamp` (HBase: `addColumns`).
    #[must_use]
    pub fn column_up_to(mut self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, timestamp: i64) -> Self {
        self.mutation.push((family.as_ref(), qualifier.as_ref()), timestamp, CellType::DeleteColumn, b"", b"");
        self
    }

    /// All columns of a family up to now (HBase: `addFamily`).
    #[must_use]
    pub fn family(self, family: impl AsRef<[u8]>) -> Self {
        self.family_up_to(family, LATEST_TIMESTAMP)
    }

    /// All columns of a family up to and including `timestamp`, in place of what has been named of the family before
    /// (HBase: `addFamily`).
    #[must_use]
    pub fn family_up_to(mut self, family: impl AsRef<[u8]>, timestamp: i64) -> Self {
        if self.mutation.cells.iter().any(|cell| cell.family() == family.as_ref()) {
            let mut others = CellsBuilder::default();
            self.mutation.cells.iter().filter(|cell| cell.family() != family.as_ref()).for_each(|cell| others.push(cell));
            self.mutation.cells = others;
        }
        self.mutation.push((family.as_ref(), b""), timestamp, CellType::DeleteFamily, b"", b"");
        self
    }

    /// The cells of a family with exactly this timestamp (HBase: `addFamilyVersion`).
    #[must_use]
    pub fn family_version(mut self, family: impl AsRef<[u8]>, timestamp: i64) -> Self {
        self.mutation.push((family.as_ref(), b""), timestamp, CellType::DeleteFamilyVersion, b"", b"");
        self
    }
}

/// Adds to 8-byte big-endian counters.
#[derive(Clone, Debug)]
pub struct Increment {
    mutation: Mutation,
    tags: Vec<u8>,
    /// Only current values in this range count as current.
    pub time_range: TimeRange,
    /// Whether the new values come back.
    pub return_results: bool,
}
mutation_methods!(Increment);
ttl_method!(Increment);

impl Increment {
    /// An increment of `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), tags: Vec::new(), time_range: TimeRange::default(), return_results: true }
    }

    /// An increment by cells that are encoded already, all of `row`: their values are 8-byte big-endian amounts.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self { mutation: Mutation { row: row.into(), cells, problem: None, durability }, ..Self::new(Bytes::new()) }
    }

    /// Adds `delta` to a column; a missing cell counts as 0.
    #[must_use]
    pub fn add(mut self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, delta: i64) -> Self {
        self.mutation.push((family.as_ref(), qualifier.as_ref()), LATEST_TIMESTAMP, CellType::Put, &delta.to_be_bytes(), &self.tags);
        self
    }
}

/// Appends bytes to values.
#[derive(Clone, Debug)]
pub struct Append {
    mutation: Mutation,
    tags: Vec<u8>,
    /// Only current values in this range count as current.
    pub time_range: TimeRange,
    /// Whether the new values come back.
    pub return_results: bool,
}
mutation_methods!(Append);
ttl_method!(Append);

impl Append {
    /// An append to `row` without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { mutation: Mutation::new(row.into()), tags: Vec::new(), time_range: TimeRange::default(), return_results: true }
    }

    /// An append of the values of cells that are encoded already, all of `row`.
    pub fn from_cells(row: impl Into<Bytes>, cells: CellsBuilder, durability: Durability) -> Self {
        Self { mutation: Mutation { row: row.into(), cells, problem: None, durability }, ..Self::new(Bytes::new()) }
    }

    /// Appends `value` to a column; a missing cell counts as empty.
    #[must_use]
    pub fn add(mut self, family: impl AsRef<[u8]>, qualifier: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.mutation.push((family.as_ref(), qualifier.as_ref()), LATEST_TIMESTAMP, CellType::Put, value.as_ref(), &self.tags);
        self
    }
}

/// Several mutations of one row, applied as one.
#[derive(Clone, Debug)]
pub struct RowMutations {
    row: Bytes,
    /// Puts, deletes, increments and appends, in order.
    pub ops: Vec<RowOp>,
}

impl RowMutations {
    /// No mutation of `row` yet.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), ops: Vec::new() }
    }

    /// Adds a put, delete, increment or append of the same row.
    #[must_use]
    pub fn then(mut self, op: impl Into<RowOp>) -> Self {
        self.ops.push(op.into());
        self
    }

    /// The row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// What must hold for a check-and-mutate to go ahead.
#[derive(Clone, Debug)]
pub enum Condition {
    /// `value op stored` holds for the newest value stored in the column: as in HBase it is the given value that stands
    /// on the left. `None` means that the column has no value, and with `NotEqual` that it has one.
    Column {
        /// Family.
        family: Bytes,
        /// Qualifier.
        qualifier: Bytes,
        /// How to compare.
        op: CompareOp,
        /// What to compare with.
        value: Option<Bytes>,
    },
    /// Reading the row through the filter gives at least one cell.
    Filter(Filter),
}

/// Applies mutations of a row if a condition on that row holds, both as one.
#[derive(Clone, Debug)]
pub struct CheckAndMutate {
    row: Bytes,
    /// The condition.
    pub condition: Condition,
    /// Only cells in this range are looked at.
    pub time_range: TimeRange,
    /// What to do: a put, delete, increment, append or row mutations of the same row.
    pub then: Box<RowOp>,
}

impl CheckAndMutate {
    /// Does `then` if `condition` holds for `row`.
    pub fn new(row: impl Into<Bytes>, condition: Condition, then: impl Into<RowOp>) -> Self {
        Self { row: row.into(), condition, time_range: TimeRange::default(), then: Box::new(then.into()) }
    }

    /// Does `then` if the newest value of the column equals `value`.
    pub fn if_equals(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
        then: impl Into<RowOp>,
    ) -> Self {
        let condition = Condition::Column { family: family.into(), qualifier: qualifier.into(), op: CompareOp::Equal, value: Some(value.into()) };
        Self::new(row, condition, then)
    }

    /// Does `then` if the column has no value.
    pub fn if_absent(row: impl Into<Bytes>, family: impl Into<Bytes>, qualifier: impl Into<Bytes>, then: impl Into<RowOp>) -> Self {
        let condition = Condition::Column { family: family.into(), qualifier: qualifier.into(), op: CompareOp::Equal, value: None };
        Self::new(row, condition, then)
    }

    /// The row.
    pub fn row(&self) -> &Bytes {
        &self.row
    }
}

/// One operation on one row.
#[derive(Clone, Debug)]
pub enum RowOp {
    /// Values.
    Put(Put),
    /// Delete markers.
    Delete(Delete),
    /// Counters.
    Increment(Increment),
    /// Appended values.
    Append(Append),
    /// Several of the above as one.
    Mutate(RowMutations),
    /// Any of the above under a condition.
    CheckAndMutate(CheckAndMutate),
}

impl RowOp {
    /// The row it changes.
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

    /// Row, cells and options of a put, delete, increment or append; `None` for what holds other operations.
    pub fn mutation(&self) -> Option<&Mutation> {
        match self {
            Self::Put(op) => Some(op.mutation()),
            Self::Delete(op) => Some(op.mutation()),
            Self::Increment(op) => Some(op.mutation()),
            Self::Append(op) => Some(op.mutation()),
            Self::Mutate(_) | Self::CheckAndMutate(_) => None,
        }
    }

    /// The same, to change.
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
row_op_from!(Put(Put), Delete(Delete), Increment(Increment), Append(Append), Mutate(RowMutations), CheckAndMutate(CheckAndMutate));

/// What one operation of a batch answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpResult {
    /// The new values of an increment or append that asked for them; empty otherwise.
    pub row: Row,
    /// For a check-and-mutate: whether the condition held. True for everything else.
    pub processed: bool,
}
