//! Store files with cells out of key order and matching checksums: reads end, with an error where
//! they detect it.

use halite_engine::env::sim::SimEnv;
use halite_engine::scan::ScanLimits;
use halite_engine::{Engine, Options};
use halite_types::{
    Bytes, ErrorKind, FamilyDescriptor, Get, Put, ReadTier, Result, RowOp, Scan, TableDescriptor,
};

use crate::support::{apply, name, region, store_file};

const ROWS: usize = 24;
const BLOCK_HEADER_BYTES: usize = 33;

fn row(number: usize) -> Vec<u8> {
    format!("row-{number:02}").into_bytes()
}

/// Returns a store with one file of some blocks and index blocks.
fn store() -> SimEnv {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = FamilyDescriptor::new("f").set("BLOCKSIZE", 150).set("BLOOMFILTER", "NONE");
    engine.create_table(TableDescriptor::new(name()).family(family), Vec::<Bytes>::new()).unwrap();
    for number in 0..ROWS {
        apply(&engine, RowOp::Put(Put::new(row(number)).add("f", "a", "1").add("f", "b", "2")));
    }
    engine.flush(&name()).unwrap();
    engine.close().unwrap();
    sim
}

/// Updates the checksums of every block to match its contents.
fn seal(file: &mut [u8]) {
    let mut offset = 0;
    while let Some(header) = file
        .get(offset..offset + BLOCK_HEADER_BYTES)
        .filter(|header| header[..8].iter().all(u8::is_ascii_graphic))
    {
        let number = |from: usize| {
            u32::from_be_bytes([header[from], header[from + 1], header[from + 2], header[from + 3]])
                as usize
        };
        let (end, covered, piece) =
            (offset + BLOCK_HEADER_BYTES + number(8), number(29), number(25));
        // The trailer has its own magic and no header.
        let Some(block) = file.get_mut(offset..end) else { break };
        let (content, sums) = block.split_at_mut(covered);
        for (content, sum) in content.chunks(piece).zip(sums.chunks_exact_mut(4)) {
            sum.copy_from_slice(&crc32c::crc32c(content).to_be_bytes());
        }
        offset = end;
    }
}

/// Returns the number of rows of a scan.
fn count(engine: &Engine, scan: &Scan) -> Result<usize> {
    let mut scanner = region(engine).scan(scan, ReadTier::Disk)?;
    let mut found = 0;
    loop {
        let batch = scanner.next_rows(ScanLimits { rows: 5, ..ScanLimits::default() })?;
        found += batch.rows.len();
        assert!(found <= 2 * ROWS, "{scan:?} goes round");
        if !batch.more() {
            return Ok(found);
        }
    }
}

#[test]
fn scan_terminates_for_any_row_order() {
    let sim = store();
    let (path, bytes) = store_file(&sim);
    let mut refused = 0;
    // Every row key is replaced with every other one, in all cells and in the index.
    for (from, to) in (0..ROWS)
        .flat_map(|from| (0..ROWS).map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
    {
        let mut changed = bytes.clone();
        for offset in 0..bytes.len() - 6 {
            if bytes[offset..].starts_with(&row(from)) {
                changed[offset..offset + 6].copy_from_slice(&row(to));
            }
        }
        seal(&mut changed);
        sim.fs.write(&path, changed).unwrap();
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let scans = [
            Scan::all(),
            Scan::all().column("f", "b"),
            Scan::all().column("f", "a"),
            Scan::all().column("f", "none"),
            Scan::all().reverse(true),
            Scan::all().reverse(true).column("f", "b"),
        ];
        for scan in scans {
            if let Err(error) = count(&engine, &scan) {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                assert!(
                    error.message().contains(&path) && error.message().contains("not in the order"),
                    "{error}"
                );
                refused += 1;
            }
        }
        for number in 0..ROWS {
            drop(region(&engine).get(
                &Get::new(row(number)),
                ReadTier::Disk,
                &std::sync::Arc::default(),
            ));
        }
    }
    assert!(refused > 1000, "only {refused} scans noticed");
}

#[test]
fn cell_with_empty_row_is_damage() {
    let sim = SimEnv::new(1);
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    let family = FamilyDescriptor::new("f").set("BLOOMFILTER", "NONE");
    let table = TableDescriptor::new(name()).family(family);
    engine.create_table(table, Vec::<Bytes>::new()).unwrap();
    // Without its length, the first bytes of the row are the length and name of a family.
    let row = b"\x01f-row";
    apply(&engine, RowOp::Put(Put::new(row.to_vec()).add("f", "a", "1")));
    engine.flush(&name()).unwrap();
    engine.close().unwrap();
    let (path, mut bytes) = store_file(&sim);
    let offset = bytes.windows(row.len()).position(|bytes| bytes == row).unwrap();
    bytes[offset - 2..offset].fill(0);
    seal(&mut bytes);
    sim.fs.write(&path, bytes).unwrap();
    let engine = Engine::open(sim.env(), Options::default()).unwrap();
    for scan in [Scan::all(), Scan::all().reverse(true)] {
        let error = count(&engine, &scan).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("empty row"), "{error}");
    }
}
