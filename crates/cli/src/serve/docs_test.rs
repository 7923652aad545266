//! Verifies `docs/serve.md` against the tables of options and names.

use std::fmt::Write as _;
use std::path::Path;

use super::config::ServeConfig;
use super::hbase_settings::{HBASE_SETTINGS, Meaning};
use super::options::OPTIONS;
use super::refused::REFUSED;

fn options() -> String {
    let mut table = "| option | default | |\n|---|---|---|\n".to_owned();
    for option in OPTIONS {
        let value = option.value.map_or_else(String::new, |value| format!(" {value}"));
        // The default number of threads depends on the machine.
        let default = match option.name {
            "io-threads" => "half of the cores".to_owned(),
            "handler-threads" => "cores, at least 2".to_owned(),
            _ => format!("`{}`", option.format(&ServeConfig::default())),
        };
        let default = if option.value.is_none() { String::new() } else { default };
        writeln!(table, "| `{}`{value} | {default} | {} |", option.name, option.help).unwrap();
    }
    table
}

fn names() -> String {
    let mut table = "| HBase's name | here |\n|---|---|\n".to_owned();
    for known in HBASE_SETTINGS {
        let here = match known.meaning {
            Meaning::Alias(option) => format!("`{option}`"),
            Meaning::Converted(option, _) => format!("`{option}`, in HBase's own values"),
            Meaning::Ignored(why) => format!("nothing: {why}"),
        };
        writeln!(table, "| `{}` | {here} |", known.name).unwrap();
    }
    table
}

fn refusals() -> String {
    let mut table = "| HBase's name | passes with | otherwise |\n|---|---|---|\n".to_owned();
    for known in REFUSED {
        let harmless: Vec<String> =
            known.harmless.iter().map(|value| format!("`{value}`")).collect();
        let harmless = if harmless.is_empty() { "nothing".to_owned() } else { harmless.join(", ") };
        writeln!(
            table,
            "| `{}` | {harmless} | {} |",
            known.name.format(),
            known.lack.explanation()
        )
        .unwrap();
    }
    table
}

/// Returns the page with the text between a mark and the next `<!-- end -->` replaced.
fn filled(page: &str, mark: &str, table: &str) -> String {
    let start = page.find(mark).unwrap_or_else(|| panic!("no {mark} in the page")) + mark.len();
    let end = start + page[start..].find("<!-- end -->").unwrap();
    format!("{}\n{table}{}", &page[..start], &page[end..])
}

#[test]
fn serve_page_lists_all_options_and_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let tables = [
        ("<!-- options -->", options()),
        ("<!-- hbase names -->", names()),
        ("<!-- refused names -->", refusals()),
    ];
    let expected =
        tables.iter().fold(page.clone(), |page, (mark, table)| filled(&page, mark, table));
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(
        page == expected || std::env::var_os("HALITE_UPDATE_GOLDEN").is_some(),
        "docs/serve.md is older than the options; cargo xtask golden --update"
    );
}
