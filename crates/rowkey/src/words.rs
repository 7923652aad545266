//! Values, conditions and decoded keys as people write them beside a declared key: `device_id=s1`, `ts=2024-03-15..2024-03-16`.

use std::cmp::Ordering;
use std::ops::Bound;

use bytes::Bytes;

use crate::codec::Decoded;
use crate::literal::{Shown, read_bytes};
use crate::plan::{KeyQuery, Test};
use crate::schema::{FieldId, KeySchema, SegmentKind};
use crate::value::{FieldType, Value};

/// Keys that lists of values make at once, at most.
const LISTED_KEYS_MAX: usize = 100_000;

impl KeySchema {
    /// The values of `FIELD=VALUE` texts, in the order of the fields; a field that none of them names is null. Text in single quotes is
    /// taken as it is, with quotes inside doubled.
    ///
    /// # Errors
    /// What is wrong with which of them; a field that is given twice.
    pub fn parse_values<'t>(&self, given: impl IntoIterator<Item = &'t str>) -> Result<Vec<Value<'static>>, String> {
        let mut lists = self.parse_lists(given, |text| Ok(vec![text]))?;
        Ok(lists.pop().unwrap_or_default())
    }

    /// As [`Self::parse_values`], where `FIELD=A,B,C` gives several values: the values of one key for every choice of one from each list,
    /// the last field changing first.
    ///
    /// # Errors
    /// As [`Self::parse_values`]; more than 100,000 keys.
    pub fn parse_value_lists<'t>(&self, given: impl IntoIterator<Item = &'t str>) -> Result<Vec<Vec<Value<'static>>>, String> {
        self.parse_lists(given, |text| cut(text, ","))
    }

    fn parse_lists<'t>(
        &self,
        given: impl IntoIterator<Item = &'t str>,
        cut: impl Fn(&'t str) -> Result<Vec<&'t str>, String>,
    ) -> Result<Vec<Vec<Value<'static>>>, String> {
        let mut lists: Vec<Option<Vec<Value<'static>>>> = vec![None; self.fields().len()];
        for one in given {
            let (name, text) = one.split_once('=').ok_or_else(|| format!("{one:?}: a value is given as FIELD=VALUE"))?;
            let field = self.field_named(name)?;
            let name = name.trim();
            let in_field = |error: String| format!("{name}: {error}");
            let ty = self.fields()[field].ty;
            let values = cut(text)
                .map_err(in_field)?
                .into_iter()
                .map(|text| plain(text).and_then(|()| value_of(ty, text)))
                .collect::<Result<_, _>>()
                .map_err(in_field)?;
            if lists[field].replace(values).is_some() {
                return Err(format!("{name} is given twice; several values are {name}=A,B,C"));
            }
        }
        let lists: Vec<_> = lists.into_iter().map(|list| list.unwrap_or_else(|| vec![Value::Null])).collect();
        let keys = lists.iter().fold(1_usize, |keys, list| keys.saturating_mul(list.len()));
        if keys > LISTED_KEYS_MAX {
            return Err(format!("the lists come to {keys} keys, and at most {LISTED_KEYS_MAX} are made at once"));
        }
        let mut all = vec![Vec::with_capacity(lists.len())];
        for list in lists {
            all = all
                .iter()
                .flat_map(|head: &Vec<Value<'static>>| list.iter().map(|value| head.iter().cloned().chain([value.clone()]).collect()))
                .collect();
        }
        Ok(all)
    }

    /// What a key says, `~` standing before what it says only in part: `device_id = 's1', ts = 2024-03-15T00:00:00Z`.
    pub fn show(&self, decoded: &Decoded<'_>) -> String {
        let shown = self.fields().iter().enumerate().filter_map(|(id, field)| {
            let value = decoded.get(id)?;
            let about = if decoded.is_partial(id) { "~" } else { "=" };
            Some(format!("{} {about} {}", field.name, Shown(value, field.ty)))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The field of that name.
    ///
    /// # Errors
    /// With the names there are.
    fn field_named(&self, name: &str) -> Result<FieldId, String> {
        self.field_id(name.trim()).ok_or_else(|| {
            let names: Vec<_> = self.fields().iter().map(|field| field.name.as_str()).collect();
            format!("the key has no field {name}; its fields are {}", names.join(", "))
        })
    }
}

impl KeyQuery {
    /// With a condition as text: `FIELD=VALUE`, `FIELD<VALUE`, `FIELD<=VALUE`, `FIELD>VALUE`, `FIELD>=VALUE`, `FIELD=A..B` (A
    /// included, B not; either may be left out), `FIELD=A,B,C` and `FIELD=PREFIX*`. Text in single quotes is taken as it is, whatever
    /// signs and words are in it.
    ///
    /// # Errors
    /// What is wrong with it; a range that ends before it begins; signs and words of other query languages, which would be taken as text.
    pub fn with_condition(self, key: &KeySchema, text: &str) -> Result<Self, String> {
        let at = text.find(['=', '<', '>']).ok_or_else(|| format!("{text:?}: a condition is FIELD=VALUE, FIELD<VALUE, FIELD=A..B or the like"))?;
        let (name, rest) = text.split_at(at);
        if name.ends_with('!') {
            return Err(format!("{text:?}: that a field is not equal to a value cannot be asked; ask for what is below and above it"));
        }
        let field = key.field_named(name)?;
        let name = name.trim();
        let ty = key.fields()[field].ty;
        let is_address = key.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Ipv4(of) if of == field));
        let value = |text: &str| plain(text).and_then(|()| value_of(ty, text)).and_then(|value| if is_address { address(value) } else { Ok(value) });
        let test = test(ty, rest, value).map_err(|error| format!("{name}: {error}"))?;
        if is_address && matches!(test, Test::Range { .. }) {
            return Err(format!(
                "{name}: it is text to the table, and the key holds it as IPV4({name}): 10.0.0.10 lies before 10.0.0.9. Ask for single addresses, or \
                 declare the type IPV4, of which there are ranges"
            ));
        }
        Ok(self.with(field, test))
    }
}

/// Refuses what can be in no key that holds a field as `IPV4(field)`.
fn address(value: Value<'static>) -> Result<Value<'static>, String> {
    match &value {
        Value::Text(text) => FieldType::Ipv4.parse(text).map(|_| value),
        _ => Ok(value),
    }
}

/// What stands behind the name of a field, from the operator on.
fn test(ty: FieldType, rest: &str, value: impl Fn(&str) -> Result<Value<'static>, String>) -> Result<Test, String> {
    Ok(if let Some(text) = rest.strip_prefix("<=") {
        Test::Range { low: Bound::Unbounded, high: Bound::Included(value(text)?) }
    } else if let Some(text) = rest.strip_prefix(">=") {
        Test::Range { low: Bound::Included(value(text)?), high: Bound::Unbounded }
    } else if let Some(text) = rest.strip_prefix('<') {
        Test::Range { low: Bound::Unbounded, high: Bound::Excluded(value(text)?) }
    } else if let Some(text) = rest.strip_prefix('>') {
        Test::Range { low: Bound::Excluded(value(text)?), high: Bound::Unbounded }
    } else {
        equals(ty, &rest[1..], value)?
    })
}

/// What stands behind `=`: a value, a list, a range or a beginning.
fn equals(ty: FieldType, text: &str, value: impl Fn(&str) -> Result<Value<'static>, String>) -> Result<Test, String> {
    match cut(text, "..")?[..] {
        [_] => {}
        [low, high] => return range(low, high, value),
        _ => return Err(format!("{text}: a range is A..B; text with dots in it stands in single quotes")),
    }
    let pieces = cut(text, ",")?;
    if let [only] = pieces[..]
        && let Some(prefix) = only.trim().strip_suffix('*')
    {
        plain_prefix(prefix)?;
        let prefix = unquoted(prefix)?.unwrap_or_else(|| prefix.to_owned());
        return match ty {
            FieldType::String | FieldType::Char(_) => Ok(Test::Prefix(Bytes::from(prefix.into_bytes()))),
            FieldType::Bytes | FieldType::Fixed(_) => Ok(Test::Prefix(read_bytes(&prefix)?.into())),
            _ => Err(format!("{text}: only text and bytes have beginnings")),
        };
    }
    let mut values = pieces.into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Ok(match values.pop() {
        Some(Value::Null) if values.is_empty() => Test::IsNull,
        Some(only) if values.is_empty() => Test::Equals(only),
        last => Test::In(values.into_iter().chain(last).collect()),
    })
}

/// `A..B`, of which B is not included.
fn range(low: &str, high: &str, value: impl Fn(&str) -> Result<Value<'static>, String>) -> Result<Test, String> {
    let bound = |text: &str| if text.trim().is_empty() { Ok(None) } else { value(text).map(Some) };
    let (from, to) = (bound(low)?, bound(high)?);
    if [&from, &to].into_iter().flatten().any(Value::is_null) {
        return Err(format!("{low}..{high}: null is no end of a range; leave that side open, which leaves null out too"));
    }
    if let (Some(from), Some(to)) = (&from, &to)
        && from.compare(to).is_ge()
    {
        return Err(match from.compare(to) {
            Ordering::Equal => format!("{low}..{high} holds nothing, because its end is not included; a single value is asked for without dots"),
            _ => format!("{low}..{high} ends before it begins; the lesser value comes first, for fields in descending order too"),
        });
    }
    let included = |value: Option<Value<'static>>| value.map_or(Bound::Unbounded, Bound::Included);
    let excluded = |value: Option<Value<'static>>| value.map_or(Bound::Unbounded, Bound::Excluded);
    Ok(Test::Range { low: included(from), high: excluded(to) })
}

/// The value of a text, which may stand in single quotes.
fn value_of(ty: FieldType, text: &str) -> Result<Value<'static>, String> {
    match unquoted(text)? {
        Some(text) if ty.is_text() => {
            let value = Value::Text(text.clone().into());
            if ty.accepts(&value) { Ok(value) } else { ty.parse(&text).and_then(|_| Err(format!("'{text}' is no {ty}"))) }
        }
        Some(text) => ty.parse(&text),
        // Blanks around a value are of the command line; those of text stand in quotes.
        None => ty.parse(text.trim()),
    }
}

/// What stands between single quotes, if the text does.
fn unquoted(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if !text.starts_with('\'') {
        return Ok(None);
    }
    let end = quoted_bytes(text)?;
    if end < text.len() {
        return Err(format!("{text}: something follows the closing quote; a quote inside quotes is doubled"));
    }
    Ok(Some(text[1..end - 1].replace("''", "'")))
}

/// How long the quoted text is that `text` begins with, both quotes included.
fn quoted_bytes(text: &str) -> Result<usize, String> {
    let mut at = 1;
    loop {
        at += text[at..].find('\'').ok_or_else(|| format!("{text}: the quote has no end"))? + 1;
        if !text[at..].starts_with('\'') {
            return Ok(at);
        }
        at += 1;
    }
}

/// The pieces between separators that do not stand in quotes. Quotes count where a piece begins with them.
fn cut<'t>(text: &'t str, separator: &str) -> Result<Vec<&'t str>, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    loop {
        let trimmed = rest.trim_start();
        let blanks = rest.len() - trimmed.len();
        let quoted = match trimmed.strip_prefix(['x', 'X']).filter(|digits| digits.starts_with('\'')) {
            Some(digits) => 1 + quoted_bytes(digits)?,
            None if trimmed.starts_with('\'') => quoted_bytes(trimmed)?,
            None => 0,
        };
        let Some(at) = rest[blanks + quoted..].find(separator) else {
            pieces.push(rest);
            return Ok(pieces);
        };
        let end = blanks + quoted + at;
        pieces.push(&rest[..end]);
        rest = &rest[end + separator.len()..];
    }
}

/// The `FIELD=VALUE` pieces of a line: those between tabs, or between blanks where there is no tab outside of quotes.
///
/// # Errors
/// A quote that nothing closes.
pub fn values_of_line(line: &str) -> Result<Vec<&str>, String> {
    let by_tabs = pieces_of_line(line, |char| char == '\t')?;
    let pieces = if by_tabs.len() > 1 { by_tabs } else { pieces_of_line(line, char::is_whitespace)? };
    Ok(pieces)
}

/// Quotes count where a value begins with them: behind `=` and behind `,`.
fn pieces_of_line(line: &str, separates: impl Fn(char) -> bool) -> Result<Vec<&str>, String> {
    let (mut pieces, mut begin, mut at, mut begins_value) = (Vec::new(), 0, 0, false);
    while let Some(char) = line[at..].chars().next() {
        if begins_value && char == '\'' {
            at += quoted_bytes(&line[at..])?;
            begins_value = false;
            continue;
        }
        if separates(char) {
            pieces.push(&line[begin..at]);
            begin = at + char.len_utf8();
        }
        begins_value = matches!(char, '=' | ',');
        at += char.len_utf8();
    }
    pieces.push(&line[begin..]);
    pieces.retain(|piece| !piece.trim().is_empty());
    Ok(pieces)
}

/// Refuses what looks like another query language, and would be compared as it stands.
fn plain(text: &str) -> Result<(), String> {
    let text = text.trim();
    let literal = format!("to ask for the text itself, put it in quotes: '{}'", text.replace('\'', "''"));
    if text.starts_with('\'') {
        return Ok(());
    }
    if text.is_empty() {
        return Err("a value is missing; empty text is ''".to_owned());
    }
    if text == "?" {
        return Err(format!("? stands for a value in WITH QUERIES; give the value here; {literal}"));
    }
    if text.starts_with(['=', '<', '>', '!']) {
        return Err(format!("{text:?} begins with an operator; there are =, <, <=, > and >=; {literal}"));
    }
    if text.starts_with(['(', '[']) || text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        return Err(format!("parentheses and double quotes are not taken away; a list is A,B,C; {literal}"));
    }
    if text.contains('*') || text.ends_with('%') {
        return Err(format!("{text:?}: only a beginning can be asked for, as PREFIX*; {literal}"));
    }
    let is_joint = |word: &str| ["OR", "AND", "||", "&&"].iter().any(|joint| word.eq_ignore_ascii_case(joint));
    if text.split_whitespace().any(is_joint) {
        return Err(format!(
            "{text:?}: conditions are not joined by words; one of several values is FIELD=A,B, and conditions that all hold are arguments of their own; {literal}"
        ));
    }
    Ok(())
}

/// The same of the text in front of `*`, which may be empty.
fn plain_prefix(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { plain(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_values_are_read_and_mistakes_name_the_field() {
        let key: KeySchema = "(device_id STRING, ts TIMESTAMP DESC)".parse().unwrap();
        let values = key.parse_values(["device_id=s1", "ts=2024-03-15"]).unwrap();
        assert_eq!(key.show(&key.decode(&key.encode(&values).unwrap()).unwrap()), "device_id = 's1', ts = 2024-03-15T00:00:00Z");
        let query = KeyQuery::all().with_condition(&key, "device_id=s*").unwrap().with_condition(&key, "ts=..2024-03-16").unwrap();
        assert_eq!(query.conditions[0].test, Test::Prefix(Bytes::from_static(b"s")));
        let late = Value::Signed(1_710_547_200_000);
        assert_eq!(query.conditions[1].test, Test::Range { low: Bound::Unbounded, high: Bound::Excluded(late) });
        for (text, wanted) in [
            ("device=1", "has no field device; its fields are device_id, ts"),
            ("ts=soon", "ts: "),
            ("ts=2024*", "only text"),
            ("ts", "a condition is"),
        ] {
            let error = KeyQuery::all().with_condition(&key, text).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(key.parse_values(["ts"]).unwrap_err().contains("FIELD=VALUE"));
    }

    #[test]
    fn quotes_hold_text_with_any_signs_in_it() {
        let key: KeySchema = "(name STRING, n U8 NULLABLE)".parse().unwrap();
        let test = |text: &str| KeyQuery::all().with_condition(&key, text).map(|query| query.conditions[0].test.clone());
        for (text, wanted) in [
            ("name='a OR b'", "a OR b"),
            ("name='*a'", "*a"),
            ("name='it''s, all..'", "it's, all.."),
            ("name = it's ", "it's"),
            ("name='null'", "null"),
            ("name=''", ""),
        ] {
            assert_eq!(test(text), Ok(Test::Equals(wanted.into())), "{text}");
        }
        assert_eq!(test("name='a b'*"), Ok(Test::Prefix(Bytes::from_static(b"a b"))));
        assert_eq!(test("name='a,b',c"), Ok(Test::In(vec!["a,b".into(), "c".into()])));
        assert_eq!(test("n=null"), Ok(Test::IsNull));
        assert_eq!(key.parse_values(["name='x=y'", "n=3"]), Ok(vec!["x=y".into(), Value::Unsigned(3)]));
    }

    /// The beginning was the letters of the notation, so that nothing was found.
    #[test]
    fn beginnings_of_bytes_are_read_as_bytes_are() {
        let key: KeySchema = "(b BYTES, n U8)".parse().unwrap();
        let test = |text: &str| KeyQuery::all().with_condition(&key, text).map(|query| query.conditions[0].test.clone());
        for text in ["b=x'0aff'*", "b=X'0AFF'*", "b=\\x0A\\xFF*"] {
            assert_eq!(test(text), Ok(Test::Prefix(Bytes::from_static(&[0x0a, 0xff]))), "{text}");
        }
        assert_eq!(test("b=X'0aff'"), Ok(Test::Equals(Value::from(&[0x0a, 0xff][..]).into_owned())));
        assert!(test("b=x'0af'*").unwrap_err().contains("hexadecimal"));
        assert!(test("b=x'0a").is_err());
    }

    /// Ranges of addresses compared them as text, and left rows out.
    #[test]
    fn addresses_that_are_text_are_asked_for_one_by_one() {
        let key: KeySchema = "(IPV4(h), n U8)".parse().unwrap();
        let test = |text: &str| KeyQuery::all().with_condition(&key, text).map(|query| query.conditions[0].test.clone());
        assert_eq!(test("h=10.0.0.1"), Ok(Test::Equals("10.0.0.1".into())));
        assert_eq!(test("h=10.0.0.*"), Ok(Test::Prefix(Bytes::from_static(b"10.0.0."))));
        for text in ["h>=10.0.0.1", "h<10.0.0.10", "h=10.0.0.1..10.0.0.9"] {
            assert!(test(text).unwrap_err().contains("declare the type IPV4"), "{text}");
        }
        assert!(test("h=10.0.0.1,10.0.0.999").unwrap_err().contains("is no IPV4"));
        let typed: KeySchema = "(h IPV4, n U8)".parse().unwrap();
        assert!(KeyQuery::all().with_condition(&typed, "h=10.0.0.9..10.0.0.20").is_ok());
    }

    /// Blanks inside quotes cut a value in two, and `*` was taken as text where values are encoded.
    #[test]
    fn values_of_one_line_are_cut_at_blanks_outside_of_quotes() {
        let pieces = |line: &str| values_of_line(line).map(|pieces| pieces.iter().map(|piece| (*piece).to_owned()).collect::<Vec<_>>());
        assert_eq!(pieces(" a='x y'  n=1 ").unwrap(), ["a='x y'", "n=1"]);
        assert_eq!(pieces("a='it''s so','b c' n=1").unwrap(), ["a='it''s so','b c'", "n=1"]);
        assert_eq!(pieces("a=x y\tn=1").unwrap(), ["a=x y", "n=1"]);
        assert_eq!(pieces("a='x\ty'\tn=1").unwrap(), ["a='x\ty'", "n=1"]);
        assert_eq!(pieces("a=it's n=1").unwrap(), ["a=it's", "n=1"]);
        assert!(pieces("a='x n=1").unwrap_err().contains("the quote has no end"));
        let key: KeySchema = "(a STRING, n U8 NULLABLE)".parse().unwrap();
        for (wrong, wanted) in [("a=", "empty text is ''"), ("a=x*", "only a beginning"), ("a=?", "stands for a value")] {
            let error = key.parse_values([wrong]).unwrap_err();
            assert!(error.starts_with("a: ") && error.contains(wanted), "{error}");
        }
        assert_eq!(key.parse_values(["a=''"]), Ok(vec!["".into(), Value::Null]));
    }

    /// Other query languages' words were compared as text, and ranges the wrong way round planned as no key at all.
    #[test]
    fn what_would_be_misunderstood_is_refused_with_what_to_write() {
        let key: KeySchema = "(name STRING, ts TIMESTAMP DESC)".parse().unwrap();
        for (text, wanted) in [
            ("name=a OR b", "one of several values is FIELD=A,B"),
            ("name=*a", "only a beginning can be asked for"),
            ("name=a*b", "only a beginning"),
            ("name=a%", "only a beginning"),
            ("name==a", "begins with an operator"),
            ("name<>a", "begins with an operator"),
            ("name!=a", "is not equal"),
            ("name=?", "stands for a value"),
            ("name=(a,b)", "parentheses"),
            ("name=", "empty text is ''"),
            ("name='a", "the quote has no end"),
            ("name='a' b", "follows the closing quote"),
            ("ts=2024-03-16..2024-03-15", "ts: 2024-03-16..2024-03-15 ends before it begins; the lesser value comes first"),
            ("ts=5..5", "holds nothing"),
            ("ts=5..null", "null is no end of a range"),
            ("name=a..b..c", "a range is A..B"),
        ] {
            let error = KeyQuery::all().with_condition(&key, text).map(|query| query.conditions).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        assert!(key.parse_values(["name=a", "name=b"]).unwrap_err().contains("name is given twice"));
    }

    #[test]
    fn lists_of_values_are_the_keys_of_every_choice() {
        let key: KeySchema = "(a STRING, b U8)".parse().unwrap();
        let keys = key.parse_value_lists(["b=1,2", "a=x,'y,z'"]).unwrap();
        assert_eq!(keys[1], vec!["x".into(), Value::Unsigned(2)]);
        assert_eq!((keys.len(), &keys[2][0]), (4, &Value::from("y,z")));
        assert!(key.parse_value_lists(["b=1,x"]).unwrap_err().starts_with("b: "));
    }
}
