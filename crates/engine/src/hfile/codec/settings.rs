//! Settings of compressors, under HBase's keys.
//!
//! | key | values | default |
//! |---|---|---|
//! | `hbase.io.compress.zstd.level`, else `io.compression.codec.zstd.level` | level of the library, up to 22 | 3 |
//! | `hbase.io.compress.zstd.codec` | the class, which decides the framing of ZSTD | with framing |
//! | `zlib.compress.level` | name of Hadoop's level, or 0 to 9 | 6 |

use halite_types::schema::family_attribute as fam;
use halite_types::{Error, FamilyDescriptor, Result, TableDescriptor};

/// Hadoop's codec, which writes and reads ZSTD frames without Hadoop's framing.
const BARE_ZSTD_CODEC: &str = "org.apache.hadoop.io.compress.ZStandardCodec";
/// Levels of deflate by Hadoop's names, from 0 on.
const GZ_LEVELS: [&str; 10] = [
    "NO_COMPRESSION",
    "BEST_SPEED",
    "TWO",
    "THREE",
    "FOUR",
    "FIVE",
    "SIX",
    "SEVEN",
    "EIGHT",
    "BEST_COMPRESSION",
];
const DEFAULT_GZ_LEVEL: u32 = 6;
const DEFAULT_ZSTD_LEVEL: i32 = 3;

/// Settings of the compressors of a family's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecSettings {
    /// Level of GZ, from 0 to 9.
    pub gz_level: u32,
    /// Level of ZSTD, one that the library has.
    pub zstd_level: i32,
    /// `true` to write ZSTD frames without Hadoop's framing, as Hadoop's own codec does. HBase's
    /// codecs cannot read them.
    pub is_zstd_bare: bool,
}

impl Default for CodecSettings {
    fn default() -> Self {
        Self { gz_level: DEFAULT_GZ_LEVEL, zstd_level: DEFAULT_ZSTD_LEVEL, is_zstd_bare: false }
    }
}

impl CodecSettings {
    /// Returns the settings of a family, or of its table.
    ///
    /// # Errors
    /// `InvalidRequest` with the key, its value and the allowed ones.
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<Self> {
        let find = |key| table.family_setting(family, key).map(|value| (key, value.trim()));
        let gz_level = find(fam::GZ_LEVEL).map_or(Ok(DEFAULT_GZ_LEVEL), gz_level)?;
        let zstd_level = find(fam::ZSTD_LEVEL)
            .or_else(|| find(fam::HADOOP_ZSTD_LEVEL))
            .map_or(Ok(DEFAULT_ZSTD_LEVEL), zstd_level)?;
        let is_zstd_bare = find(fam::ZSTD_CODEC).is_some_and(|(_, class)| class == BARE_ZSTD_CODEC);
        Ok(Self { gz_level, zstd_level, is_zstd_bare })
    }
}

fn gz_level((key, value): (&str, &str)) -> Result<u32> {
    let level = match value {
        "DEFAULT_COMPRESSION" => Some(DEFAULT_GZ_LEVEL),
        name => GZ_LEVELS
            .iter()
            .position(|known| *known == name)
            .and_then(|level| u32::try_from(level).ok())
            .or_else(|| name.parse().ok().filter(|level| *level <= 9)),
    };
    level.ok_or_else(|| {
        Error::invalid(format!(
            "invalid {key} {value:?}: expected one of DEFAULT_COMPRESSION, {}, or an integer from \
             0 to 9",
            GZ_LEVELS.join(", ")
        ))
    })
}

fn zstd_level((key, value): (&str, &str)) -> Result<i32> {
    let range = zstd::compression_level_range();
    value.parse().ok().filter(|level| range.contains(level)).ok_or_else(|| {
        Error::invalid(format!(
            "invalid {key} {value:?}: expected an integer from {} to {}",
            range.start(),
            range.end()
        ))
    })
}

#[cfg(test)]
mod tests {
    use halite_types::ErrorKind;

    use super::*;
    use crate::hfile::Compression;

    fn settings(pairs: &[(&str, &str)]) -> Result<CodecSettings> {
        let mut table = TableDescriptor::new("t".parse()?);
        let mut family = FamilyDescriptor::new("f");
        for (key, value) in pairs {
            // Settings of the family come before those of the table.
            match key.strip_prefix("table ") {
                Some(key) => table.configuration.insert(key.to_owned(), (*value).to_owned()),
                None => family.configuration.insert((*key).to_owned(), (*value).to_owned()),
            };
        }
        CodecSettings::new(&table, &family)
    }

    #[test]
    fn levels_are_read_from_hbase_keys() {
        assert_eq!(settings(&[]).unwrap(), CodecSettings::default());
        let levels = |pairs: &[(&str, &str)]| {
            let settings = settings(pairs).unwrap();
            (settings.gz_level, settings.zstd_level)
        };
        assert_eq!(levels(&[("io.compression.codec.zstd.level", "9")]), (6, 9));
        let both =
            [("io.compression.codec.zstd.level", "9"), ("hbase.io.compress.zstd.level", " -5 ")];
        assert_eq!(levels(&both), (6, -5));
        assert_eq!(levels(&[("table hbase.io.compress.zstd.level", "19")]), (6, 19));
        let nearer = [
            ("table zlib.compress.level", "BEST_SPEED"),
            ("zlib.compress.level", "BEST_COMPRESSION"),
        ];
        assert_eq!(levels(&nearer), (9, 3));
        assert_eq!(levels(&[("zlib.compress.level", "4")]), (4, 3));
        assert_eq!(levels(&[("zlib.compress.level", "DEFAULT_COMPRESSION")]), (6, 3));
    }

    #[test]
    fn invalid_levels_are_rejected_with_allowed_values() {
        for (key, value, allowed) in [
            ("io.compression.codec.zstd.level", "fast", "to 22"),
            ("hbase.io.compress.zstd.level", "23", "to 22"),
            ("zlib.compress.level", "10", "from 0 to 9"),
            ("zlib.compress.level", "ELEVEN", "BEST_COMPRESSION"),
        ] {
            let error = settings(&[(key, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            let text = error.to_string();
            assert!([key, value, allowed].iter().all(|part| text.contains(part)), "{text}");
        }
    }

    #[test]
    fn higher_levels_compress_better() {
        let line = |number: u32| format!("row-{number:05} has {};", number * number % 9973);
        let payload: Vec<u8> = (0..4000).flat_map(|number| line(number).into_bytes()).collect();
        let size = |codec: Compression, settings| {
            let mut packed = Vec::new();
            codec.compressor(settings).unwrap().compress(&payload, &mut packed).unwrap();
            assert_eq!(codec.decompress(&packed, payload.len()).unwrap(), payload);
            packed.len()
        };
        let of = |pairs: &[(&str, &str)]| settings(pairs).unwrap();
        for (codec, key, low, high) in [
            (Compression::Gz, "zlib.compress.level", "BEST_SPEED", "BEST_COMPRESSION"),
            (Compression::Zstd, "hbase.io.compress.zstd.level", "1", "19"),
        ] {
            assert!(size(codec, of(&[(key, low)])) > size(codec, of(&[(key, high)])), "{codec:?}");
        }
    }

    #[test]
    fn zstd_class_decides_framing() {
        let first_bytes = |class: &str| {
            let settings = settings(&[("hbase.io.compress.zstd.codec", class)]).unwrap();
            let mut packed = Vec::new();
            let mut compressor = Compression::Zstd.compressor(settings).unwrap();
            compressor.compress(&[7; 1000], &mut packed).unwrap();
            assert_eq!(Compression::Zstd.decompress(&packed, 1000).unwrap(), [7; 1000]);
            packed[..4].to_vec()
        };
        assert_eq!(
            first_bytes("org.apache.hadoop.io.compress.ZStandardCodec"),
            b"\x28\xb5\x2f\xfd"
        );
        for class in ["zstd.ZstdCodec", "aircompressor.ZstdCodec"] {
            let class = format!("org.apache.hadoop.hbase.io.compress.{class}");
            assert_eq!(first_bytes(&class), 1000_u32.to_be_bytes());
        }
    }
}
