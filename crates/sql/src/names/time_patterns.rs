//! Patterns of times as PostgreSQL writes them, `YYYY-MM-DD`, in place of DataFusion's `%Y-%m-%d`,
//! which would answer the others as they are.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Spanned as _, Value,
};

use crate::error::{Result, SqlError};

/// Functions with a pattern as their last argument.
const FUNCTIONS: [&str; 3] = ["to_char", "to_date", "to_timestamp"];
/// Patterns and what they are here, such that none is behind its own beginning.
const PATTERNS: [(&str, &str); 27] = [
    ("YYYY", "%Y"),
    ("IYYY", "%G"),
    ("HH24", "%H"),
    ("HH12", "%I"),
    ("FMHH24", "%-H"),
    ("FMHH12", "%-I"),
    ("FMMonth", "%B"),
    ("FMDay", "%A"),
    ("FMDD", "%-d"),
    ("FMMM", "%-m"),
    ("FMMI", "%-M"),
    ("FMSS", "%-S"),
    ("DDD", "%j"),
    ("Mon", "%b"),
    ("YY", "%y"),
    ("MM", "%m"),
    ("MI", "%M"),
    ("MS", "%3f"),
    ("US", "%6f"),
    ("DD", "%d"),
    ("Dy", "%a"),
    ("ID", "%u"),
    ("IW", "%V"),
    ("HH", "%I"),
    ("SS", "%S"),
    ("AM", "%p"),
    ("PM", "%p"),
];

/// Patterns without a counterpart that begin as others do.
const REFUSED: [&str; 2] = ["SSSS", "IDDD"];

/// Rewrites the pattern of a function of times. One with `%` is DataFusion's and stays.
///
/// # Errors
/// `NotSupported` for a pattern without a counterpart.
pub(super) fn rewrite(function: &mut Function) -> Result<()> {
    let name = function.name.to_string();
    if !FUNCTIONS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(pattern))] = list.args.as_mut_slice() else {
        return Ok(());
    };
    let place = pattern.span().start;
    let Expr::Value(value) = pattern else { return Err(no_constant(&name, pattern)) };
    if matches!(value.value, Value::Placeholder(_)) {
        return Err(no_constant(&name, pattern));
    }
    let Some(text) = value.value.clone().into_string() else { return Ok(()) };
    if !text.contains('%') {
        let translated = translated(&text).map_err(|at| {
            let what = format!(
                "{name} has no pattern for {:?}; it takes YYYY, YY, MM, Mon, FMMonth, DD, DDD, Dy, \
                 FMDay, HH24, HH12, MI, SS, MS, US, AM, IYYY, IW, ID and \"text\", or those of \
                 strftime, as '%Y-%m-%d'",
                &text[at..]
            );
            SqlError::unsupported(what).at(place.line, place.column)
        })?;
        value.value = Value::SingleQuotedString(translated);
    }
    Ok(())
}

fn no_constant(name: &str, pattern: &Expr) -> SqlError {
    let place = pattern.span().start;
    let what = format!(
        "{name} takes its pattern as a constant, as in {name}(ts, 'YYYY-MM-DD'), and this is {pattern}"
    );
    SqlError::unsupported(what).at(place.line, place.column)
}

/// Returns the pattern for DataFusion, or the offset of what has none.
fn translated(pattern: &str) -> std::result::Result<String, usize> {
    let mut translated = String::new();
    let mut at = 0;
    while let Some(letter) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        if letter == '"' {
            let end = rest[1..].find('"').ok_or(at)?;
            translated.push_str(&rest[1..=end]);
            at += end + 2;
        } else if REFUSED.iter().any(|other| rest.starts_with(other)) {
            return Err(at);
        } else if let Some((known, here)) =
            PATTERNS.iter().find(|(known, _)| rest.starts_with(known))
        {
            translated.push_str(here);
            at += known.len();
        } else if letter.is_alphabetic() && !(letter == 'T' && rest.starts_with("THH")) {
            return Err(start_of_word(pattern, at));
        } else {
            translated.push(letter);
            at += letter.len_utf8();
        }
    }
    Ok(translated)
}

/// Returns where the letters around an offset begin.
fn start_of_word(pattern: &str, at: usize) -> usize {
    let before = pattern[..at].chars().rev().take_while(|letter| letter.is_alphabetic());
    at - before.map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_translated_or_refused() {
        for (pattern, expected) in [
            ("YYYY-MM-DD", Ok("%Y-%m-%d")),
            ("YYYY-MM-DD HH24:MI:SS.MS", Ok("%Y-%m-%d %H:%M:%S.%3f")),
            ("YYYY-MM-DDTHH24:MI", Ok("%Y-%m-%dT%H:%M")),
            ("FMDD. FMMonth \"anno\" YY", Ok("%-d. %B anno %y")),
            ("HH12 AM", Ok("%I %p")),
            ("Month", Err(0)),
            ("HH24 SSSS", Err(5)),
            ("IYYY-IDDD", Err(5)),
            ("YYYY x", Err(5)),
            ("\"open", Err(0)),
        ] {
            let expected = expected.map(ToOwned::to_owned);
            assert_eq!(translated(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn no_pattern_is_hidden_by_its_beginning() {
        for (at, (pattern, _)) in PATTERNS.iter().enumerate() {
            let hides = PATTERNS[..at].iter().find(|(before, _)| pattern.starts_with(before));
            assert_eq!(hides, None, "{pattern}");
        }
    }
}
