//! Recovery of logs of older versions.

use halite_types::{ErrorKind, Put};

use super::format::{RecordFormat, SegmentHeader, SyncMarker, old};
use super::names::segment_path;
use super::stall::{may_be_tried_again, not_begun};
use super::*;
use crate::commit::Mvcc;
use crate::env::sim::SimEnv;
use crate::options::WalRecovery;

const STORE: [u8; 16] = [7; 16];

fn read_back(sim: &SimEnv, mode: WalRecovery) -> Result<(Vec<u64>, Recovered)> {
    let mut sequences = Vec::new();
    let options = RecoveryOptions { store_id: STORE, mode, nonce_grace_period_ms: 1000 };
    let recovered = recover(&sim.env(), &options, |write| {
        sequences.push(write.sequence);
        Ok(())
    })?;
    Ok((sequences, recovered))
}

fn write(out: &mut Vec<u8>, sequence: u64) {
    let put = Put::new(format!("row{sequence}")).add_at("f", "q", 1, "value");
    let nonce = (sequence % 2 == 1).then_some(Nonce { group: 1, number: sequence });
    old::cells(out, 5, sequence, nonce, put.mutation().cells().bytes());
}

/// Two segments of version 2, the last one with a torn end of `torn` bytes, as their machine left
/// them.
fn old_log(torn: usize) -> SimEnv {
    let sim = SimEnv::new(1);
    let mut first = old::header(2, STORE, 1, 0);
    (1..=3).for_each(|sequence| write(&mut first, sequence));
    let mut second = old::header(2, STORE, 2, first.len() as u64);
    write(&mut second, 4);
    let synced = second.len() as u64;
    old::sync_marker(&mut second, SyncMarker { synced, durable_length: 0 });
    write(&mut second, 5);
    let end = second.len();
    write(&mut second, 6);
    second.truncate(end + torn);
    second.resize(second.len() + 300, 0);
    sim.fs.write(&segment_path(1), first).unwrap();
    sim.fs.write(&segment_path(2), second).unwrap();
    sim
}

#[test]
fn version_2_log_is_read_and_last_segment_rewritten() {
    for torn in [0, 25] {
        let sim = old_log(torn);
        for round in 0..3 {
            let (sequences, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
            assert_eq!(
                (sequences, recovered.next_number, recovered.segments.len()),
                (vec![1, 2, 3, 4, 5], 3, 2)
            );
            let numbers: Vec<u64> = recovered.nonces.iter().map(|nonce| nonce.number).collect();
            assert_eq!(numbers, [5, 3, 1]);
            let cut: Vec<(u64, u64)> =
                recovered.truncations.iter().map(|cut| (cut.bytes, cut.writes)).collect();
            assert_eq!(
                cut,
                if torn > 0 && round == 0 { vec![(torn as u64, 0)] } else { vec![] },
                "round {round}"
            );
            let last = sim.fs.read(&segment_path(2)).unwrap();
            assert_eq!((last[11], last.len() as u64), (3, recovered.last_bytes));
            sim.fs.drop_unsynced();
        }
    }
}

#[test]
fn log_continues_after_version_2_segments() {
    let sim = old_log(0);
    let (_, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
    let options = WalOptions {
        fsync: true,
        segment_bytes: 4096,
        max_buffer_bytes: 1 << 20,
        nonce_grace_period_ms: 0,
    };
    let lock = Arc::new(StoreLock::take(&sim.env()).unwrap());
    let wal = Arc::new(Wal::new(
        sim.env(),
        options,
        STORE,
        lock,
        crate::disk_room::unlimited(&sim.env()),
    ));
    wal.resume(recovered);
    let mvcc = Arc::new(Mvcc::new(5));
    let put = Put::new("row6").add_at("f", "q", 1, "value");
    append_cells(&wal, &mvcc, None, put.mutation().cells().bytes()).unwrap();
    wal.sync_all().unwrap();
    sim.fs.drop_unsynced();
    let (sequences, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
    assert_eq!((sequences, recovered.next_number), (vec![1, 2, 3, 4, 5, 6], 4));
}

#[test]
fn headerless_version_2_segment_is_removed_and_number_reused() {
    for bytes in [vec![], vec![0; 30], vec![0xaa; 48]] {
        let sim = old_log(0);
        sim.fs.write(&segment_path(3), bytes).unwrap();
        let (sequences, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
        assert_eq!((sequences, recovered.next_number), (vec![1, 2, 3, 4, 5], 3));
        assert!(sim.fs.read(&segment_path(3)).is_err());
    }
}

#[test]
fn headerless_version_3_segment_is_damage() {
    let sim = old_log(0);
    read_back(&sim, WalRecovery::Strict).unwrap();
    sim.fs.write(&segment_path(3), vec![]).unwrap();
    let error = read_back(&sim, WalRecovery::Strict).err().unwrap();
    assert!(
        error.kind() == ErrorKind::Corrupt && error.message().contains("its header is damaged"),
        "{error}"
    );
    let (sequences, recovered) = read_back(&sim, WalRecovery::SkipDamaged).unwrap();
    assert_eq!(
        (sequences, recovered.truncations.len(), recovered.next_number),
        (vec![1, 2, 3, 4, 5], 1, 4)
    );
    assert_eq!(read_back(&sim, WalRecovery::Strict).unwrap().1.next_number, 4);
}

fn new_log(sim: &SimEnv, fsync: bool) -> Wal {
    let options = WalOptions {
        fsync,
        segment_bytes: 4096,
        max_buffer_bytes: 1 << 20,
        nonce_grace_period_ms: 1000,
    };
    sim.env().fs.create_dir_all(DIRECTORY).unwrap();
    ["", "halite"].iter().for_each(|parent| sim.env().fs.sync_dir(parent).unwrap());
    let lock = Arc::new(StoreLock::take(&sim.env()).unwrap());
    Wal::new(sim.env(), options, STORE, lock, crate::disk_room::unlimited(&sim.env()))
}

fn append_cells(wal: &Wal, mvcc: &Arc<Mvcc>, nonce: Option<Nonce>, cells: &[u8]) -> Result<u64> {
    let (sequence, bytes) = (mvcc.next(), cells.len());
    let cells = std::iter::once(cells);
    wal.append(mvcc, SyncLevel::Fsync, LogWrite { region: 5, sequence, nonce, bytes, cells })
}

fn append(wal: &Wal, mvcc: &Arc<Mvcc>) -> Result<u64> {
    let sequence = mvcc.next();
    let put = Put::new(format!("row{sequence}")).add_at("f", "q", 1, "v".repeat(200));
    let nonce = Some(Nonce { group: 1, number: sequence });
    let position = append_cells(wal, mvcc, nonce, put.mutation().cells().bytes())?;
    mvcc.apply(sequence);
    Ok(position)
}

/// Writes until there is no disk space, with `more` writes in the group that finds none. Returns
/// the number of acknowledged writes.
fn fill(sim: &SimEnv, wal: &Wal, mvcc: &Arc<Mvcc>, free: u64, more: usize) -> u64 {
    sim.fs.set_capacity(Some(sim.fs.used_bytes() + free));
    for acknowledged in mvcc.applied().. {
        let position = append(wal, mvcc).unwrap();
        for _ in 0..more {
            append(wal, mvcc).unwrap();
        }
        match wal.sync_to(position, true) {
            Ok(()) if more > 0 && acknowledged > 400 => panic!("the disk does not become full"),
            Ok(()) => {}
            Err(error) => {
                assert!(
                    error.kind() == ErrorKind::Io && error.message().contains("not known yet"),
                    "{error}"
                );
                return mvcc.read_point();
            }
        }
    }
    unreachable!("there are always more numbers")
}

#[test]
fn stalled_group_is_written_when_space_is_freed() {
    for free in (0..4000).step_by(67) {
        let sim = SimEnv::new(free);
        let (wal, mvcc) = (new_log(&sim, true), Arc::new(Mvcc::new(0)));
        append(&wal, &mvcc).unwrap();
        wal.sync_all().unwrap();
        let acknowledged = fill(&sim, &wal, &mvcc, free, 2);
        let applied = mvcc.applied();
        assert!(acknowledged < applied, "what waits is not visible");
        for refused in
            [wal.admit().unwrap_err(), append(&wal, &mvcc).unwrap_err(), wal.check().unwrap_err()]
        {
            assert!(
                refused.kind() == ErrorKind::DiskFull
                    && refused.message().contains("writes are refused"),
                "{refused}"
            );
        }
        assert_eq!((mvcc.applied(), wal.failure(), wal.stats().stalls), (applied, Ok(()), 1));
        sim.fs.set_capacity(None);
        wal.admit().unwrap();
        wal.sync_all().unwrap();
        assert_eq!((mvcc.read_point(), wal.stall()), (applied, None));
        append(&wal, &mvcc).unwrap();
        wal.sync_all().unwrap();
        sim.fs.drop_unsynced();
        let (sequences, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
        assert_eq!(sequences, (1..=applied + 1).collect::<Vec<_>>(), "free {free}");
        assert!(recovered.truncations.is_empty() && recovered.nonces.len() as u64 == applied + 1);
    }
}

#[test]
fn crash_on_full_disk_keeps_acknowledged_writes() {
    for free in (0..4000).step_by(131) {
        for end in 0..6 {
            let sim = SimEnv::new(free);
            let (wal, mvcc) = (new_log(&sim, true), Arc::new(Mvcc::new(0)));
            append(&wal, &mvcc).unwrap();
            wal.sync_all().unwrap();
            let acknowledged = fill(&sim, &wal, &mvcc, free, 1);
            // Some crash while the group is retried, some after a part of the space is available
            // again.
            sim.fs.set_capacity(Some(sim.fs.used_bytes() + [0, 100, 700][end % 3]));
            let _ = wal.admit();
            let acknowledged = acknowledged.max(mvcc.read_point());
            if end < 3 {
                sim.fs.crash(free + end as u64);
            } else {
                sim.fs.kill();
            }
            sim.fs.set_capacity(None);
            let (sequences, _) = read_back(&sim, WalRecovery::Strict).unwrap();
            assert!(
                (acknowledged..=mvcc.applied()).contains(&(sequences.len() as u64)),
                "free {free}, end {end}"
            );
            assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn failed_sync_and_write_stop_log_except_full_disk() {
    use crate::env::sim::{FsCall, InjectedFault};
    use std::io::ErrorKind::{Other, StorageFull};
    for (call, error) in [
        (FsCall::Sync, StorageFull),
        (FsCall::Sync, Other),
        (FsCall::Write, Other),
        (FsCall::Rewind, Other),
    ] {
        let sim = SimEnv::new(1);
        let (wal, mvcc) = (new_log(&sim, true), Arc::new(Mvcc::new(0)));
        append(&wal, &mvcc).unwrap();
        wal.sync_all().unwrap();
        append(&wal, &mvcc).unwrap();
        sim.fs.inject(InjectedFault::next(call, "wal", error));
        if call == FsCall::Rewind {
            sim.fs.inject(InjectedFault::next(FsCall::Write, "wal", StorageFull));
        }
        assert_eq!(wal.sync_all().unwrap_err().kind(), ErrorKind::Stopped, "{call:?} {error}");
        for refused in [
            wal.admit().unwrap_err(),
            append(&wal, &mvcc).unwrap_err(),
            wal.sync_all().unwrap_err(),
            wal.close().unwrap_err(),
        ] {
            assert!(
                refused.kind() == ErrorKind::Stopped && refused.message().contains("open it again"),
                "{refused}"
            );
        }
        assert_eq!(mvcc.read_point(), 1);
    }
}

#[test]
fn failed_close_is_permanent() {
    use crate::env::sim::{FsCall, InjectedFault};
    // The first directory that is synced is for the nonces; without them the segment stays, and the
    // log can be closed again.
    for (call, skip) in [(FsCall::Write, 0), (FsCall::Sync, 0), (FsCall::SyncDir, 1)] {
        let sim = SimEnv::new(1);
        let (wal, mvcc) = (new_log(&sim, true), Arc::new(Mvcc::new(0)));
        append(&wal, &mvcc).unwrap();
        wal.sync_all().unwrap();
        wal.mark_flushed(5, 1);
        sim.fs.inject(InjectedFault::next(call, "wal", std::io::ErrorKind::Other).after(skip));
        let error = wal.close().unwrap_err();
        assert!(
            error.kind() == ErrorKind::Stopped && error.message().contains("open it again"),
            "{call:?}: {error}"
        );
        assert_eq!(
            (wal.close(), wal.check(), wal.failure()),
            (Err(error.clone()), Err(error.clone()), Err(error)),
            "{call:?}"
        );
        sim.fs.drop_unsynced();
        let (sequences, _) = read_back(&sim, WalRecovery::Strict).unwrap();
        assert!(sequences.len() <= 1, "{call:?}: {sequences:?}");
    }
}

#[test]
fn segment_number_with_stored_nonces_is_not_reused() {
    let sim = old_log(0);
    let header = SegmentHeader {
        number: 5,
        ..SegmentHeader::decode(&sim.fs.read(&segment_path(1)).unwrap()).unwrap().0
    };
    let mut removed = header.encode();
    let start = removed.len() as u64;
    let (_, RecordFormat::Chained(seed)) = SegmentHeader::decode(&removed).unwrap() else {
        panic!("the newest format")
    };
    let mut record = Vec::new();
    let put = Put::new("row9").add_at("f", "q", 1, "value");
    format::write_cells(
        &mut record,
        5,
        9,
        Some(Nonce { group: 1, number: 9 }),
        std::iter::once(put.mutation().cells().bytes()),
    );
    format::chain(&mut record, seed, start);
    removed.append(&mut record);
    sim.fs.write(&segment_path(5), removed).unwrap();
    nonces::store(&sim.env(), STORE, 5, sim.env().clock.now_ms()).unwrap();
    // A power loss restored older segments and not this one.
    sim.env().fs.remove_file(&segment_path(5)).unwrap();
    let (sequences, recovered) = read_back(&sim, WalRecovery::Strict).unwrap();
    assert_eq!((sequences, recovered.next_number), (vec![1, 2, 3, 4, 5], 6));
    assert!(recovered.nonces.iter().any(|nonce| nonce.number == 9));
}

#[test]
fn segment_with_unreadable_nonces_is_reported_and_kept() {
    let sim = SimEnv::new(1);
    let (wal, mvcc) = (new_log(&sim, true), Arc::new(Mvcc::new(0)));
    for _ in 0..3 {
        append(&wal, &mvcc).unwrap();
    }
    wal.roll().unwrap();
    let whole = sim.fs.read(&segment_path(1)).unwrap();
    sim.fs.corrupt(&segment_path(1), whole.len() / 2, 1).unwrap();
    wal.mark_flushed(5, mvcc.applied());
    let error = wal.removal_failure().unwrap();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains("it stays"), "{error}");
    assert!(sim.fs.read(&segment_path(1)).is_ok());
    sim.fs.write(&segment_path(1), whole).unwrap();
    wal.mark_flushed(5, mvcc.applied());
    assert!(wal.removal_failure().is_none() && sim.fs.read(&segment_path(1)).is_err());
}

#[test]
fn descriptor_exhaustion_does_not_stop_the_log() {
    for error in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
        let error = not_begun("beginning a segment", error.into());
        assert!(may_be_tried_again(&error) && error.message().contains("ulimit -n"), "{error}");
    }
    let is_final =
        |error: std::io::Error| !may_be_tried_again(&not_begun("beginning a segment", error));
    assert!(is_final(rustix::io::Errno::IO.into()) && is_final(std::io::ErrorKind::Other.into()));
}
