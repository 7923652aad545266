//! Rendering of a page as Markdown, without elements that another run would not reproduce.

use super::{aligned, bar_lines, line};
use crate::page::{Element, RenderedPage, image_name};

/// Returns the page as Markdown; its heading is of the first level.
pub fn markdown(page: &RenderedPage) -> String {
    let mut out = format!("# {} {}\n", page.id, page.title);
    let mut open = false;
    let mut pictures = 0;
    for element in &page.elements {
        // Consecutive statements share one block.
        let is_done = matches!(element, Element::Statement { .. });
        if open && !is_done {
            out.push_str("```\n");
        }
        match element {
            Element::Section(part) => line(&mut out, format_args!("\n## {}", part.heading())),
            Element::Paragraph(text) => line(&mut out, format_args!("\n{text}")),
            Element::Declaration(text) => line(&mut out, format_args!("\n```sql\n{text}\n```")),
            Element::Statement { statement, answer } => {
                if !open {
                    out.push_str("\n```\n");
                }
                line(&mut out, format_args!("> {statement}"));
                answer.iter().for_each(|text| line(&mut out, format_args!("{text}")));
            }
            Element::DataTable { headings, rows } => block(&mut out, &aligned(headings, rows)),
            Element::Bars(shares) => block(&mut out, &bar_lines(shares)),
            Element::Picture(picture) => {
                let file = image_name(page.id, pictures);
                pictures += 1;
                line(&mut out, format_args!("\n![{}]({file})", picture.title));
            }
            Element::Claim(text) => line(&mut out, format_args!("\n- {text}")),
            Element::Finding { rule, text } => {
                block(&mut out, &text.lines().map(str::to_owned).collect::<Vec<_>>());
                line(&mut out, format_args!("\nMore about it: [{rule}](../lint/{rule}.md)."));
            }
            Element::Measurement(_) => {}
        }
        open = is_done;
    }
    if open {
        out.push_str("```\n");
    }
    if !page.see.is_empty() {
        let see: Vec<_> =
            page.see.iter().map(|(id, title)| format!("[{id}]({id}.md) {title}")).collect();
        line(&mut out, format_args!("\nSee also {}.", see.join(", ")));
    }
    out
}

fn block(out: &mut String, lines: &[String]) {
    out.push_str("\n```\n");
    lines.iter().for_each(|text| line(out, format_args!("{text}")));
    out.push_str("```\n");
}
