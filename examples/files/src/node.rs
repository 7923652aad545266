//! Files and directories, and their cells.

use halite::{Bytes, CheckAndMutate, Delete, Error, Put, Result, Row, RowOp};

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

    pub(crate) fn from_name(name: &[u8]) -> Result<Self> {
        match name {
            b"d" => Ok(Self::Directory),
            b"f" => Ok(Self::File),
            _ => Err(Error::corrupt("a node is neither a file nor a directory")),
        }
    }
}

impl Node {
    /// Returns its row in `nodes`.
    pub(crate) fn row(id: u64) -> Result<Bytes> {
        Ok(NodeKey { id }.encode()?.into())
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.id == ROOT || self.name.is_empty() || self.name.contains('/') {
            return Err(Error::invalid(format!(
                "node {} with the name {:?}: use another id than {ROOT}, and a name without '/'",
                self.id, self.name
            )));
        }
        Ok(())
    }

    /// Returns the put of the node.
    pub(crate) fn put(&self) -> Result<Put> {
        Ok(Put::new(Self::row(self.id)?)
            .add(NODE, "p", self.parent.to_be_bytes())
            .add(NODE, "n", &self.name)
            .add(NODE, "k", self.kind.name())
            .add(NODE, "o", &self.owner)
            .add(NODE, "s", self.size.to_be_bytes())
            .add(NODE, VERSION, self.version.to_be_bytes()))
    }

    /// Applies an operation on the node's row if it still has this version.
    pub(crate) fn if_unchanged(&self, then: impl Into<RowOp>) -> Result<CheckAndMutate> {
        let version = self.version.to_be_bytes().to_vec();
        Ok(CheckAndMutate::if_equals(Self::row(self.id)?, NODE, VERSION, version, then))
    }

    /// Returns the node of a row; `None` for an empty one.
    pub(crate) fn from_row(row: &Row) -> Result<Option<Self>> {
        if row.is_empty() {
            return Ok(None);
        }
        let text = |column: &str| row.text(NODE, column).unwrap_or_default();
        Ok(Some(Self {
            id: NodeKey::decode(row.key())?.id,
            parent: number(row, NODE, "p")?,
            name: text("n"),
            kind: Kind::from_name(row.value(NODE, "k").unwrap_or_default())?,
            owner: text("o"),
            size: number(row, NODE, "s")?,
            version: number(row, NODE, VERSION)?,
        }))
    }

    /// Returns `true` if it is in this place.
    pub(crate) fn is_at(&self, parent: u64, name: &str) -> bool {
        (self.parent, &self.name[..]) == (parent, name)
    }

    /// Returns the same node in another place.
    pub(crate) fn at(&self, parent: u64, name: &str) -> Self {
        Self { parent, name: name.to_owned(), ..self.clone() }
    }

    /// Returns its row in `entries`.
    pub(crate) fn entry_row(&self) -> Result<Bytes> {
        Ok(EntryKey { parent: self.parent, name: &self.name }.encode()?.into())
    }

    /// Returns its row in `by_owner`.
    pub(crate) fn owner_row(&self) -> Result<Bytes> {
        let Self { owner, parent, name, .. } = self;
        Ok(OwnerKey { owner, parent: *parent, name }.encode()?.into())
    }

    /// Returns the write of an entry, if there is none of that name.
    pub(crate) fn add_entry(&self, row: Bytes) -> RowOp {
        let put = Put::new(row.clone())
            .add(ENTRY, CHILD, self.id.to_be_bytes())
            .add(ENTRY, "k", self.kind.name())
            .add(ENTRY, "s", self.size.to_be_bytes());
        CheckAndMutate::if_not_exists(row, ENTRY, CHILD, put).into()
    }

    /// Returns the removal of an entry, if it is this node's.
    pub(crate) fn remove_entry(&self, row: Bytes) -> RowOp {
        let id = self.id.to_be_bytes().to_vec();
        CheckAndMutate::if_equals(row.clone(), ENTRY, CHILD, id, Delete::new(row)).into()
    }
}

/// Returns the number in a column.
pub(crate) fn number(row: &Row, family: &str, column: &str) -> Result<u64> {
    Ok(row.array(family, column)?.map(u64::from_be_bytes).unwrap_or_default())
}
