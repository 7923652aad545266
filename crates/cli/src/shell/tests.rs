//! Comparison of the shell with transcripts of HBase's own shell: `testdata/shell/*.txt`. The
//! README there describes their format.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;

use super::test_store;
use super::{Session, Shell, ShellState};

/// Transcript: commands with HBase's output and Halite's.
struct Transcript {
    path: PathBuf,
    steps: Vec<Step>,
}

struct Step {
    /// Lines of the command, and answers to its confirmations.
    input: Vec<String>,
    answers: Vec<String>,
    stock: Vec<String>,
    ours: Vec<String>,
}

impl Transcript {
    fn read(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/shell").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut steps: Vec<Step> = Vec::new();
        for line in text.lines() {
            if let Some(command) = line.strip_prefix("> ") {
                steps.push(Step {
                    input: vec![command.to_owned()],
                    answers: Vec::new(),
                    stock: Vec::new(),
                    ours: Vec::new(),
                });
                continue;
            }
            let step = steps.last_mut().expect("a transcript begins with a command");
            if let Some(more) = line.strip_prefix("* ") {
                step.input.push(more.to_owned());
            } else if let Some(answer) = line.strip_prefix("< ") {
                step.answers.push(answer.to_owned());
            } else if let Some(stock) = line.strip_prefix("-|") {
                step.stock.push(stock.to_owned());
            } else if let Some(ours) = line.strip_prefix("+|") {
                step.ours.push(ours.to_owned());
            } else {
                step.stock.push(line.to_owned());
                step.ours.push(line.to_owned());
            }
        }
        Self { path, steps }
    }

    /// Runs every step and fails with all differences, or records them if requested.
    fn check(mut self) {
        let out = Rc::new(RefCell::new(Vec::new()));
        let answers = Rc::new(RefCell::new(VecDeque::<String>::new()));
        let remaining_answers = Rc::clone(&answers);
        let session = Session::new(
            test_store::cluster(),
            Shared(Rc::clone(&out)),
            Box::new(move || Ok(remaining_answers.borrow_mut().pop_front())),
        );
        let mut shell = Shell::new(session);
        let mut differences = Vec::new();
        for step in &mut self.steps {
            answers.borrow_mut().extend(step.answers.iter().cloned());
            let mut state = ShellState::Unfinished;
            for line in &step.input {
                state = shell.feed(line).unwrap();
            }
            if state == ShellState::Unfinished {
                shell.end().unwrap();
            }
            let text = String::from_utf8(std::mem::take(&mut *out.borrow_mut())).unwrap();
            let found: Vec<String> = mask(&text).lines().map(str::to_owned).collect();
            if found != step.ours {
                differences.push(format!(
                    "> {}\n-- expected\n{}\n-- found\n{}\n\n",
                    step.input.join("\n* "),
                    step.ours.join("\n"),
                    found.join("\n")
                ));
                step.ours = found;
            }
        }
        if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
            std::fs::write(&self.path, self.print()).unwrap();
        } else {
            assert!(differences.is_empty(), "{}:\n{}", self.path.display(), differences.concat());
        }
    }

    fn print(&self) -> String {
        let mut lines = Vec::new();
        for step in &self.steps {
            let heads = ["> "].into_iter().chain(std::iter::repeat("* "));
            lines
                .extend(step.input.iter().zip(heads).map(|(line, head)| format!("{head}{line}\n")));
            lines.extend(step.answers.iter().map(|line| format!("< {line}\n")));
            lines.extend(merged(&step.stock, &step.ours));
        }
        lines.concat()
    }
}

/// Merges both lists by their longest common subsequence, and marks lines that only one contains.
fn merged(stock: &[String], ours: &[String]) -> Vec<String> {
    let mut common = vec![vec![0usize; ours.len() + 1]; stock.len() + 1];
    for i in (0..stock.len()).rev() {
        for j in (0..ours.len()).rev() {
            common[i][j] = if stock[i] == ours[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < stock.len() || j < ours.len() {
        if i < stock.len() && j < ours.len() && stock[i] == ours[j] {
            lines.push(format!("{}\n", ours[j]));
            (i, j) = (i + 1, j + 1);
        } else if i < stock.len() && (j == ours.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(format!("-|{}\n", stock[i]));
            i += 1;
        } else {
            lines.push(format!("+|{}\n", ours[j]));
            j += 1;
        }
    }
    lines
}

/// Masks text that differs between runs: durations, the current time, the ids and hashes of
/// regions.
fn mask(text: &str) -> String {
    let rules = [
        (r"Took \d+\.\d{4} seconds", "Took T seconds"),
        (r"timestamp=20\d\d-\d\d-\d\dT[0-9:.]+", "timestamp=NOW"),
        (r"\(20\d\d-\d\d-\d\d [0-9:]+ [-+]\d{4}\)", "(NOW)"),
        (r"tasks as of: 20\d\d-\d\d-\d\d [0-9:]+", "tasks as of: NOW"),
        (r",\d+\.[0-9a-f]{32}\.", ",ID.HASH."),
        (r"ENCODED => [0-9a-f]{32}", "ENCODED => HASH"),
        (r"(?m)^.* \(auth:SIMPLE\)$", "USER (auth:SIMPLE)"),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, shown)| {
        regex::Regex::new(pattern).unwrap().replace_all(&text, *shown).into_owned()
    })
}

#[derive(Clone)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

macro_rules! transcripts {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            Transcript::read(concat!(stringify!($name), ".txt")).check();
        })*

        /// A transcript without a test would verify nothing.
        #[test]
        fn every_transcript_is_read() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/shell");
            let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.filter(|name| name.ends_with(".txt") && name != "splits.txt").collect();
            names.sort();
            let mut read = vec![$(concat!(stringify!($name), ".txt")),*];
            read.sort_unstable();
            assert_eq!(names, read);
        }
    };
}
transcripts!(
    tutorials, create, data, scan, ddl, namespace, language, tools, snapshots, status, beyond,
    row_keys
);

/// Runs lines as from a pipe. Returns the shell's output and how it ended.
fn pipe(lines: &[&str], stop_at_error: bool) -> (String, super::ScriptEnd) {
    let mut out = Vec::new();
    let mut input = lines.iter().map(|line| (*line).to_owned());
    let mut shell = Shell::new(test_store::session(&mut out));
    let end = super::run_lines(&mut shell, || Ok(input.next()), stop_at_error).unwrap();
    drop(shell);
    (mask(&String::from_utf8(out).unwrap()), end)
}

#[test]
fn piped_prompts_count_lines_and_open_brackets() {
    let (text, end) = pipe(&["x = [1,", "2]", "y = 'a", "b'", "x.length"], false);
    assert_eq!(
        text,
        "halite:001:0> x = [1,\nhalite:002:1* 2]\n=> [1, 2]\nhalite:003:0> y = 'a\n\
         halite:004:0' b'\n=> \"a\\nb\"\nhalite:005:0> x.length\n=> 2\n"
    );
    assert_eq!(end, super::ScriptEnd::Input);
}

#[test]
fn first_error_ends_script_but_not_interactive_session() {
    let lines = ["puts 1", "get 'nosuch', 'r'", "puts 2"];
    let (text, end) = pipe(&lines, true);
    assert!(text.contains("ERROR: Unknown table nosuch!") && !text.contains("puts 2"), "{text}");
    assert_eq!(end, super::ScriptEnd::Failed);
    let (text, end) = pipe(&lines, false);
    assert!(text.ends_with("halite:003:0> puts 2\n2\n"), "{text}");
    assert_eq!(end, super::ScriptEnd::Input);
}

#[test]
fn input_ending_inside_statement_is_an_error() {
    let (text, end) = pipe(&["scan 't', {"], true);
    assert!(text.contains("ERROR: the input ends inside a statement"), "{text}");
    assert_eq!(end, super::ScriptEnd::Failed);
}

#[test]
fn exit_returns_given_code() {
    assert_eq!(
        pipe(&["exit 3", "puts 1"], false),
        ("halite:001:0> exit 3\n".to_owned(), super::ScriptEnd::Exit(3))
    );
}

#[test]
fn adjacent_regions_merge_by_encoded_or_full_name() {
    let mut out = Vec::new();
    let mut shell = Shell::new(test_store::session(&mut out));
    let regions = |shell: &Shell<'_>| shell.session.cluster().regions("m").unwrap();
    shell.feed("create 'm', 'f', SPLITS => ['b', 'c', 'd']").unwrap();
    let found = regions(&shell);
    let command = format!(
        "merge_region '{}', '{}', '{}'",
        found[2].encoded_name,
        found[1].display_name(),
        found[3].encoded_name
    );
    assert_eq!(shell.feed(&command).unwrap(), ShellState::Done { failed: false });
    let starts: Vec<_> = regions(&shell).into_iter().map(|region| region.start).collect();
    assert_eq!(starts, ["", "b"]);
}

#[test]
fn flush_of_family_writes_that_family_only() {
    let mut out = Vec::new();
    let mut shell = Shell::new(test_store::session(&mut out));
    let mut feed = |command: &str| {
        let done = shell.feed(command).unwrap();
        let status = shell.session.cluster().cluster_status().unwrap();
        let region = status.regions.iter().find(|load| load.region.table.qualifier() == "fl");
        (done == ShellState::Done { failed: false }, region.map(|load| load.store_files))
    };
    feed("create 'fl', 'a', 'b'");
    feed("put 'fl', 'r', 'a:q', '1'");
    assert_eq!(feed("put 'fl', 'r', 'b:q', '1'"), (true, Some(0)));
    assert_eq!(feed("flush 'fl', 'nosuch'"), (false, Some(0)));
    assert_eq!(feed("flush 'fl', 'a'"), (true, Some(1)));
    // Nothing of the family is in memory any more.
    assert_eq!(feed("flush 'fl', 'a'"), (true, Some(1)));
    assert_eq!(feed("flush 'fl', 'b'"), (true, Some(2)));
    assert_eq!(feed("flush 'fl'"), (true, Some(2)));
}

#[test]
fn statement_without_semicolon_consumes_no_command() {
    let lines =
        ["CREATE TABLE t (v DOUBLE FAMILY d,", "  ROW KEY (a STRING))", "create 'u', 'f'", "list"];
    let (text, end) = pipe(&lines, false);
    assert!(
        text.contains(
            "ERROR: the statement of lines 1 to 2 has not run: its ';' is missing: add it in front \
             of\n  create 'u', 'f'"
        ),
        "{text}"
    );
    assert!(text.contains("Created table u") && text.contains("1 row(s)"), "{text}");
    assert_eq!(end, super::ScriptEnd::Input);
    let (text, end) = pipe(&lines, true);
    assert!(!text.contains("Created table u"), "{text}");
    assert_eq!(end, super::ScriptEnd::Failed);
    let (text, _) = pipe(&["SHOW CREATE TABLE t"], true);
    assert!(
        text.contains("ERROR: the input ends inside the statement of line 1; its ';' is missing"),
        "{text}"
    );
}

#[test]
fn help_describes_row_key_statements() {
    let (text, _) =
        pipe(&["help 'create table'", "help 'ALTER TABLE'", "help 'statements'", "help"], true);
    assert_eq!(text.matches("Statement: CREATE TABLE").count(), 2, "{text}");
    assert_eq!(text.matches("Statement: SHOW CREATE TABLE").count(), 1, "{text}");
    assert!(
        text.contains("ADOPT ROW KEY (segment, ...) [FORCE];")
            && text.contains("CREATE TABLE, ALTER TABLE, SHOW CREATE TABLE"),
        "{text}"
    );
}

#[test]
fn tables_are_changed_by_statements() {
    let (text, _) = pipe(
        &[
            "create 'raw', 'f'",
            "put 'raw', 'a', 'f:name', 'ada'",
            "put 'raw', 'a', 'f:n', \"\\x00\\x00\\x00\\x07\"",
            "ALTER TABLE raw ADOPT COLUMNS FROM SAMPLE 10 APPLY;",
            "ALTER TABLE raw ADD COLUMN note STRING, SET (VERSIONS = 4);",
            "SHOW CREATE TABLE raw;",
            "ALTER TABLE raw DROP COLUMN nn;",
            "SPLIT TABLE raw AT ('m');",
            "SPLIT TABLE raw AT ('m');",
            "FLUSH TABLE raw;",
            "COMPACT TABLE raw MAJOR;",
            "TRUNCATE TABLE raw KEEP SPLITS;",
            "get_splits 'raw'",
            "count 'raw'",
            "DROP TABLE raw;",
            "DROP TABLE IF EXISTS raw;",
            "exists 'raw'",
        ],
        false,
    );
    for expected in [
        "f:n looks like n I32 FAMILY f, in 1 of 1 sampled row(s), all of which fit; it may be U32",
        "name STRING FAMILY f",
        "note STRING FAMILY f",
        "VERSIONS = 4",
        "has no column nn (did you mean n?)",
        "a region begins at m already",
        "TRUNCATE TABLE",
        "table raw does not exist",
        "Table raw does not exist",
    ] {
        assert!(text.contains(expected), "no {expected}:\n{text}");
    }
}

/// Runs lines as on a terminal with given answers. Returns the shell's output.
fn typed(lines: &[&str], answer: Option<&str>) -> String {
    let (mut out, answer) = (Vec::new(), answer.map(str::to_owned));
    let session =
        Session::new(test_store::cluster(), &mut out, Box::new(move || Ok(answer.clone())));
    let mut shell = Shell::new(session);
    shell.session.interactive = true;
    for line in lines {
        shell.feed(line).unwrap();
    }
    drop(shell);
    mask(&String::from_utf8(out).unwrap())
}

/// Regression: a key that fits 0 of 1,092 rows was accepted, and then the correct one was rejected.
#[test]
fn adopting_mismatched_key_needs_force_or_confirmation() {
    let rows = ["create 'old', 'f'", "for i in 1..40 do put 'old', \"user#{i}_x\", 'f:q', 'v' end"];
    let wrong = "ALTER TABLE old ADOPT ROW KEY (id U64, at TIMESTAMP);";
    let right = "ALTER TABLE old ADOPT ROW KEY TEXT '{user}_{what}';";
    let (text, _) = pipe(&[&rows[..], &[wrong, "SHOW CREATE TABLE old;"]].concat(), false);
    assert!(
        text.contains(
            "the key fits 0 of 40 sampled row(s) of 1 region(s), 0.0 %; at least 90 % must fit"
        ) && text.contains("declares no row key"),
        "{text}"
    );
    let forced = wrong.replace(';', " FORCE;");
    let (text, _) = pipe(&[&rows[..], &[&forced, right, "SHOW CREATE TABLE old;"]].concat(), false);
    assert!(
        text.contains("it fits 0 of 40 sampled") && text.contains("it fits 40 of 40 sampled"),
        "{text}"
    );
    assert!(text.ends_with("  FAMILY f,\n  ROW KEY TEXT '{user}_{what}'\n);\n"), "{text}");
    let text = typed(&[&rows[..], &[wrong, right]].concat(), Some("n"));
    assert!(
        text.contains("Declare it nevertheless (y/n)?")
            && text.contains("ERROR: table old keeps what it declares"),
        "{text}"
    );
    assert!(
        typed(&[&rows[..], &[wrong]].concat(), Some("y"))
            .contains("Table old has the ROW KEY (id U64, at TIMESTAMP)")
    );
    let (text, _) = pipe(&[&rows[..], &["alter 'old', ROW_KEY => '(id U16)'"]].concat(), false);
    assert!(text.contains("the key fits 0 of 40 sampled"), "{text}");
}

#[test]
fn matching_key_is_replaced_only_by_force() {
    let rows = [
        "create 'old', 'f'",
        "for i in 1..9 do put 'old', \"user#{i}_x\", 'f:q', 'v' end",
        "ALTER TABLE old ADOPT ROW KEY (k STRING);",
    ];
    let right = "ALTER TABLE old ADOPT ROW KEY TEXT '{user}_{what}'";
    let (text, _) = pipe(&[&rows[..], &[&format!("{right};")]].concat(), false);
    for expected in [
        "it declares ROW KEY (k STRING) already, which fits 9 of 9",
        "so the rows do not tell which is right:\n  row user1_x\n  declared: k = 'user1_x'\n  new: \
         user = 'user1', what = 'x'",
        "ADOPT ROW KEY .. FORCE;",
    ] {
        assert!(text.contains(expected), "no {expected}:\n{text}");
    }
    let (text, _) =
        pipe(&[&rows[..], &[&format!("{right} FORCE;"), "SHOW CREATE TABLE old;"]].concat(), false);
    assert!(text.ends_with("ROW KEY TEXT '{user}_{what}'\n);\n"), "{text}");
    let (text, _) = pipe(
        &[
            "create 'e', 'f'",
            "ALTER TABLE e ADOPT ROW KEY (k STRING);",
            "ALTER TABLE e ADOPT ROW KEY (k U64);",
        ],
        false,
    );
    assert!(
        !text.contains("ERROR") && text.matches("the table has no rows").count() == 2,
        "an empty table may declare anything: {text}"
    );
}

/// Regression: queries kept the old names, and the output of SHOW CREATE TABLE could not be parsed.
#[test]
fn queries_follow_the_fields_of_an_adopted_key() {
    let create = "CREATE TABLE t (v DOUBLE FAMILY d, ROW KEY (SALT(4 BY a), a STRING, b U8)) WITH \
                  QUERIES (q: a = ? ORDER BY b, r: v = ?) SPLIT BY SALT;";
    for rename in [
        "ALTER TABLE t ADOPT ROW KEY (SALT(4 BY x), x STRING, y U8);",
        "alter 't', ROW_KEY => '(SALT(4 BY x), x STRING, y U8)'",
    ] {
        let (text, _) = pipe(&[create, rename, "SHOW CREATE TABLE t;"], false);
        let shown = text.rsplit_once("SHOW CREATE TABLE t;\n").unwrap().1;
        assert!(shown.contains("q: x = ? ORDER BY y") && shown.contains("r: v = ?"), "{text}");
        assert_eq!(
            halite::rowkey::language::statements(shown).map(|found| found.len()),
            Ok(1),
            "{shown}"
        );
    }
    let (text, _) = pipe(
        &[create, "ALTER TABLE t ADOPT ROW KEY (a STRING, c U64);", "SHOW CREATE TABLE t;"],
        false,
    );
    assert!(
        text.contains("no longer declared: query q: it names b, which the key does not have")
            && text.contains("no longer declared: SPLIT BY SALT: "),
        "{text}"
    );
    let shown = text.rsplit_once("SHOW CREATE TABLE t;\n").unwrap().1;
    assert!(
        !shown.contains("SPLIT") && halite::rowkey::language::statements(shown).is_ok(),
        "{shown}"
    );
}

#[test]
fn decoded_rows_have_names_and_types() {
    let rows = [
        "CREATE TABLE m (n I64 FAMILY d, ROW KEY TEXT '{user}_{what}');",
        "put 'm', 'ann_age', 'd:n', \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x2a\", 1",
        "put 'm', 'bob_age', 'd:n', 'forty', 2",
        "put 'm', 'odd', 'd:other', \"\\x01\", 3",
    ];
    let (text, _) = pipe(&[&rows[..], &["scan 'm', {DECODED => true}"]].concat(), false);
    for expected in [
        "user = 'ann', what = 'age'",
        "column=n, timestamp=1970-01-01T00:00:00.001, value=42",
        "column=n, timestamp=1970-01-01T00:00:00.002, value=forty (no value of its type)",
        "odd",
        "column=d:other, timestamp=1970-01-01T00:00:00.003, value=\\x01",
        "3 row(s)",
    ] {
        assert!(text.contains(expected), "no {expected}:\n{text}");
    }
    let get = "get 'm', 'ann_age', {DECODED => true}";
    let (text, _) = pipe(&[&rows[..], &[get]].concat(), false);
    assert!(text.contains("value=42"), "{text}");
    let (text, _) = pipe(&["create 't', 'f'", "scan 't', {DECODED => true}"], false);
    assert!(text.contains("table t, which declares none; ALTER TABLE"), "{text}");
}

#[test]
#[cfg(not(feature = "sql"))]
fn sql_that_is_not_built_in_says_how_to_get_it() {
    let (text, _) = pipe(&["SELECT 1;", "list"], false);
    assert!(text.contains("SELECT is SQL, which this build has not: cargo build"), "{text}");
    assert!(text.contains("0 row(s)"), "the next command runs: {text}");
}

#[test]
#[cfg(feature = "sql")]
fn sql_runs_among_commands() {
    let (text, _) = pipe(
        &[
            "CREATE TABLE m (n I64 FAMILY d, ROW KEY (id STRING));",
            "UPSERT INTO m (id, n)",
            "VALUES ('a', 1), ('b', 2);",
            "SELECT id, n + 40 AS more FROM m",
            "ORDER BY id DESC;",
            "count 'm'",
            "SELECT nothing FROM m;",
        ],
        false,
    );
    for expected in ["(2 rows)", "2 row(s)", "ERROR: 42703: there is no column nothing"] {
        assert!(text.contains(expected), "no {expected}:\n{text}");
    }
    assert!(text.lines().any(|line| line.split_whitespace().eq(["b", "42"])), "{text}");
}
