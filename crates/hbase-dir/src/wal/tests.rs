//! Logs that HBase's writer wrote: whole, cut anywhere, and damaged anywhere.

use std::io::{Cursor, Read as _};
use std::path::Path;

use halite_types::cell::make_key;
use halite_types::{CellRef, CellsBuilder, Error, ErrorKind, Result};
use prost::Message as _;

use super::*;

/// Samples, the fields of whose cells are listed in files beside them.
const SAMPLES: [&str; 3] = ["wal-plain", "wal-compressed", "wal-compressed-values-gz"];

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/wal").join(name);
    std::fs::read(path).unwrap()
}

/// Removes the sample's trailer, so that it is as a killed server left it.
fn unclosed(name: &str) -> Vec<u8> {
    let bytes = file(name);
    bytes.strip_suffix(b"\0\0\0\0LAWP").unwrap().to_vec()
}

fn listed(name: &str) -> Vec<String> {
    let mut text = String::new();
    let packed = file(&format!("{name}.tsv.gz"));
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn gunzip(codec: u32, packed: &[u8], _: usize) -> Result<Vec<u8>> {
    assert_eq!(codec, 1);
    let mut value = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut value);
    read.map(|_| value).map_err(|why| Error::corrupt(why.to_string()))
}

fn reader(bytes: &[u8]) -> Result<WalReader<Cursor<&[u8]>>> {
    WalReader::new(Cursor::new(bytes), Path::new("log"), gunzip)
}

/// Returns the entries with their offsets, and the end or the error.
fn read_all(bytes: &[u8]) -> (Vec<(u64, WalEntry)>, Result<WalEnd>) {
    let mut entries = Vec::new();
    let mut reader = match reader(bytes) {
        Ok(reader) => reader,
        Err(error) => return (entries, Err(error)),
    };
    loop {
        let offset = reader.input.offset();
        match reader.next_entry() {
            Ok(Some(entry)) => entries.push((offset, entry)),
            Ok(None) => return (entries, Ok(reader.end().unwrap())),
            Err(error) => {
                assert_eq!(reader.next_entry(), Ok(None), "nothing follows an error");
                return (entries, Err(error));
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn line(number: usize, entry: &WalEntry, cell: CellRef<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    [
        number.to_string(),
        text(&entry.region),
        text(&entry.table),
        entry.sequence.to_string(),
        entry.written_ms.to_string(),
        hex(cell.row()),
        hex(cell.family()),
        hex(cell.qualifier()),
        cell.timestamp().to_string(),
        cell.type_code().to_string(),
        hex(cell.tags()),
        hex(cell.value()),
    ]
    .join("\t")
}

#[test]
fn every_cell_of_the_samples_is_read() {
    for name in SAMPLES {
        let (entries, end) = read_all(&file(name));
        assert_eq!(end, Ok(WalEnd::Closed), "{name}");
        let mut lines = Vec::new();
        for (number, (_, entry)) in entries.iter().enumerate() {
            lines.extend(entry.cells.iter().map(|cell| line(number, entry, cell)));
        }
        assert_eq!(lines, listed(name), "{name}");
        let (of_unclosed, end) = read_all(&unclosed(name));
        assert_eq!((of_unclosed, end), (entries, Ok(WalEnd::Open)), "{name}");
    }
}

#[test]
fn truncated_log_ends_with_its_last_whole_entry() {
    for name in SAMPLES {
        let bytes = unclosed(name);
        let (whole, _) = read_all(&bytes);
        let mut borders: Vec<u64> = whole.iter().map(|(offset, _)| *offset).collect();
        borders.push(bytes.len() as u64);
        let near = |border: &u64| border.saturating_sub(3)..border + 4;
        for length in (0..16).chain(borders.iter().flat_map(near)) {
            let Some(cut) = bytes.get(..usize::try_from(length).unwrap()) else { continue };
            let (entries, end) = read_all(cut);
            let count = borders.iter().filter(|border| **border <= length).count();
            assert_eq!(entries, whole[..count.saturating_sub(1)], "{name} cut at {length}");
            let last = borders[..count].last().copied().unwrap_or(0);
            let expected = match length - last {
                0 if count > 0 => WalEnd::Open,
                bytes => WalEnd::Incomplete { offset: last, bytes, further_entry: None },
            };
            assert_eq!(end, Ok(expected), "{name} cut at {length}");
            // After a power failure, the disk may have kept the length only.
            let zeros = [cut, &[0; 100]].concat();
            if count > 0 && length == last {
                let expected = WalEnd::Incomplete { offset: last, bytes: 100, further_entry: None };
                assert_eq!(read_all(&zeros), (entries, Ok(expected)), "{name} at {length}");
            }
        }
    }
}

#[test]
fn part_of_a_trailer_is_the_end_of_an_open_log() {
    for name in SAMPLES {
        let bytes = file(name);
        let (whole, _) = read_all(&bytes);
        for gone in 1..8 {
            let cut = &bytes[..bytes.len() - gone];
            assert_eq!(read_all(cut), (whole.clone(), Ok(WalEnd::Open)), "{name} without {gone}");
        }
        let log = unclosed(name);
        for rest in [&b"\0\0\0\0LAX"[..], b"\0\0\0\x01", b"\0L", b"\0\0\0\0LAWP\0"] {
            let error = read_all(&[&log[..], rest].concat()).1.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {rest:?}");
        }
    }
}

#[test]
fn incomplete_entry_in_a_closed_log_is_damage() {
    let bytes = file("wal-plain");
    let (entries, _) = read_all(&bytes);
    let (offset, _) = entries[entries.len() - 1];
    let at = usize::try_from(offset).unwrap();
    let end = bytes.len() - 8;
    for gone in [1, (end - at) / 2, end - at - 1] {
        let cut = [&bytes[..end - gone], &bytes[end..]].concat();
        let error = read_all(&cut).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains(&format!("log: the log's entry at byte {offset}")));
    }
}

#[test]
fn damage_is_an_error_or_changes_only_what_it_may() {
    for name in SAMPLES {
        let bytes = file(name);
        let (whole, _) = read_all(&bytes);
        for (number, (offset, _)) in whole.iter().enumerate() {
            let at = usize::try_from(*offset).unwrap();
            // Lengths, the key's fields and the start of the first cell, one bit of each byte.
            let places = (at..bytes.len()).take(60).skip(number % 5).step_by(5);
            for (place, bit) in places.map(|place| (place, (place + number) % 8)) {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                let (entries, end) = read_all(&damaged);
                assert!(entries.len() >= number, "{name}: entries before byte {place} are read");
                assert_eq!(entries[..number], whole[..number], "{name}: byte {place}");
                if let Err(error) = end {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                }
            }
        }
    }
}

#[test]
fn length_of_the_first_key_is_not_believed() {
    let bytes = unclosed("wal-plain");
    let first = usize::try_from(read_all(&bytes).0[0].0).unwrap();
    for (length, kind) in
        [(&b"\xff\xff\xff\xff\x7f"[..], ErrorKind::Corrupt), (&[0xff; 11], ErrorKind::Corrupt)]
    {
        let damaged = [&bytes[..first], length, &bytes[first..]].concat();
        assert_eq!(read_all(&damaged).1.unwrap_err().kind(), kind);
    }
    let error = read_all(b"PAWL, and more").1.unwrap_err();
    assert!(error.message().contains("not a log of HBase"), "{error}");
}

#[test]
fn encrypted_logs_and_foreign_codecs_are_refused() {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Header {
        #[prost(bytes = "vec", optional, tag = "2")]
        encryption_key: Option<Vec<u8>>,
        #[prost(string, optional, tag = "4")]
        writer: Option<String>,
        #[prost(string, optional, tag = "5")]
        codec: Option<String>,
    }
    let plain = Header {
        encryption_key: None,
        writer: Some("ProtobufLogWriter".to_owned()),
        codec: Some("org.apache.hadoop.hbase.regionserver.wal.WALCellCodec".to_owned()),
    };
    let log = |header: &Header| [&MAGIC[..], &header.encode_length_delimited_to_vec()].concat();
    assert_eq!(read_all(&log(&plain)), (Vec::new(), Ok(WalEnd::Open)));
    for (header, word) in [
        (Header { encryption_key: Some(vec![1]), ..plain.clone() }, "encrypted"),
        (
            Header { writer: Some("x.SecureProtobufLogWriter".to_owned()), ..plain.clone() },
            "encrypted",
        ),
        (
            Header { codec: Some("x.IndexedWALEditCodec".to_owned()), ..plain.clone() },
            "IndexedWALEditCodec",
        ),
    ] {
        let error = read_all(&log(&header)).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn damaged_marker_of_a_compaction_is_an_error() {
    let key = make_key(b"row", b"METAFAMILY", b"HBASE::COMPACTION", 5, 4);
    let mut cells = CellsBuilder::default();
    cells.push(CellRef::new(&key, b"\x0a\xff\xff", &[], 0));
    let entry = WalEntry {
        region: b"region".to_vec(),
        table: b"t".to_vec(),
        sequence: 17,
        written_ms: 0,
        cells: cells.finish(),
    };
    let error = entry.compactions().unwrap_err();
    assert!(error.message().contains("compaction with sequence id 17 is damaged"), "{error}");
}

#[test]
fn damaged_length_is_told_from_a_cut_log() {
    for name in SAMPLES {
        let bytes = unclosed(name);
        let (whole, _) = read_all(&bytes);
        assert!(whole.len() > 3, "{name}");
        for (number, (offset, entry)) in whole.iter().enumerate() {
            // The key then ends after the log, if its length takes two bytes.
            let at = usize::try_from(*offset).unwrap();
            let damaged = [&bytes[..at], b"\xff\xff\xff\x01", &bytes[at..]].concat();
            let (entries, end) = read_all(&damaged);
            assert_eq!(entries, whole[..number], "{name}: entry {entry:?}");
            let expected = WalEnd::Incomplete {
                offset: *offset,
                bytes: (damaged.len() - at) as u64,
                further_entry: Some(*offset + 4),
            };
            assert_eq!(end, Ok(expected), "{name}: entry {number}");
        }
        // The header, too.
        let damaged = [&bytes[..4], b"\xff\xff\x3f", &bytes[5..]].concat();
        let expected = WalEnd::Incomplete {
            offset: 0,
            bytes: damaged.len() as u64,
            further_entry: Some(whole[0].0 + 2),
        };
        assert_eq!(read_all(&damaged), (Vec::new(), Ok(expected)), "{name}");
    }
}

#[test]
fn values_in_a_cut_entry_are_not_taken_for_entries() {
    let [region, table] = [b"0123456789abcdef0123456789abcdef".as_slice(), b"t"];
    let time = b"\x20\x80\xd0\x95\xff\xbc\x31";
    let field =
        |tag: u8, bytes: &[u8]| [&[tag, u8::try_from(bytes.len()).unwrap()][..], bytes].concat();
    let entry = |fields: &[&[u8]], cells: &[u8]| {
        let key = fields.concat();
        [&[u8::try_from(key.len()).unwrap()][..], &key, cells].concat()
    };
    let row = make_key(b"row", b"f", b"q", 5, 4);
    let (key_bytes, total) = (row.len().to_be_bytes(), (row.len() + 8).to_be_bytes());
    let plain_cell = [&total[4..], &key_bytes[4..], &[0; 4], &row].concat();
    let lengths = [u8::try_from(row.len()).unwrap(), 0, 0];
    let packed_cell = [&lengths[..], b"\xff\x03row\xff\x01f"].concat();
    let named = [&field(0x0a, region)[..], &field(0x12, table), b"\x18\x05"];
    let slots = [&b"\x0a\x02\0\0"[..], b"\x12\x02\0\0", b"\x18\x05"];
    let one = &b"\x38\x01"[..];
    let plain = entry(&[&named[..], &[time, one]].concat(), &plain_cell);
    let packed = entry(&[&slots[..], &[time, one]].concat(), &packed_cell);
    let similar = [
        entry(&[&named[..], &[time, one]].concat(), b"no cell, but a text"),
        entry(&[&slots[..], &[time, one]].concat(), b"no cell"),
        entry(&[&named[..], &[b"\x20\x05", one]].concat(), &plain_cell),
        entry(&[named[1], named[0], named[2], time, one], &plain_cell),
        entry(&[&field(0x0a, b"abcdef"), named[1], named[2], time, one], &plain_cell),
        entry(&[slots[0], &b"\x12\x02\x7f\xff"[..], slots[2], time, one], &packed_cell),
    ];
    for (name, own, other) in [("wal-plain", &plain, &packed), ("wal-compressed", &packed, &plain)]
    {
        let log = unclosed(name);
        let offset = log.len() as u64;
        // The log ends inside the key of the last entry.
        let begin = b"\xff\xff\x7f\x0a\x20";
        let further = |value: &[u8]| {
            let cut = [&log[..], begin, value, b"and so on"].concat();
            let (_, end) = read_all(&cut);
            let Ok(WalEnd::Incomplete { offset: at, further_entry, .. }) = end else {
                panic!("{name}: {end:?}")
            };
            assert_eq!(at, offset);
            further_entry
        };
        for value in similar.iter().chain([other]) {
            assert_eq!(further(value), None, "{name}: {value:?}");
        }
        assert_eq!(further(own), Some(offset + begin.len() as u64), "{name}");
    }
}

#[test]
fn search_of_many_beginnings_is_quick() {
    // Every second byte begins a key by its length, and each has the greatest one.
    let bytes = b"\xff\x1f\x0a\x20".repeat(1 << 20);
    let log = [unclosed("wal-plain"), b"\xff\xff\xff\x01".to_vec(), bytes].concat();
    let began = std::time::Instant::now();
    let (_, end) = read_all(&log);
    assert!(matches!(end, Ok(WalEnd::Incomplete { further_entry: None, .. }) | Err(_)), "{end:?}");
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
