//! Model of the tree in memory.

use std::collections::BTreeMap;

use files::{Entry, Kind, Node, ROOT};

use super::design::List;
use super::generator::Item;

/// Nodes by id, and ids by directory and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    nodes: BTreeMap<u64, Node>,
    names: BTreeMap<(u64, String), u64>,
}

impl Oracle {
    /// Applies an operation. Returns what a design returns for it.
    pub(super) fn apply(&mut self, item: &Item) -> bool {
        match item {
            Item::Create(node) => self.create(node),
            Item::Move { id, parent, name } => self.move_to(*id, *parent, name),
            Item::Remove { id } => match self.nodes.remove(id) {
                Some(node) => self.names.remove(&(node.parent, node.name)).is_some(),
                None => false,
            },
        }
    }

    fn create(&mut self, node: &Node) -> bool {
        if self.nodes.contains_key(&node.id) {
            return true;
        }
        let name = (node.parent, node.name.clone());
        if self.names.contains_key(&name) {
            return false;
        }
        self.names.insert(name, node.id);
        self.nodes.insert(node.id, node.clone());
        true
    }

    fn move_to(&mut self, id: u64, parent: u64, name: &str) -> bool {
        let Some(node) = self.nodes.get(&id) else { return false };
        let (from, to) = ((node.parent, node.name.clone()), (parent, name.to_owned()));
        if from == to {
            return true;
        }
        if self.names.contains_key(&to) || self.is_inside(parent, id) {
            return false;
        }
        self.names.remove(&from);
        self.names.insert(to, id);
        if let Some(node) = self.nodes.get_mut(&id) {
            (node.parent, node.name) = (parent, name.to_owned());
        }
        true
    }

    fn is_inside(&self, mut directory: u64, other: u64) -> bool {
        while directory != ROOT && directory != other {
            directory = self.nodes.get(&directory).map_or(ROOT, |node| node.parent);
        }
        directory == other
    }

    /// Returns a node, without its version.
    pub(super) fn node(&self, id: u64) -> Option<Node> {
        self.nodes.get(&id).cloned()
    }

    /// Returns all nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Returns the path of a node.
    pub(super) fn path(&self, id: u64) -> String {
        match self.nodes.get(&id) {
            Some(node) => format!("{}/{}", self.path(node.parent), node.name),
            None => String::new(),
        }
    }

    /// Returns all lists, each in the order of its table.
    pub(super) fn lists(&self) -> BTreeMap<List, Vec<Entry>> {
        let mut lists: BTreeMap<List, Vec<Entry>> = BTreeMap::new();
        for id in self.names.values() {
            let Some(node) = self.nodes.get(id) else { continue };
            let entry = entry(node);
            lists.entry(List::Directory(node.parent)).or_default().push(entry.clone());
            if node.kind == Kind::Directory {
                lists.entry(List::Directory(node.id)).or_default();
                continue;
            }
            let owner = || node.owner.clone();
            lists.entry(List::OwnerIn(owner(), node.parent)).or_default().push(entry.clone());
            lists.entry(List::Owner(owner())).or_default().push(entry);
        }
        lists
    }

    /// Returns everything below a directory, each directory followed by what is in it.
    pub(super) fn walk(&self, directory: u64) -> Vec<(usize, Entry)> {
        let mut found = Vec::new();
        self.walk_into(directory, 0, &mut found);
        found
    }

    fn walk_into(&self, directory: u64, depth: usize, found: &mut Vec<(usize, Entry)>) {
        let names = (directory, String::new())..(directory + 1, String::new());
        for node in self.names.range(names).filter_map(|(_, id)| self.nodes.get(id)) {
            found.push((depth, entry(node)));
            if node.kind == Kind::Directory {
                self.walk_into(node.id, depth + 1, found);
            }
        }
    }
}

fn entry(node: &Node) -> Entry {
    let Node { id, parent, ref name, kind, size, .. } = *node;
    Entry { parent, name: name.clone(), id, kind, size }
}
