//! Names in the directory of a family: store files, links and references.
//!
//! ```text
//! 32 hexadecimal digits                             a store file
//! <digits>_SeqId_<sequence id>_                     a bulk-loaded store file
//! [<namespace>=]<table>=<region>-<store file>       a link to a whole file of another region
//! <store file or link>.<region>                     a reference to a part or all of the file that
//!                                                   has the name before the dot in that region
//! ```

use halite_types::TableName;
use halite_types::schema::DEFAULT_NAMESPACE;

/// Parsed name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreFileName {
    /// Table and region of the file if the name is a link.
    pub(crate) link: Option<(TableName, String)>,
    /// Region of the file, or of the link, if the name is a reference.
    pub(crate) referred_region: Option<String>,
    /// Name of the store file.
    pub(crate) file: String,
    /// Sequence id in the name of a bulk-loaded file.
    pub(crate) loaded_sequence: Option<u64>,
}

impl StoreFileName {
    /// Returns the parts of a name; `None` if it has none of the forms. The parts are safe in a
    /// path.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        // A table's name may contain dots, too. A region's name does not, and a file's does not.
        let (name, referred_region) = match name.rsplit_once('.') {
            Some((before, region)) if is_hex(region) => (before, Some(region.to_owned())),
            _ => (name, None),
        };
        let (link, file) = match name.rsplit_once('=') {
            None => (None, name),
            Some((table, file)) => {
                let (region, file) = file.split_once('-')?;
                let (namespace, table) =
                    table.split_once('=').unwrap_or((DEFAULT_NAMESPACE, table));
                let table = TableName::new(namespace, table).ok().filter(|_| is_hex(region))?;
                (Some((table, region.to_owned())), file)
            }
        };
        let loaded_sequence = match file.split_once("_SeqId_") {
            None if is_hex(file) => None,
            Some((digits, sequence)) if is_hex(digits) => {
                Some(sequence.strip_suffix('_').filter(|text| is_number(text))?.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { link, referred_region, file: file.to_owned(), loaded_sequence })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns `true` for lower-case hexadecimal digits: an encoded region name or a file's name.
pub(crate) fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn names_of_all_forms_are_parsed() {
        let plain = StoreFileName {
            link: None,
            referred_region: None,
            file: HEX.to_owned(),
            loaded_sequence: None,
        };
        assert_eq!(StoreFileName::parse(HEX), Some(plain.clone()));
        let loaded = format!("{HEX}_SeqId_12_");
        let of_load = StoreFileName { file: loaded.clone(), loaded_sequence: Some(12), ..plain };
        assert_eq!(StoreFileName::parse(&loaded), Some(of_load.clone()));
        let table: TableName = "n:t.x-1".parse().unwrap();
        let link = StoreFileName { link: Some((table, "ab".to_owned())), ..of_load };
        assert_eq!(StoreFileName::parse(&format!("n=t.x-1=ab-{loaded}")), Some(link.clone()));
        let reference = StoreFileName { referred_region: Some("cd".to_owned()), ..link };
        assert_eq!(StoreFileName::parse(&format!("n=t.x-1=ab-{loaded}.cd")), Some(reference));
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "ab/cd",
            "../ab",
            "AB",
            "ab_del",
            "ab_SeqId__",
            "ab_SeqId_99999999999999999999_",
            "ab_SeqId_1",
            "t=ab",
            "t=../x-ab",
            "..=ab-cd",
            "a/b=ab-cd",
            "t=ab-../cd",
            "ab.x",
            "a=b=c=ab-cd",
        ] {
            assert_eq!(StoreFileName::parse(name), None, "{name}");
        }
    }
}
