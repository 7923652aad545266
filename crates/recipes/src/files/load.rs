//! Operations of a measurement: half of them write, of which most create files; the others read.

use std::sync::atomic::Ordering;

use anyhow::Result;

use super::application::FilesApplication;
use super::design::List;
use super::generator::{Item, TREE};
use crate::bench::Part;
use crate::random::Random;
use crate::recipe::Outcome;

/// Entries of a page.
pub(super) const PAGE_ENTRIES: usize = 1_000;
/// Files of a page of a user.
const PAGE_FILES: usize = 50;
/// Purpose of the random numbers.
const OPERATIONS: u64 = 10;

/// Executes one operation.
pub(super) fn operate(
    application: &FilesApplication,
    number: u64,
    part: Part,
    outcome: &mut Outcome,
) -> Result<()> {
    let FilesApplication { design, generator, next_item, .. } = application;
    let mut random = Random::new(generator.load.seed, OPERATIONS, number);
    let item = |random: &mut Random| generator.item(random.below(generator.load.items)).id();
    match part.draw(&mut random, 100, 50..100) {
        0..48 => loop {
            outcome.begin(0);
            let number = next_item.fetch_add(1, Ordering::Relaxed);
            if let Item::Create(node) = generator.item(number) {
                design.create(&[node])?;
                outcome.returned = 1;
                break;
            }
        },
        48..50 => {
            outcome.begin(1);
            let items = next_item.load(Ordering::Relaxed);
            application.execute(&generator.change(&mut random, items))?;
            outcome.returned = 1;
        }
        50..60 => {
            outcome.begin(2);
            let page = design.list(&List::Directory(TREE), PAGE_ENTRIES, None, 0)?;
            outcome.returned = page.items.len() as u64;
        }
        60..80 => {
            outcome.begin(3);
            outcome.returned = design.node(item(&mut random))?.is_some().into();
        }
        80..90 => {
            outcome.begin(4);
            outcome.returned = design.find(application.path()?)?.is_some().into();
        }
        _ => {
            outcome.begin(5);
            let owner = List::Owner(generator.user(random.zipf(generator.users())));
            outcome.returned = design.list(&owner, PAGE_FILES, None, 0)?.items.len() as u64;
        }
    }
    Ok(())
}
