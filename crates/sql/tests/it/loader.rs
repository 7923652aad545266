//! Rows that another program wrote: `LOAD INTO t (columns) VALUES (..), ..` is put through the API. A
//! column `"f:q"` is a cell as it is, `_row` the bytes of the key.

use halite::rowkey::language::{ColumnType, TableDeclaration};
use halite::rowkey::value::{FieldType, Value};
use halite::{BlockingCluster, Put};

/// Returns `true` for text that [`load`] reads.
pub(crate) fn is_load(text: &str) -> bool {
    text.trim_start().starts_with("LOAD INTO ")
}

/// Puts the rows and returns their number.
pub(crate) fn load(store: &BlockingCluster, text: &str) -> usize {
    let rest = text.trim().strip_prefix("LOAD INTO ").expect("a load");
    let (head, values) = rest.split_once("VALUES").expect("VALUES");
    let (name, columns) = head.split_once('(').expect("columns");
    let name = name.trim();
    let columns: Vec<&str> = columns
        .trim()
        .trim_end_matches(')')
        .split(',')
        .map(|column| column.trim().trim_matches('"'))
        .collect();
    let table = store.table(name).expect("a table");
    let descriptor = store.descriptor(name).expect("a descriptor");
    let declaration = TableDeclaration::from_descriptor(&descriptor).map(|one| one.expect("a key"));
    let rows = rows_of(values);
    for row in &rows {
        let put = put_of(declaration.as_ref(), &columns, row);
        table.put(put).expect("a put");
    }
    rows.len()
}

fn put_of(declaration: Option<&TableDeclaration>, columns: &[&str], row: &[Literal]) -> Put {
    let given = |name: &str| columns.iter().position(|column| *column == name).map(|at| &row[at]);
    let key = if let Some(literal) = given("_row") {
        literal.bytes()
    } else {
        let key = &declaration.expect("a declared key").key;
        let values: Vec<Value<'static>> = key
            .fields()
            .iter()
            .map(|field| given(&field.name).expect("every field").value(field.ty))
            .collect();
        key.encode(&values).expect("a key").to_vec()
    };
    let mut put = Put::new(key);
    for (name, literal) in columns.iter().zip(row) {
        if matches!(literal, Literal::Null) {
            continue;
        }
        if let Some((family, qualifier)) = name.split_once(':') {
            put = put.add(family, qualifier, literal.bytes());
            continue;
        }
        let column =
            declaration.and_then(|one| one.columns.iter().find(|column| column.name == *name));
        if let Some(column) = column {
            let ColumnType::Value(ty) = &column.ty else { panic!("{name} is a SERIES") };
            let bytes = java_bytes(*ty, &literal.value(*ty));
            put = put.add(column.family.clone(), column.qualifier.clone(), bytes);
        }
    }
    put
}

#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Null,
    Text(String),
    Bytes(Vec<u8>),
}

impl Literal {
    fn value(&self, ty: FieldType) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => ty.parse(text).expect("a value of the type"),
            Self::Bytes(bytes) => Value::Bytes(bytes.clone().into()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// What Java's `Bytes.toBytes` writes.
fn java_bytes(ty: FieldType, value: &Value<'_>) -> Vec<u8> {
    let width = ty.fixed_bytes().unwrap_or_default();
    match value {
        Value::Bool(value) => vec![if *value { 0xff } else { 0 }],
        Value::Unsigned(number) => number.to_be_bytes()[8 - width..].to_vec(),
        Value::Signed(number) => number.to_be_bytes()[8 - width..].to_vec(),
        Value::F32(number) => number.to_be_bytes().to_vec(),
        Value::F64(number) => number.to_be_bytes().to_vec(),
        Value::Text(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Uuid(bytes) => bytes.to_vec(),
        Value::Ipv4(address) => address.octets().to_vec(),
        Value::Ipv6(address) => address.octets().to_vec(),
        Value::Decimal(number) => {
            let scale = (-number.exponent()).to_be_bytes();
            let digits = number.coefficient().to_be_bytes();
            // Java writes no more bytes than the sign needs.
            let is_sign = |pair: &[u8]| {
                pair[0] == 0 && pair[1] & 0x80 == 0 || pair[0] == 0xff && pair[1] & 0x80 != 0
            };
            let skipped = digits.windows(2).take_while(|pair| is_sign(pair)).count();
            [&scale[..], &digits[skipped..]].concat()
        }
        Value::Null => Vec::new(),
    }
}

/// Returns the rows of `(..), (..)`.
fn rows_of(text: &str) -> Vec<Vec<Literal>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => row = Vec::new(),
            ')' => rows.push(std::mem::take(&mut row)),
            '\'' => row.push(Literal::Text(quoted(&mut letters))),
            'x' if letters.peek() == Some(&'\'') => {
                letters.next();
                row.push(Literal::Bytes(hex(&quoted(&mut letters))));
            }
            ',' | ';' => {}
            letter if letter.is_whitespace() => {}
            letter => {
                let mut word = String::from(letter);
                while let Some(next) = letters.next_if(|next| !",)".contains(*next)) {
                    word.push(next);
                }
                let word = word.trim();
                row.push(match word {
                    "NULL" => Literal::Null,
                    word => Literal::Text(word.to_owned()),
                });
            }
        }
    }
    rows
}

fn quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
            return text;
        }
        text.push(letter);
    }
    panic!("a quote is open: {text}")
}

fn hex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal digits"))
        .collect()
}
