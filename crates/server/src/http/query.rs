//! Selection of beans: `?qry=PATTERN`, or `?get=BEAN::ATTRIBUTE`.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::beans::bean::Bean;
use super::json::{self, Value};

/// Query string of the URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BeanQuery {
    /// Pattern of bean names with `*` for any text, as in
    /// `Hadoop:service=HBase,name=RegionServer,*`.
    qry: Option<String>,
    /// One attribute of one bean.
    get: Option<String>,
}

#[derive(Serialize)]
struct BeansPage {
    beans: Vec<Value>,
}

#[derive(Serialize)]
struct ErrorPage<'a> {
    result: &'static str,
    message: &'a str,
}

/// Returns the requested beans as JSON.
pub(super) fn answer(beans: &[Bean], query: &BeanQuery) -> (StatusCode, String) {
    let text = |beans: Vec<Value>| json::text(&BeansPage { beans });
    let Some(get) = &query.get else {
        let pattern = query.qry.as_deref().filter(|pattern| !pattern.is_empty()).unwrap_or("*:*");
        return (
            StatusCode::OK,
            text(
                beans
                    .iter()
                    .filter(|bean| matches(&bean.name, pattern))
                    .map(|bean| bean.value(|_| true))
                    .collect(),
            ),
        );
    };
    let Some((name, attribute)) = get.split_once("::") else {
        return (StatusCode::BAD_REQUEST, error("query format is not as expected."));
    };
    match beans.iter().find(|bean| bean.name == name) {
        Some(bean) if bean.attributes.iter().any(|(known, _)| known == attribute) => {
            (StatusCode::OK, text(vec![bean.value(|known| known == attribute)]))
        }
        Some(_) => (
            StatusCode::BAD_REQUEST,
            error(&format!("No attribute with name {attribute} was found.")),
        ),
        None => (StatusCode::BAD_REQUEST, error(&format!("No bean with name {name} was found."))),
    }
}

fn error(message: &str) -> String {
    json::text(&ErrorPage { result: "ERROR", message })
}

/// Returns `true` if a name matches a pattern of Java's `ObjectName`. Its keys may be in any order;
/// a `*` at the end of the list matches further keys.
fn matches(name: &str, pattern: &str) -> bool {
    let (Some((domain, keys)), Some((domain_pattern, key_patterns))) =
        (name.split_once(':'), pattern.split_once(':'))
    else {
        return false;
    };
    let keys: Vec<&str> = keys.split(',').collect();
    let (mut open, mut named) = (false, 0);
    let fits = key_patterns.split(',').all(|pattern| {
        if pattern == "*" {
            open = true;
            return true;
        }
        named += 1;
        let Some((property, value_pattern)) = pattern.split_once('=') else { return false };
        keys.iter()
            .filter_map(|key| key.split_once('='))
            .any(|(key, value)| key == property && is_like(value, value_pattern))
    });
    fits && is_like(domain, domain_pattern) && (open || named == keys.len())
}

/// Returns `true` if a text matches a pattern with `*` for any text.
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(offset) => text = &text[offset + part.len()..],
            None => return false,
        }
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bean_pattern_matches_like_java_object_name() {
        let name = "Hadoop:service=HBase,name=RegionServer,sub=Server";
        for (pattern, fits) in [
            ("*:*", true),
            (name, true),
            ("Hadoop:sub=Server,name=RegionServer,service=HBase", true),
            ("Hadoop:service=HBase,*", true),
            ("Hadoop:*", true),
            ("*:sub=Se*,*", true),
            ("Had*p:name=*Server,*", true),
            ("Hadoop:service=HBase", false),
            ("Hadoop:sub=Regions,*", false),
            ("java.lang:*", false),
            ("*:name=RegionServer*x,*", false),
            ("Hadoop", false),
            ("", false),
        ] {
            assert_eq!(matches(name, pattern), fits, "{pattern}");
        }
        assert!(is_like("abcabc", "a*bc*c") && !is_like("ab", "ab*b") && is_like("", "*"));
    }

    #[test]
    fn attribute_is_found_by_bean_or_reported_missing() {
        let bean = Bean {
            name: "a:b=c".to_owned(),
            attributes: vec![("x".to_owned(), 1u64.into()), ("y".to_owned(), 2u64.into())],
        };
        let ask = |get: &str| {
            answer(std::slice::from_ref(&bean), &BeanQuery { qry: None, get: Some(get.to_owned()) })
        };
        let (status, text) = ask("a:b=c::y");
        assert!(
            status == StatusCode::OK && text.contains("\"y\": 2") && !text.contains("\"x\""),
            "{text}"
        );
        for wrong in ["a:b=c", "a:b=c::z", "a:b=d::y"] {
            let (status, text) = ask(wrong);
            assert!(
                status == StatusCode::BAD_REQUEST && text.contains("\"ERROR\""),
                "{wrong}: {text}"
            );
        }
    }
}
