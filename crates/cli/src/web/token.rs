//! Secret that a request must contain to change something: from a file, or generated at startup.

use std::io::{ErrorKind, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, ensure};
use halite::key::to_hex;
use halite_web::Token;

/// Bytes of randomness of a generated token.
const TOKEN_BYTES: usize = 24;

/// Returns the token of a file, which is created with a generated one if it does not exist; without
/// a file, what [`default_token`] returns.
///
/// # Errors
/// Returns an error if the file cannot be read or created, or contains no token.
pub(crate) fn choose_token(file: Option<&Path>, listens_on: IpAddr) -> anyhow::Result<WebToken> {
    match file {
        Some(path) => {
            let token = token_of_file(path)
                .with_context(|| format!("the token file {}", path.display()))?;
            Ok(WebToken { token: Some(token), is_generated: false })
        }
        None => default_token(listens_on),
    }
}

/// Token of the page.
#[derive(Clone, Debug)]
pub(crate) struct WebToken {
    /// `None` if nothing can be changed.
    pub(crate) token: Option<Token>,
    /// `true` if the operator must be told what it is.
    pub(crate) is_generated: bool,
}

/// Returns a generated token if only programs of this machine can ask for the page. Others would
/// send it over the network unencrypted, so there the operator decides.
///
/// # Errors
/// Returns an error if the operating system has no random numbers.
fn default_token(listens_on: IpAddr) -> anyhow::Result<WebToken> {
    if !listens_on.to_canonical().is_loopback() {
        return Ok(WebToken { token: None, is_generated: false });
    }
    Ok(WebToken { token: Some(generate()?), is_generated: true })
}

fn token_of_file(path: &Path) -> anyhow::Result<Token> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let mode = std::fs::metadata(path)?.permissions().mode();
            if mode & 0o077 != 0 {
                tracing::warn!(
                    "other users can read or change the token file; close it with: chmod 600 {}",
                    path.display()
                );
            }
            Ok(Token::new(text.trim())?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let token = generate()?;
            let mut file =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            writeln!(file, "{}", token.text())?;
            file.sync_all()?;
            Ok(token)
        }
        Err(error) => Err(error.into()),
    }
}

fn generate() -> anyhow::Result<Token> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("asking for random numbers")?;
    ensure!(filled == bytes.len(), "the operating system returned too few random numbers");
    Ok(Token::new(to_hex(&bytes))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_token_file_is_created_for_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let first = choose_token(Some(&path), "0.0.0.0".parse().unwrap()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = choose_token(Some(&path), "0.0.0.0".parse().unwrap()).unwrap();
        assert_eq!(first.token, again.token);
        assert!(!first.is_generated && first.token.is_some());
        std::fs::write(&path, "short\n").unwrap();
        let error = choose_token(Some(&path), "127.0.0.1".parse().unwrap()).unwrap_err();
        assert!(format!("{error:#}").contains("a token has 16 to 512"), "{error:#}");
    }

    #[test]
    fn token_is_generated_for_loopback_only() {
        let of = |address: &str| default_token(address.parse().unwrap()).unwrap().token;
        let (first, second) = (of("127.0.0.1"), of("::1"));
        assert!(first.is_some() && second.is_some() && first != second);
        assert_eq!((of("0.0.0.0"), of("10.0.0.1")), (None, None));
    }
}
