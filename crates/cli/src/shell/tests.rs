//! The shell against transcripts of HBase's own: `testdata/shell/*.txt`, whose format its README describes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;

use super::scratch;
use super::{Session, Shell, State};

/// A transcript: commands with what HBase printed and what we print.
struct Transcript {
    path: PathBuf,
    steps: Vec<Step>,
}

struct Step {
    /// Lines of the command, and lines that answer its questions.
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
                steps.push(Step { input: vec![command.to_owned()], answers: Vec::new(), stock: Vec::new(), ours: Vec::new() });
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

    /// Runs every step and fails with all differences, or writes them down if told so.
    fn check(mut self) {
        let out = Rc::new(RefCell::new(Vec::new()));
        let answers = Rc::new(RefCell::new(VecDeque::<String>::new()));
        let asked = Rc::clone(&answers);
        let session = Session::new(scratch::cluster(), Shared(Rc::clone(&out)), Box::new(move || Ok(asked.borrow_mut().pop_front())));
        let mut shell = Shell::new(session);
        let mut differences = Vec::new();
        for step in &mut self.steps {
            answers.borrow_mut().extend(step.answers.iter().cloned());
            let mut state = State::Unfinished;
            for line in &step.input {
                state = shell.feed(line).unwrap();
            }
            if state == State::Unfinished {
                shell.end().unwrap();
            }
            let text = String::from_utf8(std::mem::take(&mut *out.borrow_mut())).unwrap();
            let found: Vec<String> = mask(&text).lines().map(str::to_owned).collect();
            if found != step.ours {
                differences.push(format!("> {}\n-- expected\n{}\n-- found\n{}\n\n", step.input.join("\n* "), step.ours.join("\n"), found.join("\n")));
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
            lines.extend(step.input.iter().zip(heads).map(|(line, head)| format!("{head}{line}\n")));
            lines.extend(step.answers.iter().map(|line| format!("< {line}\n")));
            lines.extend(merged(&step.stock, &step.ours));
        }
        lines.concat()
    }
}

/// Both lists in one: what only one of them has is marked. The longest common subsequence decides.
fn merged(stock: &[String], ours: &[String]) -> Vec<String> {
    let mut common = vec![vec![0usize; ours.len() + 1]; stock.len() + 1];
    for i in (0..stock.len()).rev() {
        for j in (0..ours.len()).rev() {
            common[i][j] = if stock[i] == ours[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
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

/// Hides what differs from run to run: durations, the present time, the ids and hashes of regions.
fn mask(text: &str) -> String {
    let rules = [
        (r"Took \d+\.\d{4} seconds", "Took T seconds"),
        (r"timestamp=20\d\d-\d\d-\d\dT[0-9:.]+", "timestamp=NOW"),
        (r"\(20\d\d-\d\d-\d\d [0-9:]+ [-+]\d{4}\)", "(NOW)"),
        (r",\d+\.[0-9a-f]{32}\.", ",ID.HASH."),
        (r"ENCODED => [0-9a-f]{32}", "ENCODED => HASH"),
        (r"(?m)^.* \(auth:SIMPLE\)$", "USER (auth:SIMPLE)"),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, shown)| regex::Regex::new(pattern).unwrap().replace_all(&text, *shown).into_owned())
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

        /// A transcript that no test reads would say nothing.
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
transcripts!(tutorials, create, data, scan, ddl, namespace, language, tools, snapshots, status, beyond, row_keys);

/// Runs lines as a pipe would and gives what the shell printed and how it ended.
fn pipe(lines: &[&str], stop_at_error: bool) -> (String, super::End) {
    let mut out = Vec::new();
    let mut input = lines.iter().map(|line| (*line).to_owned());
    let mut shell = Shell::new(scratch::session(&mut out));
    let end = super::run_lines(&mut shell, || Ok(input.next()), stop_at_error).unwrap();
    drop(shell);
    (mask(&String::from_utf8(out).unwrap()), end)
}

#[test]
fn a_pipe_shows_prompts_that_count_lines_and_open_brackets() {
    let (text, end) = pipe(&["x = [1,", "2]", "y = 'a", "b'", "x.length"], false);
    assert_eq!(
        text,
        "halite:001:0> x = [1,\nhalite:002:1* 2]\n=> [1, 2]\nhalite:003:0> y = 'a\nhalite:004:0' b'\n=> \"a\\nb\"\nhalite:005:0> x.length\n=> 2\n"
    );
    assert_eq!(end, super::End::Input);
}

#[test]
fn the_first_error_ends_a_script_and_does_not_end_a_conversation() {
    let lines = ["puts 1", "get 'nosuch', 'r'", "puts 2"];
    let (text, end) = pipe(&lines, true);
    assert!(text.contains("ERROR: Unknown table nosuch!") && !text.contains("puts 2"), "{text}");
    assert_eq!(end, super::End::Failed);
    let (text, end) = pipe(&lines, false);
    assert!(text.ends_with("halite:003:0> puts 2\n2\n"), "{text}");
    assert_eq!(end, super::End::Input);
}

#[test]
fn an_input_that_ends_inside_a_statement_is_an_error() {
    let (text, end) = pipe(&["scan 't', {"], true);
    assert!(text.contains("ERROR: the input ends inside a statement"), "{text}");
    assert_eq!(end, super::End::Failed);
}

#[test]
fn exit_leaves_with_its_code() {
    assert_eq!(pipe(&["exit 3", "puts 1"], false), ("halite:001:0> exit 3\n".to_owned(), super::End::Exit(3)));
}

#[test]
fn neighbours_merge_by_their_encoded_or_whole_names() {
    let mut out = Vec::new();
    let mut shell = Shell::new(scratch::session(&mut out));
    let regions = |shell: &Shell<'_>| halite_types::block_on(shell.session.table(&"m".parse().unwrap()).regions()).unwrap();
    shell.feed("create 'm', 'f', SPLITS => ['b', 'c', 'd']").unwrap();
    let found = regions(&shell);
    let command = format!("merge_region '{}', '{}', '{}'", found[2].encoded_name, found[1].display_name(), found[3].encoded_name);
    assert_eq!(shell.feed(&command).unwrap(), State::Done { failed: false });
    let starts: Vec<_> = regions(&shell).into_iter().map(|region| region.start).collect();
    assert_eq!(starts, ["", "b"]);
}
