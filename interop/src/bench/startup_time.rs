//! Time from starting the program until it has answered the first Get.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use halite_wire::proto as pb;
use halite_wire::rpc::{
    Auth, FrameStatus, RequestOptions, RpcLimits, decode_response, encode_connection,
    encode_request, next_frame,
};
use halite_wire::service::{ClientGet, Service};

use super::table::median;
use crate::Result;
use crate::clients::child;
use crate::clients::server::free_ports;

const LIMIT: Duration = Duration::from_secs(30);
/// Interval between attempts to connect.
const PAUSE: Duration = Duration::from_millis(1);

/// Starts the server on existing data several times, and prints the median.
pub(super) fn report(halite: &Path, data: &Path, work: &Path, runs: usize) -> Result<()> {
    let Some(region) = some_region(data)? else {
        return Err(format!("no table in {}", data.display()));
    };
    let times = (0..runs.max(3))
        .map(|_| measure_once(halite, data, work, &region))
        .collect::<Result<Vec<_>>>()?;
    let milliseconds = median(times.iter().map(|time| time.as_secs_f64() * 1e3));
    println!(
        "\nfrom program start to the first answered get, with this data: {milliseconds:.0} ms (at \
         most 150)"
    );
    Ok(())
}

/// Returns the name of a region of the filled table.
fn some_region(data: &Path) -> Result<Option<Vec<u8>>> {
    let failed = |error: halite::Error| format!("{}: {error}", data.display());
    let store = halite::open(data).map_err(failed)?;
    let regions = store.table("TestTable").and_then(|table| table.regions()).map_err(failed)?;
    let name = regions.first().map(|region| region.encoded_name.as_bytes().to_vec());
    store.close().map_err(failed)?;
    Ok(name)
}

fn measure_once(halite: &Path, data: &Path, work: &Path, region: &[u8]) -> Result<Duration> {
    let [master, region_port, zookeeper] = free_ports()?;
    let mut command = Command::new(halite);
    command.arg("serve").arg("--data").arg(data).args([
        "--master-port",
        &master.to_string(),
        "--regionserver-port",
        &region_port.to_string(),
    ]);
    command.args(["--zookeeper-port", &zookeeper.to_string(), "--http-port", "0"]);
    let question = get_request(region)?;
    let start = Instant::now();
    let mut server = child::start(&mut command, &work.join("start.log"))?;
    let answered = loop {
        match TcpStream::connect(("127.0.0.1", region_port)) {
            Ok(stream) => break send_request(stream, &question).map(|()| start.elapsed()),
            Err(_) if start.elapsed() < LIMIT => std::thread::sleep(PAUSE),
            Err(error) => break Err(format!("the server did not start: {error}")),
        }
    };
    child::kill(&mut server);
    answered
}

fn get_request(region: &[u8]) -> Result<Vec<u8>> {
    let header = pb::ConnectionHeader {
        user_info: Some(pb::UserInformation {
            effective_user: "bench".to_string(),
            real_user: None,
        }),
        service_name: Some(Service::Client.name().to_string()),
        ..Default::default()
    };
    let region = pb::RegionSpecifier {
        r#type: pb::region_specifier::RegionSpecifierType::EncodedRegionName.into(),
        value: region.to_vec().into(),
    };
    let get = pb::GetRequest {
        region,
        get: pb::Get { row: "00000000000000000000000001".into(), ..Default::default() },
    };
    let mut out = bytes::BytesMut::new();
    let failed = |error: halite::Error| error.to_string();
    encode_connection(Auth::Simple, &header, &mut out).map_err(failed)?;
    encode_request::<ClientGet>(1, &get, RequestOptions::default(), None, &mut out)
        .map_err(failed)?;
    Ok(out.to_vec())
}

fn send_request(mut stream: TcpStream, question: &[u8]) -> Result<()> {
    let failed = |error: std::io::Error| format!("sending the request: {error}");
    stream.set_read_timeout(Some(LIMIT)).map_err(failed)?;
    stream.write_all(question).map_err(failed)?;
    let mut received = bytes::BytesMut::new();
    let mut part = [0; 4096];
    loop {
        match next_frame(&mut received, &RpcLimits::default()).map_err(|fault| fault.to_string())? {
            FrameStatus::Frame(frame) => {
                let response = decode_response(&frame).map_err(|fault| fault.to_string())?;
                return response
                    .result
                    .map(|_| ())
                    .map_err(|exception| format!("the first get failed: {exception:?}"));
            }
            _ => match stream.read(&mut part).map_err(failed)? {
                0 => return Err("the server closed the connection".to_string()),
                read => received.extend_from_slice(&part[..read]),
            },
        }
    }
}
