//! The calls that open, ask, renew and close a scanner.

use halite_types::Result;
use halite_wire::convert::scan;
use halite_wire::proto as pb;

use super::progress::Progress;
use crate::meta::Location;

/// Opens a scanner where the scan is and asks for the first rows.
pub(super) fn open(progress: &mut Progress, location: &Location) -> Result<pb::ScanRequest> {
    let query = progress.query(&location.region);
    let next = next(progress, 0, 0);
    Ok(pb::ScanRequest {
        region: Some(location.specifier.clone()),
        scan: Some(scan::to_proto(&query)?),
        scanner_id: None,
        next_call_seq: None,
        ..next
    })
}

/// Asks for the next rows.
pub(super) fn next(progress: &Progress, scanner_id: u64, sequence: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(scanner_id),
        number_of_rows: Some(progress.rows_max()),
        close_scanner: Some(false),
        next_call_seq: Some(sequence),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        limit_of_rows: progress.limit(),
        ..pb::ScanRequest::default()
    }
}

/// Keeps a scanner alive.
pub(super) fn renew(scanner_id: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(scanner_id),
        number_of_rows: Some(0),
        close_scanner: Some(false),
        renew: Some(true),
        ..pb::ScanRequest::default()
    }
}

/// Ends a scanner.
pub(super) fn close(scanner_id: u64) -> pb::ScanRequest {
    pb::ScanRequest { scanner_id: Some(scanner_id), number_of_rows: Some(0), close_scanner: Some(true), ..pb::ScanRequest::default() }
}
