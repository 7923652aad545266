//! Words that the parser knows: clients color them, and put names that are such words in quotes.

use std::collections::BTreeMap;

use halite_sql::datafusion::sql::sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};

/// Words of Halite's dialect that SQL does not have.
const OWN: [&str; 8] =
    ["adopt", "buckets", "counter", "dict", "salt", "series", "upsert", "versions"];

/// Returns the words in lower case, in order, and whether each is reserved: no alias unless in
/// quotes.
pub(super) fn all() -> impl Iterator<Item = (String, bool)> {
    let own = OWN.iter().map(|word| ((*word).to_owned(), false));
    let known = ALL_KEYWORDS.iter().zip(ALL_KEYWORDS_INDEX).map(|(word, keyword)| {
        let lists = [RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS];
        (word.to_ascii_lowercase(), lists.iter().any(|list| list.contains(keyword)))
    });
    own.chain(known).collect::<BTreeMap<_, _>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_end_a_table_are_reserved() {
        let words: BTreeMap<String, bool> = all().collect();
        let kinds = ["where", "upsert", "buckets", "begin"].map(|word| words.get(word).copied());
        assert_eq!(kinds, [Some(true), Some(false), Some(false), Some(false)]);
    }
}
