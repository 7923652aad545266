//! Patterns of text as HBase's filters: the pieces between `%`, each of which the text must have.
//! That is less than the pattern says, so its rows are checked again. Each piece is found in one
//! pass over the text; a regular expression for the whole pattern could take much longer on
//! Apache HBase.

use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Like;
use halite_types::filter::{Comparator, RegexString};

use crate::types::literals::text_of;

/// Characters of a pattern.
const MAX_CHARACTERS: usize = 512;
/// Wildcards for one character in it.
const MAX_SINGLE: usize = 32;
/// Pieces of it.
const MAX_PIECES: usize = 16;
/// Letters to which, ignoring case, others are equal than Java's `toLowerCase` makes equal:
/// U+017F is a long s, U+212A the sign of kelvin.
const SPECIAL: [char; 4] = ['k', 'K', 's', 'S'];

/// Returns the column of a pattern, and comparators to all of which text of the pattern is equal;
/// `None` for other expressions, and for patterns that say nothing that they could.
pub(super) fn pattern(expr: &Expr) -> Option<(&Expr, Vec<Comparator>)> {
    match expr {
        Expr::Like(Like { negated: false, expr, pattern, escape_char, case_insensitive }) => {
            let Expr::Literal(pattern, _) = pattern.as_ref() else { return None };
            let pieces = pieces(text_of(pattern)?, escape_char.unwrap_or('\\'))?;
            let found = if *case_insensitive {
                pieces.iter().flat_map(Piece::ignoring_case).collect()
            } else {
                pieces.iter().filter_map(Piece::comparator).collect::<Vec<_>>()
            };
            (!found.is_empty() && found.len() <= MAX_PIECES).then_some((expr.as_ref(), found))
        }
        Expr::ScalarFunction(function) if function.name() == "contains" => {
            let [of, Expr::Literal(text, _)] = function.args.as_slice() else { return None };
            let text = text_of(text).filter(|text| text.len() <= MAX_CHARACTERS)?;
            let letters = text.chars().map(Some).collect();
            let piece = Piece { letters, begins: false, ends: false };
            Some((of, vec![piece.comparator()?]))
        }
        _ => None,
    }
}

/// Part of a pattern without `%`.
struct Piece {
    /// Characters; `None` for any one.
    letters: Vec<Option<char>>,
    /// `true` if text begins with it.
    begins: bool,
    /// `true` if text ends with it.
    ends: bool,
}

impl Piece {
    fn comparator(&self) -> Option<Comparator> {
        let text: Option<String> = self.letters.iter().copied().collect();
        match text {
            Some(text) if text.is_empty() && !(self.begins && self.ends) => None,
            Some(text) if self.begins && self.ends => Some(Comparator::Binary(text.into())),
            Some(text) if self.begins => Some(Comparator::BinaryPrefix(text.into())),
            // Of other letters, Java's lower case depends on those around them.
            Some(text) if !self.ends && text.is_ascii() => Some(Comparator::Substring(text)),
            _ => Some(Comparator::Regex(RegexString::new(self.expression()))),
        }
    }

    /// Returns the expression that matches the piece, in Java as in Halite.
    fn expression(&self) -> String {
        let mut out = String::from(if self.begins { "^" } else { "" });
        for letter in &self.letters {
            match letter {
                None => out.push('.'),
                Some(letter) => {
                    if r"\.+*?()|[]{}^$".contains(*letter) {
                        out.push('\\');
                    }
                    out.push(*letter);
                }
            }
        }
        // `$` would match before a line feed at the end too.
        if self.ends {
            out.push_str(r"\z");
        }
        out
    }

    /// Returns the text in it whose case does not matter.
    fn ignoring_case(&self) -> Vec<Comparator> {
        let is_plain =
            |letter: &Option<char>| letter.is_some_and(|c| c.is_ascii() && !SPECIAL.contains(&c));
        let runs = self.letters.split(|letter| !is_plain(letter));
        let texts = runs.map(|run| run.iter().flatten().collect::<String>());
        texts.filter(|text| !text.is_empty()).map(Comparator::Substring).collect()
    }
}

/// Returns the pieces of a pattern; `None` for one that is too long, or ends in its escape.
fn pieces(pattern: &str, escape: char) -> Option<Vec<Piece>> {
    let is_long = pattern.chars().count() > MAX_CHARACTERS;
    if is_long || pattern.matches('_').count() > MAX_SINGLE {
        return None;
    }
    let mut pieces = Vec::new();
    let mut piece = Piece { letters: Vec::new(), begins: true, ends: false };
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => {
                let next = Piece { letters: Vec::new(), begins: false, ends: false };
                pieces.push(std::mem::replace(&mut piece, next));
            }
            '_' => piece.letters.push(None),
            _ if letter == escape => piece.letters.push(Some(letters.next()?)),
            _ => piece.letters.push(Some(letter)),
        }
    }
    pieces.push(Piece { ends: true, ..piece });
    pieces.retain(|piece| !piece.letters.is_empty() || piece.begins && piece.ends);
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Vec<String> {
        let pieces = pieces(pattern, '\\').expect("a pattern");
        let shown = |comparator| match comparator {
            Comparator::Binary(text) => format!("= {}", String::from_utf8_lossy(&text)),
            Comparator::BinaryPrefix(text) => format!("begins {}", String::from_utf8_lossy(&text)),
            Comparator::Substring(text) => format!("has {text}"),
            Comparator::Regex(regex) => format!("~ {}", regex.pattern),
            _ => String::new(),
        };
        pieces.iter().filter_map(Piece::comparator).map(shown).collect()
    }

    #[test]
    fn patterns_become_their_pieces() {
        for (pattern, expected) in [
            ("%a%", vec!["has a"]),
            ("%a%b%", vec!["has a", "has b"]),
            ("a%b", vec!["begins a", r"~ b\z"]),
            ("a_c", vec![r"~ ^a.c\z"]),
            ("%a_c%", vec!["~ a.c"]),
            ("%\u{e9}%", vec!["~ \u{e9}"]),
            (r"%50\%%", vec!["has 50%"]),
            (r"%(a.b)", vec![r"~ \(a\.b\)\z"]),
            ("abc", vec!["= abc"]),
            ("", vec!["= "]),
            ("%", vec![]),
            ("%%", vec![]),
            ("_%", vec!["~ ^."]),
        ] {
            assert_eq!(of(pattern), expected, "{pattern}");
        }
        assert!(pieces("a\\", '\\').is_none() && pieces(&"_".repeat(40), '\\').is_none());
    }

    #[test]
    fn letters_with_other_cases_than_javas_are_no_part_of_a_filter() {
        let pieces = pieces("%Mask_\u{c9}a%", '\\').expect("a pattern");
        let found: Vec<Comparator> = pieces.iter().flat_map(Piece::ignoring_case).collect();
        let has = |text: &str| Comparator::Substring(text.to_owned());
        assert_eq!(found, [has("Ma"), has("a")]);
    }
}
