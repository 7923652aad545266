//! Scripted server: registry, `hbase:meta` with one region of the table `t`, and replies defined by
//! the test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use halite_client::{Config, RegistryKind, RemoteCluster, connect_with};
use halite_types::{Cluster, Result, Row, Table};
use halite_wire::convert::result::counted;
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::rpc::{
    CONNECTION_CALL_ID, ConnectionInfo, Request, decode_request, encode_exception,
};
use halite_wire::service::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::rpc::{self, frame, put};
use crate::server::name;

/// Scripted reaction of the server to a call.
pub(crate) enum Reply {
    /// Response to a get or a put, or one scan response: rows of single cells.
    Rows(Vec<Row>, pb::ScanResponse),
    /// One scan response that contains only the given fields.
    Bare(Vec<Row>, pb::ScanResponse),
    Exception(Exception),
    /// An exception about the connection.
    Fatal(Exception),
    Silence,
    /// These bytes, after which the server closes the connection.
    Raw(Vec<u8>),
}

/// A call and the number of earlier calls of the same method.
pub(crate) struct ReceivedCall {
    pub(crate) method: Method,
    pub(crate) before: usize,
    pub(crate) request: Request,
}

impl ReceivedCall {
    pub(crate) fn scan(&self) -> pb::ScanRequest {
        self.request.message().unwrap()
    }
}

type Script = Arc<dyn Fn(&ReceivedCall) -> Reply + Send + Sync>;

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    pub(crate) runtime: Runtime,
    calls: Arc<Mutex<Vec<Method>>>,
    lookups: Arc<Mutex<usize>>,
}

impl Fake {
    /// Starts a server that hosts the region of `t` and answers calls for its rows by a script.
    pub(crate) fn start(script: impl Fn(&ReceivedCall) -> Reply + Send + Sync + 'static) -> Self {
        Self::with_region_at(None, script)
    }

    /// Like the preceding function, but `hbase:meta` contains another location of the region.
    pub(crate) fn with_region_at(
        place: Option<SocketAddr>,
        script: impl Fn(&ReceivedCall) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::with_region(
            place,
            pb::RegionInfo {
                region_id: 7,
                table_name: table_name_to_proto(&name()),
                ..pb::RegionInfo::default()
            },
            script,
        )
    }

    /// Like the preceding function, with the region that `hbase:meta` contains.
    pub(crate) fn with_region(
        place: Option<SocketAddr>,
        region: pb::RegionInfo,
        script: impl Fn(&ReceivedCall) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (calls, script) = (Arc::new(Mutex::new(Vec::new())), Arc::new(script) as Script);
        let lookups = Arc::new(Mutex::new(0));
        let (state, count) = (Arc::clone(&calls), Arc::clone(&lookups));
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let peer = Peer {
                    socket,
                    region_address: place.unwrap_or(address),
                    region: region.clone(),
                    own: address,
                    script: Arc::clone(&script),
                    calls: Arc::clone(&state),
                    lookups: Arc::clone(&count),
                };
                tokio::spawn(peer.serve());
            }
        });
        Self { address, runtime, calls, lookups }
    }

    /// Returns a client with short pauses, and with deadlines that a test reaches only if it sets
    /// others.
    pub(crate) fn connect(&self, change: impl FnOnce(&mut Config)) -> RemoteCluster {
        let mut config = Config::new(RegistryKind::Rpc { servers: vec![self.address.to_string()] });
        (config.rpc_timeout_ms, config.operation_timeout_ms, config.pause_ms) =
            (60_000, 600_000, 1);
        change(&mut config);
        self.runtime.block_on(connect_with(config)).unwrap()
    }

    pub(crate) fn table(&self, change: impl FnOnce(&mut Config)) -> Arc<dyn Table> {
        self.connect(change).table(&name())
    }

    pub(crate) fn run<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(future)
    }

    /// Returns the number of region lookups in `hbase:meta`.
    pub(crate) fn lookups(&self) -> usize {
        *self.lookups.lock().unwrap()
    }

    /// Returns the number of received calls of a method.
    pub(crate) fn count(&self, method: Method) -> usize {
        self.calls.lock().unwrap().iter().filter(|called| **called == method).count()
    }
}

struct Peer {
    socket: TcpStream,
    region_address: SocketAddr,
    region: pb::RegionInfo,
    own: SocketAddr,
    script: Script,
    calls: Arc<Mutex<Vec<Method>>>,
    lookups: Arc<Mutex<usize>>,
}

impl Peer {
    async fn serve(mut self) -> Option<()> {
        let mut preamble = [0; 6];
        self.socket.read_exact(&mut preamble).await.ok()?;
        let mut buffer = BytesMut::new();
        let header = frame(&mut self.socket, &mut buffer).await?;
        let connection = ConnectionInfo::decode(header).ok()?;
        loop {
            let request = decode_request(&frame(&mut self.socket, &mut buffer).await?).ok()?;
            let method = request.method(connection.service).ok()?;
            let mut out = BytesMut::new();
            let ends = self.respond(method, request, &mut out);
            self.socket.write_all(&out).await.ok()?;
            if ends {
                return None;
            }
        }
    }

    /// Writes the response; returns `true` if it is the last.
    fn respond(&self, method: Method, request: Request, out: &mut BytesMut) -> bool {
        let id = request.call_id;
        match method {
            Method::ClientMetaGetClusterId => put(
                id,
                &pb::GetClusterIdResponse { cluster_id: Some("fake".to_string()) },
                &[],
                out,
            ),
            Method::ClientMetaGetMetaRegionLocations => {
                let region_info =
                    halite_wire::convert::region::to_proto(&halite_wire::convert::region::meta());
                let location = pb::RegionLocation {
                    region_info,
                    server_name: Some(self.server_name()),
                    seq_num: -1,
                };
                put(
                    id,
                    &pb::GetMetaRegionLocationsResponse { meta_locations: vec![location] },
                    &[],
                    out,
                );
            }
            Method::ClientMetaGetActiveMaster => put(
                id,
                &pb::GetActiveMasterResponse { server_name: Some(self.server_name()) },
                &[],
                out,
            ),
            Method::ClientScan if is_for_meta(method, &request) => {
                *self.lookups.lock().unwrap() += 1;
                put_rows(id, &[self.region_row()], pb::ScanResponse::default(), out);
            }
            Method::ClientGet if is_for_meta(method, &request) => {
                put(
                    id,
                    &pb::GetResponse { result: Some(counted(&state_row())) },
                    &[state_row().cells().clone()],
                    out,
                );
            }
            method => {
                let before = {
                    let mut calls = self.calls.lock().unwrap();
                    calls.push(method);
                    calls.iter().filter(|called| **called == method).count() - 1
                };
                return reply(
                    (self.script)(&ReceivedCall { method, before, request }),
                    method,
                    id,
                    out,
                );
            }
        }
        false
    }

    fn server_name(&self) -> pb::ServerName {
        pb::ServerName {
            host_name: self.own.ip().to_string(),
            port: Some(self.own.port().into()),
            start_code: Some(1),
        }
    }

    fn region_row(&self) -> Row {
        let (info, address, one) = (
            pb::magic::with_magic(&self.region),
            self.region_address.to_string(),
            1u64.to_be_bytes(),
        );
        row(
            "t,,7.",
            &[
                ("info", "regioninfo", &info),
                ("info", "server", address.as_bytes()),
                ("info", "serverstartcode", &one),
            ],
        )
    }
}

fn reply(reply: Reply, method: Method, id: u32, out: &mut BytesMut) -> bool {
    match reply {
        Reply::Rows(rows, response) if method == Method::ClientScan => {
            put_rows(id, &rows, response, out);
        }
        Reply::Rows(rows, _) => {
            let row = rows.into_iter().next().unwrap_or_default();
            let result = Some(counted(&row));
            if method == Method::ClientGet {
                put(id, &pb::GetResponse { result }, &[row.cells().clone()], out);
            } else {
                put(
                    id,
                    &pb::MutateResponse {
                        result,
                        processed: Some(true),
                        ..pb::MutateResponse::default()
                    },
                    &[row.cells().clone()],
                    out,
                );
            }
        }
        Reply::Bare(rows, response) => rpc::put_rows(id, &rows, response, out),
        Reply::Exception(exception) => encode_exception(id, &exception, out),
        Reply::Fatal(exception) => {
            encode_exception(CONNECTION_CALL_ID, &exception, out);
            return true;
        }
        Reply::Silence => {}
        Reply::Raw(bytes) => {
            out.extend_from_slice(&bytes);
            return true;
        }
    }
    false
}

fn put_rows(id: u32, rows: &[Row], response: pb::ScanResponse, out: &mut BytesMut) {
    let mut response = pb::ScanResponse {
        scanner_id: Some(response.scanner_id.unwrap_or(9)),
        more_results: response.more_results.or(Some(true)),
        ..response
    };
    response.more_results_in_region.get_or_insert(false);
    rpc::put_rows(id, rows, response, out);
}

fn is_for_meta(method: Method, request: &Request) -> bool {
    let region = match method {
        Method::ClientScan => request.message::<pb::ScanRequest>().unwrap().region,
        Method::ClientGet => Some(request.message::<pb::GetRequest>().unwrap().region),
        _ => None,
    };
    region.is_some_and(|region| region.value == "hbase:meta,,1")
}

/// Returns the row of the table `t`, which is enabled.
fn state_row() -> Row {
    row("t", &[("table", "state", &[8, 0])])
}

/// Returns a row with these columns.
pub(crate) fn row(key: &str, columns: &[(&str, &str, &[u8])]) -> Row {
    rpc::row(key.as_bytes(), columns)
}
