//! Names of the encodings.

use std::fmt;

use crate::schema::Profile;

/// Encoding of the values of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CellEncoding {
    /// As `org.apache.hadoop.hbase.util.Bytes.toBytes`.
    #[default]
    Java,
    /// Text, as typed into a shell.
    Text,
    /// As keys of profile `BIN`.
    Bin,
    /// As `org.apache.hadoop.hbase.util.OrderedBytes`, ascending.
    Ordered,
    /// As Phoenix's `PDataType`s.
    Phoenix,
    /// As HBase's `RawByte` to `RawBytes`.
    Raw,
}

impl CellEncoding {
    /// Encodings by their names.
    pub const NAMES: &[(&str, Self)] = &[
        ("JAVA", Self::Java),
        ("TEXT", Self::Text),
        ("BIN", Self::Bin),
        ("ORDERED", Self::Ordered),
        ("PHOENIX", Self::Phoenix),
        ("RAW", Self::Raw),
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("JAVA", |(name, _)| name)
    }

    /// Returns the profile of keys that has the same bytes.
    pub(super) fn profile(self) -> Option<Profile> {
        match self {
            Self::Java | Self::Text | Self::Raw => None,
            Self::Bin => Some(Profile::Bin),
            Self::Ordered => Some(Profile::Ordered { compat: false }),
            Self::Phoenix => Some(Profile::Phoenix),
        }
    }
}

impl fmt::Display for CellEncoding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
