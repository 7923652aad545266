//! Conversion of a struct and its attributes to a schema: the text of the declaration, parsed as
//! any other text.

use std::fmt::Write as _;

use halite_rowkey::internals::{HotEnd, salted};
use halite_rowkey::{KeySchema, SegmentKind};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Result};

use crate::attributes::{FieldAttributes, StructAttributes, field_attributes, struct_attributes};
use crate::types::{RustType, classify};

/// Struct with a declared key.
pub(crate) struct Declared<'i> {
    pub(crate) attributes: StructAttributes,
    pub(crate) schema: KeySchema,
    /// `CREATE TABLE` statement, if the attributes have columns or options.
    pub(crate) create: Option<String>,
    /// Rust fields in the order of the schema's fields.
    pub(crate) fields: Vec<(&'i Field, RustType<'i>)>,
    /// Warnings about the key.
    pub(crate) warnings: Vec<String>,
}

/// Lint rule about keys with a hot end, which does not depend on the queries of a table, so that a
/// struct is sufficient.
const HOT_END: &str = "K-MONO";

/// Parses the struct.
pub(crate) fn declare(input: &DeriveInput) -> Result<Declared<'_>> {
    let fields = named(input)?;
    let on_struct = struct_attributes(&input.attrs)?;
    let mut looked = Vec::new();
    for field in fields {
        looked.push((field, field_attributes(&field.attrs)?, classify(&field.ty)));
    }
    let (text, at) = match &on_struct.whole {
        Some((whole, at)) => {
            (format!("ROW KEY {}", whole.trim_start().trim_start_matches("ROW KEY")), *at)
        }
        None => (text_of(&on_struct, &looked)?, input.ident.span()),
    };
    let schema: KeySchema = text
        .parse()
        .map_err(|error: halite_rowkey::LanguageError| Error::new(at, error.render(&text)))?;
    let fields = arrange(&on_struct, &schema, looked, at)?;
    let is_allowed = on_struct.allowed.iter().any(|rule| rule == HOT_END);
    let warnings = HotEnd::of_key(&schema)
        .filter(|_| !is_allowed)
        .map(|hot| format!("{HOT_END}: {hot} ({})", salted(&schema)))
        .into_iter()
        .collect();
    let create = create_table(&on_struct, &schema)?;
    Ok(Declared { attributes: on_struct, schema, create, fields, warnings })
}

/// Returns the statement that creates the table of the key, which is verified as any other text.
fn create_table(on_struct: &StructAttributes, schema: &KeySchema) -> Result<Option<String>> {
    let Some(given) = on_struct.columns.as_ref().or(on_struct.options.as_ref()) else {
        return Ok(None);
    };
    let Some(table) = &on_struct.table else {
        return Err(Error::new(given.span(), "columns and options are those of a table = \"..\""));
    };
    let value = |text: &Option<syn::LitStr>| text.as_ref().map(syn::LitStr::value);
    let columns = value(&on_struct.columns).map(|columns| format!("  {},\n", columns.trim()));
    let options = value(&on_struct.options).map(|options| format!(" {}", options.trim()));
    let text = format!(
        "CREATE TABLE {} (\n{}  {}\n){};\n",
        table.value(),
        columns.unwrap_or_default(),
        schema.to_text(),
        options.unwrap_or_default()
    );
    match halite_rowkey::language::statements(&text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(Error::new(given.span(), error.render(&text))),
    }
}

fn named(input: &DeriveInput) -> Result<impl Iterator<Item = &Field>> {
    let refuse = |reason: &str| {
        Err(Error::new(
            input.ident.span(),
            format!("a row key is a struct with named fields, {reason}"),
        ))
    };
    if input.generics.type_params().next().is_some()
        || input.generics.const_params().next().is_some()
        || input.generics.lifetimes().count() > 1
    {
        return refuse("without parameters but one lifetime");
    }
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter()),
            _ => refuse("at least one of them"),
        },
        _ => refuse("no enum and no union"),
    }
}

fn text_of(
    on_struct: &StructAttributes,
    fields: &[(&Field, FieldAttributes, RustType<'_>)],
) -> Result<String> {
    let mut segments = on_struct.front.clone();
    for (field, on_field, known) in fields {
        segments.extend(on_field.front.iter().cloned());
        segments.extend(segments_of(field, on_field, known)?);
    }
    let mut text = format!("ROW KEY ({})", segments.join(", "));
    if let Some(profile) = &on_struct.profile {
        let _ = write!(text, " PROFILE {}", profile.value());
    }
    Ok(text)
}

/// Returns the segments of one field: the field itself, its transform, or both.
fn segments_of(
    field: &Field,
    on_field: &FieldAttributes,
    known: &RustType<'_>,
) -> Result<Vec<String>> {
    let name = format!("\"{}\"", name_of(field, on_field).replace('"', "\"\""));
    let said = on_field.ty.as_ref().map(syn::LitStr::value);
    let Some(ty) = said.or_else(|| known.text.clone()) else {
        return Err(Error::new(
            field.ty.span(),
            "the key needs to know what this is: #[key(type = \"STRING\")], or another type of the \
             language",
        ));
    };
    let suffix = format!(
        "{}{}",
        if on_field.desc { " DESC" } else { "" },
        if known.nullable { " NULLABLE" } else { "" }
    );
    Ok(match &on_field.transform {
        None => vec![format!("{name} {ty}{suffix}")],
        // Text addresses have only one type.
        Some(("IPV4", _)) => vec![format!("IPV4({name}){suffix}")],
        Some((function, arguments)) => {
            let part = format!("{function}({name}{arguments}) {ty}{suffix}");
            let whole = on_field.and_whole.then(|| format!("{name} {ty}{suffix}"));
            [Some(part), whole].into_iter().flatten().collect()
        }
    })
}

fn name_of(field: &Field, on_field: &FieldAttributes) -> String {
    let own = || {
        field
            .ident
            .as_ref()
            .map(|name| name.to_string().trim_start_matches("r#").to_owned())
            .unwrap_or_default()
    };
    on_field.name.as_ref().map_or_else(own, syn::LitStr::value)
}

/// Returns the Rust fields in the order of the schema's fields, each classified again.
fn arrange<'i>(
    on_struct: &StructAttributes,
    schema: &KeySchema,
    fields: Vec<(&'i Field, FieldAttributes, RustType<'i>)>,
    at: Span,
) -> Result<Vec<(&'i Field, RustType<'i>)>> {
    let mut places: Vec<Option<(&'i Field, RustType<'i>)>> =
        schema.fields().iter().map(|_| None).collect();
    for (field, on_field, known) in fields {
        let name = name_of(field, &on_field);
        let Some(id) = schema.field_id(&name) else {
            return Err(Error::new(field.span(), format!("the key has no field {name}")));
        };
        if on_struct.whole.is_some() && on_field.is_given {
            return Err(Error::new(
                field.span(),
                "the key is declared on the struct as a whole; leave this out",
            ));
        }
        check(schema, id, &known, field)?;
        places[id] = Some((field, known));
    }
    let missing = schema.fields().iter().zip(&places).find(|(_, place)| place.is_none());
    if let Some((field, _)) = missing {
        return Err(Error::new(
            at,
            format!("the struct has no field {}, which the key has", field.name),
        ));
    }
    Ok(places.into_iter().flatten().collect())
}

fn check(schema: &KeySchema, id: usize, known: &RustType<'_>, field: &Field) -> Result<()> {
    let ty = schema.fields()[id].ty.to_string();
    if known.text.as_ref() != Some(&ty) && !known.others.iter().any(|other| ty.starts_with(other)) {
        return Err(Error::new(
            field.ty.span(),
            format!("the key has a {ty} here, which this type cannot hold"),
        ));
    }
    let holder = schema.segments().iter().filter(|segment| segment.kind.field() == Some(id));
    let mut holder = holder.peekable();
    if holder.peek().is_none() && !known.nullable {
        return Err(Error::new(
            field.ty.span(),
            "only a hash holds this field, so it is not read back: make it an Option",
        ));
    }
    let as_it_is = |segment: &halite_rowkey::Segment| {
        matches!(segment.kind, SegmentKind::Plain(_)) && segment.order == halite_rowkey::Order::Asc
    };
    if known.borrows && !holder.clone().any(as_it_is) {
        return Err(Error::new(
            field.ty.span(),
            "this does not stand in the key as it is and cannot be borrowed: make it a String, a \
             Vec or a Cow",
        ));
    }
    let nullable = holder.any(|segment| segment.nullable);
    if nullable && !known.nullable {
        return Err(Error::new(field.ty.span(), "the key has NULLABLE here: make it an Option"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn refused(input: &DeriveInput) -> String {
        declare(input).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn language_errors_are_reported_unchanged() {
        let said = refused(&parse_quote!(
            #[row_key(salt(16, by = "divice"))]
            struct Key {
                device: String,
            }
        ));
        assert!(
            said.contains("divice is no column of the key")
                && said.contains("^^^^^^ did you mean device?"),
            "{said}"
        );
        let said = refused(&parse_quote!(
            struct Key {
                #[key(type = "STRNG")]
                device: String,
            }
        ));
        assert!(said.contains("did you mean STRING?"), "{said}");
    }

    #[test]
    fn unsuitable_field_types_are_rejected() {
        let cases: [(DeriveInput, &str); 8] = [
            (
                parse_quote!(
                    struct K {
                        a: Mine,
                    }
                ),
                "needs to know what this is",
            ),
            (
                parse_quote!(
                    struct K {
                        #[key(type = "I64")]
                        a: u64,
                    }
                ),
                "the key has a I64 here",
            ),
            (
                parse_quote!(
                    struct K<'a> {
                        #[key(desc)]
                        a: &'a str,
                    }
                ),
                "cannot be borrowed",
            ),
            (
                parse_quote!(
                    #[row_key(key = "(a STRING NULLABLE)")]
                    struct K {
                        a: String,
                    }
                ),
                "make it an Option",
            ),
            (
                parse_quote!(
                    #[row_key(key = "(HASH(a STRING), b U8)")]
                    struct K {
                        a: String,
                        b: u8,
                    }
                ),
                "only a hash holds this field",
            ),
            (
                parse_quote!(
                    #[row_key(key = "(a STRING, b U8)")]
                    struct K {
                        a: String,
                    }
                ),
                "the struct has no field b",
            ),
            (
                parse_quote!(
                    #[row_key(key = "(a STRING)")]
                    struct K {
                        a: String,
                        b: u8,
                    }
                ),
                "the key has no field b",
            ),
            (
                parse_quote!(
                    #[row_key(key = "(a STRING)")]
                    struct K {
                        #[key(desc)]
                        a: String,
                    }
                ),
                "leave this out",
            ),
        ];
        for (input, expected) in cases {
            let said = refused(&input);
            assert!(said.contains(expected), "wanted {expected:?}: {said}");
        }
    }

    #[test]
    fn only_structs_with_named_fields_and_one_lifetime_derive() {
        let cases: [DeriveInput; 5] = [
            parse_quote!(
                enum K {
                    A,
                }
            ),
            parse_quote!(
                struct K(u8);
            ),
            parse_quote!(
                struct K {}
            ),
            parse_quote!(
                struct K<T> {
                    a: T,
                }
            ),
            parse_quote!(
                struct K<'a, 'b> {
                    a: &'a str,
                    b: &'b str,
                }
            ),
        ];
        for input in cases {
            assert!(refused(&input).contains("a row key is a struct with named fields"));
        }
    }

    #[test]
    fn hot_key_warns_unless_allowed() {
        let hot: DeriveInput = parse_quote!(
            struct K {
                ts: TsMillis,
                host: String,
            }
        );
        let warned = declare(&hot).map(|declared| declared.warnings).unwrap_or_default();
        assert!(warned.len() == 1 && warned[0].starts_with("K-MONO: "), "{warned:?}");
        let quiet: [DeriveInput; 2] = [
            parse_quote!(
                #[row_key(allow("K-MONO"))]
                struct K {
                    ts: TsMillis,
                    host: String,
                }
            ),
            parse_quote!(
                #[row_key(salt(16, by = "host"))]
                struct K {
                    host: String,
                    ts: TsMillis,
                }
            ),
        ];
        for input in quiet {
            assert_eq!(
                declare(&input).map(|declared| declared.warnings).unwrap_or_default(),
                Vec::<String>::new()
            );
        }
    }
}
