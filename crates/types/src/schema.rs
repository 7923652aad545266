//! Names and descriptors of namespaces, tables, families and regions.
//!
//! A descriptor keeps its attributes as the text pairs HBase stores, unknown ones included, so that nothing is lost
//! on the way through; the typed accessors read them and fall back to HBase's defaults.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use crate::cell::{MAX_FAMILY_BYTES, MAX_ROW_BYTES};
use crate::error::{Error, Result};
use crate::key::print_bytes;

/// The namespace of tables that name none.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The namespace of HBase's own tables.
pub const SYSTEM_NAMESPACE: &str = "hbase";

/// The encoded name of the region of `hbase:meta`, older than the rule that names other regions.
pub const META_ENCODED_NAME: &str = "1588230740";

/// A table's namespace and name. It prints as `name` in the default namespace and as `namespace:name` elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    namespace: String,
    qualifier: String,
}

impl TableName {
    /// A name in a namespace.
    ///
    /// # Errors
    /// `InvalidRequest` unless the namespace is made of letters, digits and `_`, and the table name of letters,
    /// digits, `_`, `-` and `.` with neither `-` nor `.` in front (HBase: `TableName.isLegalTableQualifierName`).
    pub fn new(namespace: impl Into<String>, qualifier: impl Into<String>) -> Result<Self> {
        let (namespace, qualifier) = (namespace.into(), qualifier.into());
        check_namespace(&namespace)?;
        check_qualifier("table", &qualifier)?;
        Ok(Self { namespace, qualifier })
    }

    /// The namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name inside the namespace.
    pub fn qualifier(&self) -> &str {
        &self.qualifier
    }
}

/// Whether `name` may name a table in its namespace, or a snapshot: `what` says which, for the message.
///
/// # Errors
/// `InvalidRequest` unless it is made of letters, digits, `_`, `-` and `.` with neither `-` nor `.` in front (HBase:
/// `TableName.isLegalTableQualifierName`), and no longer than any directory's.
pub fn check_qualifier(what: &str, name: &str) -> Result<()> {
    check_name_bytes(what, name)?;
    if name.is_empty() {
        return Err(Error::invalid(format!("a {what} name is empty; give it at least one character")));
    }
    if name.starts_with(['.', '-']) {
        return Err(Error::invalid(format!("{what} name {name:?} begins with {:?}; begin it with a letter, a digit or '_'", &name[..1])));
    }
    if let Some(bad) = name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
        return Err(Error::invalid(format!("{what} name {name:?} holds {bad:?}; use letters, digits, '_', '-' and '.'")));
    }
    Ok(())
}

/// Every name is that of a directory, of which none is so long. What somebody calls something that is not there is kept for a while, too.
fn check_name_bytes(what: &str, name: &str) -> Result<()> {
    const NAME_BYTES_MAX: usize = 1 << 10;
    if name.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!("a {what} name has {} bytes; at most {NAME_BYTES_MAX} can be, give a shorter one", name.len())))
}

/// Whether `name` may name a namespace.
///
/// # Errors
/// `InvalidRequest` if it is empty, longer than any directory's, or holds anything but letters, digits and `_`.
pub fn check_namespace(name: &str) -> Result<()> {
    check_name_bytes("namespace", name)?;
    if name.is_empty() || name.chars().any(|c| !(c.is_alphanumeric() || c == '_')) {
        return Err(Error::invalid(format!("namespace {name:?} is not a legal name; use letters, digits and '_'")));
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
        if self.namespace == DEFAULT_NAMESPACE { f.write_str(&self.qualifier) } else { write!(f, "{}:{}", self.namespace, self.qualifier) }
    }
}

/// Attributes or settings by name.
pub type Attributes = BTreeMap<String, String>;

/// What to do with cells that a delete marker hides (HBase: `KeepDeletedCells`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepDeletedCells {
    /// They go at the next compaction.
    #[default]
    False,
    /// They stay, up to the limits of versions and time, and time-range reads that end before the marker see them.
    True,
    /// They stay until the marker is older than the family's time to live.
    Ttl,
}

/// The bloom filter a family's files carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BloomType {
    /// None.
    None,
    /// One entry a row.
    #[default]
    Row,
    /// One entry a column of a row.
    RowCol,
    /// One entry a row prefix of a fixed length in bytes.
    RowPrefix(usize),
}

/// A column family: its name and attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyDescriptor {
    name: Bytes,
    /// Attributes as HBase stores them (`VERSIONS` -> `3`), unknown ones kept.
    pub attributes: Attributes,
    /// Settings that override the server's for this family.
    pub configuration: Attributes,
}

/// Names of the family attributes HBase knows.
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
    pub const DATA_BLOCK_ENCODING: &str = "DATA_BLOCK_ENCODING";
    pub const INDEX_BLOCK_ENCODING: &str = "INDEX_BLOCK_ENCODING";
    pub const REPLICATION_SCOPE: &str = "REPLICATION_SCOPE";
    pub const NEW_VERSION_BEHAVIOR: &str = "NEW_VERSION_BEHAVIOR";
    /// Files that a compaction takes at least, and at most; settings, as is the next.
    pub const COMPACTION_FILES_MIN: &str = "hbase.hstore.compaction.min";
    /// The older name of the one before.
    pub const COMPACTION_THRESHOLD: &str = "hbase.hstore.compactionThreshold";
    pub const COMPACTION_FILES_MAX: &str = "hbase.hstore.compaction.max";
    /// How alike in size files have to be that are compacted together.
    pub const COMPACTION_RATIO: &str = "hbase.hstore.compaction.ratio";
    /// Whether a file goes at a compaction, unread, when all of it has expired; a setting, true unless it says otherwise.
    pub const DELETE_EXPIRED_FILES: &str = "hbase.store.delete.expired.storefile";
    /// Bytes of a row that a read may put together; a setting.
    pub const ROW_BYTES_MAX: &str = "hbase.table.max.rowsize";
    /// Prefix length in bytes of a `ROWPREFIX_FIXED_LENGTH` bloom filter; a setting, not an attribute.
    pub const BLOOM_PREFIX_LENGTH: &str = "RowPrefixBloomFilter.prefix_length";
    /// The attributes each family has in HBase's stored descriptor, with the values they have when nobody says otherwise.
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

/// As [`family_attribute::DEFAULTS`], for tables.
pub const TABLE_DEFAULTS: &[(&str, &str)] = &[("IS_META", "false"), ("hbase.store.file-tracker.impl", "DEFAULT")];

use family_attribute as fam;

impl FamilyDescriptor {
    /// A family with HBase's defaults: one version, kept for ever, ROW bloom, 64 KiB blocks, cached.
    pub fn new(name: impl Into<Bytes>) -> Self {
        Self { name: name.into(), attributes: Attributes::new(), configuration: Attributes::new() }
    }

    /// Sets an attribute by its HBase name.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings as they come")]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.attributes.insert(name.into(), value.to_string());
        self
    }

    /// Sets how many versions of a column are kept.
    #[must_use]
    pub fn versions(self, versions: u32) -> Self {
        self.set(fam::VERSIONS, versions)
    }

    /// Sets the time to live in seconds.
    #[must_use]
    pub fn ttl_seconds(self, seconds: u32) -> Self {
        self.set(fam::TTL, seconds)
    }

    /// The family name.
    pub fn name(&self) -> &Bytes {
        &self.name
    }

    fn number<T: FromStr>(&self, name: &str, default: T) -> T {
        self.attributes.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or(default)
    }

    fn flag(&self, name: &str, default: bool) -> bool {
        self.attributes.get(name).map_or(default, |text| text.eq_ignore_ascii_case("true"))
    }

    /// Versions of a column that are kept; 1 by default.
    pub fn max_versions(&self) -> u32 {
        self.number(fam::VERSIONS, 1)
    }

    /// Versions that survive the time to live; 0 by default.
    pub fn min_versions(&self) -> u32 {
        self.number(fam::MIN_VERSIONS, 0)
    }

    /// Time to live in milliseconds; `None` means for ever (HBase: 2,147,483,647 seconds, or `FOREVER`).
    pub fn ttl_ms(&self) -> Option<i64> {
        let seconds: i64 = self.number(fam::TTL, i64::from(i32::MAX));
        (seconds < i64::from(i32::MAX)).then(|| seconds.saturating_mul(1000))
    }

    /// What happens to deleted cells.
    pub fn keep_deleted_cells(&self) -> KeepDeletedCells {
        match self.attributes.get(fam::KEEP_DELETED_CELLS).map(|text| text.to_ascii_uppercase()).as_deref() {
            Some("TRUE") => KeepDeletedCells::True,
            Some("TTL") => KeepDeletedCells::Ttl,
            _ => KeepDeletedCells::False,
        }
    }

    /// Whether writes count in the order they came in and not in that of their timestamps alone: a marker hides what was
    /// written before it, and a put that came with an older timestamp does not push out a newer one (HBASE-15968).
    pub fn new_version_behavior(&self) -> bool {
        self.flag(fam::NEW_VERSION_BEHAVIOR, false)
    }

    /// Target size of a data block in bytes before compression; 65,536 by default.
    pub fn block_size_bytes(&self) -> u32 {
        self.number(fam::BLOCKSIZE, 65_536)
    }

    /// Whether reads put this family's data blocks into the cache.
    pub fn block_cache(&self) -> bool {
        self.flag(fam::BLOCKCACHE, true)
    }

    /// Whether the cache prefers this family's blocks.
    pub fn in_memory(&self) -> bool {
        self.flag(fam::IN_MEMORY, false)
    }

    /// The bloom filter its files get; none where it is to be of row prefixes of a length that no row can have.
    pub fn bloom_filter(&self) -> BloomType {
        match self.attributes.get(fam::BLOOMFILTER).map(|text| text.to_ascii_uppercase()).as_deref() {
            Some("NONE") => BloomType::None,
            Some("ROWCOL") => BloomType::RowCol,
            Some("ROWPREFIX_FIXED_LENGTH") => {
                let length = self.configuration.get(fam::BLOOM_PREFIX_LENGTH).and_then(|text| text.trim().parse::<usize>().ok());
                length.filter(|length| (1..=MAX_ROW_BYTES).contains(length)).map_or(BloomType::None, BloomType::RowPrefix)
            }
            _ => BloomType::Row,
        }
    }

    /// The compression asked for, upper case; `NONE` by default.
    pub fn compression(&self) -> String {
        self.attributes.get(fam::COMPRESSION).map_or_else(|| "NONE".to_owned(), |text| text.to_ascii_uppercase())
    }

    /// The data block encoding asked for, upper case; `NONE` by default.
    pub fn data_block_encoding(&self) -> String {
        self.attributes.get(fam::DATA_BLOCK_ENCODING).map_or_else(|| "NONE".to_owned(), |text| text.to_ascii_uppercase())
    }

    /// Checks name and attributes.
    ///
    /// # Errors
    /// `InvalidRequest`, naming the attribute, its value and what is allowed.
    pub fn check(&self) -> Result<()> {
        check_family_name(&self.name)?;
        let at = |error: Error| error.at(format!("family {}", print_bytes(&self.name)));
        let number = |name: &str, least: i64, most: i64| -> Result<()> {
            let Some(text) = self.attributes.get(name) else { return Ok(()) };
            match text.trim().parse::<i64>() {
                Ok(value) if (least..=most).contains(&value) => Ok(()),
                _ => Err(at(Error::invalid(format!("{name} is {text:?}; give a whole number from {least} to {most}")))),
            }
        };
        let one_of = |name: &str, allowed: &[&str]| -> Result<()> {
            match self.attributes.get(name) {
                Some(text) if !allowed.contains(&text.to_ascii_uppercase().as_str()) => {
                    Err(at(Error::invalid(format!("{name} is {text:?}; give one of {}", allowed.join(", ")))))
                }
                _ => Ok(()),
            }
        };
        let most = i64::from(i32::MAX);
        number(fam::VERSIONS, 1, most)?;
        number(fam::MIN_VERSIONS, 0, most)?;
        number(fam::TTL, 1, most)?;
        number(fam::BLOCKSIZE, 16, 256 << 20)?;
        number(fam::REPLICATION_SCOPE, 0, 1)?;
        one_of(fam::KEEP_DELETED_CELLS, &["FALSE", "TRUE", "TTL"])?;
        one_of(fam::BLOOMFILTER, &["NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"])?;
        one_of(fam::COMPRESSION, &["NONE", "GZ", "SNAPPY", "LZ4", "ZSTD", "LZO", "BZIP2", "LZMA", "BROTLI"])?;
        one_of(fam::DATA_BLOCK_ENCODING, &["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"])?;
        for name in [fam::BLOCKCACHE, fam::IN_MEMORY] {
            one_of(name, &["TRUE", "FALSE"])?;
        }
        if self.bloom_filter() == BloomType::None
            && self.attributes.get(fam::BLOOMFILTER).is_some_and(|text| text.eq_ignore_ascii_case("ROWPREFIX_FIXED_LENGTH"))
        {
            let name = fam::BLOOM_PREFIX_LENGTH;
            let given = self.configuration.get(name).map_or_else(|| "is not set".to_owned(), |text| format!("is {text:?}"));
            let text =
                format!("BLOOMFILTER is ROWPREFIX_FIXED_LENGTH, and the setting {name} {given}; give a whole number from 1 to {MAX_ROW_BYTES}");
            return Err(at(Error::invalid(text)));
        }
        if self.min_versions() > 0 && self.min_versions() > self.max_versions() {
            return Err(at(Error::invalid(format!("MIN_VERSIONS {} is more than VERSIONS {}", self.min_versions(), self.max_versions()))));
        }
        Ok(())
    }
}

/// Whether `name` may name a family.
///
/// # Errors
/// `InvalidRequest` if it is empty, too long, begins with a dot, or holds a colon, a slash or a control character.
pub fn check_family_name(name: &[u8]) -> Result<()> {
    let shown = print_bytes(name);
    if name.is_empty() {
        return Err(Error::invalid("a family name is empty; give it at least one character"));
    }
    if name.len() > MAX_FAMILY_BYTES {
        return Err(Error::invalid(format!("family name {shown} has {} bytes; at most {MAX_FAMILY_BYTES} are allowed", name.len())));
    }
    if name[0] == b'.' {
        return Err(Error::invalid(format!("family name {shown} begins with a dot; begin it with another character")));
    }
    if name.contains(&b':') {
        return Err(Error::invalid(format!("family name {shown} holds a colon, which separates family and qualifier; leave it out")));
    }
    if name.iter().any(|&byte| byte < 0x20 || byte == 0x7f || byte == b'/' || byte == b'\\') {
        return Err(Error::invalid(format!("family name {shown} holds a control character or a slash; leave it out")));
    }
    Ok(())
}

/// Names of the table attributes HBase knows.
pub mod table_attribute {
    #![allow(missing_docs, reason = "each constant is the attribute's own name")]
    pub const MAX_FILESIZE: &str = "MAX_FILESIZE";
    pub const MEMSTORE_FLUSHSIZE: &str = "MEMSTORE_FLUSHSIZE";
    /// A setting, in bytes.
    pub const CELL_BYTES_MAX: &str = "hbase.server.keyvalue.maxsize";
    pub const DURABILITY: &str = "DURABILITY";
    pub const READONLY: &str = "READONLY";
    pub const REGION_REPLICATION: &str = "REGION_REPLICATION";
    pub const COMPACTION_ENABLED: &str = "COMPACTION_ENABLED";
    pub const SPLIT_ENABLED: &str = "SPLIT_ENABLED";
    pub const MERGE_ENABLED: &str = "MERGE_ENABLED";
    pub const SPLIT_POLICY: &str = "SPLIT_POLICY";
}

use table_attribute as tab;

/// A table: its name, attributes and families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDescriptor {
    name: TableName,
    /// Attributes as HBase stores them, unknown ones kept.
    pub attributes: Attributes,
    /// Settings that override the server's for this table.
    pub configuration: Attributes,
    families: BTreeMap<Bytes, FamilyDescriptor>,
}

impl TableDescriptor {
    /// Names of one region at most: each is told wherever the region is.
    pub const REGION_REPLICAS_MAX: u32 = 16;

    /// A table without families.
    pub fn new(name: TableName) -> Self {
        Self { name, attributes: Attributes::new(), configuration: Attributes::new(), families: BTreeMap::new() }
    }

    /// The same under another name.
    #[must_use]
    pub fn renamed(mut self, name: TableName) -> Self {
        self.name = name;
        self
    }

    /// Adds a family, in place of one with the same name.
    #[must_use]
    pub fn family(mut self, family: FamilyDescriptor) -> Self {
        self.set_family(family);
        self
    }

    /// Sets an attribute by its HBase name.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings as they come")]
    pub fn set(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.attributes.insert(name.into(), value.to_string());
        self
    }

    /// Adds or replaces a family.
    pub fn set_family(&mut self, family: FamilyDescriptor) {
        self.families.insert(family.name.clone(), family);
    }

    /// The same without attributes that say what holds anyway: HBase fills them in when it stores a table.
    #[must_use]
    pub fn without_defaults(mut self) -> Self {
        let leave_out = |attributes: &mut Attributes, defaults: &[(&str, &str)]| {
            attributes.retain(|name, value| !defaults.contains(&(name.as_str(), value.as_str())));
        };
        leave_out(&mut self.attributes, TABLE_DEFAULTS);
        self.families.values_mut().for_each(|family| leave_out(&mut family.attributes, fam::DEFAULTS));
        self
    }

    /// Takes a family out.
    pub fn remove_family(&mut self, name: &[u8]) -> Option<FamilyDescriptor> {
        self.families.remove(name)
    }

    /// The table's name.
    pub fn name(&self) -> &TableName {
        &self.name
    }

    /// The families in byte order of their names.
    pub fn families(&self) -> impl Iterator<Item = &FamilyDescriptor> {
        self.families.values()
    }

    /// One family.
    pub fn find_family(&self, name: &[u8]) -> Option<&FamilyDescriptor> {
        self.families.get(name)
    }

    /// Number of families.
    pub fn family_count(&self) -> usize {
        self.families.len()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attributes.get(name).and_then(|text| text.trim().parse().ok())
    }

    /// Size in bytes of a region's largest store at which it splits by itself, if the table sets one.
    pub fn max_file_size_bytes(&self) -> Option<u64> {
        self.number(tab::MAX_FILESIZE).filter(|&bytes| bytes > 0)
    }

    /// Bytes in a region's memstores that ask for a flush, if the table sets them.
    pub fn memstore_flush_bytes(&self) -> Option<u64> {
        self.number(tab::MEMSTORE_FLUSHSIZE).filter(|&bytes| bytes > 0)
    }

    /// How durable a write is that does not say so itself.
    pub fn durability(&self) -> crate::op::Durability {
        self.attributes.get(tab::DURABILITY).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Under how many names a client may find each region, from 1 to [`Self::REGION_REPLICAS_MAX`]: HBase's `REGION_REPLICATION`.
    pub fn region_replication(&self) -> u32 {
        self.number(tab::REGION_REPLICATION).map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX).clamp(1, Self::REGION_REPLICAS_MAX))
    }

    /// Whether writes are refused.
    pub fn read_only(&self) -> bool {
        self.attributes.get(tab::READONLY).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Whether the store may compact by itself.
    pub fn compaction_enabled(&self) -> bool {
        self.attributes.get(tab::COMPACTION_ENABLED).is_none_or(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Whether regions may be merged.
    pub fn merge_enabled(&self) -> bool {
        self.attributes.get(tab::MERGE_ENABLED).is_none_or(|text| !text.eq_ignore_ascii_case("false"))
    }

    /// Whether regions may split, by themselves or because somebody asks for it.
    pub fn split_enabled(&self) -> bool {
        self.attributes.get(tab::SPLIT_ENABLED).is_none_or(|text| text.eq_ignore_ascii_case("true"))
    }

    /// A setting of the server that the table overrides, wherever it says so: HBase looks in its attributes and in its
    /// configuration.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.configuration.get(name).or_else(|| self.attributes.get(name)).map(String::as_str)
    }

    /// The same for one of its families, which may override it again.
    pub fn family_setting<'a>(&'a self, family: &'a FamilyDescriptor, name: &str) -> Option<&'a str> {
        let of_family = family.configuration.get(name).or_else(|| family.attributes.get(name));
        of_family.map(String::as_str).or_else(|| self.setting(name))
    }

    /// Bytes of the largest cell that may be written, 0 for no limit, if the table sets them
    /// (`hbase.server.keyvalue.maxsize`).
    pub fn cell_bytes_max(&self) -> Option<usize> {
        let bytes: i64 = self.setting(tab::CELL_BYTES_MAX)?.trim().parse().ok()?;
        Some(usize::try_from(bytes).unwrap_or(0))
    }

    /// Checks families and attributes.
    ///
    /// # Errors
    /// `InvalidRequest`, naming what is wrong and what is allowed.
    pub fn check(&self) -> Result<()> {
        let at = |error: Error| error.at(format!("table {}", self.name));
        if self.families.is_empty() {
            return Err(at(Error::invalid("it has no family; give it at least one")));
        }
        for family in self.families.values() {
            family.check().map_err(at)?;
        }
        for name in [tab::MAX_FILESIZE, tab::MEMSTORE_FLUSHSIZE] {
            if let Some(text) = self.attributes.get(name)
                && !text.trim().parse::<i64>().is_ok_and(|bytes| bytes > 0 || bytes == -1)
            {
                return Err(at(Error::invalid(format!("{name} is {text:?}; give a number of bytes"))));
            }
        }
        if let Some(text) = self.attributes.get(tab::DURABILITY) {
            text.parse::<crate::op::Durability>().map_err(at)?;
        }
        Ok(())
    }
}

/// A region: the rows of a table from `start` (inclusive) to `end` (exclusive); empty means unbounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegionInfo {
    /// The table it belongs to.
    pub table: TableName,
    /// First row key; empty for the first region.
    pub start: Bytes,
    /// First row key behind it; empty for the last region.
    pub end: Bytes,
    /// Creation time in milliseconds; makes the names of a parent and its daughters differ.
    pub region_id: u64,
    /// 32 lower-case hex digits: the MD5 of [`RegionInfo::name_prefix`], and the region's directory.
    pub encoded_name: String,
}

impl RegionInfo {
    /// `table,start,id`: the bytes whose MD5 is the encoded name.
    pub fn name_prefix(&self) -> Vec<u8> {
        let mut name = self.table.to_string().into_bytes();
        name.push(b',');
        name.extend_from_slice(&self.start);
        name.extend_from_slice(format!(",{}", self.region_id).as_bytes());
        name
    }

    /// The encoded name inside the whole name of a region of any table but `hbase:meta`; `None` if there is none.
    pub fn encoded_name_in(full_name: &[u8]) -> Option<&str> {
        let encoded = full_name.strip_suffix(b".")?.rsplit(|&byte| byte == b'.').next()?;
        (encoded.len() == 32).then(|| std::str::from_utf8(encoded).ok())?
    }

    /// Whether it is the region of `hbase:meta`.
    pub fn is_meta(&self) -> bool {
        self.encoded_name == META_ENCODED_NAME
    }

    /// The region's whole name: `table,start,id.encoded.`, and `hbase:meta,,1` for the region of `hbase:meta`.
    pub fn full_name(&self) -> Vec<u8> {
        let mut name = self.name_prefix();
        if self.is_meta() {
            return name;
        }
        name.extend_from_slice(format!(".{}.", self.encoded_name).as_bytes());
        name
    }

    /// The whole name as HBase prints it.
    pub fn display_name(&self) -> String {
        print_bytes(&self.full_name())
    }

    /// Whether `row` belongs here.
    #[inline]
    pub fn contains(&self, row: &[u8]) -> bool {
        row >= &self.start[..] && (self.end.is_empty() || row < &self.end[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_anyway_can_be_left_out() {
        let family = FamilyDescriptor::new("f").versions(3).set(fam::BLOOMFILTER, "ROW").set("OURS", "1");
        let table = TableDescriptor::new("t".parse().unwrap()).set("IS_META", "false").set("OURS", "2").family(family);
        let kept = TableDescriptor::new("t".parse().unwrap()).set("OURS", "2").family(FamilyDescriptor::new("f").versions(3).set("OURS", "1"));
        assert_eq!(table.without_defaults(), kept);
    }

    #[test]
    fn table_names_read_back() {
        for text in ["t", "ns:t", "a.b-c_d"] {
            assert_eq!(text.parse::<TableName>().unwrap().to_string(), text);
        }
        assert_eq!("default:t".parse::<TableName>().unwrap().to_string(), "t");
        for text in ["", ".t", "-t", "a b", "n-s:t", "ns:", ":t"] {
            assert!(text.parse::<TableName>().is_err(), "{text}");
        }
    }

    #[test]
    fn attributes_fall_back_to_the_defaults_of_hbase() {
        let family = FamilyDescriptor::new("f");
        assert_eq!((family.max_versions(), family.min_versions(), family.ttl_ms(), family.block_size_bytes()), (1, 0, None, 65_536));
        let family = family.set("TTL", 2).set("VERSIONS", 3).set("KEEP_DELETED_CELLS", "ttl").set("MINE", "kept");
        assert_eq!((family.max_versions(), family.ttl_ms(), family.keep_deleted_cells()), (3, Some(2000), KeepDeletedCells::Ttl));
        assert_eq!(family.attributes["MINE"], "kept");
        family.check().unwrap();
    }

    #[test]
    fn a_wrong_attribute_is_named() {
        let error = FamilyDescriptor::new("f").set("VERSIONS", "many").check().unwrap_err().to_string();
        assert!(error.contains("family f") && error.contains("VERSIONS") && error.contains("many"), "{error}");
        let error = FamilyDescriptor::new("a:b").check().unwrap_err().to_string();
        assert!(error.contains("colon"), "{error}");
    }
}
