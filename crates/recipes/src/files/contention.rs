//! Two directories that are moved into each other at the same time: one of the moves is refused.

use anyhow::{Result, ensure};
use files::{Kind, Node, ROOT};

use super::design::Design;
use crate::recipe::Verified;

/// Directories that no item names.
const DIRECTORIES: [u64; 2] = [u64::MAX - 1, u64::MAX];
const ROUNDS: u64 = 5;

/// Moves each directory into the other one, by two writers, several times.
pub(super) fn verify(design: &dyn Design) -> Result<Verified> {
    let [one, other] = DIRECTORIES;
    design.create(&DIRECTORIES.map(|id| Node {
        id,
        parent: ROOT,
        name: id.to_string(),
        kind: Kind::Directory,
        owner: "contention".to_owned(),
        size: 0,
        version: 0,
    }))?;
    let mut verified = Verified::default();
    for round in 0..ROUNDS {
        let moved = std::thread::scope(|scope| -> Result<[bool; 2]> {
            let other_move = scope.spawn(|| design.move_to(other, one, &other.to_string()));
            let moved = design.move_to(one, other, &one.to_string());
            let other_moved =
                other_move.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked"));
            Ok([moved?, other_moved?])
        })?;
        let parents = [parent(design, one)?, parent(design, other)?];
        ensure!(
            parents.contains(&ROOT),
            "round {round}: two directories are inside each other, and no path leads to them"
        );
        ensure!(
            parents == [if moved[0] { other } else { ROOT }, if moved[1] { one } else { ROOT }],
            "round {round}: {moved:?} was returned for two moves, and the directories are in \
             {parents:?}"
        );
        for id in DIRECTORIES {
            design.move_to(id, ROOT, &id.to_string())?;
        }
        verified.add(2, 2);
    }
    Ok(verified)
}

fn parent(design: &dyn Design, id: u64) -> Result<u64> {
    Ok(design.node(id)?.map_or(ROOT, |node| node.parent))
}
