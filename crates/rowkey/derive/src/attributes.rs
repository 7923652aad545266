//! Parser of `#[row_key(..)]` and `#[key(..)]`.

use std::fmt::Write as _;

use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, LitInt, LitStr, Result, Token, parenthesized};

/// Attributes of the struct.
#[derive(Default)]
pub(crate) struct StructAttributes {
    /// Leading segments, in the syntax of the language.
    pub(crate) front: Vec<String>,
    pub(crate) profile: Option<LitStr>,
    /// Complete key, as it follows `ROW KEY`.
    pub(crate) whole: Option<(String, proc_macro2::Span)>,
    pub(crate) table: Option<LitStr>,
    /// Columns of `CREATE TABLE`, and what follows its parenthesis.
    pub(crate) columns: Option<LitStr>,
    pub(crate) options: Option<LitStr>,
    pub(crate) allowed: Vec<String>,
    pub(crate) library: Option<LitStr>,
}

/// Attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) front: Vec<String>,
    pub(crate) desc: bool,
    /// Transform of the field, as `("BUCKET", ", '1h'")`.
    pub(crate) transform: Option<(&'static str, String)>,
    pub(crate) and_whole: bool,
    pub(crate) ty: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    /// `true` if there are attributes.
    pub(crate) is_given: bool,
}

/// Returns the attributes `row_key`.
pub(crate) fn struct_attributes(attributes: &[Attribute]) -> Result<StructAttributes> {
    let mut found = StructAttributes::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("row_key")) {
        attribute.parse_nested_meta(|meta| {
            let at = meta.path.get_ident().map(proc_macro2::Ident::span);
            let at = at.unwrap_or_else(proc_macro2::Span::call_site);
            match name(&meta).as_str() {
                "profile" => found.profile = Some(meta.value()?.parse()?),
                "text" => {
                    found.whole =
                        Some((format!("TEXT {}", quoted(&meta.value()?.parse::<LitStr>()?)), at));
                }
                "key" => found.whole = Some((meta.value()?.parse::<LitStr>()?.value(), at)),
                "table" => found.table = Some(meta.value()?.parse()?),
                "columns" => found.columns = Some(meta.value()?.parse()?),
                "options" => found.options = Some(meta.value()?.parse()?),
                "crate" => found.library = Some(meta.value()?.parse()?),
                "allow" => {
                    let content;
                    parenthesized!(content in meta.input);
                    found.allowed.push(content.parse::<LitStr>()?.value());
                }
                _ => {
                    let known = || {
                        meta.error(
                            "expected salt, hash, constant, profile, text, key, table, columns, \
                             options, allow or crate",
                        )
                    };
                    found.front.push(derived(&meta)?.ok_or_else(known)?);
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Returns the attributes `key`.
pub(crate) fn field_attributes(attributes: &[Attribute]) -> Result<FieldAttributes> {
    let mut found = FieldAttributes::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("key")) {
        attribute.parse_nested_meta(|meta| {
            let word = name(&meta);
            found.is_given |= word != "name" && word != "type";
            match word.as_str() {
                "desc" => found.desc = true,
                "and_whole" => found.and_whole = true,
                "type" => found.ty = Some(meta.value()?.parse()?),
                "name" => found.name = Some(meta.value()?.parse()?),
                "reverse" => found.transform = Some(("REVERSE", String::new())),
                "bitrev" => found.transform = Some(("BITREV", String::new())),
                "ipv4" => found.transform = Some(("IPV4", String::new())),
                "trunc" => {
                    found.transform =
                        Some(("TRUNC", format!(", {}", meta.value()?.parse::<LitInt>()?)));
                }
                "dict" => {
                    found.transform =
                        Some(("DICT", format!(", {}", meta.value()?.parse::<LitInt>()?)));
                }
                "bucket" => found.transform = Some(("BUCKET", bucket(meta.value()?)?)),
                _ => {
                    let known = "desc, reverse, bitrev, ipv4, trunc, dict, bucket, and_whole, \
                                 type, name, salt, hash or constant";
                    found.front.push(
                        derived(&meta)?.ok_or_else(|| meta.error(format!("expected {known}")))?,
                    );
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}

fn name(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

/// Parses a duration in quotes, or a number.
fn bucket(value: ParseStream<'_>) -> Result<String> {
    if value.peek(LitInt) {
        return Ok(format!(", {}", value.parse::<LitInt>()?));
    }
    Ok(format!(", {}", quoted(&value.parse::<LitStr>()?)))
}

/// Parses a salt, a hash or a constant; returns `None` for another word.
fn derived(meta: &ParseNestedMeta<'_>) -> Result<Option<String>> {
    Ok(Some(match name(meta).as_str() {
        "constant" => format!("CONST {}", quoted(&meta.value()?.parse::<LitStr>()?)),
        "salt" => {
            let content;
            parenthesized!(content in meta.input);
            let count: LitInt = content.parse()?;
            let mut text = format!("SALT({count}");
            while !content.is_empty() {
                content.parse::<Token![,]>()?;
                let word: syn::Ident = content.parse()?;
                content.parse::<Token![=]>()?;
                let value = content.parse::<LitStr>()?.value();
                match word.to_string().as_str() {
                    "by" => drop(write!(text, " BY {value}")),
                    "using" => drop(write!(text, " USING {value}")),
                    _ => return Err(syn::Error::new(word.span(), "expected by or using")),
                }
            }
            text + ")"
        }
        "hash" => hash(meta)?,
        _ => return Ok(None),
    }))
}

fn hash(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let (mut by, mut rest) = (None, String::new());
    meta.parse_nested_meta(|inner| {
        match name(&inner).as_str() {
            "by" => by = Some(inner.value()?.parse::<LitStr>()?.value()),
            "bytes" => drop(write!(rest, " BYTES {}", inner.value()?.parse::<LitInt>()?)),
            "using" => drop(write!(rest, " USING {}", inner.value()?.parse::<LitStr>()?.value())),
            "hex" => rest.push_str(" HEX"),
            _ => return Err(inner.error("expected by, bytes, using or hex")),
        }
        Ok(())
    })?;
    let by = by.ok_or_else(|| meta.error("a hash says what it is of: by = \"device_id\""))?;
    Ok(format!("HASH({by}{rest})"))
}

fn quoted(literal: &LitStr) -> String {
    format!("'{}'", literal.value().replace('\'', "''"))
}
