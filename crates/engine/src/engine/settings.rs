//! Small things that whoever runs the store keeps in it: switches, records. They lie in the manifest, so they are as
//! durable as the tables, and a change is there as a whole or not at all.

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_types::{Error, Result};

use super::Engine;

/// Names and values together, in bytes. The manifest is written whole at every change, so they must stay small.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

impl Engine {
    /// The value kept under a name.
    pub fn setting(&self, name: &str) -> Option<Bytes> {
        self.shared.manifest.current().settings.get(name).cloned()
    }

    /// All names that begin with `prefix`, with their values, in their order.
    pub fn settings(&self, prefix: &str) -> Vec<(String, Bytes)> {
        let catalog = self.shared.manifest.current();
        let from = catalog.settings.range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
        from.take_while(|(name, _)| name.starts_with(prefix)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Changes the settings; nobody else does meanwhile. When this returns the change is durable; when `change` fails
    /// nothing has changed.
    ///
    /// # Errors
    /// What `change` says; `InvalidRequest` for more than a mebibyte in all; a full disk or failed write.
    pub fn change_settings<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Bytes>) -> Result<T>) -> Result<T> {
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.change(|catalog| {
            let answer = change(&mut catalog.settings)?;
            let bytes: usize = catalog.settings.iter().map(|(name, value)| name.len() + value.len()).sum();
            if bytes > SETTINGS_BYTES_MAX {
                return Err(Error::invalid(format!("the settings would have {bytes} bytes; {SETTINGS_BYTES_MAX} are kept at most")));
            }
            Ok(answer)
        })
    }
}
