//! Features: rankings equal the model, and the check fails for the mistakes of the tutorials.

use anyhow::Result;
use features::{Behavior, Entity, Features, Ranking, Vector};
use halite::rowkey::Page;
use halite::{
    Append, BlockingTable, ErrorKind, FamilyDescriptor, Get, Increment, Put, Scan, TableDescriptor,
};
use halite_recipes::features::{Design, FEATURES};
use halite_recipes::{InProcessTarget, Load, Site, check};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 800 };

#[test]
fn versions_are_neither_skipped_nor_written_after_their_time() {
    let directory = tempfile::tempdir().unwrap();
    let features = Features::open(&backends::open(&directory), "features").unwrap();
    let vector = |value| Vector { of: Entity::User(1), values: vec![value] };
    let used = || features.ranking(1, &[]).unwrap().user;
    features.write_vectors(1, &[vector(1.0)]).unwrap();
    features.switch_to(1).unwrap();
    // A batch that was not switched to.
    features.write_vectors(2, &[vector(2.0)]).unwrap();
    let error = features.write_vectors(3, &[vector(3.0)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.to_string().contains("those of version 2 first"), "{error}");
    assert_eq!(used(), Some(vec![1.0]));
    features.switch_to(2).unwrap();
    features.write_vectors(1, &[vector(9.0)]).unwrap();
    assert_eq!(used(), Some(vec![2.0]));
}

#[test]
fn p06_rankings_equal_model_after_crash() {
    // In the first vectors, between an event and its click, and in the second vectors.
    let mut repaired = 0;
    for batches in [1, 2, 298, 299, 300, 304, 305, 306, 360] {
        let report = backends::check_embedded(&FEATURES, LOAD, batches).unwrap();
        repaired += report.repaired;
        assert_eq!(report.after_crash.rows, report.after_crash.examined);
    }
    assert!(repaired > 0, "one of them stopped between an event and its click");
}

#[test]
fn p06_recipe_runs_through_client_and_server() {
    let load = Load { items: 200, ..LOAD };
    check(&FEATURES, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 80)).unwrap();
}

/// Mistake in a design.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E05: Append as an atomic increment.
    Append,
    /// An event that is delivered twice is counted twice.
    NoCondition,
    /// The clicks of a stopped writer are not counted.
    NoRepair,
    /// Vectors are replaced one after the other while readers use them.
    InPlace,
    /// A vector is two cells that are written one after the other.
    TwoCells,
    /// Readers use a version before it has been written.
    SwitchFirst,
    /// E06: the last events are a scan with a start and a limit, and without a stop.
    NoStop,
    /// The last events are found by reading all of a user.
    ReadsAll,
}

struct Naive {
    mistake: Mistake,
    right: Features,
    /// Clicks by item and day; vectors by entity.
    table: BlockingTable,
    /// Events by user, newest first.
    events: BlockingTable,
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let right = Features::open(&site.cluster, &site.namespace)?;
        let table = |name: &str| -> Result<BlockingTable> {
            let name = format!("{}:{name}", site.namespace);
            if !site.cluster.table_exists(&name)? {
                let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("n"));
                site.cluster.create_table(table, &[])?;
            }
            Ok(site.cluster.table(&name)?)
        };
        let (table, events) = (table("naive")?, table("naive_events")?);
        Ok(Box::new(Self { mistake, right, table, events }))
    }

    fn row(of: Entity) -> Vec<u8> {
        let (kind, number) = match of {
            Entity::User(user) => (b'u', user),
            Entity::Item(item) => (b'i', item),
        };
        [&[kind][..], &number.to_be_bytes()].concat()
    }

    fn is_stored_apart(&self) -> bool {
        matches!(self.mistake, Mistake::InPlace | Mistake::TwoCells)
    }

    /// Returns the vector of a row of cells `a` and `b`.
    fn vector(&self, of: Entity, version: u32) -> Result<Option<Vec<f32>>> {
        let row = self.table.get(Get::new(Self::row(of)))?;
        let column = |name: &str| match self.mistake {
            Mistake::TwoCells => format!("{name}{version}"),
            _ => name.to_owned(),
        };
        let Some(first) = row.value("n", column("a")) else { return Ok(None) };
        let second = row.value("n", column("b")).unwrap_or_default();
        let numbers = first.as_chunks::<4>().0.iter().chain(second.as_chunks::<4>().0);
        Ok(Some(numbers.map(|number| f32::from_be_bytes(*number)).collect()))
    }

    fn write_apart(&self, version: u32, vector: &Vector) -> Result<()> {
        let bytes: Vec<u8> = vector.values.iter().flat_map(|one| one.to_be_bytes()).collect();
        let row = Self::row(vector.of);
        if self.mistake == Mistake::InPlace {
            return Ok(self.table.put(Put::new(row).add("n", "a", bytes))?);
        }
        // The cells of a version; readers change to it when the first ones are there.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        self.table.put(Put::new(row.clone()).add("n", format!("a{version}"), first))?;
        self.right.switch_to(version)?;
        Ok(self.table.put(Put::new(row).add("n", format!("b{version}"), second))?)
    }
}

impl Design for Naive {
    fn write_vectors(&self, version: u32, vectors: &[Vector]) -> Result<()> {
        if self.is_stored_apart() {
            return vectors.iter().try_for_each(|vector| self.write_apart(version, vector));
        }
        if self.mistake == Mistake::SwitchFirst {
            self.right.switch_to(version)?;
        }
        Ok(self.right.write_vectors(version, vectors)?)
    }

    fn switch_to(&self, version: u32) -> Result<()> {
        Ok(self.right.switch_to(version)?)
    }

    fn version(&self) -> Result<u32> {
        Ok(self.right.version()?)
    }

    fn record(&self, behavior: &[Behavior]) -> Result<()> {
        for one in behavior {
            let is_new = !self.right.is_recorded(one)?;
            self.right.record(std::slice::from_ref(one))?;
            let day = i32::try_from(one.at_ms / 86_400_000)?.to_be_bytes();
            let row = Self::row(Entity::Item(one.item));
            match self.mistake {
                Mistake::Append if is_new && one.kind == "click" => {
                    self.table.append(Append::new(row).add("n", day, 1_i64.to_be_bytes()))?;
                }
                Mistake::NoCondition if one.kind == "click" => {
                    self.table.increment(Increment::new(row).add("n", day, 1))?;
                }
                Mistake::NoStop => {
                    let newest_first = (i64::MAX - one.at_ms).to_be_bytes();
                    let row = [one.user.to_be_bytes(), newest_first, one.id.to_be_bytes()].concat();
                    let put = Put::new(row)
                        .add("n", "i", one.item.to_be_bytes())
                        .add("n", "k", &one.kind);
                    self.events.put(put)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn is_recorded(&self, behavior: &Behavior) -> Result<bool> {
        Ok(self.right.is_recorded(behavior)?)
    }

    fn ranking(&self, user: u64, items: &[u64]) -> Result<Ranking> {
        let mut ranking = self.right.ranking(user, items)?;
        if self.is_stored_apart() {
            ranking.user = self.vector(Entity::User(user), ranking.version)?;
        }
        for item in &mut ranking.items {
            if self.is_stored_apart() {
                item.vector = self.vector(Entity::Item(item.item), ranking.version)?;
            }
            if matches!(self.mistake, Mistake::Append | Mistake::NoCondition) {
                let row = self.table.get(Get::new(Self::row(Entity::Item(item.item))))?;
                let clicks = row.iter().map(|cell| {
                    let day = i32::from_be_bytes(cell.qualifier().try_into().unwrap());
                    (day, i64::from_be_bytes(*cell.value().first_chunk().unwrap()))
                });
                item.clicks = clicks.collect();
            }
        }
        Ok(ranking)
    }

    fn recent(&self, user: u64, limit: usize) -> Result<Page<Behavior>> {
        match self.mistake {
            Mistake::NoStop => {
                let scan = Scan::all().start(user.to_be_bytes().to_vec()).limit(limit);
                let rows = self.events.scan(scan).collect::<halite::Result<Vec<_>>>()?;
                let behavior = rows.iter().map(|row| {
                    let number = |at: usize| {
                        u64::from_be_bytes(row.key()[at * 8..][..8].try_into().unwrap())
                    };
                    let item = row.value("n", "i").unwrap().try_into().unwrap();
                    let kind = String::from_utf8_lossy(row.value("n", "k").unwrap()).into_owned();
                    Behavior {
                        id: number(2),
                        user: number(0),
                        item: u64::from_be_bytes(item),
                        at_ms: i64::MAX - number(1).cast_signed(),
                        kind,
                    }
                });
                let behavior: Vec<_> = behavior.collect();
                Ok(Page { examined: behavior.len() as u64, items: behavior, next: None })
            }
            Mistake::ReadsAll => {
                let mut recent = self.right.recent(user, 100_000)?;
                recent.items.truncate(limit);
                Ok(recent)
            }
            _ => Ok(self.right.recent(user, limit)?),
        }
    }

    fn repair(&self) -> Result<u64> {
        if self.mistake == Mistake::NoRepair { Ok(0) } else { Design::repair(&self.right) }
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> String {
    let checked = backends::check_embedded(&FEATURES.with_design(design), LOAD, batches);
    format!("{:#}", checked.expect_err("the check finds the mistake"))
}

#[test]
fn e05_appended_clicks_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Append), 200);
    assert!(why.contains("clicks by day are"), "{why}");
}

#[test]
fn p06_clicks_counted_without_condition_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoCondition), 200);
    assert!(why.contains("clicks by day are"), "{why}");
}

#[test]
fn p06_clicks_that_are_not_repaired_fail_check() {
    let whys = [200, 201, 202].map(|batches| {
        let recipe = FEATURES.with_design(|site| Naive::open(site, Mistake::NoRepair));
        backends::check_embedded(&recipe, LOAD, batches).err().map(|error| format!("{error:#}"))
    });
    let whys: Vec<String> = whys.into_iter().flatten().collect();
    assert!(!whys.is_empty() && whys.iter().all(|why| why.contains("clicks by day")), "{whys:?}");
}

#[test]
fn p06_vectors_replaced_in_place_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::InPlace), 10);
    assert!(why.contains("its vector is another one"), "{why}");
}

#[test]
fn p06_vectors_of_two_cells_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::TwoCells), 2);
    assert!(why.contains("its vector is another one"), "{why}");
}

#[test]
fn p06_version_in_use_before_it_is_written_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::SwitchFirst), 1);
    assert!(why.contains("its vector is missing"), "{why}");
}

#[test]
fn e06_last_events_without_stop_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoStop), 300);
    assert!(why.contains("the last events are"), "{why}");
}

#[test]
fn p06_reading_all_events_of_a_user_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::ReadsAll), 300);
    assert!(why.contains("rows were examined for 50 events"), "{why}");
}
