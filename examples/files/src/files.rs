//! Creates and removes nodes.

use std::collections::BTreeMap;

use halite::{
    BlockingCluster, BlockingTable, Bytes, CheckAndMutate, Delete, Error, Get, Result, RowOp,
    declare_tables,
};

use crate::key::{EntryKey, MoveKey, NodeKey, OwnerKey, TABLES};
use crate::node::{CHILD, ENTRY, Kind, NODE, Node, ROOT, VERSION, number};

/// Files and directories, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Files {
    pub(crate) nodes: BlockingTable,
    pub(crate) entries: BlockingTable,
    pub(crate) by_owner: BlockingTable,
    pub(crate) moves: BlockingTable,
}

impl Files {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        Ok(Self {
            nodes: table(NodeKey::TABLE)?,
            entries: table(EntryKey::TABLE)?,
            by_owner: table(OwnerKey::TABLE)?,
            moves: table(MoveKey::TABLE)?,
        })
    }

    /// Creates files and directories, and returns for each of them `false` if its name was taken.
    /// One that exists already, as after a lost reply, is left as it is. A directory must exist
    /// before the nodes in it are created.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid name or a directory that does not exist, before any is
    /// written; otherwise as [`BlockingTable::batch`].
    pub fn create(&self, nodes: &[Node]) -> Result<Vec<bool>> {
        nodes.iter().try_for_each(Node::check)?;
        self.check_directories(nodes)?;
        let put = |node: &Node| -> Result<RowOp> {
            let row = Node::row(node.id)?;
            Ok(CheckAndMutate::if_not_exists(row, NODE, VERSION, node.put()?).into())
        };
        let puts = nodes.iter().map(put).collect::<Result<_>>()?;
        // The node is first: a writer that stops leaves one without an entry, which a repair adds.
        let is_new = batch(&self.nodes, puts)?;
        let new: Vec<&Node> =
            nodes.iter().zip(&is_new).filter_map(|(node, new)| new.then_some(node)).collect();
        let is_entered = self.enter(&new)?;
        let entered = new.iter().zip(&is_entered).filter_map(|(node, is)| is.then_some(*node));
        let files = entered.filter(|node| node.kind == Kind::File);
        let adds =
            files.map(|node| Ok(node.add_entry(node.owner_row()?))).collect::<Result<_>>()?;
        batch(&self.by_owner, adds)?;
        let mut is_entered = is_entered.into_iter();
        Ok(is_new.into_iter().map(|new| !new || is_entered.next().unwrap_or(true)).collect())
    }

    /// Adds the entries of new nodes, and removes the nodes whose names are taken.
    fn enter(&self, nodes: &[&Node]) -> Result<Vec<bool>> {
        let adds = nodes.iter().map(|node| Ok(node.add_entry(node.entry_row()?)));
        let mut is_entered = batch(&self.entries, adds.collect::<Result<_>>()?)?;
        for (node, is_entered) in nodes.iter().zip(&mut is_entered) {
            // A repair may have added it meanwhile.
            if !*is_entered && self.child(node.entry_row()?)? != Some(node.id) {
                let remove = node.if_unchanged(Delete::new(Node::row(node.id)?))?;
                self.nodes.check_and_mutate(remove)?;
            } else {
                *is_entered = true;
            }
        }
        Ok(is_entered)
    }

    fn check_directories(&self, nodes: &[Node]) -> Result<()> {
        let parents: BTreeMap<u64, &Node> = nodes.iter().map(|node| (node.parent, node)).collect();
        let get = |id: &u64| Ok(Get::new(Node::row(*id)?));
        let rows = self.nodes.get_all(parents.keys().map(get).collect::<Result<_>>()?)?;
        for ((parent, node), row) in parents.iter().zip(rows) {
            let is_directory =
                Node::from_row(&row)?.is_some_and(|parent| parent.kind == Kind::Directory);
            if *parent != ROOT && !is_directory {
                let id = node.id;
                return Err(Error::invalid(format!(
                    "node {id}: there is no directory {parent}; create that first"
                )));
            }
        }
        Ok(())
    }

    /// Removes a file. Returns `false` if there is none with this id. Directories are not removed;
    /// move them to one whose contents are deleted.
    ///
    /// # Errors
    /// `InvalidRequest` for a directory; otherwise as [`BlockingTable::batch`].
    pub fn remove(&self, id: u64) -> Result<bool> {
        loop {
            let Some(node) = self.node(id)? else { return Ok(false) };
            if node.kind == Kind::Directory {
                return Err(Error::invalid(format!("node {id} is a directory; remove its files")));
            }
            if self.nodes.check_and_mutate(node.if_unchanged(Delete::new(Node::row(id)?))?)? {
                self.leave(&node)?;
                return Ok(true);
            }
        }
    }

    /// Removes the entries of a node from the place that it was in.
    pub(crate) fn leave(&self, node: &Node) -> Result<()> {
        self.entries.mutate(node.remove_entry(node.entry_row()?))?;
        if node.kind == Kind::File {
            self.by_owner.mutate(node.remove_entry(node.owner_row()?))?;
        }
        Ok(())
    }

    /// Returns a node by its id.
    pub fn node(&self, id: u64) -> Result<Option<Node>> {
        Node::from_row(&self.nodes.get(Get::new(Node::row(id)?))?)
    }

    /// Returns the id in a row of `entries`.
    pub(crate) fn child(&self, row: Bytes) -> Result<Option<u64>> {
        let row = self.entries.get(Get::new(row))?;
        if row.is_empty() { Ok(None) } else { number(&row, ENTRY, CHILD).map(Some) }
    }
}

/// Applies operations with conditions, and returns for each whether its condition held.
pub(crate) fn batch(table: &BlockingTable, ops: Vec<RowOp>) -> Result<Vec<bool>> {
    Ok(table.apply_all(ops)?.iter().map(|result| result.processed).collect())
}
