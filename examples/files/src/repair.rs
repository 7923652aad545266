//! Repair: entries that do not agree with their nodes, as a stopped writer leaves them.

use halite::{BlockingTable, Delete, Get, Result, Row, Scan};

use crate::files::Files;
use crate::key::{EntryKey, OwnerKey};
use crate::node::{Kind, Node};
use crate::queries::{Entry, entry};

/// Rows compared at once.
const REPAIR_ROWS: usize = 500;

impl Files {
    /// Completes what stopped writers left: a move of a directory, nodes without entries, and
    /// entries without nodes. Returns the number of rows that were not right. The scans read all
    /// tables; others may read and write meanwhile.
    pub fn repair(&self) -> Result<u64> {
        let mut repaired = u64::from(self.complete_move()?);
        repaired += self.remove_stale(&self.entries, |row| {
            let EntryKey { parent, name } = EntryKey::decode(row.key())?;
            Ok((None, entry(row, parent, name)?))
        })?;
        repaired += self.remove_stale(&self.by_owner, |row| {
            let OwnerKey { owner, parent, name } = OwnerKey::decode(row.key())?;
            Ok((Some(owner.to_owned()), entry(row, parent, name)?))
        })?;
        in_parts(&self.nodes, |rows| {
            for row in rows {
                if let Some(node) = Node::from_row(row)? {
                    repaired += self.enter_again(&node)?;
                }
            }
            Ok(())
        })?;
        Ok(repaired)
    }

    /// Removes the entries of a table whose nodes are not there.
    fn remove_stale(
        &self,
        table: &BlockingTable,
        decode: impl Fn(&Row) -> Result<(Option<String>, Entry)>,
    ) -> Result<u64> {
        let mut removed = 0;
        in_parts(table, |rows| {
            let entries = rows.iter().map(&decode).collect::<Result<Vec<_>>>()?;
            let gets = entries.iter().map(|(_, entry)| Ok(Get::new(Node::row(entry.id)?)));
            let nodes = self.nodes.get_all(gets.collect::<Result<_>>()?)?;
            for ((row, (owner, entry)), node) in rows.iter().zip(&entries).zip(nodes) {
                let is_right = Node::from_row(&node)?.is_some_and(|node| {
                    node.is_at(entry.parent, &entry.name)
                        && owner.as_ref().is_none_or(|owner| *owner == node.owner)
                });
                if !is_right {
                    let stale = Node {
                        id: entry.id,
                        parent: entry.parent,
                        name: entry.name.clone(),
                        kind: entry.kind,
                        owner: String::new(),
                        size: entry.size,
                        version: 0,
                    };
                    let remove = stale.remove_entry(row.key().to_vec().into());
                    removed += u64::from(table.mutate(remove)?.processed);
                }
            }
            Ok(())
        })?;
        Ok(removed)
    }

    /// Adds the entries of a node that are missing; removes the node if its name is taken.
    fn enter_again(&self, node: &Node) -> Result<u64> {
        let row = node.entry_row()?;
        let mut repaired = u64::from(self.entries.mutate(node.add_entry(row.clone()))?.processed);
        if self.child(row)? != Some(node.id) {
            let remove = node.if_unchanged(Delete::new(Node::row(node.id)?))?;
            return Ok(repaired + u64::from(self.nodes.check_and_mutate(remove)?));
        }
        if node.kind == Kind::File {
            let add = node.add_entry(node.owner_row()?);
            repaired += u64::from(self.by_owner.mutate(add)?.processed);
        }
        Ok(repaired)
    }
}

/// Reads a table in parts.
fn in_parts(table: &BlockingTable, mut visit: impl FnMut(&[Row]) -> Result<()>) -> Result<()> {
    let mut rows = table.scan(Scan::all());
    loop {
        let part = rows.by_ref().take(REPAIR_ROWS).collect::<Result<Vec<Row>>>()?;
        if part.is_empty() {
            return Ok(());
        }
        visit(&part)?;
    }
}
