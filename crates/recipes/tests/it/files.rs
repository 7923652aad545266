//! Files: the tree equals the model, and the check fails for the mistakes of the tutorials.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use anyhow::Result;
use files::{Entry, Files, Kind, Node, NodeKey};
use halite::rowkey::{Page, PageToken};
use halite::{BlockingTable, FamilyDescriptor, Put, Row, Scan, TableDescriptor};
use halite_recipes::files::{Design, FILES, List};
use halite_recipes::{InProcessTarget, Load, Site, check};

use crate::backends;

const LOAD: Load = Load { seed: 5, items: 600 };

#[test]
fn p04_tree_equals_model_after_crash() {
    // The writer stops before each write of several operations, moves among them.
    let mut repaired = 0;
    for batches in (500..560).step_by(5) {
        let report = backends::check_embedded(&FILES, LOAD, batches).unwrap();
        repaired += report.repaired;
    }
    assert!(repaired > 0, "some of them stopped between the writes of an operation");
}

#[test]
fn p04_recipe_runs_through_client_and_server() {
    let load = Load { items: 200, ..LOAD };
    check(&FILES, load, &mut InProcessTarget::new(|| Ok(backends::connect()), 201)).unwrap();
}

#[test]
fn p04_directories_are_moved_with_all_that_is_in_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = backends::open(&directory);
    let files = Files::open(&store, "files").unwrap();
    let node = |id, parent, kind| Node {
        id,
        parent,
        name: format!("n{id}"),
        kind,
        owner: "ada".to_owned(),
        size: 1,
        version: 0,
    };
    files.create(&[node(1, 0, Kind::Directory), node(2, 0, Kind::Directory)]).unwrap();
    let children: Vec<Node> = (10..1_010).map(|id| node(id, 1, Kind::File)).collect();
    assert!(files.create(&children).unwrap().iter().all(|created| *created));
    assert!(files.move_to(1, 2, "moved").unwrap());
    assert!(!files.move_to(2, 1, "into itself").unwrap());
    assert_eq!(files.find("/n2/moved/n77").unwrap(), Some(77));
    assert_eq!(files.find("/n1/n77").unwrap(), None);
    assert_eq!(files.walk(2).unwrap().count(), 1_001);
    assert_eq!(files.repair().unwrap(), 0);
    // A move that is repeated after a lost reply, and one to a name that is taken.
    assert!(files.move_to(1, 2, "moved").unwrap());
    assert!(!files.move_to(10, 1, "n11").unwrap());
    let error = files.move_to(10, 11, "x").unwrap_err().to_string();
    assert!(error.contains("node 10: there is no directory 11 to move it to; create"), "{error}");
    let error = files.remove(1).unwrap_err().to_string();
    assert!(error.contains("is a directory"), "{error}");

    // Another program has damaged a node.
    let key = NodeKey { id: 10 }.encode().unwrap();
    store.table("files:nodes").unwrap().put(Put::new(key).add("n", "k", "x")).unwrap();
    let error = files.node(10).unwrap_err().to_string();
    assert!(error.contains("n:k is Some(\"x\"), neither d nor f; put the right"), "{error}");
}

/// Mistake in a design.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// E25: keys of the directory's id and the name without a boundary.
    NoBoundary,
    /// What a stopped writer left is not completed.
    NoRepair,
    /// A file whose name is taken replaces the other one.
    Overwrites,
    /// Moves of directories do not exclude one another.
    MovesTogether,
    /// A page is read by skipping the entries before it.
    Offset,
    /// A removed file is in no list, and its node remains.
    KeepsNodes,
}

struct Naive {
    mistake: Mistake,
    right: Files,
    /// Entries of directories and nodes by id.
    table: BlockingTable,
    meeting: Meeting,
}

/// Makes two writers wait for each other, between their check and their write.
#[derive(Default)]
struct Meeting {
    arrived: Mutex<u64>,
    changed: Condvar,
}

impl Meeting {
    fn meet(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        *arrived += 1;
        let own = *arrived;
        self.changed.notify_all();
        let is_alone = |arrived: &mut u64| own % 2 == 1 && *arrived == own;
        let limit = Duration::from_secs(2);
        drop(self.changed.wait_timeout_while(arrived, limit, is_alone).unwrap());
    }
}

impl Naive {
    fn open(site: &Site, mistake: Mistake) -> Result<Box<dyn Design>> {
        let right = Files::open(&site.cluster, &site.namespace)?;
        let name = format!("{}:naive", site.namespace);
        if !site.cluster.table_exists(&name)? {
            let table = TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("e"));
            site.cluster.create_table(table, &[])?;
        }
        let table = site.cluster.table(&name)?;
        Ok(Box::new(Self { mistake, right, table, meeting: Meeting::default() }))
    }

    /// Writes an entry with the key of the tutorial, `parentDirId + childDirId`.
    fn enter(&self, node: &Node) -> Result<()> {
        self.enter_at(format!("{}{}", node.parent, node.name), node)
    }

    fn enter_at(&self, key: String, node: &Node) -> Result<()> {
        let kind = if node.kind == Kind::File { "f" } else { "d" };
        let put = Put::new(key)
            .add("e", "p", node.parent.to_be_bytes())
            .add("e", "n", &node.name)
            .add("e", "c", node.id.to_be_bytes())
            .add("e", "k", kind)
            .add("e", "s", node.size.to_be_bytes());
        Ok(self.table.put(put)?)
    }

    /// Moves a directory after a check that others do not wait for.
    fn move_together(&self, id: u64, parent: u64, name: &str) -> Result<bool> {
        let is_contended = id >= u64::MAX - 1 && parent != 0;
        let mut above = parent;
        while above != 0 && above != id {
            above = self.parent(above)?;
        }
        if is_contended {
            self.meeting.meet();
        }
        if above == id {
            return Ok(false);
        }
        if is_contended || id >= u64::MAX - 1 {
            let put = Put::new(format!("parent of {id}")).add("e", "p", parent.to_be_bytes());
            self.table.put(put)?;
            return Ok(true);
        }
        Ok(self.right.move_to(id, parent, name)?)
    }

    fn parent(&self, id: u64) -> Result<u64> {
        let row = self.table.get(halite::Get::new(format!("parent of {id}")))?;
        match row.value("e", "p") {
            Some(parent) => Ok(u64::from_be_bytes(parent.try_into()?)),
            None => Ok(self.right.node(id)?.map_or(0, |node| node.parent)),
        }
    }
}

fn entry(row: &Row) -> Entry {
    let number =
        |column: &str| u64::from_be_bytes(row.value("e", column).unwrap().try_into().unwrap());
    let text = |column: &str| String::from_utf8_lossy(row.value("e", column).unwrap()).into_owned();
    let kind = if text("k") == "f" { Kind::File } else { Kind::Directory };
    Entry { parent: number("p"), name: text("n"), id: number("c"), kind, size: number("s") }
}

impl Design for Naive {
    fn create(&self, nodes: &[Node]) -> Result<Vec<bool>> {
        if self.mistake == Mistake::Overwrites {
            for node in nodes {
                let page = self.list(&List::Directory(node.parent), 10_000, None, 0)?;
                let taken = page.items.iter().find(|entry| entry.name == node.name);
                if let Some(taken) = taken.filter(|taken| taken.id != node.id) {
                    self.right.remove(taken.id)?;
                }
            }
        }
        let created = self.right.create(nodes)?;
        if self.mistake == Mistake::NoBoundary {
            nodes.iter().try_for_each(|node| self.enter(node))?;
        }
        Ok(created)
    }

    fn move_to(&self, id: u64, parent: u64, name: &str) -> Result<bool> {
        if self.mistake == Mistake::MovesTogether {
            return self.move_together(id, parent, name);
        }
        Ok(self.right.move_to(id, parent, name)?)
    }

    fn remove(&self, id: u64) -> Result<bool> {
        let node = self.right.node(id)?;
        if let Some(node) = node.filter(|_| self.mistake == Mistake::KeepsNodes) {
            self.enter_at(format!("node {id}"), &node)?;
        }
        Ok(self.right.remove(id)?)
    }

    fn node(&self, id: u64) -> Result<Option<Node>> {
        let node = self.right.node(id)?;
        if node.is_none() && self.mistake == Mistake::KeepsNodes {
            let row = self.table.get(halite::Get::new(format!("node {id}")))?;
            let kept = (!row.is_empty()).then(|| entry(&row));
            return Ok(kept.map(|Entry { parent, name, id, kind, size }| Node {
                id,
                parent,
                name,
                kind,
                owner: String::new(),
                size,
                version: 0,
            }));
        }
        if self.mistake != Mistake::MovesTogether {
            return Ok(node);
        }
        let parent = self.parent(id)?;
        Ok(node.map(|node| Node { parent, ..node }))
    }

    fn list(
        &self,
        list: &List,
        limit: usize,
        after: Option<&PageToken>,
        read: usize,
    ) -> Result<Page<Entry>> {
        if let (Mistake::NoBoundary, List::Directory(directory)) = (self.mistake, list) {
            let rows = self.table.scan(Scan::prefix(directory.to_string()));
            let rows = rows.collect::<halite::Result<Vec<_>>>()?;
            let mut entries: Vec<Entry> = rows.iter().map(entry).collect();
            entries.sort_by(|one, other| one.name.cmp(&other.name));
            let examined = entries.len() as u64;
            return Ok(Page { items: entries, next: None, examined });
        }
        if self.mistake == Mistake::Offset {
            let mut page = Design::list(&self.right, list, read + limit, None, 0)?;
            page.items.drain(..read.min(page.items.len()));
            return Ok(page);
        }
        Design::list(&self.right, list, limit, after, read)
    }

    fn find(&self, path: &str) -> Result<Option<u64>> {
        Ok(self.right.find(path)?)
    }

    fn walk(&self, directory: u64) -> Result<Vec<(usize, Entry)>> {
        Design::walk(&self.right, directory)
    }

    fn repair(&self) -> Result<u64> {
        if self.mistake == Mistake::NoRepair { Ok(0) } else { Ok(self.right.repair()?) }
    }
}

/// Checks a design whose writer stops after `batches`, and returns why it fails.
fn failure(design: fn(&Site) -> Result<Box<dyn Design>>, batches: u64) -> Option<String> {
    let checked = backends::check_embedded(&FILES.with_design(design), LOAD, batches);
    checked.err().map(|error| format!("{error:#}"))
}

#[test]
fn e25_keys_without_boundary_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::NoBoundary), 500).unwrap();
    assert!(why.contains("Directory(1): "), "{why}");
}

#[test]
fn p04_entries_that_are_not_repaired_fail_check() {
    let design: fn(&Site) -> Result<Box<dyn Design>> = |site| Naive::open(site, Mistake::NoRepair);
    let whys: Vec<String> =
        [300, 301, 302].into_iter().filter_map(|batches| failure(design, batches)).collect();
    assert!(!whys.is_empty(), "two of three stop inside an operation");
    assert!(whys.iter().all(|why| why.starts_with("after a crash")), "{whys:?}");
}

#[test]
fn p04_file_that_replaces_another_one_fails_check() {
    let why = failure(|site| Naive::open(site, Mistake::Overwrites), 500).unwrap();
    assert!(why.contains("node "), "{why}");
}

#[test]
fn p04_directories_moved_into_each_other_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::MovesTogether), 500).unwrap();
    assert!(why.contains("are inside each other"), "{why}");
}

#[test]
fn p04_pages_by_offset_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::Offset), 500).unwrap();
    assert!(why.contains("a page of ") && why.contains("examined"), "{why}");
}

#[test]
fn p04_nodes_of_removed_files_fail_check() {
    let why = failure(|site| Naive::open(site, Mistake::KeepsNodes), 500).unwrap();
    assert!(why.contains("and should not be there"), "{why}");
}
