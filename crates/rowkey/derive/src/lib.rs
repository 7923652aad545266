//! `#[derive(RowKey)]`: a struct with the fields of a row key, whose attributes contain the
//! declaration.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod attributes;
mod declare;
mod expand;
mod types;

use proc_macro::TokenStream;

/// Implements the key of a table for a struct: its declaration as text, encoding, decoding, and a
/// builder of scans.
///
/// ```
/// # use halite_rowkey::typed::TsMillis;
/// # use halite_rowkey_derive::RowKey;
/// #[derive(RowKey)]
/// # #[row_key(crate = "halite_rowkey")]
/// #[row_key(table = "sensor_data", salt(16, by = "device_id"))]
/// struct SensorKey<'a> {
///     device_id: &'a str,
///     #[key(desc)]
///     ts: TsMillis,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = SensorKey { device_id: "s1", ts: TsMillis(1_710_460_800_000) }.encode()?;
/// assert_eq!(SensorKey::decode(&key)?.device_id, "s1");
/// let of_one = SensorKey::scan().device_id("s1").ts(TsMillis(0)..);
/// let of_all = SensorKey::scan().ts(TsMillis(0)..);
/// assert_eq!((of_one.plan()?.fan_out(), of_all.plan()?.fan_out()), (1, 16));
/// # Ok(())
/// # }
/// ```
///
/// | on the struct, `row_key(..)` | in the language |
/// |---|---|
/// | `salt(16, by = "a, b", using = "md5")` | `SALT(16 BY a, b USING md5)` in front |
/// | `hash(by = "a", bytes = 4, using = "md5", hex)` | `HASH(a BYTES 4 USING md5 HEX)` in front |
/// | `constant = "x"` | `CONST 'x'` in front |
/// | `profile = "ordered"` | `PROFILE ORDERED` |
/// | `text = "{a}_{b:10}"` | `ROW KEY TEXT '{a}_{b:10}'`; fields then have no attributes |
/// | `key = "(SALT(16), a STRING)"` | `ROW KEY (SALT(16), a STRING)`, as it is; the same |
/// | `table = "t"` | the constant `TABLE` |
/// | `columns = "a STRING FAMILY f"`, `options = "WITH (TTL = 60) SPLIT BY SALT"` | the constant `CREATE_TABLE`: `CREATE TABLE t (a STRING FAMILY f, ROW KEY ..) WITH ..` |
/// | `allow("K-MONO")` | `-- lint:allow K-MONO` |
/// | `crate = "halite_rowkey"` | path of the library; default: `halite::rowkey` |
///
/// | on a field, `key(..)` | in the language |
/// |---|---|
/// | `desc` | `DESC` |
/// | `reverse`, `bitrev`, `ipv4`, `trunc = 8`, `dict = 3`, `bucket = "1h"` | `REVERSE(a)` and so on; followed by `and_whole`, `a` itself follows |
/// | `type = "CHAR(11)"` | the type, where the Rust type leaves a choice |
/// | `name = "ts"` | the name, if it is not the field's |
/// | `salt(..)`, `hash(..)`, `constant = ".."` | the same as on the struct, in front of this field |
///
/// An `Option` is `NULLABLE`. The struct gets `SCHEMA` (the canonical text), `FINGERPRINT`,
/// `schema()`, `encode()`, `decode(key)` and `scan()`, whose methods are the fields, from left to
/// right; each takes a value, a range, a list or a `Prefix`. Invalid declarations are compile
/// errors, and a key with a hot spot according to lint (K-MONO) is a warning.
#[proc_macro_derive(RowKey, attributes(row_key, key))]
pub fn row_key(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    let expanded = declare::declare(&input).map(|declared| expand::expand(&input, &declared));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
