//! Replies of a simulated region server: about the cluster, about `hbase:meta`, and about rows of
//! the table.

use bytes::BytesMut;
use halite_types::schema::META_ENCODED_NAME;
use halite_types::{Cells, Row};
use halite_wire::cellblock::CellBlockFormat;
use halite_wire::convert::result::counted;
use halite_wire::convert::{get, mutate, region, scan};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::rpc::{ProtocolError, Request, RpcLimits};
use halite_wire::service::{Method, Service};

use super::cluster::Cluster;
use super::rpc::{put, put_rows};
use super::server::Process;

/// Writes the reply to a call.
pub(super) fn respond(
    process: &Process,
    service: Service,
    request: &Request,
    out: &mut BytesMut,
) -> Result<(), Exception> {
    let call = SimulatedCall { process, request };
    match request.method(service).map_err(|fault| protocol_exception(&fault))? {
        Method::ClientMetaGetClusterId => {
            call.put(&pb::GetClusterIdResponse { cluster_id: Some("storm".to_string()) }, &[], out);
        }
        Method::ClientMetaGetMetaRegionLocations => call.put(&call.meta_location(), &[], out),
        Method::ClientGet => call.get(out)?,
        Method::ClientMutate => call.mutate(out)?,
        Method::ClientMulti => call.multi(out)?,
        Method::ClientScan => call.scan(out)?,
        method => {
            return Err(Exception::new(
                ExceptionKind::DoNotRetry,
                format!("{method:?} is not served here"),
            ));
        }
    }
    Ok(())
}

struct SimulatedCall<'a> {
    process: &'a Process,
    request: &'a Request,
}

impl SimulatedCall<'_> {
    fn message<M: prost::Message + Default>(&self) -> Result<M, Exception> {
        self.request.message().map_err(|fault| protocol_exception(&fault))
    }

    fn cells(&self) -> Result<Cells, Exception> {
        self.request
            .cells(Some(CellBlockFormat::default()), &RpcLimits::default())
            .map_err(|fault| protocol_exception(&fault))
    }

    fn put<M: prost::Message>(&self, message: &M, cells: &[Cells], out: &mut BytesMut) {
        put(self.request.call_id, message, cells, out);
    }

    fn cluster(&self) -> std::cell::RefMut<'_, Cluster> {
        self.process.cluster.borrow_mut()
    }

    /// Fails randomly if the server is busy.
    fn check_busy(&self, kind: ExceptionKind) -> Result<(), Exception> {
        let is_refused = self.process.behavior().is_busy && fastrand::u8(..3) == 0;
        if is_refused { Err(Exception::new(kind, "too much to do")) } else { Ok(()) }
    }

    fn meta_location(&self) -> pb::GetMetaRegionLocationsResponse {
        let cluster = self.cluster();
        let server_name =
            cluster.registered_meta_server.map(|who| pb::ServerName::from(&cluster.name(who)));
        let location = pb::RegionLocation {
            region_info: region::to_proto(&region::meta()),
            server_name,
            seq_num: 1,
        };
        pb::GetMetaRegionLocationsResponse { meta_locations: vec![location] }
    }

    /// Returns `true` if a request is about `hbase:meta`, which only one server has.
    fn is_for_meta(&self, specifier: &pb::RegionSpecifier) -> Result<bool, Exception> {
        if region::encoded_name(specifier)? != META_ENCODED_NAME {
            return Ok(false);
        }
        if self.cluster().meta_server == Some(self.process.incarnation) {
            return Ok(true);
        }
        Err(Exception::new(ExceptionKind::NotServingRegion, "hbase:meta,,1 is not online here"))
    }

    fn get(&self, out: &mut BytesMut) -> Result<(), Exception> {
        let request: pb::GetRequest = self.message()?;
        let get_request = get::from_proto(&request.get)?;
        self.check_busy(ExceptionKind::CallQueueTooBig)?;
        let row = if self.is_for_meta(&request.region)? {
            self.cluster().table_row(get_request.row())
        } else {
            let cluster = self.cluster();
            cluster.region_for_row(self.process.incarnation, &request.region, get_request.row())?;
            cluster.row(get_request.row())
        };
        self.put(&pb::GetResponse { result: Some(counted(&row)) }, &[row.into_cells()], out);
        Ok(())
    }

    fn mutate(&self, out: &mut BytesMut) -> Result<(), Exception> {
        let request: pb::MutateRequest = self.message()?;
        let op = mutate::from_proto(&request.mutation, &mut self.cells()?)?;
        self.check_busy(ExceptionKind::RegionTooBusy)?;
        let mut cluster = self.cluster();
        cluster.region_for_row(self.process.incarnation, &request.region, op.row())?;
        let row = cluster.apply(&op, (request.nonce_group(), request.mutation.nonce()))?;
        let (result, processed) =
            if row.is_empty() { (None, Some(true)) } else { (Some(counted(&row)), None) };
        self.put(
            &pb::MutateResponse { result, processed, ..pb::MutateResponse::default() },
            &[row.into_cells()],
            out,
        );
        Ok(())
    }

    fn multi(&self, out: &mut BytesMut) -> Result<(), Exception> {
        let request: pb::MultiRequest = self.message()?;
        self.check_busy(ExceptionKind::CallQueueTooBig)?;
        let (mut cells, mut returned) = (self.cells()?, Vec::new());
        let mut response = pb::MultiResponse::default();
        for region_action in &request.region_action {
            let mut result = pb::RegionActionResult::default();
            let served =
                self.cluster().region(self.process.incarnation, &region_action.region).map(drop);
            if let Err(exception) =
                served.and_then(|()| self.check_busy(ExceptionKind::RegionTooBusy))
            {
                region_action
                    .action
                    .iter()
                    .filter_map(|action| action.mutation.as_ref())
                    .for_each(|proto| mutate::skip_cells(proto, &mut cells));
                result.exception = Some(exception.to_pair());
            } else {
                for action in &region_action.action {
                    let done = self.action(
                        &region_action.region,
                        action,
                        request.nonce_group(),
                        &mut cells,
                    );
                    result.result_or_exception.push(action_result(
                        action.index,
                        done,
                        &mut returned,
                    ));
                }
            }
            response.region_action_result.push(result);
        }
        self.put(&response, &returned, out);
        Ok(())
    }

    fn action(
        &self,
        specifier: &pb::RegionSpecifier,
        action: &pb::Action,
        nonce_group: u64,
        cells: &mut Cells,
    ) -> Result<Row, Exception> {
        let who = self.process.incarnation;
        if let Some(get_request) = &action.get {
            let get_request = get::from_proto(get_request)?;
            self.cluster().region_for_row(who, specifier, get_request.row())?;
            return Ok(self.cluster().row(get_request.row()));
        }
        let proto = action.mutation.clone().unwrap_or_default();
        let op = mutate::from_proto(&proto, cells)?;
        self.check_busy(ExceptionKind::RegionTooBusy)?;
        self.cluster().region_for_row(who, specifier, op.row())?;
        self.cluster().apply(&op, (nonce_group, proto.nonce()))
    }

    fn scan(&self, out: &mut BytesMut) -> Result<(), Exception> {
        let request: pb::ScanRequest = self.message()?;
        let id = self.request.call_id;
        if let Some(specifier) = &request.region
            && self.is_for_meta(specifier)?
        {
            let query = scan::from_proto(&request.scan.clone().unwrap_or_default())?;
            let rows = self
                .cluster()
                .meta_rows(&query.scan, usize::try_from(request.number_of_rows()).unwrap_or(1));
            put_rows(
                id,
                &rows,
                pb::ScanResponse { more_results: Some(false), ..pb::ScanResponse::default() },
                out,
            );
            return Ok(());
        }
        self.check_busy(ExceptionKind::CallQueueTooBig)?;
        let (rows, response) = self.process.scanners.borrow_mut().respond(
            &self.cluster(),
            self.process.incarnation,
            &request,
        )?;
        put_rows(id, &rows, response, out);
        Ok(())
    }
}

fn action_result(
    index: Option<u32>,
    done: Result<Row, Exception>,
    returned: &mut Vec<Cells>,
) -> pb::ResultOrException {
    match done {
        Err(exception) => pb::ResultOrException {
            index,
            exception: Some(exception.to_pair()),
            ..pb::ResultOrException::default()
        },
        Ok(row) => {
            let result = Some(counted(&row));
            returned.push(row.into_cells());
            pb::ResultOrException { index, result, ..pb::ResultOrException::default() }
        }
    }
}

fn protocol_exception(fault: &ProtocolError) -> Exception {
    Exception::new(ExceptionKind::DoNotRetry, fault.to_string())
}
