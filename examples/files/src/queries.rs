//! Lists of directories and of owners, paths, and subtrees.

use halite::rowkey::{Page, PageToken};
use halite::{Get, Pages, Result, Row};

use crate::files::Files;
use crate::key::{EntryKey, OwnerKey};
use crate::node::{CHILD, ENTRY, Kind, ROOT, number};

/// Entries of a page of a walk.
const WALKED_ENTRIES: usize = 1_000;

/// Node in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub parent: u64,
    pub name: String,
    pub id: u64,
    pub kind: Kind,
    pub size: u64,
}

/// Entries of a subtree with their depth, each directory followed by what is in it. They are read
/// as they are taken: a page of each directory between the root and the current one is in memory.
pub struct Walk<'a> {
    files: &'a Files,
    /// Rest of each of these directories.
    directories: Vec<Pages<Entry>>,
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

    /// Returns everything below a directory, in the order of names.
    pub fn walk(&self, directory: u64) -> Result<Walk<'_>> {
        Ok(Walk { files: self, directories: vec![self.pages(directory)?] })
    }

    /// Returns all entries of a directory, which are read page by page.
    fn pages(&self, directory: u64) -> Result<Pages<Entry>> {
        let plan = EntryKey::scan().parent(directory).limit(WALKED_ENTRIES).plan()?;
        Ok(self.entries.pages(plan, |row| entry(&row, EntryKey::decode(row.key())?)))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<(usize, Entry)>;

    /// Returns the next entry; `None` after the last one and after an error.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let depth = self.directories.len().checked_sub(1)?;
            let Some(entry) = self.directories.last_mut()?.next() else {
                self.directories.pop();
                continue;
            };
            let found = entry.and_then(|entry| {
                if entry.kind == Kind::Directory {
                    self.directories.push(self.files.pages(entry.id)?);
                }
                Ok((depth, entry))
            });
            if found.is_err() {
                self.directories.clear();
            }
            return Some(found);
        }
    }
}

fn entry(row: &Row, EntryKey { parent, name }: EntryKey<'_>) -> Result<Entry> {
    Ok(Entry {
        parent,
        name: name.to_owned(),
        id: number(row, ENTRY, CHILD)?,
        kind: Kind::from_row(row, ENTRY)?,
        size: number(row, ENTRY, "s")?,
    })
}
