//! Embedded store with the port, for one test.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use halite::Store;
use halite_pg::{Config, Limits, Server, ServerHandle};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// Time that a stop may take, so long that a pause of the machine is no reason to reach it.
pub(crate) const PATIENT_STOP: Duration = Duration::from_mins(2);

/// Store in a temporary directory, with the port.
pub(crate) struct Door {
    pub(crate) store: Store,
    pub(crate) runtime: Runtime,
    pub(crate) address: SocketAddr,
    pub(crate) server: Option<ServerHandle>,
    _directory: tempfile::TempDir,
}

impl Door {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::with(Config { limits, ..Config::default() })
    }

    /// Opens the door; its port is any free one.
    pub(crate) fn with(mut config: Config) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = halite::open(directory.path()).expect("an empty store");
        config.address.set_port(0);
        let server = Server::start(store.cluster(), &config).expect("a port");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let address = server.address();
        Self { store, runtime, address, server: Some(server), _directory: directory }
    }

    /// Opens the door to a store with a table of `rows` rows: `n` of 0 and so on, `name` with the
    /// number, `v` with ten times the number.
    pub(crate) fn with_rows(rows: i64) -> Self {
        let door = Self::new();
        door.add_rows(rows);
        door
    }

    /// Like the preceding function, with a server that waits long for statements when it stops: one
    /// that takes longer than [`Self::stop_in_time`] allows has waited in vain.
    pub(crate) fn with_rows_and_patient_stop(rows: i64) -> Self {
        let door = Self::with_limits(Limits { stop: PATIENT_STOP, ..Limits::default() });
        door.add_rows(rows);
        door
    }

    /// Stops a server that waits for [`PATIENT_STOP`], and checks that nothing was left that it
    /// had to wait for.
    pub(crate) fn stop_in_time(&mut self) {
        let server = self.server.take().expect("a server");
        let started = Instant::now();
        server.shutdown();
        assert!(started.elapsed() < PATIENT_STOP / 2, "{:?}", started.elapsed());
    }

    pub(crate) fn add_rows(&self, rows: i64) {
        let client = self.client();
        let create = "CREATE TABLE t (name STRING, v I64, ROW KEY (n I64))";
        self.runtime.block_on(client.batch_execute(create)).expect("a table");
        let table = self.store.table("t").expect("the table");
        let family = self.store.descriptor("t").expect("a table");
        let family = family.families().next().expect("a family").name().clone();
        for n in 0..rows {
            // The key is the number with its sign turned.
            let key = (n.cast_unsigned() ^ (1 << 63)).to_be_bytes();
            let put = halite::Put::new(key.to_vec())
                .add(family.clone(), "name", format!("row {n}"))
                .add(family.clone(), "v", (10 * n).to_be_bytes());
            table.put(put).expect("a row");
        }
    }

    /// Connects a client.
    pub(crate) fn client(&self) -> Client {
        self.try_client("ann", None).expect("a session")
    }

    pub(crate) fn try_client(
        &self,
        user: &str,
        password: Option<&str>,
    ) -> Result<Client, tokio_postgres::Error> {
        self.runtime.block_on(async {
            let mut config = tokio_postgres::Config::new();
            config.host(self.address.ip().to_string()).port(self.address.port());
            config.user(user).dbname("halite");
            if let Some(password) = password {
                config.password(password);
            }
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        })
    }

    /// Returns the rows of statements as text, columns separated by `|`, as a simple query.
    pub(crate) fn rows(&self, client: &Client, text: &str) -> Vec<String> {
        let messages = self.runtime.block_on(client.simple_query(text));
        let messages = messages.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let value = |at| row.get(at).unwrap_or("NULL").to_owned();
                Some((0..row.len()).map(value).collect::<Vec<_>>().join("|"))
            }
            _ => None,
        });
        rows.collect()
    }

    /// Returns the code of the error of a statement.
    pub(crate) fn error(&self, client: &Client, text: &str) -> String {
        let error = self.runtime.block_on(client.simple_query(text));
        code(&error.err().unwrap_or_else(|| panic!("{text}: no error")))
    }
}

/// Returns the code of an error of the server.
pub(crate) fn code(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| format!("{error:?}"), |state| state.code().to_owned())
}

/// Sends a request to cancel a statement, and others much later until it ends: one that comes
/// before the statement begins ends nothing.
pub(crate) async fn cancelled(
    client: &Client,
    statement: &str,
) -> Result<Vec<SimpleQueryMessage>, tokio_postgres::Error> {
    let token = client.cancel_token();
    let mut running = std::pin::pin!(client.simple_query(statement));
    let mut pause = Duration::from_millis(300);
    loop {
        tokio::select! {
            done = &mut running => return done,
            () = tokio::time::sleep(pause) => {
                token.cancel_query(NoTls).await.expect("a request to cancel");
                pause = Duration::from_secs(10);
            }
        }
    }
}
