//! Search for a phrase in a text.

/// Returns the positions of `phrase` in `text`; if it starts with a letter, only where no word
/// continues into it. A path is found anywhere.
pub(super) fn word_starts<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = phrase.starts_with(char::is_alphabetic);
    let positions = text.match_indices(phrase).map(|(offset, _)| offset);
    positions.filter(move |offset| !(is_word && text[..*offset].ends_with(char::is_alphabetic)))
}

/// Returns the positions of `name` in code where no longer name ends with it.
pub(super) fn name_starts<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let positions = code.match_indices(name).map(|(offset, _)| offset);
    positions.filter(|offset| !code[..*offset].ends_with(is_part_of_name))
}

/// Returns `true` for the letters of names in code.
pub(super) fn is_part_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::word_starts;

    #[test]
    fn words_match_at_word_starts_and_paths_anywhere() {
        assert_eq!(word_starts("was late as late", "as late").collect::<Vec<_>>(), [9]);
        assert_eq!(word_starts("x/tmp/y", "/tmp/").collect::<Vec<_>>(), [1]);
    }
}
