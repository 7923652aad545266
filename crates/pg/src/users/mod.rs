//! Users: a file with a line for each, and the proof of a password by SCRAM-SHA-256.
//!
//! The server stores no passwords: `verifier.rs` is what it keeps to check one, in the form in
//! which PostgreSQL keeps it, `scram.rs` the exchange of messages, `digest.rs` the functions below
//! both.

mod digest;
mod scram;
mod verifier;

use std::collections::HashMap;

use halite_sql::Access;

pub(crate) use digest::random;
pub(crate) use scram::{Exchange, Refused};
pub use verifier::Verifier;

/// User of the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// What the user may do.
    pub access: Access,
    /// What checks the password.
    pub verifier: Verifier,
}

/// Users by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users {
    users: HashMap<String, User>,
    /// From which the salts of names that no user has are made, so that an exchange does not tell
    /// which names there are.
    mock_key: [u8; 32],
}

impl Users {
    /// Reads the lines of a file: name, role and verifier, with spaces between them. Empty lines
    /// and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// The number of the line that is wrong, and what is right; a file without users.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut users = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, user) = user(line).map_err(|what| format!("line {number}: {what}"))?;
            if users.insert(name.to_owned(), user).is_some() {
                return Err(format!("line {number}: user {name} is there twice"));
            }
        }
        if users.is_empty() {
            return Err(
                "there are no users; `halite pg-user NAME --role ROLE` prints the line of \
                        one"
                .to_owned(),
            );
        }
        Ok(Self { users, mock_key: random()? })
    }

    /// Returns the line of a user.
    ///
    /// # Errors
    /// A name that a line cannot have, a password that [`Verifier::of_password`] refuses.
    pub fn line(name: &str, access: Access, password: &str) -> Result<String, String> {
        if name.is_empty() || name.starts_with('#') || name.contains(char::is_whitespace) {
            return Err(format!(
                "{name:?} is no name of a user: it has no spaces and no leading #"
            ));
        }
        Ok(format!("{name} {} {}", access.name(), Verifier::of_password(password)?))
    }

    /// Returns a user.
    pub(crate) fn get(&self, name: &str) -> Option<&User> {
        self.users.get(name)
    }

    /// Returns the verifier of a name, or one that no password fits for a name that no user has.
    pub(crate) fn verifier(&self, name: &str) -> Verifier {
        match self.users.get(name) {
            Some(user) => user.verifier.clone(),
            None => Verifier::mock(&self.mock_key, name),
        }
    }
}

fn user(line: &str) -> Result<(&str, User), String> {
    let mut parts = line.split_whitespace();
    let (Some(name), Some(role), Some(verifier), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(
            "a line is NAME ROLE VERIFIER; `halite pg-user NAME --role ROLE` prints it".to_owned()
        );
    };
    let access = access(role)
        .ok_or_else(|| format!("there is no role {role}; the roles are read, write and admin"))?;
    let verifier = verifier.parse().map_err(|what| format!("user {name}: {what}"))?;
    Ok((name, User { access, verifier }))
}

/// Returns the role of a name.
pub fn access(role: &str) -> Option<Access> {
    [Access::Read, Access::Write, Access::Admin].into_iter().find(|known| known.name() == role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_back() {
        let line = Users::line("ann", Access::Write, "secret").unwrap();
        let users = Users::parse(&format!("# users\n\n{line}\n")).unwrap();
        assert_eq!(users.get("ann").map(|user| user.access), Some(Access::Write));
        assert_eq!(users.get("bob"), None);
        assert!(Users::line("a b", Access::Read, "secret").is_err());
    }

    #[test]
    fn wrong_lines_are_errors_with_their_number() {
        let line = Users::line("ann", Access::Read, "secret").unwrap();
        let error = |text: &str| Users::parse(text).unwrap_err();
        assert!(error("").contains("no users"));
        assert!(error(&format!("{line}\nann")).starts_with("line 2: a line is"));
        assert!(error(&format!("{line}\n{line}")).contains("user ann is there twice"));
        assert!(error("ann owner SCRAM-SHA-256$1:a$b:c").contains("no role owner"));
        assert!(error("ann read md5abc").contains("line 1: user ann"));
    }

    #[test]
    fn name_without_user_has_the_same_salt_each_time() {
        let line = Users::line("ann", Access::Read, "secret").unwrap();
        let users = Users::parse(&line).unwrap();
        assert_eq!(users.verifier("bob"), users.verifier("bob"));
        assert_ne!(users.verifier("bob"), users.verifier("bobby"));
        assert_eq!(users.verifier("ann"), users.get("ann").unwrap().verifier);
    }
}
