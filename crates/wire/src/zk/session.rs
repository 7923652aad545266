//! The first packet each way.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::jute::{Reader, put_bool, put_buffer, put_packet};

/// What a client begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectRequest {
    /// 0.
    pub protocol_version: i32,
    /// The newest change the client has seen of this session; 0 for a new one.
    pub last_zxid_seen: i64,
    /// How long the session may be silent, in milliseconds, if the client had its way.
    pub timeout_ms: i32,
    /// The session to take up again; 0 for a new one.
    pub session_id: i64,
    /// What proves that the session is the client's; 16 bytes, zeros for a new one.
    pub password: Bytes,
    /// Whether a server that has lost the others will do. `None` if the client does not send the field; gohbase does not,
    /// and then must not get it back.
    pub read_only: Option<bool>,
}

/// What a server answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectResponse {
    /// 0.
    pub protocol_version: i32,
    /// How long the session may be silent, in milliseconds. Not more than 0 says that the session is gone.
    pub timeout_ms: i32,
    /// The session; not 0.
    pub session_id: i64,
    /// What the client has to show to take the session up again, 16 bytes.
    pub password: Bytes,
    /// As the client's field: absent if it was absent.
    pub read_only: Option<bool>,
}

impl ConnectRequest {
    /// Reads the first packet of a client.
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

    /// The answer that opens a session, with the timeout held within what the server allows.
    pub fn accept(&self, session_id: i64, password: Bytes, timeout_ms: std::ops::RangeInclusive<i32>) -> ConnectResponse {
        let timeout_ms = self.timeout_ms.min(*timeout_ms.end()).max(*timeout_ms.start());
        ConnectResponse { protocol_version: 0, timeout_ms, session_id, password, read_only: self.read_only.map(|_| false) }
    }
}

impl ConnectResponse {
    /// Reads the first packet of a server.
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
