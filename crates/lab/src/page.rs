//! What a page is, and what it comes to when it has run.

use crate::page_writer::PageWriter;

/// One page of the lab.
pub struct Page {
    /// What it is called in `halite lab E01`: E and a number for a mistake, K for a technique, M
    /// and C for what both rest on.
    pub id: &'static str,
    /// What it shows, in a few words, without a full stop.
    pub title: &'static str,
    /// The lint rules that catch the mistake, or that know the technique; the page shows each of
    /// them at work.
    pub rules: &'static [&'static str],
    /// Pages that are worth reading after it.
    pub see: &'static [&'static str],
    /// What it does.
    pub run: fn(&mut PageWriter) -> anyhow::Result<()>,
}

impl Page {
    /// Which kind its id says it is.
    pub fn kind(&self) -> PageKind {
        match self.id.as_bytes().first() {
            Some(b'E') => PageKind::Mistake,
            Some(b'K') => PageKind::Technique,
            _ => PageKind::Basic,
        }
    }
}

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Something done wrong, and then right.
    Mistake,
    /// A way to make keys.
    Technique,
    /// What both rest on.
    Basic,
}

impl PageKind {
    /// The parts a page of this kind has, at least, in this order.
    pub(crate) fn sections(self) -> &'static [Section] {
        match self {
            Self::Mistake => &[Section::Wrong, Section::Outcome, Section::Why, Section::Right],
            Self::Technique => &[Section::Purpose, Section::Declaration, Section::Demonstration],
            Self::Basic => &[Section::Purpose, Section::Demonstration],
        }
    }
}

/// A part of a page, with a heading of its own. A page has its parts in the order of these, each at
/// most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// What people write.
    Wrong,
    /// What comes of it.
    Outcome,
    /// Why.
    Why,
    /// What to write instead, and what comes of that.
    Right,
    /// What a technique is for.
    Purpose,
    /// How it is declared.
    Declaration,
    /// What it does.
    Demonstration,
    /// What it costs, and when not to use it.
    Costs,
    /// What lint says.
    Findings,
}

impl Section {
    /// Its heading.
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

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A part begins.
    Section(Section),
    /// A paragraph.
    Paragraph(String),
    /// A declaration, or a piece of one.
    Declaration(String),
    /// What was done, in the words of the shell, and what the store answered, line by line.
    Statement {
        /// The statement.
        statement: String,
        /// The answer; empty where there is none worth showing.
        answer: Vec<String>,
    },
    /// A table of figures; a heading that begins with `>` is of a column of numbers.
    DataTable {
        /// One for each column.
        headings: Vec<String>,
        /// As many entries each as there are headings.
        rows: Vec<Vec<String>>,
    },
    /// Shares as bars.
    Bars(Vec<(String, f64)>),
    /// Something that was said to hold, and held.
    Claim(String),
    /// What lint says.
    Finding {
        /// By which rule.
        rule: &'static str,
        /// How bad it is, the rule, what is wrong; then lines of what it was seen by, and of the
        /// mend.
        text: String,
    },
    /// Figures of this run on this machine, which another run will not repeat.
    Measurement(String),
}

/// A page as it came out.
#[derive(Clone, Debug)]
pub struct RenderedPage {
    /// Its id.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it consists of.
    pub elements: Vec<Element>,
    /// What to read next, with titles.
    pub see: Vec<(&'static str, &'static str)>,
}
