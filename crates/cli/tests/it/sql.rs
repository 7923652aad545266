//! `halite sql` on a terminal: what Ctrl-C ends, and what it does not.

use std::fs::File;
use std::io::Write as _;
use std::process::{Child, Command};
use std::time::Duration;

use halite_patience::CapturedOutput;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::program::{LIMIT, await_that, halite, output};

/// What Ctrl-C sends while a line is edited, when the terminal makes no signal of it.
const CTRL_C: &str = "\x03";

/// Time for a statement to end before it is interrupted again.
const PAUSE: Duration = Duration::from_secs(30);

/// The program on a terminal.
struct Terminal {
    program: Child,
    keys: File,
    /// What the terminal shows.
    screen: CapturedOutput,
    /// Bytes of the screen up to the last prompt.
    seen: usize,
}

impl Terminal {
    fn start(command: &mut Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let side = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let program = command.env("TERM", "xterm").env("HALITE_HISTORY", "");
        let program = program.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let keys = File::from(master);
        let screen = CapturedOutput::capture(keys.try_clone().unwrap());
        Self { program, keys, screen, seen: 0 }
    }

    /// Types at the prompt, once there is one.
    #[track_caller]
    fn type_at(&mut self, prompt: &str, keys: &str) {
        let seen = self.seen;
        let find = |shown: &str| Some(seen + shown.get(seen..)?.find(prompt)? + prompt.len());
        let found = self.screen.find(LIMIT, find);
        assert!(found.is_some(), "no {prompt:?} behind {seen}: {}", self.screen.text());
        // The prompt is drawn again while a line is edited.
        self.seen = self.screen.text().len();
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn enter(&mut self, line: &str) {
        self.type_at("halite=> ", &format!("{line}\r"));
    }

    /// Waits until the line that was entered is read: the terminal then takes no pasted text.
    #[track_caller]
    fn await_end_of_line(&self) {
        let seen = self.seen;
        let is_read = |shown: &str| shown.get(seen..)?.contains("\x1b[?2004l").then_some(());
        assert!(self.screen.find(LIMIT, is_read).is_some(), "{}", self.screen.text());
    }

    #[track_caller]
    fn await_text(&self, text: &str) {
        let found = self.screen.find(LIMIT, |shown| shown.contains(text).then_some(()));
        assert!(found.is_some(), "{text:?} is not in: {}", self.screen.text());
    }

    fn interrupt(&self) {
        let id = Pid::from_child(&self.program);
        kill_process(id, Signal::INT).unwrap();
    }

    #[track_caller]
    fn quit(mut self) {
        self.enter("\\q");
        let status = halite_patience::wait(&mut self.program, LIMIT).unwrap();
        assert!(status.is_some_and(|status| status.success()), "{}", self.screen.text());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn empty_store() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    drop(halite::open(directory.path()).unwrap());
    directory
}

#[test]
fn interrupt_ends_the_statement_and_the_session_goes_on() {
    let directory = empty_store();
    let data = directory.path();
    let created = output(halite().args(["sql", "--data"]).arg(data).args([
        "-c",
        "CREATE TABLE t (v I64, ROW KEY (k I64)); \
         UPSERT INTO t (k, v) SELECT value, value FROM generate_series(1, 2000)",
    ]));
    assert!(created.status.success(), "{created:?}");
    let mut terminal = Terminal::start(halite().args(["sql", "--data"]).arg(data));
    // Each of them takes longer than the test may: a join, a count, a write.
    for (at, long) in [
        "SELECT sum(a.v * b.v % 7) FROM t AS a, t AS b, t AS c, t AS d WHERE a.v + c.v <> d.v",
        "SELECT count(*) FROM generate_series(1, 1000000000000) AS s",
        "UPSERT INTO t (k, v) SELECT 5000 + value % 9, value FROM generate_series(1, 1000000000000)",
    ]
    .into_iter()
    .enumerate()
    {
        terminal.enter(&format!("{long};"));
        terminal.await_end_of_line();
        await_that("the statement ends", || {
            // A signal before the statement begins ends nothing, one after its end might end the
            // next statement.
            terminal.interrupt();
            let has_ended = |shown: &str| shown.matches("57014").nth(at).map(drop);
            terminal.screen.find(PAUSE, has_ended).is_some()
        });
        terminal.enter(&format!("SELECT count(*) + {at} AS rows FROM t WHERE k < 3000;"));
        terminal.await_text(&(2000 + at).to_string());
    }
    terminal.quit();
}

#[test]
fn interrupt_at_a_prompt_drops_what_was_typed() {
    let directory = empty_store();
    let mut terminal = Terminal::start(halite().args(["sql", "--data"]).arg(directory.path()));
    // The program is there before any statement has run.
    terminal.type_at("halite=> ", "");
    terminal.interrupt();
    for _ in 0..3 {
        terminal.keys.write_all(CTRL_C.as_bytes()).unwrap();
        terminal.type_at("halite=> ", "");
    }
    // A line, and a statement of several lines.
    terminal.keys.write_all(format!("SELECT 'no' || 'thing'{CTRL_C}").as_bytes()).unwrap();
    terminal.enter("SELECT 'ever' || 'green',");
    terminal.type_at("halite-> ", CTRL_C);
    terminal.enter("SELECT 'an' || 'other';");
    terminal.await_text("another");
    let shown = terminal.screen.text();
    assert!(!shown.contains("nothing") && !shown.contains("evergreen"), "{shown}");
    terminal.quit();
}

/// Runs the command on a store; returns standard output and standard error.
fn ran(data: &std::path::Path, arguments: &[&str]) -> (Vec<u8>, String) {
    let ran = output(halite().args(["sql", "--data"]).arg(data).args(arguments));
    let error = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.success(), "{arguments:?}: {error}");
    (ran.stdout, error)
}

#[test]
fn file_is_linted_with_its_tables_and_without_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("queries.sql");
    let text = "CREATE TABLE msgs (receiver STRING, at TIMESTAMP, ROW KEY (id STRING));\n\
                SELECT * FROM msgs WHERE receiver = 'ada' ORDER BY at DESC LIMIT 100;\n";
    std::fs::write(&file, text).unwrap();
    let lint = || output(halite().args(["sql", "--lint", "-f"]).arg(&file));
    let found = lint();
    assert!(found.status.success(), "{found:?}");
    let shown = String::from_utf8(found.stdout).unwrap();
    assert!(shown.contains("line 2: table msgs: Q-FULL"), "{shown}");
    let key = "ROW KEY (SALT(16 BY receiver), receiver STRING, at TIMESTAMP DESC, id STRING)";
    assert!(shown.contains(key), "{shown}");
    std::fs::write(&file, "SELECT * FROM nothing").unwrap();
    assert_eq!(lint().status.code(), Some(1));
}

#[test]
fn rows_are_written_as_arrow() {
    let directory = empty_store();
    let data = directory.path();
    ran(
        data,
        &[
            "-c",
            "CREATE TABLE t (v I64, w STRING, ROW KEY (k I64)); UPSERT INTO t VALUES (1, 2, 'x'), (2, NULL, 'y')",
        ],
    );
    let (rows, _) = ran(data, &["--format", "arrow", "-c", "SELECT k, v, w FROM t"]);
    let reader =
        halite::sql::datafusion::arrow::ipc::reader::StreamReader::try_new(rows.as_slice(), None);
    let batches: Vec<_> = reader.unwrap().map(Result::unwrap).collect();
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    assert_eq!((rows, batches[0].num_columns()), (2, 3));
    assert_eq!(batches[0].column(1).null_count(), 1);
    // One stream for each statement, also without rows.
    let (rows, _) = ran(data, &["--format", "arrow", "-c", "SELECT k FROM t WHERE k = 9"]);
    assert!(!rows.is_empty());
}

#[test]
#[cfg(feature = "sql-files")]
fn rows_are_written_as_parquet() {
    use halite::sql::datafusion::arrow::array::{AsArray as _, RecordBatch};
    use halite::sql::datafusion::arrow::datatypes::Int64Type;
    use halite::sql::datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let directory = empty_store();
    let data = directory.path();
    let table = "CREATE TABLE t (v I64, w STRING, m MAP(STRING, I64) FAMILY maps PREFIX 'm', ROW KEY (k I64)); \
                 INSERT INTO t (k, v) SELECT k, k * 2 FROM generate_series(1, 100000) AS n (k)";
    ran(data, &["-c", table]);
    let read = |bytes: Vec<u8>| -> Vec<RecordBatch> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(halite::Bytes::from(bytes)).unwrap();
        reader.build().unwrap().map(Result::unwrap).collect()
    };
    let (bytes, _) = ran(data, &["--format", "parquet", "-c", "SELECT * FROM t ORDER BY k"]);
    let batches = read(bytes);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 100_000);
    let doubled = batches[0].column_by_name("v").unwrap().as_primitive::<Int64Type>();
    assert_eq!(doubled.values()[..3], [2, 4, 6]);
    assert_eq!(batches[0].column_by_name("w").unwrap().null_count(), batches[0].num_rows());
    let none = ["--format", "parquet", "-c", "SELECT k FROM t WHERE k = -9"];
    assert!(read(ran(data, &none).0).is_empty());
    // A file has one end.
    let two = "SELECT 1; SELECT 2";
    let mut command = halite();
    let ran = output(command.args(["sql", "--format", "parquet", "-c", two, "--data"]).arg(data));
    assert_eq!(ran.status.code(), Some(1));
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(text.contains("has the rows of one statement"), "{text}");
}

#[test]
#[cfg(not(feature = "sql-files"))]
fn parquet_needs_a_build_with_it() {
    let directory = empty_store();
    let arguments = ["sql", "--format", "parquet", "-c", "SELECT 1", "--data"];
    let ran = output(halite().args(arguments).arg(directory.path()));
    assert_eq!(ran.status.code(), Some(1));
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(text.contains("cargo build --release --features sql-files"), "{text}");
}

#[test]
fn statement_is_edited_and_rows_go_to_a_file() {
    let directory = empty_store();
    let rows = directory.path().join("rows.txt");
    let mut command = halite();
    // The editor writes another statement.
    command.env("VISUAL", "sed -i s/first/second/").args(["sql", "--data"]).arg(directory.path());
    let mut terminal = Terminal::start(&mut command);
    terminal.enter("SELECT 'first' || '_run' AS x;");
    terminal.await_text("first_run");
    terminal.enter("\\e");
    terminal.await_text("second_run");
    terminal.enter("\\x on");
    terminal.await_text("one line per value is on");
    terminal.enter(&format!("\\o {}", rows.display()));
    terminal.enter("SELECT 'in_' || 'file' AS x;");
    terminal.enter("\\o");
    terminal.enter("SELECT 'on_' || 'screen' AS x;");
    terminal.await_text("on_screen");
    assert!(!terminal.screen.text().contains("in_file"));
    terminal.quit();
    assert!(std::fs::read_to_string(&rows).unwrap().contains("x | in_file"));
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let directory = empty_store();
    let data = directory.path();
    let long = "SELECT count(*) FROM generate_series(1, 1000000000000) AS s";
    let mut terminal = Terminal::start(halite().args(["sql", "--data"]).arg(data));
    terminal.enter(&format!("{long};"));
    terminal.await_text("0 rows examined");
    await_that("the statement ends", || {
        terminal.interrupt();
        terminal.screen.find(PAUSE, |shown| shown.contains("57014").then_some(())).is_some()
    });
    terminal.quit();
    // Standard error is a pipe.
    let (_, error) =
        ran(data, &["-c", "SELECT sum(s.value % 7) FROM generate_series(1, 5000000) AS s"]);
    assert_eq!(error, "");
}
