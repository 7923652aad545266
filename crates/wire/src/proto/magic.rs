//! Four bytes before a message that is stored in a cell of meta or in a znode.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use halite_types::{Error, Result};
use prost::Message;

/// Magic: a protobuf message follows.
pub const MAGIC: [u8; 4] = *b"PBUF";

/// Returns a message preceded by the magic.
pub fn with_magic(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::with_capacity(MAGIC.len().saturating_add(message.encoded_len()));
    put_with_magic(message, &mut bytes);
    bytes.freeze()
}

/// Appends the magic and a message.
pub fn put_with_magic(message: &impl Message, out: &mut BytesMut) {
    out.put_slice(&MAGIC);
    message.encode(out).expect("a BytesMut grows as needed");
}

/// Returns the message after the magic; its byte fields share `bytes`.
///
/// # Errors
/// `InvalidRequest` if the magic is missing or no message of this type follows.
pub fn from_magic<M: Message + Default>(mut bytes: Bytes) -> Result<M> {
    if !bytes.starts_with(&MAGIC) {
        return Err(Error::invalid(
            "the value does not begin with PBUF, so it holds no protobuf message",
        ));
    }
    bytes.advance(MAGIC.len());
    M::decode(bytes)
        .map_err(|error| Error::invalid(format!("the message behind PBUF is damaged: {error}")))
}
