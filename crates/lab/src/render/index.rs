//! List of all pages, for a terminal and as Markdown.

use super::line;
use crate::page::{Page, PageKind};

/// Kinds in the order of the list, each with its heading.
const KINDS: [(PageKind, &str); 4] = [
    (PageKind::Mistake, "Mistakes, done wrong and then right"),
    (PageKind::Technique, "Techniques"),
    (PageKind::Basic, "What both rest on"),
    (PageKind::Sql, "SQL over declared keys"),
];

/// Returns the list for a terminal.
pub fn list(pages: impl Iterator<Item = &'static Page>) -> String {
    let pages: Vec<_> = pages.collect();
    let mut out = String::new();
    for (kind, heading) in KINDS {
        line(&mut out, format_args!("{heading}"));
        for page in pages.iter().filter(|page| page.kind() == kind) {
            let note = if page.is_built() { "" } else { " (in a build with --features sql)" };
            line(&mut out, format_args!("  {:<4} {}{note}", page.id, page.title));
        }
        out.push('\n');
    }
    out
}

/// Returns the list as Markdown, with links to the pages in the same directory.
pub fn index(pages: impl Iterator<Item = &'static Page>) -> String {
    let pages: Vec<_> = pages.collect();
    let mut out = "# The row-key lab\n\nEvery page here is a program: `halite lab E01` runs it on \
                   a store of its own, and `--connect` on a server or an HBase cluster.\nWhat it \
                   shows was done and read back while the page was written, and each point of a \
                   list is something that was checked.\n"
        .to_owned();
    for (kind, heading) in KINDS {
        line(&mut out, format_args!("\n## {heading}\n"));
        if kind == PageKind::Sql {
            line(
                &mut out,
                format_args!("These run in programs that are built with `--features sql`.\n"),
            );
        }
        line(&mut out, format_args!("| page | | lint |\n|---|---|---|"));
        for page in pages.iter().filter(|page| page.kind() == kind) {
            let links: Vec<_> =
                page.rules.iter().map(|rule| format!("[{rule}](../lint/{rule}.md)")).collect();
            line(
                &mut out,
                format_args!("| [{}]({0}.md) | {} | {} |", page.id, page.title, links.join(", ")),
            );
        }
    }
    out
}
