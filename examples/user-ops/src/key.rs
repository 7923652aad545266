//! The table and its key.

use std::borrow::Cow;

use halite::RowKey;
use halite::rowkey::KeyBuf;
use halite::rowkey::typed::TsMillis;
use halite::{Error, Result};

use crate::Operation;

/// Family of the table.
pub(crate) const FAMILY: &str = "o";
/// Columns of the kind and the detail.
pub(crate) const KIND: &str = "k";
pub(crate) const DETAIL: &str = "d";
/// Characters of a user in the key.
pub const USER_CHARS: usize = 8;

/// Key of `operations`: the user's id from its last digit to its first, and their operations newest
/// first. Ids of users are numbered, so their last digits are spread evenly, not their first ones.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "operations",
    columns = "kind STRING FAMILY o QUALIFIER k NOT NULL, detail STRING FAMILY o QUALIFIER d",
    options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')
      WITH QUERIES (
        history: user_id = ? ORDER BY ts DESC LIMIT 50,
        between: user_id = ? AND ts IN RANGE ORDER BY ts DESC
      )
      SPLIT AT ('1', '2', '3', '4', '5', '6', '7', '8', '9')"
)]
pub struct OperationKey<'a> {
    /// User.
    #[key(reverse, type = "CHAR(8)")]
    pub user_id: Cow<'a, str>,
    /// Time.
    #[key(desc)]
    pub ts: TsMillis,
    /// Two operations of one millisecond are two rows.
    pub sequence: u32,
}

/// Returns a name or number of a user as the key contains it: with zeros in front, as `00012345`.
/// One length for all means that no id is the beginning of another, in either direction.
///
/// # Errors
/// `InvalidRequest` for a name that is empty, longer than eight characters or not ASCII.
pub fn user_id(name: &str) -> Result<String> {
    if name.is_empty() || name.len() > USER_CHARS || !name.is_ascii() {
        return Err(Error::invalid(format!(
            "user {name:?}: an id has 1 to {USER_CHARS} ASCII characters; use a shorter one"
        )));
    }
    Ok(format!("{name:0>USER_CHARS$}"))
}

impl Operation {
    pub(crate) fn key(&self) -> Result<KeyBuf> {
        let user_id = Cow::Borrowed(&self.user[..]);
        Ok(OperationKey { user_id, ts: TsMillis(self.at_ms), sequence: self.sequence }.encode()?)
    }
}
