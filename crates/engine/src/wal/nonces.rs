//! Nonces of removed segments, in a separate file per segment, until they are too old to be sent
//! again.
//!
//! ```text
//! "HALNONCE" | version u32 | store id 16 bytes | number of the segment u64 | time of the newest i64 | count u64
//! | (group u64 | nonce u64) ... | CRC32C u32
//! ```
//! A segment that contains nonces is removed after its nonce file is durable, so a nonce is always
//! in one of the two. Segments without nonces have no such file, and ordinary writes cost nothing.

use halite_types::{Error, Result};

use super::format::{Nonce, SegmentHeader, Write, field};
use super::names::{nonces_path, read_whole, segment_path, sync_names, write_whole};
use super::recovery::RecoveryOptions;
use super::segment::{SegmentBytes, SegmentEnd};
use crate::env::Env;
use crate::options::WalRecovery;

/// Maximum number of retained nonces, the newest: sixteen megabytes.
pub(crate) const MAX_NONCES: usize = 1 << 20;
const MAGIC: &[u8; 8] = b"HALNONCE";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 8 + 4 + 16 + 8 + 8 + 8;
const NONCE_BYTES: usize = 16;
const CRC_BYTES: usize = 4;

/// Nonce file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredNonces {
    /// Number of the segment.
    pub(crate) number: u64,
    /// Time of the newest nonce in it, in milliseconds since 1970.
    pub(crate) newest_ms: i64,
    pub(crate) count: usize,
}

impl StoredNonces {
    /// Returns `true` if all of them are at least `nonce_ms` old. After the clock was set back none
    /// of them is.
    pub(super) fn is_expired(&self, now_ms: i64, nonce_ms: u64) -> bool {
        now_ms
            .checked_sub(self.newest_ms)
            .and_then(|age| u64::try_from(age).ok())
            .is_some_and(|age| age >= nonce_ms)
    }
}

/// Nonce file and its nonces, oldest first.
pub(super) struct LoadedNonces {
    pub(super) stored: StoredNonces,
    pub(super) nonces: Vec<Nonce>,
}

/// Reads the nonces of a segment.
///
/// # Errors
/// `Corrupt`, `NewerFormat`, or the file system's; the text names the file.
pub(super) fn read(env: &Env, store_id: &[u8; 16], number: u64) -> Result<LoadedNonces> {
    let path = nonces_path(number);
    decode(&read_whole(env, &path)?, store_id, number)
        .map_err(|error| error.at(format!("nonces {}/{path}", env.fs.root())))
}

/// Nonce files of a log.
#[derive(Default)]
pub(super) struct NonceFiles {
    /// Files that are needed, oldest first.
    pub(super) needed: Vec<LoadedNonces>,
    /// Numbers of the files that are too old or too many.
    pub(super) old: Vec<u64>,
    /// Numbers of the damaged files, which are skipped.
    pub(super) damaged: Vec<u64>,
}

/// Reads the nonce files of these segments.
///
/// # Errors
/// `Corrupt`, unless damage is to be skipped; `NewerFormat`, or the file system's.
pub(super) fn load(env: &Env, options: &RecoveryOptions, numbers: &[u64]) -> Result<NonceFiles> {
    let mut found = NonceFiles::default();
    let (now, mut count) = (env.clock.now_ms(), 0);
    for &number in numbers.iter().rev() {
        let loaded = match read(env, &options.store_id, number) {
            Err(error)
                if error.kind() == halite_types::ErrorKind::Corrupt
                    && options.mode == WalRecovery::SkipDamaged =>
            {
                found.damaged.push(number);
                continue;
            }
            loaded => loaded?,
        };
        if loaded.stored.is_expired(now, options.nonce_grace_period_ms) || count >= MAX_NONCES {
            found.old.push(number);
        } else {
            count += loaded.stored.count;
            found.needed.push(loaded);
        }
    }
    found.needed.reverse();
    Ok(found)
}

/// Writes the nonces of a closed segment to their file and makes its content and name durable.
///
/// # Errors
/// `Corrupt` if the segment cannot be read whole; the file system's. The segment must not be
/// removed in that case.
pub(super) fn store(
    env: &Env,
    store_id: [u8; 16],
    number: u64,
    newest_ms: i64,
) -> Result<StoredNonces> {
    let path = segment_path(number);
    let bytes = read_whole(env, &path)?;
    let unreadable = || {
        Error::corrupt(format!(
            "log segment {}/{path} cannot be read to keep its nonces; it stays",
            env.fs.root()
        ))
    };
    let (header, format) = SegmentHeader::decode(&bytes).map_err(|_| unreadable())?;
    let mut nonces = Vec::new();
    let end = SegmentBytes::new(&bytes, &header, format, None).read(|write: Write<'_>| {
        nonces.extend(write.nonce);
        Ok::<(), Error>(())
    })?;
    if !matches!(end, SegmentEnd::Whole { .. }) {
        return Err(unreadable());
    }
    let newest = nonces.split_off(nonces.len().saturating_sub(MAX_NONCES));
    write_whole(env, &nonces_path(number), [encode(&store_id, number, newest_ms, &newest)])?;
    sync_names(env)?;
    Ok(StoredNonces { number, newest_ms, count: newest.len() })
}

fn encode(store_id: &[u8; 16], number: u64, newest_ms: i64, nonces: &[Nonce]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + nonces.len() * NONCE_BYTES + CRC_BYTES);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_be_bytes());
    out.extend_from_slice(store_id);
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&newest_ms.to_be_bytes());
    out.extend_from_slice(&(nonces.len() as u64).to_be_bytes());
    for nonce in nonces {
        out.extend_from_slice(&nonce.group.to_be_bytes());
        out.extend_from_slice(&nonce.number.to_be_bytes());
    }
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_be_bytes());
    assert_eq!(
        out.len(),
        HEADER_BYTES + nonces.len() * NONCE_BYTES + CRC_BYTES,
        "a file of nonces has the length that its count states"
    );
    out
}

fn decode(bytes: &[u8], store_id: &[u8; 16], number: u64) -> Result<LoadedNonces> {
    let fix = "restore the file from a copy, or open the store with wal-recovery = skip-damaged to \
               go on without these nonces";
    let damaged = |why: &str| Error::corrupt(format!("{why}; {fix}"));
    let (checked, crc) =
        bytes.split_last_chunk::<CRC_BYTES>().ok_or_else(|| damaged("the file was cut short"))?;
    if crc32c::crc32c(checked) != u32::from_be_bytes(*crc)
        || !checked.starts_with(MAGIC)
        || checked.len() < HEADER_BYTES
    {
        return Err(damaged("the checksum does not match; the file is damaged"));
    }
    let version = u32::from_be_bytes(field(checked, 8));
    if version != VERSION {
        let text = format!(
            "format version {version}; this program reads version {VERSION}; open the store with a \
             newer one"
        );
        return Err(Error::new(halite_types::ErrorKind::NewerFormat, text));
    }
    if field::<16>(checked, 12) != *store_id || u64::from_be_bytes(field(checked, 28)) != number {
        return Err(damaged("the file belongs to another store or has another file's name"));
    }
    let nonces: Vec<Nonce> = checked[HEADER_BYTES..]
        .chunks_exact(NONCE_BYTES)
        .map(|nonce| Nonce {
            group: u64::from_be_bytes(field(nonce, 0)),
            number: u64::from_be_bytes(field(nonce, 8)),
        })
        .collect();
    if u64::from_be_bytes(field(checked, 44)) != nonces.len() as u64 {
        return Err(damaged("the count does not match the length"));
    }
    let newest_ms = i64::from_be_bytes(field(checked, 36));
    Ok(LoadedNonces { stored: StoredNonces { number, newest_ms, count: nonces.len() }, nonces })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_round_trip_unless_damaged_or_truncated() {
        let nonces = [Nonce { group: 1, number: u64::MAX }, Nonce { group: 0, number: 7 }];
        let bytes = encode(&[7; 16], 3, 1000, &nonces);
        let loaded = decode(&bytes, &[7; 16], 3).unwrap();
        assert_eq!(
            (loaded.stored, &loaded.nonces[..]),
            (StoredNonces { number: 3, newest_ms: 1000, count: 2 }, &nonces[..])
        );
        for at in 0..bytes.len() {
            assert!(decode(&bytes[..at], &[7; 16], 3).is_err());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(decode(&flipped, &[7; 16], 3).is_err(), "byte {at}");
        }
        assert!(decode(&bytes, &[8; 16], 3).is_err() && decode(&bytes, &[7; 16], 4).is_err());
    }

    #[test]
    fn nonces_expire_unless_clock_is_set_back() {
        let stored = StoredNonces { number: 1, newest_ms: 1000, count: 1 };
        assert!(
            !stored.is_expired(1099, 100)
                && stored.is_expired(1100, 100)
                && !stored.is_expired(5, 100)
        );
        assert!(stored.is_expired(1000, 0));
    }
}
