//! Every page in both themes and at two widths: nothing fails, nothing overflows, all text has
//! contrast, and all controls have names.

use crate::lab::tab;
use crate::tab::{Tab, controls};

/// Name of the picture, path, and the status that the page is expected to be answered with for
/// what does not exist.
const PAGES: [(&str, &str, Option<u16>); 11] = [
    ("overview", "/", None),
    ("tables", "/tables", None),
    ("activity", "/activity", None),
    ("regions", "/t/testtable/regions", None),
    ("heat", "/t/traffic_hot_row/heat", None),
    ("hot-keys", "/t/traffic_hot_row/hot-keys", None),
    ("rows", "/t/users/rows", None),
    ("what-if", "/t/traffic_hot_row/what-if", None),
    ("schema", "/t/traffic_hot_row/schema", None),
    ("unknown-table", "/t/nothing/regions", Some(404)),
    ("unknown-page", "/t/users/nothing", None),
];

const BUSY_TRIES: usize = 10;

const AUDIT: &str = include_str!("audit.js");

fn check_all(theme: &str, (width, height): (u32, u32)) {
    let Some((_, mut tab)) = tab() else { return };
    tab.resize(width, height);
    let mut found = Vec::new();
    for (name, path, status) in PAGES {
        let mut problems = Vec::new();
        let mut is_busy = true;
        // A server that other tests keep busy says so, and the page asks again later.
        for _ in 0..BUSY_TRIES {
            tab.take_busy();
            tab.goto(&format!("{path}?theme={theme}"));
            tab.screenshot(&format!("{name}-{theme}-{width}"));
            problems = problems_of(&mut tab);
            is_busy = tab.take_busy();
            if !is_busy {
                break;
            }
        }
        if is_busy {
            problems.push(format!("busy in each of {BUSY_TRIES} tries"));
        }
        // 501: not recorded here, which the page says in its place.
        for status in status.into_iter().chain([501]) {
            let (answer, log) = (format!("answer {status} of "), format!("a status of {status} "));
            problems.retain(|problem| !problem.starts_with(&answer) && !problem.contains(&log));
        }
        found.extend(problems.into_iter().map(|problem| format!("{path}: {problem}")));
    }
    // A file under a second address would be loaded, and a module run, twice.
    let is_file = |path: &&String| matches!(path.rsplit('.').next(), Some("js" | "css"));
    let files: Vec<&String> = tab.requests().iter().filter(is_file).collect();
    assert!(files.iter().any(|path| path.ends_with("/js/heatview.js")), "{files:?}");
    found.extend(
        files.iter().filter(|path| !path.starts_with("/assets/")).map(|&path| path.clone()),
    );
    assert!(found.is_empty(), "{theme}, {width} x {height}: {found:#?}");
}

/// Returns what is wrong with the page that is shown.
fn problems_of(tab: &mut Tab) -> Vec<String> {
    let audit = tab.eval(AUDIT);
    let mut problems: Vec<String> =
        audit.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    let accessible = tab.accessible();
    let named = controls();
    let nameless =
        accessible.iter().filter(|(role, name)| named.contains(role.as_str()) && name.is_empty());
    problems.extend(nameless.map(|(role, _)| format!("{role} without a name")));
    if !accessible.iter().any(|(role, _)| role == "main") {
        problems.push("no main part".to_owned());
    }
    problems.extend(tab.take_problems());
    problems
}

#[test]
fn wide_light_pages_are_clean() {
    check_all("light", (1366, 900));
}

#[test]
fn wide_dark_pages_are_clean() {
    check_all("dark", (1366, 900));
}

#[test]
fn narrow_light_pages_are_clean() {
    check_all("light", (390, 844));
}

#[test]
fn narrow_dark_pages_are_clean() {
    check_all("dark", (390, 844));
}
