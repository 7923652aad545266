//! Comments on a table and its columns, as attributes of its descriptor, which every HBase stores
//! and `SHOW CREATE TABLE` prints. WITH makes settings of them, which HBase returns as attributes.

use halite_types::{Error, Result, TableDescriptor};

/// Attribute with the comment on the table; that on a column ends with its name.
pub const COMMENT: &str = "halite.comment";
/// Bytes of a comment, and of all of a table.
const MAX_BYTES: usize = 4 << 10;
const MAX_TABLE_BYTES: usize = 64 << 10;

fn attribute(column: Option<&str>) -> String {
    column.map_or_else(|| COMMENT.to_owned(), |column| format!("{COMMENT}.{column}"))
}

/// Returns the comment on a table, or on one of its columns.
pub fn comment<'d>(descriptor: &'d TableDescriptor, column: Option<&str>) -> Option<&'d str> {
    let name = attribute(column);
    let text = descriptor.attributes.get(&name).or_else(|| descriptor.configuration.get(&name));
    text.map(String::as_str)
}

/// Removes a comment, and returns its text.
fn remove(descriptor: &mut TableDescriptor, column: Option<&str>) -> Option<String> {
    let name = attribute(column);
    let setting = descriptor.configuration.remove(&name);
    descriptor.attributes.remove(&name).or(setting)
}

/// Sets or removes the comment on a table, or on one of its columns.
///
/// # Errors
/// `InvalidRequest` for text over 4 KiB, or 64 KiB in all of the table.
pub fn set_comment(
    descriptor: &mut TableDescriptor,
    column: Option<&str>,
    text: Option<&str>,
) -> Result<()> {
    let name = descriptor.name().clone();
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        remove(descriptor, column);
        return Ok(());
    };
    let attribute = attribute(column);
    let others = descriptor.attributes.iter().chain(&descriptor.configuration);
    let others = others.filter(|(key, _)| key.starts_with(COMMENT) && **key != attribute);
    let bytes: usize = others.map(|(_, text)| text.len()).sum();
    if text.len() > MAX_BYTES || bytes + text.len() > MAX_TABLE_BYTES {
        return Err(Error::invalid(format!(
            "the comment has {} bytes: one has at most 4 KiB, and those of table {name} 64 KiB",
            text.len()
        )));
    }
    remove(descriptor, column);
    descriptor.attributes.insert(attribute, text.to_owned());
    Ok(())
}

/// Gives the comment on a column to the column that it is called now; `None` if it is dropped.
pub(super) fn move_comment(descriptor: &mut TableDescriptor, from: &str, to: Option<&str>) {
    if let (Some(text), Some(to)) = (remove(descriptor, Some(from)), to) {
        descriptor.attributes.insert(attribute(Some(to)), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_set_removed_and_limited() {
        let mut table = TableDescriptor::new("t".parse().unwrap());
        set_comment(&mut table, None, Some("rows")).unwrap();
        set_comment(&mut table, Some("v"), Some("value")).unwrap();
        assert_eq!(
            (comment(&table, None), comment(&table, Some("v"))),
            (Some("rows"), Some("value"))
        );
        move_comment(&mut table, "v", Some("w"));
        assert_eq!((comment(&table, Some("v")), comment(&table, Some("w"))), (None, Some("value")));
        move_comment(&mut table, "w", None);
        set_comment(&mut table, None, None).unwrap();
        assert!(table.attributes.is_empty());
        table.configuration.insert(COMMENT.to_owned(), "of WITH".to_owned());
        assert_eq!(comment(&table, None), Some("of WITH"));
        set_comment(&mut table, None, Some("rows")).unwrap();
        assert_eq!(comment(&table, None), Some("rows"));
        assert!(table.configuration.is_empty());
        set_comment(&mut table, None, None).unwrap();
        let long = "x".repeat(MAX_BYTES);
        for at in 0..16 {
            set_comment(&mut table, Some(&format!("c{at}")), Some(&long)).unwrap();
        }
        assert!(set_comment(&mut table, Some("c16"), Some("x")).is_err(), "64 KiB are there");
        set_comment(&mut table, Some("c0"), Some("x")).unwrap();
        assert!(set_comment(&mut table, None, Some(&format!("{long}x"))).is_err());
    }
}
