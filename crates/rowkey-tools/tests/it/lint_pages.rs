//! Each rule has a correct page: lint reports the rule for its bad examples, and not for its good
//! ones.

use std::fs;
use std::path::PathBuf;

use halite_rowkey_tools::lint::{Finding, RULES, Rule, Severity};

use crate::lint_input::findings;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint")
}

/// Returns the blocks of a page that are marked `sql bad`, `java good` and so on: language, `true`
/// if the block is a good example, and text.
fn blocks(page: &str) -> Vec<(&str, bool, &str)> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced
        .filter_map(|block| {
            let (marks, text) = block.split_once('\n')?;
            let (language, mark) = marks.split_once(' ')?;
            Some((language, mark == "good", text)).filter(|_| ["good", "bad"].contains(&mark))
        })
        .collect()
}

#[test]
fn lint_reports_bad_page_examples_and_accepts_good_ones() {
    let mut wrong = Vec::new();
    for rule in RULES {
        let blocks = blocks(rule.page);
        for wanted in [false, true] {
            assert!(
                blocks.iter().any(|(_, good, _)| *good == wanted),
                "{}: the page has no example marked {}",
                rule.id,
                if wanted { "good" } else { "bad" }
            );
        }
        for (language, good, text) in blocks {
            let findings = findings(language, text);
            let found: Vec<_> = findings.iter().map(|finding| finding.rule.id).collect();
            // Regions that are split in advance help a key that begins with a time, but it remains
            // one. Keys on a page are written by hand, including their salts and digests.
            let is_own = |finding: &&Finding| {
                (rule.id, finding.rule.id) != ("P-ROLL", "K-MONO")
                    && (finding.rule.id != "K-MISFIT" || rule.id == "K-MISFIT")
            };
            let worst = findings.iter().filter(is_own).map(|finding| finding.severity).max();
            assert!(
                !good || worst <= Some(Severity::Note),
                "{}: the good example has mistakes of its own, {found:?}\n{text}",
                rule.id
            );
            if found.contains(&rule.id) == good {
                wrong.push(format!("{}: {found:?} are found in\n{text}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_contains_the_required_sections() {
    for rule in RULES {
        let head = format!("# {}: {}\n\nWorst: {}.", rule.id, rule.summary, rule.severity.name());
        assert!(
            rule.page.starts_with(&head),
            "docs/lint/{}.md does not begin with\n{head}",
            rule.id
        );
        for part in ["## What happens\n", "## Instead\n", "## When it is right\n", "## See also\n"]
        {
            assert!(rule.page.contains(part), "docs/lint/{}.md has no {part}", rule.id);
        }
        let lines = rule.page.lines().count();
        assert!((20..=70).contains(&lines), "docs/lint/{}.md has {lines} lines", rule.id);
        assert!(
            rule.page.contains(&format!("-- lint:allow {} ", rule.id))
                || rule.page.contains("lint:allow does not"),
            "docs/lint/{}.md does not say how it is silenced",
            rule.id
        );
    }
}

#[test]
fn pages_reference_existing_rules_and_lab_pages() {
    for rule in RULES {
        for other in mentioned(rule.page) {
            assert!(
                RULES.iter().any(|rule| rule.id == other),
                "docs/lint/{}.md names {other}, which is no rule",
                rule.id
            );
        }
        for lab in rule.page.split("halite lab ").skip(1) {
            let (kind, number) = lab.split_at(1);
            let number: u32 = number
                .get(..2)
                .and_then(|digits| digits.parse().ok())
                .unwrap_or_else(|| panic!("{}: halite lab {lab}", rule.id));
            let most = match kind {
                "E" => 48,
                "K" => 37,
                _ => 0,
            };
            assert!(
                (1..=most).contains(&number),
                "docs/lint/{}.md: there is no halite lab {kind}{number:02}",
                rule.id
            );
        }
    }
}

/// Returns the words of a page that resemble a rule id.
fn mentioned(page: &str) -> impl Iterator<Item = &str> {
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| {
        let name = ["K-", "P-", "Q-", "F-"].iter().find_map(|kind| word.strip_prefix(kind));
        name.is_some_and(|name| {
            name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_uppercase())
        })
    })
}

/// Returns the expected index of the pages.
fn index() -> String {
    let row = |rule: &Rule| {
        format!("| [{0}]({0}.md) | {1} | {2} |", rule.id, rule.severity.name(), rule.summary)
    };
    let rows: Vec<String> = RULES.iter().map(row).collect();
    format!(
        "# What lint finds\n\n\
         {} rules: of keys (K), of splits (P), of queries (Q), of families and cells (F). \
         `halite key lint FILE` looks at statements,\n\
         `halite key lint --table NAME` at a table that is there, and \
         `halite key lint --explain RULE` prints the page of a rule. Each page shows\n\
         what is found and what is not; a test reads them.\n\n\
         | rule | worst | finds |\n|---|---|---|\n{}\n",
        RULES.len(),
        rows.join("\n")
    )
}

#[test]
fn index_lists_every_page() {
    let file = folder().join("README.md");
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        fs::write(&file, index()).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap_or_default(),
        index(),
        "cargo xtask golden --update writes docs/lint/README.md"
    );
    let pages = fs::read_dir(folder()).unwrap().count();
    assert_eq!(pages, RULES.len() + 1, "docs/lint holds a page of no rule");
}
