//! Checks of a list of segments, and the schema that they form.

use super::error::SchemaError;
use super::key_schema::{KeySchema, SchemaCache};
use super::segment::{
    Field, FieldId, HashFunction, MAX_SALTS, MAX_SEGMENTS, Order, Profile, Segment, SegmentKind,
};
use crate::codec::{FastPath, patterns, slot_layouts};
use crate::value::FieldType;

impl KeySchema {
    /// Creates a schema of these segments, if they are consistent.
    ///
    /// # Errors
    /// The inconsistency and its fix: an empty key, a field that no segment contains or that two
    /// carry, fields in another order than their segments, a type that a transform does not
    /// support, counts and widths out of range, digits and patterns outside a text key.
    pub fn new(
        profile: Profile,
        fields: Vec<Field>,
        mut segments: Vec<Segment>,
    ) -> Result<Self, SchemaError> {
        if profile == Profile::Text {
            segments.iter_mut().for_each(in_text);
        }
        let known = SchemaCache {
            patterns: Vec::new(),
            slot_layouts: slot_layouts(&segments, &fields),
            fast_path: FastPath::default(),
        };
        let mut schema = Self { profile, fields, segments, cache: known };
        schema.check_whole()?;
        for at in 0..schema.segments.len() {
            schema
                .check_segment(at)
                .and_then(|()| schema.check_profile(at))
                .map_err(|message| SchemaError { segment: Some(at), message })?;
        }
        schema.check_order()?;
        schema.cache.fast_path = FastPath::for_schema(&schema);
        schema.cache.patterns =
            patterns(&schema).map_err(|message| SchemaError { segment: None, message })?;
        Ok(schema)
    }

    /// Returns the same fields in other segments. Fields are listed in segment order, so their ids
    /// change.
    ///
    /// # Errors
    /// Segments that do not form a key.
    pub fn rearranged(&self, segments: Vec<Segment>) -> Result<Self, SchemaError> {
        let draft = Self { segments, ..self.clone() };
        let order: Vec<FieldId> = draft.held().into_iter().map(|(_, field)| field).collect();
        let moved = |field: FieldId| order.iter().position(|&old| old == field).unwrap_or(field);
        let segments = draft
            .segments
            .iter()
            .map(|segment| Segment { kind: segment.kind.renumbered(moved), ..segment.clone() });
        let fields = order.iter().map(|&old| self.fields[old].clone()).collect();
        Self::new(self.profile, fields, segments.collect())
    }

    fn check_whole(&self) -> Result<(), SchemaError> {
        let whole = |message: String| Err(SchemaError { segment: None, message });
        if self.segments.is_empty() || self.fields.is_empty() {
            return whole("it has no fields; name at least one".into());
        }
        if self.segments.len() > MAX_SEGMENTS || self.fields.len() > MAX_SEGMENTS {
            return whole(format!(
                "it has {} segments, and at most {MAX_SEGMENTS} are possible",
                self.segments.len()
            ));
        }
        for (id, field) in self.fields.iter().enumerate() {
            if field.name.is_empty() {
                return whole("a field has no name; give it one".into());
            }
            if field.pattern.is_some() && self.profile != Profile::Text {
                return whole(format!(
                    "field {} has a pattern, and only text keys have them",
                    field.name
                ));
            }
            if self.fields[..id].iter().any(|other| other.name == field.name) {
                return whole(format!("field {} is declared twice", field.name));
            }
            let carriers =
                self.segments.iter().filter(|segment| segment.kind.carries() == Some(id)).count();
            if carriers > 1 {
                return whole(format!(
                    "field {} is in the key {carriers} times; once is enough to read it back",
                    field.name
                ));
            }
            let held = |segment: &Segment| {
                segment.kind.field() == Some(id)
                    || matches!(&segment.kind, SegmentKind::Hash { by, .. } if by.contains(&id))
            };
            if !self.segments.iter().any(held) {
                return whole(format!(
                    "field {} is only in a salt, which many values share; add it after the salt",
                    field.name
                ));
            }
        }
        Ok(())
    }

    /// A schema is stored as text, in which fields are in the order of the segments: their ids must
    /// survive that.
    fn check_order(&self) -> Result<(), SchemaError> {
        match self.held().into_iter().enumerate().find(|(place, (_, field))| place != field) {
            None => Ok(()),
            Some((_, (segment, field))) => {
                let message = format!(
                    "field {} is out of order; list fields in the order of the segments that hold \
                     them",
                    self.fields[field].name
                );
                Err(SchemaError { segment: Some(segment), message })
            }
        }
    }

    fn check_digits(&self, at: usize) -> Result<(), String> {
        let segment = &self.segments[at];
        let before = at.checked_sub(1).map(|before| &self.segments[before].kind);
        match (&segment.kind, segment.digits) {
            (SegmentKind::Const(_), None)
                if self.profile == Profile::Text
                    && matches!(before, Some(SegmentKind::Const(_))) =>
            {
                Err("two constants in a row are one; join them".into())
            }
            (_, None) => Ok(()),
            _ if self.profile != Profile::Text => {
                Err("only text keys have digits; leave them out".into())
            }
            (SegmentKind::Const(_), _) | (_, Some(0)) => {
                Err("values have at least one digit, and constants have none".into())
            }
            (SegmentKind::Hash { bytes, .. }, Some(digits)) if digits.div_ceil(2) != *bytes => {
                Err(format!(
                    "{digits} hexadecimal digits are of {} bytes, not of {bytes}",
                    digits.div_ceil(2)
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_segment(&self, at: usize) -> Result<(), String> {
        let segment = &self.segments[at];
        let mentioned = self.hashed_fields(at).into_iter().chain(segment.kind.field());
        if let Some(unknown) = mentioned.into_iter().find(|&field| field >= self.fields.len()) {
            return Err(format!("it names field {unknown}, and the key has {}", self.fields.len()));
        }
        if segment.kind.field().is_none() && (segment.order == Order::Desc || segment.nullable) {
            return Err(
                "only fields are DESC or NULLABLE, constants, salts and hashes are not".into()
            );
        }
        self.check_digits(at)?;
        let ty = segment.kind.field().map(|field| self.fields[field].ty);
        match &segment.kind {
            SegmentKind::Const(bytes) if bytes.is_empty() => {
                Err("the constant is empty; leave it out".into())
            }
            SegmentKind::Const(_) | SegmentKind::Plain(_) => Ok(()),
            SegmentKind::Salt { function: HashFunction::Modulo, .. }
                if !self.is_one_integer(&self.hashed_fields(at)) =>
            {
                Err("modulo is the remainder of one integer field; name it in BY, or use another \
                     function"
                    .into())
            }
            SegmentKind::Salt { count, function, .. } => {
                check_salt(*count, *function, self.profile)
            }
            SegmentKind::Hash { by, bytes, function, .. } => check_hash(by, *bytes, *function),
            SegmentKind::Bucket { width, .. } => check_bucket(ty, *width),
            SegmentKind::Trunc { bytes, .. } => match ty {
                Some(FieldType::String | FieldType::Bytes) if *bytes > 0 => Ok(()),
                _ => Err("TRUNC takes a STRING or BYTES field and at least one byte".into()),
            },
            SegmentKind::Reverse(_) => match ty {
                Some(FieldType::F32 | FieldType::F64 | FieldType::Decimal | FieldType::Bool) => {
                    Err("REVERSE takes text, bytes and integers".into())
                }
                _ => Ok(()),
            },
            SegmentKind::BitReverse(_) => match ty.and_then(FieldType::integer_range) {
                Some(_) => Ok(()),
                None => Err("BITREV takes an integer field".into()),
            },
            SegmentKind::Dict { bytes, .. } => match (ty, bytes) {
                (Some(FieldType::String | FieldType::Bytes), 1..=8) => Ok(()),
                (_, 1..=8) => Err("DICT takes a STRING or BYTES field".into()),
                _ => Err(format!("the number of a DICT has 1 to 8 bytes, not {bytes}")),
            },
            SegmentKind::Ipv4(_) => match ty {
                Some(FieldType::String) => Ok(()),
                _ => {
                    Err("IPV4 takes a STRING field; for addresses as values declare the type IPV4"
                        .into())
                }
            },
        }
    }
}

impl KeySchema {
    fn is_one_integer(&self, fields: &[FieldId]) -> bool {
        matches!(fields, [field] if self.fields[*field].ty.integer_range().is_some())
    }
}

/// Digests in text are hexadecimal, and a full number of digits is implied.
fn in_text(segment: &mut Segment) {
    if let SegmentKind::Hash { bytes, hex, .. } = &mut segment.kind {
        *hex = true;
        segment.digits =
            segment.digits.filter(|&digits| u16::from(digits) != 2 * u16::from(*bytes));
    }
}

fn check_salt(count: u32, function: HashFunction, profile: Profile) -> Result<(), String> {
    if count == 0 || count > MAX_SALTS {
        return Err(format!("SALT({count}): a key has 1 to {MAX_SALTS} salts; 16 to 64 are usual"));
    }
    match profile {
        Profile::Phoenix if function != HashFunction::Phoenix || count > 256 => Err(
            "Phoenix has one byte of salt, computed by its own function: SALT(n USING phoenix) \
             with n up to 256"
                .into(),
        ),
        _ => Ok(()),
    }
}

fn check_hash(by: &[FieldId], bytes: u8, function: HashFunction) -> Result<(), String> {
    let Some(most) = function.digest_bytes() else {
        return Err(format!(
            "{} gives a salt, not a digest; use SALT, or one of md5, sha1, sha256, sha512, \
             murmur3, java, crc32",
            function.name()
        ));
    };
    if by.is_empty() {
        return Err("HASH names the fields it is computed from".into());
    }
    if bytes == 0 || usize::from(bytes) > most {
        return Err(format!("{} gives {most} bytes, but {bytes} are requested", function.name()));
    }
    Ok(())
}

fn check_bucket(ty: Option<FieldType>, width: u64) -> Result<(), String> {
    let Some((_, max)) = ty.and_then(FieldType::integer_range) else {
        return Err("BUCKET takes a TIMESTAMP, DATE or integer field".into());
    };
    if width == 0 || i128::from(width) > max {
        return Err(format!(
            "a bucket of width {width} holds nothing, or everything; give one like '1h' or 3600"
        ));
    }
    Ok(())
}
