//! All files of a table to import, examined before anything is placed, and their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use halite_types::{Error, RegionInfo, Result, TableDescriptor};

use super::ImportRegion;
use super::original::{Original, examine};
use crate::catalog::layout;
use crate::engine::Engine;

/// Region with its files that have cells of it.
pub(super) struct ExaminedRegion<'a> {
    pub(super) info: Arc<RegionInfo>,
    /// By family, in the order of the descriptor.
    pub(super) stores: Vec<(Bytes, Vec<Original<'a>>)>,
}

/// Files of a table.
pub(super) struct Examined<'a> {
    pub(super) regions: Vec<ExaminedRegion<'a>>,
    /// Files without a cell of the region that names them.
    pub(super) empty_files: u64,
}

/// Family, original and region of a new name. A file of which several regions have parts has one
/// name, and no region.
pub(super) type NameKey<'a> = (Bytes, &'a str, Option<usize>);

/// Examines all files; with `verify`, reads all of each. `progress` is called with half of the
/// bytes of each file then.
///
/// # Errors
/// As [`Engine::import_table`].
pub(super) fn examine_all<'a>(
    engine: &Engine,
    descriptor: &TableDescriptor,
    regions: &'a [ImportRegion],
    verify: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Examined<'a>> {
    let name = descriptor.name();
    let region_id = engine.new_region_id(name);
    let mut verified = BTreeSet::new();
    let mut examined = Examined { regions: Vec::new(), empty_files: 0 };
    for region in regions {
        let (start, end) = (region.start.clone(), region.end.clone());
        let info = Arc::new(layout::new_region(name, start, end, region_id));
        let mut stores = Vec::new();
        for family in descriptor.families() {
            let mut originals = Vec::new();
            let mut paths = BTreeSet::new();
            for file in region.files.iter().filter(|file| file.family == *family.name()) {
                if !paths.insert(&file.path) {
                    return Err(Error::corrupt(format!(
                        "store file {}: region {} names it twice",
                        file.path,
                        info.display_name()
                    )));
                }
                let verify = verify && verified.insert(&file.path);
                match examine(&engine.shared.env, &info, file, verify)? {
                    Some(original) => {
                        if verify {
                            progress(original.first_half());
                        }
                        originals.push(original);
                    }
                    None => examined.empty_files += 1,
                }
            }
            stores.push((family.name().clone(), originals));
        }
        examined.regions.push(ExaminedRegion { info, stores });
    }
    Ok(examined)
}

impl<'a> Examined<'a> {
    /// Returns new names for all files. Those of files with equal sequence ids are in the reverse
    /// order of the files, in every region.
    pub(super) fn new_names(&self, engine: &Engine) -> BTreeMap<NameKey<'a>, String> {
        let mut files = Vec::new();
        for (number, region) in self.regions.iter().enumerate() {
            for (family, originals) in &region.stores {
                let key = |original: &Original<'a>| original.name_key(family, number);
                files.extend(originals.iter().map(|original| (original.order(), key(original))));
            }
        }
        files.sort();
        files.dedup_by(|a, b| a.1 == b.1);
        let mut names: Vec<String> =
            files.iter().map(|_| layout::new_file_name(&engine.shared.env)).collect();
        names.sort_by(|a, b| b.cmp(a));
        files.into_iter().zip(names).map(|((_, key), name)| (key, name)).collect()
    }
}
