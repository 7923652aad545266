//! Halite's wire format, read and written again by HBase and Hadoop.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use halite_types::cell::{CellParts, TAG_TTL, write_tag};
use halite_types::{Bytes, CellType, Cells, CellsBuilder};
use halite_wire::cellblock::{self, CellBlockFormat, Codec, Compressor};
use halite_wire::exception::{Exception, ExceptionKind, MovedTo, ThrottleType};

use crate::{Result, hbase};

/// Upper bound of the size of a block here.
const MAX_BLOCK_BYTES: usize = 16 << 20;
/// `ZStandardCodec` requires a native library in Java.
const COMPRESSORS: [Option<Compressor>; 5] = [
    None,
    Some(Compressor::Default),
    Some(Compressor::Gzip),
    Some(Compressor::Snappy),
    Some(Compressor::Lz4),
];

/// Writes exceptions and cell blocks, processes them with HBase, and compares.
pub(crate) fn check(jars: &Path, work: &Path) -> Result<()> {
    let (input, expected) = exceptions();
    write(&work.join("exceptions"), input.as_bytes())?;
    let blocks = work.join("blocks");
    fs::create_dir_all(&blocks).map_err(|error| format!("{}: {error}", blocks.display()))?;
    let contents = [("many", cells()), ("none", Cells::default())];
    for (format, (content, cells)) in each(&contents) {
        write(&blocks.join(name(format, content, "block")), &block(format, cells)?)?;
    }
    hbase::read_wire(jars, work)?;
    same(&expected, &read_text(&work.join("exceptions.printed"))?)?;
    for (format, (content, cells)) in each(&contents) {
        check_block(&blocks, format, content, cells)?;
    }
    let (exceptions, blocks) = (input.lines().count(), each(&contents).count());
    println!(
        "{exceptions} exceptions and {blocks} cell blocks: HBase reads and writes them as Halite \
         does"
    );
    Ok(())
}

/// Returns input lines, and the output that HBase's classes should print.
fn exceptions() -> (String, String) {
    let (mut input, mut expected) = (String::new(), String::new());
    for kind in ExceptionKind::ALL {
        let _ = writeln!(input, "class {}", kind.class());
        let _ = writeln!(expected, "class {} {}", kind.class(), kind.is_do_not_retry());
    }
    let moved = MovedTo {
        host: "a.example.org".to_string(),
        port: 16020,
        start_code: 1_795_225_227_130,
        sequence: 34,
    };
    let _ = writeln!(input, "moved {moved}\nmoved java.io.IOException: {moved}");
    expected.push_str(&"moved a.example.org 16020 1795225227130 34\n".repeat(2));
    for (what, wait_ms) in ThrottleType::ALL
        .into_iter()
        .zip([0, 7, 1000, 60_000, 61_234, 120_000, 3_600_000, 7_384_005].into_iter().cycle())
    {
        let _ = writeln!(input, "throttled {}", Exception::throttled(what, wait_ms).message());
        let _ = writeln!(expected, "throttled {wait_ms}");
    }
    (input, expected)
}

/// Returns every format with every content.
fn each<T>(contents: &[T]) -> impl Iterator<Item = (CellBlockFormat, &T)> {
    let formats = Codec::ALL.into_iter().flat_map(|codec| {
        COMPRESSORS.into_iter().map(move |compressor| CellBlockFormat { codec, compressor })
    });
    formats.flat_map(|format| contents.iter().map(move |content| (format, content)))
}

fn name(format: CellBlockFormat, content: &str, ending: &str) -> String {
    let last = |class: &str| class.rsplit('.').next().unwrap_or(class).to_string();
    let compressor =
        format.compressor.map_or_else(|| "none".to_string(), |compressor| last(compressor.class()));
    format!("{}-{compressor}-{content}.{ending}", last(format.codec.class()))
}

/// Returns cells of every type, with empty and long components, tags, and enough for several of
/// Hadoop's chunks.
fn cells() -> Cells {
    let mut cells = CellsBuilder::default();
    let types = [
        CellType::Put,
        CellType::Delete,
        CellType::DeleteFamilyVersion,
        CellType::DeleteColumn,
        CellType::DeleteFamily,
    ];
    for (number, cell_type) in (0..900u32).zip(types.into_iter().cycle()) {
        let row = format!("row-{number}").into_bytes();
        let value =
            if cell_type == CellType::Put { number.to_be_bytes().repeat(1000) } else { Vec::new() };
        let qualifier: &[u8] = if number % 3 == 0 { b"" } else { b"q\xff" };
        let mut tags = Vec::new();
        if number % 2 == 0 {
            write_tag(&mut tags, TAG_TTL, &1000i64.to_be_bytes());
        }
        let timestamp = 1_700_000_000_000 + i64::from(number);
        cells.push_parts(CellParts {
            row: &row,
            family: b"f",
            qualifier,
            timestamp,
            cell_type,
            value: &value,
            tags: &tags,
        });
    }
    cells.finish()
}

fn block(format: CellBlockFormat, cells: &Cells) -> Result<Vec<u8>> {
    let block = format.block(std::slice::from_ref(cells)).map_err(|error| error.to_string())?;
    Ok(block.to_bytes().to_vec())
}

/// Compares the output of HBase and the blocks it wrote with its input.
fn check_block(blocks: &Path, format: CellBlockFormat, content: &str, cells: &Cells) -> Result<()> {
    let expected = printed(cells, format.codec);
    let named = |error: String| format!("{}: {error}", name(format, content, "block"));
    same(&expected, &read_text(&blocks.join(name(format, content, "printed")))?).map_err(named)?;
    let path = blocks.join(name(format, content, "java"));
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let back = cellblock::decode(&Bytes::from(bytes), format, MAX_BLOCK_BYTES)
        .map_err(|error| named(error.to_string()))?;
    same(&expected, &printed(&back, Codec::KeyValueWithTags)).map_err(named)
}

/// Formats lines as the Java program does; a codec without tags omits them.
fn printed(cells: &Cells, codec: Codec) -> String {
    let with_tags = matches!(codec, Codec::KeyValueWithTags | Codec::CellWithTags);
    let mut lines = String::new();
    for cell in cells {
        let tags = if with_tags { cell.tags() } else { &[] };
        let [row, family, qualifier, value, tags] =
            [cell.row(), cell.family(), cell.qualifier(), cell.value(), tags].map(hex);
        let _ = writeln!(
            lines,
            "{row} {family} {qualifier} {} {} {value} {tags}",
            cell.timestamp(),
            cell.type_code()
        );
    }
    lines
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Checks that two texts are equal, or returns the first differing line.
fn same(expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let shown = |line: Option<&str>| {
        line.map_or_else(|| "nothing".to_string(), |line| line.chars().take(200).collect())
    };
    let mut lines = (expected.lines().map(Some).chain(std::iter::repeat(None)))
        .zip(found.lines().map(Some).chain(std::iter::repeat(None)));
    let (expected, found) = lines.find(|(expected, found)| expected != found).unwrap_or_default();
    Err(format!("HBase printed {:?}, expected {:?}", shown(found), shown(expected)))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
