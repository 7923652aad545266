//! Lists of directories and of owners, paths, and subtrees.

use halite::rowkey::{Page, PageToken};
use halite::{Get, Result, Row};

use crate::files::Files;
use crate::key::{EntryKey, OwnerKey};
use crate::node::{CHILD, ENTRY, Kind, ROOT, number};

/// Entries of a page of a subtree's walk.
const WALK_ENTRIES: usize = 1_000;

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
        self.entries.page(plan, after)?.try_map(|row| {
            let EntryKey { parent, name } = EntryKey::decode(row.key())?;
            entry(&row, parent, name)
        })
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
            entry(&row, parent, name)
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
        let mut found = Found::default();
        let mut pending =
            self.all(directory)?.into_iter().map(|entry| (0, entry)).collect::<Vec<_>>();
        pending.reverse();
        while let Some((depth, entry)) = pending.pop() {
            found.size += entry.size;
            if entry.kind == Kind::Directory {
                let below = self.all(entry.id)?;
                pending.extend(below.into_iter().rev().map(|entry| (depth + 1, entry)));
            }
            found.entries.push((depth, entry));
        }
        Ok(found)
    }

    /// Returns all entries of a directory.
    fn all(&self, directory: u64) -> Result<Vec<Entry>> {
        let (mut entries, mut after) = (Vec::new(), None);
        loop {
            let page = self.list(directory, WALK_ENTRIES, after.as_ref())?;
            entries.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(entries);
            }
        }
    }
}

pub(crate) fn entry(row: &Row, parent: u64, name: &str) -> Result<Entry> {
    Ok(Entry {
        parent,
        name: name.to_owned(),
        id: number(row, ENTRY, CHILD)?,
        kind: Kind::from_name(row.value(ENTRY, "k").unwrap_or_default())?,
        size: number(row, ENTRY, "s")?,
    })
}
