//! Moves and renames: three rows, of which that of the node decides.
//!
//! A move reserves the new name, changes the node if no other client has, and removes the old name.
//! If it stops in between, the node is in one place, and the entries follow it ([`Files::repair`]).
//!
//! Two moves of directories at the same time could put each of them into the other one. So a
//! directory is moved only while its move is in the single row of `moves`; a client that finds
//! another one there completes that first, so none waits for a program that has stopped. Each
//! attempt changes the version of the node, also one that is refused: a late one changes nothing.

use halite::{CheckAndMutate, Delete, Error, ErrorKind, Get, Put, Result};

use crate::files::Files;
use crate::key::MoveKey;
use crate::node::{Kind, Node, ROOT};

/// Family and column of the directory that is being moved.
const MOVE: &str = "m";
/// Attempts against others who move the same node, or other directories.
const MAX_ATTEMPTS: usize = 100;
const NUMBERS: usize = 4;

/// Move of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    id: u64,
    /// Version of the node that is moved.
    version: u64,
    from: (u64, String),
    to: (u64, String),
}

impl Files {
    /// Moves a node to a directory and gives it a name there; the same directory renames it.
    /// Returns `false` if there is no such node, the name is taken, or a directory would be inside
    /// itself. A node that is there already was moved before.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid name or a directory that does not exist; `Busy` if others
    /// moved the node before each attempt; otherwise as [`halite::BlockingTable::batch`].
    pub fn move_to(&self, id: u64, parent: u64, name: &str) -> Result<bool> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(node) = self.node(id)? else { return Ok(false) };
            if node.is_at(parent, name) {
                return Ok(true);
            }
            node.at(parent, name).check()?;
            if parent != ROOT && self.node(parent)?.is_none_or(|node| node.kind == Kind::File) {
                return Err(Error::invalid(format!("there is no directory {parent}")));
            }
            let from = (node.parent, node.name.clone());
            let version = node.version;
            let one = Move { id, version, from, to: (parent, name.to_owned()) };
            let moved = match node.kind {
                Kind::File => self.execute(&one)?,
                Kind::Directory => self.execute_alone(&one)?,
            };
            if let Some(moved) = moved {
                return Ok(moved);
            }
        }
        let reason = format!("node {id}: others moved it before each of {MAX_ATTEMPTS} attempts");
        Err(Error::new(ErrorKind::Busy, reason))
    }

    /// Moves a directory while no other one is moved. Returns `None` if another one is or was.
    fn execute_alone(&self, one: &Move) -> Result<Option<bool>> {
        let row = MoveKey { tree: ROOT }.encode()?.to_vec();
        let put = Put::new(row.clone()).add(MOVE, MOVE, one.to_bytes());
        let is_alone = CheckAndMutate::if_not_exists(row, MOVE, MOVE, put);
        if !self.moves.check_and_mutate(is_alone)? {
            self.complete_move()?;
            return Ok(None);
        }
        // Others may have moved it between the read of the node and the row of the move.
        let is_current = self.node(one.id)?.is_some_and(|node| node.version == one.version);
        let moved = if is_current { self.execute(one)? } else { None };
        self.end(one)?;
        // A client that found the move in its row has completed it, if this one did not.
        Ok(moved.or(is_current.then_some(self.is_done(one)?)))
    }

    /// Completes the move of a directory that is in its row, if there is one.
    pub(crate) fn complete_move(&self) -> Result<bool> {
        let row = self.moves.get(Get::new(MoveKey { tree: ROOT }.encode()?))?;
        let Some(bytes) = row.value(MOVE, MOVE) else { return Ok(false) };
        let one = Move::from_bytes(bytes)?;
        self.execute(&one)?;
        self.end(&one)?;
        Ok(true)
    }

    /// Removes a move from its row, if it is there.
    fn end(&self, one: &Move) -> Result<()> {
        let row = MoveKey { tree: ROOT }.encode()?.to_vec();
        let delete = Delete::new(row.clone());
        let is_there = CheckAndMutate::if_equals(row, MOVE, MOVE, one.to_bytes(), delete);
        self.moves.check_and_mutate(is_there).map(drop)
    }

    fn is_done(&self, one: &Move) -> Result<bool> {
        Ok(self.node(one.id)?.is_some_and(|node| node.is_at(one.to.0, &one.to.1)))
    }

    /// Executes a move. Returns whether it was; `None` if another client changed the node.
    fn execute(&self, one: &Move) -> Result<Option<bool>> {
        let Some(node) = self.node(one.id)? else { return Ok(Some(false)) };
        let moved = node.at(one.to.0, &one.to.1);
        let mut outcome = None;
        if node.version == one.version {
            let is_allowed = !self.is_inside(one.to.0, &node)? && self.reserve(&moved)?;
            let place = if is_allowed { &moved } else { &node };
            let next = Node { version: one.version + 1, ..place.clone() };
            if self.nodes.check_and_mutate(node.if_unchanged(next.put()?)?)? {
                outcome = Some(is_allowed);
            }
        }
        self.settle(one)?;
        Ok(outcome)
    }

    /// Returns `true` if a directory is in another one, or is that one.
    fn is_inside(&self, mut directory: u64, other: &Node) -> Result<bool> {
        while other.kind == Kind::Directory && directory != ROOT {
            if directory == other.id {
                return Ok(true);
            }
            directory = self.node(directory)?.map_or(ROOT, |node| node.parent);
        }
        Ok(false)
    }

    /// Adds the entries of a place. Returns `false` if its name is taken.
    fn reserve(&self, node: &Node) -> Result<bool> {
        let row = node.entry_row()?;
        if !self.entries.mutate(node.add_entry(row.clone()))?.processed
            && self.child(row)? != Some(node.id)
        {
            return Ok(false);
        }
        if node.kind == Kind::File {
            self.by_owner.mutate(node.add_entry(node.owner_row()?))?;
        }
        Ok(true)
    }

    /// Makes both places of a move follow the node.
    fn settle(&self, one: &Move) -> Result<()> {
        let Some(node) = self.node(one.id)? else { return Ok(()) };
        for (parent, name) in [&one.to, &one.from] {
            if node.is_at(*parent, name) {
                self.reserve(&node)?;
            } else {
                self.leave(&node.at(*parent, name))?;
            }
        }
        Ok(())
    }
}

impl Move {
    /// Returns four numbers, the length of the first name, and both names.
    fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.id, self.version, self.from.0, self.to.0, self.from.1.len() as u64];
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        numbers.chain(self.from.1.bytes()).chain(self.to.1.bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = || Error::corrupt("the row of the move of a directory is damaged; delete it");
        let (numbers, names) = bytes.split_at_checked((NUMBERS + 1) * 8).ok_or_else(damaged)?;
        let [id, version, from, to, length] = numbers.as_chunks::<8>().0 else {
            return Err(damaged());
        };
        let number = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let length = usize::try_from(number(length)).map_err(|_| damaged())?;
        let (old, new) = names.split_at_checked(length).ok_or_else(damaged)?;
        let name = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| damaged());
        Ok(Self {
            id: number(id),
            version: number(version),
            from: (number(from), name(old)?),
            to: (number(to), name(new)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_read_as_they_were_written() {
        let one = Move { id: 1, version: 2, from: (3, "a".into()), to: (4, "long".into()) };
        assert_eq!(Move::from_bytes(&one.to_bytes()).unwrap(), one);
        let bytes = one.to_bytes();
        assert!((0..41).all(|length| Move::from_bytes(&bytes[..length]).is_err()));
    }
}
