//! What a client asks.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::Result;

use super::jute::{Reader, put_bool, put_buffer, put_packet, put_string, put_strings};

/// A request. `watch` asks for an event when the answer would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Whether a znode is there: [`Reply::Stat`](super::Reply::Stat), or `NO_NODE`.
    Exists {
        /// The znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// What a znode holds: [`Reply::Data`](super::Reply::Data).
    GetData {
        /// The znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// The names below a znode: [`Reply::Children`](super::Reply::Children).
    GetChildren {
        /// The znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// The same with the znode's own facts: [`Reply::ChildrenAndStat`](super::Reply::ChildrenAndStat).
    GetChildren2 {
        /// The znode.
        path: String,
        /// See above.
        watch: bool,
    },
    /// Who may do what with a znode: [`Reply::OpenAcl`](super::Reply::OpenAcl).
    GetAcl {
        /// The znode.
        path: String,
    },
    /// To see at least what any other client has seen: [`Reply::Path`](super::Reply::Path).
    Sync {
        /// The znode.
        path: String,
    },
    /// A new znode, in any of four ways: [`Reply::Path`](super::Reply::Path), or
    /// [`Reply::PathAndStat`](super::Reply::PathAndStat) to `create2`. Its access list is not kept.
    Create {
        /// The operation's number.
        operation: i32,
        /// The znode, or its beginning.
        path: String,
        /// What it holds.
        data: Bytes,
        /// 0; 1 for one that ends with the session, 2 for one whose name ends in a number, 3 for both, more for others.
        flags: i32,
    },
    /// The end of a znode: [`Reply::Empty`](super::Reply::Empty).
    Delete {
        /// The znode.
        path: String,
        /// How often its data must have been set; -1 for whatever.
        version: i32,
    },
    /// Other data for a znode: [`Reply::Stat`](super::Reply::Stat).
    SetData {
        /// The znode.
        path: String,
        /// What it shall hold.
        data: Bytes,
        /// As for `Delete`.
        version: i32,
    },
    /// Another access list for a znode, or the end of a container. Only the path is read, enough to refuse it.
    Change {
        /// The operation's number.
        operation: i32,
        /// The znode.
        path: String,
    },
    /// Several operations as one, with a body that is not looked at.
    Multi,
    /// A sign of life: [`Reply::Empty`](super::Reply::Empty).
    Ping,
    /// The end of a session: [`Reply::Empty`](super::Reply::Empty), then the connection is closed.
    CloseSession,
    /// Who the client is: [`Reply::Empty`](super::Reply::Empty).
    Auth {
        /// 0.
        kind: i32,
        /// Such as `digest`.
        scheme: String,
        /// As the scheme wants it.
        auth: Bytes,
    },
    /// The watches that a client had on another connection: [`Reply::Empty`](super::Reply::Empty).
    SetWatches {
        /// The newest change the client has seen.
        relative_zxid: i64,
        /// Znodes whose data is watched.
        data: Vec<String>,
        /// Znodes that are watched until they appear.
        exist: Vec<String>,
        /// Znodes whose children are watched.
        child: Vec<String>,
    },
    /// Anything else, with a body that is not looked at; a server that has none of it answers `UNIMPLEMENTED`.
    Other {
        /// The operation's number.
        operation: i32,
    },
}

/// `create`, `create2`, `createContainer`, `createTTL`.
const CREATE: [i32; 4] = [1, 15, 19, 21];
const DELETE: i32 = 2;
const SET_DATA: i32 = 5;
/// `setACL`, `deleteContainer`.
const CHANGE: [i32; 2] = [7, 20];
const EXISTS: i32 = 3;
const GET_DATA: i32 = 4;
const GET_ACL: i32 = 6;
const GET_CHILDREN: i32 = 8;
const SYNC: i32 = 9;
const PING: i32 = 11;
const GET_CHILDREN_2: i32 = 12;
const MULTI: i32 = 14;
const AUTH: i32 = 100;
const SET_WATCHES: i32 = 101;
const CLOSE_SESSION: i32 = -11;

/// To read, write, create, delete and administer.
const ALL_PERMISSIONS: i32 = 31;

/// Reads a packet of a session that is open: the xid to answer under, and the request.
///
/// # Errors
/// `InvalidRequest` if it ends too early or a path is not text.
pub fn decode_request(packet: &Bytes) -> Result<(i32, Request)> {
    let mut reader = Reader::new(packet);
    let xid = reader.i32()?;
    let request = match reader.i32()? {
        EXISTS => Request::Exists { path: reader.string()?, watch: reader.bool()? },
        GET_DATA => Request::GetData { path: reader.string()?, watch: reader.bool()? },
        GET_CHILDREN => Request::GetChildren { path: reader.string()?, watch: reader.bool()? },
        GET_CHILDREN_2 => Request::GetChildren2 { path: reader.string()?, watch: reader.bool()? },
        GET_ACL => Request::GetAcl { path: reader.string()? },
        SYNC => Request::Sync { path: reader.string()? },
        operation if CREATE.contains(&operation) => {
            let (path, data) = (reader.string()?, reader.buffer()?);
            for _ in 0..reader.i32()?.max(0) {
                // Permissions, scheme, who.
                reader.i32()?;
                reader.string()?;
                reader.string()?;
            }
            Request::Create { operation, path, data, flags: reader.i32()? }
        }
        DELETE => Request::Delete { path: reader.string()?, version: reader.i32()? },
        SET_DATA => Request::SetData { path: reader.string()?, data: reader.buffer()?, version: reader.i32()? },
        operation if CHANGE.contains(&operation) => Request::Change { operation, path: reader.string()? },
        MULTI => Request::Multi,
        PING => Request::Ping,
        CLOSE_SESSION => Request::CloseSession,
        AUTH => Request::Auth { kind: reader.i32()?, scheme: reader.string()?, auth: reader.buffer()? },
        SET_WATCHES => {
            let (relative_zxid, data) = (reader.i64()?, reader.strings()?);
            Request::SetWatches { relative_zxid, data, exist: reader.strings()?, child: reader.strings()? }
        }
        operation => Request::Other { operation },
    };
    Ok((xid, request))
}

/// Appends the packet of a request. Of one whose body is not read, so much is written as is read.
pub fn encode_request(xid: i32, request: &Request, out: &mut BytesMut) {
    put_packet(out, |out| {
        out.put_i32(xid);
        out.put_i32(request.operation());
        match request {
            Request::Exists { path, watch }
            | Request::GetData { path, watch }
            | Request::GetChildren { path, watch }
            | Request::GetChildren2 { path, watch } => {
                put_string(out, path);
                put_bool(out, *watch);
            }
            Request::Auth { kind, scheme, auth } => {
                out.put_i32(*kind);
                put_string(out, scheme);
                put_buffer(out, auth);
            }
            Request::SetWatches { relative_zxid, data, exist, child } => {
                out.put_i64(*relative_zxid);
                [data, exist, child].into_iter().for_each(|paths| put_strings(out, paths));
            }
            Request::Create { path, data, flags, .. } => {
                put_string(out, path);
                put_buffer(out, data);
                // For everybody and everything.
                [1, ALL_PERMISSIONS].into_iter().for_each(|number| out.put_i32(number));
                put_string(out, "world");
                put_string(out, "anyone");
                out.put_i32(*flags);
            }
            Request::Delete { path, version } => {
                put_string(out, path);
                out.put_i32(*version);
            }
            Request::SetData { path, data, version } => {
                put_string(out, path);
                put_buffer(out, data);
                out.put_i32(*version);
            }
            Request::GetAcl { path } | Request::Sync { path } | Request::Change { path, .. } => put_string(out, path),
            Request::Ping | Request::CloseSession | Request::Multi | Request::Other { .. } => {}
        }
    });
}

impl Request {
    /// The operation's number.
    pub fn operation(&self) -> i32 {
        match self {
            Self::Exists { .. } => EXISTS,
            Self::GetData { .. } => GET_DATA,
            Self::GetChildren { .. } => GET_CHILDREN,
            Self::GetChildren2 { .. } => GET_CHILDREN_2,
            Self::GetAcl { .. } => GET_ACL,
            Self::Sync { .. } => SYNC,
            Self::Multi => MULTI,
            Self::Ping => PING,
            Self::CloseSession => CLOSE_SESSION,
            Self::Auth { .. } => AUTH,
            Self::SetWatches { .. } => SET_WATCHES,
            Self::Delete { .. } => DELETE,
            Self::SetData { .. } => SET_DATA,
            Self::Create { operation, .. } | Self::Change { operation, .. } | Self::Other { operation } => *operation,
        }
    }
}
