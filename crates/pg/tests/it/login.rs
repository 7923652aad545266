//! Users, roles and TLS.

use std::sync::Arc;

use halite_pg::{Access, Config, Limits, Server, TlsFiles, Users};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::door::{Door, cancelled, code};
use crate::raw::{Raw, code_of, message, startup};

fn users() -> Users {
    let line =
        |name, access| Users::line(name, access, &format!("secret of {name}")).expect("a line");
    let lines = [line("ann", Access::Admin), line("wil", Access::Write), line("rob", Access::Read)];
    Users::parse(&lines.join("\n")).expect("users")
}

fn door() -> Door {
    Door::with(Config { users: Some(users()), ..Config::default() })
}

#[test]
fn only_the_password_lets_in() {
    let door = door();
    let client = door.try_client("ann", Some("secret of ann")).expect("a session");
    assert_eq!(door.rows(&client, "SELECT current_user"), ["ann"]);
    for (user, password) in [("ann", "secret of rob"), ("ann", ""), ("eve", "secret of eve")] {
        let error = door.try_client(user, Some(password)).expect_err("no session");
        assert_eq!(code(&error), "28P01", "{user}");
    }
    // Without one, the client does not even ask.
    assert!(door.try_client("ann", None).is_err());
}

#[test]
fn roles_decide_what_may_be_run() {
    let door = door();
    let client =
        |user: &str| door.try_client(user, Some(&format!("secret of {user}"))).expect("a session");
    let create = "CREATE TABLE t (v I64, ROW KEY (k I64))";
    for user in ["rob", "wil"] {
        let client = client(user);
        assert_eq!(door.rows(&client, "SELECT 1"), ["1"], "{user}");
        assert_eq!(door.error(&client, create), "42501", "{user}");
    }
    let admin = client("ann");
    door.rows(&admin, create);
    let reader = client("rob");
    assert_eq!(door.rows(&reader, "SELECT count(*) FROM t"), ["0"]);
    assert_eq!(door.error(&reader, "ALTER TABLE t ADOPT ROW KEY (k I32) FORCE"), "42501");
}

#[test]
fn login_that_is_none_is_refused() {
    let door = door();
    let refused = |messages: &[Vec<u8>]| {
        let mut raw = Raw::connect(&door);
        raw.send(&startup(&[("user", "ann")]));
        let (kind, body) = raw.answer().expect("a request");
        assert_eq!((kind, &body[..4]), (b'R', &[0u8, 0, 0, 10][..]));
        // Channel binding is not offered.
        assert_eq!(&body[4..], b"SCRAM-SHA-256\0\0");
        messages.iter().for_each(|message| raw.send(message));
        raw.error_at_end()
    };
    let first = |mechanism: &str, text: &str| {
        let length = u32::try_from(text.len()).expect("a length").to_be_bytes();
        let body = [mechanism.as_bytes(), b"\0", &length, text.as_bytes()].concat();
        message(b'p', &body)
    };
    let protocol = Some("08P01".to_owned());
    assert_eq!(refused(&[message(b'Q', b"SELECT 1\0")]), protocol);
    assert_eq!(refused(&[message(b'p', b"secret of ann\0")]), protocol);
    assert_eq!(refused(&[first("SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=x")]), protocol);
    assert_eq!(refused(&[first("SCRAM-SHA-256", "p=tls-unique,,n=,r=x")]), protocol);
    assert_eq!(refused(&[message(b'p', &vec![b'x'; 100_000])]), protocol);
    let last = message(b'p', b"c=biws,r=x,p=AAAA");
    assert_eq!(refused(&[first("SCRAM-SHA-256", "n,,n=,r=x"), last]), protocol);
    // No statement is run in front of the login.
    let mut raw = Raw::connect(&door);
    raw.send(&[startup(&[("user", "ann")]), message(b'Q', b"SELECT 1\0")].concat());
    assert!(raw.error_at_end().is_some());
    let mut raw = Raw::connect(&door);
    raw.send(&startup(&[("database", "halite")]));
    let (_, body) = raw.answer().expect("an error");
    assert_eq!(code_of(&body).as_deref(), Some("28000"));
}

#[test]
fn admin_and_cancel_come_through_when_all_places_are_taken() {
    let limits = Limits { max_connections: 1, admin_connections: 1, ..Limits::default() };
    let door = Door::with(Config { users: Some(users()), limits, ..Config::default() });
    let client = |user: &str| door.try_client(user, Some(&format!("secret of {user}")));
    let refused = |user: &str| code(&client(user).expect_err("no place"));
    let reader = client("rob").expect("a session");
    let heavy = "SELECT count(*) FROM generate_series(1, 1000000000) AS a, \
                 generate_series(1, 1000)";
    let pid = door.rows(&reader, "SELECT pg_backend_pid()");
    assert_eq!([refused("rob"), refused("wil")], ["53300", "53300"]);
    let done = door.runtime.block_on(cancelled(&reader, heavy));
    assert_eq!(code(&done.expect_err("a cancelled statement")), "57014");
    let admin = client("ann").expect("a place of the admins");
    assert_eq!([refused("wil"), refused("ann")], ["53300", "53300"]);
    let ended = door.rows(&admin, &format!("SELECT pg_terminate_backend({})", pid[0]));
    assert_eq!(ended, ["t"]);
    let started = std::time::Instant::now();
    while client("wil").is_err() {
        assert!(started.elapsed() < std::time::Duration::from_mins(2), "the place stays taken");
    }
}

#[test]
fn other_machines_need_users_and_tls() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = halite::open(directory.path()).expect("an empty store");
    let start = |users: Option<Users>, tls: Option<TlsFiles>| {
        let address = "0.0.0.0:0".parse().expect("an address");
        let config = Config { address, users, tls, ..Config::default() };
        Server::start(store.cluster(), &config)
    };
    for users in [None, Some(users())] {
        let error = start(users, None).expect_err("an open door");
        assert!(error.to_string().contains("--pg-tls-cert"), "{error}");
    }
    // A file that is none does not make it plain text.
    let none = TlsFiles { certificate: "missing.pem".into(), key: "missing.key".into() };
    let error = start(Some(users()), Some(none)).expect_err("no certificate");
    assert!(error.to_string().contains("missing.pem"), "{error}");
}

/// Files of `testdata`: a certificate of localhost that is its own authority, and its key.
fn files() -> TlsFiles {
    let file = |name: &str| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(name)
    };
    TlsFiles { certificate: file("certificate.pem"), key: file("key.pem") }
}

const ASK_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

#[test]
fn session_is_encrypted_on_request() {
    let door = Door::with(Config { tls: Some(files()), ..Config::default() });
    let mut raw = Raw::connect(&door);
    raw.send(&ASK_TLS);
    let mut accepted = [0u8];
    std::io::Read::read_exact(&mut raw.socket, &mut accepted).expect("an answer");
    assert_eq!(accepted, *b"S");
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(files().certificate).expect("a certificate");
    roots.add(certificate).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut raw = Raw { socket: StreamOwned::new(client, raw.socket) };
    raw.send(&startup(&[("user", "ann")]));
    raw.until(b'Z');
    raw.send(&message(b'Q', b"SELECT 42\0"));
    let answers = raw.until(b'Z');
    assert!(answers.iter().any(|(kind, body)| *kind == b'D' && body.ends_with(b"42")));
}

#[test]
fn plain_text_is_refused_on_an_address_of_other_machines() {
    let config = Config {
        address: "0.0.0.0:0".parse().expect("an address"),
        users: Some(users()),
        tls: Some(files()),
        ..Config::default()
    };
    let door = Door::with(config);
    let mut raw = Raw::connect(&door);
    raw.send(&startup(&[("user", "ann")]));
    assert_eq!(raw.error_at_end().as_deref(), Some("28000"));
    // Asking twice is no way around.
    let mut raw = Raw::connect(&door);
    raw.send(&ASK_TLS);
    raw.send(&startup(&[("user", "ann")]));
    assert_ne!(raw.answer().map(|(kind, _)| kind), Some(b'R'));
}

#[test]
fn server_without_certificate_says_no() {
    let door = Door::new();
    let mut raw = Raw::connect(&door);
    raw.send(&ASK_TLS);
    let mut refused = [0u8];
    std::io::Read::read_exact(&mut raw.socket, &mut refused).expect("an answer");
    assert_eq!(refused, *b"N");
    raw.send(&startup(&[("user", "ann")]));
    raw.until(b'Z');
}
