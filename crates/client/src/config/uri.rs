//! URI of a cluster, and the addresses in it.

use halite_types::{Error, Result};

use super::RegistryKind;

/// Default port of ZooKeeper (`hbase.zookeeper.property.clientPort`).
pub(super) const ZOOKEEPER_PORT: u16 = 2181;
/// Default port of masters (`hbase.master.port`).
pub(super) const MASTER_PORT: u16 = 16_000;
const ZNODE_PARENT: &str = "/hbase";

/// Host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Parses `host`, `host:port`, `[address]` or `[address]:port`.
    pub(super) fn parse(text: &str, default_port: u16) -> Result<Self> {
        let wrong = || Error::invalid(format!("{text:?} is no place of a server; give host:port"));
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => {
                (host, rest.strip_prefix(':').or((rest.is_empty()).then_some("")))
            }
            None => {
                text.split_once(':').map_or((text, Some("")), |(host, port)| (host, Some(port)))
            }
        };
        let port = match port.ok_or_else(wrong)? {
            "" => default_port,
            digits => digits.parse().map_err(|_| wrong())?,
        };
        if host.is_empty() || host.contains(char::is_whitespace) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_string(), port })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

pub(super) fn parse(uri: &str) -> Result<RegistryKind> {
    let form = "give zk://host:port[,host:port...][/znode], rpc://host:port[,host:port...] or \
                site:PATH of an hbase-site.xml";
    let (scheme, rest) = uri
        .split_once("://")
        .ok_or_else(|| Error::invalid(format!("{uri:?} names no cluster; {form}")))?;
    let (places, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let places: Vec<String> = places.split(',').map(str::to_string).collect();
    match scheme {
        "zk" => {
            places.iter().try_for_each(|place| Address::parse(place, ZOOKEEPER_PORT).map(drop))?;
            let znode_parent =
                if matches!(path, "" | "/") { ZNODE_PARENT } else { path.trim_end_matches('/') };
            Ok(RegistryKind::ZooKeeper { quorum: places, znode_parent: znode_parent.to_string() })
        }
        "rpc" if matches!(path, "" | "/") => {
            places.iter().try_for_each(|place| Address::parse(place, MASTER_PORT).map(drop))?;
            Ok(RegistryKind::Rpc { servers: places })
        }
        "rpc" => Err(Error::invalid(format!(
            "{uri:?}: {path:?} after the servers has no meaning; {form}"
        ))),
        _ => {
            Err(Error::invalid(format!("{uri:?}: {scheme:?} is no way to find a cluster; {form}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zookeeper(quorum: &[&str], parent: &str) -> RegistryKind {
        RegistryKind::ZooKeeper {
            quorum: quorum.iter().map(ToString::to_string).collect(),
            znode_parent: parent.to_string(),
        }
    }

    #[test]
    fn uri_specifies_servers_and_znode_parent() {
        assert_eq!(parse("zk://a:1,b/deep/er").unwrap(), zookeeper(&["a:1", "b"], "/deep/er"));
        assert_eq!(parse("zk://a").unwrap(), zookeeper(&["a"], "/hbase"));
        assert_eq!(parse("zk://[::1]:5/").unwrap(), zookeeper(&["[::1]:5"], "/hbase"));
        assert_eq!(
            parse("rpc://a:1,b:2").unwrap(),
            RegistryKind::Rpc { servers: vec!["a:1".into(), "b:2".into()] }
        );
    }

    #[test]
    fn invalid_uri_error_shows_the_expected_form() {
        for uri in [
            "",
            "a:1",
            "http://a",
            "zk://",
            "zk://a:b",
            "zk://a:1,,b",
            "rpc://a/hbase",
            "rpc://a:70000",
            "zk://[::1]x",
        ] {
            assert!(parse(uri).unwrap_err().message().contains("host:port"), "{uri}");
        }
    }

    #[test]
    fn missing_ports_use_the_default() {
        let parsed = |text| Address::parse(text, 7).unwrap().to_string();
        assert_eq!(
            [parsed("h"), parsed("h:9"), parsed("[::1]"), parsed("[::1]:9")],
            ["h:7", "h:9", "[::1]:7", "[::1]:9"]
        );
    }
}
