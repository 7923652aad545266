//! SQL port of `halite serve`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use halite::Store;
use halite::sql::Resources;
pub(super) use halite_pg::ServerHandle;
use halite_pg::{Config, Server, TlsFiles, Users};
use halite_rowkey_tools::lint::TableRules;

use super::config::ServeConfig;
use crate::wrong_arguments::WrongArguments;

/// Starts the port, if it is wanted.
///
/// # Errors
/// Files that cannot be read, an address of other machines without users and TLS, a port in use.
pub(super) fn start(
    store: &Store,
    directory: &Path,
    settings: &ServeConfig,
) -> anyhow::Result<Option<ServerHandle>> {
    let Some(port) = settings.pg.port else { return Ok(None) };
    let pg = &settings.pg;
    let users = match &pg.users {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            let text = text.with_context(|| format!("--pg-users {}", path.display()))?;
            let users = Users::parse(&text)
                .map_err(|what| anyhow!("--pg-users {}: {what}", path.display()));
            Some(users.map_err(WrongArguments)?)
        }
        None => None,
    };
    let tls = match (&pg.certificate, &pg.key) {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
        }
        (None, None) => None,
        _ => {
            let error = anyhow!("--pg-tls-cert and --pg-tls-key go together; give both");
            return Err(WrongArguments(error).into());
        }
    };
    let address = SocketAddr::new(settings.server.listen_addr, port);
    let resources = Resources::of_store(directory);
    let config = Config {
        address,
        users,
        tls,
        resources,
        lint: Some(Arc::new(TableRules)),
        ..Config::default()
    };
    Ok(Some(Server::start(store.cluster(), &config)?))
}
