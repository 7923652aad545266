//! Parser for `family`, `family:qualifier` and `family:qualifier:converter`.

use halite_types::Bytes;

use super::convert::Converter;
use super::session::{EvalResult, Interrupt};

/// Family or single column, and the format of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) family: Bytes,
    /// `None` selects the whole family.
    pub(crate) qualifier: Option<Bytes>,
    pub(crate) converter: Option<Converter>,
}

impl Column {
    /// Parses the column of a write: the qualifier is everything after the first colon, including
    /// further colons.
    pub(crate) fn written(text: &[u8]) -> Self {
        let (family, qualifier) = match text.iter().position(|&byte| byte == b':') {
            Some(colon) => (&text[..colon], Some(Bytes::copy_from_slice(&text[colon + 1..]))),
            None => (text, None),
        };
        Self { family: Bytes::copy_from_slice(family), qualifier, converter: None }
    }

    /// Parses the column of a read: its last part is a converter if it is the name of one
    /// (`toInt`).
    ///
    /// An unknown name that looks like a converter is an error, because a qualifier with that name
    /// would match nothing.
    pub(crate) fn read(text: &[u8]) -> EvalResult<Self> {
        let mut column = Self::written(text);
        let Some(qualifier) = &column.qualifier else { return Ok(column) };
        let Some(colon) = split_at_converter(qualifier) else { return Ok(column) };
        let name = String::from_utf8_lossy(&qualifier[colon + 1..]).into_owned();
        let looks_like_one = name.starts_with("c(")
            || name
                .strip_prefix("to")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase()));
        match Converter::by_name(&name) {
            Ok(converter) => {
                column.converter = Some(converter);
                column.qualifier = Some(qualifier.slice(..colon));
            }
            Err(problem) if looks_like_one => return Err(problem),
            Err(_) => {}
        }
        Ok(column)
    }

    /// Returns the qualifier of a cell; a family alone denotes its empty qualifier.
    pub(crate) fn cell_qualifier(&self) -> Bytes {
        self.qualifier.clone().unwrap_or_default()
    }

    /// Checks that a column for a single cell names its family.
    pub(crate) fn check(self, text: &[u8]) -> EvalResult<Self> {
        if self.family.is_empty() {
            let shown = String::from_utf8_lossy(text);
            return Err(Interrupt::Problem(format!(
                "the column {shown:?} names no family; write 'family:qualifier'"
            )));
        }
        Ok(self)
    }
}

/// Returns the position of the last colon; the parentheses of a converter contain none.
fn split_at_converter(qualifier: &[u8]) -> Option<usize> {
    qualifier.iter().rposition(|&byte| byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<String>, Option<Converter>) {
        let column = Column::read(text.as_bytes()).unwrap();
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&column.family), column.qualifier.as_ref().map(text), column.converter)
    }

    #[test]
    fn qualifier_may_contain_colons_before_known_converter() {
        assert_eq!(read("f"), ("f".into(), None, None));
        assert_eq!(read("f:"), ("f".into(), Some(String::new()), None));
        assert_eq!(read("f:n:toInt"), ("f".into(), Some("n".into()), Some(Converter::Int)));
        assert_eq!(read("user:info:name"), ("user".into(), Some("info:name".into()), None));
        assert_eq!(
            read("user:info:name:toString"),
            ("user".into(), Some("info:name".into()), Some(Converter::Text))
        );
        assert_eq!(Column::written(b"f:n:toInt").qualifier.unwrap(), "n:toInt");
    }

    #[test]
    fn mistyped_converter_is_rejected() {
        let Err(Interrupt::Problem(text)) = Column::read(b"f:n:toInteger") else { panic!() };
        assert!(text.contains("toInteger") && text.contains("toLong"), "{text}");
    }
}
