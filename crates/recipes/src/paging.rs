//! Lists that are read by pages, and their comparison with a model: all pages, ranges of times, the
//! cost of each page, and pages that are read while others write.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Range;

use anyhow::{Result, ensure};
use halite::rowkey::{Page, PageToken};

use crate::recipe::Verified;

/// Items of a page in a check: few, so that lists have several pages.
const PAGE_ITEMS: usize = 7;
/// All times.
pub const ALL_TIMES: Range<i64> = 0..i64::MAX;

/// End of the page before.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// Its token; `None` before the first page.
    pub after: Option<PageToken>,
    /// Number of items of all pages before.
    pub read: usize,
}

/// Lists of items, newest first.
pub trait Lists {
    /// Name of a list.
    type List: Clone + Debug + Eq + Hash + Ord;
    /// Item of a list.
    type Item: Clone + Debug + PartialEq;

    /// Returns a page of a list: items within a range of times in milliseconds since 1970.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn page(
        &self,
        list: &Self::List,
        at_ms: Range<i64>,
        limit: usize,
        position: &Position,
    ) -> Result<Page<Self::Item>>;

    /// Returns the time of an item, and a number that no other item of the list with this time has.
    fn identity(&self, item: &Self::Item) -> (i64, u64);
}

/// Lists by name, as the model has them.
pub type Model<L> = HashMap<<L as Lists>::List, Vec<<L as Lists>::Item>>;

impl Position {
    /// Returns the position after a page.
    #[must_use]
    pub fn after<T>(&self, page: &Page<T>) -> Self {
        Self { after: page.next.clone(), read: self.read + page.items.len() }
    }
}

/// Compares all lists of the model, by pages and by ranges of times.
pub(crate) fn verify_lists<L: Lists + ?Sized>(lists: &L, model: &Model<L>) -> Result<Verified> {
    let mut verified = Verified::default();
    for (list, expected) in model {
        let items = read_all(lists, list, ALL_TIMES, &mut verified)?;
        compare(list, "all times", &items, expected)?;
        let time = |item: &L::Item| lists.identity(item).0;
        let middle = expected.get(expected.len() / 2).map_or(0, time);
        for range in [middle..i64::MAX, 0..middle, middle..middle + 1] {
            let in_range = |item: &&L::Item| range.contains(&time(item));
            let expected: Vec<_> = expected.iter().filter(in_range).cloned().collect();
            let times = format!("times {} to {} ms", range.start, range.end);
            let items = read_all(lists, list, range, &mut verified)?;
            compare(list, &times, &items, &expected)?;
        }
    }
    Ok(verified)
}

/// Reads the longest list page by page, and writes items between the pages until one of them is in
/// the list, by `touches`. Every item from before is in exactly one page, and none is in two. At the
/// end all numbers of the range are written.
pub(crate) fn verify_while_writing<L: Lists + ?Sized>(
    lists: &L,
    model: &Model<L>,
    numbers: Range<u64>,
    touches: impl Fn(u64, &L::List) -> bool,
    write: impl Fn(u64) -> Result<()>,
) -> Result<Verified> {
    let mut numbers = numbers;
    let mut verified = Verified::default();
    let longest = model.iter().max_by_key(|(list, items)| (items.len(), (*list).clone()));
    if let Some((list, expected)) = longest {
        let (mut seen, mut position) = (Vec::new(), Position::default());
        loop {
            let page = lists.page(list, ALL_TIMES, PAGE_ITEMS, &position)?;
            check_cost(list, &page)?;
            verified.add(page.items.len() as u64, page.examined);
            seen.extend(page.items.iter().map(|item| lists.identity(item)));
            position = position.after(&page);
            if position.after.is_none() {
                break;
            }
            for number in numbers.by_ref() {
                write(number)?;
                if touches(number, list) {
                    break;
                }
            }
        }
        let expected: Vec<_> = expected.iter().map(|item| lists.identity(item)).collect();
        check_union(list, &seen, &expected)?;
    }
    numbers.try_for_each(write)?;
    Ok(verified)
}

fn check_union(list: &impl Debug, seen: &[(i64, u64)], expected: &[(i64, u64)]) -> Result<()> {
    let distinct: HashSet<_> = seen.iter().collect();
    let repeated = seen.len() - distinct.len();
    ensure!(
        repeated == 0,
        "{list:?}: pages repeat {repeated} of {} items while others write",
        seen.len()
    );
    let lost = expected.iter().filter(|identity| !distinct.contains(identity)).count();
    ensure!(lost == 0, "{list:?}: pages leave {lost} items out while others write");
    Ok(())
}

/// Reads a list page by page.
fn read_all<L: Lists + ?Sized>(
    lists: &L,
    list: &L::List,
    at_ms: Range<i64>,
    verified: &mut Verified,
) -> Result<Vec<L::Item>> {
    let (mut items, mut position) = (Vec::new(), Position::default());
    loop {
        let page = lists.page(list, at_ms.clone(), PAGE_ITEMS, &position)?;
        check_cost(list, &page)?;
        verified.add(page.items.len() as u64, page.examined);
        position = position.after(&page);
        items.extend(page.items);
        if position.after.is_none() {
            return Ok(items);
        }
    }
}

/// A page reads the rows that it returns, and no others.
fn check_cost<T>(list: &impl Debug, page: &Page<T>) -> Result<()> {
    let (returned, examined) = (page.items.len(), page.examined);
    ensure!(
        examined <= returned as u64,
        "{list:?}: a page of {returned} items examined {examined} rows"
    );
    Ok(())
}

fn compare<T: Debug + PartialEq>(
    list: &impl Debug,
    times: &str,
    found: &[T],
    expected: &[T],
) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    anyhow::bail!(
        "{list:?}, {times}: {} items, expected {}; item {at} is {:?}, expected {:?}",
        found.len(),
        expected.len(),
        found.get(at),
        expected.get(at)
    )
}
