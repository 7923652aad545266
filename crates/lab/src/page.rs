//! What a page is, and what it comes to when it has run.

use crate::lab::Lab;

/// One page of the lab.
pub struct Page {
    /// What it is called in `halite lab E01`: E and a number for a mistake, K for a technique, M and C for what both rest on.
    pub id: &'static str,
    /// What it shows, in a few words, without a full stop.
    pub title: &'static str,
    /// The lint rules that catch the mistake, or that know the technique; the page shows each of them at work.
    pub rules: &'static [&'static str],
    /// Pages that are worth reading after it.
    pub see: &'static [&'static str],
    /// What it does.
    pub run: fn(&mut Lab) -> anyhow::Result<()>,
}

impl Page {
    /// Which kind its id says it is.
    pub fn kind(&self) -> Kind {
        match self.id.as_bytes().first() {
            Some(b'E') => Kind::Mistake,
            Some(b'K') => Kind::Technique,
            _ => Kind::Basic,
        }
    }
}

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something done wrong, and then right.
    Mistake,
    /// A way to make keys.
    Technique,
    /// What both rest on.
    Basic,
}

impl Kind {
    /// The parts a page of this kind has, at least, in this order.
    pub(crate) fn parts(self) -> &'static [Part] {
        match self {
            Self::Mistake => &[Part::Wrong, Part::Happens, Part::Why, Part::Right],
            Self::Technique => &[Part::Purpose, Part::Declared, Part::Shown],
            Self::Basic => &[Part::Purpose, Part::Shown],
        }
    }
}

/// A part of a page, with a heading of its own. A page has its parts in the order of these, each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What people write.
    Wrong,
    /// What comes of it.
    Happens,
    /// Why.
    Why,
    /// What to write instead, and what comes of that.
    Right,
    /// What a technique is for.
    Purpose,
    /// How it is declared.
    Declared,
    /// What it does.
    Shown,
    /// What it costs, and when not to use it.
    Costs,
    /// What lint says.
    Caught,
}

impl Part {
    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Wrong => "The wrong way",
            Self::Happens => "What happens",
            Self::Why => "Why",
            Self::Right => "The right way",
            Self::Purpose => "What it is for",
            Self::Declared => "How it is declared",
            Self::Shown => "What it does",
            Self::Costs => "What it costs",
            Self::Caught => "What lint says",
        }
    }
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// A part begins.
    Part(Part),
    /// A paragraph.
    Text(String),
    /// A declaration, or a piece of one.
    Declaration(String),
    /// What was done, in the words of the shell, and what the store answered, line by line.
    Done {
        /// The statement.
        statement: String,
        /// The answer; empty where there is none worth showing.
        answer: Vec<String>,
    },
    /// A table of figures; a heading that begins with `>` is of a column of numbers.
    Figures {
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
        /// How bad it is, the rule, what is wrong; then lines of what it was seen by, and of the mend.
        text: String,
    },
    /// Figures of this run on this machine, which another run will not repeat.
    Measured(String),
}

/// A page as it came out.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its id.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it consists of.
    pub elements: Vec<Element>,
    /// What to read next, with titles.
    pub see: Vec<(&'static str, &'static str)>,
}
