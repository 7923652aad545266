//! The id of a cluster: a UUID that clients may ask for, kept beside the data.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use halite_types::{Error, Result};

/// The file in the data directory (HBase: `hbase.id`).
const FILE: &str = "hbase.id";

/// A new random id (a version 4 UUID).
pub fn new_cluster_id() -> String {
    // The standard library seeds each of these from the operating system.
    let random = || RandomState::new().build_hasher().finish();
    let high = random() & 0xffff_ffff_ffff_0fff | 0x4000;
    let low = random() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
    format!("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffff_ffff_ffff)
}

/// The id of the cluster whose data lies in `directory`. The first call makes one and keeps it there.
///
/// # Errors
/// The file cannot be read or written, or holds something else.
pub fn cluster_id_of(directory: &Path) -> Result<String> {
    let path = directory.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let id = text.trim();
            let is_id = !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            if is_id {
                Ok(id.to_string())
            } else {
                Err(Error::corrupt(format!("{} holds no cluster id; remove it, a new one is made then", path.display())))
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let id = new_cluster_id();
            std::fs::write(&path, format!("{id}\n")).map_err(|error| Error::io(format!("writing {}", path.display()), error))?;
            Ok(id)
        }
        Err(error) => Err(Error::io(format!("reading {}", path.display()), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_shape_of_a_uuid_and_stays_with_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let id = cluster_id_of(directory.path()).unwrap();
        assert_eq!(id.len(), 36);
        assert_eq!((&id[14..15], id.matches('-').count()), ("4", 4));
        assert_eq!(cluster_id_of(directory.path()).unwrap(), id);
        assert_ne!(new_cluster_id(), id);
    }

    #[test]
    fn a_file_that_holds_no_id_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(FILE), "two words").unwrap();
        assert!(cluster_id_of(directory.path()).is_err());
    }
}
