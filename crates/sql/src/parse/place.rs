//! Places in a text.

/// Returns the byte at a line and a column, which count letters from 1 on; `None` if the text has no
/// letter there.
pub fn byte_at(text: &str, (line, column): (u64, u64)) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (offset, _) = text.get(before..)?.char_indices().nth(column.checked_sub(1)?)?;
    Some(before + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_letters_from_one() {
        let text = "\u{e4}b\ncd";
        for (place, byte) in [((1, 1), 0), ((1, 2), 2), ((2, 1), 4), ((2, 2), 5)] {
            assert_eq!(byte_at(text, place), Some(byte), "{place:?}");
        }
        for place in [(0, 1), (1, 0), (2, 3), (3, 1)] {
            assert_eq!(byte_at(text, place), None, "{place:?}");
        }
    }
}
