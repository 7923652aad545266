//! Converters that format a value as a number, text or hexadecimal, for `family:qualifier:toInt`
//! and `FORMATTER`.

use halite_types::key::{to_hex, to_string_binary};

use super::session::Interrupt;
use super::value::print_float;
use halite_types::suggest::{closest_match, did_you_mean};

/// Format of the bytes of a value. The names are those of HBase's `Bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Converter {
    #[default]
    StringBinary,
    Text,
    Hex,
    Boolean,
    Short,
    Int,
    Long,
    Float,
    Double,
}

const NAMES: [(&str, Converter); 9] = [
    ("toStringBinary", Converter::StringBinary),
    ("toString", Converter::Text),
    ("toHex", Converter::Hex),
    ("toBoolean", Converter::Boolean),
    ("toShort", Converter::Short),
    ("toInt", Converter::Int),
    ("toLong", Converter::Long),
    ("toFloat", Converter::Float),
    ("toDouble", Converter::Double),
];

/// Error: the value is too short for its converter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooShort {
    converter: &'static str,
    needed: usize,
    found: usize,
}

impl TooShort {
    /// Returns the error message, with the column name.
    pub(crate) fn to_interrupt(&self, column: &str) -> Interrupt {
        let Self { converter, needed, found } = self;
        Interrupt::Problem(format!(
            "column {column}: {converter} needs {needed} bytes and the value has {found}; leave \
             the converter out to see them"
        ))
    }
}

impl Converter {
    /// Returns the converter with that name, also as `c(org.apache.hadoop.hbase.util.Bytes).name`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let name = name.strip_prefix("c(org.apache.hadoop.hbase.util.Bytes).").unwrap_or(name);
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, converter)| *converter)
    }

    /// As [`Converter::find`], but returns an error for an unknown name.
    pub(crate) fn by_name(name: &str) -> Result<Self, Interrupt> {
        Self::find(name).ok_or_else(|| {
            let known = NAMES.map(|(known, _)| known);
            let suggestion = did_you_mean(closest_match(name, known.into_iter()));
            Interrupt::Problem(format!(
                "there is no converter {name}{suggestion}; there are {}",
                known.join(", ")
            ))
        })
    }

    fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, converter)| *converter == self)
            .map_or("toStringBinary", |(name, _)| name)
    }

    /// Returns `true` for formats of text of any length; the others require values of a fixed size.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::StringBinary | Self::Text | Self::Hex)
    }

    /// Formats the value as text.
    pub(crate) fn format(self, value: &[u8]) -> Result<String, TooShort> {
        Ok(match self {
            Self::StringBinary => to_string_binary(value),
            Self::Text => String::from_utf8_lossy(value).into_owned(),
            Self::Hex => to_hex(value),
            Self::Boolean => (self.first::<1>(value)? != [0]).to_string(),
            Self::Short => i16::from_be_bytes(self.first(value)?).to_string(),
            Self::Int => i32::from_be_bytes(self.first(value)?).to_string(),
            Self::Long => i64::from_be_bytes(self.first(value)?).to_string(),
            Self::Float => print_float(f64::from(f32::from_be_bytes(self.first(value)?))),
            Self::Double => print_float(f64::from_be_bytes(self.first(value)?)),
        })
    }

    fn first<const N: usize>(self, value: &[u8]) -> Result<[u8; N], TooShort> {
        value.first_chunk().copied().ok_or(TooShort {
            converter: self.name(),
            needed: N,
            found: value.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converters_format_bytes_as_their_type() {
        let show = |name: &str, value: &[u8]| Converter::find(name).unwrap().format(value).unwrap();
        assert_eq!(show("toInt", &[0, 0, 1, 2]), "258");
        assert_eq!(show("c(org.apache.hadoop.hbase.util.Bytes).toInt", &[0xff; 4]), "-1");
        assert_eq!(show("toShort", &[1, 2]), "258");
        assert_eq!(show("toBoolean", &[0xff]), "true");
        assert_eq!(show("toDouble", &std::f64::consts::PI.to_be_bytes()), "3.141592653589793");
        assert_eq!(show("toFloat", &std::f32::consts::PI.to_be_bytes()), "3.1415927410125732");
        assert_eq!(show("toHex", &[0, 0xab]), "00ab");
        assert_eq!(show("toString", "\u{5f20}".as_bytes()), "\u{5f20}");
    }

    #[test]
    fn short_value_error_contains_both_lengths() {
        let Interrupt::Problem(text) =
            Converter::Long.format(b"abc").unwrap_err().to_interrupt("f:q")
        else {
            panic!()
        };
        assert!(
            text.contains("f:q") && text.contains("needs 8") && text.contains("has 3"),
            "{text}"
        );
    }
}
