//! Tests that the simulated disk validates protocols: a correct one survives every crash, and one
//! with a missing sync is detected.

use std::io;

use super::*;
use crate::env::{FileWriter, Fs};

fn disk() -> (SimEnv, Arc<dyn Fs>) {
    let sim = SimEnv::new(1);
    let fs = sim.env().fs;
    (sim, fs)
}

fn write(fs: &dyn Fs, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs.create(path)?;
    file.write_all(bytes)?;
    file.sync()
}

/// Step that a toy store omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    LogNotSynced,
    NewLogDirNotSynced,
    CheckpointNotSynced,
    RenameNotSynced,
    OldLogRemovedFirst,
}

/// Toy store of numbers: a log that is rewritten every five numbers as a checkpoint with a new log.
struct Toy<'a> {
    fs: &'a dyn Fs,
    mistake: Mistake,
    log: Box<dyn FileWriter>,
    generation: u64,
    numbers: Vec<u64>,
}

/// Returns a record that a torn sector cannot imitate.
fn record(number: u64) -> Vec<u8> {
    let sum = crc32c::crc32c(&number.to_be_bytes());
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend_from_slice(&sum.to_be_bytes());
    bytes.resize(200, 7);
    bytes
}

fn read_records(fs: &dyn Fs, path: &str) -> io::Result<Vec<u64>> {
    let file = fs.open(path)?;
    let mut bytes = vec![0; usize::try_from(file.len()?).unwrap()];
    file.read_exact_at(&mut bytes, 0)?;
    let number = |chunk: &[u8]| u64::from_be_bytes(chunk[..8].try_into().unwrap());
    Ok(bytes
        .chunks(200)
        .take_while(|chunk| chunk.len() == 200 && record(number(chunk)) == *chunk)
        .map(number)
        .collect())
}

impl<'a> Toy<'a> {
    fn open(fs: &'a dyn Fs, mistake: Mistake) -> io::Result<Self> {
        fs.create_dir_all("toy")?;
        fs.sync_dir("")?;
        let numbers = recover(fs)?;
        let used = fs
            .list("toy")?
            .iter()
            .filter_map(|entry| entry.name.strip_prefix("log-")?.parse().ok())
            .max()
            .unwrap_or(0);
        let log = fs.create(&format!("toy/log-{}", used + 1))?;
        let mut toy = Self { fs, mistake, log, generation: used + 1, numbers };
        toy.checkpoint()?;
        Ok(toy)
    }

    fn add(&mut self, number: u64) -> io::Result<()> {
        self.log.write_all(&record(number))?;
        if self.mistake != Mistake::LogNotSynced {
            self.log.sync()?;
        }
        self.numbers.push(number);
        if self.numbers.len().is_multiple_of(5) { self.checkpoint() } else { Ok(()) }
    }

    fn checkpoint(&mut self) -> io::Result<()> {
        let (old, new) =
            (format!("toy/log-{}", self.generation), format!("toy/log-{}", self.generation + 1));
        self.log = self.fs.create(&new)?;
        self.generation += 1;
        if self.mistake == Mistake::OldLogRemovedFirst {
            self.fs.remove_file(&old)?;
            self.fs.sync_dir("toy")?;
        }
        if self.fs.exists("toy/next")? {
            self.fs.remove_file("toy/next")?;
        }
        let mut next = self.fs.create("toy/next")?;
        for number in &self.numbers {
            next.write_all(&record(*number))?;
        }
        if self.mistake != Mistake::CheckpointNotSynced {
            next.sync()?;
        }
        self.fs.rename("toy/next", "toy/checkpoint")?;
        if !matches!(self.mistake, Mistake::NewLogDirNotSynced | Mistake::RenameNotSynced) {
            self.fs.sync_dir("toy")?;
        }
        if self.mistake == Mistake::OldLogRemovedFirst {
            return Ok(());
        }
        self.fs.remove_file(&old)?;
        if self.mistake == Mistake::NewLogDirNotSynced { Ok(()) } else { self.fs.sync_dir("toy") }
    }
}

fn recover(fs: &dyn Fs) -> io::Result<Vec<u64>> {
    let mut numbers =
        if fs.exists("toy/checkpoint")? { read_records(fs, "toy/checkpoint")? } else { Vec::new() };
    let mut logs: Vec<u64> = fs
        .list("toy")?
        .iter()
        .filter_map(|entry| entry.name.strip_prefix("log-")?.parse().ok())
        .collect();
    logs.sort_unstable();
    for log in logs {
        for number in read_records(fs, &format!("toy/log-{log}"))? {
            if number >= numbers.len() as u64 {
                numbers.push(number);
            }
        }
    }
    Ok(numbers)
}

/// Adds numbers until the process ends; the numbers below the result are acknowledged.
fn run(fs: &dyn Fs, mistake: Mistake) -> u64 {
    let Ok(mut toy) = Toy::open(fs, mistake) else { return 0 };
    (0..12).find(|number| toy.add(*number).is_err()).unwrap_or(12)
}

/// Crashes the toy at every call in several ways and counts the crashes that lost or invented data.
fn violations(mistake: Mistake) -> usize {
    let calls = {
        let (sim, fs) = disk();
        assert_eq!(run(&*fs, mistake), 12);
        sim.fs.calls()
    };
    let mut violations = 0;
    for at in 0..=calls {
        for seed in 0..8 {
            let (sim, fs) = disk();
            sim.fs.crash_at_call(at);
            let acknowledged = run(&*fs, mistake);
            if seed == 0 {
                sim.fs.drop_unsynced();
            } else {
                sim.fs.crash(seed * 1000 + at);
            }
            let fs = sim.env().fs;
            let found = if fs.exists("toy").unwrap() { recover(&*fs).unwrap() } else { Vec::new() };
            let whole = found.iter().copied().eq(0..found.len() as u64);
            let found = found.len() as u64;
            if !whole || found < acknowledged || found > acknowledged + 1 {
                violations += 1;
            }
        }
    }
    violations
}

#[test]
fn correct_protocol_survives_a_crash_at_every_call() {
    assert_eq!(violations(Mistake::None), 0);
}

#[test]
fn missing_syncs_are_detected() {
    let mistakes = [
        Mistake::LogNotSynced,
        Mistake::NewLogDirNotSynced,
        Mistake::CheckpointNotSynced,
        Mistake::RenameNotSynced,
        Mistake::OldLogRemovedFirst,
    ];
    for mistake in mistakes {
        assert!(violations(mistake) > 0, "{mistake:?}");
    }
}

#[test]
fn correct_protocol_survives_a_kill_at_every_call() {
    for at in 0..200 {
        let (sim, fs) = disk();
        sim.fs.crash_at_call(at);
        let acknowledged = run(&*fs, Mistake::None);
        sim.fs.kill();
        let fs = sim.env().fs;
        let found = if fs.exists("toy").unwrap() { recover(&*fs).unwrap().len() as u64 } else { 0 };
        assert!((acknowledged..=acknowledged + 1).contains(&found), "call {at}");
    }
}

#[test]
fn crash_outcome_is_determined_by_seed() {
    let outcome = |seed| {
        let sim = SimEnv::new(seed);
        sim.fs.crash_at_call(37);
        run(&*sim.env().fs, Mistake::LogNotSynced);
        sim.fs.crash(seed);
        (sim.fs.files(), sim.fs.calls(), sim.env().rng.next_u64())
    };
    assert_eq!(outcome(3), outcome(3));
    assert!((0..20).any(|seed| outcome(seed).0 != outcome(3).0));
}

#[test]
fn names_are_durable_after_directory_sync() {
    let (sim, fs) = disk();
    fs.create_dir_all("d/e").unwrap();
    write(&*fs, "d/e/f", b"x").unwrap();
    fs.sync_dir("d/e").unwrap();
    fs.sync_dir("d").unwrap();
    sim.fs.drop_unsynced();
    assert!(!sim.env().fs.exists("d").unwrap(), "the root was not synced");

    let fs = sim.env().fs;
    fs.create_dir_all("d/e").unwrap();
    for directory in ["", "d"] {
        fs.sync_dir(directory).unwrap();
    }
    write(&*fs, "d/e/f", b"x").unwrap();
    sim.fs.drop_unsynced();
    let fs = sim.env().fs;
    assert!(fs.exists("d/e").unwrap() && !fs.exists("d/e/f").unwrap());
}

#[test]
fn rename_is_atomic() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..64 {
        let (sim, fs) = disk();
        fs.create_dir_all("a").unwrap();
        fs.create_dir_all("b").unwrap();
        write(&*fs, "a/f", b"new").unwrap();
        write(&*fs, "b/f", b"old").unwrap();
        for directory in ["", "a", "b"] {
            fs.sync_dir(directory).unwrap();
        }
        fs.rename("a/f", "b/f").unwrap();
        fs.remove_file("b/f").unwrap();
        sim.fs.crash(seed);
        let files: Vec<_> = sim
            .fs
            .files()
            .into_iter()
            .map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
            .collect();
        seen.insert(format!("{files:?}"));
    }
    let expected = [r#"[("a/f", "new"), ("b/f", "old")]"#, r#"[("b/f", "new")]"#, "[]"];
    assert_eq!(seen, expected.into_iter().map(str::to_owned).collect());
}

#[test]
fn directory_sync_commits_both_sides_of_a_move() {
    let (sim, fs) = disk();
    fs.create_dir_all("a").unwrap();
    fs.create_dir_all("b").unwrap();
    fs.sync_dir("").unwrap();
    write(&*fs, "a/f", b"x").unwrap();
    write(&*fs, "a/other", b"y").unwrap();
    fs.rename("a/f", "b/g").unwrap();
    fs.sync_dir("b").unwrap();
    sim.fs.drop_unsynced();
    assert_eq!(sim.fs.files().into_keys().collect::<Vec<_>>(), ["b/g"]);
}

#[test]
fn calls_and_handles_of_killed_process_fail() {
    let (sim, fs) = disk();
    let mut writer = fs.create("f").unwrap();
    let reader = fs.open("f").unwrap();
    let lock = fs.lock("LOCK", "me").unwrap().unwrap();
    sim.fs.kill();
    let next = sim.env().fs;
    assert!(writer.write_all(b"late").is_err() && writer.sync().is_err() && reader.len().is_err());
    assert!(
        fs.exists("f").is_err() && fs.remove_file("f").is_err() && fs.rename("f", "g").is_err()
    );
    let held = next.lock("LOCK", "the next").unwrap();
    drop(lock);
    assert!(held.is_some() && next.lock("LOCK", "a third").unwrap().is_none());
    assert_eq!(sim.fs.read("f").unwrap(), b"");
}

#[test]
fn crash_leaves_a_partial_write() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let sim = SimEnv::new(seed);
        let mut writer = sim.env().fs.create("f").unwrap();
        writer.write_all(b"whole").unwrap();
        sim.fs.crash_at_call(sim.fs.calls());
        assert!(writer.write_all(b"0123456789").is_err() && sim.fs.is_gone());
        assert_eq!(sim.fs.last_call(), Some((FsCall::Write, "f".to_owned())));
        sim.fs.kill();
        let bytes = sim.fs.read("f").unwrap();
        assert!(b"whole0123456789".starts_with(&bytes) && bytes.len() >= 5);
        lengths.insert(bytes.len());
    }
    assert!(lengths.len() > 3, "{lengths:?}");
}

#[test]
fn full_disk_accepts_partial_writes_until_space_is_freed() {
    let (sim, fs) = disk();
    sim.fs.set_capacity(Some(8));
    let mut writer = fs.create("f").unwrap();
    writer.write_all(b"12345").unwrap();
    let error = writer.write_all(b"67890").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(sim.fs.read("f").unwrap(), b"12345678");
    assert_eq!(fs.create("g").err().unwrap().kind(), io::ErrorKind::StorageFull);
    writer.truncate(5).unwrap();
    write(&*fs, "g", b"abc").unwrap();
    assert_eq!(sim.fs.used_bytes(), 8);
}

#[test]
fn read_only_disk_serves_reads_and_rejects_writes() {
    let (sim, fs) = disk();
    write(&*fs, "f", b"x").unwrap();
    sim.fs.set_read_only(true);
    let error = fs.create("g").err().unwrap();
    assert_eq!(halite_types::Error::io("file g", error).kind(), halite_types::ErrorKind::ReadOnly);
    assert!(fs.lock("LOCK", "me").is_err() && fs.remove_file("f").is_err());
    let mut byte = [0];
    fs.open("f").unwrap().read_exact_at(&mut byte, 0).unwrap();
    assert_eq!(&byte, b"x");
}

#[test]
fn injected_faults_affect_only_matching_calls() {
    let (sim, fs) = disk();
    sim.fs.inject(InjectedFault::next(FsCall::Sync, "wal", io::ErrorKind::Other).after(1));
    write(&*fs, "wal-1", b"x").unwrap();
    write(&*fs, "data", b"x").unwrap();
    let mut wal = fs.create("wal-2").unwrap();
    wal.write_all(b"lost").unwrap();
    assert_eq!(sim.fs.failures(), 0);
    assert!(wal.sync().unwrap_err().to_string().contains("injected"));
    assert_eq!(sim.fs.failures(), 1);
    wal.sync().unwrap();
    fs.sync_dir("").unwrap();
    sim.fs.drop_unsynced();
    assert_eq!(sim.fs.read("wal-2").unwrap(), [0; 4], "the second sync had nothing to write");

    let fs = sim.env().fs;
    sim.fs.inject(InjectedFault::next(FsCall::Read, "data", io::ErrorKind::Other).forever());
    let reader = fs.open("data").unwrap();
    assert!(
        reader.read_exact_at(&mut [0], 0).is_err() && reader.read_exact_at(&mut [0], 0).is_err()
    );
    sim.fs.clear_faults();
    reader.read_exact_at(&mut [0], 0).unwrap();
}

#[test]
fn files_can_be_corrupted_and_truncated() {
    let (sim, fs) = disk();
    sim.fs.write("a/b/f", b"hello".to_vec()).unwrap();
    let reader = fs.open("a/b/f").unwrap();
    sim.fs.corrupt("a/b/f", 1, 0x80).unwrap();
    assert!(sim.fs.corrupt("a/b/f", 5, 1).is_err());
    let mut bytes = [0; 5];
    reader.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, *b"h\xe5llo");
    sim.fs.cut("a/b/f", 2).unwrap();
    assert_eq!(
        reader.read_exact_at(&mut bytes, 0).unwrap_err().kind(),
        io::ErrorKind::UnexpectedEof
    );
    sim.fs.drop_unsynced();
    assert_eq!(sim.fs.read("a/b/f").unwrap(), b"h\xe5");
}

#[test]
fn directory_tree_behaves_as_a_file_system() {
    let (_sim, fs) = disk();
    fs.create_dir_all("a/b").unwrap();
    fs.create_dir_all("a/b").unwrap();
    write(&*fs, "a/f", b"xy").unwrap();
    let kind = |error: io::Error| error.kind();
    assert_eq!(fs.create("a/f").err().map(kind), Some(io::ErrorKind::AlreadyExists));
    assert_eq!(fs.create("x/f").err().map(kind), Some(io::ErrorKind::NotFound));
    assert_eq!(fs.append("a/g").err().map(kind), Some(io::ErrorKind::NotFound));
    assert_eq!(fs.remove_dir("a").map_err(kind), Err(io::ErrorKind::DirectoryNotEmpty));
    assert_eq!(fs.remove_file("a/b").map_err(kind), Err(io::ErrorKind::IsADirectory));
    assert_eq!(fs.rename("a", "a/b/c").map_err(kind), Err(io::ErrorKind::InvalidInput));
    assert_eq!(fs.open("../f").err().map(kind), Some(io::ErrorKind::InvalidInput));
    let names = |path: &str| {
        fs.list(path)
            .unwrap()
            .into_iter()
            .map(|entry| (entry.name, entry.is_dir, entry.bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(names("a"), [("b".to_owned(), true, 0), ("f".to_owned(), false, 2)]);
    let reader = fs.open("a/f").unwrap();
    fs.rename("a", "c").unwrap();
    fs.remove_file("c/f").unwrap();
    assert_eq!(reader.len().unwrap(), 2, "an open file outlives its name");
    fs.remove_dir("c/b").unwrap();
    fs.remove_dir("c").unwrap();
    assert_eq!(names(""), []);
    assert!(!fs.exists("c/f").unwrap() && fs.exists("").unwrap());
}

#[test]
fn clock_advances_only_on_request() {
    let (sim, _fs) = disk();
    let clock = sim.env().clock;
    let (now, monotonic) = (clock.now_ms(), clock.monotonic_ns());
    sim.clock.advance_ms(5);
    sim.clock.jump_ms(-100);
    assert_eq!((clock.now_ms() - now, clock.monotonic_ns() - monotonic), (-95, 5_000_000));
    assert!(
        sim.env()
            .threads
            .spawn("none", Box::new(|| panic!("there are no threads")))
            .unwrap()
            .is_none()
    );
}
