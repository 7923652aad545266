//! The messages and enumerations, by prost.

use prost_build::{Config, Module};
use protox::prost_reflect::prost_types::FileDescriptorSet;

use crate::Result;

const HEAD: &str = "//! HBase's messages. Generated from the .proto files beside it by `cargo xtask codegen`: change those, not this.\n\n";

/// The text of the file that holds them all.
pub(crate) fn generate(files: &FileDescriptorSet) -> Result<String> {
    let mut config = Config::new();
    // Byte strings share the frame they came in.
    config.bytes(["."]).btree_map(["."]);
    let requests = files.file.iter().map(|file| (Module::from_protobuf_package_name(file.package()), file.clone())).collect();
    let modules = config.generate(requests).map_err(|error| error.to_string())?;
    let mut texts = modules.into_values();
    match (texts.next(), texts.next()) {
        (Some(text), None) => Ok(format!("{HEAD}{text}")),
        _ => Err("the .proto files are of more than one package; all of HBase's messages live in hbase.pb".to_string()),
    }
}
