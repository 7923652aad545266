//! What a server answers, and what it says unasked.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::EVENT_XID;
use super::jute::{Reader, put_buffer, put_packet, put_string, put_strings};

/// Why a request was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

impl Code {
    /// The server has lost the others.
    pub const CONNECTION_LOSS: Self = Self(-4);
    /// The server does not do this.
    pub const UNIMPLEMENTED: Self = Self(-6);
    /// The arguments make no sense.
    pub const BAD_ARGUMENTS: Self = Self(-8);
    /// There is no such znode.
    pub const NO_NODE: Self = Self(-101);
    /// There is such a znode already.
    pub const NODE_EXISTS: Self = Self(-110);
    /// The server only answers questions.
    pub const NOT_READ_ONLY: Self = Self(-119);
    /// The server cannot do it now.
    pub const SYSTEM_ERROR: Self = Self(-1);
    /// The znode's data has been set more often, or less.
    pub const BAD_VERSION: Self = Self(-103);
    /// A znode that ends with its session has nothing below it.
    pub const NO_CHILDREN_FOR_EPHEMERALS: Self = Self(-108);
    /// There is something below the znode.
    pub const NOT_EMPTY: Self = Self(-111);
    /// There are too many znodes, or their data is too much.
    pub const QUOTA_EXCEEDED: Self = Self(-125);
    /// The session is gone.
    pub const SESSION_EXPIRED: Self = Self(-112);
}

/// The facts about a znode, 68 bytes. No HBase client looks at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The change that created it.
    pub czxid: i64,
    /// The change that last set its data.
    pub mzxid: i64,
    /// When it was created, milliseconds since the epoch.
    pub ctime: i64,
    /// When its data was last set, milliseconds since the epoch.
    pub mtime: i64,
    /// How often its data was set.
    pub version: i32,
    /// How often its children changed.
    pub cversion: i32,
    /// How often its access list changed.
    pub aversion: i32,
    /// The session it ends with; 0 for none.
    pub ephemeral_owner: i64,
    /// Bytes of its data.
    pub data_length: i32,
    /// Number of its children.
    pub num_children: i32,
    /// The change that last changed its children.
    pub pzxid: i64,
}

impl Stat {
    fn put(&self, out: &mut BytesMut) {
        [self.czxid, self.mzxid, self.ctime, self.mtime].into_iter().for_each(|field| out.put_i64(field));
        [self.version, self.cversion, self.aversion].into_iter().for_each(|field| out.put_i32(field));
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

/// The answer to a request that was served; [`Request`](super::Request) says which one belongs to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing but that it was served.
    Empty,
    /// The facts about a znode.
    Stat(Stat),
    /// What a znode holds.
    Data(Bytes, Stat),
    /// The names below a znode.
    Children(Vec<String>),
    /// The names below a znode and the facts about it.
    ChildrenAndStat(Vec<String>, Stat),
    /// The path that was asked for.
    Path(String),
    /// The path of a new znode and the facts about it.
    PathAndStat(String, Stat),
    /// That everybody may read the znode and nothing else, and the facts about it.
    OpenAcl(Stat),
}

/// The permission to read in an access list.
const READ_PERMISSION: i32 = 1;

/// Appends the packet of an answer. `zxid` is the newest change the server knows.
pub fn encode_reply(xid: i32, zxid: i64, reply: Result<&Reply, Code>, out: &mut BytesMut) {
    put_packet(out, |out| {
        out.put_i32(xid);
        out.put_i64(zxid);
        out.put_i32(reply.err().map_or(0, |Code(code)| code));
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

/// What comes from a server once a session is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A watched znode changed.
    Event(WatchEvent),
    /// The answer to a request.
    Reply {
        /// Whose answer it is.
        xid: i32,
        /// The newest change the server knows.
        zxid: i64,
        /// The answer; who asked knows how to read it.
        result: Result<ReplyBody, Code>,
    },
}

/// Reads a packet of a server.
///
/// # Errors
/// `InvalidRequest` if it ends too early.
pub fn decode_reply(packet: &Bytes) -> Result<Incoming> {
    let mut reader = Reader::new(packet);
    let (xid, zxid, code) = (reader.i32()?, reader.i64()?, reader.i32()?);
    if xid == EVENT_XID {
        return WatchEvent::read(&mut reader).map(Incoming::Event);
    }
    let result = if code == 0 { Ok(ReplyBody(reader.rest())) } else { Err(Code(code)) };
    Ok(Incoming::Reply { xid, zxid, result })
}

/// The body of an answer, to be read by who knows the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyBody(Bytes);

impl ReplyBody {
    /// The answer to `exists`.
    ///
    /// # Errors
    /// `InvalidRequest` if it ends too early; so for the others.
    pub fn stat(&self) -> Result<Stat> {
        Stat::read(&mut Reader::new(&self.0))
    }

    /// The answer to `getData`; the data shares the packet.
    pub fn data(&self) -> Result<(Bytes, Stat)> {
        let mut reader = Reader::new(&self.0);
        Ok((reader.buffer()?, Stat::read(&mut reader)?))
    }

    /// The answer to `create`, and the path in that to `create2`.
    pub fn path(&self) -> Result<String> {
        Reader::new(&self.0).string()
    }

    /// The answer to `getChildren`, and the names in that to `getChildren2`.
    pub fn children(&self) -> Result<Vec<String>> {
        Reader::new(&self.0).strings()
    }

    /// The answer to `getChildren2`.
    pub fn children_and_stat(&self) -> Result<(Vec<String>, Stat)> {
        let mut reader = Reader::new(&self.0);
        Ok((reader.strings()?, Stat::read(&mut reader)?))
    }
}

/// What happened to a watched znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchKind {
    /// It is there now.
    Created,
    /// It is gone.
    Deleted,
    /// Its data changed.
    DataChanged,
    /// Names below it came or went.
    ChildrenChanged,
    /// Something else, by its number; -1 is news about the session itself.
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

/// The state of a session that is connected.
const SYNC_CONNECTED: i32 = 3;

/// News about a znode that a client watches; it comes once per watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchEvent {
    /// What happened.
    pub kind: WatchKind,
    /// The znode.
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
