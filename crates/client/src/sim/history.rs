//! Results that callers received, and checks of their consistency.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use halite_types::{Error, Result, Row};
use tokio::time::Instant;

use super::cluster::{FAMILY, number};

/// Tolerance of a call's deadline: a step of the simulation and its rounding.
const SLACK: Duration = Duration::from_millis(25);

pub(super) type SharedHistory = Rc<RefCell<History>>;

/// Number of requested and of acknowledged operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) requested: i64,
    pub(super) done: i64,
}

#[derive(Default)]
pub(super) struct History {
    /// Rows whose put was acknowledged.
    pub(super) put: BTreeSet<String>,
    /// Rows whose put was requested.
    pub(super) requested: BTreeSet<String>,
    pub(super) counters: BTreeMap<String, Count>,
    /// Values appended to each row, and whether the append was acknowledged.
    pub(super) appended: BTreeMap<String, Vec<(String, bool)>>,
    /// Violations found.
    pub(super) wrong: Vec<String>,
    /// Events in order, equal for equal seeds.
    pub(super) log: Vec<String>,
    pub(super) calls: usize,
    pub(super) failed: usize,
    /// The three phases of the end: the callers have finished and faults stop; the cluster is
    /// healthy again; the client is dropped and everything has been checked.
    pub(super) is_quiet: bool,
    pub(super) is_healed: bool,
    pub(super) is_over: bool,
}

impl History {
    pub(super) fn expect(&mut self, is_so: bool, message: impl FnOnce() -> String) {
        if !is_so {
            self.wrong.push(message());
        }
    }

    /// Returns the columns of a row that is put once: their number and values follow from its key.
    pub(super) fn columns_for(key: &str) -> Vec<(String, String)> {
        let columns = 1 + key.bytes().map(usize::from).sum::<usize>() % 5;
        (0..columns).map(|column| (format!("q{column}"), format!("{key}:{column}"))).collect()
    }

    /// Checks that a row has the cells that were put: all, or some for a partial row.
    pub(super) fn check_row(&mut self, row: &Row, is_whole: bool) {
        let key = String::from_utf8_lossy(row.key()).into_owned();
        let is_fixed = key.contains('-');
        if !is_fixed {
            return;
        }
        self.expect(self.requested.contains(&key), || format!("row {key} was never put"));
        let there: Vec<_> =
            row.iter().map(|cell| (text(cell.qualifier()), text(cell.value()))).collect();
        let expected = Self::columns_for(&key);
        let fits = if is_whole {
            there == expected
        } else {
            there.iter().all(|cell| expected.contains(cell))
        };
        self.expect(fits, || format!("row {key} has {there:?} and should have {expected:?}"));
    }

    /// Checks counters and lists against the results that callers received.
    pub(super) fn check_end(&mut self, rows: &BTreeMap<String, Row>) {
        let value = |row: &str| {
            rows.get(row).and_then(|row| row.value(FAMILY, "q")).unwrap_or_default().to_vec()
        };
        for (row, count) in self.counters.clone() {
            let is = number(&value(&row));
            self.expect((count.done..=count.requested).contains(&is), || {
                format!("counter {row} is {is} after {count:?}")
            });
        }
        for (row, tokens) in self.appended.clone() {
            let list = text(&value(&row));
            for (token, is_done) in tokens {
                let times = list.matches(&token).count();
                self.expect(times <= 1 && (times == 1 || !is_done), || {
                    format!("{token} is {times} times in {row}, done: {is_done}")
                });
            }
        }
        for key in self.put.clone() {
            self.expect(rows.contains_key(&key), || format!("row {key} was put and is not there"));
        }
    }

    fn check_text(&mut self, call: &str, error: &Error) {
        let text = error.message();
        let of_registry = text.contains("table t, looking a region up: the cluster at ");
        let of_region = (text.contains("region t,") || text.contains("region hbase:meta,,1"))
            && text.contains("server rs");
        self.expect(of_registry || of_region, || {
            format!("{call}: the error does not say where: {error}")
        });
        self.expect(text.contains("table t"), || {
            format!("{call}: the error does not name the table: {error}")
        });
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Makes a call, and checks that it ends within its time limit and that its error is well-formed.
pub(super) async fn timed<T: Debug>(
    shared: &SharedHistory,
    call_name: &str,
    limit: Duration,
    call: impl Future<Output = Result<T>>,
) -> Result<T> {
    let begun = Instant::now();
    let result = match tokio::time::timeout(limit * 10, call).await {
        Ok(result) => result,
        Err(_) => Err(Error::invalid("never ended")),
    };
    let took = begun.elapsed();
    let mut history = shared.borrow_mut();
    history.calls += 1;
    history.expect(took <= limit + SLACK, || {
        format!("{call_name} took {took:?}, and {limit:?} were allowed: {result:?}")
    });
    let outcome =
        result.as_ref().map_or_else(|error| error.message().to_string(), |_| "done".to_string());
    history.log.push(format!("{call_name} {took:?} {outcome}"));
    if let Err(error) = &result {
        history.failed += 1;
        history.check_text(call_name, error);
    }
    result
}

/// Also checks the errors of single actions of a batch.
pub(super) fn check_errors<T>(shared: &SharedHistory, call: &str, results: &[Result<T>]) {
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        shared.borrow_mut().check_text(call, error);
    }
}
