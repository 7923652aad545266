//! Files and directories, and their cells.

use halite::{Bytes, Error, IndexedRow, Put, Result, Row};

use crate::key::{EntryKey, NodeKey, OwnerKey};

/// Id of the directory that contains all others. It has no row.
pub const ROOT: u64 = 0;
/// Family of a node.
pub(crate) const NODE: &str = "n";
/// Column of its version.
pub(crate) const VERSION: &str = "v";
/// Family of an entry, and the column of its node's id.
pub(crate) const ENTRY: &str = "e";
pub(crate) const CHILD: &str = "c";

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Directory,
    File,
}

/// File or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Id, unique and never used again.
    pub id: u64,
    pub parent: u64,
    /// Name, unique in its directory.
    pub name: String,
    pub kind: Kind,
    pub owner: String,
    /// Bytes of a file; 0 for a directory.
    pub size: u64,
    /// Number of its moves, including those that were refused.
    pub version: u64,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Directory => "d",
            Self::File => "f",
        }
    }

    /// Returns the kind in a row of `nodes` or of another table.
    pub(crate) fn from_row(row: &Row, family: &str) -> Result<Self> {
        match row.value(family, "k") {
            Some(b"d") => Ok(Self::Directory),
            Some(b"f") => Ok(Self::File),
            other => Err(Error::corrupt(format!(
                "row {}: {family}:k is {:?}, neither d nor f; put the right one",
                halite::to_string_binary(row.key()),
                other.map(halite::to_string_binary)
            ))),
        }
    }
}

impl Node {
    pub(crate) fn check(&self) -> Result<()> {
        if self.id == ROOT || self.name.is_empty() || self.name.contains('/') {
            return Err(Error::invalid(format!(
                "node {} with the name {:?}: use another id than {ROOT}, and a name without '/'",
                self.id, self.name
            )));
        }
        Ok(())
    }

    /// Returns the same node in another place.
    pub(crate) fn at(&self, parent: u64, name: &str) -> Self {
        Self { parent, name: name.to_owned(), ..self.clone() }
    }

    /// Returns its row in `entries`.
    pub(crate) fn entry(&self) -> Result<Put> {
        Ok(self.entry_in(EntryKey { parent: self.parent, name: &self.name }.encode()?.into()))
    }

    /// Returns its row in `by_owner`, which directories do not have.
    pub(crate) fn owner_entry(&self) -> Result<Option<Put>> {
        let Self { owner, parent, name, .. } = self;
        let row = OwnerKey { owner, parent: *parent, name }.encode()?;
        Ok((self.kind == Kind::File).then(|| self.entry_in(row.into())))
    }

    fn entry_in(&self, row: Bytes) -> Put {
        Put::new(row)
            .add(ENTRY, CHILD, self.id.to_be_bytes())
            .add(ENTRY, "k", self.kind.name())
            .add(ENTRY, "s", self.size.to_be_bytes())
    }
}

impl IndexedRow for Node {
    fn row(&self) -> Result<Bytes> {
        Ok(NodeKey { id: self.id }.encode()?.into())
    }

    fn put(&self) -> Result<Put> {
        Ok(Put::new(self.row()?)
            .add(NODE, "p", self.parent.to_be_bytes())
            .add(NODE, "n", &self.name)
            .add(NODE, "k", self.kind.name())
            .add(NODE, "o", &self.owner)
            .add(NODE, "s", self.size.to_be_bytes())
            .add(NODE, VERSION, self.version.to_be_bytes()))
    }

    fn from_row(row: &Row) -> Result<Option<Self>> {
        if row.is_empty() {
            return Ok(None);
        }
        let text = |column: &str| row.text(NODE, column).unwrap_or_default();
        Ok(Some(Self {
            id: NodeKey::decode(row.key())?.id,
            parent: number(row, NODE, "p")?,
            name: text("n"),
            kind: Kind::from_row(row, NODE)?,
            owner: text("o"),
            size: number(row, NODE, "s")?,
            version: number(row, NODE, VERSION)?,
        }))
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn with_version(&self, version: u64) -> Self {
        Self { version, ..self.clone() }
    }
}

/// Returns the row of the node to which an entry leads.
pub(crate) fn row_of_entry(entry: &Row) -> Result<Bytes> {
    Ok(NodeKey { id: number(entry, ENTRY, CHILD)? }.encode()?.into())
}

/// Returns the number in a column.
pub(crate) fn number(row: &Row, family: &str, column: &str) -> Result<u64> {
    Ok(row.array(family, column)?.map(u64::from_be_bytes).unwrap_or_default())
}
