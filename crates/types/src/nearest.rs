//! Finds the known name that a mistyped one most likely means.

/// The known name with the fewest changed, missing, added or swapped letters, if that is few for its length.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let (distance, best) = known.map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate)).min()?;
    let length = name.chars().count();
    (length > 1 && distance <= (length / 4).max(1)).then_some(best)
}

/// The suggestion as a part of an error text; empty without one.
pub fn suggestion(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

/// Damerau's distance, where swapping two neighbours is one change.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_name_is_no_suggestion() {
        assert_eq!(nearest("NoSuchFilter", ["RowFilter", "PageFilter"].into_iter()), None);
        assert_eq!(nearest("PrefxFiltr", ["RowFilter", "PrefixFilter"].into_iter()), Some("PrefixFilter"));
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let words = ["scan", "status", "create", "count", "get", "put", "describe"];
        let find = |name| nearest(name, words.into_iter());
        assert_eq!((find("scna"), find("craete"), find("desribe"), find("gte")), (Some("scan"), Some("create"), Some("describe"), Some("get")));
        assert_eq!((find("xyzzy"), find("q"), find("select")), (None, None, None));
    }
}
