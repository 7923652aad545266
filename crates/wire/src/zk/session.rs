//! First packet in each direction.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::jute::{Reader, put_bool, put_buffer, put_packet};

/// First packet of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectRequest {
    /// Always 0.
    pub protocol_version: i32,
    /// Newest transaction the client has seen of this session; 0 for a new one.
    pub last_zxid_seen: i64,
    /// Requested session timeout in milliseconds.
    pub timeout_ms: i32,
    /// Session to resume; 0 for a new one.
    pub session_id: i64,
    /// Proof that the client owns the session; 16 bytes, zeros for a new one.
    pub password: Bytes,
    /// `true` if a server that has lost the others is acceptable. `None` if the client does not
    /// send the field; gohbase does not, and the response must then omit it.
    pub read_only: Option<bool>,
}

/// First packet of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectResponse {
    /// Always 0.
    pub protocol_version: i32,
    /// Session timeout in milliseconds. A value of 0 or less means that the session no longer
    /// exists.
    pub timeout_ms: i32,
    /// Session id; never 0.
    pub session_id: i64,
    /// Proof that the client sends to resume the session, 16 bytes.
    pub password: Bytes,
    /// Counterpart of the client's field; absent if that was absent.
    pub read_only: Option<bool>,
}

impl ConnectRequest {
    /// Decodes the first packet of a client.
    ///
    /// # Errors
    /// `InvalidRequest` if it ends too early.
    pub fn decode(packet: &Bytes) -> Result<Self> {
        let mut reader = Reader::new(packet);
        Ok(Self {
            protocol_version: reader.i32()?,
            last_zxid_seen: reader.i64()?,
            timeout_ms: reader.i32()?,
            session_id: reader.i64()?,
            password: reader.buffer()?,
            read_only: optional_bool(&mut reader)?,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        put_packet(out, |out| {
            out.put_i32(self.protocol_version);
            out.put_i64(self.last_zxid_seen);
            out.put_i32(self.timeout_ms);
            out.put_i64(self.session_id);
            put_buffer(out, &self.password);
            self.read_only.into_iter().for_each(|read_only| put_bool(out, read_only));
        });
    }

    /// Returns the response that opens a session, with the timeout clamped to the server's limits.
    pub fn accept(
        &self,
        session_id: i64,
        password: Bytes,
        timeout_ms: std::ops::RangeInclusive<i32>,
    ) -> ConnectResponse {
        let timeout_ms = self.timeout_ms.min(*timeout_ms.end()).max(*timeout_ms.start());
        ConnectResponse {
            protocol_version: 0,
            timeout_ms,
            session_id,
            password,
            read_only: self.read_only.map(|_| false),
        }
    }
}

impl ConnectResponse {
    /// Decodes the first packet of a server.
    ///
    /// # Errors
    /// `InvalidRequest` if it ends too early.
    pub fn decode(packet: &Bytes) -> Result<Self> {
        let mut reader = Reader::new(packet);
        Ok(Self {
            protocol_version: reader.i32()?,
            timeout_ms: reader.i32()?,
            session_id: reader.i64()?,
            password: reader.buffer()?,
            read_only: optional_bool(&mut reader)?,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        put_packet(out, |out| {
            out.put_i32(self.protocol_version);
            out.put_i32(self.timeout_ms);
            out.put_i64(self.session_id);
            put_buffer(out, &self.password);
            self.read_only.into_iter().for_each(|read_only| put_bool(out, read_only));
        });
    }
}

fn optional_bool(reader: &mut Reader) -> Result<Option<bool>> {
    if reader.is_at_end() { Ok(None) } else { reader.bool().map(Some) }
}
