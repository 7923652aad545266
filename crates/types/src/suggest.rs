//! Suggestions of known names for mistyped ones.

/// Maximum wrong letters of a name that is certainly a misspelling.
const MAX_MISSPELLED_LETTERS: usize = 2;

/// Returns the known name with the fewest changed, missing, added or swapped letters, if that
/// number is small for its length; else the only one that `name` abbreviates, as `zk-port` does
/// `zookeeper-port`, and `compress` does `compression`. A known name may be listed several times.
pub fn closest_match<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower_name = name.to_lowercase();
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let (distance, best) = known
        .iter()
        .map(|candidate| (distance(&lower_name, &candidate.to_lowercase()), *candidate))
        .min()?;
    let length = name.chars().count();
    if length > 1 && distance <= (length / 4).max(1) {
        return Some(best);
    }
    let mut long_forms =
        known.into_iter().filter(|candidate| abbreviates(&lower_name, &candidate.to_lowercase()));
    long_forms.next().filter(|_| long_forms.next().is_none())
}

/// Returns the known name that `name` misspells: the one with the fewest changed, missing, added or
/// swapped letters, if these are two at most.
pub fn misspelled<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .filter(|known| known.len().abs_diff(name.len()) <= MAX_MISSPELLED_LETTERS)
        .map(|known| (distance(name, known), known))
        .min()
        .filter(|(distance, _)| *distance <= MAX_MISSPELLED_LETTERS)
        .map(|(_, known)| known)
}

/// Fewest letters of a single word that abbreviate a longer one.
const MIN_PREFIX_LETTERS: usize = 3;

/// Returns whether `short` has the words of `long`: several, each by its first letter and some of
/// the others in order, or a single one by its first letters.
fn abbreviates(short: &str, long: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned).collect()
    };
    let (short, long) = (words(short), words(long));
    if let ([short], [long]) = (&short[..], &long[..]) {
        return short.chars().count() >= MIN_PREFIX_LETTERS && long.starts_with(short);
    }
    short.len() == long.len()
        && short.iter().zip(&long).all(|(short, long)| {
            let mut letters = long.chars();
            short.chars().next().is_some_and(|first| long.starts_with(first))
                && short.chars().all(|letter| letters.any(|other| other == letter))
        })
}

/// Returns the suggestion as a part of an error message; empty without one.
pub fn did_you_mean(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

/// Returns the Damerau-Levenshtein distance, in which swapping two adjacent letters is one change.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut min = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                min = min.min(rows[i - 2][j - 2] + 1);
            }
            row.push(min);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distant_name_is_not_suggested() {
        assert_eq!(closest_match("NoSuchFilter", ["RowFilter", "PageFilter"].into_iter()), None);
        assert_eq!(
            closest_match("PrefxFiltr", ["RowFilter", "PrefixFilter"].into_iter()),
            Some("PrefixFilter")
        );
    }

    #[test]
    fn misspelled_word_is_suggested() {
        let words = ["scan", "status", "create", "count", "get", "put", "describe"];
        let find = |name| closest_match(name, words.into_iter());
        assert_eq!(
            (find("scna"), find("craete"), find("desribe"), find("gte")),
            (Some("scan"), Some("create"), Some("describe"), Some("get"))
        );
        assert_eq!((find("xyzzy"), find("q"), find("select")), (None, None, None));
    }

    #[test]
    fn an_abbreviation_finds_its_only_long_form() {
        let options = ["zookeeper-port", "znode-parent", "master-port", "http-port"];
        let find = |name| closest_match(name, options.into_iter());
        assert_eq!(
            (find("zk-port"), find("m-port")),
            (Some("zookeeper-port"), Some("master-port"))
        );
        assert_eq!((find("z-p"), find("port"), find("kz-port")), (None, None, None));
    }

    #[test]
    fn first_letters_of_one_word_find_it() {
        let constants = ["COMPRESSION", "BLOOMFILTER", "COMPRESSION", "BLOCKSIZE", "BLOCKCACHE"];
        let find = |name| closest_match(name, constants.into_iter());
        assert_eq!((find("COMPRESS"), find("BLOOM")), (Some("COMPRESSION"), Some("BLOOMFILTER")));
        assert_eq!((find("BLOCK"), find("CO"), find("FILTER")), (None, None, None));
    }
}
