//! ZooKeeper sessions: an id, a password that proves it, and a timeout.
//!
//! A session owns no ephemeral znodes or watches here, so no session is stored. The password is
//! derived from the id and a secret of the process, and a client that sends both resumes its
//! session. A session of an earlier process counts as expired.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use halite_wire::zk::{ConnectRequest, ConnectResponse};

/// 2 to 20 ticks of 2 seconds, ZooKeeper's own limits.
const TIMEOUT_MS: RangeInclusive<i32> = 4000..=40_000;

/// Issuer of sessions.
pub(super) struct Sessions {
    next: AtomicI64,
    /// Keyed from the operating system's randomness.
    secret: [RandomState; 2],
}

impl Sessions {
    /// Returns an issuer. `start_code` is the start time of the process, in milliseconds since
    /// 1970, so that ids of two processes differ.
    pub(super) fn new(start_code: u64) -> Self {
        let first = i64::try_from(start_code & 0xff_ffff_ffff).unwrap_or(0) << 16;
        Self { next: AtomicI64::new(first | 1), secret: [RandomState::new(), RandomState::new()] }
    }

    /// Returns the response to a client's first packet. A timeout of 0 means that the requested
    /// session has expired; the connection ends then.
    pub(super) fn open(&self, request: &ConnectRequest) -> ConnectResponse {
        if request.session_id == 0 {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            return request.accept(id, self.password(id), TIMEOUT_MS);
        }
        if request.password == self.password(request.session_id) {
            return request.accept(request.session_id, request.password.clone(), TIMEOUT_MS);
        }
        let nothing = Bytes::from_static(&[0; 16]);
        ConnectResponse {
            timeout_ms: 0,
            session_id: 0,
            password: nothing,
            ..request.accept(0, Bytes::new(), TIMEOUT_MS)
        }
    }

    fn password(&self, id: i64) -> Bytes {
        self.secret.iter().flat_map(|secret| secret.hash_one(id).to_be_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect_request(session_id: i64, password: Bytes) -> ConnectRequest {
        ConnectRequest {
            timeout_ms: 90_000,
            session_id,
            password,
            read_only: Some(false),
            ..Default::default()
        }
    }

    #[test]
    fn session_ids_are_unique_and_sessions_resume() {
        let sessions = Sessions::new(1_795_289_608_650);
        let (first, second) = (
            sessions.open(&connect_request(0, Bytes::new())),
            sessions.open(&connect_request(0, Bytes::new())),
        );
        assert!(
            first.session_id > 0 && second.session_id > 0 && first.session_id != second.session_id
        );
        assert_eq!((first.password.len(), first.timeout_ms), (16, 40_000));
        let again = sessions.open(&connect_request(first.session_id, first.password.clone()));
        assert_eq!(again, first);
    }

    #[test]
    fn unverifiable_session_is_reported_expired() {
        let sessions = Sessions::new(1_795_289_608_650);
        let first = sessions.open(&connect_request(0, Bytes::new()));
        let other = Sessions::new(1_795_289_999_999);
        for refused in [
            other.open(&connect_request(first.session_id, first.password.clone())),
            sessions.open(&connect_request(first.session_id + 1, first.password)),
        ] {
            assert_eq!(
                (refused.timeout_ms, refused.session_id, &refused.password[..]),
                (0, 0, &[0; 16][..])
            );
            assert_eq!(refused.read_only, Some(false));
        }
    }
}
