//! Requests that open, read, renew and close a scanner.

use halite_types::Result;
use halite_wire::convert::scan;
use halite_wire::proto as pb;

use super::scan_state::ScanState;
use crate::meta::Location;

/// Returns the request that opens a scanner at the scan's position and reads the first rows.
pub(super) fn open(progress: &mut ScanState, location: &Location) -> Result<pb::ScanRequest> {
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

/// Returns the request for the next rows.
pub(super) fn next(progress: &ScanState, scanner_id: u64, sequence: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(scanner_id),
        number_of_rows: Some(progress.max_rows()),
        close_scanner: Some(false),
        next_call_seq: Some(sequence),
        client_handles_partials: Some(true),
        client_handles_heartbeats: Some(true),
        limit_of_rows: progress.limit(),
        track_scan_metrics: progress.scan.meter.is_some().then_some(true),
        ..pb::ScanRequest::default()
    }
}

/// Returns the request that renews a scanner's lease.
pub(super) fn renew(scanner_id: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(scanner_id),
        number_of_rows: Some(0),
        close_scanner: Some(false),
        renew: Some(true),
        ..pb::ScanRequest::default()
    }
}

/// Returns the request that closes a scanner.
pub(super) fn close(scanner_id: u64) -> pb::ScanRequest {
    pb::ScanRequest {
        scanner_id: Some(scanner_id),
        number_of_rows: Some(0),
        close_scanner: Some(true),
        ..pb::ScanRequest::default()
    }
}
