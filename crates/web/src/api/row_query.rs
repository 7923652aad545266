//! What a request for rows asks: conditions on the fields of a declared key, or a range of keys.

use std::sync::Arc;

use halite_rowkey::plan::{KeyQuery, Plan};
use halite_rowkey::scatter::PageToken;
use halite_types::key::{to_bytes_binary, to_hex};
use halite_types::{Bytes, Scan};

use crate::key_view::DeclaredKey;
use crate::params::{MAX_KEY_BYTES, Params, from_hex, short};
use crate::problem::{Answered, Problem};

/// Parameters that are no fields. A field of such a name is asked as `field.NAME`.
const RESERVED: [&str; 14] = [
    "start",
    "stop",
    "prefix",
    "reverse",
    "limit",
    "versions",
    "cols",
    "value_bytes_max",
    "next",
    "keys",
    "key_bytes_max",
    "by",
    "row",
    "token",
];

/// First letters of page tokens.
const TOKEN_OF_FIELDS: char = 'f';
const TOKEN_OF_KEYS: char = 'k';

/// Selection of rows.
pub(crate) enum RowQuery {
    /// Rows of a plan, after the page that ended at the token.
    Fields(Arc<Plan>, Option<PageToken>),
    /// Rows of a range of keys, which begins after the page before.
    Keys(Box<Scan>),
}

impl RowQuery {
    /// Reads the selection. `limit` is the number of rows that are read.
    pub(crate) fn of(
        params: &Params,
        declared: Option<&DeclaredKey>,
        limit: usize,
    ) -> Answered<Self> {
        let reverse = params.flag("reverse")?;
        let conditions = match declared {
            Some(declared) => conditions(params, declared)?,
            None => Vec::new(),
        };
        let by_key =
            ["start", "stop", "prefix"].into_iter().find(|name| params.get(name).is_some());
        match (declared, by_key) {
            (Some(_), Some(name)) if !conditions.is_empty() => {
                let text = "give conditions on fields, or start, stop and prefix, not both";
                Err(Problem::field(name, text))
            }
            (Some(declared), None) => {
                let query = KeyQuery { reverse, limit: Some(limit), ..KeyQuery::all() };
                let plan = plan(declared, query, &conditions)?;
                let after = params.get("next").map(token_of_fields).transpose()?;
                Ok(Self::Fields(Arc::new(plan), after))
            }
            _ => scan(params, reverse).map(|scan| Self::Keys(Box::new(scan.limit(limit)))),
        }
    }
}

/// Returns the plan of a query with more conditions, each with the parameter that it is from.
pub(crate) fn plan(
    declared: &DeclaredKey,
    query: KeyQuery,
    conditions: &[(String, String)],
) -> Answered<Plan> {
    let mut query = query;
    for (field, condition) in conditions {
        query = query
            .with_condition(&declared.schema, condition)
            .map_err(|error| Problem::field(field.clone(), error))?;
    }
    Plan::new(&declared.schema, &query, &declared.plan_options())
        .map_err(|error| Problem::field("query", error.to_string()))
}

/// Returns the conditions on fields as text, with the parameters that they are from.
fn conditions(params: &Params, declared: &DeclaredKey) -> Answered<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (parameter, value) in &params.0 {
        let named = parameter.strip_prefix("field.");
        if named.is_none() && RESERVED.contains(&parameter.as_str()) {
            continue;
        }
        let text = named.unwrap_or(parameter);
        let (name, operator) = text.rsplit_once('.').unwrap_or((text, ""));
        if declared.schema.field_id(name).is_none() {
            // Unknown parameters are ignored, but one that looks like a condition is a mistake
            // that would return all rows.
            if named.is_none() && !is_operator(operator) {
                continue;
            }
            let names: Vec<&str> =
                declared.schema.fields().iter().map(|field| field.name.as_str()).collect();
            let name = short(name);
            let text = format!("the key has no field {name}; its fields are {}", names.join(", "));
            return Err(Problem::field(short(parameter), text));
        }
        found.push((parameter.clone(), condition(parameter, name, operator, value)?));
    }
    Ok(found)
}

fn is_operator(text: &str) -> bool {
    matches!(text, "ge" | "gt" | "le" | "lt" | "in" | "prefix" | "is")
}

/// Returns a condition as text. Values are quoted, so that nothing in them has a meaning.
fn condition(parameter: &str, name: &str, operator: &str, value: &str) -> Answered<String> {
    let quoted = |value: &str| format!("'{}'", value.replace('\'', "''"));
    Ok(match operator {
        "" => format!("{name}={}", quoted(value)),
        "ge" => format!("{name}>={}", quoted(value)),
        "gt" => format!("{name}>{}", quoted(value)),
        "le" => format!("{name}<={}", quoted(value)),
        "lt" => format!("{name}<{}", quoted(value)),
        "prefix" => format!("{name}={}*", quoted(value)),
        "in" => {
            let values: Vec<String> = value.split(',').map(quoted).collect();
            format!("{name}={}", values.join(","))
        }
        "is" if value == "null" => format!("{name}=null"),
        "is" => return Err(Problem::field(short(parameter), "a field .is=null, or has a value")),
        other => {
            let text = format!(
                "{:?} is no comparison; after a field come .ge, .gt, .le, .lt, .in, .prefix or .is",
                short(other)
            );
            return Err(Problem::field(short(parameter), text));
        }
    })
}

/// Returns the scan of a range of keys. As in HBase's shell, a reverse scan begins at `start` and
/// goes down to the key after `stop`; the range of a [`Scan`] is ascending in both directions.
fn scan(params: &Params, reverse: bool) -> Answered<Scan> {
    let given = |name| -> Answered<Option<Bytes>> {
        Ok(params.escaped_key(name)?.filter(|key| !key.is_empty()))
    };
    let (start, stop, prefix) = (given("start")?, given("stop")?, given("prefix")?);
    let after = params.get("next").map(token_of_keys).transpose()?;
    if prefix.is_some() && (start.is_some() || stop.is_some()) {
        return Err(Problem::field("prefix", "give prefix alone, or start and stop"));
    }
    let mut scan = match prefix {
        Some(prefix) => Scan::prefix(prefix),
        None => Scan::all(),
    };
    scan = match (reverse, start, stop) {
        (_, None, None) => scan,
        (false, start, stop) => {
            scan.start(start.unwrap_or_default()).stop(stop.unwrap_or_default())
        }
        (true, start, stop) => {
            let scan = stop.into_iter().fold(scan, Scan::start_exclusive);
            start.into_iter().fold(scan, Scan::stop_inclusive)
        }
    };
    scan = match (reverse, after) {
        (_, None) => scan,
        (false, Some(after)) => scan.start_exclusive(after),
        (true, Some(after)) => scan.stop(after),
    };
    Ok(scan.reverse(reverse))
}

fn wrong_token() -> Problem {
    let text = "the page token is not one of this query; begin again from the first page";
    Problem::field("next", text)
}

fn token_of_fields(text: &str) -> Answered<PageToken> {
    let bytes = text.strip_prefix(TOKEN_OF_FIELDS).and_then(from_hex).ok_or_else(wrong_token)?;
    PageToken::from_bytes(&bytes).map_err(|_| wrong_token())
}

fn token_of_keys(text: &str) -> Answered<Bytes> {
    let bytes = text.strip_prefix(TOKEN_OF_KEYS).and_then(from_hex).ok_or_else(wrong_token)?;
    if bytes.is_empty() || bytes.len() > MAX_KEY_BYTES {
        return Err(wrong_token());
    }
    Ok(bytes.into())
}

/// Returns the text of the token after a row of a plan.
pub(crate) fn text_of_token(token: &PageToken) -> String {
    format!("{TOKEN_OF_FIELDS}{}", to_hex(&token.to_bytes()))
}

/// Returns the text of the token after a row key.
pub(crate) fn text_after_key(key: &[u8]) -> String {
    format!("{TOKEN_OF_KEYS}{}", to_hex(key))
}

/// Adds the requested columns to a scan: `cols=FAMILY,FAMILY:QUALIFIER`.
pub(crate) fn with_columns(params: &Params, scan: Scan) -> Answered<Scan> {
    let mut columns =
        params.get("cols").unwrap_or_default().split(',').filter(|text| !text.is_empty());
    let scan = columns.try_fold(scan, |scan, column| {
        Ok(match column.split_once(':') {
            Some((family, qualifier)) if !family.is_empty() => {
                scan.column(to_bytes_binary(family), to_bytes_binary(qualifier))
            }
            None => scan.family(to_bytes_binary(column)),
            Some(_) => {
                let text = format!("{:?}: a column is FAMILY or FAMILY:QUALIFIER", short(column));
                return Err(Problem::field("cols", text));
            }
        })
    })?;
    match params.number("versions", 1..=1000, 1)? {
        1 => Ok(scan),
        versions => Ok(scan.versions(versions)),
    }
}
