//! Reads filters as the HBase shell writes them: `PrefixFilter('a') AND (ValueFilter(=, 'binary:b') OR SKIP ...)`.
//!
//! The language is that of HBase's `ParseFilter`: SKIP and WHILE bind tightest, then AND, then OR. Arguments are
//! strings in single quotes, in which `''` is a quote, and bare numbers, true, false and operators.

use halite_types::{Bytes, Comparator, CompareOp, Filter, RegexString};

use super::session::{Outcome, Stop};
use crate::nearest::{nearest, suggestion};

/// The filters and their arguments.
pub(crate) const FILTERS: [(&str, &str); 19] = [
    ("KeyOnlyFilter", "()"),
    ("FirstKeyOnlyFilter", "()"),
    ("PrefixFilter", "('row prefix')"),
    ("RowFilter", "(op, 'comparator:value')"),
    ("FamilyFilter", "(op, 'comparator:value')"),
    ("QualifierFilter", "(op, 'comparator:value')"),
    ("ValueFilter", "(op, 'comparator:value')"),
    ("ColumnPrefixFilter", "('prefix')"),
    ("MultipleColumnPrefixFilter", "('prefix', ...)"),
    ("ColumnRangeFilter", "('from', inclusive, 'to', inclusive)"),
    ("ColumnCountGetFilter", "(columns)"),
    ("ColumnPaginationFilter", "(limit, offset)"),
    ("PageFilter", "(rows)"),
    ("InclusiveStopFilter", "('row')"),
    ("TimestampsFilter", "(timestamp, ...)"),
    ("SingleColumnValueFilter", "('family', 'qualifier', op, 'comparator:value' [, filter if missing, latest version only])"),
    ("SingleColumnValueExcludeFilter", "('family', 'qualifier', op, 'comparator:value' [, filter if missing, latest version only])"),
    ("ColumnValueFilter", "('family', 'qualifier', op, 'comparator:value')"),
    ("DependentColumnFilter", "('family', 'qualifier' [, drop the column [, op, 'comparator:value']])"),
];

/// Brackets, SKIP and WHILE inside of each other.
const DEPTH_MAX: usize = 100;

/// Reads a filter.
///
/// # Errors
/// What is wrong, and at which byte of the string.
pub(crate) fn parse(text: &[u8]) -> Outcome<Filter> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let filter = reader.either()?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("something stands behind the end of the filter; join filters with AND or OR"));
    }
    Ok(filter)
}

#[derive(Debug)]
enum Argument {
    Text(Vec<u8>),
    Bare(String),
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> Stop {
        let near = String::from_utf8_lossy(&self.text[self.at.min(self.text.len())..]).chars().take(16).collect::<String>();
        let place = if near.is_empty() { "at its end".to_owned() } else { format!("at byte {}, before {near:?}", self.at) };
        Stop::Problem(format!("FILTER: {what} ({place})"))
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Letters, digits and `_` from here, without taking them.
    fn word(&mut self) -> String {
        self.skip_blanks();
        self.text[self.at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').map(|byte| char::from(*byte)).collect()
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn either(&mut self) -> Outcome<Filter> {
        let mut filters = vec![self.both()?];
        while self.accept_word("OR") {
            filters.push(self.both()?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::One(filters) })
    }

    fn both(&mut self) -> Outcome<Filter> {
        let mut filters = vec![self.single()?];
        while self.accept_word("AND") {
            filters.push(self.single()?);
        }
        Ok(if filters.len() == 1 { filters.remove(0) } else { Filter::All(filters) })
    }

    fn single(&mut self) -> Outcome<Filter> {
        if self.depth == DEPTH_MAX {
            return Err(self.wrong(&format!("this is nested more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        let filter = self.single_here();
        self.depth -= 1;
        filter
    }

    fn single_here(&mut self) -> Outcome<Filter> {
        if self.accept_word("SKIP") {
            return Ok(Filter::Skip(Box::new(self.single()?)));
        }
        if self.accept_word("WHILE") {
            return Ok(Filter::WhileMatch(Box::new(self.single()?)));
        }
        if self.accept(b'(') {
            let filter = self.either()?;
            if !self.accept(b')') {
                return Err(self.wrong("a ')' is missing"));
            }
            return Ok(filter);
        }
        let name = self.word();
        if name.is_empty() {
            return Err(self.wrong("a filter is expected, such as PrefixFilter('abc')"));
        }
        if FILTERS.iter().all(|(known, _)| *known != name) {
            let suggestion = suggestion(nearest(&name, FILTERS.iter().map(|(known, _)| *known)));
            return Err(self.wrong(&format!("there is no filter {name}{suggestion}; show_filters lists them")));
        }
        self.at += name.len();
        let arguments = self.arguments()?;
        build(&name, &arguments)
    }

    fn arguments(&mut self) -> Outcome<Vec<Argument>> {
        if !self.accept(b'(') {
            return Err(self.wrong("a '(' is missing behind the name of the filter"));
        }
        let mut arguments = Vec::new();
        if self.accept(b')') {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if self.accept(b')') {
                return Ok(arguments);
            }
            if !self.accept(b',') {
                return Err(self.wrong("a ',' or the ')' of the filter is missing"));
            }
        }
    }

    fn argument(&mut self) -> Outcome<Argument> {
        if !self.accept(b'\'') {
            self.skip_blanks();
            let bare: String = self.text[self.at..].iter().take_while(|byte| !b",)' \t\n".contains(*byte)).map(|byte| char::from(*byte)).collect();
            self.at += bare.len();
            return if bare.is_empty() { Err(self.wrong("an argument is missing")) } else { Ok(Argument::Bare(bare)) };
        }
        let mut text = Vec::new();
        loop {
            match (self.text.get(self.at), self.text.get(self.at + 1)) {
                (Some(b'\''), Some(b'\'')) => self.at += 1,
                (Some(b'\''), _) => {
                    self.at += 1;
                    return Ok(Argument::Text(text));
                }
                (None, _) => return Err(self.wrong("the quote ' that ends a string is missing")),
                _ => {}
            }
            text.push(self.text[self.at]);
            self.at += 1;
        }
    }
}

/// The arguments of one filter, taken in order.
struct Taken<'a> {
    name: &'a str,
    left: std::slice::Iter<'a, Argument>,
}

impl Taken<'_> {
    fn wrong(&self, what: &str) -> Stop {
        let form = FILTERS.iter().find(|(name, _)| *name == self.name).map_or("", |(_, form)| form);
        Stop::Problem(format!("FILTER: {} {what}; it is written {0}{form}", self.name))
    }

    fn text(&mut self) -> Outcome<Bytes> {
        match self.left.next() {
            Some(Argument::Text(text)) => Ok(Bytes::copy_from_slice(text)),
            Some(Argument::Bare(bare)) => Err(self.wrong(&format!("has {bare} where a string in single quotes is expected"))),
            None => Err(self.wrong("has too few arguments")),
        }
    }

    fn bare(&mut self, wanted: &str) -> Outcome<String> {
        match self.left.next() {
            Some(Argument::Bare(bare)) => Ok(bare.clone()),
            Some(Argument::Text(text)) => Ok(String::from_utf8_lossy(text).into_owned()),
            None => Err(self.wrong(&format!("needs {wanted}"))),
        }
    }

    fn number<T: std::str::FromStr>(&mut self) -> Outcome<T> {
        let text = self.bare("a number")?;
        text.parse().map_err(|_| self.wrong(&format!("has {text} where a number of 0 or more is expected")))
    }

    fn flag(&mut self) -> Outcome<bool> {
        match self.bare("true or false")?.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(self.wrong(&format!("has {other} where true or false is expected"))),
        }
    }

    fn operator(&mut self) -> Outcome<CompareOp> {
        Ok(match self.bare("an operator")?.as_str() {
            "<" => CompareOp::Less,
            "<=" => CompareOp::LessOrEqual,
            "=" => CompareOp::Equal,
            "!=" => CompareOp::NotEqual,
            ">=" => CompareOp::GreaterOrEqual,
            ">" => CompareOp::Greater,
            other => return Err(self.wrong(&format!("has {other} where one of <, <=, =, !=, >=, > is expected"))),
        })
    }

    fn comparator(&mut self) -> Outcome<Comparator> {
        const KINDS: &str = "binary:, binaryprefix:, substring: or regexstring:";
        let text = self.text()?;
        let colon = text.iter().position(|&byte| byte == b':').unwrap_or(0);
        let (kind, value) = (String::from_utf8_lossy(&text[..colon]).to_lowercase(), text.slice(text.len().min(colon + 1)..));
        let readable = || String::from_utf8(value.to_vec());
        Ok(match kind.as_str() {
            "binary" => Comparator::Binary(value),
            "binaryprefix" => Comparator::BinaryPrefix(value),
            "substring" => Comparator::Substring(readable().map_err(|_| self.wrong("has a substring: that is not UTF-8"))?),
            "regexstring" => Comparator::Regex(RegexString::new(readable().map_err(|_| self.wrong("has a regexstring: that is not UTF-8"))?)),
            _ => return Err(self.wrong(&format!("has '{}', which does not begin with {KINDS}", String::from_utf8_lossy(&text)))),
        })
    }

    fn compared(&mut self) -> Outcome<(CompareOp, Comparator)> {
        Ok((self.operator()?, self.comparator()?))
    }

    fn is_done(&self) -> bool {
        self.left.len() == 0
    }

    fn finish<T>(self, filter: T) -> Outcome<T> {
        if self.is_done() { Ok(filter) } else { Err(self.wrong("has too many arguments")) }
    }
}

fn build(name: &str, arguments: &[Argument]) -> Outcome<Filter> {
    let mut take = Taken { name, left: arguments.iter() };
    let filter = match name {
        "KeyOnlyFilter" => Filter::KeyOnly(false),
        "FirstKeyOnlyFilter" => Filter::FirstKeyOnly,
        "PrefixFilter" => Filter::Prefix(take.text()?),
        "ColumnPrefixFilter" => Filter::ColumnPrefix(take.text()?),
        "InclusiveStopFilter" => Filter::InclusiveStop(take.text()?),
        "PageFilter" => Filter::Page(take.number()?),
        "ColumnCountGetFilter" => Filter::ColumnCountGet(take.number()?),
        "ColumnPaginationFilter" => Filter::ColumnPagination { limit: take.number()?, offset: take.number()?, column_offset: None },
        "MultipleColumnPrefixFilter" => {
            let prefixes = (0..arguments.len()).map(|_| take.text()).collect::<Outcome<_>>()?;
            Filter::MultipleColumnPrefix(prefixes)
        }
        "TimestampsFilter" => {
            let mut timestamps = (0..arguments.len()).map(|_| take.number()).collect::<Outcome<Vec<i64>>>()?;
            timestamps.sort_unstable();
            Filter::Timestamps { timestamps, can_hint: false }
        }
        "ColumnRangeFilter" => Filter::ColumnRange {
            min: Some(take.text()?).filter(|text| !text.is_empty()),
            min_inclusive: take.flag()?,
            max: Some(take.text()?).filter(|text| !text.is_empty()),
            max_inclusive: take.flag()?,
        },
        "RowFilter" => take.compared().map(|(op, comparator)| Filter::Row(op, comparator))?,
        "FamilyFilter" => take.compared().map(|(op, comparator)| Filter::Family(op, comparator))?,
        "QualifierFilter" => take.compared().map(|(op, comparator)| Filter::Qualifier(op, comparator))?,
        "ValueFilter" => take.compared().map(|(op, comparator)| Filter::Value(op, comparator))?,
        _ => column_filter(name, &mut take)?,
    };
    take.finish(filter)
}

/// The filters that begin with a family and a qualifier.
fn column_filter(name: &str, take: &mut Taken<'_>) -> Outcome<Filter> {
    let (family, qualifier) = (take.text()?, take.text()?);
    if name == "DependentColumnFilter" {
        let drop_column = !take.is_done() && take.flag()?;
        let check = if take.is_done() { None } else { Some(take.compared()?) };
        return Ok(Filter::DependentColumn { family, qualifier, drop_column, check });
    }
    let (op, comparator) = take.compared()?;
    if name == "ColumnValueFilter" {
        return Ok(Filter::ColumnValue { family, qualifier, op, comparator });
    }
    let (filter_if_missing, latest_version_only) = if take.is_done() { (false, true) } else { (take.flag()?, take.flag()?) };
    let exclude = name == "SingleColumnValueExcludeFilter";
    Ok(Filter::SingleColumnValue { family, qualifier, op, comparator, filter_if_missing, latest_version_only, exclude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Filter {
        match parse(text.as_bytes()) {
            Ok(filter) => filter,
            Err(stop) => panic!("{text}: {stop:?}"),
        }
    }

    fn error(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(Stop::Problem(text)) => text,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn skip_binds_tighter_than_and_which_binds_tighter_than_or() {
        let prefix = |text: &'static str| Filter::Prefix(Bytes::from_static(text.as_bytes()));
        let found = read("PrefixFilter ('a') AND SKIP PrefixFilter('b') OR WHILE (PrefixFilter('c') OR PrefixFilter('d'))");
        let skip = Filter::Skip(Box::new(prefix("b")));
        let while_match = Filter::WhileMatch(Box::new(Filter::One(vec![prefix("c"), prefix("d")])));
        assert_eq!(found, Filter::One(vec![Filter::All(vec![prefix("a"), skip]), while_match]));
    }

    #[test]
    fn arguments_are_read_by_what_the_filter_takes() {
        assert_eq!(read("RowFilter(>=, 'binary:it''s')"), Filter::Row(CompareOp::GreaterOrEqual, Comparator::Binary("it's".into())));
        assert_eq!(read("ValueFilter(=,'regexstring:a:b.*')"), Filter::Value(CompareOp::Equal, Comparator::Regex(RegexString::new("a:b.*"))));
        assert_eq!(read("TimestampsFilter(5, 2)"), Filter::Timestamps { timestamps: vec![2, 5], can_hint: false });
        let range = Filter::ColumnRange { min: Some("a".into()), min_inclusive: true, max: None, max_inclusive: false };
        assert_eq!(read("ColumnRangeFilter('a', true, '', false)"), range);
        let Filter::SingleColumnValue { filter_if_missing, latest_version_only, exclude, .. } =
            read("SingleColumnValueExcludeFilter('f', 'q', !=, 'substring:x', true, false)")
        else {
            panic!()
        };
        assert_eq!((filter_if_missing, latest_version_only, exclude), (true, false, true));
        assert_eq!(parse(b"PrefixFilter('\x00\xff')").ok(), Some(Filter::Prefix(Bytes::from_static(b"\x00\xff"))));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_form() {
        assert!(error("PrefxFilter('a')").contains("did you mean PrefixFilter"));
        assert!(error("PrefixFilter('a'").contains("')' of the filter is missing (at its end)"));
        assert!(error("ValueFilter(=, 'nocomparator')").contains("binaryprefix:"));
        assert!(error("ValueFilter(~, 'binary:x')").contains("has ~ where one of <"));
        assert!(error("PageFilter(-1)").contains("PageFilter(rows)"));
        assert!(error("").contains("a filter is expected"));
        assert!(error(&"(".repeat(100_000)).contains("nested"));
        assert!(error("KeyOnlyFilter() KeyOnlyFilter()").contains("AND or OR"));
    }
}
