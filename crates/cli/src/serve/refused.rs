//! HBase settings for missing features that users depend on: the server refuses to start instead of
//! running without them.
//!
//! A value that requests nothing - HBase's insecure default, or an empty one - is accepted like any
//! setting without effect.

use super::hbase_settings::{SetResult, ignored};

/// Missing feature that an HBase setting requests.
#[derive(Clone, Copy)]
pub(crate) enum Lack {
    Authentication,
    WireEncryption,
    FileEncryption,
    Permissions,
    Coprocessors,
    ReadOnly,
    Limits,
    Snapshots,
}

use Lack::{
    Authentication, Coprocessors, FileEncryption, Limits, Permissions, ReadOnly, Snapshots,
    WireEncryption,
};

/// Refused setting, or all settings with a common prefix or a word in their names.
pub(crate) struct Refused {
    pub(crate) name: Name,
    pub(crate) lack: Lack,
    /// Values that request nothing, besides an empty one.
    pub(crate) harmless: &'static [&'static str],
}

pub(crate) enum Name {
    Is(&'static str),
    Begins(&'static str),
    /// Name that contains this text.
    Has(&'static str),
}

use Name::{Begins, Has, Is};

/// Refused settings, in matching order; the first match decides.
pub(crate) const REFUSED: &[Refused] = &[
    refused(Is("hbase.security.authentication"), Authentication, &["simple"]),
    refused(Is("hadoop.security.authentication"), Authentication, &["simple"]),
    refused(Is("hbase.security.authentication.ui"), Authentication, &["simple"]),
    refused(
        Is("hbase.http.filter.initializers"),
        Authentication,
        &["org.apache.hadoop.hbase.http.lib.StaticUserWebFilter"],
    ),
    refused(Is("hbase.zookeeper.property.requireClientAuthScheme"), Authentication, &[]),
    refused(Begins("hbase.zookeeper.property.authProvider."), Authentication, &[]),
    refused(Is("hbase.rpc.protection"), WireEncryption, &["authentication"]),
    refused(Is("hadoop.rpc.protection"), WireEncryption, &["authentication"]),
    refused(Is("hbase.server.netty.tls.supportplaintext"), WireEncryption, &["true"]),
    refused(Begins("hbase.server.netty.tls."), WireEncryption, OFF),
    refused(Begins("hbase.client.netty.tls."), WireEncryption, OFF),
    refused(Begins("hbase.rpc.tls."), WireEncryption, OFF),
    refused(Begins("hbase.ssl."), WireEncryption, OFF),
    refused(Begins("hadoop.ssl."), WireEncryption, OFF),
    refused(Begins("ssl."), WireEncryption, OFF),
    refused(Is("hbase.zookeeper.property.secureClientPort"), WireEncryption, &["-1", "0"]),
    refused(Is("hbase.zookeeper.property.sslQuorum"), WireEncryption, OFF),
    refused(Is("zookeeper.client.secure"), WireEncryption, OFF),
    refused(Is("hbase.zookeeper.property.client.secure"), WireEncryption, OFF),
    refused(Is("hbase.crypto.enabled"), FileEncryption, &["true", "false"]),
    refused(Begins("hbase.crypto."), FileEncryption, OFF),
    refused(Is("hbase.regionserver.wal.encryption"), FileEncryption, OFF),
    refused(Is("hbase.acl.sync.to.hdfs.enable"), Permissions, OFF),
    refused(Is("hadoop.security.authorization"), Permissions, OFF),
    refused(Begins("hbase.security.authentication."), Authentication, OFF),
    refused(Begins("hbase.security."), Permissions, OFF),
    refused(Is("hbase.coprocessor.region.classes"), Coprocessors, SERVED),
    refused(Is("hbase.coprocessor.user.region.classes"), Coprocessors, SERVED),
    refused(Is("hbase.coprocessor.regionserver.classes"), Coprocessors, &[]),
    refused(Is("hbase.coprocessor.master.classes"), Coprocessors, &[]),
    refused(Is("hbase.coprocessor.wal.classes"), Coprocessors, &[]),
    refused(Is("hbase.global.readonly.enabled"), ReadOnly, OFF),
    refused(Is("hbase.master.maintenance_mode"), ReadOnly, OFF),
    refused(Begins("hbase.quota.default."), Limits, &[]),
    refused(Is("hbase.quota.read.capacity.unit"), Limits, &["1024"]),
    refused(Is("hbase.quota.write.capacity.unit"), Limits, &["1024"]),
    refused(
        Is("hbase.hregion.keyvalue.timestamp.slop.millisecs"),
        Limits,
        &["9223372036854775807"],
    ),
    refused(Is("hbase.rpc.rows.size.threshold.reject"), Limits, OFF),
    refused(Is("hbase.snapshot.enabled"), Snapshots, &["true"]),
    refused(Begins("hbase.thrift.security."), Authentication, OFF),
    refused(Has("kerberos"), Authentication, OFF),
    refused(Has("keytab"), Authentication, OFF),
    refused(Has(".sasl"), Authentication, OFF),
    refused(Has(".authentication"), Authentication, &["false", "simple", "none"]),
    refused(Has(".authorization"), Permissions, OFF),
    refused(Begins("dfs.encrypt.data.transfer"), WireEncryption, OFF),
    refused(Is("dfs.data.transfer.protection"), WireEncryption, &["authentication"]),
    refused(Has("http.policy"), WireEncryption, &["HTTP_ONLY"]),
    refused(Has(".ssl"), WireEncryption, OFF),
    refused(Has(".tls"), WireEncryption, OFF),
    refused(Has("encrypt"), FileEncryption, OFF),
    refused(Has("readonly"), ReadOnly, OFF),
];

const OFF: &[&str] = &["false"];

/// Built-in coprocessors.
const SERVED: &[&str] = &[
    "org.apache.hadoop.hbase.coprocessor.AggregateImplementation",
    "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint",
];

const fn refused(name: Name, lack: Lack, harmless: &'static [&'static str]) -> Refused {
    Refused { name, lack, harmless }
}

/// Returns the result of a setting without a corresponding option, or `None` if no feature depends
/// on it.
///
/// # Errors
/// Returns an error if the setting requests a missing feature.
pub(crate) fn check(name: &str, value: &str) -> Result<Option<SetResult>, String> {
    let Some(known) = REFUSED.iter().find(|known| known.name.fits(name)) else { return Ok(None) };
    // Lists of classes, each optionally followed by `|` and a priority.
    let mut parts = value
        .split(',')
        .map(|part| part.split('|').next().unwrap_or_default().trim())
        .filter(|part| !part.is_empty());
    if parts.all(|part| known.harmless.iter().any(|harmless| part.eq_ignore_ascii_case(harmless))) {
        return Ok(Some(SetResult::Warning(ignored(
            name,
            "it asks for nothing that is not so here",
        ))));
    }
    Err(format!("{name}={value}: {}, and leave the setting out", known.lack.explanation()))
}

impl Name {
    fn fits(&self, name: &str) -> bool {
        match self {
            Is(whole) => name == *whole,
            Begins(beginning) => name.starts_with(beginning),
            Has(word) => name.contains(word),
        }
    }

    /// Formats the name as in the documentation.
    #[cfg(test)]
    pub(crate) fn format(&self) -> String {
        match self {
            Is(whole) => (*whole).to_owned(),
            Begins(beginning) => format!("{beginning}*"),
            Has(word) => format!("*{word}*"),
        }
    }
}

impl Lack {
    /// Returns the missing feature and an alternative.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Authentication => {
                "authentication is not supported: any client that can connect has full access; \
                 listen on 127.0.0.1 or use a firewall"
            }
            WireEncryption => {
                "nothing that is sent is encrypted here; listen on 127.0.0.1 and let clients come \
                 through a tunnel"
            }
            FileEncryption => {
                "files and log are not encrypted here; put the data directory on an encrypted disk"
            }
            Permissions => {
                "permissions and visibility labels are not supported: any client that can connect \
                 has full access; listen on 127.0.0.1 or use a firewall"
            }
            Coprocessors => {
                "no class of Java's can be loaded here, only AggregateImplementation and \
                 MultiRowMutationEndpoint are built in; do without the coprocessor"
            }
            ReadOnly => {
                "the server cannot be made read-only here; make the tables read-only (alter 't', \
                 READONLY => true)"
            }
            Limits => {
                "this limit is not enforced here; set limits of users, tables and namespaces by \
                 set_quota with quota-enabled"
            }
            Snapshots => "snapshots cannot be switched off here",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_required_setting_is_rejected_with_fix() {
        for (name, value, message_part) in [
            ("hbase.security.authentication", "kerberos", "authentication is not supported"),
            ("hadoop.security.authentication", "kerberos", "authentication is not supported"),
            ("hbase.security.authorization", "true", "permissions and visibility"),
            ("hbase.security.exec.permission.checks", "true", "permissions and visibility"),
            (
                "hbase.security.visibility.mutations.checkauths",
                "true",
                "permissions and visibility",
            ),
            ("hbase.rpc.protection", "privacy", "encrypted"),
            ("hbase.rpc.protection", "authentication,privacy", "encrypted"),
            ("hbase.server.netty.tls.enabled", "true", "encrypted"),
            ("hbase.server.netty.tls.supportplaintext", "false", "encrypted"),
            ("hbase.rpc.tls.keystore.location", "/keys", "encrypted"),
            ("hbase.ssl.enabled", "TRUE", "encrypted"),
            ("ssl.server.keystore.location", "/keys", "encrypted"),
            ("hbase.thrift.ssl.enabled", "true", "encrypted"),
            ("hbase.rest.ssl.enabled", "true", "encrypted"),
            ("hbase.rest.authentication.type", "kerberos", "authentication is not supported"),
            ("hbase.thrift.security.qop", "auth-conf", "authentication is not supported"),
            ("hbase.regionserver.keytab.file", "/k", "authentication is not supported"),
            (
                "hbase.master.kerberos.principal",
                "hbase/_HOST@REALM",
                "authentication is not supported",
            ),
            (
                "hbase.zookeeper.property.authProvider.1",
                "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
                "authentication is not supported",
            ),
            ("zookeeper.sasl.client", "true", "authentication is not supported"),
            (
                "hbase.crypto.keyprovider",
                "org.apache.hadoop.hbase.io.crypto.KeyStoreKeyProvider",
                "encrypted disk",
            ),
            ("hbase.regionserver.wal.encryption", "true", "encrypted disk"),
            (
                "hbase.coprocessor.region.classes",
                "org.apache.hadoop.hbase.security.access.AccessController",
                "no class",
            ),
            (
                "hbase.coprocessor.master.classes",
                "org.apache.hadoop.hbase.security.visibility.VisibilityController",
                "no class",
            ),
            (
                "hbase.coprocessor.user.region.classes",
                "org.apache.hadoop.hbase.coprocessor.AggregateImplementation, com.foo.Bar",
                "no class",
            ),
            ("dfs.encrypt.data.transfer", "true", "nothing that is sent"),
            ("dfs.encrypt.data.transfer.algorithm", "3des", "nothing that is sent"),
            (
                "dfs.encrypt.data.transfer.cipher.suites",
                "AES/CTR/NoPadding",
                "nothing that is sent",
            ),
            ("dfs.data.transfer.protection", "privacy", "nothing that is sent"),
            ("dfs.data.transfer.protection", "integrity", "nothing that is sent"),
            ("hbase.http.policy", "HTTPS_ONLY", "nothing that is sent"),
            ("dfs.http.policy", "HTTP_AND_HTTPS", "nothing that is sent"),
            ("hbase.netty.ssl", "true", "nothing that is sent"),
            ("hbase.netty.tls", "true", "nothing that is sent"),
            ("hbase.client.encrypted", "true", "encrypted disk"),
            ("hbase.global.readonly.enabled", "true", "READONLY"),
            ("hbase.rest.readonly", "true", "READONLY"),
            ("hbase.quota.default.user.machine.read.num", "100", "set_quota"),
            ("hbase.snapshot.enabled", "false", "cannot be switched off"),
        ] {
            let text = check(name, value).expect_err(name);
            assert!(
                text.starts_with(&format!("{name}={value}: "))
                    && text.contains(message_part)
                    && text.ends_with("leave the setting out"),
                "{text}"
            );
        }
    }

    #[test]
    fn settings_that_request_nothing_pass() {
        for (name, value) in [
            ("hbase.security.authentication", "simple"),
            ("hbase.security.authorization", "false"),
            ("hbase.security.exec.permission.checks", ""),
            ("hbase.server.netty.tls.enabled", "False"),
            ("hbase.server.netty.tls.supportplaintext", "true"),
            ("hbase.coprocessor.region.classes", ""),
            (
                "hbase.coprocessor.user.region.classes",
                "org.apache.hadoop.hbase.coprocessor.AggregateImplementation|1001",
            ),
            ("hbase.rest.readonly", "false"),
            ("hbase.rpc.protection", "authentication"),
            ("hbase.unsafe.client.kerberos.hostname.disable.reversedns", "false"),
            ("hbase.snapshot.enabled", "true"),
            ("hbase.crypto.enabled", "true"),
            ("dfs.data.transfer.protection", "authentication"),
            ("dfs.encrypt.data.transfer", "false"),
            ("hbase.http.policy", "HTTP_ONLY"),
        ] {
            assert!(
                matches!(check(name, value), Ok(Some(SetResult::Warning(_)))),
                "{name}={value}: {:?}",
                check(name, value)
            );
        }
        for name in [
            "hbase.ipc.server.fallback-to-simple-auth-allowed",
            "hbase.superuser",
            "hbase.auth.token.max.lifetime",
            "my.own",
        ] {
            assert_eq!(check(name, "true"), Ok(None), "{name}");
        }
    }
}
