//! Names and descriptors of namespaces, tables, families and regions.
//!
//! A descriptor stores its attributes as the text pairs that HBase stores, including unknown ones,
//! so that none is lost. The typed accessors parse them and fall back to HBase's defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use crate::cell::{MAX_FAMILY_BYTES, MAX_ROW_BYTES};
use crate::error::{Error, Result};
use crate::key::to_string_binary;
use crate::merge::MergeOperator;
use crate::suggest::{closest_match, did_you_mean};

/// Namespace of table names without one.
pub const DEFAULT_NAMESPACE: &str = "default";
/// Namespace of HBase's system tables.
pub const SYSTEM_NAMESPACE: &str = "hbase";

/// Encoded name of the region of `hbase:meta`; it predates the rule for other regions.
pub const META_ENCODED_NAME: &str = "1588230740";

/// Namespace and name of a table. It is formatted as `name` in the default namespace and as
/// `namespace:name` elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    namespace: String,
    qualifier: String,
}

impl TableName {
    /// Creates a name in a namespace.
    ///
    /// # Errors
    /// `InvalidRequest` unless the namespace consists of letters, digits and `_`, and the table
    /// name of letters, digits, `_`, `-` and `.` and does not begin with `-` or `.` (HBase:
    /// `TableName.isLegalTableQualifierName`).
    pub fn new(namespace: impl Into<String>, qualifier: impl Into<String>) -> Result<Self> {
        let (namespace, qualifier) = (namespace.into(), qualifier.into());
        check_namespace(&namespace)?;
        check_qualifier("table", &qualifier)?;
        Ok(Self { namespace, qualifier })
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name within the namespace.
    pub fn qualifier(&self) -> &str {
        &self.qualifier
    }
}

/// Checks that `name` is a valid name of a table in its namespace, or of a snapshot: `what` names
/// the kind in the message.
///
/// # Errors
/// `InvalidRequest` unless it consists of letters, digits, `_`, `-` and `.`, does not begin with
/// `-` or `.` (HBase: `TableName.isLegalTableQualifierName`), and is no longer than a directory
/// name.
pub fn check_qualifier(what: &str, name: &str) -> Result<()> {
    check_name_bytes(what, name)?;
    if name.is_empty() {
        return Err(Error::invalid(format!("empty {what} name; pass at least one character")));
    }
    if name.starts_with(['.', '-']) {
        return Err(Error::invalid(format!(
            "{what} name {name:?} starts with {:?}; start it with a letter, a digit or '_'",
            &name[..1]
        )));
    }
    if let Some(bad) = name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')))
    {
        return Err(Error::invalid(format!(
            "{what} name {name:?} holds {bad:?}; use letters, digits, '_', '-' and '.'"
        )));
    }
    Ok(())
}

/// Every name is also a directory name, and no directory name is this long. Names of missing
/// objects are retained for a while, too.
fn check_name_bytes(what: &str, name: &str) -> Result<()> {
    const MAX_NAME_BYTES: usize = 1 << 10;
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what} name has {} bytes; at most {MAX_NAME_BYTES} are allowed, choose a shorter one",
        name.len()
    )))
}

/// Checks that `name` is a valid namespace.
///
/// # Errors
/// `InvalidRequest` if it is empty, longer than a directory name, or contains other characters than
/// letters, digits and `_`.
pub fn check_namespace(name: &str) -> Result<()> {
    check_name_bytes("namespace", name)?;
    if name.is_empty() || name.chars().any(|c| !(c.is_alphanumeric() || c == '_')) {
        return Err(Error::invalid(format!(
            "invalid namespace name {name:?}; use letters, digits and '_'"
        )));
    }
    Ok(())
}

impl FromStr for TableName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            Some((namespace, qualifier)) => Self::new(namespace, qualifier),
            None => Self::new(DEFAULT_NAMESPACE, text),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace == DEFAULT_NAMESPACE {
            f.write_str(&self.qualifier)
        } else {
            write!(f, "{}:{}", self.namespace, self.qualifier)
        }
    }
}

/// Attributes or settings by name.
pub type Attributes = BTreeMap<String, String>;

/// Treatment of cells that a delete marker hides (HBase: `KeepDeletedCells`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepDeletedCells {
    /// They are deleted at the next compaction.
    #[default]
    False,
    /// They are retained up to the limits of versions and time; time-range reads that end before
    /// the marker return them.
    True,
    /// They are retained until the marker is older than the family's time to live.
    Ttl,
}

/// Bloom filter type of a family's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BloomType {
    /// None.
    None,
    /// One entry per row.
    #[default]
    Row,
    /// One entry per column of a row.
    RowCol,
    /// One entry per row prefix of a fixed length in bytes.
    RowPrefix(usize),
}

/// Column family: its name and attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyDescriptor {
    name: Bytes,
    /// Attributes as HBase stores them (`VERSIONS` -> `3`), including unknown ones.
    pub attributes: Attributes,
    /// Settings that override the server's for this family.
    pub configuration: Attributes,
}

/// Names of the family attributes of HBase.
pub mod family_attribute {
    #![allow(missing_docs, reason = "each constant is the attribute's own name")]
    pub const VERSIONS: &str = "VERSIONS";
    pub const MIN_VERSIONS: &str = "MIN_VERSIONS";
    pub const TTL: &str = "TTL";
    pub const KEEP_DELETED_CELLS: &str = "KEEP_DELETED_CELLS";
    pub const BLOCKSIZE: &str = "BLOCKSIZE";
    pub const BLOCKCACHE: &str = "BLOCKCACHE";
    pub const IN_MEMORY: &str = "IN_MEMORY";
    pub const BLOOMFILTER: &str = "BLOOMFILTER";
    pub const COMPRESSION: &str = "COMPRESSION";
    /// Compression of the files that compactions write, in place of [`COMPRESSION`]; the next two
    /// replace it for one kind of compaction.
    pub const COMPRESSION_COMPACT: &str = "COMPRESSION_COMPACT";
    pub const COMPRESSION_COMPACT_MAJOR: &str = "COMPRESSION_COMPACT_MAJOR";
    pub const COMPRESSION_COMPACT_MINOR: &str = "COMPRESSION_COMPACT_MINOR";
    /// Attributes that name a codec.
    pub const CODECS: [&str; 4] =
        [COMPRESSION, COMPRESSION_COMPACT, COMPRESSION_COMPACT_MAJOR, COMPRESSION_COMPACT_MINOR];
    /// Setting: level of ZSTD. HBase's codecs read Hadoop's setting, the next one, if it is absent.
    pub const ZSTD_LEVEL: &str = "hbase.io.compress.zstd.level";
    pub const HADOOP_ZSTD_LEVEL: &str = "io.compression.codec.zstd.level";
    /// Setting: class of the ZSTD codec. Hadoop's `ZStandardCodec` has frames without Hadoop's
    /// framing, all others have it.
    pub const ZSTD_CODEC: &str = "hbase.io.compress.zstd.codec";
    /// Setting: level of GZ, by its name in Hadoop.
    pub const GZ_LEVEL: &str = "zlib.compress.level";
    pub const DATA_BLOCK_ENCODING: &str = "DATA_BLOCK_ENCODING";
    pub const COMPRESS_TAGS: &str = "COMPRESS_TAGS";
    pub const INDEX_BLOCK_ENCODING: &str = "INDEX_BLOCK_ENCODING";
    pub const IN_MEMORY_COMPACTION: &str = "IN_MEMORY_COMPACTION";
    /// Setting in place of [`IN_MEMORY_COMPACTION`].
    pub const IN_MEMORY_COMPACTION_SETTING: &str = "hbase.hregion.compacting.memstore.type";
    /// Setting in place of both, for the tables of the namespace `hbase`.
    pub const SYSTEM_IN_MEMORY_COMPACTION_SETTING: &str =
        "hbase.systemtables.compacting.memstore.type";
    pub const CACHE_DATA_ON_WRITE: &str = "CACHE_DATA_ON_WRITE";
    pub const CACHE_INDEX_ON_WRITE: &str = "CACHE_INDEX_ON_WRITE";
    pub const CACHE_BLOOMS_ON_WRITE: &str = "CACHE_BLOOMS_ON_WRITE";
    pub const EVICT_BLOCKS_ON_CLOSE: &str = "EVICT_BLOCKS_ON_CLOSE";
    pub const PREFETCH_BLOCKS_ON_OPEN: &str = "PREFETCH_BLOCKS_ON_OPEN";
    /// Attributes that are true or false.
    pub const FLAGS: [&str; 8] = [
        BLOCKCACHE,
        COMPRESS_TAGS,
        IN_MEMORY,
        CACHE_DATA_ON_WRITE,
        CACHE_INDEX_ON_WRITE,
        CACHE_BLOOMS_ON_WRITE,
        EVICT_BLOCKS_ON_CLOSE,
        PREFETCH_BLOCKS_ON_OPEN,
    ];
    /// Settings with the same effect as these attributes.
    pub const CACHE_DATA_ON_WRITE_SETTING: &str = "hbase.rs.cacheblocksonwrite";
    pub const CACHE_INDEX_ON_WRITE_SETTING: &str = "hfile.block.index.cacheonwrite";
    pub const CACHE_BLOOMS_ON_WRITE_SETTING: &str = "hfile.block.bloom.cacheonwrite";
    pub const PREFETCH_SETTING: &str = "hbase.rs.prefetchblocksonopen";
    /// Setting: `true` if all blocks of compacted files are cached when they are written.
    pub const CACHE_COMPACTED_ON_WRITE_SETTING: &str = "hbase.rs.cachecompactedblocksonwrite";
    /// Setting: bytes of the files of a compaction above which the one before does not apply.
    /// Default: no limit.
    pub const CACHE_COMPACTED_ON_WRITE_THRESHOLD_SETTING: &str =
        "hbase.rs.cachecompactedblocksonwrite.threshold";
    /// Setting: `false` if reads do not cache data blocks.
    pub const CACHE_DATA_ON_READ_SETTING: &str = "hbase.block.data.cacheonread";
    pub const REPLICATION_SCOPE: &str = "REPLICATION_SCOPE";
    pub const NEW_VERSION_BEHAVIOR: &str = "NEW_VERSION_BEHAVIOR";
    /// Halite's own: how the cells of a column are merged
    /// ([`MergeOperator`](crate::MergeOperator)).
    pub const MERGE: &str = "MERGE";
    /// Setting: minimum files of a compaction. The next one is the maximum.
    pub const MIN_COMPACTION_FILES: &str = "hbase.hstore.compaction.min";
    /// Older name of [`MIN_COMPACTION_FILES`].
    pub const COMPACTION_THRESHOLD: &str = "hbase.hstore.compactionThreshold";
    pub const MAX_COMPACTION_FILES: &str = "hbase.hstore.compaction.max";
    /// Setting: maximum size ratio of files that are compacted together.
    pub const COMPACTION_RATIO: &str = "hbase.hstore.compaction.ratio";
    /// Setting: [`COMPACTION_RATIO`] in hours with little load, for Halite while a region is idle.
    pub const OFF_PEAK_COMPACTION_RATIO: &str = "hbase.hstore.compaction.ratio.offpeak";
    /// Setting: `true` if a compaction deletes a file unread when all of it has expired. Default:
    /// `true`.
    pub const DELETE_EXPIRED_FILES: &str = "hbase.store.delete.expired.storefile";
    /// Setting: class of the store engine, which decides the compaction policy.
    pub const STORE_ENGINE: &str = "hbase.hstore.engine.class";
    /// Setting: class of the compaction policy of the default store engine.
    pub const COMPACTION_POLICY: &str = "hbase.hstore.defaultengine.compactionpolicy.class";
    /// Setting: maximum bytes of a row that a read may assemble.
    pub const MAX_ROW_SIZE: &str = "hbase.table.max.rowsize";
    /// Setting: part of the block size that the encoded cells of a data block must reach, whatever
    /// they take unencoded. 0: either may reach the block size.
    pub const ENCODED_BLOCK_RATIO: &str = "hbase.writer.unified.encoded.blocksize.ratio";
    /// Setting, not an attribute: prefix length in bytes of a `ROWPREFIX_FIXED_LENGTH` bloom
    /// filter.
    pub const BLOOM_PREFIX_LENGTH: &str = "RowPrefixBloomFilter.prefix_length";
    /// Attributes of every family in HBase's stored descriptor, with their default values.
    pub const DEFAULTS: &[(&str, &str)] = &[
        (BLOCKCACHE, "true"),
        (BLOCKSIZE, "65536"),
        (BLOOMFILTER, "ROW"),
        (COMPRESSION, "NONE"),
        (DATA_BLOCK_ENCODING, "NONE"),
        (INDEX_BLOCK_ENCODING, "NONE"),
        (IN_MEMORY, "false"),
        (KEEP_DELETED_CELLS, "FALSE"),
        (MIN_VERSIONS, "0"),
        (REPLICATION_SCOPE, "0"),
        (TTL, "2147483647"),
        (VERSIONS, "1"),
    ];
}

/// Table counterpart of [`family_attribute::DEFAULTS`].
pub const TABLE_DEFAULTS: &[(&str, &str)] =
    &[("IS_META", "false"), ("hbase.store.file-tracker.impl", "DEFAULT")];

use family_attribute as fam;

impl FamilyDescriptor {
    /// Creates a family with HBase's defaults: one version, no expiry, ROW bloom, 64 KiB blocks,
    /// cached.
    pub fn new(name: impl Into<Bytes>) -> Self {
        Self { name: name.into(), attributes: Attributes::new(), configuration: Attributes::new() }
    }

    /// Sets an attribute by its HBase name.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass numbers and strings as they come"
    )]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.attributes.insert(name.into(), value.to_string());
        self
    }

    /// Sets the number of versions of a column that are retained.
    #[must_use]
    pub fn versions(self, versions: u32) -> Self {
        self.set(fam::VERSIONS, versions)
    }

    /// Sets the time to live in seconds.
    #[must_use]
    pub fn ttl_seconds(self, seconds: u32) -> Self {
        self.set(fam::TTL, seconds)
    }

    /// Returns the family name.
    pub fn name(&self) -> &Bytes {
        &self.name
    }

    fn number<T: FromStr>(&self, name: &str, default: T) -> T {
        self.attributes.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or(default)
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.attributes.get(name).map_or(default, |text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns the number of versions of a column that are retained. Default: 1.
    pub fn max_versions(&self) -> u32 {
        self.number(fam::VERSIONS, 1)
    }

    /// Returns the number of versions that survive the time to live. Default: 0.
    pub fn min_versions(&self) -> u32 {
        self.number(fam::MIN_VERSIONS, 0)
    }

    /// Returns the time to live in milliseconds; `None` means no expiry (HBase: 2,147,483,647
    /// seconds, or `FOREVER`).
    pub fn ttl_ms(&self) -> Option<i64> {
        let seconds: i64 = self.number(fam::TTL, i64::from(i32::MAX));
        (seconds < i64::from(i32::MAX)).then(|| seconds.saturating_mul(1000))
    }

    /// Returns the treatment of deleted cells.
    pub fn keep_deleted_cells(&self) -> KeepDeletedCells {
        match self
            .attributes
            .get(fam::KEEP_DELETED_CELLS)
            .map(|text| text.to_ascii_uppercase())
            .as_deref()
        {
            Some("TRUE") => KeepDeletedCells::True,
            Some("TTL") => KeepDeletedCells::Ttl,
            _ => KeepDeletedCells::False,
        }
    }

    /// Returns `true` if writes are ordered by arrival and not by timestamp alone: a marker hides
    /// earlier writes, and a later put with an older timestamp does not replace a newer one
    /// (HBASE-15968).
    pub fn new_version_behavior(&self) -> bool {
        self.flag(fam::NEW_VERSION_BEHAVIOR, false)
    }

    /// Returns how the cells of a column are merged; `None` if the newest one counts, as in HBase.
    pub fn merge_operator(&self) -> Option<MergeOperator> {
        self.attributes.get(fam::MERGE).and_then(|text| text.parse().ok())
    }

    /// Returns the target size of a data block in bytes before compression. Default: 65,536.
    pub fn block_size_bytes(&self) -> u32 {
        self.number(fam::BLOCKSIZE, 65_536)
    }

    /// Returns `true` if reads add this family's data blocks to the cache.
    pub fn block_cache(&self) -> bool {
        self.flag(fam::BLOCKCACHE, true)
    }

    /// Returns `true` if the cache prefers this family's blocks.
    pub fn in_memory(&self) -> bool {
        self.flag(fam::IN_MEMORY, false)
    }

    /// Returns the bloom filter of the family's files; none for a row prefix longer than any row.
    pub fn bloom_filter(&self) -> BloomType {
        match self.attributes.get(fam::BLOOMFILTER).map(|text| text.to_ascii_uppercase()).as_deref()
        {
            Some("NONE") => BloomType::None,
            Some("ROWCOL") => BloomType::RowCol,
            Some("ROWPREFIX_FIXED_LENGTH") => {
                let length = self
                    .configuration
                    .get(fam::BLOOM_PREFIX_LENGTH)
                    .and_then(|text| text.trim().parse::<usize>().ok());
                length
                    .filter(|length| (1..=MAX_ROW_BYTES).contains(length))
                    .map_or(BloomType::None, BloomType::RowPrefix)
            }
            _ => BloomType::Row,
        }
    }

    /// Returns the requested compression, upper case. Default: `NONE`.
    pub fn compression(&self) -> String {
        self.codec(&[fam::COMPRESSION])
    }

    /// Returns the requested compression of files that minor compactions write, upper case.
    /// Default: that of the family.
    pub fn minor_compaction_compression(&self) -> String {
        self.codec(&[fam::COMPRESSION_COMPACT_MINOR, fam::COMPRESSION_COMPACT, fam::COMPRESSION])
    }

    /// Returns the same for major compactions.
    pub fn major_compaction_compression(&self) -> String {
        self.codec(&[fam::COMPRESSION_COMPACT_MAJOR, fam::COMPRESSION_COMPACT, fam::COMPRESSION])
    }

    /// Returns the first of these attributes that is set, upper case; otherwise `NONE`.
    fn codec(&self, names: &[&str]) -> String {
        names
            .iter()
            .find_map(|name| self.attributes.get(*name))
            .map_or_else(|| "NONE".to_owned(), |text| text.to_ascii_uppercase())
    }

    /// Returns the requested data block encoding, upper case. Default: `NONE`.
    pub fn data_block_encoding(&self) -> String {
        self.attributes
            .get(fam::DATA_BLOCK_ENCODING)
            .map_or_else(|| "NONE".to_owned(), |text| text.to_ascii_uppercase())
    }

    /// Returns `true` if the tags of encoded data blocks are compressed. Default: `true`.
    pub fn compress_tags(&self) -> bool {
        self.flag(fam::COMPRESS_TAGS, true)
    }

    /// Checks name and attributes.
    ///
    /// # Errors
    /// `InvalidRequest` with the attribute, its value and the allowed values.
    pub fn check(&self) -> Result<()> {
        check_family_name(&self.name)?;
        let at = |error: Error| error.at(format!("family {}", to_string_binary(&self.name)));
        let number = |name: &str, min: i64, max: i64| -> Result<()> {
            let Some(text) = self.attributes.get(name) else { return Ok(()) };
            match text.trim().parse::<i64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(()),
                _ => Err(at(Error::invalid(format!(
                    "invalid {name} {text:?}: expected an integer from {min} to {max}"
                )))),
            }
        };
        // `known` values are refused elsewhere, with the reason.
        let one_of_or_known = |name: &str, allowed: &[&str], known: &[&str]| -> Result<()> {
            let Some(text) = self.attributes.get(name) else { return Ok(()) };
            let value = text.to_ascii_uppercase();
            if allowed.contains(&value.as_str()) || known.contains(&value.as_str()) {
                return Ok(());
            }
            let near = closest_match(text, allowed.iter().copied());
            Err(at(Error::invalid(format!(
                "invalid {name} {text:?}{}: expected one of {}",
                did_you_mean(near),
                allowed.join(", ")
            ))))
        };
        let one_of = |name: &str, allowed: &[&str]| one_of_or_known(name, allowed, &[]);
        let max = i64::from(i32::MAX);
        number(fam::VERSIONS, 1, max)?;
        number(fam::MIN_VERSIONS, 0, max)?;
        number(fam::TTL, 1, max)?;
        number(fam::BLOCKSIZE, 16, 256 << 20)?;
        number(fam::REPLICATION_SCOPE, 0, 1)?;
        one_of(fam::KEEP_DELETED_CELLS, &["FALSE", "TRUE", "TTL"])?;
        one_of(fam::BLOOMFILTER, &["NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"])?;
        for name in fam::CODECS {
            let unwritten = ["LZO", "BZIP2", "LZMA", "BROTLI"];
            one_of_or_known(name, &["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD"], &unwritten)?;
        }
        one_of_or_known(fam::INDEX_BLOCK_ENCODING, &["NONE"], &["PREFIX_TREE"])?;
        one_of(fam::IN_MEMORY_COMPACTION, &["NONE", "BASIC", "EAGER", "ADAPTIVE"])?;
        one_of(fam::DATA_BLOCK_ENCODING, &["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"])?;
        for name in fam::FLAGS {
            one_of(name, &["TRUE", "FALSE"])?;
        }
        if self.bloom_filter() == BloomType::None
            && self
                .attributes
                .get(fam::BLOOMFILTER)
                .is_some_and(|text| text.eq_ignore_ascii_case("ROWPREFIX_FIXED_LENGTH"))
        {
            let name = fam::BLOOM_PREFIX_LENGTH;
            let given = self
                .configuration
                .get(name)
                .map_or_else(|| "is not set".to_owned(), |text| format!("is {text:?}"));
            let text = format!(
                "BLOOMFILTER is ROWPREFIX_FIXED_LENGTH, and the setting {name} {given}; set it to \
                 an integer from 1 to {MAX_ROW_BYTES}"
            );
            return Err(at(Error::invalid(text)));
        }
        self.check_merge().map_err(at)?;
        if self.min_versions() > 0 && self.min_versions() > self.max_versions() {
            return Err(at(Error::invalid(format!(
                "MIN_VERSIONS {} is more than VERSIONS {}",
                self.min_versions(),
                self.max_versions()
            ))));
        }
        Ok(())
    }
}

impl FamilyDescriptor {
    /// Checks that `MERGE` is known, and that no other attribute contradicts it: a merged column
    /// has one cell, and what a marker hides is gone.
    fn check_merge(&self) -> Result<()> {
        let Some(text) = self.attributes.get(fam::MERGE) else { return Ok(()) };
        let operator: MergeOperator = text.parse()?;
        let contradicts = [
            (fam::VERSIONS, self.max_versions() != 1),
            (fam::MIN_VERSIONS, self.min_versions() != 0),
            (fam::KEEP_DELETED_CELLS, self.keep_deleted_cells() != KeepDeletedCells::False),
            (fam::NEW_VERSION_BEHAVIOR, self.new_version_behavior()),
        ];
        match contradicts.into_iter().find(|(_, contradicts)| *contradicts) {
            None => Ok(()),
            Some((name, _)) => Err(Error::invalid(format!(
                "MERGE {operator} keeps one cell of each column, so {name} cannot be set; leave it \
                 out"
            ))),
        }
    }
}

/// Directory of a region of HBase with the logs that its families recover from; HBase refuses
/// families of that name (`ColumnFamilyDescriptorBuilder.isLegalColumnFamilyName`).
const RECOVERED_EDITS: &[u8] = b"recovered.edits";

/// Checks that `name` is a valid family name.
///
/// # Errors
/// `InvalidRequest` if it is empty, too long, begins with a dot, or contains a colon, a slash or a
/// control character.
pub fn check_family_name(name: &[u8]) -> Result<()> {
    let shown = to_string_binary(name);
    if name.is_empty() {
        return Err(Error::invalid("empty family name; pass at least one character"));
    }
    if name.len() > MAX_FAMILY_BYTES {
        return Err(Error::invalid(format!(
            "family name {shown} has {} bytes; at most {MAX_FAMILY_BYTES} are allowed",
            name.len()
        )));
    }
    if name == RECOVERED_EDITS {
        return Err(Error::invalid(format!(
            "family name {shown} is that of a directory in HBase's regions; choose another"
        )));
    }
    if name[0] == b'.' {
        return Err(Error::invalid(format!(
            "family name {shown} starts with a dot; start it with another character"
        )));
    }
    if name.contains(&b':') {
        return Err(Error::invalid(format!(
            "family name {shown} contains a colon, which separates family and qualifier; remove it"
        )));
    }
    if name.iter().any(|&byte| byte < 0x20 || byte == 0x7f || byte == b'/' || byte == b'\\') {
        return Err(Error::invalid(format!(
            "family name {shown} contains a control character or a slash; remove it"
        )));
    }
    Ok(())
}

/// Names of the table attributes of HBase.
pub mod table_attribute {
    #![allow(missing_docs, reason = "each constant is the attribute's own name")]
    pub const MAX_FILESIZE: &str = "MAX_FILESIZE";
    pub const MEMSTORE_FLUSHSIZE: &str = "MEMSTORE_FLUSHSIZE";
    /// Setting, in bytes.
    pub const MAX_CELL_SIZE: &str = "hbase.server.keyvalue.maxsize";
    pub const DURABILITY: &str = "DURABILITY";
    pub const READONLY: &str = "READONLY";
    pub const REGION_REPLICATION: &str = "REGION_REPLICATION";
    /// Setting: `false` if a scan reads all families of a row, even if its filter excludes the row.
    pub const LOAD_FAMILIES_ON_DEMAND: &str = "hbase.hregion.scan.loadColumnFamiliesOnDemand";
    pub const COMPACTION_ENABLED: &str = "COMPACTION_ENABLED";
    pub const SPLIT_ENABLED: &str = "SPLIT_ENABLED";
    pub const MERGE_ENABLED: &str = "MERGE_ENABLED";
    pub const SPLIT_POLICY: &str = "SPLIT_POLICY";
    pub const FLUSH_POLICY: &str = "FLUSH_POLICY";
    /// Setting in place of the attribute.
    pub const FLUSH_POLICY_SETTING: &str = "hbase.regionserver.flush.policy";
    /// Setting: bytes above which a family is flushed although others are not.
    pub const FLUSH_LOWER_BOUND: &str = "hbase.hregion.percolumnfamilyflush.size.lower.bound";
    /// Setting: minimum of the former if it is computed.
    pub const FLUSH_LOWER_BOUND_MIN: &str =
        "hbase.hregion.percolumnfamilyflush.size.lower.bound.min";
    /// Setting: writes to a region after which a family is flushed.
    pub const FLUSH_PER_CHANGES: &str = "hbase.regionserver.flush.per.changes";
    /// Setting in place of the attribute.
    pub const SPLIT_POLICY_SETTING: &str = "hbase.regionserver.region.split.policy";
    /// Setting, in bytes.
    pub const SPLIT_INITIAL_SIZE: &str = "hbase.increasing.policy.initial.size";
    /// Setting in place of `MAX_FILESIZE`, in bytes.
    pub const MAX_REGION_FILE_SIZE: &str = "hbase.hregion.max.filesize";
    pub const SPLIT_OVERALL_FILES: &str = "hbase.hregion.split.overallfiles";
    pub const SPLIT_PREFIX_LENGTH: &str = "KeyPrefixRegionSplitPolicy.prefix_length";
    pub const OLD_SPLIT_PREFIX_LENGTH: &str = "prefix_split_key_policy.prefix_length";
    pub const SPLIT_DELIMITER: &str = "DelimitedKeyPrefixRegionSplitPolicy.delimiter";
    pub const SPLIT_RESTRICTION: &str = "hbase.regionserver.region.split_restriction.type";
    pub const SPLIT_RESTRICTION_PREFIX_LENGTH: &str =
        "hbase.regionserver.region.split_restriction.prefix_length";
    pub const SPLIT_RESTRICTION_DELIMITER: &str =
        "hbase.regionserver.region.split_restriction.delimiter";
}

use table_attribute as tab;

/// Table descriptor: name, attributes and families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescriptor {
    name: TableName,
    /// Attributes as HBase stores them, including unknown ones.
    pub attributes: Attributes,
    /// Settings that override the server's for this table.
    pub configuration: Attributes,
    families: BTreeMap<Bytes, FamilyDescriptor>,
}

impl TableDescriptor {
    /// Maximum names (replicas) of one region: all are listed with every location of the region.
    pub const MAX_REGION_REPLICAS: u32 = 16;

    /// Creates a table without families.
    pub fn new(name: TableName) -> Self {
        Self {
            name,
            attributes: Attributes::new(),
            configuration: Attributes::new(),
            families: BTreeMap::new(),
        }
    }

    /// Returns the same descriptor with another name.
    #[must_use]
    pub fn renamed(mut self, name: TableName) -> Self {
        self.name = name;
        self
    }

    /// Adds a family; replaces one with the same name.
    #[must_use]
    pub fn family(mut self, family: FamilyDescriptor) -> Self {
        self.set_family(family);
        self
    }

    /// Sets an attribute by its HBase name.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass numbers and strings as they come"
    )]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.attributes.insert(name.into(), value.to_string());
        self
    }

    /// Adds or replaces a family.
    pub fn set_family(&mut self, family: FamilyDescriptor) {
        self.families.insert(family.name.clone(), family);
    }

    /// Removes attributes with default values: HBase adds them when it stores a table.
    #[must_use]
    pub fn without_defaults(mut self) -> Self {
        let leave_out = |attributes: &mut Attributes, defaults: &[(&str, &str)]| {
            attributes.retain(|name, value| !defaults.contains(&(name.as_str(), value.as_str())));
        };
        leave_out(&mut self.attributes, TABLE_DEFAULTS);
        self.families
            .values_mut()
            .for_each(|family| leave_out(&mut family.attributes, fam::DEFAULTS));
        self
    }

    /// Removes a family.
    pub fn remove_family(&mut self, name: &[u8]) -> Option<FamilyDescriptor> {
        self.families.remove(name)
    }

    /// Returns the table's name.
    pub fn name(&self) -> &TableName {
        &self.name
    }

    /// Returns the families in byte order of their names.
    pub fn families(&self) -> impl Iterator<Item = &FamilyDescriptor> {
        self.families.values()
    }

    /// Returns one family.
    pub fn find_family(&self, name: &[u8]) -> Option<&FamilyDescriptor> {
        self.families.get(name)
    }

    /// Returns the number of families.
    pub fn family_count(&self) -> usize {
        self.families.len()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attributes.get(name).and_then(|text| text.trim().parse().ok())
    }

    /// Returns the size in bytes of a region's largest store that triggers an automatic split, if
    /// the table sets one.
    pub fn max_file_size_bytes(&self) -> Option<u64> {
        self.number(tab::MAX_FILESIZE).filter(|&bytes| bytes > 0)
    }

    /// Returns the memstore bytes of a region that trigger a flush, if the table sets them.
    pub fn memstore_flush_bytes(&self) -> Option<u64> {
        self.number(tab::MEMSTORE_FLUSHSIZE).filter(|&bytes| bytes > 0)
    }

    /// Returns the durability of writes that do not specify one.
    pub fn durability(&self) -> crate::op::Durability {
        self.attributes.get(tab::DURABILITY).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Returns the number of names by which a client can find each region, from 1 to
    /// [`Self::MAX_REGION_REPLICAS`]: HBase's `REGION_REPLICATION`.
    pub fn region_replication(&self) -> u32 {
        self.number(tab::REGION_REPLICATION).map_or(1, |count| {
            u32::try_from(count).unwrap_or(u32::MAX).clamp(1, Self::MAX_REGION_REPLICAS)
        })
    }

    /// Returns `true` if writes are rejected.
    pub fn read_only(&self) -> bool {
        self.attributes.get(tab::READONLY).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns `true` if automatic compaction is enabled.
    pub fn compaction_enabled(&self) -> bool {
        self.attributes
            .get(tab::COMPACTION_ENABLED)
            .is_none_or(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns `true` if regions may be merged.
    pub fn merge_enabled(&self) -> bool {
        self.attributes
            .get(tab::MERGE_ENABLED)
            .is_none_or(|text| !text.eq_ignore_ascii_case("false"))
    }

    /// Returns `true` if regions may split, automatically or on request.
    pub fn split_enabled(&self) -> bool {
        self.attributes.get(tab::SPLIT_ENABLED).is_none_or(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Returns a server setting that the table overrides. HBase reads the table's attributes and
    /// its configuration.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.configuration.get(name).or_else(|| self.attributes.get(name)).map(String::as_str)
    }

    /// Returns the same setting for one of its families, which may override it again.
    pub fn family_setting<'a>(
        &'a self,
        family: &'a FamilyDescriptor,
        name: &str,
    ) -> Option<&'a str> {
        let of_family = family.configuration.get(name).or_else(|| family.attributes.get(name));
        of_family.map(String::as_str).or_else(|| self.setting(name))
    }

    /// Returns the maximum bytes of a cell, 0 for no limit, if the table sets it
    /// (`hbase.server.keyvalue.maxsize`).
    pub fn max_cell_bytes(&self) -> Option<usize> {
        let bytes: i64 = self.setting(tab::MAX_CELL_SIZE)?.trim().parse().ok()?;
        Some(usize::try_from(bytes).unwrap_or(0))
    }

    /// Checks families and attributes.
    ///
    /// # Errors
    /// `InvalidRequest` with the invalid value and the allowed ones.
    pub fn check(&self) -> Result<()> {
        let at = |error: Error| error.at(format!("table {}", self.name));
        if self.families.is_empty() {
            return Err(at(Error::invalid("it has no family; add at least one")));
        }
        for family in self.families.values() {
            family.check().map_err(at)?;
        }
        for name in [tab::MAX_FILESIZE, tab::MEMSTORE_FLUSHSIZE] {
            if let Some(text) = self.attributes.get(name)
                && !text.trim().parse::<i64>().is_ok_and(|bytes| bytes > 0 || bytes == -1)
            {
                return Err(at(Error::invalid(format!(
                    "invalid {name} {text:?}: expected a number of bytes"
                ))));
            }
        }
        if let Some(text) = self.attributes.get(tab::DURABILITY) {
            text.parse::<crate::op::Durability>().map_err(at)?;
        }
        Ok(())
    }
}

/// Region: the rows of a table from `start` (inclusive) to `end` (exclusive); empty means
/// unbounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegionInfo {
    /// Table of the region.
    pub table: TableName,
    /// First row key; empty for the first region.
    pub start: Bytes,
    /// First row key after the region; empty for the last region.
    pub end: Bytes,
    /// Creation time in milliseconds; distinguishes the names of a parent and its daughters.
    pub region_id: u64,
    /// 32 lower-case hex digits: the MD5 of [`RegionInfo::name_prefix`], and the region's
    /// directory.
    pub encoded_name: String,
}

impl RegionInfo {
    /// Returns `table,start,id`: the bytes whose MD5 is the encoded name.
    pub fn name_prefix(&self) -> Vec<u8> {
        let mut name = self.table.to_string().into_bytes();
        name.push(b',');
        name.extend_from_slice(&self.start);
        name.extend_from_slice(format!(",{}", self.region_id).as_bytes());
        name
    }

    /// Returns the encoded name within the full name of a region of any table except `hbase:meta`;
    /// `None` if there is none.
    pub fn encoded_name_in(full_name: &[u8]) -> Option<&str> {
        let encoded = full_name.strip_suffix(b".")?.rsplit(|&byte| byte == b'.').next()?;
        (encoded.len() == 32).then(|| std::str::from_utf8(encoded).ok())?
    }

    /// Returns `true` for the region of `hbase:meta`.
    pub fn is_meta(&self) -> bool {
        self.encoded_name == META_ENCODED_NAME
    }

    /// Returns the region's full name: `table,start,id.encoded.`, or `hbase:meta,,1` for the region
    /// of `hbase:meta`.
    pub fn full_name(&self) -> Vec<u8> {
        let mut name = self.name_prefix();
        if self.is_meta() {
            return name;
        }
        name.extend_from_slice(format!(".{}.", self.encoded_name).as_bytes());
        name
    }

    /// Returns the full name as HBase prints it.
    pub fn display_name(&self) -> String {
        to_string_binary(&self.full_name())
    }

    /// Returns `true` if `row` is in the region.
    #[inline]
    pub fn contains(&self, row: &[u8]) -> bool {
        row >= &self.start[..] && (self.end.is_empty() || row < &self.end[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_equal_to_defaults_are_removed() {
        let family =
            FamilyDescriptor::new("f").versions(3).set(fam::BLOOMFILTER, "ROW").set("OURS", "1");
        let table = TableDescriptor::new("t".parse().unwrap())
            .set("IS_META", "false")
            .set("OURS", "2")
            .family(family);
        let kept = TableDescriptor::new("t".parse().unwrap())
            .set("OURS", "2")
            .family(FamilyDescriptor::new("f").versions(3).set("OURS", "1"));
        assert_eq!(table.without_defaults(), kept);
    }

    #[test]
    fn table_names_round_trip_through_text() {
        for text in ["t", "ns:t", "a.b-c_d"] {
            assert_eq!(text.parse::<TableName>().unwrap().to_string(), text);
        }
        assert_eq!("default:t".parse::<TableName>().unwrap().to_string(), "t");
        for text in ["", ".t", "-t", "a b", "n-s:t", "ns:", ":t"] {
            assert!(text.parse::<TableName>().is_err(), "{text}");
        }
    }

    #[test]
    fn missing_attributes_have_hbase_defaults() {
        let family = FamilyDescriptor::new("f");
        assert_eq!(
            (
                family.max_versions(),
                family.min_versions(),
                family.ttl_ms(),
                family.block_size_bytes()
            ),
            (1, 0, None, 65_536)
        );
        let family = family
            .set("TTL", 2)
            .set("VERSIONS", 3)
            .set("KEEP_DELETED_CELLS", "ttl")
            .set("MINE", "kept");
        assert_eq!(
            (family.max_versions(), family.ttl_ms(), family.keep_deleted_cells()),
            (3, Some(2000), KeepDeletedCells::Ttl)
        );
        assert_eq!(family.attributes["MINE"], "kept");
        family.check().unwrap();
    }

    #[test]
    fn invalid_attribute_is_named() {
        let error =
            FamilyDescriptor::new("f").set("VERSIONS", "many").check().unwrap_err().to_string();
        assert!(
            error.contains("family f") && error.contains("VERSIONS") && error.contains("many"),
            "{error}"
        );
        let error = FamilyDescriptor::new("a:b").check().unwrap_err().to_string();
        assert!(error.contains("colon"), "{error}");
    }
}
