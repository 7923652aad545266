//! SCRAM-SHA-256 (RFC 5802, RFC 7677) as PostgreSQL speaks it, without channel binding.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::digest::{Digest, hmac, is_same, random, sha256, xor};
use super::verifier::Verifier;

/// Bytes of a message of the client.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Why an exchange ended without a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The messages are none of the mechanism.
    Protocol(&'static str),
    /// The password is wrong, or there is no such user.
    Password,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(what) => write!(out, "malformed SCRAM message: {what}"),
            Self::Password => out.write_str("the password is wrong, or there is no such user"),
        }
    }
}

/// Exchange that has seen the client's first message.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// What the last message has to repeat of the first: the client's flag.
    header: String,
    first_bare: String,
    server_first: String,
    nonce: String,
}

impl Exchange {
    /// Begins with the client's first message. Returns the exchange and the answer.
    ///
    /// # Errors
    /// A message that is none, or asks for channel binding.
    pub(crate) fn begin(verifier: Verifier, first: &[u8]) -> Result<(Self, String), Refused> {
        let nonce: [u8; 18] = random().map_err(|_| Refused::Protocol("no random bytes"))?;
        Self::begin_with(verifier, first, &BASE64.encode(nonce))
    }

    fn begin_with(
        verifier: Verifier,
        first: &[u8],
        own_nonce: &str,
    ) -> Result<(Self, String), Refused> {
        let first = text(first)?;
        let mut parts = first.splitn(3, ',');
        let (Some(flag), Some(authorization), Some(bare)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(Refused::Protocol("the first message has too few parts"));
        };
        // With y, the client could bind a channel and has not been offered it.
        if flag != "n" && flag != "y" {
            return Err(Refused::Protocol("channel binding is not offered"));
        }
        if !authorization.is_empty() {
            return Err(Refused::Protocol("an identity is not taken"));
        }
        // The name of the user is that of the startup message, as in PostgreSQL.
        let nonce = bare
            .split(',')
            .nth(1)
            .and_then(|part| part.strip_prefix("r="))
            .filter(|nonce| !nonce.is_empty() && bare.starts_with("n="))
            .ok_or(Refused::Protocol("the first message has no nonce"))?;
        let nonce = format!("{nonce}{own_nonce}");
        let (salt, rounds) = (BASE64.encode(&verifier.salt), verifier.iterations);
        let server_first = format!("r={nonce},s={salt},i={rounds}");
        let exchange = Self {
            verifier,
            header: format!("{flag},,"),
            first_bare: bare.to_owned(),
            server_first: server_first.clone(),
            nonce,
        };
        Ok((exchange, server_first))
    }

    /// Ends with the client's last message. Returns the answer, which proves to the client that the
    /// server has the verifier.
    ///
    /// # Errors
    /// `Password` for a proof that is not that of the password.
    pub(crate) fn finish(self, last: &[u8]) -> Result<String, Refused> {
        let last = text(last)?;
        let (without_proof, proof) =
            last.rsplit_once(",p=").ok_or(Refused::Protocol("the last message has no proof"))?;
        let mut parts = without_proof.split(',');
        let binding = parts.next().and_then(|part| part.strip_prefix("c="));
        let nonce = parts.next().and_then(|part| part.strip_prefix("r="));
        if binding != Some(BASE64.encode(&self.header).as_str()) {
            return Err(Refused::Protocol("the last message is not bound to the first"));
        }
        if nonce != Some(self.nonce.as_str()) {
            return Err(Refused::Protocol("the last message has another nonce"));
        }
        // A proof is as long as a digest; bytes after it are not part of it.
        let proof: Digest = BASE64
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or(Refused::Protocol("the proof is not 32 bytes"))?;
        let message = [&self.first_bare, ",", &self.server_first, ",", without_proof].concat();
        let signature = hmac(&self.verifier.stored_key, &[message.as_bytes()]);
        let client_key = xor(&proof, &signature);
        if !is_same(&sha256(&client_key), &self.verifier.stored_key) {
            return Err(Refused::Password);
        }
        let server = hmac(&self.verifier.server_key, &[message.as_bytes()]);
        Ok(format!("v={}", BASE64.encode(server)))
    }
}

fn text(message: &[u8]) -> Result<&str, Refused> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Refused::Protocol("it is too long"));
    }
    std::str::from_utf8(message).map_err(|_| Refused::Protocol("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                        p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    /// The example of RFC 7677, section 3.
    fn example(password: &str) -> (Exchange, String) {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::with_salt(password, &salt, 4096).unwrap();
        Exchange::begin_with(verifier, FIRST.as_bytes(), NONCE).unwrap()
    }

    #[test]
    fn exchange_is_that_of_the_rfc() {
        let (exchange, first) = example("pencil");
        assert_eq!(
            first,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = exchange.finish(LAST.as_bytes());
        assert_eq!(last, Ok("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_owned()));
    }

    #[test]
    fn another_password_is_refused() {
        assert_eq!(example("pencils").0.finish(LAST.as_bytes()), Err(Refused::Password));
    }

    #[test]
    fn proof_is_exactly_as_long_as_a_digest() {
        let (head, proof) = LAST.split_once("p=").unwrap();
        let proof = BASE64.decode(proof).unwrap();
        for other in [&proof[..31], &[proof.as_slice(), b"x"].concat(), &[]] {
            let last = format!("{head}p={}", BASE64.encode(other));
            let refused = example("pencil").0.finish(last.as_bytes());
            assert_eq!(refused, Err(Refused::Protocol("the proof is not 32 bytes")));
        }
    }

    #[test]
    fn messages_that_are_none_are_refused() {
        let verifier = || Verifier::of_password("x").unwrap();
        for first in
            ["", "n,,", "n,,n=u", "n,,n=u,r=", "p=tls-server-end-point,,n=u,r=x", "n,a=b,n=u,r=x"]
        {
            assert!(Exchange::begin(verifier(), first.as_bytes()).is_err(), "{first}");
        }
        assert!(Exchange::begin(verifier(), &[0xff; 10]).is_err());
        assert!(Exchange::begin(verifier(), &vec![b'n'; 5000]).is_err());
        let finish = |last: String| example("pencil").0.finish(last.as_bytes());
        for last in [
            LAST.replace("biws", "eSws"),
            LAST.replace("rOpr", "rOps"),
            LAST.replace(",p=", ",q="),
            String::new(),
        ] {
            assert!(matches!(finish(last.clone()), Err(Refused::Protocol(_))), "{last}");
        }
    }
}
