//! What an import tells beside its report.

use std::fmt;
use std::path::Path;

use halite_hbase_dir::wal::WalEnd;

/// Remark for the caller of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// Something that is as it should be.
    Note(String),
    /// Data may be missing.
    Warning(String),
}

impl Remark {
    /// Returns what is to be told of the end of a log.
    pub(super) fn of_log(path: &Path, end: Option<WalEnd>) -> Option<Self> {
        let Some(WalEnd::Incomplete { offset, bytes, further_entry }) = end else { return None };
        let path = path.display();
        Some(match further_entry {
            None => Self::Note(format!(
                "{path}: the log ends inside the entry at byte {offset}, which is left out \
                 ({bytes} bytes): the server was killed while it wrote it"
            )),
            Some(further) => Self::Warning(format!(
                "{path}: the log is damaged at byte {offset}: {bytes} bytes from there to its end \
                 are left out, as by HBase, with what seems to be an entry at byte {further}, and \
                 any after it, which may have been acknowledged: restore the log and repeat the \
                 import to have them"
            )),
        })
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(text) => write!(formatter, "note: {text}"),
            Self::Warning(text) => write!(formatter, "warning: {text}"),
        }
    }
}
