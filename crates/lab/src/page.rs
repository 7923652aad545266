//! Page and its result after a run.

use halite_rowkey_tools::picture::{Picture, svg};

use crate::page_writer::PageWriter;

/// Page of the lab.
pub struct Page {
    /// Id, as in `halite lab E01`: E and a number for a mistake, K for a technique, M and C for
    /// basics, S for SQL.
    pub id: &'static str,
    /// Subject in a few words, without a final period.
    pub title: &'static str,
    /// Lint rules that report the mistake or concern the technique. The page demonstrates each of
    /// them.
    pub rules: &'static [&'static str],
    /// Ids of the pages to read next.
    pub see: &'static [&'static str],
    /// Function that writes the page.
    pub run: fn(&mut PageWriter) -> anyhow::Result<()>,
}

impl Page {
    /// Returns the kind that the id specifies.
    pub fn kind(&self) -> PageKind {
        match self.id.as_bytes().first() {
            Some(b'E') => PageKind::Mistake,
            Some(b'K') => PageKind::Technique,
            Some(b'S') => PageKind::Sql,
            _ => PageKind::Basic,
        }
    }

    /// Returns `true` if the page runs in this program: those about SQL do with the feature `sql`.
    pub fn is_built(&self) -> bool {
        cfg!(feature = "sql") || self.kind() != PageKind::Sql
    }
}

/// Kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Mistake, followed by the correct way.
    Mistake,
    /// Technique for row keys.
    Technique,
    /// Basics of mistakes and techniques.
    Basic,
    /// SQL over declared keys.
    Sql,
}

impl PageKind {
    /// Returns the required sections of a page of this kind, in order.
    pub(crate) fn sections(self) -> &'static [Section] {
        match self {
            Self::Mistake => &[Section::Wrong, Section::Outcome, Section::Why, Section::Right],
            Self::Technique => &[Section::Purpose, Section::Declaration, Section::Demonstration],
            Self::Basic | Self::Sql => &[Section::Purpose, Section::Demonstration],
        }
    }
}

/// Section of a page, with a heading. Sections follow this order, and each occurs at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Code or key with the mistake.
    Wrong,
    /// Consequences.
    Outcome,
    /// Reason.
    Why,
    /// Correct way and its results.
    Right,
    /// Purpose of a technique.
    Purpose,
    /// Declaration.
    Declaration,
    /// Behavior.
    Demonstration,
    /// Costs, and when to avoid the technique.
    Costs,
    /// Lint findings.
    Findings,
}

impl Section {
    /// Returns the heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Wrong => "The wrong way",
            Self::Outcome => "What happens",
            Self::Why => "Why",
            Self::Right => "The right way",
            Self::Purpose => "What it is for",
            Self::Declaration => "How it is declared",
            Self::Demonstration => "What it does",
            Self::Costs => "What it costs",
            Self::Findings => "What lint says",
        }
    }
}

/// Element of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Start of a section.
    Section(Section),
    /// Paragraph.
    Paragraph(String),
    /// Declaration, or part of one.
    Declaration(String),
    /// Operation in shell syntax, and the reply of the store, line by line.
    Statement {
        /// Statement.
        statement: String,
        /// Lines of the reply; empty if the reply is not shown.
        answer: Vec<String>,
    },
    /// Data table; a heading that begins with `>` marks a column of numbers.
    DataTable {
        /// One heading per column.
        headings: Vec<String>,
        /// Rows, each with one entry per heading.
        rows: Vec<Vec<String>>,
    },
    /// Shares as bars.
    Bars(Vec<(String, f64)>),
    /// Load by key and time. Markdown shows the SVG file of [`RenderedPage::images`].
    Picture(Picture),
    /// Claim that was verified.
    Claim(String),
    /// Lint finding.
    Finding {
        /// Id of the rule.
        rule: &'static str,
        /// Severity, rule and message, followed by lines with the evidence and the fix.
        text: String,
    },
    /// Measurements of this run on this machine, not reproducible.
    Measurement(String),
}

/// Result of running a page.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    /// Id.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Elements.
    pub elements: Vec<Element>,
    /// Pages to read next, with titles.
    pub see: Vec<(&'static str, &'static str)>,
}

impl RenderedPage {
    /// Returns the SVG files of the pictures, with their names next to that of the page.
    pub fn images(&self) -> Vec<(String, String)> {
        let pictures = self.elements.iter().filter_map(|element| match element {
            Element::Picture(picture) => Some(picture),
            _ => None,
        });
        let image = |(at, picture)| (image_name(self.id, at), svg(picture, None));
        pictures.enumerate().map(image).collect()
    }
}

/// Returns the name of the SVG file of a picture of a page, counted from 0.
pub(crate) fn image_name(id: &str, at: usize) -> String {
    if at == 0 { format!("{id}.svg") } else { format!("{id}_{}.svg", at + 1) }
}
