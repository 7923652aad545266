//! Generated code for a struct.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Lifetime};

use crate::declare::Declared;

/// Returns the impls of the struct and its scan builder.
pub(crate) fn expand(input: &DeriveInput, declared: &Declared<'_>) -> TokenStream {
    let library = library(declared);
    let key = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let lifetime = input.generics.lifetimes().next().map_or_else(
        || quote!('key),
        |lifetime| {
            let lifetime = &lifetime.lifetime;
            quote!(#lifetime)
        },
    );
    // A struct without a lifetime owns its values, so its decoder accepts any lifetime.
    let decoder =
        if input.generics.lifetimes().next().is_some() { quote!() } else { quote!(<'key>) };
    let text = declared.schema.to_text();
    let fingerprint = declared.schema.fingerprint();
    let table = declared.attributes.table.as_ref().map(|table| {
        quote! {
            /// Table of the key.
            pub const TABLE: &'static str = #table;
        }
    });
    let create = declared.create.as_ref().map(|create| {
        quote! {
            /// Statement that creates the table.
            pub const CREATE_TABLE: &'static str = #create;
        }
    });
    let names: Vec<&Ident> =
        declared.fields.iter().filter_map(|(field, _)| field.ident.as_ref()).collect();
    let ids = 0..names.len();
    let visibility = &input.vis;
    let scan = format_ident!("{key}Scan");
    let builder = builder(input, declared, &library, &scan);
    let warnings = warnings(declared);
    let first = format!("The row key as it is declared: `{text}`.");
    quote! {
        #warnings
        impl #generics #key #arguments #conditions {
            #[doc = #first]
            pub const SCHEMA: &'static str = #text;
            /// Fingerprint of the declaration.
            pub const FINGERPRINT: u64 = #fingerprint;
            #table
            #create

            /// Returns the parsed declaration.
            pub fn schema() -> &'static ::std::sync::Arc<#library::KeySchema> {
                static SCHEMA: ::std::sync::OnceLock<::std::sync::Arc<#library::KeySchema>> = ::std::sync::OnceLock::new();
                SCHEMA.get_or_init(|| #library::typed::declared(#text))
            }

            /// Encodes this key.
            ///
            /// # Errors
            /// As `KeySchema::encode`.
            pub fn encode(&self) -> ::std::result::Result<#library::KeyBuf, #library::KeyError> {
                Self::schema().encode(&[#(#library::typed::ToValue::to_value(&self.#names)),*])
            }

            /// Decodes a key.
            ///
            /// # Errors
            /// As `KeySchema::decode`, and text that cannot be borrowed.
            pub fn decode #decoder (key: &#lifetime [u8]) -> ::std::result::Result<Self, #library::KeyError> {
                let schema = Self::schema();
                let mut values = schema.decode(key)?.into_values();
                #(let #names = #library::typed::field(schema, #ids, &mut values)?;)*
                ::std::result::Result::Ok(Self { #(#names),* })
            }

            /// Creates a query of all keys; its methods are the fields, from left to right.
            #visibility fn scan() -> #scan<0> {
                #scan(#library::typed::TypedScan::new(Self::schema()))
            }
        }
        #builder
    }
}

fn library(declared: &Declared<'_>) -> TokenStream {
    let path = declared.attributes.library.as_ref().and_then(|path| path.parse::<syn::Path>().ok());
    path.map_or_else(|| quote!(::halite::rowkey), |path| quote!(#path))
}

/// Generated code can only warn through `#[deprecated]`: the compiler prints its note.
fn warnings(declared: &Declared<'_>) -> TokenStream {
    let notes = &declared.warnings;
    quote! {
        #(const _: () = {
            #[deprecated(note = #notes)]
            #[allow(non_upper_case_globals)]
            const row_key: () = ();
            row_key
        };)*
    }
}

/// Generates the builder: its parameter is the first field that may be named next.
fn builder(
    input: &DeriveInput,
    declared: &Declared<'_>,
    library: &TokenStream,
    scan: &Ident,
) -> TokenStream {
    let visibility = &input.vis;
    let about = format!("A question about [`{}`] keys.", input.ident);
    let lifetimes: Vec<&Lifetime> =
        input.generics.lifetimes().map(|lifetime| &lifetime.lifetime).collect();
    let steps = (0..declared.fields.len()).map(|from| {
        let methods = declared.fields.iter().enumerate().skip(from).map(|(id, (field, known))| {
            let (name, ty, next) = (&field.ident, known.inner, id + 1);
            let doc = format!(
                "Says what `{}` is: a value, a range, a list.",
                declared.schema.fields()[id].name
            );
            let null = known.nullable.then(|| {
                let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
                let name = format_ident!("{}_is_null", name.trim_start_matches("r#"));
                quote! {
                    /// Requires a null value.
                    #visibility fn #name(self) -> #scan<#next> {
                        #scan(self.0.change(|query| query.with(#id, #library::Predicate::IsNull)))
                    }
                }
            });
            quote! {
                #[doc = #doc]
                #visibility fn #name<#(#lifetimes),*>(self, test: impl #library::typed::IntoPredicate<#ty>) -> #scan<#next> {
                    #scan(self.0.with::<#ty>(#id, test))
                }
                #null
            }
        });
        quote! {
            #[allow(dead_code)]
            impl #scan<#from> {
                #(#methods)*
            }
        }
    });
    quote! {
        #[doc = #about]
        #[derive(Clone, Debug)]
        #[must_use]
        #visibility struct #scan<const FIELD: usize>(#library::typed::TypedScan);

        #(#steps)*

        #[allow(dead_code)]
        impl<const FIELD: usize> #scan<FIELD> {
            /// Scans from the last key to the first.
            #visibility fn reverse(self) -> Self {
                Self(self.0.change(|query| query.reverse(true)))
            }

            /// Returns at most this many rows.
            #visibility fn limit(self, rows: usize) -> Self {
                Self(self.0.change(|query| query.limit(rows)))
            }

            /// Permits rows in any order.
            #visibility fn unordered(self) -> Self {
                Self(self.0.change(|query| query.ordered(false)))
            }

            /// Returns the query.
            #visibility fn query(&self) -> &#library::KeyQuery {
                self.0.query()
            }

            /// Returns the plan of the query.
            ///
            /// # Errors
            /// As `Plan::new`.
            #visibility fn plan(&self) -> ::std::result::Result<#library::Plan, #library::PlanError> {
                self.0.plan()
            }

            /// Returns the rows of a table that match the query.
            ///
            /// # Errors
            /// As `Plan::new` and `Scatter::new`.
            #visibility fn rows(&self, table: ::std::sync::Arc<dyn #library::typed::Table>) -> #library::typed::Result<#library::Scatter> {
                self.0.rows(table)
            }

            /// Reads the page of a table after the one that ended at `after`; its limit is the
            /// query's.
            ///
            /// # Errors
            /// As `Plan::new` and `Page::read`.
            #visibility async fn read_page(
                &self,
                table: ::std::sync::Arc<dyn #library::typed::Table>,
                after: ::std::option::Option<&#library::typed::PageToken>,
            ) -> #library::typed::Result<#library::typed::Page> {
                self.0.read_page(table, after).await
            }
        }
    }
}
