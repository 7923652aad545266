//! Index of open regions by encoded name, for requests that name their region: one lookup in a hash
//! map that is swapped as a whole.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use arc_swap::ArcSwap;
use halite_types::RegionInfo;

use crate::region::Region;

/// Open regions by encoded name.
#[derive(Default)]
pub(super) struct RegionIndex {
    regions: ArcSwap<Regions>,
}

type Regions = HashMap<EncodedName, Arc<Region>, BuildHasherDefault<NameHasher>>;

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

/// Hasher of encoded names. They are digests, so their bytes only need to be folded.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(word))
                .wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        // The map takes its index from the low bits, which a product mixes least.
        let folded = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x517c_c1b7_2722_0a95);
        folded ^ (folded >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_little_are_spread() {
        let hash = |text: String| {
            let mut hasher = NameHasher::default();
            text.hash(&mut hasher);
            hasher.finish()
        };
        let low_bits: std::collections::HashSet<u64> =
            (0..1000).map(|number| hash(format!("{number:032x}")) % 4096).collect();
        assert!(low_bits.len() > 800, "{} of 1000 names in 4096 places", low_bits.len());
    }
}
