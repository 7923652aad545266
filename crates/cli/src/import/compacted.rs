//! Store files that a compaction has replaced, and that HBase had not yet moved to the archive.
//!
//! The file that a compaction writes names those that were merged into it. HBase leaves these out
//! when it opens a region (`HStoreFile.getCompactedStoreFiles`): a delete marker may be gone from
//! the new file, and from the archive, while a file with a cell that it hid is still there.

use std::collections::BTreeSet;

use halite::Bytes;
use halite_hbase_dir::HbaseRegion;

use crate::hfile;

/// Removes the files of a region that another file of the same family has replaced. Returns their
/// number.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn drop_compacted(region: &mut HbaseRegion) -> anyhow::Result<u64> {
    let mut of_families = region.files.iter().map(|file| &file.family).collect::<Vec<_>>();
    of_families.sort_unstable();
    if of_families.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(0);
    }
    let mut gone: BTreeSet<(Bytes, String)> = BTreeSet::new();
    for file in &region.files {
        let inputs = hfile::open(&file.path)?.info().compacted_from();
        gone.extend(inputs.into_iter().map(|name| (file.family.clone(), name)));
    }
    Ok(remove_files(region, &gone))
}

/// Removes files of a region by family and name. Returns their number.
pub(super) fn remove_files(region: &mut HbaseRegion, gone: &BTreeSet<(Bytes, String)>) -> u64 {
    let count = region.files.len();
    region.files.retain(|file| !gone.contains(&(file.family.clone(), file.name.clone())));
    (count - region.files.len()) as u64
}

#[cfg(test)]
mod tests {
    use halite::CellRef;
    use halite_engine::env::MemoryFile;
    use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
    use halite_hbase_dir::HbaseFile;
    use halite_types::cell::make_key;

    use super::*;

    fn left(files: &[(&'static str, &str, &[&str])]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = |(family, name, inputs): &(&'static str, &str, &[&str])| {
            let written = MemoryFile::default();
            let options = WriterOptions::default();
            let mut writer = Writer::create(Box::new(written.clone()), name, options).unwrap();
            let key = make_key(b"r", family.as_bytes(), b"q", 1, 4);
            writer.append(CellRef::new(&key, b"v", &[], 1)).unwrap();
            let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
            writer.finish(StoreFileInfo::compacted(1, true, inputs)).unwrap();
            let path = folder.path().join(format!("{family}-{name}"));
            std::fs::write(&path, written.take_bytes()).unwrap();
            HbaseFile {
                family: Bytes::from_static(family.as_bytes()),
                name: (*name).to_owned(),
                path,
                bytes: 1,
                loaded_sequence: None,
                rows: None,
            }
        };
        let mut region = HbaseRegion {
            start: Bytes::new(),
            end: Bytes::new(),
            encoded_name: "ab".to_owned(),
            files: files.iter().map(file).collect(),
        };
        let gone = drop_compacted(&mut region).unwrap();
        assert_eq!(gone, (files.len() - region.files.len()) as u64);
        let names = region.files.iter().map(|file| format!("{:?}:{}", file.family, file.name));
        names.collect::<Vec<_>>().join(" ").replace("b\"", "").replace('"', "")
    }

    #[test]
    fn file_that_another_one_replaced_is_left_out() {
        assert_eq!(left(&[("f", "b", &[]), ("f", "c", &["a", "b"])]), "f:c");
        assert_eq!(left(&[("f", "b", &[]), ("g", "c", &["a", "b"])]), "f:b g:c");
        assert_eq!(left(&[("f", "b", &["a"]), ("f", "d", &["c"])]), "f:b f:d");
        assert_eq!(left(&[("f", "a", &[]), ("f", "b", &["a"]), ("f", "c", &["b"])]), "f:c");
    }
}
