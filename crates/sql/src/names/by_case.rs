//! Names that differ by case.

use crate::error::{Result, SqlError, SqlState};

/// Returns the name among `known` that an unquoted name means; `None` if it is none of them.
///
/// # Errors
/// `Ambiguous`.
pub(crate) fn by_case<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> Result<Option<&'k str>> {
    let mut similar: Vec<&str> = Vec::new();
    for other in known {
        if other == name {
            return Ok(Some(other));
        }
        if is_similar(other, name) && !similar.contains(&other) {
            similar.push(other);
        }
    }
    match similar.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => Err(SqlError::new(
            SqlState::Ambiguous,
            format!(
                "{name} may be {}; write the one that is meant in double quotes",
                several.join(" or ")
            ),
        )),
    }
}

fn is_similar(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_the_exact_or_else_the_only_similar_one() {
        let known = ["Name", "name", "Other"];
        assert_eq!(by_case("name", known.into_iter()).unwrap(), Some("name"));
        assert_eq!(by_case("OTHER", known.into_iter()).unwrap(), Some("Other"));
        assert_eq!(by_case("more", known.into_iter()).unwrap(), None);
        let error = by_case("NAME", known.into_iter()).unwrap_err();
        assert_eq!(error.state, SqlState::Ambiguous);
        assert!(error.message.contains("Name or name"), "{error}");
    }
}
