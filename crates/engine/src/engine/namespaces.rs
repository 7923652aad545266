//! Creating, altering and dropping namespaces.

use std::collections::BTreeMap;

use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE, check_namespace};
use halite_types::{Attributes, Error, ErrorKind, Result};

use super::Engine;
use crate::catalog::{NamespaceEntry, layout};

/// Maximum bytes of a namespace's settings. The manifest contains all of them and is rewritten at
/// every change.
const MAX_NAMESPACE_SETTINGS_BYTES: usize = 64 << 10;

impl Engine {
    /// Creates a namespace.
    ///
    /// # Errors
    /// `NamespaceExists`, `InvalidRequest`, `DiskFull`.
    pub fn create_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        check_name(name)?;
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        if self.shared.manifest.current().namespaces.contains_key(name) {
            return Err(Error::new(
                ErrorKind::NamespaceExists,
                format!("namespace {name} exists already"),
            ));
        }
        self.shared.disk.admit()?;
        self.make_directory(&format!("{}/{name}", layout::DATA))?;
        self.sync_directory(layout::DATA)?;
        self.shared.manifest.change(|catalog| {
            catalog.namespaces.insert(name.to_owned(), NamespaceEntry { settings });
            Ok(())
        })
    }

    /// Replaces a namespace's settings.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `InvalidRequest` if the settings are larger than the manifest allows.
    pub fn alter_namespace(&self, name: &str, settings: Attributes) -> Result<()> {
        check_settings_bytes(name, &settings)?;
        let _ddl = self.lock_ddl()?;
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            catalog.namespaces.insert(name.to_owned(), NamespaceEntry { settings });
            Ok(())
        })
    }

    /// Drops an empty namespace.
    ///
    /// # Errors
    /// `NoSuchNamespace`, `NamespaceNotEmpty`, `InvalidRequest` for HBase's two built-in
    /// namespaces.
    pub fn drop_namespace(&self, name: &str) -> Result<()> {
        let _ddl = self.lock_ddl()?;
        if name == DEFAULT_NAMESPACE || name == SYSTEM_NAMESPACE {
            return Err(Error::invalid(format!(
                "namespace {name} is reserved and cannot be dropped"
            )));
        }
        self.shared.manifest.change(|catalog| {
            check_exists(&catalog.namespaces, name)?;
            if let Some(table) = catalog.tables.keys().find(|table| table.namespace() == name) {
                return Err(Error::new(
                    ErrorKind::NamespaceNotEmpty,
                    format!("namespace {name} still holds table {table}; drop its tables first"),
                ));
            }
            catalog.namespaces.remove(name);
            Ok(())
        })?;
        let _ = self.shared.env.fs.remove_dir(&format!("{}/{name}", layout::DATA));
        Ok(())
    }
}

/// Checks the name of a namespace to create.
pub(super) fn check_name(name: &str) -> Result<()> {
    check_namespace(name)?;
    let (bytes, most) = (name.len(), layout::MAX_NAMESPACE_NAME_BYTES);
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "namespace {name}: its name has {bytes} bytes; at most {most} are allowed, choose a \
         shorter one"
    )))
}

fn check_settings_bytes(name: &str, settings: &Attributes) -> Result<()> {
    let bytes: usize = settings.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes <= MAX_NAMESPACE_SETTINGS_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "namespace {name}: its settings have {bytes} bytes; at most {MAX_NAMESPACE_SETTINGS_BYTES} \
         are allowed, shorten them"
    )))
}

/// Checks that a namespace exists.
pub(super) fn check_exists(
    namespaces: &BTreeMap<String, NamespaceEntry>,
    name: &str,
) -> Result<()> {
    if namespaces.contains_key(name) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::NoSuchNamespace,
        format!("namespace {name} does not exist; create it first"),
    ))
}
