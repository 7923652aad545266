//! Lists of directories and of owners, paths, and subtrees.

use halite::rowkey::{Page, PageToken};
use halite::{Get, Result, Row, Scan};

use crate::files::Files;
use crate::key::{EntryKey, OwnerKey};
use crate::node::{CHILD, ENTRY, Kind, ROOT, number};

/// Node in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub parent: u64,
    pub name: String,
    pub id: u64,
    pub kind: Kind,
    pub size: u64,
}

/// Subtree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Entries with their depth, each directory followed by what is in it.
    pub entries: Vec<(usize, Entry)>,
    pub size: u64,
}

impl Files {
    /// Returns the entries of a directory by name.
    pub fn list(
        &self,
        directory: u64,
        limit: usize,
        after: Option<&PageToken>,
    ) -> Result<Page<Entry>> {
        let plan = EntryKey::scan().parent(directory).limit(limit).plan()?;
        self.entries.page(plan, after)?.try_map(|row| entry(&row, EntryKey::decode(row.key())?))
    }

    /// Returns the files of a user, by directory and name; those of one directory if it is given.
    pub fn of_owner(
        &self,
        owner: &str,
        directory: Option<u64>,
        limit: usize,
        after: Option<&PageToken>,
    ) -> Result<Page<Entry>> {
        let scan = OwnerKey::scan().owner(owner);
        let plan = match directory {
            Some(directory) => scan.parent(directory).limit(limit).plan()?,
            None => scan.limit(limit).plan()?,
        };
        self.by_owner.page(plan, after)?.try_map(|row| {
            let OwnerKey { parent, name, .. } = OwnerKey::decode(row.key())?;
            entry(&row, EntryKey { parent, name })
        })
    }

    /// Returns the id of a path such as `/photos/2024/cat.jpg`: a get for each of its names.
    pub fn find(&self, path: &str) -> Result<Option<u64>> {
        let mut id = ROOT;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let row = self.entries.get(Get::new(EntryKey { parent: id, name }.encode()?))?;
            if row.is_empty() {
                return Ok(None);
            }
            id = number(&row, ENTRY, CHILD)?;
        }
        Ok(Some(id))
    }

    /// Returns everything below a directory, in the order of names, and its bytes.
    pub fn walk(&self, directory: u64) -> Result<Found> {
        let (mut found, mut pending) = (Found::default(), self.reversed(directory, 0)?);
        while let Some((depth, entry)) = pending.pop() {
            found.size += entry.size;
            if entry.kind == Kind::Directory {
                pending.extend(self.reversed(entry.id, depth + 1)?);
            }
            found.entries.push((depth, entry));
        }
        Ok(found)
    }

    /// Returns all entries of a directory with their depth, the last one first.
    fn reversed(&self, directory: u64, depth: usize) -> Result<Vec<(usize, Entry)>> {
        let plan = EntryKey::scan().parent(directory).plan()?;
        let entries = self.entries.query(plan, Scan::all())?.map(|row| {
            let row = row?;
            Ok((depth, entry(&row, EntryKey::decode(row.key())?)?))
        });
        let mut entries = entries.collect::<Result<Vec<_>>>()?;
        entries.reverse();
        Ok(entries)
    }
}

fn entry(row: &Row, EntryKey { parent, name }: EntryKey<'_>) -> Result<Entry> {
    Ok(Entry {
        parent,
        name: name.to_owned(),
        id: number(row, ENTRY, CHILD)?,
        kind: Kind::from_name(row.value(ENTRY, "k"))?,
        size: number(row, ENTRY, "s")?,
    })
}
