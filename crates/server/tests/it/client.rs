//! Sequential client that returns decoded responses.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use halite_types::{Cells, Row};
use halite_wire::cellblock::{CellBlockFormat, Compressor};
use halite_wire::exception::{Exception, ExceptionKind};
use halite_wire::proto as pb;
use halite_wire::rpc::{
    Auth, FrameStatus, RequestOptions, Response, ResponseBody, RpcLimits, decode_response,
    encode_connection, encode_request, next_frame,
};
use halite_wire::service::{RpcMethod, Service};

/// Kind of client, which determines the contents of the connection header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A codec and a version.
    Java,
    /// A codec and no version, as gohbase and asynchbase.
    Go,
    /// No codec.
    Plain,
    /// A codec, a version and a compressor.
    Compressed,
}

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    input: BytesMut,
    format: Option<CellBlockFormat>,
    next_id: u32,
}

/// An answer with the cells of its block.
#[derive(Debug)]
pub(crate) struct DecodedResponse<M> {
    pub(crate) message: M,
    /// `None` if there was no cell block.
    pub(crate) cells: Option<Cells>,
}

impl Client {
    /// Opens a connection without sending anything.
    pub(crate) fn silent(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        Self { stream, input: BytesMut::new(), format: None, next_id: 1 }
    }

    /// Returns a connection to `ClientService`.
    pub(crate) fn connect(address: SocketAddr, kind: Kind) -> Self {
        Self::to(address, Service::Client, kind)
    }

    pub(crate) fn to(address: SocketAddr, service: Service, kind: Kind) -> Self {
        let mut client = Self::silent(address);
        client.send(&preamble(service.name(), kind));
        let compressor =
            (kind == Kind::Compressed).then_some(Compressor::from_class(ZLIB).unwrap());
        client.format = (kind != Kind::Plain)
            .then_some(CellBlockFormat { compressor, ..CellBlockFormat::default() });
        client
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends to a server that may have closed the connection; false if it has.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Reads all bytes until the server closes the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = self.input.to_vec();
        match self.stream.read_to_end(&mut rest) {
            Ok(_) => rest,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => rest,
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads exactly `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Returns the next response, for any call; `None` if the server has closed the connection.
    pub(crate) fn response(&mut self) -> Option<Response> {
        loop {
            match next_frame(
                &mut self.input,
                &RpcLimits { max_frame_bytes: i32::MAX as usize, ..RpcLimits::default() },
            )
            .unwrap()
            {
                FrameStatus::Frame(frame) => return Some(decode_response(&frame).unwrap()),
                FrameStatus::Ping | FrameStatus::TooBig(_) => panic!("a server sends neither"),
                FrameStatus::Need(_) => {
                    let mut bytes = [0; 16 << 10];
                    match self.stream.read(&mut bytes) {
                        Ok(0) => return None,
                        Ok(read) => self.input.extend_from_slice(&bytes[..read]),
                        // The server closes a rejected connection without reading the sent bytes.
                        Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }

    /// Sends a call without waiting for the response; returns its id.
    pub(crate) fn send_call<C: RpcMethod>(
        &mut self,
        request: &C::Request,
        cells: &[Cells],
        options: RequestOptions,
    ) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        let block = (!cells.is_empty()).then(|| self.format.unwrap().block(cells).unwrap());
        let mut out = BytesMut::new();
        encode_request::<C>(id, request, options, block.as_ref(), &mut out).unwrap();
        self.send(&out);
        id
    }

    /// Sends the same call many times at once without waiting for the responses.
    pub(crate) fn send_calls<C: RpcMethod>(&mut self, request: &C::Request, count: u32) {
        let mut out = BytesMut::new();
        for id in self.next_id..self.next_id + count {
            encode_request::<C>(id, request, RequestOptions::default(), None, &mut out).unwrap();
        }
        self.next_id += count;
        self.send(&out);
    }

    /// Sends a call without waiting for the response, and retries as long as the server does not
    /// read; returns `false` if the server has closed the connection.
    pub(crate) fn try_send_call<C: RpcMethod>(&mut self, request: &C::Request) -> bool {
        self.stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut out = BytesMut::new();
        encode_request::<C>(1, request, RequestOptions::default(), None, &mut out).unwrap();
        while !out.is_empty() {
            match self.stream.write(&out) {
                Ok(sent) => drop(out.split_to(sent)),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return false,
            }
        }
        true
    }

    pub(crate) fn call<C: RpcMethod>(
        &mut self,
        request: &C::Request,
    ) -> Result<DecodedResponse<C::Response>, Exception> {
        self.call_with::<C>(request, &[], RequestOptions::default())
    }

    pub(crate) fn call_with<C: RpcMethod>(
        &mut self,
        request: &C::Request,
        cells: &[Cells],
        options: RequestOptions,
    ) -> Result<DecodedResponse<C::Response>, Exception> {
        let id = self.send_call::<C>(request, cells, options);
        let response = self.response().expect("an answer");
        assert_eq!(response.call_id, id);
        response.result.map(|answer| self.decode::<C>(&answer))
    }

    pub(crate) fn decode<C: RpcMethod>(
        &self,
        answer: &ResponseBody,
    ) -> DecodedResponse<C::Response> {
        let cells = answer.cells(self.format.unwrap_or_default(), &RpcLimits::default()).unwrap();
        DecodedResponse { message: answer.message().unwrap(), cells }
    }
}

const ZLIB: &str = "org.apache.hadoop.io.compress.DefaultCodec";

/// First bytes that a client of this kind sends.
pub(crate) fn preamble(service: &str, kind: Kind) -> BytesMut {
    preamble_for("root", service, kind)
}

/// Returns the preamble and connection header of a client with this user name.
pub(crate) fn preamble_for(user: &str, service: &str, kind: Kind) -> BytesMut {
    let version = pb::VersionInfo {
        version: "2.6.4".to_owned(),
        url: "url".to_owned(),
        revision: "revision".to_owned(),
        user: "user".to_owned(),
        date: "date".to_owned(),
        src_checksum: "checksum".to_owned(),
        version_major: Some(2),
        version_minor: Some(6),
    };
    let header = pb::ConnectionHeader {
        user_info: Some(pb::UserInformation { effective_user: user.to_owned(), real_user: None }),
        service_name: Some(service.to_owned()),
        cell_block_codec_class: (kind != Kind::Plain)
            .then(|| "org.apache.hadoop.hbase.codec.KeyValueCodec".to_owned()),
        cell_block_compressor_class: (kind == Kind::Compressed).then(|| ZLIB.to_owned()),
        version_info: matches!(kind, Kind::Java | Kind::Compressed).then_some(version),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header, &mut out).unwrap();
    out
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Cells as `row/family:qualifier=value`.
pub(crate) fn format_cells(cells: &Cells) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    cells
        .iter()
        .map(|cell| {
            format!(
                "{}/{}:{}={}",
                text(cell.row()),
                text(cell.family()),
                text(cell.qualifier()),
                text(cell.value())
            )
        })
        .collect()
}

/// Formats rows as `row=value,value`, with `..` after a partial row.
pub(crate) fn format_rows(rows: &[Row]) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let row = |row: &Row| {
        let values: Vec<String> = row.iter().map(|cell| text(cell.value())).collect();
        format!(
            "{}={}{}",
            text(row.key()),
            values.join(","),
            if row.is_partial() { ".." } else { "" }
        )
    };
    rows.iter().map(row).collect()
}

pub(crate) fn exception_kind<T>(result: Result<T, Exception>) -> Option<ExceptionKind> {
    result.err().and_then(|exception| exception.kind())
}

pub(crate) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
