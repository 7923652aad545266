//! Index of open regions by encoded name, for requests that name their region: one lookup in a hash
//! map that is swapped as a whole.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwap;
use halite_types::RegionInfo;
use rustc_hash::FxHashMap;

use crate::region::Region;

/// Open regions by encoded name.
#[derive(Default)]
pub(super) struct RegionIndex {
    regions: ArcSwap<Regions>,
}

/// The names are digests that the engine computes, so no client can make many of them collide.
type Regions = FxHashMap<EncodedName, Arc<Region>>;

impl RegionIndex {
    /// Returns the open region with this encoded name.
    #[inline]
    pub(super) fn find(&self, encoded_name: &str) -> Option<Arc<Region>> {
        self.regions.load().get(encoded_name).cloned()
    }

    /// Replaces `old` regions with `new` ones.
    pub(super) fn replace(&self, old: &[Arc<Region>], new: &[Arc<Region>]) {
        self.regions.rcu(|regions| {
            let mut regions = Regions::clone(regions);
            for region in old {
                regions.remove(&region.info().encoded_name[..]);
            }
            regions.extend(
                new.iter()
                    .map(|region| (EncodedName(Arc::clone(region.info())), Arc::clone(region))),
            );
            regions
        });
    }
}

/// Region as a map key by its encoded name, without copying the name.
#[derive(Clone)]
struct EncodedName(Arc<RegionInfo>);

impl Borrow<str> for EncodedName {
    fn borrow(&self) -> &str {
        &self.0.encoded_name
    }
}

impl Hash for EncodedName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.encoded_name.hash(state);
    }
}

impl PartialEq for EncodedName {
    fn eq(&self, other: &Self) -> bool {
        self.0.encoded_name == other.0.encoded_name
    }
}

impl Eq for EncodedName {}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher as _;

    use super::*;

    #[test]
    fn similar_region_names_hash_to_distinct_buckets() {
        let hasher = *Regions::default().hasher();
        let low_bits: std::collections::HashSet<u64> =
            (0..1000).map(|number| hasher.hash_one(format!("{number:032x}")) % 4096).collect();
        assert!(low_bits.len() > 800, "{} of 1000 names in 4096 places", low_bits.len());
    }
}
