//! Types of the language for Rust types.

use syn::{Expr, GenericArgument, Lit, PathArguments, Type};

/// Properties of a field's Rust type.
pub(crate) struct RustType<'t> {
    /// Type in the language; `None` if it must be declared.
    pub(crate) text: Option<String>,
    /// Prefixes of the names of alternative types in the language.
    pub(crate) others: &'static [&'static str],
    /// `true` if it is an `Option`.
    pub(crate) nullable: bool,
    /// `true` if it borrows from the key.
    pub(crate) borrows: bool,
    /// Type inside the `Option`.
    pub(crate) inner: &'t Type,
}

const SIGNED: &[&str] = &["I8", "I16", "I32", "I64", "TIMESTAMP", "DATE"];
const UNSIGNED: &[&str] = &["U8", "U16", "U32", "U64"];

/// Classifies a field's type.
pub(crate) fn classify(ty: &Type) -> RustType<'_> {
    if let Some(inner) = argument(ty, "Option") {
        return RustType { nullable: true, ..classify(inner) };
    }
    let known = |text: &str, others: &'static [&'static str]| RustType {
        text: Some(text.to_owned()),
        others,
        nullable: false,
        borrows: false,
        inner: ty,
    };
    let unknown =
        RustType { text: None, others: &[""], nullable: false, borrows: false, inner: ty };
    match ty {
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(_) => RustType { borrows: true, ..known("BYTES", &["BYTES"]) },
            Type::Path(path) if path.path.is_ident("str") => {
                RustType { borrows: true, ..known("STRING", &["STRING", "CHAR"]) }
            }
            _ => unknown,
        },
        Type::Array(array) => match &array.len {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(length) => known(&format!("BYTES({length})"), &["BYTES"]),
                _ => unknown,
            },
            _ => unknown,
        },
        Type::Path(path) => match path
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string())
            .unwrap_or_default()
            .as_str()
        {
            "bool" => known("BOOL", &["BOOL"]),
            "u8" => known("U8", UNSIGNED),
            "u16" => known("U16", UNSIGNED),
            "u32" => known("U32", UNSIGNED),
            "u64" => known("U64", UNSIGNED),
            "i8" => known("I8", SIGNED),
            "i16" => known("I16", SIGNED),
            "i32" => known("I32", SIGNED),
            "i64" => known("I64", SIGNED),
            "f32" => known("F32", &["F32"]),
            "f64" => known("F64", &["F64"]),
            "Decimal" => known("DECIMAL", &["DECIMAL"]),
            "String" => known("STRING", &["STRING", "CHAR"]),
            "Cow" => match argument(ty, "Cow") {
                Some(Type::Slice(_)) => known("BYTES", &["BYTES"]),
                _ => known("STRING", &["STRING", "CHAR"]),
            },
            "Vec" => known("BYTES", &["BYTES"]),
            "Uuid" => known("UUID", &["UUID"]),
            "Ipv4Addr" => known("IPV4", &["IPV4"]),
            "Ipv6Addr" => known("IPV6", &["IPV6"]),
            "TsMillis" => known("TIMESTAMP", &["TIMESTAMP"]),
            "TsMicros" => known("TIMESTAMP(us)", &["TIMESTAMP(us)"]),
            "TsNanos" => known("TIMESTAMP(ns)", &["TIMESTAMP(ns)"]),
            "Days" => known("DATE", &["DATE"]),
            _ => unknown,
        },
        _ => unknown,
    }
}

/// Returns the last type between the angle brackets of `name<..>`.
fn argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().rev().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
