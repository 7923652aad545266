//! `halite key new`: the seven questions about a table's schema, and the resulting `CREATE TABLE`.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal as _, Write};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use halite::rowkey::SegmentKind;
use halite::rowkey::language::{SplitClause, Statement, TableDeclaration, statements};
use halite_rowkey_tools::lint::{LintInput, lint_declaration, report};

/// One question.
struct Prompt {
    /// Subject, in error messages.
    about: &'static str,
    /// Question text.
    text: &'static str,
    /// Meaning of an empty answer; `None` if an answer is required.
    default: Option<&'static str>,
    /// Repeats the question until the answer is empty.
    repeats: bool,
}

const PROMPTS: &[Prompt] = &[
    Prompt { about: "table", text: "What is the table called?", default: None, repeats: false },
    Prompt {
        about: "families",
        text: "1 of 7. Which column families? One letter each; one does for columns that are read \
               together.",
        default: Some("d"),
        repeats: false,
    },
    Prompt {
        about: "columns",
        text: "2 of 7. Which columns, as queries call them: total, status; with several families \
               d.total, e.photo.",
        default: Some(""),
        repeats: false,
    },
    Prompt {
        about: "names",
        text: "3 of 7. Under which letters are they stored, in every cell: total=t, status=s. The \
               rest get their shortest beginnings.",
        default: Some(""),
        repeats: false,
    },
    Prompt {
        about: "values",
        text: "4 of 7. What do they hold: total=DECIMAL, status=STRING (I64, F64, BOOL, BYTES, \
               TIMESTAMP ...). The rest are STRING.",
        default: Some(""),
        repeats: false,
    },
    Prompt {
        about: "versions",
        text: "5 of 7. How many versions of a value are kept, and for how long: 1, or 3 for 30d.",
        default: Some("1"),
        repeats: false,
    },
    Prompt {
        about: "key",
        text: "6 of 7. What is the row key made of, from left to right: SALT(16 BY customer), \
               customer STRING, at TIMESTAMP DESC.",
        default: None,
        repeats: false,
    },
    Prompt {
        about: "queries",
        text: "7 of 7. What is asked, one question a line: customer = ? AND at IN RANGE LIMIT 20. \
               An empty line ends them.",
        default: Some(""),
        repeats: true,
    },
];

/// Column of the draft.
struct DraftColumn {
    name: String,
    family: String,
    qualifier: Option<String>,
    ty: String,
}

/// Answers so far.
#[derive(Default)]
struct Draft {
    table: String,
    families: Vec<String>,
    columns: Vec<DraftColumn>,
    versions: Option<u32>,
    ttl_seconds: Option<u64>,
    key: Option<String>,
    queries: Vec<String>,
}

/// Asks the questions on the terminal, or reads answers from a pipe, one per line. Prints the
/// statement with its lint findings as comments.
pub(crate) fn new() -> anyhow::Result<ExitCode> {
    let (stdin, mut prompts) = (std::io::stdin(), std::io::stderr());
    let may_ask_again = stdin.is_terminal();
    let declaration = interview(&mut stdin.lock(), &mut prompts, may_ask_again)?;
    write!(std::io::stdout(), "{}", format_declaration(&declaration))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the statement, followed by the lint report as `--` comments.
fn format_declaration(declaration: &TableDeclaration) -> String {
    let findings = lint_declaration(declaration, &LintInput::default());
    let lint_report = report(&findings, &format!("table {}", declaration.descriptor.name()));
    let comments =
        lint_report.lines().map(|line| format!("-- {line}")).collect::<Vec<_>>().join("\n");
    format!("{};\n{comments}\n", declaration.to_string().trim_end().trim_end_matches(';'))
}

/// Asks all questions. After an invalid answer, the question is repeated in an interactive session.
fn interview(
    answers: &mut impl BufRead,
    prompts: &mut impl Write,
    may_ask_again: bool,
) -> anyhow::Result<TableDeclaration> {
    let mut draft = Draft::default();
    for question in PROMPTS {
        loop {
            match question.default {
                Some(default) if !default.is_empty() => {
                    writeln!(prompts, "{} [{default}]", question.text)?;
                }
                _ => writeln!(prompts, "{}", question.text)?,
            }
            let Some(answer) = answer(answers, question)? else { break };
            let before = draft.key.is_some();
            match draft.take(question.about, &answer).and_then(|()| draft.read().map(drop)) {
                Ok(()) if question.repeats => {}
                Ok(()) => break,
                Err(message) if may_ask_again => {
                    draft.remove_answer(question, before);
                    writeln!(prompts, "{message}")?;
                }
                Err(message) => {
                    bail!("the answer about {} cannot be: {answer}\n{message}", question.about)
                }
            }
        }
    }
    draft.salted_splits().map_err(|message| anyhow!(message))
}

/// Returns the next answer; `None` if it is empty and that ends the list.
fn answer(answers: &mut impl BufRead, question: &Prompt) -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    let is_end = answers.read_line(&mut line)? == 0;
    match (line.trim(), question.default) {
        ("", None) if is_end => bail!("the answers end before the one about {}", question.about),
        ("", None) => {
            bail!("the answer about {} is empty, and there has to be one", question.about)
        }
        ("", Some("")) => Ok(None),
        ("", Some(default)) => Ok(Some(default.to_owned())),
        (text, _) => Ok(Some(text.to_owned())),
    }
}

/// Splits `a, b` at commas.
fn list_items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|piece| !piece.is_empty())
}

impl Draft {
    /// Applies the answer to one of the questions.
    fn take(&mut self, about: &str, text: &str) -> Result<(), String> {
        match about {
            "table" => text.clone_into(&mut self.table),
            "families" => self.families = list_items(text).map(str::to_owned).collect(),
            "columns" => self.columns(text)?,
            "names" => {
                self.each(text, |column, value| column.qualifier = Some(value.to_owned()))?;
            }
            "values" => self.each(text, |column, value| value.clone_into(&mut column.ty))?,
            "versions" => self.versions(text)?,
            "key" => self.key = Some(text.trim_start_matches("ROW KEY").trim().to_owned()),
            _ => self.query(text),
        }
        Ok(())
    }

    fn columns(&mut self, text: &str) -> Result<(), String> {
        let mut columns: Vec<DraftColumn> = Vec::new();
        for piece in list_items(text) {
            let (family, name) = piece
                .split_once('.')
                .unwrap_or((self.families.first().map_or("d", String::as_str), piece));
            if !self.families.iter().any(|known| known == family) {
                return Err(format!(
                    "{piece}: there is no family {family}, but {}",
                    self.families.join(", ")
                ));
            }
            columns.push(DraftColumn {
                name: name.to_owned(),
                family: family.to_owned(),
                qualifier: None,
                ty: "STRING".to_owned(),
            });
        }
        self.columns = columns;
        self.shorten();
        Ok(())
    }

    /// Shortens the stored name of each column to its shortest prefix that no earlier column of its
    /// family has.
    fn shorten(&mut self) {
        for at in 0..self.columns.len() {
            let (name, family) = (self.columns[at].name.clone(), self.columns[at].family.clone());
            let is_taken = |short: &str| {
                self.columns[..at].iter().any(|other| {
                    other.family == family && other.qualifier.as_deref() == Some(short)
                })
            };
            let ends = name.char_indices().map(|(start, letter)| start + letter.len_utf8());
            let short = ends
                .map(|end| &name[..end])
                .find(|short| !is_taken(short))
                .unwrap_or(&name)
                .to_owned();
            self.columns[at].qualifier = Some(short);
        }
    }

    /// Applies `column=value` items to the named columns.
    fn each(&mut self, text: &str, set: impl Fn(&mut DraftColumn, &str)) -> Result<(), String> {
        for piece in list_items(text) {
            let (name, value) =
                piece.split_once('=').ok_or_else(|| format!("{piece}: say COLUMN=SOMETHING"))?;
            let known = self
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect::<Vec<_>>()
                .join(", ");
            let column = self.columns.iter_mut().find(|column| column.name == name.trim());
            set(
                column.ok_or_else(|| {
                    format!("{piece}: there is no column {}, but {known}", name.trim())
                })?,
                value.trim(),
            );
        }
        Ok(())
    }

    fn versions(&mut self, text: &str) -> Result<(), String> {
        let (versions, time) = text
            .split_once(" for ")
            .map_or((text, None), |(versions, time)| (versions, Some(time)));
        self.versions =
            Some(versions.trim().parse().map_err(|_| {
                format!("{versions} is no number of versions; say 1, or 3 for 30d")
            })?);
        self.ttl_seconds = time.map(|time| seconds(time.trim())).transpose()?;
        Ok(())
    }

    fn query(&mut self, text: &str) {
        let is_named = text.split_once(':').is_some_and(|(name, _)| {
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        });
        self.queries.push(if is_named {
            text.to_owned()
        } else {
            format!("q{}: {text}", self.queries.len() + 1)
        });
    }

    /// Removes the effect of an invalid answer; other answers are replaced by the next one.
    fn remove_answer(&mut self, question: &Prompt, had_key: bool) {
        match question.about {
            "queries" => drop(self.queries.pop()),
            "key" if !had_key => self.key = None,
            _ => {}
        }
    }

    /// Returns the statement so far. Without a key, uses one that fits any columns.
    fn text(&self) -> String {
        let mut elements: Vec<String> =
            self.families.iter().map(|family| format!("FAMILY {family}")).collect();
        elements.extend(self.columns.iter().map(|column| {
            let qualifier = column.qualifier.as_ref().unwrap_or(&column.name);
            format!(
                "{} {} FAMILY {} QUALIFIER '{}'",
                column.name,
                column.ty,
                column.family,
                qualifier.replace('\'', "''")
            )
        }));
        elements.push(match &self.key {
            Some(key) if key.starts_with("TEXT") || key.starts_with('(') => {
                format!("ROW KEY {key}")
            }
            Some(key) => format!("ROW KEY ({key})"),
            None => "ROW KEY (row_key_to_come STRING)".to_owned(),
        });
        let mut text = format!("CREATE TABLE {} (\n  {}\n)", self.table, elements.join(",\n  "));
        let versions = self
            .versions
            .filter(|versions| *versions != 1)
            .map(|versions| format!("VERSIONS = {versions}"));
        let options: Vec<_> = versions
            .into_iter()
            .chain(self.ttl_seconds.map(|seconds| format!("TTL = {seconds}")))
            .collect();
        // Writing to a string does not fail.
        if !options.is_empty() {
            let _ = write!(text, " WITH ({})", options.join(", "));
        }
        if !self.queries.is_empty() {
            let _ = write!(text, " WITH QUERIES ({})", self.queries.join(", "));
        }
        text
    }

    /// Parses the statement so far, or returns its error.
    fn read(&self) -> Result<TableDeclaration, String> {
        let text = self.text();
        match statements(&text).map_err(|error| error.render(&text))?.pop() {
            Some(Statement::CreateTable(declaration)) => Ok(declaration),
            _ => Err("this is no CREATE TABLE".to_owned()),
        }
    }

    /// Parses the whole statement, with one region per salt if the key begins with a salt.
    fn salted_splits(&self) -> Result<TableDeclaration, String> {
        let mut declaration = self.read()?;
        if matches!(
            declaration.key.segments().first().map(|segment| &segment.kind),
            Some(SegmentKind::Salt { .. })
        ) {
            declaration.split = Some(SplitClause::BySalt { regions_each: 1 });
        }
        Ok(declaration)
    }
}

/// Parses `30d`, `12h`, `15m`, `90s` or a number of seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text} is no duration; say 30d, 12h, 15m or a number of seconds");
    let (digits, unit) =
        text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let each = match unit.trim() {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "" | "s" => 1,
        _ => return Err(wrong()),
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(each)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the interview with answers as from a pipe.
    fn run_interview(answers: &str) -> anyhow::Result<String> {
        Ok(format_declaration(&interview(&mut answers.as_bytes(), &mut Vec::new(), false)?))
    }

    #[test]
    fn c18_seven_answers_produce_table_with_lint_findings() {
        let said = run_interview(
            "orders\nd, e\ntotal, status, e.photo\nphoto=p\ntotal=DECIMAL, photo=BYTES\n3 for 30d\n\
             SALT(16 BY customer), customer STRING, at TIMESTAMP DESC\ncustomer = ?\n\
             all: at IN RANGE\n\n",
        )
        .unwrap();
        for expected in [
            "CREATE TABLE orders",
            "total DECIMAL FAMILY d QUALIFIER 't'",
            "status STRING FAMILY d QUALIFIER 's'",
            "photo BYTES FAMILY e QUALIFIER 'p'",
            "ROW KEY (SALT(16 BY customer), customer STRING, at TIMESTAMP DESC)",
            "q1: customer = ?",
            "all: at IN RANGE",
            "SPLIT BY SALT;",
            "-- table orders: ",
        ] {
            assert!(said.contains(expected), "no {expected}:\n{said}");
        }
        assert!(said.contains("VERSIONS = 3") && said.contains("TTL = 2592000"), "{said}");
        let read = statements(&said).unwrap();
        assert_eq!(read.len(), 1, "what is printed is read again, comments and all:\n{said}");
    }

    #[test]
    fn monotonic_key_is_reported_immediately() {
        let said = run_interview("log\n\nline\n\n\n\nat TIMESTAMP, seq U32\n").unwrap();
        assert!(
            said.contains("-- error[K-MONO]")
                && said.contains("line STRING FAMILY d QUALIFIER 'l'"),
            "{said}"
        );
    }

    #[test]
    fn invalid_answer_is_reported_with_question_and_reason() {
        for (answers, expected) in [
            ("", "end before the one about table"),
            ("t\n\n\n\n\n\n", "about key"),
            ("t\n\na\nb=x\n", "there is no column b, but a"),
            ("t\n\nz.a\n", "there is no family z, but d"),
            ("t\n\na\n\na=NUMBR\n", "there is no type NUMBR"),
            ("t\n\n\n\n\nmany\n", "many is no number of versions"),
            ("t\n\n\n\n\n1 for evr\n", "evr is no duration"),
            ("t\n\n\n\n\n\nid STRNG\n", "did you mean STRING"),
            ("t\n\n\n\n\n\nid STRING\nnone = ?\n", "about queries"),
        ] {
            let error = run_interview(answers).unwrap_err().to_string();
            assert!(error.contains(expected), "{answers:?}: {error}");
        }
    }

    #[test]
    fn terminal_interview_repeats_question_after_error() {
        let mut prompts = Vec::new();
        let answers = "t\n\na, b\n\na=NUMBR\na=I64\n\nid STRNG\nid STRING\nnone = ?\nid = ?\n\n";
        let declaration = interview(&mut answers.as_bytes(), &mut prompts, true).unwrap();
        assert_eq!((declaration.columns.len(), declaration.queries.len()), (2, 1));
        let prompts = String::from_utf8(prompts).unwrap();
        assert_eq!(prompts.matches("4 of 7").count(), 2, "{prompts}");
        assert_eq!(prompts.matches("6 of 7").count(), 2, "{prompts}");
    }
}
