//! Generated operations: directories, of which a few contain most files; files, whose names are
//! sometimes taken; moves of files and directories, and removals. Some arrive twice.

use files::{Kind, Node, ROOT};

use crate::random::Random;
use crate::recipe::Load;

/// Every tenth item is a directory.
const ITEMS_PER_DIRECTORY: u64 = 10;
/// Items after which the kinds of operations repeat.
const CYCLE: u64 = 20;
/// Place of the kinds in a cycle; the others are files.
const MOVE_FILE: u64 = 9;
const REMOVE: u64 = 18;
const MOVE_DIRECTORY: u64 = 19;
/// Names of files are numbers below this.
const NAMES: u64 = 400;
/// Files of one user in the mean.
const FILES_PER_USER: u64 = 50;
/// Items of a load in progress at the same time, at most.
const MAX_WRITERS: u64 = 64;
/// Items of a measurement, which follow those of the load, in progress at the same time.
const MAX_MEASURED: u64 = 4_096;
/// Id of the directory that contains all others.
pub(super) const TREE: u64 = 1;

/// Operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A file or directory is created.
    Create(Node),
    /// A node is moved to a directory, and named so there.
    Move {
        /// Id of the node.
        id: u64,
        /// Id of the directory.
        parent: u64,
        /// Name.
        name: String,
    },
    /// A file is removed.
    Remove {
        /// Its id.
        id: u64,
    },
}

impl Item {
    /// Returns the id of the node that is changed.
    pub fn id(&self) -> u64 {
        match self {
            Self::Create(node) => node.id,
            Self::Move { id, .. } | Self::Remove { id } => *id,
        }
    }
}

/// Generator of operations by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    pub(super) load: Load,
}

impl Generator {
    /// Creates the generator of a load.
    pub fn new(load: Load) -> Self {
        Self { load }
    }

    /// Returns the number of users, at least 4.
    pub fn users(&self) -> u64 {
        (self.load.items / FILES_PER_USER).max(4)
    }

    /// Returns the name of a user. Some names begin with others, and some contain the character
    /// that text keys use between fields.
    pub fn user(&self, rank: u64) -> String {
        if rank % 3 == 2 { format!("user_1_{rank}") } else { format!("user_{rank}") }
    }

    /// Returns an item: an operation, or the one before again, whose first reply was lost.
    pub fn item(&self, number: u64) -> Item {
        let is_directory = number.is_multiple_of(ITEMS_PER_DIRECTORY);
        let is_repeated = !is_directory && Random::new(self.load.seed, 1, number).one_in(50);
        self.operation(number - u64::from(is_repeated))
    }

    fn operation(&self, number: u64) -> Item {
        let mut random = Random::new(self.load.seed, 2, number);
        let cycles = number / CYCLE;
        match number % CYCLE {
            MOVE_FILE if cycles > 0 => Item::Move {
                id: random.below(cycles) * CYCLE + 2 + random.below(6),
                parent: self.directory(number, &mut random),
                name: random.below(NAMES).to_string(),
            },
            MOVE_DIRECTORY => Item::Move {
                // Any directory but the one that contains all.
                id: (1 + random.below(2 * cycles + 1)) * ITEMS_PER_DIRECTORY + 1,
                parent: self.directory(number, &mut random),
                name: format!("moved {number}"),
            },
            REMOVE if cycles > 0 => {
                Item::Remove { id: random.below(cycles) * CYCLE + 2 + random.below(6) }
            }
            place => Item::Create(self.created(number, place, &mut random)),
        }
    }

    fn created(&self, number: u64, place: u64, random: &mut Random) -> Node {
        let is_directory = place.is_multiple_of(ITEMS_PER_DIRECTORY);
        let name =
            if is_directory { format!("d{number}") } else { random.below(NAMES).to_string() };
        Node {
            id: number + 1,
            parent: if number == 0 { ROOT } else { self.directory(number, random) },
            name: if number == 0 { "tree".to_owned() } else { name },
            kind: if is_directory { Kind::Directory } else { Kind::File },
            owner: self.user(random.zipf(self.users())),
            size: if is_directory { 0 } else { 1 << random.below(24) },
            version: 0,
        }
    }

    /// Returns the id of a directory that was created some items before one, since the writers of a
    /// measurement are not in step. The first directories contain most.
    fn directory(&self, number: u64, random: &mut Random) -> u64 {
        let in_progress = if number < self.load.items { MAX_WRITERS } else { MAX_MEASURED };
        let before = number.saturating_sub(in_progress).div_ceil(ITEMS_PER_DIRECTORY).max(1);
        random.zipf(before) * ITEMS_PER_DIRECTORY + 1
    }

    /// Returns a move or a removal, of those among the first items.
    pub(super) fn change(&self, random: &mut Random, items: u64) -> Item {
        let places = [MOVE_FILE, REMOVE, MOVE_DIRECTORY];
        let cycle = 1 + random.below((items / CYCLE).max(2) - 1);
        let place = usize::try_from(random.below(places.len() as u64)).unwrap_or(0);
        self.operation(cycle * CYCLE + places[place])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn items_contain_what_a_check_needs() {
        let generator = Generator::new(Load { seed: 1, items: 2_000 });
        let (mut kinds, mut names, mut known) = (HashMap::new(), HashMap::new(), HashSet::new());
        for number in 0..2_000 {
            let item = generator.item(number);
            let kind = match &item {
                Item::Create(node) => {
                    known.insert(node.id);
                    *names.entry((node.parent, node.name.clone())).or_insert(0) += 1;
                    assert!(node.parent == ROOT || known.contains(&node.parent), "{node:?}");
                    node.kind == Kind::Directory
                }
                // The node may be one that an operation which arrived twice left out.
                Item::Move { parent, .. } => {
                    assert!(known.contains(parent), "{item:?}");
                    *kinds.entry("move").or_insert(0) += 1;
                    continue;
                }
                Item::Remove { .. } => {
                    *kinds.entry("remove").or_insert(0) += 1;
                    continue;
                }
            };
            *kinds.entry(if kind { "directory" } else { "file" }).or_insert(0) += 1;
        }
        assert!(
            kinds["directory"] > 190 && kinds["move"] > 190 && kinds["remove"] > 90,
            "{kinds:?}"
        );
        assert!(names.values().filter(|count| **count > 1).count() > 50);
    }
}
