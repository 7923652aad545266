//! The recipe on its tables: the tree changed, and read.

use std::io::Write;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use anyhow::{Result, ensure};
use files::{Entry, Kind, Node, ROOT};

use super::design::{Design, List};
use super::generator::{Generator, Item, TREE};
use super::verify::{oracle, verify, verify_absent};
use super::{contention, load};
use crate::bench::Part;
use crate::explain::NamedQuery;
use crate::recipe::{Application, Load, Outcome, Verified};

const SHOWN: usize = 5;
/// Nodes up to the root in a printed path, at most.
const MAX_DEPTH: usize = 1_000;

/// Files with the generator of the operations.
pub(super) struct FilesApplication {
    pub(super) design: Box<dyn Design>,
    pub(super) generator: Generator,
    /// Number of the next item that a measurement writes.
    pub(super) next_item: AtomicU64,
    path: OnceLock<String>,
}

impl FilesApplication {
    pub(super) fn new(design: Box<dyn Design>, load: Load) -> Self {
        let next_item = AtomicU64::new(load.items);
        Self { design, generator: Generator::new(load), next_item, path: OnceLock::new() }
    }

    /// Returns the longest path of some nodes.
    pub(super) fn path(&self) -> Result<&str> {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let path = deepest(&*self.design, &self.generator)?;
        Ok(self.path.get_or_init(|| path))
    }

    /// Executes an operation. Returns whether it had, or has, its effect.
    pub(super) fn execute(&self, item: &Item) -> Result<bool> {
        match item {
            Item::Create(node) => {
                let created = self.design.create(std::slice::from_ref(node))?;
                Ok(created.first().copied().unwrap_or_default())
            }
            Item::Move { id, parent, name } => self.design.move_to(*id, *parent, name),
            Item::Remove { id } => self.design.remove(*id),
        }
    }
}

/// Returns the longest path of some nodes.
fn deepest(design: &dyn Design, generator: &Generator) -> Result<String> {
    let mut longest = String::new();
    for number in (0..generator.load.items).rev().take(50) {
        let Some(mut node) = design.node(generator.item(number).id())? else { continue };
        let mut path = format!("/{}", node.name);
        for _ in 0..MAX_DEPTH {
            let Some(parent) = design.node(node.parent)? else { break };
            path = format!("/{}{path}", parent.name);
            node = parent;
        }
        let depth = |path: &str| path.matches('/').count();
        if depth(&path) > depth(&longest) {
            longest = path;
        }
    }
    Ok(longest)
}

impl Application for FilesApplication {
    fn write(&self, items: Range<u64>) -> Result<()> {
        // Files that follow one another are created together; each needs its directory before.
        let mut files: Vec<Node> = Vec::new();
        for number in items {
            match self.generator.item(number) {
                Item::Create(node) if node.kind == Kind::File => files.push(node),
                other => {
                    self.design.create(&std::mem::take(&mut files))?;
                    self.execute(&other)?;
                }
            }
        }
        self.design.create(&files).map(drop)
    }

    fn answer(&self, out: &mut dyn Write) -> Result<()> {
        let list = |list: &List, title: &str, out: &mut dyn Write| -> Result<()> {
            let page = self.design.list(list, SHOWN, None, 0)?;
            writeln!(out, "{title}: {} rows examined", page.examined)?;
            for Entry { name, id, kind, size, .. } in &page.items {
                let size = if *kind == Kind::File { size.to_string() } else { "directory".into() };
                writeln!(out, "  {name:<12} id {id:<7} {size:>10}")?;
            }
            Ok(())
        };
        list(&List::Directory(ROOT), "the root", out)?;
        list(&List::Directory(TREE), "its first directory", out)?;
        let owner = self.generator.user(0);
        list(&List::Owner(owner.clone()), &format!("files of {owner}"), out)?;
        let in_tree = List::OwnerIn(owner.clone(), TREE);
        list(&in_tree, &format!("files of {owner} in directory {TREE}"), out)?;
        let path = self.path()?;
        writeln!(out, "{path} is {:?}", self.design.find(path)?)?;
        let found = self.design.walk(TREE)?;
        let depth = found.iter().map(|(depth, _)| depth).max().unwrap_or(&0);
        let size: u64 = found.iter().map(|(_, entry)| entry.size).sum();
        writeln!(out, "{} nodes in {} levels, {size} bytes", found.len(), depth + 1)?;
        Ok(())
    }

    fn queries(&self) -> Vec<NamedQuery> {
        let owner = self.generator.user(0);
        vec![
            NamedQuery::new(
                "list of 1000",
                format!("the first entries of directory {TREE}"),
                "entries",
                [format!("parent={TREE}")],
            )
            .limit(load::PAGE_ENTRIES),
            NamedQuery::new(
                "path",
                "one of the names of a path",
                "entries",
                [format!("parent={TREE}"), "name=d10".to_owned()],
            ),
            NamedQuery::new("node", "a node by its id", "nodes", ["id=11".to_owned()]),
            NamedQuery::new(
                "files of user",
                format!("the files of {owner}"),
                "by_owner",
                [format!("owner={owner}")],
            )
            .limit(load::PAGE_ENTRIES),
            NamedQuery::new(
                "in directory",
                format!("the files of {owner} in directory {TREE}"),
                "by_owner",
                [format!("owner={owner}"), format!("parent={TREE}")],
            ),
        ]
    }

    fn next_item(&self) -> &AtomicU64 {
        &self.next_item
    }

    fn begin_operations(&self) -> Result<()> {
        self.path().map(drop)
    }

    fn operate(&self, number: u64, part: Part, outcome: &mut Outcome) -> Result<()> {
        load::operate(self, number, part, outcome)
    }

    fn repair(&self) -> Result<u64> {
        self.design.repair()
    }

    fn verify(&self, written: u64) -> Result<Verified> {
        let oracle = oracle(&*self.design, &self.generator, written)?;
        let mut verified = verify(&*self.design, &oracle)?;
        verified += verify_absent(&*self.design, &self.generator, &oracle, written)?;
        Ok(verified)
    }

    fn verify_while_writing(&self, items: Range<u64>) -> Result<Verified> {
        let mut oracle = oracle(&*self.design, &self.generator, items.start)?;
        for number in items {
            let item = self.generator.item(number);
            let (found, expected) = (self.execute(&item)?, oracle.apply(&item));
            ensure!(found == expected, "{item:?}: {found} was returned, expected {expected}");
        }
        contention::verify(&*self.design)
    }
}
