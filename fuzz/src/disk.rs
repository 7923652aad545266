//! Store files damaged so that no checksum detects it. Opening, checking, repairing, reading and
//! closing the store must return an error or a result in a short time, with memory in proportion to
//! such a small store.
//!
//! An input selects a store, one of its files and changes to it. After the changes these checksums
//! and lengths are corrected:
//!
//! ```text
//! operation log    length and checksum of a batch, which the changes are
//! manifest     length and checksum                       log          length, checksum and chained checksum of each record, that of the header
//! nonces       checksum                                  store file   checksums of each block, where it was
//! ```
#![no_main]

mod corpus;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use halite_engine::env::sim::SimEnv;
use halite_engine::inspect::{check, repair};
use halite_engine::{Engine, Nonce, Options, PartReads, WalRecovery, WalSync};
use halite_types::{
    Append, BloomType, CompactionKind, Delete, FamilyDescriptor, Increment, Put, ReadTier, Result,
    RowOp, Scan, SnapshotDescriptor, TableDescriptor, TableName,
};
use libfuzzer_sys::fuzz_target;

/// Maximum memory. The stores have about ten thousand bytes; one decoded block and the first chunk
/// of a memstore are the largest justified allocations.
const MAX_NONBLOCKING_READ_BYTES: u64 = 48 << 20;
/// Maximum background jobs before the store is closed.
const MAX_STEPS: usize = 40;
const SEGMENT_HEADER_BYTES: usize = 84;
const RECORD_HEAD_BYTES: usize = 12;
const BLOCK_HEADER_BYTES: usize = 33;

/// First segment of the log of operations.
const OPERATION_LOG: &str = "halite/oplog/00000000000000000000";

type Files = BTreeMap<String, Vec<u8>>;

/// Store, and the paths of its files that are worth damaging.
struct Store {
    files: Files,
    targets: Vec<String>,
}

static STORES: LazyLock<Vec<Store>> = LazyLock::new(|| {
    (0..4).map(|number| store(number).expect("the simulated disk has no faults")).collect()
});

fuzz_target!(init: { LazyLock::force(&STORES); corpus::write("disk", found()) }, |data: &[u8]| {
    let [store, target, flags, changes @ ..] = data else { return };
    let store = &STORES[usize::from(*store) % STORES.len()];
    let path = &store.targets[usize::from(*target) % store.targets.len()];
    let is_mended = flags & 1 == 0;
    let damaged = damage(path, &store.files[path], changes, is_mended);
    let sim = SimEnv::new(u64::from(*flags));
    for (other, bytes) in &store.files {
        sim.fs.write(other, if other == path { damaged.clone() } else { bytes.clone() }).expect("the simulated disk has no faults");
    }
    if flags & 128 != 0 {
        sim.fs.write(OPERATION_LOG, batch(changes)).expect("the simulated disk has no faults");
    }
    let used = allocation_counter::measure(|| go_through(&sim, *flags));
    let max_bytes = MAX_NONBLOCKING_READ_BYTES + 16 * data.len() as u64;
    assert!(used.bytes_max < max_bytes, "{} bytes allocated for a store of about ten thousand", used.bytes_max);
});

/// Runs every code path that reads the files. An error is a valid result; only a panic is not.
fn go_through(sim: &SimEnv, flags: u8) {
    if flags & 2 != 0 {
        let _ = check(&sim.env());
    }
    if flags & 4 != 0 {
        let _ = repair(&sim.env(), flags & 8 != 0);
    }
    let mut options = options();
    options.wal_recovery =
        if flags & 16 != 0 { WalRecovery::SkipDamaged } else { WalRecovery::Strict };
    let Ok(engine) = Engine::open(sim.env(), options) else { return };
    for table in engine.descriptors() {
        let _ = engine.logged_calls(table.name(), (i64::MIN, i64::MAX), usize::MAX);
        let Ok(table) = engine.table(table.name()) else { continue };
        let mut scanner =
            table.scan(Scan::all().all_versions().raw(flags & 32 != 0), ReadTier::Disk);
        while scanner.next_rows().is_ok_and(|rows| !rows.is_empty()) {}
        let family = table
            .descriptor()
            .families()
            .next()
            .map(|family| family.name().clone())
            .unwrap_or_default();
        // Appends to the replayed data, flushes and compacts it.
        let _ = table.batch(vec![
            Increment::new("counter").add(&family, "n", 1).into(),
            Append::new("r1").add(&family, "q", "more").into(),
        ]);
    }
    for _ in 0..MAX_STEPS {
        if !engine.run_one_job().unwrap_or(false) {
            break;
        }
    }
    if flags & 64 != 0 {
        for table in engine.descriptors() {
            let _ = engine.compact(table.name(), None, CompactionKind::Major);
        }
    }
    let _ = engine.close();
}

/// Returns a segment of the log of operations with one batch.
fn batch(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &crc32c::crc32c(bytes).to_le_bytes(), bytes].concat()
}

/// Returns inputs that found faults: a manifest that names a region for another one's directory.
fn found() -> Vec<Vec<u8>> {
    vec![vec![2, 0x18, 12, 3, 0, 0xff, 0xff, 0xff, 0xff, 1, 10, 3]]
}

fn options() -> Options {
    let mut options = Options::default();
    options.wal_sync = WalSync::Flush;
    options.wal_segment_bytes = 4096;
    options.memstore_chunk_bytes = 16 << 10;
    options.block_cache_bytes = 64 << 10;
    options.part_bytes = 200;
    options.part_reads = PartReads::Always;
    options
}

/// Returns a store with varied contents, closed if its number is even.
fn store(number: u64) -> Result<Store> {
    let sim = SimEnv::new(number);
    let engine = Engine::open(sim.env(), options())?;
    let name: TableName = "t".parse()?;
    let encoding =
        ["NONE", "FAST_DIFF", "PREFIX", "ROW_INDEX_V1"][usize::try_from(number).unwrap_or(0) % 4];
    let family = FamilyDescriptor::new("f")
        .versions(3)
        .set("BLOCKSIZE", 512)
        .set("DATA_BLOCK_ENCODING", encoding);
    let family = family.set("BLOOMFILTER", if number < 2 { "ROW" } else { "ROWCOL" }).set(
        "COMPRESSION",
        ["NONE", "SNAPPY", "LZ4", "GZ"][usize::try_from(number).unwrap_or(0) % 4],
    );
    debug_assert_ne!(family.bloom_filter(), BloomType::None, "the parameter is one of two values");
    engine.create_table(
        TableDescriptor::new(name.clone()).family(family).family(
            FamilyDescriptor::new("g")
                .set("COMPRESSION", if number == 0 { "NONE" } else { "ZSTD" }),
        ),
        vec!["r5".into()],
    )?;
    write(&engine, &name, 1)?;
    engine.flush(&name)?;
    write(&engine, &name, 2)?;
    engine.flush(&name)?;
    engine.create_snapshot(&SnapshotDescriptor::new("s", name.clone()))?;
    engine.clone_snapshot("s", &"c".parse()?)?;
    let first = engine.regions(&name)?.remove(0).encoded_name;
    engine.split_region(&first, Some("r3".into()))?;
    write(&engine, &name, 3)?;
    if number.is_multiple_of(2) {
        engine.close()?;
    }
    sim.fs.kill();
    let files = sim.fs.files();
    let should_compact_memstore =
        |path: &String| !path.starts_with("manifests/") && !path.ends_with("LOCK");
    let targets = files.keys().filter(|path| should_compact_memstore(path)).cloned().collect();
    Ok(Store { files, targets })
}

fn write(engine: &Arc<Engine>, name: &TableName, round: u64) -> Result<()> {
    let table = engine.table(name)?;
    let mut ops: Vec<RowOp> = (0..9)
        .map(|row| {
            Put::new(format!("r{row}"))
                .add("f", "q", format!("value {round}"))
                .add("g", "", "x")
                .into()
        })
        .collect();
    ops.push(Put::new("r2").ttl_ms(1 << 40).add("f", "q", "with a tag").into());
    ops.push(Delete::new("r4").column("f", "q").into());
    for result in table.batch(ops)? {
        result?;
    }
    let mut applied = table.region_for_row(b"counter")?.apply_with_nonce(
        Increment::new("counter").add("f", "n", 1).into(),
        Some(Nonce { group: 1, number: round }),
    );
    applied.results.remove(0)?;
    applied.ticket.wait()
}

/// Returns a file with changes, whose checksums are corrected if `is_mended`.
fn damage(path: &str, whole: &[u8], changes: &[u8], is_mended: bool) -> Vec<u8> {
    if !is_mended {
        return changed(whole, changes);
    }
    if path.ends_with(".wal") {
        return log(whole, changes);
    }
    if path.ends_with("MANIFEST") {
        return manifest(whole, changes);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    if path.ends_with(".nonces") {
        let (checked, _) = whole.split_at(whole.len().saturating_sub(4));
        return sealed(changed(checked, changes));
    }
    if name.len() == 32 { store_file(whole, changes) } else { changed(whole, changes) }
}

/// Appends the checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_be_bytes());
    bytes
}

fn manifest(whole: &[u8], changes: &[u8]) -> Vec<u8> {
    let (head, body) = whole[..whole.len() - 4].split_at(20);
    let body = changed(body, changes);
    sealed([&head[..12], &(body.len() as u64).to_be_bytes(), &body].concat())
}

/// Damages a log. The first byte of the changes selects the header or a record.
fn log(whole: &[u8], changes: &[u8]) -> Vec<u8> {
    let Some((choice, changes)) = changes.split_first() else { return whole.to_vec() };
    let (mut parts, mut rest) =
        (vec![whole[..SEGMENT_HEADER_BYTES - 4].to_vec()], &whole[SEGMENT_HEADER_BYTES..]);
    while let Some((head, tail)) = rest.split_first_chunk::<RECORD_HEAD_BYTES>() {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if length == 0 || length > tail.len() {
            break;
        }
        let (body, tail) = tail.split_at(length);
        parts.push(body.to_vec());
        rest = tail;
    }
    let chosen = usize::from(*choice) % parts.len();
    parts[chosen] = changed(&parts[chosen], changes);
    let header = sealed(parts.remove(0));
    let seed = u32::from_be_bytes(*header.last_chunk().unwrap_or(&[0; 4]));
    let mut out = header;
    for body in parts {
        let mut head = [0; 8];
        head[..4].copy_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
        head[4..].copy_from_slice(&crc32c::crc32c(&body).to_be_bytes());
        let chain = crc32c::crc32c_append(
            crc32c::crc32c_append(seed, &(out.len() as u64).to_be_bytes()),
            &head,
        );
        out.extend_from_slice(&head);
        out.extend_from_slice(&chain.to_be_bytes());
        out.extend_from_slice(&body);
    }
    out.extend_from_slice(rest);
    out
}

/// Damages a store file. The blocks keep their positions, and their checksums are corrected.
fn store_file(whole: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = changed(whole, changes);
    let mut offset = 0;
    while let Some(header) = whole
        .get(offset..offset + BLOCK_HEADER_BYTES)
        .filter(|header| header[..8].iter().all(u8::is_ascii_graphic))
    {
        let number = |from: usize| {
            u32::from_be_bytes([header[from], header[from + 1], header[from + 2], header[from + 3]])
                as usize
        };
        let (end, covered, piece) =
            (offset + BLOCK_HEADER_BYTES + number(8), offset + number(29), number(25).max(1));
        let Some(block) = bytes.get_mut(offset..end).filter(|_| covered <= end) else { break };
        let (content, sums) = block.split_at_mut(covered - offset);
        for (content, sum) in content.chunks(piece).zip(sums.chunks_exact_mut(4)) {
            sum.copy_from_slice(&crc32c::crc32c(content).to_be_bytes());
        }
        offset = end;
    }
    bytes
}

/// Applies changes to bytes. Each change has a kind, a position and its operands.
fn changed(whole: &[u8], mut changes: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    while let [kind, high, low, rest @ ..] = changes {
        let offset = usize::from(u16::from_be_bytes([*high, *low])) % (bytes.len() + 1);
        let several = usize::from(rest.first().copied().unwrap_or(0));
        let given = rest.get(1..).unwrap_or_default();
        let mut used = 1;
        match kind % 6 {
            0 => {
                used += several.min(given.len());
                let given = &given[..used - 1];
                for (byte, new) in bytes[offset..].iter_mut().zip(given) {
                    *byte = *new;
                }
            }
            1 => {
                used += several.min(given.len());
                drop(bytes.splice(offset..offset, given[..used - 1].iter().copied()));
            }
            2 => drop(bytes.drain(offset..(offset + several).min(bytes.len()))),
            3 => {
                // Numbers that most often cause errors.
                let number = [
                    0,
                    1,
                    u64::MAX,
                    i64::MAX.cast_unsigned(),
                    u64::from(u32::MAX),
                    1 << 31,
                    1 << 63,
                    1 << 30,
                ][several % 8];
                let number = number.to_be_bytes();
                let number = if several & 8 == 0 { &number[..] } else { &number[4..] };
                for (byte, new) in bytes[offset..].iter_mut().zip(number) {
                    *byte = *new;
                }
            }
            4 => bytes.truncate(offset),
            _ => {
                let piece = bytes[..several.min(bytes.len())].to_vec();
                for (byte, new) in bytes[offset..].iter_mut().zip(piece) {
                    *byte = new;
                }
            }
        }
        changes = rest.get(used..).unwrap_or_default();
    }
    bytes
}
