//! Creates and removes nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite::{
    BlockingCluster, BlockingTable, Error, Get, Index, IndexedRow as _, IndexedRows, Result,
    block_on, declare_tables,
};

use crate::key::{EntryKey, MoveKey, NodeKey, OwnerKey, TABLES};
use crate::node::{CHILD, ENTRY, Kind, NODE, Node, ROOT, VERSION, row_of_entry};

/// Files and directories, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct Files {
    /// Nodes, whose entries in directories and of owners follow them.
    pub(crate) nodes: Arc<IndexedRows<Node>>,
    pub(crate) node_rows: BlockingTable,
    pub(crate) entries: BlockingTable,
    pub(crate) by_owner: BlockingTable,
    pub(crate) moves: BlockingTable,
}

impl Files {
    /// Opens the tables of a namespace, and creates those that do not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, &TABLES.concat())?;
        let table = |name: &str| cluster.table(&format!("{namespace}:{name}"));
        let (node_rows, entries) = (table(NodeKey::TABLE)?, table(EntryKey::TABLE)?);
        let by_owner = table(OwnerKey::TABLE)?;
        let (id, names, owners) =
            ((ENTRY, CHILD), entries.inner().clone(), by_owner.inner().clone());
        // A name belongs to one node of a directory.
        let by_name = Index::unique(names, id, |node: &Node| node.entry().map(Some), row_of_entry);
        let nodes = IndexedRows::new(node_rows.inner().clone(), NODE, VERSION)
            .index(by_name)
            .index(Index::new(owners, id, Node::owner_entry, row_of_entry));
        let (nodes, moves) = (Arc::new(nodes), table(MoveKey::TABLE)?);
        Ok(Self { nodes, node_rows, entries, by_owner, moves })
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
        let parents: BTreeMap<u64, &Node> = nodes.iter().map(|node| (node.parent, node)).collect();
        let get = |id: &u64| Ok(Get::new(NodeKey { id: *id }.encode()?));
        let rows = self.node_rows.get_all(parents.keys().map(get).collect::<Result<_>>()?)?;
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
        block_on(self.nodes.insert(nodes))
    }

    /// Removes a file. Returns `false` if there is none with this id. Directories are not removed;
    /// move them to one whose contents are deleted.
    ///
    /// # Errors
    /// `InvalidRequest` for a directory; otherwise as [`BlockingTable::batch`].
    pub fn remove(&self, id: u64) -> Result<bool> {
        while let Some(node) = self.node(id)? {
            if node.kind == Kind::Directory {
                return Err(Error::invalid(format!(
                    "node {id} is a directory, which is not removed; remove its files"
                )));
            }
            // Others may move it meanwhile.
            if block_on(self.nodes.delete(&node))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a node by its id.
    pub fn node(&self, id: u64) -> Result<Option<Node>> {
        block_on(self.nodes.get(NodeKey { id }.encode()?.into()))
    }

    /// Completes what stopped writers left: a move of a directory, nodes without entries, and
    /// entries without nodes. Returns the number of rows that were not right. The scans read all
    /// tables; others may read and write meanwhile.
    pub fn repair(&self) -> Result<u64> {
        Ok(u64::from(self.complete_move()?) + block_on(self.nodes.repair())?)
    }
}
