//! Moves and renames: three rows, of which that of the node decides ([`halite::IndexedRows`]).
//!
//! Two moves of directories at the same time could put each of them into the other one. So a
//! directory is moved only while its move is in the single row of `moves`; a client that finds
//! another one there completes that first, so none waits for a program that has stopped. Each
//! attempt changes the version of the node, also one that is refused: a late one changes nothing.

use std::time::Duration;

use halite::{CheckAndMutate, Delete, Error, ErrorKind, Get, Put, Result, block_on};

use crate::files::Files;
use crate::key::{Move, MoveKey};
use crate::node::{Kind, Node, ROOT};

/// Family and column of the directory that is being moved.
const MOVE: &str = "m";
/// Attempts against others who move the same node, or other directories.
const MAX_ATTEMPTS: u32 = 100;
/// Time that another move takes, with its syncs.
const PAUSE: Duration = Duration::from_millis(2);

impl Files {
    /// Moves a node to a directory and gives it a name there; the same directory renames it.
    /// Returns `false` if there is no such node, the name is taken, or a directory would be inside
    /// itself. A node that is there already was moved before.
    ///
    /// # Errors
    /// `InvalidRequest` for an invalid name or a directory that does not exist; `Busy` if others
    /// moved the node before each attempt; otherwise as [`halite::BlockingTable::batch`].
    pub fn move_to(&self, id: u64, parent: u64, name: &str) -> Result<bool> {
        for attempt in 0..MAX_ATTEMPTS {
            let Some(node) = self.node(id)? else { return Ok(false) };
            if (node.parent, &node.name[..]) == (parent, name) {
                return Ok(true);
            }
            node.at(parent, name).check()?;
            if parent != ROOT && self.node(parent)?.is_none_or(|node| node.kind == Kind::File) {
                let reason = format!("node {id}: there is no directory {parent} to move it to");
                return Err(Error::invalid(format!("{reason}; create that first")));
            }
            let Node { parent: from, name: ref from_name, version, .. } = node;
            let one = Move { id, version, from, from_name, to: parent, to_name: name };
            let moved = match node.kind {
                Kind::File => self.execute(&one)?,
                Kind::Directory => self.execute_alone(&one, attempt)?,
            };
            if let Some(moved) = moved {
                return Ok(moved);
            }
        }
        let reason = format!("node {id}: others moved it before each of {MAX_ATTEMPTS} attempts");
        Err(Error::new(ErrorKind::Busy, format!("{reason}; move it later")))
    }

    /// Moves a directory while no other one is moved. Returns `None` if another one is or was.
    fn execute_alone(&self, one: &Move<'_>, attempt: u32) -> Result<Option<bool>> {
        let row = MoveKey { tree: ROOT }.encode()?.to_vec();
        let put = Put::new(row.clone()).add(MOVE, MOVE, &one.encode()?);
        let is_alone = CheckAndMutate::if_not_exists(row, MOVE, MOVE, put);
        if !self.moves.check_and_mutate(is_alone)? {
            let found = self.current_move()?;
            // The one who moves it is given time: all who wait would move it, too.
            std::thread::sleep(PAUSE * (1 + attempt / 4));
            if let Some(found) = found
                && self.current_move()?.as_ref() == Some(&found)
            {
                self.complete(&found)?;
            }
            return Ok(None);
        }
        // Others may have moved it between the read of the node and the row of the move.
        let is_current = self.node(one.id)?.is_some_and(|node| node.version == one.version);
        let moved = if is_current { self.execute(one)? } else { None };
        self.end(one)?;
        // A client that found the move in its row has completed it, if this one did not.
        let is_there = |node: Node| (node.parent, &node.name[..]) == (one.to, one.to_name);
        let is_done = self.node(one.id)?.is_some_and(is_there);
        Ok(moved.or(is_current.then_some(is_done)))
    }

    /// Completes the move of a directory that is in its row, if there is one.
    pub(crate) fn complete_move(&self) -> Result<bool> {
        let Some(found) = self.current_move()? else { return Ok(false) };
        self.complete(&found)?;
        Ok(true)
    }

    /// Completes a move that was in its row.
    fn complete(&self, found: &[u8]) -> Result<()> {
        let one = Move::decode(found)?;
        self.execute(&one)?;
        self.end(&one)
    }

    /// Returns the move of a directory that is in its row.
    fn current_move(&self) -> Result<Option<Vec<u8>>> {
        let row = self.moves.get(Get::new(MoveKey { tree: ROOT }.encode()?))?;
        Ok(row.value(MOVE, MOVE).map(<[u8]>::to_vec))
    }

    /// Removes a move from its row, if it is there.
    fn end(&self, one: &Move<'_>) -> Result<()> {
        let row = MoveKey { tree: ROOT }.encode()?.to_vec();
        let (delete, bytes) = (Delete::new(row.clone()), one.encode()?.to_vec());
        let is_there = CheckAndMutate::if_equals(row, MOVE, MOVE, bytes, delete);
        self.moves.check_and_mutate(is_there).map(drop)
    }

    /// Executes a move. Returns whether it was; `None` if another client changed the node.
    fn execute(&self, one: &Move<'_>) -> Result<Option<bool>> {
        let Some(node) = self.node(one.id)? else { return Ok(Some(false)) };
        let (old, new) = (node.at(one.from, one.from_name), node.at(one.to, one.to_name));
        if node.version != one.version {
            // Its entries follow it, if the client that changed it has stopped.
            block_on(self.nodes.settle(&[&new, &old]))?;
            return Ok(None);
        }
        if self.is_inside(one.to, &node)? {
            return Ok(block_on(self.nodes.replace(&node, &node))?.map(|_| false));
        }
        block_on(self.nodes.replace(&node, &new))
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
}
