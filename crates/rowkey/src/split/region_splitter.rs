//! Split keys of HBase's `RegionSplitter`: `HexStringSplit`, `DecimalStringSplit` and
//! `UniformSplit`, byte for byte.

use halite_types::Bytes;

use super::SplitError;

/// Split algorithm of HBase's `RegionSplitter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionSplitter {
    /// Eight lower-case hexadecimal digits, `00000000` to `ffffffff`: for keys that begin with such
    /// a digest.
    HexString,
    /// Eight decimal digits, `00000000` to `99999999`.
    DecimalString,
    /// Eight bytes of any value.
    Uniform,
}

impl RegionSplitter {
    /// All algorithms, by the names in HBase's shell and tools (`SPLITALGO`).
    pub const NAMES: &[(&str, Self)] = &[
        ("HexStringSplit", Self::HexString),
        ("DecimalStringSplit", Self::DecimalString),
        ("UniformSplit", Self::Uniform),
    ];

    /// Returns the split keys of `regions` regions, one fewer than `regions`.
    ///
    /// # Errors
    /// For fewer than two regions, or more than there are keys.
    pub fn split(self, regions: u32) -> Result<Vec<Bytes>, SplitError> {
        if regions < 2 {
            return Err(SplitError::Regions { regions });
        }
        // The range includes its last key; the remainder of the division is in the last region.
        let range: u128 = match self {
            Self::HexString => 1 << 32,
            Self::DecimalString => 100_000_000,
            Self::Uniform => 1 << 64,
        };
        let step = range / u128::from(regions);
        if step == 0 {
            return Err(SplitError::Regions { regions });
        }
        Ok((1..u128::from(regions)).map(|region| self.key(step * region)).collect())
    }

    fn key(self, number: u128) -> Bytes {
        match self {
            Self::HexString => format!("{number:08x}").into(),
            Self::DecimalString => format!("{number:08}").into(),
            Self::Uniform => Bytes::copy_from_slice(&number.to_be_bytes()[8..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_types::key::to_string_binary;

    use super::*;

    #[test]
    fn split_keys_match_hbase() {
        let mut seen = 0;
        for line in include_str!("../../testdata/splits/splits.txt").lines() {
            let mut words = line.split(' ');
            let (name, regions) = (words.next().expect("a name"), words.next().expect("a number"));
            let (_, splitter) = RegionSplitter::NAMES
                .iter()
                .find(|(known, _)| *known == name)
                .expect("an algorithm");
            let keys = splitter.split(regions.parse().expect("a number")).expect("keys");
            let printed: Vec<_> =
                keys.iter().map(|key| to_string_binary(key).replace(' ', "\\x20")).collect();
            assert_eq!(printed, words.collect::<Vec<_>>(), "{name} {regions}");
            seen += 1;
        }
        assert_eq!(seen, 39);
    }

    #[test]
    fn unsupported_region_counts_are_rejected() {
        for regions in [0, 1] {
            assert_eq!(
                RegionSplitter::Uniform.split(regions),
                Err(SplitError::Regions { regions })
            );
        }
        assert_eq!(
            RegionSplitter::DecimalString.split(100_000_001),
            Err(SplitError::Regions { regions: 100_000_001 })
        );
    }
}
