//! The key that would serve a question which a declared key does not serve.
//!
//! In front are the columns that the question compares with single values, since their rows are
//! then next to each other; then the column of its order or of a range; then what made the declared
//! key unique:
//!
//! ```text
//!   declared   ROW KEY (msg_id STRING)
//!   question   receiver = ?, newest first, the first 100
//!   serving    ROW KEY (SALT(16 BY receiver), receiver STRING, created TIMESTAMP DESC, msg_id STRING)
//! ```

use super::query::{Condition, Predicate};
use crate::schema::{
    Field, FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind,
};
use crate::value::FieldType;

/// Salts of a key that had none.
const SALTS: u32 = 16;

/// Column that a question names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Name, of a field of the key or of a column of cells.
    pub name: String,
    /// Type of its values.
    pub ty: FieldType,
}

/// What a question asks of a table, without its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Columns that are compared with a value or with a list of values, in the order of the
    /// question.
    pub equal: Vec<Asked>,
    /// Columns of which a range or a beginning is requested, in the order of the question.
    pub ranges: Vec<Asked>,
    /// Order of the answer.
    pub order: Vec<(Asked, Order)>,
    /// `true` if only the first rows of that order are requested.
    pub is_limited: bool,
}

impl Question {
    /// Adds a column of a condition; conditions for null, and for all but null, narrow no key.
    pub fn add(&mut self, column: Asked, predicate: &Predicate) {
        match predicate {
            Predicate::Equals(_) | Predicate::In(_) => self.equal.push(column),
            Predicate::Range { .. } | Predicate::Prefix(_) => self.ranges.push(column),
            Predicate::IsNull | Predicate::NotNull => {}
        }
    }

    /// Returns the question of conditions on fields of a key.
    pub fn of_key(key: &KeySchema, conditions: &[Condition]) -> Self {
        let mut question = Self::default();
        for condition in conditions {
            let field = &key.fields()[condition.field];
            let asked = Asked { name: field.name.clone(), ty: field.ty };
            question.add(asked, &condition.predicate);
        }
        question
    }

    /// Returns the columns that follow those of `equal`: of the order if it saves reading rows, else
    /// of a range.
    fn following(&self) -> Vec<(&Asked, Option<Order>)> {
        let begins_order =
            |range: &Asked| self.order.first().is_some_and(|(first, _)| first.name == range.name);
        let range = self.ranges.first();
        match range {
            Some(range) if !self.is_limited && !self.ranges.iter().any(begins_order) => {
                vec![(range, None)]
            }
            _ if !self.order.is_empty() => {
                self.order.iter().map(|(column, order)| (column, Some(*order))).collect()
            }
            _ => range.map(|range| (range, None)).into_iter().collect(),
        }
    }
}

/// Returns a key whose ranges and order are those of a question; `None` if the question names no
/// column, or more of them than a key has.
///
/// It is a proposal for a second table or a new one: it has the fields of `declared`, and so tells
/// the same rows apart.
pub fn serving_key(declared: &KeySchema, question: &Question) -> Option<KeySchema> {
    let mut draft = Draft { declared, fields: Vec::new(), segments: Vec::new() };
    let equal: Vec<FieldId> =
        question.equal.iter().filter_map(|column| draft.place(column, None, true)).collect();
    for (column, order) in question.following() {
        draft.place(column, order, false);
    }
    let first = *draft.fields.first().map(|field: &Field| &field.ty)?;
    let placed = draft.fields.len();
    draft.place_rest();
    let by = match draft.fields.get(placed) {
        _ if !equal.is_empty() => equal,
        // New rows of a key that begins with a time are all at its end.
        Some(_) if first.is_time() => vec![placed],
        _ => Vec::new(),
    };
    if !by.is_empty() {
        draft.salt(by);
    }
    let key = draft.finish()?;
    (key != *declared).then_some(key)
}

/// Key under construction.
struct Draft<'k> {
    declared: &'k KeySchema,
    fields: Vec<Field>,
    segments: Vec<Segment>,
}

impl Draft<'_> {
    /// Adds a column, unless it is there; returns its field if it was added. `keeps_form` keeps how
    /// the declared key has it, which equal values do not mind.
    fn place(&mut self, column: &Asked, order: Option<Order>, keeps_form: bool) -> Option<FieldId> {
        if self.fields.iter().any(|field| field.name == column.name) {
            return None;
        }
        let at = self.fields.len();
        let carrier = self.declared.field_id(&column.name).and_then(|id| self.carrier(id));
        let mut segment = Segment::new(SegmentKind::Plain(at));
        if let Some(carrier) = carrier {
            if keeps_form {
                segment.kind = carried(&carrier.kind, at);
            }
            (segment.order, segment.nullable) = (carrier.order, carrier.nullable);
        }
        segment.order = order.unwrap_or(segment.order);
        self.fields.push(Field { name: column.name.clone(), ty: column.ty, pattern: None });
        self.segments.push(segment);
        Some(at)
    }

    /// Adds the fields of the declared key that are not there.
    fn place_rest(&mut self) {
        for field in self.declared.fields() {
            self.place(&Asked { name: field.name.clone(), ty: field.ty }, None, true);
        }
    }

    fn carrier(&self, field: FieldId) -> Option<&Segment> {
        self.declared.carrier(field).map(|at| &self.declared.segments()[at])
    }

    fn salt(&mut self, by: Vec<FieldId>) {
        let declared = self.declared.segments().iter().find_map(|segment| match &segment.kind {
            SegmentKind::Salt { count, .. } => Some(*count),
            _ => None,
        });
        let function = match self.declared.profile() {
            Profile::Phoenix => HashFunction::Phoenix,
            _ => HashFunction::Murmur3,
        };
        let kind = SegmentKind::Salt { count: declared.unwrap_or(SALTS), by, function };
        self.segments.insert(0, Segment::new(kind));
    }

    /// Returns the key in the profile of the declared one, or, where that does not hold it, in
    /// [`Profile::Bin`].
    fn finish(self) -> Option<KeySchema> {
        let profile = match self.declared.profile() {
            Profile::Text => Profile::Bin,
            other => other,
        };
        let bin = || KeySchema::new(Profile::Bin, self.fields.clone(), self.segments.clone());
        let same = KeySchema::new(profile, self.fields.clone(), self.segments.clone());
        same.or_else(|_| bin()).ok()
    }
}

/// Returns a segment's kind for another field.
fn carried(kind: &SegmentKind, field: FieldId) -> SegmentKind {
    match *kind {
        SegmentKind::Reverse(_) => SegmentKind::Reverse(field),
        SegmentKind::BitReverse(_) => SegmentKind::BitReverse(field),
        SegmentKind::Ipv4(_) => SegmentKind::Ipv4(field),
        SegmentKind::Dict { bytes, .. } => SegmentKind::Dict { field, bytes },
        _ => SegmentKind::Plain(field),
    }
}
