//! Table of services and methods.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use protox::prost_reflect::prost_types::{FileDescriptorSet, MethodDescriptorProto};

use crate::Result;

const HEAD: &str = "//! The services and methods of HBase. Generated from the .proto files by `cargo xtask codegen`: change those, not this.

use super::RpcMethod;
use crate::proto as pb;
";

/// Service of a `.proto` file.
struct Service<'a> {
    /// Name on the wire, `ClientService`.
    name: &'a str,
    methods: &'a [MethodDescriptorProto],
    /// `true` if it is called through `ExecService` and not on a separate connection.
    is_endpoint: bool,
}

/// Returns the source text of the table.
pub(crate) fn generate(files: &FileDescriptorSet) -> Result<String> {
    let mut services = Vec::new();
    for file in &files.file {
        let is_endpoint = ["coprocessor.proto", "access_control.proto"].contains(&file.name());
        services.extend(file.service.iter().map(|service| Service {
            name: service.name(),
            methods: &service.method,
            is_endpoint,
        }));
    }
    services.sort_by_key(|service| service.name);
    check_names(&services)?;
    let mut text = HEAD.to_string();
    for part in
        [service_enum, service_names, service_methods, method_enum, method_facts, method_types]
    {
        part(&services, &mut text).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn check_names(services: &[Service<'_>]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let variants = services
        .iter()
        .flat_map(|service| service.methods.iter().map(|method| variant(service, method)));
    match variants.into_iter().find(|variant| !seen.insert(variant.clone())) {
        Some(twice) => Err(format!("two methods have the same variant name {twice}")),
        None => Ok(()),
    }
}

fn service_enum(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    text.push_str(
        "\n/// A service: what a connection is opened to, or an endpoint called through one.\n",
    );
    text.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Service {\n");
    for service in services {
        writeln!(
            text,
            "    /// `{}`, {} methods.\n    {},",
            service.name,
            service.methods.len(),
            short(service.name)
        )?;
    }
    text.push_str("}\n");
    Ok(())
}

fn service_names(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    text.push_str(
        "\nimpl Service {\n    /// All of them, by name.\n    pub const ALL: &'static [Self] = \
         &[\n",
    );
    for service in services {
        writeln!(text, "        Self::{},", short(service.name))?;
    }
    text.push_str(
        "    ];\n\n    /// The name on the wire, without a package.\n    pub fn name(self) -> \
         &'static str {\n        match self {\n",
    );
    for service in services {
        writeln!(text, "            Self::{} => {:?},", short(service.name), service.name)?;
    }
    text.push_str(
        "        }\n    }\n\n    /// Returns `true` if it is called through `ExecService`, \
         `ExecRegionServerService` or `ExecMasterService`.\n",
    );
    text.push_str("    pub fn is_endpoint(self) -> bool {\n");
    let endpoints: Vec<_> = services
        .iter()
        .filter(|service| service.is_endpoint)
        .map(|service| format!("Self::{}", short(service.name)))
        .collect();
    writeln!(text, "        matches!(self, {})\n    }}", endpoints.join(" | "))
}

fn service_methods(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    text.push_str(
        "\n    /// Its methods.\n    pub fn methods(self) -> &'static [Method] {\n        match \
         self {\n",
    );
    for service in services {
        writeln!(text, "            Self::{} => &[", short(service.name))?;
        for method in service.methods {
            writeln!(text, "                Method::{},", variant(service, method))?;
        }
        text.push_str("            ],\n");
    }
    text.push_str("        }\n    }\n}\n");
    Ok(())
}

fn method_enum(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    text.push_str(
        "\n/// A method of a service. The variant is the service's name without `Service`, then \
         the method's.\n",
    );
    text.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Method {\n");
    for (service, method) in each(services) {
        writeln!(
            text,
            "    /// `{}` of `{}`: `{}` to `{}`.",
            method.name(),
            service.name,
            message(method.input_type()),
            message(method.output_type())
        )?;
        writeln!(text, "    {},", variant(service, method))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn method_facts(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    text.push_str(
        "\nimpl Method {\n    /// The service it belongs to.\n    pub fn service(self) -> Service \
         {\n        match self {\n",
    );
    for service in services {
        let variants: Vec<_> = service
            .methods
            .iter()
            .map(|method| format!("Self::{}", variant(service, method)))
            .collect();
        writeln!(
            text,
            "            {} => Service::{},",
            variants.join("\n            | "),
            short(service.name)
        )?;
    }
    text.push_str(
        "        }\n    }\n\n    /// The name on the wire; case matters.\n    pub fn name(self) -> \
         &'static str {\n        match self {\n",
    );
    for (service, method) in each(services) {
        writeln!(text, "            Self::{} => {:?},", variant(service, method), method.name())?;
    }
    text.push_str("        }\n    }\n}\n");
    Ok(())
}

fn method_types(services: &[Service<'_>], text: &mut String) -> std::fmt::Result {
    for (service, method) in each(services) {
        let name = variant(service, method);
        let (request, response) = (message(method.input_type()), message(method.output_type()));
        writeln!(
            text,
            "\n/// The types of [`Method::{name}`].\n#[derive(Clone, Copy, Debug)]\npub struct \
             {name};"
        )?;
        writeln!(
            text,
            "\nimpl RpcMethod for {name} {{\n    const METHOD: Method = Method::{name};"
        )?;
        writeln!(
            text,
            "    type Request = pb::{request};\n    type Response = pb::{response};\n}}"
        )?;
    }
    Ok(())
}

fn each<'a>(
    services: &'a [Service<'a>],
) -> impl Iterator<Item = (&'a Service<'a>, &'a MethodDescriptorProto)> {
    services.iter().flat_map(|service| service.methods.iter().map(move |method| (service, method)))
}

/// Shortens `ClientService` to `Client`.
fn short(service: &str) -> &str {
    service.strip_suffix("Service").unwrap_or(service)
}

/// Converts `getProcedureResult` of `MasterService` to `MasterGetProcedureResult`.
fn variant(service: &Service<'_>, method: &MethodDescriptorProto) -> String {
    let mut letters = method.name().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{}{first}{}", short(service.name), letters.as_str())
}

/// Converts `.hbase.pb.RSGroupInfo` to prost's `RsGroupInfo`.
fn message(full: &str) -> String {
    let name = full.rsplit('.').next().unwrap_or(full);
    rust_name(name)
}

/// Returns prost's spelling of a message name: a sequence of capitals keeps its first and its last
/// one.
pub(crate) fn rust_name(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut spelled = String::new();
    for (index, &letter) in letters.iter().enumerate() {
        let after_capital = index > 0 && letters[index - 1].is_uppercase();
        let starts_word = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        spelled.push(if after_capital && !starts_word {
            letter.to_ascii_lowercase()
        } else {
            letter
        });
    }
    spelled
}
