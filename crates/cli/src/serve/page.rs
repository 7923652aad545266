//! Holds `docs/serve.md` to the tables of options and names.

use std::fmt::Write as _;
use std::path::Path;

use super::hbase_names::{HBASE_NAMES, Meaning};
use super::options::OPTIONS;
use super::refused::REFUSED;
use super::settings::Settings;

fn options() -> String {
    let mut table = "| option | default | |\n|---|---|---|\n".to_owned();
    for option in OPTIONS {
        let value = option.value.map_or_else(String::new, |value| format!(" {value}"));
        // How many threads there are by themselves depends on the machine.
        let default = match option.name {
            "io-threads" => "half of the cores".to_owned(),
            "handler-threads" => "cores, at least 2".to_owned(),
            _ => format!("`{}`", option.show(&Settings::default())),
        };
        let default = if option.value.is_none() { String::new() } else { default };
        writeln!(table, "| `{}`{value} | {default} | {} |", option.name, option.help).unwrap();
    }
    table
}

fn names() -> String {
    let mut table = "| HBase's name | here |\n|---|---|\n".to_owned();
    for known in HBASE_NAMES {
        let here = match known.meaning {
            Meaning::Same(option) => format!("`{option}`"),
            Meaning::As(option, _) => format!("`{option}`, in HBase's own values"),
            Meaning::Nothing(why) => format!("nothing: {why}"),
        };
        writeln!(table, "| `{}` | {here} |", known.name).unwrap();
    }
    table
}

fn refusals() -> String {
    let mut table = "| HBase's name | passes with | otherwise |\n|---|---|---|\n".to_owned();
    for known in REFUSED {
        let harmless: Vec<String> = known.harmless.iter().map(|value| format!("`{value}`")).collect();
        let harmless = if harmless.is_empty() { "nothing".to_owned() } else { harmless.join(", ") };
        writeln!(table, "| `{}` | {harmless} | {} |", known.name.shown(), known.lack.told()).unwrap();
    }
    table
}

/// The page with what stands between a mark and the next `<!-- end -->` replaced.
fn filled(page: &str, mark: &str, table: &str) -> String {
    let start = page.find(mark).unwrap_or_else(|| panic!("no {mark} in the page")) + mark.len();
    let end = start + page[start..].find("<!-- end -->").unwrap();
    format!("{}\n{table}{}", &page[..start], &page[end..])
}

#[test]
fn the_page_lists_every_option_and_every_name_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let tables = [("<!-- options -->", options()), ("<!-- hbase names -->", names()), ("<!-- refused names -->", refusals())];
    let wanted = tables.iter().fold(page.clone(), |page, (mark, table)| filled(&page, mark, table));
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(page == wanted || std::env::var_os("HALITE_UPDATE_GOLDEN").is_some(), "docs/serve.md is behind the options; cargo xtask golden --update");
}
