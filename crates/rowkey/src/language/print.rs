//! Canonical formatter of schemas.

use std::fmt::{self, Write as _};

use super::build::{Holder, default_type};
use super::lexer::is_name_part;
use super::types::print_width;
use crate::schema::{FieldId, HashFunction, KeySchema, Order, Profile, Segment, SegmentKind};

/// Keywords that are quoted as names, so that no text depends on the positions at which a keyword
/// is permitted.
const WORDS: &[&str] = &[
    "ASC",
    "BITREV",
    "BUCKET",
    "BY",
    "CONST",
    "CONSTRAINT",
    "DESC",
    "DICT",
    "FAMILY",
    "HASH",
    "HASH8",
    "HASH32",
    "HASH64",
    "HEX",
    "IPV4",
    "NOT",
    "NULL",
    "NULLABLE",
    "PRIMARY",
    "REV",
    "REVERSE",
    "SALT",
    "TRUNC",
    "USING",
];

/// Formats a name: in quotes if it is a keyword or contains other characters than names may.
pub(super) fn name(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let bare = begins
        && text.chars().all(is_name_part)
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if bare { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Formats text in single quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    format!("x'{}'", halite_types::key::to_hex(bytes))
}

impl fmt::Display for KeySchema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.profile() == Profile::Text {
            return self.fmt_template(out);
        }
        let segments: Vec<String> =
            (0..self.segments().len()).map(|at| self.segment_text(at)).collect();
        write!(out, "ROW KEY ({})", segments.join(", "))?;
        match self.profile() {
            Profile::Ordered { compat: false } => out.write_str(" PROFILE ORDERED"),
            Profile::Ordered { compat: true } => out.write_str(" PROFILE ORDERED COMPAT"),
            Profile::Phoenix => out.write_str(" PROFILE PHOENIX"),
            Profile::Bin | Profile::Text => Ok(()),
        }
    }
}

impl KeySchema {
    /// Returns the canonical text, which is stored in the table and parsed by
    /// [`std::str::FromStr`].
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Formats one segment as in a list; in a template it is between braces.
    pub fn segment_text(&self, at: usize) -> String {
        let segment = &self.segments()[at];
        if self.profile() == Profile::Text {
            return self.place_text(at);
        }
        let mut text = match &segment.kind {
            SegmentKind::Const(bytes) => format!("CONST {}", constant(bytes)),
            SegmentKind::Salt { count, by, function } => {
                format!("SALT({count}{})", self.salt_tail(by, *function, ["BY", "USING"]))
            }
            SegmentKind::Hash { by, bytes, function, hex } => {
                let hex = if *hex { " HEX" } else { "" };
                format!(
                    "HASH({} BYTES {bytes} USING {}{hex})",
                    self.hash_columns(at, by),
                    function.name()
                )
            }
            _ => self.carried_text(segment, false),
        };
        if let Some(field) = segment.kind.field().filter(|&field| self.declares_type(field, at)) {
            let _ = write!(text, " {}", self.fields()[field].ty);
        }
        if segment.order == Order::Desc {
            text.push_str(" DESC");
        }
        if segment.nullable {
            text.push_str(" NULLABLE");
        }
        text
    }

    /// Returns a segment that holds a field, without its type.
    fn carried_text(&self, segment: &Segment, in_template: bool) -> String {
        let field = |id: FieldId| name(&self.fields()[id].name);
        let (function, arguments) = match segment.kind {
            SegmentKind::Bucket { field: id, width } => {
                let width = print_width(width, self.fields()[id].ty);
                let duration = !in_template && width.ends_with(|c: char| c.is_alphabetic());
                (
                    "BUCKET",
                    if duration {
                        format!("({}, '{width}')", field(id))
                    } else {
                        format!("({}, {width})", field(id))
                    },
                )
            }
            SegmentKind::Trunc { field: id, bytes } => {
                ("TRUNC", format!("({}, {bytes})", field(id)))
            }
            SegmentKind::Dict { field: id, bytes } => ("DICT", format!("({}, {bytes})", field(id))),
            SegmentKind::Reverse(id) => ("REVERSE", format!("({})", field(id))),
            SegmentKind::BitReverse(id) => ("BITREV", format!("({})", field(id))),
            SegmentKind::Ipv4(id) => ("IPV4", format!("({})", field(id))),
            SegmentKind::Plain(id) => ("", field(id)),
            SegmentKind::Const(_) | SegmentKind::Salt { .. } | SegmentKind::Hash { .. } => {
                ("", String::new())
            }
        };
        let function =
            if in_template { function.to_ascii_lowercase() } else { function.to_owned() };
        format!("{function}{arguments}")
    }

    fn salt_tail(
        &self,
        by: &[FieldId],
        function: HashFunction,
        [by_word, using]: [&str; 2],
    ) -> String {
        let by =
            if by.is_empty() { String::new() } else { format!(" {by_word} {}", self.names(by)) };
        if function == HashFunction::default() {
            by
        } else {
            format!("{by} {using} {}", function.name())
        }
    }

    fn names(&self, fields: &[FieldId]) -> String {
        fields.iter().map(|&id| name(&self.fields()[id].name)).collect::<Vec<_>>().join(", ")
    }

    /// Formats the columns of a hash; a field that only hashes contain has its type in the first
    /// one.
    fn hash_columns(&self, at: usize, by: &[FieldId]) -> String {
        let alone = self.holds(at);
        let first = |id: FieldId| {
            alone.contains(&id) && !(0..at).any(|before| self.holds(before).contains(&id))
        };
        let column = |&id: &FieldId| {
            let field = &self.fields()[id];
            if first(id) {
                format!("{} {}", name(&field.name), field.ty)
            } else {
                name(&field.name)
            }
        };
        by.iter().map(column).collect::<Vec<_>>().join(", ")
    }

    /// Returns `true` if a field's type is printed after this segment: in one position only, and
    /// only if it is not the default.
    fn declares_type(&self, field: FieldId, at: usize) -> bool {
        let holders = || {
            self.segments()
                .iter()
                .enumerate()
                .filter(move |(_, segment)| segment.kind.field() == Some(field))
        };
        let spoken = self.carrier(field).or_else(|| holders().map(|(at, _)| at).next());
        let reading: Vec<Holder> =
            holders().map(|(_, segment)| Holder::from_segment(segment)).collect();
        let default = default_type(self.profile(), &reading) == Some(self.fields()[field].ty);
        let always = self.profile() != Profile::Text
            && matches!(
                self.segments()[at].kind,
                SegmentKind::Plain(_) | SegmentKind::Reverse(_) | SegmentKind::BitReverse(_)
            );
        spoken == Some(at) && (always || !default)
    }

    fn fmt_template(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let template: String = (0..self.segments().len()).map(|at| self.place_text(at)).collect();
        write!(out, "ROW KEY TEXT {}", quoted(&template))?;
        let patterns =
            self.fields().iter().filter_map(|field| Some((field, field.pattern.as_ref()?)));
        for (at, (field, pattern)) in patterns.enumerate() {
            let word = if at == 0 { "WHERE" } else { "AND" };
            write!(out, " {word} {} MATCHES {}", name(&field.name), quoted(pattern))?;
        }
        Ok(())
    }

    /// Returns a segment of a template, including braces.
    fn place_text(&self, at: usize) -> String {
        let segment = &self.segments()[at];
        let mut text = match &segment.kind {
            SegmentKind::Const(bytes) => {
                return match std::str::from_utf8(bytes) {
                    Ok(text) => text.replace('{', "{{").replace('}', "}}"),
                    Err(_) => format!("{{{}}}", hexadecimal(bytes)),
                };
            }
            SegmentKind::Salt { count, by, function } => {
                format!("salt({count}{})", self.salt_tail(by, *function, ["by", "using"]))
            }
            SegmentKind::Hash { by, function, .. } => {
                format!("{}({})", function.name(), self.hash_columns(at, by))
            }
            _ if segment.order == Order::Desc => {
                format!("rev({})", self.carried_text(segment, true))
            }
            _ => self.carried_text(segment, true),
        };
        if let Some(field) = segment.kind.field().filter(|&field| self.declares_type(field, at)) {
            let _ = write!(text, " {}", self.fields()[field].ty);
        }
        if segment.nullable {
            text.push_str(" NULLABLE");
        }
        let digits = match segment.kind {
            SegmentKind::Hash { bytes, .. } => {
                segment.digits.map(u16::from).or(Some(2 * u16::from(bytes)))
            }
            _ => segment.digits.map(u16::from),
        };
        let digits = digits.map_or_else(String::new, |digits| format!(":{digits}"));
        format!("{{{text}{digits}}}")
    }
}

/// Returns a constant: as text if all of it is printable.
pub(super) fn constant(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => quoted(text),
        _ => hexadecimal(bytes),
    }
}
