//! Tables of the repeated fields of messages, from which the memory of a decoded message is
//! computed before it is decoded.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use protox::prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use protox::prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet,
};

use crate::Result;
use crate::services::rust_name;

const HEAD: &str = "//! The repeated fields of messages, by their numbers. Generated from the .proto files by `cargo xtask codegen`: change those, not this.

use bytes::Bytes;
use halite_types::Row;

use super::decoded_size::{RepeatedField, many, numbers, one};
use crate::proto as pb;
";

/// Messages whose memory is computed field by field. Those they contain follow from the files.
const ROOTS: [&str; 19] = [
    "AggregateRequest",
    "DeleteSnapshotRequest",
    "GetClusterStatusResponse",
    "GetCompletedSnapshotsResponse",
    "GetRegionLoadResponse",
    "GetRequest",
    "GetResponse",
    "GetTableDescriptorsResponse",
    "IsSnapshotDoneRequest",
    "LockRequest",
    "MultiRequest",
    "MultiResponse",
    "MutateRequest",
    "MutateResponse",
    "MutateRowsRequest",
    "RestoreSnapshotRequest",
    "ScanRequest",
    "ScanResponse",
    "SnapshotRequest",
];

/// Fields of which each element also becomes a value of another type: each count of cells and each
/// result of a scan becomes a row.
const CONVERTED: [(&str, &str, &str); 2] =
    [("ScanResponse", "cells_per_result", "Row"), ("ScanResponse", "results", "Row")];

/// Message with its name in Rust.
struct Message<'a> {
    descriptor: &'a DescriptorProto,
    path: String,
}

/// Tables written so far, by full name of their message: the name of the table, or `None` for a
/// message without repeated fields.
struct Tables<'a> {
    messages: BTreeMap<String, Message<'a>>,
    written: BTreeMap<String, Option<String>>,
    in_progress: BTreeSet<String>,
    converted: BTreeSet<(&'static str, &'static str)>,
    text: String,
}

/// Returns the source text of all tables.
pub(crate) fn generate(files: &FileDescriptorSet) -> Result<String> {
    let mut tables = Tables {
        messages: BTreeMap::new(),
        written: BTreeMap::new(),
        in_progress: BTreeSet::new(),
        converted: BTreeSet::new(),
        text: HEAD.to_string(),
    };
    for file in &files.file {
        let package = format!(".{}", file.package());
        for message in &file.message_type {
            add(&mut tables.messages, &package, "pb", message);
        }
    }
    for root in ROOTS {
        let full = tables
            .messages
            .iter()
            .find(|(_, message)| message.path == format!("pb::{root}"))
            .map(|(full, _)| full.clone());
        let full = full.ok_or_else(|| format!("no .proto file has the message {root}"))?;
        if tables.write(&full)?.is_none() {
            return Err(format!("{root} has no repeated field, so it needs no table"));
        }
    }
    match CONVERTED.iter().find(|(message, field, _)| !tables.converted.contains(&(message, field)))
    {
        Some((message, field, _)) => Err(format!("{message} has no repeated field {field}")),
        None => Ok(tables.text),
    }
}

/// Adds a message and those declared in it.
fn add<'a>(
    messages: &mut BTreeMap<String, Message<'a>>,
    scope: &str,
    module: &str,
    descriptor: &'a DescriptorProto,
) {
    let full = format!("{scope}.{}", descriptor.name());
    let name = rust_name(descriptor.name());
    let inner = format!("{module}::{}", snake_case(&name));
    for nested in &descriptor.nested_type {
        add(messages, &full, &inner, nested);
    }
    messages.insert(full, Message { descriptor, path: format!("{module}::{name}") });
}

impl Tables<'_> {
    /// Writes the table of a message after those of the messages it contains. Returns its name;
    /// `None` if neither has a repeated field.
    fn write(&mut self, full: &str) -> Result<Option<String>> {
        if let Some(name) = self.written.get(full) {
            return Ok(name.clone());
        }
        if !self.in_progress.insert(full.to_string()) {
            return Err(format!("{full} contains itself, for which there is no table"));
        }
        let Message { descriptor, path } = self
            .messages
            .get(full)
            .ok_or_else(|| format!("no .proto file has the message {full}"))?;
        let table = snake_case(&path.replace("pb::", "").replace("::", "_")).to_uppercase();
        let mut fields: Vec<&FieldDescriptorProto> = descriptor.field.iter().collect();
        fields.sort_by_key(|field| field.number());
        let message = descriptor.name();
        let mut entries = Vec::new();
        for field in fields {
            entries.extend(self.entry(message, field)?);
        }
        self.in_progress.remove(full);
        let name = (!entries.is_empty()).then_some(table);
        if let Some(name) = &name {
            writeln!(self.text, "\npub(super) const {name}: &[RepeatedField] = &[")
                .map_err(|error| error.to_string())?;
            for entry in entries {
                writeln!(self.text, "    {entry},").map_err(|error| error.to_string())?;
            }
            self.text.push_str("];\n");
        }
        self.written.insert(full.to_string(), name.clone());
        Ok(name)
    }

    /// Returns the entry of a field; `None` if it is single and has no repeated fields inside.
    fn entry(&mut self, message: &str, field: &FieldDescriptorProto) -> Result<Option<String>> {
        let number = field.number();
        let extra =
            CONVERTED.into_iter().find(|(of, name, _)| *of == message && *name == field.name());
        if let Some((of, name, _)) = extra {
            self.converted.insert((of, name));
        }
        let inside = match field.r#type() {
            Type::Message => self.write(field.type_name())?,
            _ => None,
        };
        if field.label() != Label::Repeated {
            return Ok(inside.map(|inside| format!("one({number}, {inside})")));
        }
        let element = match field.r#type() {
            Type::Message => self.messages[field.type_name()].path.clone(),
            Type::String => "String".to_string(),
            Type::Bytes => "Bytes".to_string(),
            other => {
                let size = format!("size_of::<{}>()", number_type(other, message)?);
                let more = extra.map(|(_, _, more)| format!(" + size_of::<{more}>()"));
                return Ok(Some(format!("numbers({number}, {size}{})", more.unwrap_or_default())));
            }
        };
        let element = match extra {
            Some((_, _, more)) => format!("({element}, {more})"),
            None => element,
        };
        let inside = inside.unwrap_or_else(|| "&[]".to_string());
        Ok(Some(format!("many::<{element}>({number}, {inside})")))
    }
}

/// Returns prost's type of a number.
fn number_type(kind: Type, message: &str) -> Result<&'static str> {
    Ok(match kind {
        Type::Double => "f64",
        Type::Float => "f32",
        Type::Int64 | Type::Sfixed64 | Type::Sint64 => "i64",
        Type::Uint64 | Type::Fixed64 => "u64",
        Type::Int32 | Type::Sfixed32 | Type::Sint32 | Type::Enum => "i32",
        Type::Uint32 | Type::Fixed32 => "u32",
        Type::Bool => "bool",
        Type::String | Type::Bytes | Type::Message | Type::Group => {
            return Err(format!("{message} has a repeated {}", kind.as_str_name()));
        }
    })
}

/// Converts `MutationProto` to `mutation_proto`.
fn snake_case(name: &str) -> String {
    let mut spelled = String::new();
    for letter in name.chars() {
        let starts_word = letter.is_uppercase() && !spelled.is_empty() && !spelled.ends_with('_');
        if starts_word {
            spelled.push('_');
        }
        spelled.extend(letter.to_lowercase());
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_prost() {
        assert_eq!(snake_case(&rust_name("MutationProto")), "mutation_proto");
        assert_eq!(snake_case(&rust_name("RSGroupInfo")), "rs_group_info");
        assert_eq!(snake_case("mutation_proto_ColumnValue"), "mutation_proto_column_value");
    }
}
