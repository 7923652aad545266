//! What callers were told, and whether all of it can be true.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use halite_types::{Error, Result, Row};
use tokio::time::Instant;

use super::cluster::{FAMILY, number};

/// What a call may take beyond its deadline: a step of the simulation and its rounding.
const SLACK: Duration = Duration::from_millis(25);

pub(super) type Told = Rc<RefCell<History>>;

/// How often something was asked for and how often it was said to be done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) asked: i64,
    pub(super) done: i64,
}

#[derive(Default)]
pub(super) struct History {
    /// Rows whose put was said to be done.
    pub(super) put: BTreeSet<String>,
    /// Rows that were asked to be put.
    pub(super) asked: BTreeSet<String>,
    pub(super) counters: BTreeMap<String, Count>,
    /// What was appended to which row, and whether that was said to be done.
    pub(super) appended: BTreeMap<String, Vec<(String, bool)>>,
    /// What cannot be.
    pub(super) wrong: Vec<String>,
    /// What happened, in order: the same for the same seed.
    pub(super) log: Vec<String>,
    pub(super) calls: usize,
    pub(super) failed: usize,
    /// The callers have finished and the trouble may end; everything is well again; the client is gone and all was looked at.
    pub(super) is_quiet: bool,
    pub(super) is_healed: bool,
    pub(super) is_over: bool,
}

impl History {
    pub(super) fn expect(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.wrong.push(what());
        }
    }

    /// The columns of a row that is put once: their number and their values follow from its key.
    pub(super) fn columns_of(key: &str) -> Vec<(String, String)> {
        let columns = 1 + key.bytes().map(usize::from).sum::<usize>() % 5;
        (0..columns).map(|column| (format!("q{column}"), format!("{key}:{column}"))).collect()
    }

    /// Whether a row has what was put into it, all or, of a piece, some.
    pub(super) fn check_row(&mut self, row: &Row, is_whole: bool) {
        let key = String::from_utf8_lossy(row.key()).into_owned();
        let is_fixed = key.contains('-');
        if !is_fixed {
            return;
        }
        self.expect(self.asked.contains(&key), || format!("row {key} was never put"));
        let there: Vec<_> = row.iter().map(|cell| (text(cell.qualifier()), text(cell.value()))).collect();
        let expected = Self::columns_of(&key);
        let fits = if is_whole { there == expected } else { there.iter().all(|cell| expected.contains(cell)) };
        self.expect(fits, || format!("row {key} has {there:?} and should have {expected:?}"));
    }

    /// Whether counters and lists are what their callers were told.
    pub(super) fn check_end(&mut self, rows: &BTreeMap<String, Row>) {
        let value = |row: &str| rows.get(row).and_then(|row| row.value(FAMILY, "q")).unwrap_or_default().to_vec();
        for (row, count) in self.counters.clone() {
            let is = number(&value(&row));
            self.expect((count.done..=count.asked).contains(&is), || format!("counter {row} is {is} after {count:?}"));
        }
        for (row, tokens) in self.appended.clone() {
            let list = text(&value(&row));
            for (token, is_done) in tokens {
                let times = list.matches(&token).count();
                self.expect(times <= 1 && (times == 1 || !is_done), || format!("{token} is {times} times in {row}, done: {is_done}"));
            }
        }
        for key in self.put.clone() {
            self.expect(rows.contains_key(&key), || format!("row {key} was put and is not there"));
        }
    }

    fn check_text(&mut self, what: &str, error: &Error) {
        let text = error.message();
        let of_registry = text.contains("table t, looking a region up: the cluster at ");
        let of_region = (text.contains("region t,") || text.contains("region hbase:meta,,1")) && text.contains("server rs");
        self.expect(of_registry || of_region, || format!("{what}: the error does not say where: {error}"));
        self.expect(text.contains("table t"), || format!("{what}: the error does not name the table: {error}"));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes a call, looks whether it ends within its time and what it says if it fails.
pub(super) async fn timed<T: Debug>(told: &Told, what: &str, limit: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
    let begun = Instant::now();
    let result = match tokio::time::timeout(limit * 10, call).await {
        Ok(result) => result,
        Err(_) => Err(Error::invalid("never ended")),
    };
    let took = begun.elapsed();
    let mut history = told.borrow_mut();
    history.calls += 1;
    history.expect(took <= limit + SLACK, || format!("{what} took {took:?}, and {limit:?} were allowed: {result:?}"));
    let outcome = result.as_ref().map_or_else(|error| error.message().to_string(), |_| "done".to_string());
    history.log.push(format!("{what} {took:?} {outcome}"));
    if let Err(error) = &result {
        history.failed += 1;
        history.check_text(what, error);
    }
    result
}

/// Looks at the errors of single actions of a batch too.
pub(super) fn note_each<T>(told: &Told, what: &str, results: &[Result<T>]) {
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        told.borrow_mut().check_text(what, error);
    }
}
