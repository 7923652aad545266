//! Outbox, fan-out, indexes and counted rows: a client stops at each of its writes, the store loses
//! power, and the repair completes what was begun, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use halite::rng::SplitMix64;
use halite::{
    Builder, Bytes, CheckAndMutate, CountedRows, ErrorKind, FamilyDescriptor, FanOut, FanOutJob,
    FanOutParts, Get, Index, IndexedRow, IndexedRows, Options, Outbox, OutboxRepair, Put, Result,
    Row, RowKey, RowOp, Scan, ShardedCounters, Store, Table, TableDescriptor, WalSync, block_on,
};
use halite_engine::env::sim::SimEnv;

use super::dying_table::Client;
use super::{format_row, reopen};

const TABLES: [&str; 3] = ["sent", "received", "by_word"];

fn create(store: &Store, names: &[&str]) {
    for name in names {
        let family = FamilyDescriptor::new("m").versions(3);
        let table = TableDescriptor::new(name.parse().unwrap()).family(family);
        store.create_table(table, &[]).unwrap();
    }
}

fn tables<const N: usize>(store: &Store, names: [&str; N]) -> [Arc<dyn Table>; N] {
    names.map(|name| store.table(name).unwrap().inner().clone())
}

/// Returns an outbox of messages `sender>receiver`, with one copy of the same cells and one that
/// has a column for each message.
fn outbox([sent, received, by_word]: [Arc<dyn Table>; 3]) -> Outbox {
    Outbox::new(sent)
        .versions(3)
        .copy_cells_to(received, |row| {
            let key = String::from_utf8_lossy(row.key()).into_owned();
            let (sender, receiver) = key.split_once('>').unwrap();
            Ok(Bytes::from(format!("{receiver}<{sender}")))
        })
        .copy_to(by_word, |row| {
            let put = |cell: halite::CellRef<'_>| {
                Put::new(cell.value().to_vec()).add_at("m", row.key(), cell.timestamp(), "x")
            };
            Ok(row.iter().map(put).collect())
        })
}

fn message(key: &'static str, at_ms: i64, text: &'static str) -> RowOp {
    Put::new(key).add_at("m", "t", at_ms, text).into()
}

fn edit(key: &'static str, at_ms: i64, text: &'static str) -> RowOp {
    let put = Put::new(key).add_at("m", "t", at_ms, text);
    let exists = halite::Condition::Column {
        family: "m".into(),
        qualifier: "t".into(),
        op: halite::CompareOp::NotEqual,
        value: None,
    };
    CheckAndMutate::new(key, exists, put).into()
}

fn contents(store: &Store, names: &[&str]) -> Vec<Vec<String>> {
    let rows = |name: &&str| {
        let table = store.table(*name).unwrap();
        let all = table.scan(Scan::all().versions(3));
        all.flat_map(|row| {
            let row: Row = row.unwrap();
            let key = String::from_utf8_lossy(row.key()).into_owned();
            format_row(&row).into_iter().map(move |cell| format!("{key} {cell}"))
        })
        .collect()
    };
    names.iter().map(rows).collect()
}

/// Runs a writer on a store of its own whose client stops at each of its writes, and what repairs
/// it. Returns the number of its writes.
fn stop_at_each_write(
    prepare: impl Fn(&Store),
    write: impl Fn(&Store, &Client) -> Result<()>,
    check: impl Fn(&Store, bool),
) -> u64 {
    for stops in 0.. {
        let mut finished = true;
        for applies_the_last in [false, true] {
            let sim = SimEnv::new(stops);
            let store = reopen(&sim);
            prepare(&store);
            let result = write(&store, &Client::new(stops, applies_the_last));
            let is_finished = result.is_ok();
            finished &= is_finished;
            assert!(is_finished || result.unwrap_err().kind() == ErrorKind::Stopped);
            sim.fs.crash(stops);
            drop(store);
            check(&reopen(&sim), is_finished);
        }
        if finished {
            return stops - 1;
        }
    }
    unreachable!("a writer ends")
}

#[test]
fn outbox_is_complete_after_a_stop_at_each_write() {
    let stops = stop_at_each_write(
        |store| create(store, &TABLES),
        |store, client| {
            let outbox = outbox(tables(store, TABLES).map(|table| client.table(&table)));
            block_on(outbox.send(vec![message("ada>grace", 5, "hello"), message("a>b", 6, "x")]))?;
            let edits = vec![edit("ada>grace", 7, "bye"), edit("eve>grace", 8, "bye")];
            assert_eq!(block_on(outbox.send(edits))?, [true, false]);
            Ok(())
        },
        |store, is_finished| {
            let outbox = outbox(tables(store, TABLES));
            let repaired = block_on(outbox.repair(0)).unwrap();
            assert!(!is_finished || repaired.missing == 0, "{repaired:?}");
            let again = OutboxRepair { missing: 0, ..repaired };
            assert_eq!(block_on(outbox.repair(0)).unwrap(), again);
            let [sent, received, by_word] = &contents(store, &TABLES)[..] else { panic!() };
            let copied =
                |cell: &String| cell.replace("ada>grace", "grace<ada").replace("a>b", "b<a");
            let mut expected_received: Vec<String> = sent.iter().map(copied).collect();
            expected_received.sort_by_key(|cell| cell.split(' ').next().unwrap().to_owned());
            assert_eq!(*received, expected_received);
            assert_eq!(by_word.len(), sent.len());
            if is_finished {
                let expected = ["a>b m:t@6=x", "ada>grace m:t@7=bye", "ada>grace m:t@5=hello"];
                assert_eq!(*sent, expected);
            }
        },
    );
    assert_eq!(stops, 6, "two sends to three tables");
}

#[test]
fn repair_compares_cells_since_a_time() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &TABLES);
    let outbox = outbox(tables(&store, TABLES));
    let sent = store.table("sent").unwrap();
    for at_ms in [5, 50] {
        sent.put(Put::new("ada>grace").add_at("m", "t", at_ms, "hello")).unwrap();
    }
    let repaired = |since_ms| block_on(outbox.repair(since_ms)).unwrap();
    assert_eq!(repaired(51), OutboxRepair::default());
    assert_eq!(repaired(6), OutboxRepair { examined: 1, missing: 2 });
    assert_eq!(repaired(0), OutboxRepair { examined: 1, missing: 2 });
    assert_eq!(repaired(0).missing, 0);
}

#[test]
fn operations_that_cannot_be_repeated_are_refused_before_a_write() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &TABLES);
    let outbox = outbox(tables(&store, TABLES));
    let bad: [RowOp; 3] = [
        Put::new("ada>grace").add("m", "t", "hello").into(),
        halite::Delete::new("ada>grace").into(),
        halite::Increment::new("ada>grace").add("m", "t", 1).into(),
    ];
    for bad in bad {
        let error = block_on(outbox.send(vec![message("a>b", 5, "x"), bad])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    }
    assert_eq!(contents(&store, &TABLES), vec![Vec::<String>::new(); 3]);
    assert!(block_on(outbox.send(Vec::new())).unwrap().is_empty());
}

#[derive(RowKey)]
#[row_key(salt(4, by = "follower"))]
struct FollowerKey {
    author: u64,
    follower: u64,
}

const FEED: [&str; 3] = ["jobs", "followers", "timelines"];
const FOLLOWERS: u64 = 25;

fn prepare_feed(store: &Store) {
    create(store, &FEED);
    let followers = store.table("followers").unwrap();
    for author in [1, 2] {
        for follower in 0..FOLLOWERS {
            let row = FollowerKey { author, follower }.encode().unwrap();
            followers.put(Put::new(row).add("m", "x", "x")).unwrap();
        }
    }
}

fn fan_out(jobs: Arc<dyn Table>) -> FanOut {
    FanOut::new(jobs, "m").part_rows(4)
}

/// Returns the parts of a job for the followers of the author.
fn parts_of(fan_out: &FanOut, job: &FanOutJob, followers: Arc<dyn Table>) -> Result<FanOutParts> {
    fan_out.parts(job, followers, FollowerKey::scan().author(1_u64).plan()?)
}

fn push(
    fan_out: &FanOut,
    job: &FanOutJob,
    [followers, timelines]: [Arc<dyn Table>; 2],
) -> Result<usize> {
    let mut parts = parts_of(fan_out, job, followers)?;
    let mut count = 0;
    while let Some(rows) = block_on(parts.next())? {
        let put =
            |row: &Row| Put::new(row.key().to_vec()).add_at("m", &job.row, 1, &job.payload).into();
        for result in block_on(timelines.batch(rows.iter().map(put).collect()))? {
            result?;
        }
        count += rows.len();
    }
    Ok(count)
}

fn check_pushed(store: &Store) {
    let pushed = contents(store, &["timelines"]).remove(0);
    assert_eq!(pushed.len() as u64, FOLLOWERS, "{pushed:?}");
    assert!(pushed.iter().all(|cell| cell.ends_with("m:post@1=hello")));
    assert!(contents(store, &["jobs"])[0].is_empty());
}

#[test]
fn fan_out_reaches_every_row_after_a_stop_at_each_write() {
    let stops = stop_at_each_write(
        prepare_feed,
        |store, client| {
            let [jobs, followers, timelines] =
                tables(store, FEED).map(|table| client.table(&table));
            let fan_out = fan_out(jobs);
            let job = block_on(fan_out.begin("post", "hello"))?;
            push(&fan_out, &job, [followers, timelines]).map(drop)
        },
        |store, is_finished| {
            let [jobs, followers, timelines] = tables(store, FEED);
            let fan_out = fan_out(jobs);
            let unfinished = block_on(fan_out.unfinished(None, 10)).unwrap();
            assert!(!is_finished || unfinished.is_empty());
            let pushed = contents(store, &["timelines"])[0].len() as u64;
            let was_begun = pushed > 0 || !unfinished.is_empty();
            for job in &unfinished {
                let tables = [followers.clone(), timelines.clone()];
                let count = push(&fan_out, job, tables).unwrap() as u64;
                // All parts but the last are not repeated.
                assert!(count <= FOLLOWERS - pushed + 4, "{count} of {pushed}");
            }
            if was_begun {
                check_pushed(store);
            }
        },
    );
    assert_eq!(stops, 15, "a begin, seven parts, six cursors, an end");
}

#[test]
fn two_programs_continue_one_job_after_the_same_cursor() {
    let store = reopen(&SimEnv::new(1));
    prepare_feed(&store);
    let [jobs, followers, _] = tables(&store, FEED);
    let fan_out = fan_out(jobs);
    let job = block_on(fan_out.begin("post", "hello")).unwrap();
    let parts = || parts_of(&fan_out, &job, followers.clone()).unwrap();
    let (mut one, mut other) = (parts(), parts());
    let keys = |rows: Option<Vec<Row>>| -> Vec<Vec<u8>> {
        rows.unwrap().iter().map(|row| row.key().to_vec()).collect()
    };
    assert_eq!(keys(block_on(one.next()).unwrap()), keys(block_on(other.next()).unwrap()));
    let second = keys(block_on(one.next()).unwrap());
    let third = keys(block_on(one.next()).unwrap());
    // The other one has not moved the cursor, and continues where it is.
    assert_eq!(keys(block_on(other.next()).unwrap()), third);
    assert_ne!(second, third);
    while block_on(one.next()).unwrap().is_some() {}
    assert_eq!(block_on(other.next()).unwrap(), None, "the job is finished");
    assert!(contents(&store, &["jobs"])[0].is_empty(), "a late cursor does not bring it back");
}

#[test]
fn end_of_an_old_run_leaves_a_job_that_began_again() {
    let store = reopen(&SimEnv::new(1));
    prepare_feed(&store);
    let [jobs, followers, _] = tables(&store, FEED);
    let fan_out = fan_out(jobs);
    let job = block_on(fan_out.begin("post", "hello")).unwrap();
    let mut old = parts_of(&fan_out, &job, followers.clone()).unwrap();
    let other = block_on(fan_out.begin("other", "")).unwrap();
    let mut other = parts_of(&fan_out, &other, followers).unwrap();
    let count = std::iter::from_fn(|| block_on(other.next()).unwrap()).count();
    // To the last part: the next call ends the job.
    for _ in 0..count {
        assert!(block_on(old.next()).unwrap().is_some());
    }
    block_on(fan_out.begin("post", "again")).unwrap();
    assert_eq!(block_on(old.next()).unwrap(), None);
    let left = block_on(fan_out.unfinished(None, 10)).unwrap();
    assert_eq!(left.iter().map(|job| &job.payload[..]).collect::<Vec<_>>(), [b"again"]);
}

#[test]
fn job_with_a_cursor_of_another_query_begins_again() {
    let store = reopen(&SimEnv::new(1));
    prepare_feed(&store);
    let [jobs, followers, timelines] = tables(&store, FEED);
    let fan_out = fan_out(jobs);
    let begun = block_on(fan_out.begin("post", "hello")).unwrap();
    let other = FollowerKey::scan().author(2_u64).plan().unwrap();
    let mut parts = fan_out.parts(&begun, followers.clone(), other).unwrap();
    for _ in 0..3 {
        block_on(parts.next()).unwrap();
    }
    let job = block_on(fan_out.unfinished(None, 1)).unwrap().remove(0);
    assert_ne!(job, begun);
    let tables = [followers.clone(), timelines];
    assert_eq!(push(&fan_out, &job, tables).unwrap() as u64, FOLLOWERS);
    check_pushed(&store);

    let limited = FollowerKey::scan().author(1_u64).limit(3).plan().unwrap();
    assert!(fan_out.parts(&job, followers, limited).is_err());
}

#[test]
fn row_that_is_no_job_is_reported_with_its_place() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &FEED);
    let fan_out = fan_out(tables(&store, FEED)[0].clone());
    let jobs = store.table("jobs").unwrap();
    jobs.put(Put::new("a").add("m", "p", "hello")).unwrap();
    let error = block_on(fan_out.unfinished(None, 10)).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains("row a"), "{error}");
    block_on(fan_out.begin("b", "hello")).unwrap();
    assert_eq!(block_on(fan_out.unfinished(Some(b"a"), 10)).unwrap().len(), 1);
    block_on(fan_out.finish("b")).unwrap();
    assert!(!jobs.exists(Get::new("b")).unwrap());
}

/// User with a name that no other one has, in a city.
#[derive(Clone, Debug, PartialEq)]
struct User {
    id: String,
    name: String,
    city: String,
    version: u64,
}

impl User {
    fn new(id: &str, name: &str, city: &str) -> Self {
        Self { id: id.into(), name: name.into(), city: city.into(), version: 0 }
    }

    fn entry(&self, key: String) -> Put {
        Put::new(key).add("m", "id", &self.id)
    }
}

impl IndexedRow for User {
    fn row(&self) -> Result<Bytes> {
        Ok(self.id.clone().into())
    }

    fn put(&self) -> Result<Put> {
        let put = Put::new(self.id.clone()).add("m", "name", &self.name).add("m", "c", &self.city);
        Ok(put.add("m", "version", self.version.to_be_bytes()))
    }

    fn from_row(row: &Row) -> Result<Option<Self>> {
        let Some(name) = row.text("m", "name") else { return Ok(None) };
        let version = row.array("m", "version")?.map(u64::from_be_bytes).unwrap_or_default();
        let (id, city) = (String::from_utf8_lossy(row.key()), row.text("m", "c").unwrap());
        Ok(Some(Self { id: id.into_owned(), name, city, version }))
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn with_version(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }
}

const USERS: [&str; 3] = ["users", "by_name", "by_city"];

fn users([rows, by_name, by_city]: [Arc<dyn Table>; 3]) -> IndexedRows<User> {
    let row_of = |entry: &Row| Ok(entry.value("m", "id").unwrap_or_default().to_vec().into());
    IndexedRows::new(rows, "m", "version")
        .index(Index::unique(
            by_name,
            ("m", "id"),
            |user: &User| Ok(Some(user.entry(user.name.clone()))),
            row_of,
        ))
        .index(Index::new(
            by_city,
            ("m", "id"),
            |user: &User| {
                let key = format!("{}|{}", user.city, user.id);
                Ok((!user.city.is_empty()).then(|| user.entry(key)))
            },
            row_of,
        ))
}

/// Returns the keys of the rows of each table.
fn user_keys(store: &Store) -> [Vec<String>; 3] {
    USERS.map(|name| {
        let rows = store.table(name).unwrap().scan(Scan::all());
        rows.map(|row| String::from_utf8_lossy(row.unwrap().key()).into_owned()).collect()
    })
}

/// Checks that entries and rows lead to each other.
fn assert_agree(store: &Store) {
    let [ids, names, cities] = user_keys(store);
    let all = users(tables(store, USERS));
    let found: Vec<User> =
        ids.iter().map(|id| block_on(all.get(id.clone().into())).unwrap().unwrap()).collect();
    let sorted = |mut keys: Vec<String>| {
        keys.sort();
        keys
    };
    assert_eq!(sorted(found.iter().map(|user| user.name.clone()).collect()), names);
    let in_cities = found.iter().filter(|user| !user.city.is_empty());
    assert_eq!(
        sorted(in_cities.map(|user| format!("{}|{}", user.city, user.id)).collect()),
        cities
    );
}

#[test]
fn entries_follow_their_rows_after_a_stop_at_each_write() {
    let stops = stop_at_each_write(
        |store| {
            create(store, &USERS);
            let all = users(tables(store, USERS));
            let there = [User::new("1", "ada", "london"), User::new("2", "alan", "london")];
            assert_eq!(block_on(all.insert(&there)).unwrap(), [true, true]);
        },
        |store, client| {
            let all = users(tables(store, USERS).map(|table| client.table(&table)));
            let new = [User::new("3", "grace", "york"), User::new("4", "ada", "rome")];
            assert_eq!(block_on(all.insert(&new))?, [true, false], "the name is taken");
            assert_eq!(block_on(all.insert(&new[..1]))?, [true], "it is there");
            let ada = block_on(all.get("1".into()))?.unwrap();
            let moved = User { name: "lovelace".into(), city: "turin".into(), ..ada.clone() };
            assert_eq!(block_on(all.replace(&ada, &moved))?, Some(true));
            assert_eq!(block_on(all.replace(&ada, &moved))?, None, "it was changed since");
            let current = block_on(all.get("1".into()))?.unwrap();
            assert_eq!(current, User { version: 1, ..moved });
            let taken = User { name: "alan".into(), city: String::new(), ..current.clone() };
            assert_eq!(block_on(all.replace(&current, &taken))?, Some(false));
            let refused = block_on(all.get("1".into()))?.unwrap();
            assert_eq!(refused, User { version: 2, ..current.clone() });
            assert!(!block_on(all.delete(&current))?, "it was changed since");
            assert!(block_on(all.delete(&refused))?);
            Ok(())
        },
        |store, is_finished| {
            let all = users(tables(store, USERS));
            let repaired = block_on(all.repair()).unwrap();
            assert!(!is_finished || repaired == 0, "{repaired}");
            assert_agree(store);
            assert_eq!(block_on(all.repair()).unwrap(), 0, "once");
            if is_finished {
                let [ids, names, _] = user_keys(store);
                assert_eq!(
                    (ids, names),
                    (vec!["2".into(), "3".into()], vec!["alan".to_owned(), "grace".to_owned(),])
                );
            }
        },
    );
    assert!(stops > 15, "{stops} writes");
}

#[test]
fn rows_whose_writer_stopped_get_their_entries_when_they_are_inserted_again() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &USERS);
    let all = users(tables(&store, USERS));
    block_on(all.insert(&[User::new("1", "ada", "london")])).unwrap();
    let again = [User::new("2", "grace", "york"), User::new("3", "ada", "rome")];
    let rows = store.table("users").unwrap();
    again.iter().for_each(|user| rows.put(user.put().unwrap()).unwrap());
    assert_eq!(block_on(all.insert(&again)).unwrap(), [true, false], "the name is taken");
    assert_agree(&store);
    assert_eq!(user_keys(&store)[0], ["1", "2"]);
    assert_eq!(block_on(all.repair()).unwrap(), 0);
}

#[test]
fn a_name_belongs_to_one_of_many_writers() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &USERS);
    let inserted: usize = std::thread::scope(|scope| {
        let write = |writer: u64| {
            let all = users(tables(&store, USERS));
            let user = |at: u64| User::new(&format!("{writer}-{at}"), &format!("name {at}"), "x");
            (0..20).filter(|at| block_on(all.insert(&[user(*at)])).unwrap() == [true]).count()
        };
        let writers: Vec<_> = (0..4).map(|writer| scope.spawn(move || write(writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(inserted, 20);
    assert_agree(&store);
    assert_eq!(block_on(users(tables(&store, USERS)).repair()).unwrap(), 0);
}

/// Two writers of each of three rows take names from one another while two repairs run: no row is
/// lost, and no two have one name.
#[test]
fn rows_keep_their_names_while_writers_and_repairs_run() {
    for seed in 0..3 {
        // The clock is a real one: a delete covers later puts of its millisecond.
        let directory = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.wal_sync = WalSync::Flush;
        let store = Builder::new().options(options).open(directory.path()).unwrap();
        create(&store, &USERS);
        let ids = ["1", "2", "3"];
        let all = || users(tables(&store, USERS));
        for id in ids {
            assert_eq!(block_on(all().insert(&[User::new(id, id, "x")])).unwrap(), [true]);
        }
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let rename = |id: &'static str, writer: u64| {
                let all = all();
                let mut random = SplitMix64::new(seed * 100 + writer);
                for _ in 0..150 {
                    let old = block_on(all.get(id.into())).unwrap().expect("no row is lost");
                    let name = format!("name {}", random.next_u64() % 4);
                    let city = format!("city {}", random.next_u64() % 2);
                    block_on(all.replace(&old, &User { name, city, ..old.clone() })).unwrap();
                }
            };
            let writers = ids.iter().flat_map(|id| [(*id, 1), (*id, 2)]).zip(0..);
            let writers: Vec<_> =
                writers.map(|((id, _), at)| scope.spawn(move || rename(id, at))).collect();
            let repairs: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            block_on(all().repair()).unwrap();
                        }
                    })
                })
                .collect();
            let ended: Vec<_> = writers.into_iter().map(ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::Relaxed);
            repairs.into_iter().for_each(|repair| repair.join().unwrap());
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
        let before = ids.map(|id| block_on(all().get(id.into())).unwrap().map(|user| user.name));
        block_on(all().repair()).unwrap();
        let after = ids.map(|id| block_on(all().get(id.into())).unwrap().map(|user| user.name));
        assert_eq!(after, before, "seed {seed}: a repair changes no row that was acknowledged");
        assert_agree(&store);
        assert_eq!(block_on(all().repair()).unwrap(), 0);
    }
}

#[test]
fn entry_without_the_column_of_its_index_is_refused() {
    let store = reopen(&SimEnv::new(1));
    create(&store, &USERS);
    let [rows, by_name, _] = tables(&store, USERS);
    let index = Index::unique(
        by_name,
        ("m", "other"),
        |user: &User| Ok(Some(user.entry("x".into()))),
        |_| Ok("x".into()),
    );
    let all = IndexedRows::new(rows, "m", "version").index(index);
    let error = block_on(all.insert(&[User::new("1", "ada", "x")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("no cell in the column of its index"), "{error}");
    assert!(user_keys(&store).iter().all(Vec::is_empty), "nothing is written before");
}

#[test]
fn counted_rows_are_counted_once_after_a_stop_at_each_write() {
    const LIKES: [&str; 2] = ["likes", "counts"];
    let counted = |[likes, counts]: [Arc<dyn Table>; 2]| {
        let counters = ShardedCounters::new(4, "m", "n").unwrap();
        CountedRows::new(likes, "m", "at", counts, counters)
    };
    let like = |user: &str| Put::new(format!("post,{user}")).add("m", "at", "5");
    let stops = stop_at_each_write(
        |store| create(store, &LIKES),
        |store, client| {
            let likes = counted(tables(store, LIKES).map(|table| client.table(&table)));
            for (user, is_new) in [("ada", true), ("ada", false), ("alan", true)] {
                assert_eq!(block_on(likes.add(b"post", like(user)))?, is_new, "{user}");
            }
            Ok(())
        },
        |store, is_finished| {
            let likes = counted(tables(store, LIKES));
            let name = |row: &Row| Ok(row.key().split(|byte| *byte == b',').next().unwrap().into());
            let repaired = block_on(likes.repair(name)).unwrap();
            assert!(!is_finished || repaired == 0, "{repaired}");
            let rows = store.table("likes").unwrap().scan(Scan::all()).count();
            assert_eq!(block_on(likes.count(b"post")).unwrap(), i64::try_from(rows).unwrap());
            // Sent again by a client whose reply was lost.
            for user in ["ada", "alan"] {
                block_on(likes.add(b"post", like(user))).unwrap();
            }
            assert_eq!(block_on(likes.count(b"post")).unwrap(), 2);
        },
    );
    assert!(stops > 3, "{stops} writes");
    let store = reopen(&SimEnv::new(1));
    create(&store, &LIKES);
    let error =
        block_on(counted(tables(&store, LIKES)).add(b"post", Put::new("r").add("m", "x", "")))
            .unwrap_err();
    assert!(error.to_string().contains("has a cell in m:at"), "{error}");
}
