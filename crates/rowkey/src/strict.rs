//! Tables that reject rows whose keys do not match the declaration: the attribute `ROW_KEY_STRICT`;
//! and the attribute `ROW_MARKER`.

use std::sync::Arc;

use halite_types::{Error, KeyParts, Result, RowCheck, RowChecks, TableDescriptor};

use crate::schema::KeySchema;

/// Attribute of a table that rejects rows whose keys do not match its
/// [`ROW_KEY`](crate::language::ROW_KEY): `true` or `false`.
pub const ROW_KEY_STRICT: &str = "ROW_KEY_STRICT";

/// Table attribute with the family of the marker: a cell with an empty qualifier and the value `01`
/// that every row written by column has, which tells that the row is there.
pub const ROW_MARKER: &str = "ROW_MARKER";

/// Row checks for tables with `ROW_KEY_STRICT`.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictKeys;

impl StrictKeys {
    /// Returns the required key of a table's rows; `None` if it accepts every row.
    fn key_for_table(table: &TableDescriptor) -> Result<Option<KeySchema>> {
        match table.attributes.get(ROW_KEY_STRICT).map(|text| text.to_ascii_lowercase()).as_deref()
        {
            None | Some("false") => return Ok(None),
            Some("true") => {}
            Some(other) => {
                return Err(Error::invalid(format!(
                    "{ROW_KEY_STRICT} of table {} is {other:?}; give true or false",
                    table.name()
                )));
            }
        }
        match KeySchema::from_descriptor(table) {
            Some(Ok(key)) => Ok(Some(key)),
            Some(Err(error)) => Err(Error::invalid(format!(
                "table {} has {ROW_KEY_STRICT}, and its ROW_KEY cannot be read: {error}",
                table.name()
            ))),
            None => Err(Error::invalid(format!(
                "table {} has {ROW_KEY_STRICT} and declares no ROW_KEY; declare one, or leave it \
                 out",
                table.name()
            ))),
        }
    }
}

impl RowChecks for StrictKeys {
    fn check_table(&self, table: &TableDescriptor) -> Result<()> {
        Self::key_for_table(table).map(drop)
    }

    fn for_table(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>> {
        // A declaration that bypassed `check_table` and cannot be parsed rejects all rows.
        Some(Arc::new(Strict(Self::key_for_table(table).transpose()?)))
    }

    fn key_parts(&self, table: &TableDescriptor) -> Option<Arc<dyn KeyParts>> {
        let parts = FieldParts::new(KeySchema::from_descriptor(table)?.ok()?);
        (!parts.fields.is_empty()).then(|| Arc::new(parts) as _)
    }
}

/// Prefixes of keys that end after a field, the last one excepted.
#[derive(Debug)]
struct FieldParts {
    schema: KeySchema,
    /// Segments that the prefixes end with, in rising order.
    segments: Vec<usize>,
    /// Fields in each of them.
    fields: Vec<usize>,
}

impl FieldParts {
    fn new(schema: KeySchema) -> Self {
        let all = schema.segments();
        let has_field = |at: &usize| all[*at].kind.field().is_some();
        let segments: Vec<usize> = (0..all.len().saturating_sub(1)).filter(has_field).collect();
        let fields = (1..=segments.len()).collect();
        Self { schema, segments, fields }
    }
}

impl KeyParts for FieldParts {
    fn fields(&self) -> &[usize] {
        &self.fields
    }

    fn prefix_lengths(&self, row: &[u8], lengths: &mut [usize]) -> bool {
        let Ok(ranges) = self.schema.split_segments(row) else { return false };
        for (length, segment) in lengths.iter_mut().zip(&self.segments) {
            *length = ranges[*segment].end;
        }
        true
    }
}

/// Key of one table, or the reason why there is none.
#[derive(Debug)]
struct Strict(Result<KeySchema>);

impl RowCheck for Strict {
    fn check(&self, row: &[u8]) -> Result<()> {
        let key = self.0.as_ref().map_err(Clone::clone)?;
        key.check_key(row).map_err(|error| {
            let text = key.describe_error(&error);
            Error::invalid(format!(
                "it is no key of the declared {key}, and {ROW_KEY_STRICT} refuses it: {text}; make \
                 keys with halite key encode"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(strict: Option<&str>, key: Option<&str>) -> TableDescriptor {
        let table = TableDescriptor::new("t".parse().unwrap());
        let attributes = [(ROW_KEY_STRICT, strict), (crate::language::ROW_KEY, key)];
        attributes
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .fold(table, |table, (name, value)| table.set(name, value))
    }

    #[test]
    fn only_strict_tables_are_checked() {
        let key = Some("(a STRING, b U8)");
        assert!(
            StrictKeys.for_table(&table(None, key)).is_none()
                && StrictKeys.for_table(&table(Some("FALSE"), key)).is_none()
        );
        let check = StrictKeys.for_table(&table(Some("true"), key)).unwrap();
        assert!(check.check(b"a\0\x01\x07").is_ok());
        let error = check.check(b"odd").unwrap_err().to_string();
        assert!(
            error.contains("field a: segment 1")
                && error.contains(ROW_KEY_STRICT)
                && !error.contains("odd"),
            "{error}"
        );
    }

    #[test]
    fn prefixes_end_after_fields_but_last() {
        let salted = table(None, Some("(SALT(16 BY a), a STRING, b U8, c U8)"));
        let parts = StrictKeys.key_parts(&salted).unwrap();
        assert_eq!(parts.fields(), [1, 2]);
        let mut lengths = [0; 3];
        assert!(!parts.prefix_lengths(b"", &mut lengths));
        let schema = KeySchema::from_descriptor(&salted).unwrap().unwrap();
        let values = schema.parse_values(["a=xy", "b=1", "c=2"]).unwrap();
        let row = schema.encode(&values).unwrap();
        assert!(parts.prefix_lengths(&row, &mut lengths));
        assert_eq!((row.len() - lengths[0], row.len() - lengths[1], lengths[2]), (2, 1, 0));
        assert!(StrictKeys.key_parts(&table(None, Some("(a STRING)"))).is_none());
        assert!(StrictKeys.key_parts(&table(None, None)).is_none());
    }

    #[test]
    fn strict_table_without_valid_key_is_rejected() {
        for (strict, key, expected) in [
            ("yes", Some("(a STRING)"), "give true or false"),
            ("true", None, "declares no ROW_KEY"),
            ("true", Some("(a STRNG)"), "cannot be read"),
        ] {
            let table = table(Some(strict), key);
            assert!(StrictKeys.check_table(&table).unwrap_err().to_string().contains(expected));
            assert!(
                StrictKeys.for_table(&table).unwrap().check(b"a").is_err(),
                "it refuses every row until it is put right"
            );
        }
    }
}
