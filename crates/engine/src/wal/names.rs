//! Names of the files in the log's directory.
//!
//! ```text
//! <number, 16 digits>.wal                      a segment
//! <number>.<offset>[.<n>].torn                 bytes cut from a segment, retained for the operator
//! <number>.nonces                              nonces of a segment that has been removed
//! <any of these>.new                           being written
//! ```

use halite_types::{Error, Result};

use crate::env::{DirEntry, Env, list_if_exists};

/// Directory of the log.
pub(crate) const DIRECTORY: &str = "halite/wal";
const TEMPORARY: &str = ".new";

/// Returns the path of a segment.
pub(crate) fn segment_path(number: u64) -> String {
    format!("{DIRECTORY}/{number:016}.wal")
}

/// Returns the path of the nonces of a segment that has been removed.
pub(crate) fn nonces_path(number: u64) -> String {
    format!("{DIRECTORY}/{number:016}.nonces")
}

/// Returns the path of bytes that were cut from a segment at `offset`; `copy` distinguishes files
/// of the same segment number and offset.
pub(crate) fn torn_path(number: u64, offset: u64, copy: u32) -> String {
    let copy = if copy == 0 { String::new() } else { format!(".{copy}") };
    format!("{DIRECTORY}/{number:016}.{offset:010}{copy}.torn")
}

/// Returns the path of a file of the log while it is being written.
pub(crate) fn temporary_path(path: &str) -> String {
    format!("{path}{TEMPORARY}")
}

/// Files of the log's directory, each kind in ascending order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) segments: Vec<u64>,
    pub(crate) nonces: Vec<u64>,
    /// Paths and lengths in bytes.
    pub(crate) torn: Vec<(String, u64)>,
    /// Paths of incompletely written files.
    pub(crate) temporary: Vec<String>,
    /// Paths of foreign files, each with its kind.
    pub(crate) foreign: Vec<(String, &'static str)>,
    /// Largest number of a file that is not temporary.
    pub(crate) last_number: u64,
}

impl Listing {
    /// Lists the log's directory.
    ///
    /// # Errors
    /// `Corrupt` for a file that is not the log's.
    pub(crate) fn read(env: &Env) -> Result<Self> {
        let failed = |error| Error::io(format!("listing {}/{DIRECTORY}", env.fs.root()), error);
        let listing = Self::from_entries(env.fs.list(DIRECTORY).map_err(failed)?);
        match listing.foreign.first() {
            Some((path, what)) => Err(Error::corrupt(not_the_logs(env, path, what))),
            None => Ok(listing),
        }
    }

    /// As [`Listing::read`], but includes foreign files, and accepts a missing directory.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn survey(env: &Env) -> Result<Self> {
        list_if_exists(env, DIRECTORY).map(Self::from_entries)
    }

    fn from_entries(entries: Vec<DirEntry>) -> Self {
        let mut listing = Self::default();
        for entry in entries.into_iter().filter(|entry| !entry.name.starts_with('.')) {
            let what = if entry.is_dir { Some("a directory") } else { entry.unexpected };
            if what.is_some() || !listing.add(&entry.name, entry.bytes) {
                listing
                    .foreign
                    .push((format!("{DIRECTORY}/{}", entry.name), what.unwrap_or("another file")));
            }
        }
        listing.segments.sort_unstable();
        listing.nonces.sort_unstable();
        listing.torn.sort_unstable();
        listing
    }

    /// Adds a file. Returns `true` if it belongs to the log.
    fn add(&mut self, name: &str, bytes: u64) -> bool {
        let path = || format!("{DIRECTORY}/{name}");
        if let Some(name) = name.strip_suffix(TEMPORARY) {
            if Self::default().add(name, bytes) {
                self.temporary.push(path());
                return true;
            }
            return false;
        }
        let Some((front, kind)) = name.rsplit_once('.') else { return false };
        let mut parts = front.split('.').map(parse_number);
        let Some(Some(number)) = parts.next() else { return false };
        let more: Option<Vec<u64>> = parts.collect();
        match (kind, more.as_deref()) {
            ("wal", Some([])) if path() == segment_path(number) => self.segments.push(number),
            ("nonces", Some([])) if path() == nonces_path(number) => self.nonces.push(number),
            ("torn", Some([_] | [_, _])) => self.torn.push((path(), bytes)),
            _ => return false,
        }
        self.last_number = self.last_number.max(number);
        true
    }
}

/// Returns the message for a foreign file in the log's directory.
pub(crate) fn not_the_logs(env: &Env, path: &str, what: &str) -> String {
    format!(
        "{}/{path} is not a log segment: it is {what}; move it out of the store's directory",
        env.fs.root()
    )
}

fn parse_number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Writes a file of the log whole and durably, replacing any file of that name. The caller makes
/// the name durable.
pub(crate) fn write_whole(
    env: &Env,
    path: &str,
    parts: impl IntoIterator<Item = Vec<u8>>,
) -> Result<()> {
    let temporary = temporary_path(path);
    let failed = |error| Error::io(format!("writing {}/{path}", env.fs.root()), error);
    if env.fs.kind(&temporary).map_err(failed)?.is_some() {
        env.fs.remove_file(&temporary).map_err(failed)?;
    }
    let write = || {
        let mut file = env.fs.create(&temporary)?;
        for part in parts {
            file.write_all(&part)?;
        }
        file.sync()?;
        drop(file);
        env.fs.rename(&temporary, path)
    };
    write().map_err(|error| {
        // On a full disk the partial file takes needed space.
        let _ = env.fs.remove_file(&temporary);
        failed(error)
    })
}

/// Reads a file of the log.
pub(crate) fn read_whole(env: &Env, path: &str) -> Result<Vec<u8>> {
    let name = format!("{}/{path}", env.fs.root());
    let failed = |error| Error::io(format!("reading {name}"), error);
    let file = env.fs.open(path).map_err(failed)?;
    let too_large =
        || Error::corrupt(format!("{name} is larger than memory; restore the file from a copy"));
    let length = usize::try_from(file.len().map_err(failed)?).map_err(|_| too_large())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| too_large())?;
    bytes.resize(length, 0);
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

/// Makes the names in the log's directory durable.
pub(crate) fn sync_names(env: &Env) -> Result<()> {
    env.fs
        .sync_dir(DIRECTORY)
        .map_err(|error| Error::io(format!("syncing {}/{DIRECTORY}", env.fs.root()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_round_trip_and_others_are_rejected() {
        let name = |path: String| path.rsplit_once('/').unwrap().1.to_owned();
        let mut listing = Listing::default();
        for path in [
            segment_path(3),
            nonces_path(9),
            torn_path(4, 100, 0),
            torn_path(4, 100, 2),
            temporary_path(&segment_path(70)),
        ] {
            assert!(listing.add(&name(path.clone()), 5), "{path}");
        }
        let torn = vec![(torn_path(4, 100, 0), 5), (torn_path(4, 100, 2), 5)];
        let temporary = vec![temporary_path(&segment_path(70))];
        assert_eq!(
            listing,
            Listing {
                segments: vec![3],
                nonces: vec![9],
                torn,
                temporary,
                last_number: 9,
                ..Listing::default()
            }
        );
        for odd in [
            "3.wal",
            "+000000000000003.wal",
            "0000000000000003",
            "x.wal",
            "a.torn",
            "1.torn",
            "1.2.3.4.torn",
            "odd.new",
            "1.2.wal",
        ] {
            assert!(!listing.add(odd, 1), "{odd}");
        }
    }
}
