//! A `SERIES` column in the cells of its bucket rows: qualifiers of loose points, their values, and
//! packing of a row.

use std::borrow::Cow;

use halite_types::cell::{CellParts, CellType, compare_cells};
use halite_types::{Bytes, CellRef, Cells, CellsBuilder, FamilyDescriptor, KeepDeletedCells};

use super::{MAX_POINTS, Point, SeriesError, merge, pack, unpack};
use crate::codec::slot::big_endian;
use crate::language::{Column, ColumnType};
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::FieldType;

/// Integers below this are exact doubles.
const MAX_WHOLE_NUMBER: f64 = 9_007_199_254_740_992.0;

/// `SERIES` column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesColumn {
    family: Bytes,
    qualifier: Bytes,
    of: FieldType,
    /// Field of the key that is the time of a point.
    field: FieldId,
    /// Width of a bucket, in the unit of that field.
    width: u64,
    /// `true` if the field is descending.
    is_descending: bool,
}

/// Points of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowPoints {
    /// In ascending order of their offsets.
    pub points: Vec<Point>,
    /// Number of cells they came from that are not packed.
    pub loose: usize,
}

impl SeriesColumn {
    /// Returns the column of a key, if it is a series whose points can be distinguished.
    ///
    /// # Errors
    /// The missing requirement: a time bucket in the key, which contains no other part of that
    /// time.
    pub fn new(key: &KeySchema, column: &Column) -> Result<Self, String> {
        let ColumnType::Series { of, offset_of } = &column.ty else {
            return Err(format!("column {} is no SERIES", column.name));
        };
        let buckets = key.segments().iter().filter_map(|segment| match segment.kind {
            SegmentKind::Bucket { field, width } => {
                Some((field, width, segment.order == crate::schema::Order::Desc))
            }
            _ => None,
        });
        let offset_field = offset_of.as_ref().and_then(|name| key.field_id(name));
        let mut buckets =
            buckets.filter(|(field, ..)| offset_field.is_none_or(|offset| offset == *field));
        let Some((field, width, is_descending)) = buckets.next() else {
            let bucketed = offset_of.as_deref().unwrap_or("a time");
            return Err(format!(
                "a SERIES needs rows that are buckets of {bucketed}; put BUCKET({}, '1h') into the \
                 key",
                offset_of.as_deref().unwrap_or("ts")
            ));
        };
        let name = &key.fields()[field].name;
        if buckets.next().is_some() {
            return Err(format!(
                "the key has several buckets; name the one that column {} counts its points from: \
                 OFFSET OF {name}",
                column.name
            ));
        }
        if key.carrier(field).is_some() {
            return Err(format!(
                "the key contains {name} itself in addition to its bucket, so each row is one \
                 point; leave it out, or make column {} a plain number",
                column.name
            ));
        }
        let (family, qualifier) =
            (Bytes::copy_from_slice(column.family.as_bytes()), column.qualifier.clone());
        Ok(Self { family, qualifier, of: *of, field, width, is_descending })
    }

    /// Returns its family.
    pub fn family(&self) -> &Bytes {
        &self.family
    }

    /// Returns the qualifier of the packed cell.
    pub fn qualifier(&self) -> &Bytes {
        &self.qualifier
    }

    /// The field of the key that is the time of a point.
    pub fn field(&self) -> FieldId {
        self.field
    }

    /// Returns the width of a bucket, in the unit of the time.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Returns `true` if later buckets sort before earlier ones.
    pub fn is_descending(&self) -> bool {
        self.is_descending
    }

    /// Returns the qualifier of a loose point: the column's qualifier and the offset in 4 or 8
    /// bytes, depending on the width of a bucket.
    pub fn loose_qualifier(&self, offset: u64) -> Vec<u8> {
        let bytes = offset.to_be_bytes();
        [&self.qualifier[..], &bytes[8 - self.offset_bytes()..]].concat()
    }

    /// Returns `true` if a column of that name in the same family could be mistaken for a loose
    /// point.
    pub fn may_be_loose(&self, qualifier: &[u8]) -> bool {
        qualifier.len() == self.qualifier.len() + self.offset_bytes()
            && qualifier.starts_with(&self.qualifier)
    }

    fn offset_bytes(&self) -> usize {
        if self.width <= 1 << 32 { 4 } else { 8 }
    }

    /// Returns the offset in a loose point's qualifier; `None` for other columns.
    fn offset_of(&self, qualifier: &[u8]) -> Option<i64> {
        let digits = qualifier
            .strip_prefix(&self.qualifier[..])
            .filter(|digits| digits.len() == self.offset_bytes())?;
        let offset = big_endian(digits);
        i64::try_from(offset).ok().filter(|_| offset < self.width)
    }

    /// Returns the value of a loose cell: the number encoded by Java's `Bytes.toBytes` for its
    /// type.
    ///
    /// # Errors
    /// A number outside its type, or an integer too large to be packed.
    pub fn value_bytes(&self, value: f64) -> Result<Vec<u8>, String> {
        let of = self.of;
        match of {
            FieldType::F64 => return Ok(value.to_be_bytes().to_vec()),
            #[expect(clippy::cast_possible_truncation, reason = "checked on the next line")]
            FieldType::F32 => {
                let narrow = value as f32;
                let is_same = f64::from(narrow).to_bits() == value.to_bits() || value.is_nan();
                return if is_same {
                    Ok(narrow.to_be_bytes().to_vec())
                } else {
                    Err(format!("{value} is no {of}; declare SERIES(DOUBLE)"))
                };
            }
            _ => {}
        }
        let (least, greatest) = of.integer_range().unwrap_or((0, 0));
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53 only")]
        let whole =
            (value.fract() == 0.0 && value.abs() < MAX_WHOLE_NUMBER).then_some(value as i128);
        match whole.filter(|whole| (least..=greatest).contains(whole)) {
            Some(whole) => Ok(whole.to_be_bytes()[16 - integer_bytes(greatest)..].to_vec()),
            None => Err(format!(
                "{value} is no {of} of up to 53 bits, which is what a SERIES of whole numbers holds"
            )),
        }
    }

    /// Returns the number of a loose cell; `None` for a point that was removed.
    fn value_of(&self, bytes: &[u8]) -> Result<Option<f64>, SeriesError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let value = match self.of {
            FieldType::F64 => bytes.try_into().ok().map(f64::from_be_bytes),
            FieldType::F32 => bytes.try_into().ok().map(f32::from_be_bytes).map(f64::from),
            of => whole_number(bytes, of),
        };
        value.map(Some).ok_or(SeriesError::Damaged)
    }

    /// Returns the points of a row, packed and loose.
    ///
    /// # Errors
    /// A damaged packed cell, or a loose one that is not a number of this type.
    pub fn points<'c>(
        &self,
        cells: impl IntoIterator<Item = CellRef<'c>>,
    ) -> Result<RowPoints, SeriesError> {
        let (mut packed, mut loose) = (Vec::new(), Vec::new());
        for cell in cells {
            if cell.family() != self.family {
                continue;
            }
            if cell.qualifier() == self.qualifier {
                packed = unpack(cell.value())?;
            } else if let Some(offset) = self.offset_of(cell.qualifier()) {
                loose.push((offset, self.value_of(cell.value())?));
            }
        }
        let count = loose.len();
        Ok(RowPoints { points: merge(&packed, &loose), loose: count })
    }

    /// Returns `true` if the rows of a family may be packed without a request: each column has one
    /// version, and no deleted cells are retained.
    pub fn can_auto_pack(&self, family: &FamilyDescriptor) -> bool {
        let is_single = family.max_versions() == 1 && family.min_versions() == 0;
        *family.name() == self.family
            && is_single
            && family.keep_deleted_cells() == KeepDeletedCells::False
    }

    /// Returns the cells of a row with its loose points in the packed cell. Returns `None` if there
    /// is nothing to pack, or a cell prevents packing: tags, markers, two versions, a damaged cell,
    /// too many points, a number that is not a double.
    pub fn repacked(&self, cells: &Cells) -> Option<Cells> {
        let is_ours = |cell: &CellRef<'_>| {
            cell.qualifier() == self.qualifier || self.offset_of(cell.qualifier()).is_some()
        };
        let ours: Vec<_> = cells.iter().filter(is_ours).collect();
        let is_plain =
            |cell: &CellRef<'_>| cell.cell_type() == Some(CellType::Put) && cell.tags().is_empty();
        let one_version = ours.windows(2).all(|pair| pair[0].qualifier() != pair[1].qualifier());
        if !one_version
            || !ours.iter().all(is_plain)
            || !ours.iter().all(|cell| self.keeps_value(cell))
        {
            return None;
        }
        let found = self
            .points(ours.iter().copied())
            .ok()
            .filter(|found| found.loose > 0 && found.points.len() <= MAX_POINTS)?;
        let timestamp = ours.iter().map(CellRef::timestamp).max()?;
        let value = if found.points.is_empty() { None } else { Some(pack(&found.points).ok()?) };
        let mut out = CellsBuilder::with_capacity(cells.bytes().len());
        let row = cells.first()?.row();
        let mut packed = CellsBuilder::default();
        if let Some(value) = &value {
            let (family, qualifier, cell_type) =
                (&self.family[..], &self.qualifier[..], CellType::Put);
            packed.push_parts(CellParts {
                row,
                family,
                qualifier,
                timestamp,
                cell_type,
                value,
                tags: b"",
            });
        }
        let packed = packed.finish();
        let mut new = packed.first();
        for cell in cells.iter().filter(|cell| !is_ours(cell)) {
            if let Some(packed) = new.take_if(|packed| compare_cells(packed, &cell).is_lt()) {
                out.push(packed);
            }
            out.push(cell);
        }
        new.into_iter().for_each(|cell| out.push(cell));
        Some(out.finish())
    }

    /// Returns `true` if the value of a loose cell is an exact double.
    fn keeps_value(&self, cell: &CellRef<'_>) -> bool {
        if cell.qualifier() == self.qualifier || self.of.integer_range().is_none() {
            return true;
        }
        self.value_of(cell.value())
            .is_ok_and(|value| value.is_none_or(|value| value.abs() < MAX_WHOLE_NUMBER))
    }
}

/// Returns the number of bytes of an integer type, given its greatest value.
fn integer_bytes(greatest: i128) -> usize {
    match greatest {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

fn whole_number(bytes: &[u8], of: FieldType) -> Option<f64> {
    let (least, greatest) = of.integer_range()?;
    if bytes.len() != integer_bytes(greatest) {
        return None;
    }
    let filling = if least < 0 && bytes[0] & 0x80 != 0 { 0xff } else { 0 };
    let mut wide = [filling; 16];
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    #[expect(clippy::cast_precision_loss, reason = "callers check for the loss where it matters")]
    Some(i128::from_be_bytes(wide) as f64)
}

/// Formats the name of the column for messages.
impl std::fmt::Display for SeriesColumn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes: &'_ Bytes| -> Cow<'_, str> {
            String::from_utf8_lossy(bytes).into_owned().into()
        };
        write!(out, "{}:{}", text(&self.family), text(&self.qualifier))
    }
}
