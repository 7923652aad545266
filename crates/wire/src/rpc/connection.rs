//! The header of a connection for calls: which service, whose calls, what cell blocks look like.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use bytes::{BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};
use prost::Message;

use super::{Auth, Fault, Preamble};
use crate::cellblock::{Codec, Compressor, Format};
use crate::proto as pb;
use crate::service::Service;

/// Bytes of a name in the header. The server keeps that of the user with whatever is done in it.
const NAME_BYTES_MAX: usize = 1 << 10;

/// What a connection header says, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The service of all calls on this connection.
    pub service: Service,
    /// The user the calls are made for, if named.
    pub user: Option<String>,
    /// The user who acts for that one, if another.
    pub real_user: Option<String>,
    /// What cell blocks look like; `None` if the client has no codec and wants cells inside messages.
    pub format: Option<Format>,
    /// Major and minor version of the client, if it says so; only the Java client does.
    pub version: Option<(u32, u32)>,
}

impl Connection {
    /// Understands the header of a connection, the frame behind the preamble.
    ///
    /// # Errors
    /// [`Fault::Close`] for a header that is no header, and for a service, codec or compressor that there is none of; HBase
    /// closes such a connection without a word. The same for a name of more than 1 KiB.
    pub fn decode(header: Bytes) -> Result<Self, Fault> {
        let header = pb::ConnectionHeader::decode(header).map_err(|error| Fault::close(format!("the connection header is damaged: {error}")))?;
        check_names(&header)?;
        let name = header.service_name();
        let service = Service::from_name(name).filter(|service| !service.is_endpoint());
        let service = service.ok_or_else(|| Fault::close(format!("there is no service {name:?}")))?;
        let format = format(&header)?;
        let version = header.version_info.as_ref().and_then(version);
        let (user, real_user) = header.user_info.map_or((None, None), |info| (Some(info.effective_user), info.real_user));
        Ok(Self { service, user, real_user, format, version })
    }

    /// Whether the client's version is at least this one; not if it has not said any.
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.version.is_some_and(|version| version >= (major, minor))
    }
}

fn check_names(header: &pb::ConnectionHeader) -> Result<(), Fault> {
    let user = header.user_info.as_ref();
    let names = [
        ("user", user.map_or("", |user| &user.effective_user)),
        ("real user", user.map_or("", |user| user.real_user())),
        ("service", header.service_name()),
        ("codec", header.cell_block_codec_class()),
        ("compressor", header.cell_block_compressor_class()),
    ];
    match names.into_iter().find(|(_, name)| name.len() > NAME_BYTES_MAX) {
        Some((what, name)) => Err(Fault::close(format!("the name of its {what} has {} bytes, more than {NAME_BYTES_MAX}", name.len()))),
        None => Ok(()),
    }
}

fn format(header: &pb::ConnectionHeader) -> Result<Option<Format>, Fault> {
    let class = header.cell_block_codec_class();
    if class.is_empty() {
        return Ok(None);
    }
    let codec = Codec::from_class(class).ok_or_else(|| Fault::close(format!("there is no codec {class:?}")))?;
    let compressor = match header.cell_block_compressor_class() {
        "" => None,
        class => Some(Compressor::from_class(class).ok_or_else(|| Fault::close(format!("there is no compressor {class:?}")))?),
    };
    Ok(Some(Format { codec, compressor }))
}

/// The numbers if they are there, and otherwise what the text begins with: `2.6.4`.
fn version(info: &pb::VersionInfo) -> Option<(u32, u32)> {
    if let Some(major) = info.version_major {
        return Some((major, info.version_minor()));
    }
    let mut parts = info.version.split(['.', '-']).map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Appends the preamble and the header that begin a connection for calls. No answer comes; calls may follow at once.
///
/// # Errors
/// If the header does not fit a frame.
pub fn encode_connection(auth: Auth, header: &pb::ConnectionHeader, out: &mut BytesMut) -> Result<()> {
    let length = header.encoded_len();
    let Ok(length_field) = i32::try_from(length) else {
        return Err(Error::invalid(format!("a connection header of {length} bytes fits no frame; send fewer attributes")));
    };
    out.reserve(length.saturating_add(16));
    out.put_slice(&Preamble::Calls(auth).encode());
    out.put_i32(length_field);
    header.encode(out).expect("a BytesMut grows as needed");
    Ok(())
}
