//! What a call asked, as text for the log of slow calls, after HBase's `ProtobufUtil`
//! (`getSlowLogParams`).

use std::fmt::Write as _;

use halite_types::key::to_string_binary;
use halite_wire::proto as pb;
use halite_wire::service::Method;

use crate::base::call::Call;

/// Maximum bytes of the decoded message; a larger one is not decoded for its description.
const MAX_DECODED_BYTES: usize = 1 << 20;

/// Maximum bytes of a key or a name that are printed, each as up to four characters.
const MAX_KEY_BYTES: usize = 128;

/// Description of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CallDescription {
    /// Full name of the region.
    pub(crate) region: Option<String>,
    pub(crate) details: String,
    /// Gets, mutations and calls of endpoints of a multi.
    pub(crate) multi: (u32, u32, u32),
}

/// Returns the description of a call.
pub(crate) fn describe(call: &Call) -> CallDescription {
    if !call.is_decoded_within(MAX_DECODED_BYTES) {
        let details = format!("a message of {} bytes", call.bytes);
        return CallDescription { details, ..CallDescription::default() };
    }
    let described = match call.method {
        Method::ClientGet => call.request.message().ok().map(|request| get(&request)),
        Method::ClientMutate => call.request.message().ok().map(|request| mutate(&request)),
        Method::ClientScan => call.request.message().ok().map(|request| scan(call, &request)),
        Method::ClientMulti => call.request.message().ok().map(|request| multi(&request)),
        Method::ClientExecService => call.request.message().ok().map(|request| exec(&request)),
        _ => None,
    };
    described.unwrap_or_default()
}

fn get(request: &pb::GetRequest) -> CallDescription {
    of_row(&request.region, "", &request.get.row)
}

fn mutate(request: &pb::MutateRequest) -> CallDescription {
    let mutation = &request.mutation;
    let kind = format!("{:?} ", mutation.mutate_type());
    of_row(&request.region, &kind, mutation.row())
}

fn of_row(region: &pb::RegionSpecifier, what: &str, row: &[u8]) -> CallDescription {
    CallDescription {
        region: Some(region_name(region)),
        details: format!("{what}row={}", printed(row)),
        multi: (0, 0, 0),
    }
}

fn scan(call: &Call, request: &pb::ScanRequest) -> CallDescription {
    let scanned = || call.scanned.get().map(|region| to_string_binary(&region.full_name()));
    let region = request.region.as_ref().map(region_name).or_else(scanned);
    let mut details = match (&request.scan, request.scanner_id) {
        (Some(scan), _) => scan_range(scan),
        (None, Some(id)) => format!("scanner={id}"),
        (None, None) => String::new(),
    };
    let (rows, limit) = (request.number_of_rows(), request.limit_of_rows());
    if rows > 0 {
        let _ = write!(details, " number_of_rows={rows}");
    }
    if limit > 0 {
        let _ = write!(details, " limit_of_rows={limit}");
    }
    if request.close_scanner() {
        details += " close";
    }
    CallDescription { region, details, multi: (0, 0, 0) }
}

fn scan_range(scan: &pb::Scan) -> String {
    let mut text = format!("start={} stop={}", printed(scan.start_row()), printed(scan.stop_row()));
    if scan.reversed() {
        text += " reversed";
    }
    if let Some(filter) = &scan.filter {
        let _ = write!(text, " filter={}", filter.name.rsplit('.').next().unwrap_or_default());
    }
    for column in scan.column.iter().take(8) {
        let _ = write!(text, " family={}", printed(&column.family));
    }
    text
}

fn multi(request: &pb::MultiRequest) -> CallDescription {
    let actions = || request.region_action.iter().flat_map(|region| &region.action);
    let count = |is_one: fn(&&pb::Action) -> bool| {
        u32::try_from(actions().filter(is_one).count()).unwrap_or(u32::MAX)
    };
    let multi = (
        count(|action| action.get.is_some()),
        count(|action| action.mutation.is_some()),
        count(|action| action.service_call.is_some()),
    );
    let first = actions().next().map(|action| match (&action.get, &action.mutation) {
        (Some(get), _) => printed(&get.row),
        (None, Some(mutation)) => printed(mutation.row()),
        (None, None) => String::new(),
    });
    let details = format!(
        "{} actions on {} regions, first row={}",
        actions().count(),
        request.region_action.len(),
        first.unwrap_or_default()
    );
    let region = request.region_action.first().map(|region| region_name(&region.region));
    CallDescription { region, details, multi }
}

fn exec(request: &pb::CoprocessorServiceRequest) -> CallDescription {
    let call = &request.call;
    let part = |text: &str| text.chars().take(MAX_KEY_BYTES).collect::<String>();
    CallDescription {
        region: Some(region_name(&request.region)),
        details: format!("service={}:{}", part(&call.service_name), part(&call.method_name)),
        multi: (0, 0, 0),
    }
}

/// Returns the name in a request, whole: filters compare it.
fn region_name(region: &pb::RegionSpecifier) -> String {
    to_string_binary(&region.value)
}

fn printed(key: &[u8]) -> String {
    match key.split_at_checked(MAX_KEY_BYTES) {
        Some((part, rest)) if !rest.is_empty() => {
            format!("{}... ({} bytes)", to_string_binary(part), key.len())
        }
        _ => to_string_binary(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_are_cut_with_their_length() {
        assert_eq!(printed(b"a\x00b"), "a\\x00b");
        assert_eq!(printed(&[b'k'; MAX_KEY_BYTES]), "k".repeat(MAX_KEY_BYTES));
        let long = printed(&vec![b'k'; 40_000]);
        assert!(long.ends_with("... (40000 bytes)") && long.len() < 200);
    }

    #[test]
    fn multi_counts_actions_and_names_first_row() {
        let region = pb::RegionSpecifier { r#type: 1, value: "t,,1.ab.".into() };
        let get = pb::Get { row: "first".into(), ..pb::Get::default() };
        let get = pb::Action { get: Some(get), ..pb::Action::default() };
        let put = pb::MutationProto { row: Some("b".into()), ..pb::MutationProto::default() };
        let put = pb::Action { mutation: Some(put), ..pb::Action::default() };
        let action = vec![get, put.clone(), put];
        let region_action = vec![pb::RegionAction { region, action, ..Default::default() }];
        let described = multi(&pb::MultiRequest { region_action, ..Default::default() });
        assert_eq!(described.region.as_deref(), Some("t,,1.ab."));
        assert_eq!(described.multi, (1, 2, 0));
        assert_eq!(described.details, "3 actions on 1 regions, first row=first");
    }
}
