//! Human-readable metadata of a store file.

use std::io::{self, Write};

use halite_engine::hfile::{BlockKind, BlockSummary, DirectBlocks, Reader, info_key};
use halite_types::BloomType;
use halite_types::cell::{key_family, key_qualifier, key_row, key_timestamp};
use halite_types::key::to_string_binary;

use crate::text_table::{TextTable, grouped, size};
use halite_types::key::to_hex;

/// File info entries that are printed in readable form and therefore not repeated as bytes.
const PRINTED_INFO_KEYS: [&str; 19] = [
    info_key::AVERAGE_KEY_LENGTH,
    info_key::AVERAGE_VALUE_LENGTH,
    info_key::BLOOM_PARAMETER,
    info_key::BLOOM_TYPE,
    info_key::COMPACTED_FROM,
    info_key::CREATED,
    info_key::DATA_BLOCK_ENCODING,
    info_key::DELETE_FAMILY_COUNT,
    info_key::EARLIEST_PUT,
    info_key::KEY_OF_BIGGEST_CELL,
    info_key::KEY_VALUE_VERSION,
    info_key::LAST_KEY,
    info_key::LENGTH_OF_BIGGEST_CELL,
    info_key::MAJOR_COMPACTION,
    info_key::MAX_CELL_SEQUENCE_ID,
    info_key::MAX_SEQUENCE_ID,
    info_key::MAX_TAGS_LENGTH,
    info_key::TAGS_COMPRESSED,
    info_key::TIME_RANGE,
];

/// Writes the trailer, the file info and statistics of the blocks.
///
/// # Errors
/// Returns an error if the file is damaged, a read fails, or the output cannot be written.
pub(crate) fn write(out: &mut impl Write, reader: &Reader) -> anyhow::Result<()> {
    let blocks = reader.walk_blocks()?;
    let mid_key = reader.mid_key(&DirectBlocks)?;
    write_rows(out, &file_rows(reader, mid_key.as_deref()))?;
    writeln!(out, "\nINDEX AND FILTERS")?;
    write_rows(out, &index_rows(reader, &blocks))?;
    writeln!(out, "\nBLOCKS")?;
    for line in census(&blocks).lines() {
        writeln!(out, "  {line}")?;
    }
    let mut others = reader
        .info()
        .iter()
        .filter(|(name, _)| !PRINTED_INFO_KEYS.iter().any(|printed| printed.as_bytes() == *name))
        .peekable();
    if others.peek().is_some() {
        writeln!(out, "\nOTHER FILE INFO")?;
    }
    for (name, value) in others {
        writeln!(out, "  {} = {}", to_string_binary(name), to_hex(value))?;
    }
    Ok(())
}

type InfoRows = Vec<(&'static str, String)>;

fn write_rows(out: &mut impl Write, facts: &InfoRows) -> io::Result<()> {
    facts.iter().try_for_each(|(name, value)| writeln!(out, "  {name:<16}{value}"))
}

fn file_rows(reader: &Reader, mid_key: Option<&[u8]>) -> InfoRows {
    let (trailer, info) = (reader.trailer(), reader.info());
    let average =
        |key: &str| info.int(key).map_or_else(|| "?".to_owned(), |length| length.to_string());
    let mut facts: InfoRows = vec![
        ("file", reader.path().to_owned()),
        (
            "size",
            format!(
                "{} ({} bytes); {} uncompressed",
                size(reader.bytes()),
                grouped(reader.bytes()),
                size(trailer.total_uncompressed_bytes)
            ),
        ),
        (
            "format",
            format!(
                "HFile v3, compression {}, data block encoding {}, cells {}",
                trailer.compression.name(),
                info.get(info_key::DATA_BLOCK_ENCODING)
                    .map_or_else(|| "NONE".into(), to_string_binary),
                cell_layout(reader)
            ),
        ),
        ("order", trailer.comparator.class_name().to_owned()),
        ("cells", grouped(reader.entry_count())),
        (
            "average cell",
            format!(
                "key {} bytes, value {} bytes",
                average(info_key::AVERAGE_KEY_LENGTH),
                average(info_key::AVERAGE_VALUE_LENGTH)
            ),
        ),
    ];
    let keys = [
        ("first key", reader.first_key()),
        ("middle key", mid_key),
        ("last key", reader.last_key()),
        ("biggest cell", info.get(info_key::KEY_OF_BIGGEST_CELL)),
    ];
    facts.extend(keys.into_iter().filter_map(|(name, key)| Some((name, print_key(key?)))));
    facts.extend(reader.time_range().map(|range| {
        ("timestamps", format!("{} to {}", time(*range.start()), time(*range.end())))
    }));
    facts.extend(reader.earliest_put_timestamp().map(|earliest| ("earliest put", time(earliest))));
    facts.extend(reader.delete_family_count().map(|count| ("family deletes", grouped(count))));
    facts.extend(reader.max_sequence_id().map(|id| ("sequence id", id.to_string())));
    facts.extend(
        reader
            .created_ms()
            .filter(|&created| created > 0)
            .map(|created| ("written", time(created))),
    );
    facts.push(("made by", origin(reader)));
    facts
}

fn cell_layout(reader: &Reader) -> String {
    let tags = reader.max_tags_bytes().map_or_else(
        || "without tags".to_owned(),
        |most| format!("with tags of up to {most} bytes"),
    );
    let sequence = if reader.has_sequence_ids() {
        format!("sequence ids up to {}", reader.max_cell_sequence_id())
    } else {
        "no sequence ids".to_owned()
    };
    format!("{tags}, {sequence}")
}

fn origin(reader: &Reader) -> String {
    let from = reader.info().compacted_from();
    if reader.is_bulk_loaded() {
        "bulk load".to_owned()
    } else if reader.is_major() {
        format!("major compaction of {} files", from.len())
    } else if !from.is_empty() {
        format!("minor compaction of {}", from.join(", "))
    } else if reader.max_sequence_id().is_some() {
        "flush".to_owned()
    } else {
        "unknown".to_owned()
    }
}

fn index_rows(reader: &Reader, blocks: &[BlockSummary]) -> InfoRows {
    let trailer = reader.trailer();
    let bloom = match reader.bloom_type() {
        BloomType::None => "none".to_owned(),
        BloomType::Row => "of rows".to_owned(),
        BloomType::RowCol => "of rows and columns".to_owned(),
        BloomType::RowPrefix(bytes) => format!("of row prefixes of {bytes} bytes"),
    };
    let has_delete_bloom =
        blocks.iter().any(|block| block.kind == BlockKind::DeleteFamilyBloomMeta);
    vec![
        (
            "data index",
            format!(
                "{} levels, {} entries in the root, {}",
                trailer.index_levels,
                trailer.data_index_count,
                size(trailer.uncompressed_index_bytes)
            ),
        ),
        ("bloom filter", bloom),
        (
            "delete filter",
            if has_delete_bloom { "of rows with family deletes" } else { "none" }.to_owned(),
        ),
    ]
}

/// Returns the number and sizes of the blocks by kind.
fn census(blocks: &[BlockSummary]) -> TextTable {
    let mut table =
        TextTable::new(&["kind", ">blocks", ">on disk", ">uncompressed", ">largest", "checksum"]);
    for kind in BlockKind::ALL {
        let of_kind: Vec<_> = blocks.iter().filter(|block| block.kind == kind).collect();
        let Some(first) = of_kind.first() else { continue };
        let on_disk = of_kind.iter().map(|block| u64::from(block.handle.on_disk_bytes));
        let largest = on_disk.clone().max().unwrap_or(0);
        let uncompressed = of_kind.iter().map(|block| block.uncompressed_bytes).sum();
        table.row([
            kind.name().to_owned(),
            grouped(of_kind.len() as u64),
            size(on_disk.sum()),
            size(uncompressed),
            size(largest),
            first.checksum.name().to_owned(),
        ]);
    }
    table
}

/// Formats a flat key as row, column and timestamp.
fn print_key(key: &[u8]) -> String {
    let column =
        format!("{}:{}", to_string_binary(key_family(key)), to_string_binary(key_qualifier(key)));
    match key_timestamp(key) {
        // An index key that only separates two blocks has this timestamp.
        i64::MAX => format!("{} {column}", to_string_binary(key_row(key))),
        timestamp => format!("{} {column} at {timestamp}", to_string_binary(key_row(key))),
    }
}

/// Formats a timestamp as a number and, if it is a plausible time, as a date.
fn time(milliseconds: i64) -> String {
    let date = jiff::Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds > 0);
    date.map_or_else(|| milliseconds.to_string(), |date| format!("{milliseconds} ({date:.0})"))
}
