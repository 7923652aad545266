//! Keys from outside.
#![allow(clippy::unwrap_used, reason = "tests are short and fail by panic")]

use files::{EntryKey, OwnerKey};

#[test]
fn e25_ids_and_names_have_a_boundary() {
    let key = |parent, name| EntryKey { parent, name }.encode().unwrap().to_vec();
    assert_ne!(key(1, "23"), key(12, "3"));
    let key = |owner, name| OwnerKey { owner, parent: 7, name }.encode().unwrap().to_vec();
    assert_ne!(key("user_1", "0"), key("user_10", ""));
}
