//! `hbase-site.xml`: the HBase settings that this client supports.

use std::collections::BTreeMap;

use halite_types::{Error, Result};
use halite_wire::cellblock::Compressor;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::{Config, RegistryKind, not_supported_yet, uri};

type Properties = BTreeMap<String, String>;

/// Depth of `configuration/property/name` and `.../value`.
const DEPTH: usize = 3;

pub(super) fn config(text: &str) -> Result<Config> {
    let properties = properties(text)?;
    refuse_security(&properties)?;
    let mut config = Config::new(registry_kind(&properties)?);
    let milliseconds: [(&str, &mut u64); 7] = [
        ("hbase.rpc.timeout", &mut config.rpc_timeout_ms),
        ("hbase.client.operation.timeout", &mut config.operation_timeout_ms),
        ("hbase.client.scanner.timeout.period", &mut config.scanner_timeout_ms),
        ("hbase.ipc.client.socket.timeout.connect", &mut config.connect_timeout_ms),
        ("hbase.client.pause", &mut config.pause_ms),
        ("hbase.client.pause.server.overloaded", &mut config.pause_overloaded_ms),
        ("hbase.ipc.client.failed.servers.expiry", &mut config.failed_server_expiry_ms),
    ];
    milliseconds.into_iter().try_for_each(|(name, field)| set(&properties, name, field))?;
    if !properties.contains_key("hbase.client.pause.server.overloaded") {
        config.pause_overloaded_ms = config.pause_ms;
    }
    set(&properties, "hbase.client.retries.number", &mut config.max_retries)?;
    set(&properties, "hbase.client.scanner.caching", &mut config.scanner_caching)?;
    set(&properties, "hbase.client.scanner.max.result.size", &mut config.max_scanner_result_bytes)?;
    set(&properties, "hbase.client.keyvalue.maxsize", &mut config.max_cell_bytes)?;
    set(&properties, "hbase.client.locate.prefetch.limit", &mut config.meta_prefetch)?;
    if let Some(class) =
        properties.get("hbase.client.rpc.compressor").filter(|class| !class.is_empty())
    {
        let unknown = || {
            Error::invalid(format!(
                "hbase.client.rpc.compressor is {class:?}, which is no compressor of cell blocks \
                 here"
            ))
        };
        config.compressor = Some(Compressor::from_class(class).ok_or_else(unknown)?);
    }
    Ok(config)
}

fn set<T: std::str::FromStr>(properties: &Properties, name: &str, field: &mut T) -> Result<()> {
    if let Some(text) = properties.get(name) {
        *field = text.trim().parse().map_err(|_| {
            Error::invalid(format!("{name} is {text:?}; give a whole number that is not negative"))
        })?;
    }
    Ok(())
}

fn refuse_security(properties: &Properties) -> Result<()> {
    let is = |name: &str, value: &str| {
        properties.get(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(value))
    };
    if is("hbase.security.authentication", "kerberos") {
        return Err(not_supported_yet(
            "hbase.security.authentication is kerberos; only clusters with simple authentication \
             can be reached",
        ));
    }
    if is("hbase.client.netty.tls.enabled", "true") {
        return Err(not_supported_yet(
            "hbase.client.netty.tls.enabled is true; reach the cluster without TLS \
             (hbase.server.netty.tls.supportplaintext)",
        ));
    }
    Ok(())
}

fn registry_kind(properties: &Properties) -> Result<RegistryKind> {
    let list = |name: &str| {
        let text = properties.get(name).map(String::as_str).unwrap_or_default();
        text.split(',')
            .map(str::trim)
            .filter(|place| !place.is_empty())
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let registry =
        properties.get("hbase.client.registry.impl").map(String::as_str).unwrap_or_default();
    let mut servers = list("hbase.client.bootstrap.servers");
    if servers.is_empty() {
        servers = list("hbase.masters");
    }
    let quorum = list("hbase.zookeeper.quorum");
    if registry.ends_with("MasterRegistry")
        || registry.ends_with("RpcConnectionRegistry")
        || (quorum.is_empty() && !servers.is_empty())
    {
        return if servers.is_empty() {
            Err(Error::invalid(
                "hbase.masters and hbase.client.bootstrap.servers are empty; name a server",
            ))
        } else {
            Ok(RegistryKind::Rpc { servers })
        };
    }
    if quorum.is_empty() {
        return Err(Error::invalid(
            "hbase.zookeeper.quorum is not set, nor hbase.masters; set one, so that the cluster \
             can be found",
        ));
    }
    let mut port = uri::ZOOKEEPER_PORT;
    set(properties, "hbase.zookeeper.property.clientPort", &mut port)?;
    let with_port =
        |place: String| if place.contains(':') { place } else { format!("{place}:{port}") };
    let znode_parent =
        properties.get("zookeeper.znode.parent").cloned().unwrap_or_else(|| "/hbase".to_string());
    Ok(RegistryKind::ZooKeeper {
        quorum: quorum.into_iter().map(with_port).collect(),
        znode_parent,
    })
}

/// Returns names and values of the properties. The last of duplicates applies, as in Hadoop.
fn properties(text: &str) -> Result<Properties> {
    let mut reader = Reader::from_str(text);
    let (mut path, mut name, mut value) = (Vec::<String>::new(), String::new(), String::new());
    let mut properties = Properties::new();
    loop {
        let position = reader.buffer_position();
        let wrong = |why: &dyn std::fmt::Display| {
            Error::invalid(format!(
                "byte {position}: {why}; give a file of the form of hbase-site.xml"
            ))
        };
        match reader.read_event().map_err(|error| wrong(&error))? {
            Event::Start(tag) => path.push(tag.name().as_ref().to_owned()),
            Event::End(tag) => {
                if tag.name().as_ref() == "property" {
                    properties.insert(
                        std::mem::take(&mut name).trim().to_string(),
                        std::mem::take(&mut value).trim().to_string(),
                    );
                }
                path.pop();
            }
            Event::Eof if path.is_empty() => return Ok(properties),
            Event::Eof => return Err(wrong(&"it ends inside an element")),
            event => {
                let piece = event_text(&event).map_err(|error| wrong(&error))?;
                match path.last().map(String::as_str) {
                    Some("name") if path.len() == DEPTH => name.push_str(&piece),
                    Some("value") if path.len() == DEPTH => value.push_str(&piece),
                    _ => {}
                }
            }
        }
    }
}

/// Returns the text of an event, empty if it has none.
fn event_text(event: &Event<'_>) -> Result<String> {
    let bad = |error: &dyn std::fmt::Display| Error::invalid(error.to_string());
    match event {
        Event::Text(text) => Ok(text.to_string()),
        Event::CData(text) => Ok(text.to_string()),
        Event::GeneralRef(name) => {
            if let Some(character) = name.resolve_char_ref().map_err(|error| bad(&error))? {
                return Ok(character.to_string());
            }
            quick_xml::escape::resolve_xml_entity(name)
                .map(str::to_string)
                .ok_or_else(|| Error::invalid(format!("&{}; means nothing", &**name)))
        }
        _ => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use halite_types::ErrorKind;

    use super::*;

    fn site(properties: &[(&str, &str)]) -> String {
        let one = |(name, value): &(&str, &str)| {
            format!(
                "<property>\n<name>{name}</name><value> {value}\n</value><final>true</final></property>"
            )
        };
        format!(
            "<?xml version=\"1.0\"?><!-- a comment --><configuration>{}</configuration>",
            properties.iter().map(one).collect::<String>()
        )
    }

    #[test]
    fn hbase_settings_are_applied() {
        let text = site(&[
            ("hbase.zookeeper.quorum", "a, b:5"),
            ("hbase.zookeeper.property.clientPort", "2182"),
            ("zookeeper.znode.parent", "/h&amp;1"),
            ("hbase.rpc.timeout", "7"),
            ("hbase.client.retries.number", "3"),
            ("hbase.client.pause", "11"),
            ("hbase.client.rpc.compressor", "org.apache.hadoop.io.compress.SnappyCodec"),
            ("unknown", "1"),
        ]);
        let config = config(&text).unwrap();
        assert_eq!(
            config.registry,
            RegistryKind::ZooKeeper {
                quorum: vec!["a:2182".into(), "b:5".into()],
                znode_parent: "/h&1".into()
            }
        );
        assert_eq!(
            (
                config.rpc_timeout_ms,
                config.max_retries,
                config.pause_ms,
                config.pause_overloaded_ms
            ),
            (7, 3, 11, 11)
        );
        assert_eq!(config.compressor, Some(Compressor::Snappy));
    }

    #[test]
    fn rpc_registry_is_used_without_quorum_or_on_request() {
        let rpc = |server: &str| RegistryKind::Rpc { servers: vec![server.to_string()] };
        assert_eq!(config(&site(&[("hbase.masters", "m:1")])).unwrap().registry, rpc("m:1"));
        let registry =
            ("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
        let both = [
            registry,
            ("hbase.zookeeper.quorum", "z"),
            ("hbase.client.bootstrap.servers", "b:2"),
            ("hbase.masters", "m:1"),
        ];
        assert_eq!(config(&site(&both)).unwrap().registry, rpc("b:2"));
    }

    #[test]
    fn kerberos_and_tls_settings_are_rejected_as_unsupported() {
        for (name, value) in [
            ("hbase.security.authentication", "kerberos"),
            ("hbase.client.netty.tls.enabled", "true"),
        ] {
            let error =
                config(&site(&[("hbase.zookeeper.quorum", "a"), (name, value)])).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Unsupported
                    && error.message().starts_with(&format!("not supported yet: {name}")),
                "{error}"
            );
        }
    }

    #[test]
    fn empty_and_malformed_files_are_rejected() {
        for text in [
            "",
            "<configuration/>",
            "<configuration><property>",
            "<a></b>",
            &site(&[("hbase.zookeeper.quorum", "a"), ("hbase.rpc.timeout", "1s")]),
        ] {
            assert_eq!(config(text).unwrap_err().kind(), ErrorKind::InvalidRequest, "{text}");
        }
    }
}
