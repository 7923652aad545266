//! Small named values that the operator of a store keeps in it: switches, records. They are stored
//! in the manifest, so they are as durable as the tables, and a change is atomic.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{Error, Result};

use super::Engine;

/// Maximum total bytes of names and values. The manifest is rewritten at every change, so they must
/// stay small.
const MAX_PROPERTIES_BYTES: usize = 1 << 20;

impl Engine {
    /// Returns the value of a name.
    pub fn property(&self, name: &str) -> Option<Bytes> {
        self.shared.manifest.current().properties.get(name).cloned()
    }

    /// Returns all names that start with `prefix`, with their values, in order.
    pub fn properties(&self, prefix: &str) -> Vec<(String, Bytes)> {
        let catalog = self.shared.manifest.current();
        let from = catalog
            .properties
            .range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.take_while(|(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Changes the properties under an exclusive lock. The change is durable on return; if `change`
    /// fails, nothing is changed.
    ///
    /// # Errors
    /// The error of `change`; `InvalidRequest` if the total exceeds one mebibyte; a full disk or
    /// failed write.
    pub fn update_properties<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Bytes>) -> Result<T>,
    ) -> Result<T> {
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.change(|catalog| {
            let answer = change(&mut catalog.properties)?;
            let bytes: usize =
                catalog.properties.iter().map(|(name, value)| name.len() + value.len()).sum();
            if bytes > MAX_PROPERTIES_BYTES {
                return Err(Error::invalid(format!(
                    "the settings would have {bytes} bytes; {MAX_PROPERTIES_BYTES} are kept at most"
                )));
            }
            Ok(answer)
        })
    }
}
