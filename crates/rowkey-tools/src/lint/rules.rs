//! Table of all rules: ids, severities, one-sentence summaries, and the source items in the
//! tutorials.

use Severity::{Error, Note, Warning};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information.
    Note,
    /// It has a cost, now or as the table grows.
    Warning,
    /// It loses data, returns wrong results, or directs all load to one server.
    Error,
}

impl Severity {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Lint rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Id, as in suppressions: `K-MONO`.
    pub id: &'static str,
    /// Maximum severity of its findings.
    pub severity: Severity,
    /// Summary in one sentence without a full stop.
    pub summary: &'static str,
    /// Documentation page: the problem, its effect, the alternative, and valid reasons for a
    /// suppression.
    pub page: &'static str,
}

/// Returns a rule by its id.
pub fn find_rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Creates a rule with its page in `docs/lint`.
macro_rules! rule {
    ($id:literal, $severity:ident, $summary:literal) => {
        Rule {
            id: $id,
            severity: $severity,
            summary: $summary,
            page: include_str!(concat!("../../../../docs/lint/", $id, ".md")),
        }
    };
}

/// All rules, in the order in which they are reported: keys, splits, queries, families and cells.
pub static RULES: &[Rule] = &[
    rule!(
        "K-MONO",
        Error,
        "the key begins with a field that grows, so that every write goes to the same region"
    ),
    rule!(
        "K-BUCKETLEAD",
        Error,
        "the key begins with a bucket of time, so that all writes of the moment go to one region"
    ),
    rule!(
        "K-TSMOD",
        Error,
        "a salt is the remainder of a time, which may be the same for every row"
    ),
    rule!(
        "K-RNDSALT",
        Error,
        "the salt of each write is random, so that a key cannot be found again and is not unique"
    ),
    rule!("K-NEGMOD", Error, "salts are negative: a remainder was taken with a sign"),
    rule!(
        "K-AMBIG",
        Error,
        "a field of any length has no end, so that different fields give one key"
    ),
    rule!(
        "K-SKIP",
        Error,
        "a field of HBase's Struct has no end, so that the next one cannot be told from it"
    ),
    rule!("K-PAD", Error, "numbers as text without leading zeros, which do not sort as numbers"),
    rule!("K-DELIM", Warning, "what ends a field may occur in it"),
    rule!("K-UNIQ", Warning, "rows may share a key, and the later one replaces the earlier one"),
    rule!(
        "K-TRUNC",
        Warning,
        "a digest or a prefix represents a field, and two fields may share it"
    ),
    rule!("K-LOWCARD", Warning, "the field that spreads the load has few values"),
    rule!(
        "K-MISFIT",
        Warning,
        "rows that are no keys of the declaration, which questions about fields do not find"
    ),
    rule!("K-LEN", Warning, "the key is long, and part of every cell"),
    rule!(
        "K-NULLTAIL",
        Warning,
        "HBase's Struct drops a null at the end, which then sorts wrongly in descending order"
    ),
    rule!("K-BLOB", Warning, "HBase's OrderedBlobVar does not sort as its bytes"),
    rule!(
        "K-REVVAR",
        Warning,
        "fields of different lengths are reversed, and one may be the beginning of another"
    ),
    rule!("K-TIMEDUP", Note, "a time is stored in the key and again in a column"),
    rule!(
        "K-SEPORD",
        Note,
        "the delimiter sorts after bytes that may precede it, so keys do not sort as their fields"
    ),
    rule!("K-HEX", Note, "hexadecimal digits take twice the bytes that they represent"),
    rule!("K-ENTROPY", Note, "many random bytes come first, which block encodings cannot shorten"),
    rule!("K-UNUSED", Note, "no query asks for a field of the key"),
    rule!("K-LOCAL", Note, "times or numbers as text, whose form depends on who writes them"),
    rule!(
        "K-CASE",
        Note,
        "text of mixed case or of different Unicode forms, which are different keys"
    ),
    rule!("P-CLAUSE", Error, "a SPLIT clause that the key cannot have"),
    rule!("P-NONE", Warning, "a salted table begins as one region"),
    rule!("P-SALTREG", Warning, "salts and regions do not divide"),
    rule!("P-ALIGN", Warning, "regions do not begin where salts do"),
    rule!("P-RANGE", Warning, "regions that no key falls into"),
    rule!("P-MANY", Warning, "more regions than servers can hold well"),
    rule!(
        "P-ROLL",
        Warning,
        "the key begins with a time, and regions for future times are not created ahead"
    ),
    rule!("Q-INV", Error, "a scan begins after its end, and finds nothing"),
    rule!(
        "Q-OPEN",
        Warning,
        "a scan has a start and no end, and continues into rows of other keys"
    ),
    rule!("Q-FULL", Warning, "a query reads the whole table"),
    rule!("Q-HASHRANGE", Warning, "a query does not give what the key hashes"),
    rule!("Q-FAN", Warning, "a query reads a range for each of many salts"),
    rule!("Q-FILTER", Warning, "a query asks for values outside the key"),
    rule!("Q-OFFSET", Warning, "a query pages by an offset"),
    rule!("Q-SORT", Warning, "a query wants an order that the key does not have"),
    rule!(
        "Q-TOMB",
        Warning,
        "a scan begins where rows are deleted, and goes through all that are gone"
    ),
    rule!("F-APPENDCNT", Error, "bytes are appended to a number, which does not add to it"),
    rule!("F-HOTCTR", Warning, "one row is counted up faster than a row can be written"),
    rule!("F-TTL", Warning, "cells are given a longer life than their family allows"),
    rule!("F-WIDE", Warning, "a row has too many cells to be read as one"),
    rule!("F-CARD", Warning, "one family has cells in a hundred times more rows than another"),
    rule!("F-VER", Warning, "hundreds of versions are kept in each cell"),
    rule!(
        "F-MANYCF",
        Warning,
        "more than three families, each with memstores, files and compactions of its own"
    ),
    rule!("F-LONGCF", Note, "a long family name, which is part of every cell"),
    rule!("F-LONGQ", Note, "a long qualifier, which is part of every cell"),
    rule!("F-DBE", Note, "keys that share their beginnings without a block encoding"),
];
