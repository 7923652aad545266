//! Verifier of a password: `SCRAM-SHA-256$4096:salt$StoredKey:ServerKey`, as PostgreSQL keeps it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::digest::{Digest, hmac, pbkdf2, random, sha256};

/// Rounds of a new verifier, as PostgreSQL's.
const ITERATIONS: u32 = 4096;
/// Rounds that a verifier may have; the client computes them.
const MAX_ITERATIONS: u32 = 10_000_000;
const SALT_BYTES: usize = 16;
const MAX_SALT_BYTES: usize = 1024;
const PREFIX: &str = "SCRAM-SHA-256$";

/// What checks a password, and from which it cannot be computed.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    pub(super) stored_key: Digest,
    pub(super) server_key: Digest,
}

impl Verifier {
    /// Makes the verifier of a password, with a new salt.
    ///
    /// # Errors
    /// An empty password, one over 1,000 bytes, one that is not printable ASCII (clients bring
    /// other text into a form of their own first), a system without randomness.
    pub fn of_password(password: &str) -> Result<Self, String> {
        let salt: [u8; SALT_BYTES] = random()?;
        Self::with_salt(password, &salt, ITERATIONS)
    }

    pub(super) fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Result<Self, String> {
        if !(1..=1000).contains(&password.len()) {
            return Err("a password has 1 to 1,000 letters".to_owned());
        }
        if !password.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return Err("a password consists of printable ASCII letters".to_owned());
        }
        let salted = pbkdf2(password.as_bytes(), salt, iterations);
        let client_key = hmac(&salted, &[b"Client Key"]);
        Ok(Self {
            iterations,
            salt: salt.to_vec(),
            stored_key: sha256(&client_key),
            server_key: hmac(&salted, &[b"Server Key"]),
        })
    }

    /// Makes a verifier that no password fits, the same for the same name.
    pub(super) fn mock(key: &Digest, name: &str) -> Self {
        let of = |what: &[u8]| hmac(key, &[what, name.as_bytes()]);
        Self {
            iterations: ITERATIONS,
            salt: of(b"salt")[..SALT_BYTES].to_vec(),
            // Bytes whose digest this is are not known.
            stored_key: of(b"stored"),
            server_key: of(b"server"),
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| BASE64.encode(bytes);
        write!(
            out,
            "{PREFIX}{}:{}${}:{}",
            self.iterations,
            text(&self.salt),
            text(&self.stored_key),
            text(&self.server_key)
        )
    }
}

impl FromStr for Verifier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "its verifier is not SCRAM-SHA-256$ROUNDS:SALT$KEY:KEY".to_owned();
        let rest = text.strip_prefix(PREFIX).ok_or_else(wrong)?;
        let (salted, keys) = rest.split_once('$').ok_or_else(wrong)?;
        let (iterations, salt) = salted.split_once(':').ok_or_else(wrong)?;
        let (stored, server) = keys.split_once(':').ok_or_else(wrong)?;
        let digest = |text: &str| -> Option<Digest> { BASE64.decode(text).ok()?.try_into().ok() };
        let iterations = iterations.parse().ok().filter(|rounds| *rounds <= MAX_ITERATIONS);
        let salt = BASE64.decode(salt).ok().filter(|salt| salt.len() <= MAX_SALT_BYTES);
        match (iterations, salt, digest(stored), digest(server)) {
            (Some(iterations @ 1..), Some(salt), Some(stored_key), Some(server_key)) => {
                Ok(Self { iterations, salt, stored_key, server_key })
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back() {
        let verifier = Verifier::of_password("secret").unwrap();
        assert_eq!(verifier.to_string().parse(), Ok(verifier.clone()));
        let other = Verifier::of_password("secret").unwrap();
        assert_ne!(verifier, other, "each has a salt of its own");
        assert!(!format!("{verifier:?}").contains(&BASE64.encode(verifier.stored_key)));
    }

    #[test]
    fn wrong_texts_and_passwords_are_refused() {
        let good = Verifier::of_password("secret").unwrap().to_string();
        for text in [
            String::new(),
            good.replace("SCRAM-SHA-256", "SCRAM-SHA-1"),
            good.replace("$4096:", "$0:"),
            good.replace("$4096:", "$4000000000:"),
            good[..good.len() - 4].to_owned(),
            format!("{good}="),
        ] {
            assert!(text.parse::<Verifier>().is_err(), "{text}");
        }
        assert!(Verifier::of_password("").is_err());
        assert!(Verifier::of_password("p\u{e4}ss").is_err());
        assert!(Verifier::of_password(&"x".repeat(1001)).is_err());
    }
}
