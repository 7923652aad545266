//! Settings of compaction policies in the descriptor of a table.

use halite_types::{Error, FamilyDescriptor, Result, TableDescriptor};

/// Least ratio in a setting, as in HBase.
const MIN_RATIO: f64 = 0.001;

/// Settings of a family, or of its table.
pub(crate) struct StoreSettings<'a> {
    table: &'a TableDescriptor,
    family: &'a FamilyDescriptor,
}

impl<'a> StoreSettings<'a> {
    pub(super) fn new(table: &'a TableDescriptor, family: &'a FamilyDescriptor) -> Self {
        Self { table, family }
    }

    /// Returns the value of a setting, if it is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.table.family_setting(self.family, name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns a positive number.
    ///
    /// # Errors
    /// `InvalidRequest` for any other value.
    pub(super) fn number(&self, name: &str, default: i64) -> Result<i64> {
        Ok(self.optional_number(name)?.unwrap_or(default))
    }

    /// As [`StoreSettings::number`]; `None` if it is not set.
    pub(super) fn optional_number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().ok().filter(|number| *number > 0).map(Some).ok_or_else(|| {
            Error::invalid(format!("invalid {name} {text:?}: expected a positive integer"))
        })
    }

    /// Returns a positive ratio; `None` if it is not set.
    ///
    /// # Errors
    /// `InvalidRequest` for any other value.
    pub(super) fn ratio(&self, name: &str) -> Result<Option<f64>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let is_valid = |ratio: &f64| ratio.is_finite() && *ratio >= MIN_RATIO;
        text.parse().ok().filter(is_valid).map(Some).ok_or_else(|| {
            let text = format!("invalid {name} {text:?}: expected a number from {MIN_RATIO} on");
            Error::invalid(text)
        })
    }

    /// Returns the flush size of the table, if it has its own.
    pub(super) fn flush_bytes(&self) -> Option<u64> {
        self.table.memstore_flush_bytes()
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.text(name).map_or(default, |text| text.eq_ignore_ascii_case("true"))
    }
}
