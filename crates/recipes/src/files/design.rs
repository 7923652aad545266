//! Interface of a design of files: what the generator writes and what the check reads.

use anyhow::Result;
use files::{Entry, Files, Node};
use halite::rowkey::{Page, PageToken};

use crate::recipe::Site;

/// List of nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Nodes in a directory, by name.
    Directory(u64),
    /// Files of a user, by directory and name.
    Owner(String),
    /// Files of a user in a directory, by name.
    OwnerIn(String, u64),
}

/// Design of files.
pub trait Design: Send + Sync {
    /// Creates nodes, and returns for each of them `false` if its name was taken.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn create(&self, nodes: &[Node]) -> Result<Vec<bool>>;

    /// Moves or renames a node. Returns `false` if it does not exist, the name is taken, or a
    /// directory would be inside itself.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn move_to(&self, id: u64, parent: u64, name: &str) -> Result<bool>;

    /// Removes a file. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn remove(&self, id: u64) -> Result<bool>;

    /// Returns a node.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn node(&self, id: u64) -> Result<Option<Node>>;

    /// Returns a page of a list. `read` is the number of entries of the pages before.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn list(
        &self,
        list: &List,
        limit: usize,
        after: Option<&PageToken>,
        read: usize,
    ) -> Result<Page<Entry>>;

    /// Returns the id of a path.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn find(&self, path: &str) -> Result<Option<u64>>;

    /// Returns everything below a directory, with the depth of each entry.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn walk(&self, directory: u64) -> Result<Vec<(usize, Entry)>>;

    /// Completes interrupted writes. Returns the number of rows that were not right.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self) -> Result<u64>;
}

/// Opens the design of `examples/files`.
pub(super) fn files(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Files::open(&site.cluster, &site.namespace)?))
}

impl Design for Files {
    fn create(&self, nodes: &[Node]) -> Result<Vec<bool>> {
        Ok(Self::create(self, nodes)?)
    }

    fn move_to(&self, id: u64, parent: u64, name: &str) -> Result<bool> {
        Ok(Self::move_to(self, id, parent, name)?)
    }

    fn remove(&self, id: u64) -> Result<bool> {
        Ok(Self::remove(self, id)?)
    }

    fn node(&self, id: u64) -> Result<Option<Node>> {
        Ok(Self::node(self, id)?)
    }

    fn list(
        &self,
        list: &List,
        limit: usize,
        after: Option<&PageToken>,
        _: usize,
    ) -> Result<Page<Entry>> {
        Ok(match list {
            List::Directory(directory) => Self::list(self, *directory, limit, after)?,
            List::Owner(owner) => self.of_owner(owner, None, limit, after)?,
            List::OwnerIn(owner, directory) => {
                self.of_owner(owner, Some(*directory), limit, after)?
            }
        })
    }

    fn find(&self, path: &str) -> Result<Option<u64>> {
        Ok(Self::find(self, path)?)
    }

    fn walk(&self, directory: u64) -> Result<Vec<(usize, Entry)>> {
        Ok(Self::walk(self, directory)?.collect::<halite::Result<_>>()?)
    }

    fn repair(&self) -> Result<u64> {
        Ok(Self::repair(self)?)
    }
}
