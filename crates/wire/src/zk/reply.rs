//! Responses and unsolicited events of a server.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::EVENT_XID;
use super::jute::{Reader, put_buffer, put_packet, put_string, put_strings};

/// Reason why a request was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i32);

impl ErrorCode {
    /// The server has lost its connection to the others.
    pub const CONNECTION_LOSS: Self = Self(-4);
    /// The server does not implement this.
    pub const UNIMPLEMENTED: Self = Self(-6);
    /// The arguments are invalid.
    pub const BAD_ARGUMENTS: Self = Self(-8);
    /// The znode does not exist.
    pub const NO_NODE: Self = Self(-101);
    /// The znode already exists.
    pub const NODE_EXISTS: Self = Self(-110);
    /// The server is read-only.
    pub const NOT_READ_ONLY: Self = Self(-119);
    /// The server cannot process the request now.
    pub const SYSTEM_ERROR: Self = Self(-1);
    /// The version of the znode's data is different.
    pub const BAD_VERSION: Self = Self(-103);
    /// An ephemeral znode cannot have children.
    pub const NO_CHILDREN_FOR_EPHEMERALS: Self = Self(-108);
    /// The znode has children.
    pub const NOT_EMPTY: Self = Self(-111);
    /// There are too many znodes, or their data is too large.
    pub const QUOTA_EXCEEDED: Self = Self(-125);
    /// The session no longer exists.
    pub const SESSION_EXPIRED: Self = Self(-112);
}

/// Metadata of a znode, 68 bytes. No HBase client examines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Transaction that created it.
    pub czxid: i64,
    /// Transaction that last set its data.
    pub mzxid: i64,
    /// Creation time in milliseconds since the epoch.
    pub ctime: i64,
    /// Time at which its data was last set, in milliseconds since the epoch.
    pub mtime: i64,
    /// Number of changes to its data.
    pub version: i32,
    /// Number of changes to its children.
    pub cversion: i32,
    /// Number of changes to its access list.
    pub aversion: i32,
    /// Session that owns an ephemeral znode; 0 for none.
    pub ephemeral_owner: i64,
    /// Bytes of its data.
    pub data_length: i32,
    /// Number of its children.
    pub num_children: i32,
    /// Transaction that last changed its children.
    pub pzxid: i64,
}

impl Stat {
    fn put(&self, out: &mut BytesMut) {
        [self.czxid, self.mzxid, self.ctime, self.mtime]
            .into_iter()
            .for_each(|field| out.put_i64(field));
        [self.version, self.cversion, self.aversion]
            .into_iter()
            .for_each(|field| out.put_i32(field));
        out.put_i64(self.ephemeral_owner);
        out.put_i32(self.data_length);
        out.put_i32(self.num_children);
        out.put_i64(self.pzxid);
    }

    fn read(reader: &mut Reader) -> Result<Self> {
        Ok(Self {
            czxid: reader.i64()?,
            mzxid: reader.i64()?,
            ctime: reader.i64()?,
            mtime: reader.i64()?,
            version: reader.i32()?,
            cversion: reader.i32()?,
            aversion: reader.i32()?,
            ephemeral_owner: reader.i64()?,
            data_length: reader.i32()?,
            num_children: reader.i32()?,
            pzxid: reader.i64()?,
        })
    }
}

/// Response to a request that was served; [`Request`](super::Request) documents which one belongs
/// to each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Success without content.
    Empty,
    /// Metadata of a znode.
    Stat(Stat),
    /// Data of a znode and its metadata.
    Data(Bytes, Stat),
    /// Names of a znode's children.
    Children(Vec<String>),
    /// Names of a znode's children and its metadata.
    ChildrenAndStat(Vec<String>, Stat),
    /// Requested path.
    Path(String),
    /// Path of a new znode and its metadata.
    PathAndStat(String, Stat),
    /// Access list under which all clients may only read the znode, and its metadata.
    OpenAcl(Stat),
}

/// Read permission in an access list.
const READ_PERMISSION: i32 = 1;

/// Appends the packet of a response. `zxid` is the newest transaction known to the server.
pub fn encode_reply(xid: i32, zxid: i64, reply: Result<&Reply, ErrorCode>, out: &mut BytesMut) {
    put_packet(out, |out| {
        out.put_i32(xid);
        out.put_i64(zxid);
        out.put_i32(reply.err().map_or(0, |ErrorCode(code)| code));
        match reply {
            Err(_) | Ok(Reply::Empty) => {}
            Ok(Reply::Stat(stat)) => stat.put(out),
            Ok(Reply::Data(data, stat)) => {
                put_buffer(out, data);
                stat.put(out);
            }
            Ok(Reply::Children(names)) => put_strings(out, names),
            Ok(Reply::ChildrenAndStat(names, stat)) => {
                put_strings(out, names);
                stat.put(out);
            }
            Ok(Reply::Path(path)) => put_string(out, path),
            Ok(Reply::PathAndStat(path, stat)) => {
                put_string(out, path);
                stat.put(out);
            }
            Ok(Reply::OpenAcl(stat)) => {
                out.put_i32(1);
                out.put_i32(READ_PERMISSION);
                put_string(out, "world");
                put_string(out, "anyone");
                stat.put(out);
            }
        }
    });
}

/// Packet from a server in an open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerPacket {
    /// A watched znode changed.
    Event(WatchEvent),
    /// Response to a request.
    Reply {
        /// Xid of the request.
        xid: i32,
        /// Newest transaction known to the server.
        zxid: i64,
        /// Body or error; the requester knows its type.
        result: Result<ReplyBody, ErrorCode>,
    },
}

/// Decodes a packet of a server.
///
/// # Errors
/// `InvalidRequest` if it ends too early.
pub fn decode_reply(packet: &Bytes) -> Result<ServerPacket> {
    let mut reader = Reader::new(packet);
    let (xid, zxid, code) = (reader.i32()?, reader.i64()?, reader.i32()?);
    if xid == EVENT_XID {
        return WatchEvent::read(&mut reader).map(ServerPacket::Event);
    }
    let result = if code == 0 { Ok(ReplyBody(reader.rest())) } else { Err(ErrorCode(code)) };
    Ok(ServerPacket::Reply { xid, zxid, result })
}

/// Body of a response; its type depends on the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyBody(Bytes);

impl ReplyBody {
    /// Returns the answer to `exists`.
    ///
    /// # Errors
    /// `InvalidRequest` if it ends too early; the same applies to the other methods.
    pub fn stat(&self) -> Result<Stat> {
        Stat::read(&mut Reader::new(&self.0))
    }

    /// Returns the answer to `getData`; the data shares the packet.
    pub fn data(&self) -> Result<(Bytes, Stat)> {
        let mut reader = Reader::new(&self.0);
        Ok((reader.buffer()?, Stat::read(&mut reader)?))
    }

    /// Returns the answer to `create`, and the path in that to `create2`.
    pub fn path(&self) -> Result<String> {
        Reader::new(&self.0).string()
    }

    /// Returns the answer to `getChildren`, and the names in that to `getChildren2`.
    pub fn children(&self) -> Result<Vec<String>> {
        Reader::new(&self.0).strings()
    }

    /// Returns the answer to `getChildren2`.
    pub fn children_and_stat(&self) -> Result<(Vec<String>, Stat)> {
        let mut reader = Reader::new(&self.0);
        Ok((reader.strings()?, Stat::read(&mut reader)?))
    }
}

/// Type of change to a watched znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// Its data changed.
    DataChanged,
    /// Its children changed.
    ChildrenChanged,
    /// Another number; -1 is an event of the session itself.
    Other(i32),
}

impl WatchKind {
    fn code(self) -> i32 {
        match self {
            Self::Created => 1,
            Self::Deleted => 2,
            Self::DataChanged => 3,
            Self::ChildrenChanged => 4,
            Self::Other(code) => code,
        }
    }

    fn from_code(code: i32) -> Self {
        let known = [Self::Created, Self::Deleted, Self::DataChanged, Self::ChildrenChanged];
        known.into_iter().find(|kind| kind.code() == code).unwrap_or(Self::Other(code))
    }
}

/// State of a connected session.
const SYNC_CONNECTED: i32 = 3;

/// Event of a znode that a client watches; sent once per watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// Type of change.
    pub kind: WatchKind,
    /// Path of the znode.
    pub path: String,
}

impl WatchEvent {
    /// Appends the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        put_packet(out, |out| {
            out.put_i32(EVENT_XID);
            out.put_i64(-1);
            out.put_i32(0);
            out.put_i32(self.kind.code());
            out.put_i32(SYNC_CONNECTED);
            put_string(out, &self.path);
        });
    }

    fn read(reader: &mut Reader) -> Result<Self> {
        let (kind, _state) = (WatchKind::from_code(reader.i32()?), reader.i32()?);
        Ok(Self { kind, path: reader.string()? })
    }
}
