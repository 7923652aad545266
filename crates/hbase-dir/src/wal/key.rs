//! Header of a log and keys of its entries.

use std::io::{Cursor, Read};

use prost::Message;

use super::dictionary::{Dictionary, FEW_SLOTS, MANY_SLOTS};
use super::input::{Fault, Input, Parsed};

/// Class of the only cell format that HBase contains itself.
const CELL_CODEC: &str = "WALCellCodec";
/// Maximum bytes of a key, and with it the number of scopes in it, which take more memory than
/// bytes.
const MAX_KEY_BYTES: u64 = 4 << 20;
/// Maximum bytes of the name of a region, table or family in it.
const MAX_NAME_BYTES: u64 = i16::MAX as u64;
/// Number of the codec GZ, with which values are compressed unless the header names another.
const GZ: u32 = 1;

/// HBase's `WALHeader`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WalHeaderMessage {
    #[prost(bool, optional, tag = "1")]
    has_compression: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "2")]
    encryption_key: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3")]
    has_tag_compression: Option<bool>,
    #[prost(string, optional, tag = "4")]
    writer_cls_name: Option<String>,
    #[prost(string, optional, tag = "5")]
    cell_codec_cls_name: Option<String>,
    #[prost(bool, optional, tag = "6")]
    has_value_compression: Option<bool>,
    #[prost(uint32, optional, tag = "7")]
    value_compression_algorithm: Option<u32>,
}

impl WalHeaderMessage {
    /// Refuses logs that cannot be read.
    pub(super) fn check(&self) -> Result<(), String> {
        let class = |name: &Option<String>| -> String {
            let name = name.clone().unwrap_or_default();
            name.rsplit('.').next().unwrap_or_default().to_owned()
        };
        let (writer, codec) = (class(&self.writer_cls_name), class(&self.cell_codec_cls_name));
        if self.encryption_key.is_some() || writer.starts_with("Secure") {
            return Err("the log is encrypted; start and stop HBase cleanly first".to_owned());
        }
        if !codec.is_empty() && codec != CELL_CODEC {
            return Err(format!(
                "the log's cells are written by {codec}, and not by {CELL_CODEC}; start and stop \
                 HBase cleanly first"
            ));
        }
        Ok(())
    }

    pub(super) fn has_compressed_tags(&self) -> bool {
        self.has_compression() && self.has_tag_compression()
    }

    /// Returns the codec of the values if they are compressed.
    pub(super) fn value_codec(&self) -> Option<u32> {
        let is_compressed = self.has_compression() && self.has_value_compression();
        is_compressed.then(|| self.value_compression_algorithm.unwrap_or(GZ))
    }
}

/// HBase's `WALKey`, without the fields for replication.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WalKeyMessage {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) encoded_region_name: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub(super) table_name: Vec<u8>,
    #[prost(uint64, required, tag = "3")]
    pub(super) log_sequence_number: u64,
    #[prost(uint64, required, tag = "4")]
    pub(super) write_time: u64,
    #[prost(message, repeated, tag = "6")]
    scopes: Vec<FamilyScope>,
    #[prost(uint32, optional, tag = "7")]
    pub(super) following_kv_count: Option<u32>,
}

/// HBase's `FamilyScope`.
#[derive(Clone, PartialEq, Message)]
struct FamilyScope {
    #[prost(bytes = "vec", required, tag = "1")]
    family: Vec<u8>,
}

/// Key of an entry.
pub(super) struct Key {
    pub(super) region: Vec<u8>,
    pub(super) table: Vec<u8>,
    pub(super) sequence: u64,
    pub(super) written_ms: u64,
    pub(super) cells: u32,
}

/// Decoder of keys, with the dictionaries of their names.
pub(super) struct KeyDecoder {
    is_compressed: bool,
    regions: Dictionary,
    tables: Dictionary,
    /// Also those of the cells.
    pub(super) families: Dictionary,
}

impl KeyDecoder {
    pub(super) fn new(is_compressed: bool) -> Self {
        Self {
            is_compressed,
            // A log of recovered edits has one slot each for the region and the table. It is of one
            // region, so that the others are not used.
            regions: Dictionary::new(MANY_SLOTS),
            tables: Dictionary::new(MANY_SLOTS),
            families: Dictionary::new(FEW_SLOTS),
        }
    }

    /// Reads the key of an entry; `None` if it is empty.
    pub(super) fn read<R: Read>(&mut self, input: &mut Input<R>) -> Parsed<Option<Key>> {
        let length = input.read_length(MAX_KEY_BYTES, "key")?;
        if length == 0 {
            return Ok(None);
        }
        let bytes = input.read_bytes(length)?;
        let key = WalKeyMessage::decode(&bytes[..])
            .map_err(|why| Fault::Damaged(format!("the key: {why}")))?;
        let mut found = Key {
            region: key.encoded_region_name,
            table: key.table_name,
            sequence: key.log_sequence_number,
            written_ms: key.write_time,
            cells: key.following_kv_count.unwrap_or(0),
        };
        if self.is_compressed {
            found.region = item(&mut self.regions, &found.region, "region")?;
            found.table = item(&mut self.tables, &found.table, "table")?;
            for scope in &key.scopes {
                // Only their place in the dictionary matters.
                item(&mut self.families, &scope.family, "family")?;
            }
        }
        Ok(Some(found))
    }
}

/// Returns the item in a field of a key.
fn item(dictionary: &mut Dictionary, field: &[u8], what: &str) -> Parsed<Vec<u8>> {
    // Inside a whole key, the end of the field is not that of the log.
    let incomplete = || Fault::Damaged(format!("the {what} of the key is not a dictionary item"));
    let mut input = Input::whole(Cursor::new(field), field.len() as u64);
    match dictionary.read(&mut input, MAX_NAME_BYTES, what) {
        Ok(item) => Ok(item.to_vec()),
        Err(Fault::Incomplete) => Err(incomplete()),
        Err(fault) => Err(fault),
    }
}
