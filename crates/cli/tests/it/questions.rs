//! `docs/questions.md`: each question is answered with commands that run as they are printed.

use std::path::Path;

use crate::program::{halite, output};

/// Returns the commands of the program in an answer, without their comments.
fn commands(answer: &str) -> Vec<Vec<&str>> {
    let lines = answer.lines().filter_map(|line| line.strip_prefix("$ halite "));
    lines.map(|line| line.split('#').next().unwrap_or(line).split_whitespace().collect()).collect()
}

#[test]
fn p15_each_question_is_answered_with_experiments_that_run() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/questions.md");
    let page = std::fs::read_to_string(page).unwrap();
    let answers: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(answers.len(), 5);
    let folder = tempfile::tempdir().unwrap();
    for answer in answers {
        let commands = commands(answer);
        let labs = commands.iter().filter(|command| command[0] == "lab").count();
        assert!(labs > 0, "no experiment: {answer}");
        for command in commands {
            let ran =
                output(halite().args(&command).env("HALITE_DATA", folder.path().join("data")));
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success() && !ran.stdout.is_empty(), "{command:?}: {said}");
        }
    }
}
