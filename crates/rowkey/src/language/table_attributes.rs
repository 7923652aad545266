//! Storage of a schema in attributes of the table's descriptor, which every HBase stores and
//! prints.

use std::sync::Arc;

use halite_types::{Error, FamilyDescriptor, TableDescriptor};

use super::columns::RawColumn;
use super::create::{RawTable, clause, elements, values};
use super::cursor::Cursor;
use super::declaration::{ColumnType, SplitClause, Statement, TableDeclaration};
use super::error::{LanguageError, Span};
use super::statement::suppressions;
use crate::schema::{Field, KeySchema, Segment};
use crate::split::{Rolling, Splits};

/// Table attribute with the canonical text of its key.
pub const ROW_KEY: &str = "ROW_KEY";
/// Table attribute with the other declarations: columns, queries, splits, lint suppressions.
pub const ROW_SCHEMA: &str = "ROW_SCHEMA";
/// Table attribute with statistics of the rows, which ANALYZE of SQL sets. It is no part of the
/// declaration.
pub const ROW_STATS: &str = "ROW_STATS";

impl KeySchema {
    /// Returns the declared key of a table's descriptor; `None` if it declares none.
    pub fn from_descriptor(descriptor: &TableDescriptor) -> Option<Result<Self, LanguageError>> {
        descriptor.attributes.get(ROW_KEY).map(|text| text.parse())
    }

    /// Returns a descriptor that declares this key.
    #[must_use]
    pub fn declared_in(&self, descriptor: TableDescriptor) -> TableDescriptor {
        descriptor.set(ROW_KEY, self)
    }

    /// Checks that a table with this key and existing rows may be declared to have the key `new`.
    ///
    /// Names of fields and patterns of text may change: no byte of a key depends on them.
    ///
    /// # Errors
    /// `InvalidRequest` for a key that encodes the same values to other bytes, with the first such
    /// segment and the fix.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        let fix = "rows that are there would not be found under it; create a table with the new \
                    key and copy the rows";
        if self.profile() != new.profile() {
            return Err(Error::invalid(format!(
                "the key would be written in another profile, and {fix}"
            )));
        }
        let types = |fields: &[Field], segment: Option<&Segment>| {
            segment.and_then(|segment| segment.kind.field()).map(|field| fields[field].ty)
        };
        let count = self.segments().len().max(new.segments().len());
        let differs = |&at: &usize| {
            let (before, after) = (self.segments().get(at), new.segments().get(at));
            before != after || types(self.fields(), before) != types(new.fields(), after)
        };
        if let Some(at) = (0..count).find(differs) {
            let shown = |schema: &Self| {
                if at < schema.segments().len() {
                    schema.segment_text(at)
                } else {
                    "nothing".to_owned()
                }
            };
            return Err(Error::invalid(format!(
                "segment {} of the row key, {}, would become {}, and {fix}",
                at + 1,
                shown(self),
                shown(new)
            )));
        }
        match self.fields().iter().zip(new.fields()).find(|(before, after)| before.ty != after.ty) {
            Some((before, after)) => Err(Error::invalid(format!(
                "{} is {} and would become {}, and {fix}",
                before.name, before.ty, after.ty
            ))),
            None => Ok(()),
        }
    }
}

impl TableDeclaration {
    /// Returns the descriptor of the declared table, with the declaration in its attributes.
    pub fn described(&self) -> TableDescriptor {
        let mut descriptor = self.key.declared_in(self.descriptor.clone());
        let schema = self.schema_text();
        if !schema.is_empty() {
            descriptor.attributes.insert(ROW_SCHEMA.to_owned(), schema);
        }
        descriptor
    }

    /// Returns the declaration of a table, from its descriptor; `None` if it declares no key.
    ///
    /// # Errors
    /// An attribute that cannot be parsed, with the position in it.
    pub fn from_descriptor(descriptor: &TableDescriptor) -> Option<Result<Self, LanguageError>> {
        let key = match KeySchema::from_descriptor(descriptor)? {
            Ok(key) => key,
            Err(error) => return Some(Err(error)),
        };
        let text = descriptor.attributes.get(ROW_SCHEMA).map_or("", String::as_str);
        Some(read_schema(text, key, descriptor))
    }
}

/// Descriptor of a table with another key, and the dropped parts of its declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Redeclared {
    /// Descriptor that declares the new key.
    pub descriptor: TableDescriptor,
    /// Queries and splits that are invalid for the new key, each with the reason.
    pub dropped: Vec<String>,
}

impl KeySchema {
    /// Returns a descriptor in which this key replaces the declared one. Queries and columns name
    /// fields by their new names if the two keys encode the same bytes; a query that names a field
    /// this key does not have, and an invalid split, are dropped.
    ///
    /// # Errors
    /// `InvalidRequest` for a column of the table that this key does not permit, or that has the
    /// name of a field.
    pub fn adopted_in(&self, descriptor: &TableDescriptor) -> Result<Redeclared, Error> {
        let before = KeySchema::from_descriptor(descriptor).and_then(Result::ok);
        let declared = self.declared_in(descriptor.clone());
        let Some(text) = descriptor.attributes.get(ROW_SCHEMA) else {
            return Ok(Redeclared { descriptor: declared, dropped: Vec::new() });
        };
        let key = before.as_ref().unwrap_or(self).clone();
        let wrong = |error: LanguageError| {
            Error::invalid(format!("{ROW_SCHEMA} of table {}: {error}", descriptor.name()))
        };
        let mut declaration = read_schema(text, key, descriptor).map_err(wrong)?;
        if let Some(before) = before.filter(|before| before.check_change(self).is_ok()) {
            declaration.rename(before.fields(), self.fields());
        }
        declaration.key = self.clone();
        let dropped = declaration.drop_unfit();
        // The parser of statements decides, so that the output of SHOW CREATE TABLE can be parsed.
        // No attribute concerns the key: a cluster has some that statements do not know.
        let families =
            descriptor.families().map(|family| FamilyDescriptor::new(family.name().clone()));
        declaration.descriptor =
            families.fold(TableDescriptor::new(descriptor.name().clone()), TableDescriptor::family);
        if let Err(error) = declaration.to_string().parse::<Statement>() {
            return Err(Error::invalid(format!(
                "the columns of table {} do not go with this key: {}",
                descriptor.name(),
                error.message
            )));
        }
        let mut descriptor = declared;
        match declaration.schema_text() {
            text if text.is_empty() => drop(descriptor.attributes.remove(ROW_SCHEMA)),
            text => drop(descriptor.attributes.insert(ROW_SCHEMA.to_owned(), text)),
        }
        Ok(Redeclared { descriptor, dropped })
    }
}

impl TableDeclaration {
    /// Renames fields of the key in the whole declaration.
    fn rename(&mut self, before: &[Field], new: &[Field]) {
        let rename = |name: &mut String| {
            if let Some((_, new)) = before.iter().zip(new).find(|(before, _)| before.name == *name)
            {
                name.clone_from(&new.name);
            }
        };
        for query in &mut self.queries {
            query.conditions.iter_mut().for_each(|condition| rename(&mut condition.column));
            query.order.iter_mut().for_each(|order| rename(&mut order.column));
        }
        for column in &mut self.columns {
            if let ColumnType::Series { offset_of: Some(field), .. } = &mut column.ty {
                rename(field);
            }
        }
    }

    /// Drops queries and splits that are invalid for the key.
    pub(super) fn drop_unfit(&mut self) -> Vec<String> {
        let mut dropped = Vec::new();
        let (key, columns) = (&self.key, &self.columns);
        let is_known = |name: &str| {
            key.field_id(name).is_some() || columns.iter().any(|column| column.name == name)
        };
        self.queries.retain(|query| match query.columns().find(|name| !is_known(name)) {
            Some(unknown) => {
                dropped.push(format!(
                    "query {}: it names {unknown}, which the key does not have",
                    query.name
                ));
                false
            }
            None => true,
        });
        if let Some(split) = &self.split
            && let Err(reason) = check_split(split, key)
        {
            dropped.push(format!("{split}: {reason}"));
            self.split = None;
        }
        dropped
    }
}

/// Checks that a split is valid for a key, as far as that requires no other table and no file.
///
/// # Errors
/// Why it is invalid.
pub fn check_split(split: &SplitClause, key: &KeySchema) -> Result<(), String> {
    match split {
        SplitClause::Rolling(width_ms) => {
            Rolling::for_schema(&Arc::new(key.clone()), *width_ms).map(drop)
        }
        split => Splits::declared(split, key).map(drop).map_err(|error| error.to_string()),
    }
}

fn read_schema(
    text: &str,
    key: KeySchema,
    descriptor: &TableDescriptor,
) -> Result<TableDeclaration, LanguageError> {
    let mut cursor = Cursor::new(text)?;
    let empty = RawTable {
        key: None,
        columns: Vec::new(),
        families: Vec::new(),
        options: Vec::new(),
        queries: None,
        split: None,
    };
    let mut table = if cursor.is_sign('(') { elements(&mut cursor)? } else { empty };
    while clause(&mut cursor, &mut table)? {}
    cursor.expect_end()?;
    let allowed = suppressions(&cursor, Span { start: 0, end: text.len() });
    let mut descriptor = descriptor.clone();
    descriptor.attributes.remove(ROW_KEY);
    descriptor.attributes.remove(ROW_SCHEMA);
    let family =
        descriptor.families().next().map_or_else(String::new, |family: &FamilyDescriptor| {
            String::from_utf8_lossy(family.name()).into_owned()
        });
    let columns = values(table.columns, &key)
        .into_iter()
        .map(|column: RawColumn| column.in_family(&family))
        .collect();
    let (queries, _) = table.queries.unwrap_or_default();
    Ok(TableDeclaration {
        descriptor,
        if_not_exists: false,
        key,
        columns,
        queries,
        split: table.split,
        suppressions: allowed,
    })
}
