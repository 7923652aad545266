//! Comparison of a design with the model.

use anyhow::{Result, ensure};
use files::{Kind, Node, ROOT};

use super::design::{Design, List};
use super::generator::{Generator, TREE};
use super::oracle::Oracle;
use crate::recipe::Verified;

/// Entries of a page: few, so that lists have several pages.
const PAGE_ENTRIES: usize = 7;

/// Returns the model of the items before `written`, and of the next one if it was written.
pub(super) fn oracle(design: &dyn Design, generator: &Generator, written: u64) -> Result<Oracle> {
    let mut oracle = Oracle::default();
    for number in 0..written {
        oracle.apply(&generator.item(number));
    }
    let next = generator.item(written);
    let mut after = oracle.clone();
    after.apply(&next);
    let found = design.node(next.id())?.map(unversioned);
    let is_written = found == after.node(next.id());
    Ok(if is_written { after } else { oracle })
}

/// Returns a node without the number of its moves.
fn unversioned(node: Node) -> Node {
    Node { version: 0, ..node }
}

/// Compares all nodes, lists and paths.
pub(super) fn verify(design: &dyn Design, oracle: &Oracle) -> Result<Verified> {
    let mut verified = Verified::default();
    for expected in oracle.nodes() {
        let found = design.node(expected.id)?.map(unversioned);
        ensure!(
            found.as_ref() == Some(expected),
            "node {}: it is {found:?}, expected {expected:?}",
            expected.id
        );
        let path = oracle.path(expected.id);
        let found = design.find(&path)?;
        ensure!(found == Some(expected.id), "path {path}: it is {found:?}, not {}", expected.id);
        verified.add(1, 1);
    }
    for (list, expected) in oracle.lists() {
        // There are others in the root.
        if list == List::Directory(ROOT) {
            continue;
        }
        verify_list(design, &list, &expected, &mut verified)?;
    }
    let expected = oracle.walk(TREE);
    let found = design.walk(TREE)?;
    ensure!(
        found == expected,
        "the tree has {} nodes, or is in another order; expected {}",
        found.len(),
        expected.len()
    );
    let files = oracle.nodes().filter(|node| node.kind == Kind::File);
    let size: u64 = files.map(|node| node.size).sum();
    let found: u64 = found.iter().map(|(_, entry)| entry.size).sum();
    ensure!(found == size, "the files have {found} bytes, expected {size}");
    verified.add(expected.len() as u64, 0);
    Ok(verified)
}

/// Checks that what was removed, and what could not be created because its name was taken, is
/// neither a node nor in a list of its user.
pub(super) fn verify_absent(
    design: &dyn Design,
    generator: &Generator,
    oracle: &Oracle,
    written: u64,
) -> Result<Verified> {
    let mut verified = Verified::default();
    // An item creates the node with the number after its own; the last item may be in progress.
    for id in (1..=written + 1).filter(|id| oracle.node(*id).is_none()) {
        let found = design.node(id)?;
        ensure!(found.is_none(), "node {id}: it is {found:?}, and should not be there");
        verified.add(0, 0);
    }
    let lists = oracle.lists();
    for owner in (0..generator.users()).map(|rank| List::Owner(generator.user(rank))) {
        if !lists.contains_key(&owner) {
            verify_list(design, &owner, &[], &mut verified)?;
        }
    }
    Ok(verified)
}

fn verify_list(
    design: &dyn Design,
    list: &List,
    expected: &[files::Entry],
    verified: &mut Verified,
) -> Result<()> {
    let (mut entries, mut after) = (Vec::new(), None);
    loop {
        let page = design.list(list, PAGE_ENTRIES, after.as_ref(), entries.len())?;
        let returned = page.items.len() as u64;
        ensure!(
            page.examined <= returned,
            "{list:?}: a page of {returned} entries examined {} rows",
            page.examined
        );
        verified.add(returned, page.examined);
        entries.extend(page.items);
        after = page.next;
        // Pages that repeat entries may have no end.
        if after.is_none() || entries.len() > expected.len() {
            break;
        }
    }
    let at = entries.iter().zip(expected).take_while(|(one, other)| one == other).count();
    ensure!(
        entries == expected,
        "{list:?}: {} entries, expected {}; entry {at} is {:?}, expected {:?}",
        entries.len(),
        expected.len(),
        entries.get(at),
        expected.get(at)
    );
    Ok(())
}
