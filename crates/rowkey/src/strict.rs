//! Tables that refuse rows which are no keys of what they declare: the attribute `ROW_KEY_STRICT`.

use std::sync::Arc;

use halite_types::{Error, Result, RowCheck, RowChecks, TableDescriptor};

use crate::schema::KeySchema;

/// The attribute of a table that refuses rows which are no keys of its [`ROW_KEY`](crate::language::ROW_KEY): `true` or `false`.
pub const ROW_KEY_STRICT: &str = "ROW_KEY_STRICT";

/// Says to a store which tables refuse rows that are no keys of what they declare.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictKeys;

impl StrictKeys {
    /// The key that all rows of a table have to have; `None` if it takes every row.
    fn key_of(table: &TableDescriptor) -> Result<Option<KeySchema>> {
        match table.attributes.get(ROW_KEY_STRICT).map(|text| text.to_ascii_lowercase()).as_deref() {
            None | Some("false") => return Ok(None),
            Some("true") => {}
            Some(other) => return Err(Error::invalid(format!("{ROW_KEY_STRICT} of table {} is {other:?}; give true or false", table.name()))),
        }
        match KeySchema::of_table(table) {
            Some(Ok(key)) => Ok(Some(key)),
            Some(Err(error)) => Err(Error::invalid(format!("table {} has {ROW_KEY_STRICT}, and its ROW_KEY cannot be read: {error}", table.name()))),
            None => Err(Error::invalid(format!("table {} has {ROW_KEY_STRICT} and declares no ROW_KEY; declare one, or leave it out", table.name()))),
        }
    }
}

impl RowChecks for StrictKeys {
    fn check_table(&self, table: &TableDescriptor) -> Result<()> {
        Self::key_of(table).map(drop)
    }

    fn of_table(&self, table: &TableDescriptor) -> Option<Arc<dyn RowCheck>> {
        // A declaration that was put there past `check_table` and cannot be read refuses every row, rather than none.
        Some(Arc::new(Strict(Self::key_of(table).transpose()?)))
    }
}

/// The key of one table, or why there is none.
#[derive(Debug)]
struct Strict(Result<KeySchema>);

impl RowCheck for Strict {
    fn check(&self, row: &[u8]) -> Result<()> {
        let key = self.0.as_ref().map_err(Clone::clone)?;
        key.check_key(row).map_err(|error| {
            let text = key.describe_error(&error);
            Error::invalid(format!("it is no key of the declared {key}, and {ROW_KEY_STRICT} refuses it: {text}; make keys with halite key encode"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(strict: Option<&str>, key: Option<&str>) -> TableDescriptor {
        let table = TableDescriptor::new("t".parse().unwrap());
        let attributes = [(ROW_KEY_STRICT, strict), (crate::language::ROW_KEY, key)];
        attributes.into_iter().filter_map(|(name, value)| Some((name, value?))).fold(table, |table, (name, value)| table.set(name, value))
    }

    #[test]
    fn only_strict_tables_are_checked() {
        let key = Some("(a STRING, b U8)");
        assert!(StrictKeys.of_table(&table(None, key)).is_none() && StrictKeys.of_table(&table(Some("FALSE"), key)).is_none());
        let check = StrictKeys.of_table(&table(Some("true"), key)).unwrap();
        assert!(check.check(b"a\0\x01\x07").is_ok());
        let error = check.check(b"odd").unwrap_err().to_string();
        assert!(error.contains("field a: segment 1") && error.contains(ROW_KEY_STRICT) && !error.contains("odd"), "{error}");
    }

    #[test]
    fn a_table_that_is_strict_about_nothing_is_refused() {
        for (strict, key, wanted) in
            [("yes", Some("(a STRING)"), "give true or false"), ("true", None, "declares no ROW_KEY"), ("true", Some("(a STRNG)"), "cannot be read")]
        {
            let table = table(Some(strict), key);
            assert!(StrictKeys.check_table(&table).unwrap_err().to_string().contains(wanted));
            assert!(StrictKeys.of_table(&table).unwrap().check(b"a").is_err(), "it refuses every row until it is put right");
        }
    }
}
