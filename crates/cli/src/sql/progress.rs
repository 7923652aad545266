//! Progress of a long statement: a line of the terminal that is drawn over again.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use halite::SqlContext;
use halite::sql::Progress;

/// Time of a statement after which its progress is shown, and between two looks at it.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(500);
/// Goes to the beginning of the line, and clears it.
const CLEAR: &str = "\r\x1b[K";

/// Line about the running statement. Without a terminal there is none.
pub(super) struct ProgressLine {
    is_terminal: bool,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    is_drawn: bool,
    /// Rows are on the terminal, with which the line would mix.
    has_rows: bool,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), state: Mutex::default() }
    }

    /// Draws the progress of a statement, if it is to be shown, until it is dropped.
    pub(super) async fn watch(&self, sql: &SqlContext, is_shown: bool) -> Infallible {
        let started = Instant::now();
        self.change(|state| *state = State::default());
        if !self.is_terminal || !is_shown {
            return std::future::pending().await;
        }
        tokio::time::sleep(PATIENCE).await;
        loop {
            if let Some(progress) = sql.progress() {
                self.draw(&text(&progress, started.elapsed()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Clears the line. `for_rows` tells that rows follow on the terminal, and no more of it.
    pub(super) fn clear(&self, for_rows: bool) {
        self.change(|state| {
            if state.is_drawn {
                // A terminal that takes no more does not end the statement.
                let _ = write!(io::stderr(), "{CLEAR}");
            }
            *state = State { is_drawn: false, has_rows: state.has_rows || for_rows };
        });
    }

    fn draw(&self, text: &str) {
        self.change(|state| {
            if !state.has_rows {
                let _ = write!(io::stderr(), "{CLEAR}{text}");
                state.is_drawn = true;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the line, which has to be shorter than a terminal is wide.
fn text(progress: &Progress, elapsed: Duration) -> String {
    let mut text = format!("{} rows examined", grouped(progress.rows_examined));
    if progress.rows_written > 0 {
        let _ = write!(text, ", {} written", grouped(progress.rows_written));
    }
    if let Some((done, all)) = progress.regions {
        let _ = write!(text, ", {done} of {all} regions");
    }
    let _ = write!(text, ", {:.0} s", elapsed.as_secs_f64());
    text
}

/// Returns a number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_tells_what_is_known() {
        let mut progress = Progress { rows_examined: 1_234_567, ..Progress::default() };
        let elapsed = Duration::from_millis(4200);
        assert_eq!(text(&progress, elapsed), "1,234,567 rows examined, 4 s");
        (progress.regions, progress.rows_written) = (Some((3, 16)), 999);
        assert_eq!(
            text(&progress, elapsed),
            "1,234,567 rows examined, 999 written, 3 of 16 regions, 4 s"
        );
        assert_eq!([grouped(0), grouped(1000)], ["0", "1,000"]);
    }

    #[test]
    fn nothing_is_drawn_over_rows() {
        let line = ProgressLine { is_terminal: true, state: Mutex::default() };
        line.draw("one");
        assert!(line.state.lock().unwrap().is_drawn);
        line.clear(true);
        line.draw("two");
        assert!(!line.state.lock().unwrap().is_drawn);
    }
}
