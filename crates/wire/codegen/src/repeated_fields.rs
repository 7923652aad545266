//! Tables of the repeated fields of messages, from which the memory of a decoded message is
//! computed before it is decoded, and the bound of the messages without a table.

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

use super::decoded_size::{RepeatedField, largest, many, numbers, one};
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
    if let Some((message, field, _)) =
        CONVERTED.iter().find(|(message, field, _)| !tables.converted.contains(&(message, field)))
    {
        return Err(format!("{message} has no repeated field {field}"));
    }
    let elements = other_elements(files, &tables.messages);
    tables.write_bound(&elements).map_err(|error| error.to_string())?;
    Ok(tables.text)
}

/// Returns the Rust types of the elements that a part of a message without a table may decode to:
/// those of the repeated fields, and messages that contain themselves, which are boxed. They are
/// those of the requests and responses of all methods.
fn other_elements<'a>(
    files: &'a FileDescriptorSet,
    messages: &BTreeMap<String, Message<'a>>,
) -> BTreeSet<String> {
    let methods = files.file.iter().flat_map(|file| &file.service).flat_map(|of| &of.method);
    let (mut elements, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for full in methods.flat_map(|method| [method.input_type(), method.output_type()]) {
        let has_table = ROOTS.iter().any(|root| messages[full].path == format!("pb::{root}"));
        if !has_table {
            add_elements(full, messages, &mut Vec::new(), &mut seen, &mut elements);
        }
    }
    elements
}

/// Adds the elements of a message and of those in it. `outer` contains the messages around it.
fn add_elements<'a>(
    full: &'a str,
    messages: &BTreeMap<String, Message<'a>>,
    outer: &mut Vec<&'a str>,
    seen: &mut BTreeSet<&'a str>,
    elements: &mut BTreeSet<String>,
) {
    if !seen.insert(full) {
        return;
    }
    outer.push(full);
    for field in &messages[full].descriptor.field {
        let is_repeated = field.label() == Label::Repeated;
        match field.r#type() {
            Type::Message => {
                if is_repeated || outer.contains(&field.type_name()) {
                    elements.insert(messages[field.type_name()].path.clone());
                }
                add_elements(field.type_name(), messages, outer, seen, elements);
            }
            Type::String if is_repeated => drop(elements.insert("String".to_string())),
            Type::Bytes if is_repeated => drop(elements.insert("Bytes".to_string())),
            // Numbers take a byte each, and 8 in memory at most.
            _ => {}
        }
    }
    outer.pop();
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

    /// Writes the size of the largest of these elements.
    fn write_bound(&mut self, elements: &BTreeSet<String>) -> std::fmt::Result {
        self.text.push_str(
            "\n/// Memory in bytes of the largest element of the messages of methods without a \
             table.\npub(super) const LARGEST_OTHER_ELEMENT: usize = largest(&[\n",
        );
        for element in elements {
            writeln!(self.text, "    size_of::<{element}>(),")?;
        }
        self.text.push_str("]);\n");
        Ok(())
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
    use protox::prost_reflect::prost_types::{
        FileDescriptorProto, MethodDescriptorProto, ServiceDescriptorProto,
    };

    use super::*;

    #[test]
    fn bound_covers_repeated_and_boxed_elements_without_table() {
        let field = |name: &str, label: Label, of: &str| FieldDescriptorProto {
            name: Some(name.to_owned()),
            label: Some(label.into()),
            r#type: Some(Type::Message.into()),
            type_name: Some(format!(".p.{of}")),
            ..FieldDescriptorProto::default()
        };
        let message = |name: &str, field: Vec<FieldDescriptorProto>| DescriptorProto {
            name: Some(name.to_owned()),
            field,
            ..DescriptorProto::default()
        };
        let method = MethodDescriptorProto {
            input_type: Some(".p.Request".to_owned()),
            output_type: Some(".p.GetResponse".to_owned()),
            ..MethodDescriptorProto::default()
        };
        let service =
            ServiceDescriptorProto { method: vec![method], ..ServiceDescriptorProto::default() };
        let file = FileDescriptorProto {
            package: Some("p".to_owned()),
            message_type: vec![
                message("Request", vec![field("once", Label::Optional, "Once")]),
                message(
                    "Once",
                    vec![
                        field("many", Label::Repeated, "Many"),
                        field("tree", Label::Optional, "Tree"),
                    ],
                ),
                message("Many", Vec::new()),
                message("Tree", vec![field("inner", Label::Optional, "Tree")]),
                // It has a table.
                message("GetResponse", vec![field("listed", Label::Repeated, "Listed")]),
                message("Listed", Vec::new()),
            ],
            service: vec![service],
            ..FileDescriptorProto::default()
        };
        let files = FileDescriptorSet { file: vec![file] };
        let mut messages = BTreeMap::new();
        for message in &files.file[0].message_type {
            add(&mut messages, ".p", "pb", message);
        }
        let elements: Vec<String> = other_elements(&files, &messages).into_iter().collect();
        assert_eq!(elements, ["pb::Many", "pb::Tree"]);
    }

    #[test]
    fn names_are_those_of_prost() {
        assert_eq!(snake_case(&rust_name("MutationProto")), "mutation_proto");
        assert_eq!(snake_case(&rust_name("RSGroupInfo")), "rs_group_info");
        assert_eq!(snake_case("mutation_proto_ColumnValue"), "mutation_proto_column_value");
    }
}
