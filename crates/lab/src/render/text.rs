//! Rendering of a page for a terminal: within 100 columns, without colors.

use halite_rowkey_tools::picture::{TerminalStyle, terminal};

use super::{aligned, bar_lines, line};
use crate::page::{Element, RenderedPage};

/// Maximum line length of running text; replies of the store are not wrapped.
const COLUMNS: usize = 100;

/// Form of pictures, which are indented.
const PICTURE: TerminalStyle = TerminalStyle { width: COLUMNS - 4, colors: None };

/// Returns the page as text.
pub fn text(page: &RenderedPage) -> String {
    let mut out = format!(
        "{}  {}\n{}\n",
        page.id,
        page.title,
        "=".repeat(page.id.len() + 2 + page.title.chars().count())
    );
    let mut was_done = false;
    for element in &page.elements {
        // No blank line separates statements without a reply.
        let is_done = matches!(element, Element::Statement { .. });
        if !(was_done && is_done) {
            out.push('\n');
        }
        was_done = matches!(element, Element::Statement { answer, .. } if answer.is_empty());
        match element {
            Element::Section(part) => line(
                &mut out,
                format_args!("{}\n{}", part.heading(), "-".repeat(part.heading().len())),
            ),
            Element::Paragraph(text) => wrapped(&mut out, "", "", text),
            Element::Declaration(text) => indented(&mut out, text.lines()),
            Element::Statement { statement, answer } => {
                indented(&mut out, std::iter::once(format!("> {statement}")));
                indented(&mut out, answer.iter());
            }
            Element::DataTable { headings, rows } => indented(&mut out, aligned(headings, rows)),
            Element::Bars(shares) => indented(&mut out, bar_lines(shares)),
            Element::Picture(picture) => indented(&mut out, terminal(picture, PICTURE)),
            Element::Claim(text) => wrapped(&mut out, "  [ok] ", "       ", text),
            Element::Finding { text, .. } => {
                text.lines().for_each(|text| wrapped(&mut out, "  ", "    ", text));
            }
            Element::Measurement(text) => wrapped(&mut out, "  here: ", "        ", text),
        }
    }
    if !page.see.is_empty() {
        let see: Vec<_> = page.see.iter().map(|(id, title)| format!("{id} ({title})")).collect();
        out.push('\n');
        wrapped(&mut out, "", "", &format!("See also {}.", see.join(", ")));
    }
    out
}

fn indented(out: &mut String, lines: impl IntoIterator<Item = impl AsRef<str>>) {
    for line in lines {
        out.push_str("    ");
        out.push_str(line.as_ref());
        out.push('\n');
    }
}

/// Returns a paragraph wrapped at blanks; its first line begins with `first`, the others with
/// `rest`.
fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut now = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && now.chars().count() + 1 + word.chars().count() > COLUMNS {
            out.push_str(&now);
            out.push('\n');
            rest.clone_into(&mut now);
            is_empty = true;
        }
        if !is_empty {
            now.push(' ');
        }
        now.push_str(word);
        is_empty = false;
    }
    out.push_str(&now);
    out.push('\n');
}
