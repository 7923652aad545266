//! Rows round trip by name, and errors name what is wrong.

use halite_types::cell::{CellParts, CellType};
use halite_types::{CellsBuilder, Row};

use super::*;
use crate::codec::NoResolver;
use crate::language::Statement;
use crate::language::random::{SeededRng, column, value};

/// Returns the row that a put creates.
fn row_of(put: &Put) -> Row {
    let mut cells: Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> = put
        .mutation()
        .cells()
        .iter()
        .map(|cell| (cell.family().to_vec(), cell.qualifier().to_vec(), cell.value().to_vec()))
        .collect();
    cells.sort();
    let mut built = CellsBuilder::with_capacity(64);
    for (family, qualifier, value) in &cells {
        built.push_parts(CellParts {
            row: put.row(),
            family,
            qualifier,
            timestamp: 1,
            cell_type: CellType::Put,
            value,
            tags: b"",
        });
    }
    Row::new(built.finish())
}

fn codec(columns: &str) -> RecordCodec {
    let text = format!("CREATE TABLE t ({columns}, ROW KEY (id STRING, n U8))");
    match text.parse() {
        Ok(Statement::CreateTable(table)) => RecordCodec::new(&table).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn put(codec: &RecordCodec, given: &[&str]) -> Result<Put, String> {
    let values = given.iter().map(|text| codec.parse(text)).collect::<Result<Vec<_>, _>>()?;
    codec.put(&values, &NoResolver)
}

#[test]
fn random_rows_round_trip() {
    let names = ["a", "b", "c", "odd name"];
    let mut rows = 0;
    for case in 0..10_000 {
        let mut chance = SeededRng::new(case);
        let mut table = match "CREATE TABLE t (ROW KEY (id U64))".parse() {
            Ok(Statement::CreateTable(table)) => table,
            other => panic!("{other:?}"),
        };
        table.columns = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let column = column(&mut chance, name, "d");
                match column.ty {
                    ColumnType::Map { .. } => column.qualified(format!("m{at}")),
                    _ => column,
                }
            })
            .collect();
        let codec = RecordCodec::new(&table).unwrap();
        let mut values = vec![(Place::Field(0), Value::Unsigned(case))];
        for (at, column) in table.columns.iter().enumerate() {
            let place = match column.ty {
                ColumnType::Map { key, .. } => {
                    let key_codec = CellCodec::new(key, column.encoding).unwrap();
                    let Ok(key) = key_codec.encode(&value(&mut chance, key)) else { continue };
                    Place::Entry(at, [format!("m{at}").as_bytes(), &key].concat().into())
                }
                _ => Place::Column(at),
            };
            let value = value(&mut chance, codec.ty(&place));
            if column.codec().unwrap().encode(&value).is_ok() {
                values.push((place, value));
            }
        }
        let Ok(put) = codec.put(&values, &NoResolver) else { continue };
        rows += 1;
        let row = row_of(&put);
        let record = codec.decode(&row, &NoResolver);
        assert_eq!(record.key.as_ref().unwrap().get(0), Some(&Value::Unsigned(case)));
        for (place, value) in values.iter().skip(1) {
            let found = record.cells.iter().find(|cell| cell.place.as_ref() == Some(place));
            let found = found.unwrap_or_else(|| panic!("case {case}: {}", codec.name(place)));
            assert!(found.value.as_ref().unwrap().compare(value).is_eq(), "case {case}");
        }
    }
    assert!(rows > 5_000, "{rows}");
}

#[test]
fn values_are_given_by_name_and_defaults_are_written() {
    let codec = codec(
        "v I32, state STRING NOT NULL DEFAULT 'new', m MAP(STRING, DOUBLE) FAMILY m PREFIX 'p:', \
         price DECIMAL(5, 2) QUALIFIER x'800b' FAMILY d",
    );
    let put = put(&codec, &["id=a", "n=1", "v=-5", "m['x y']=1.5", "price=2.5"]).unwrap();
    let row = row_of(&put);
    assert_eq!(row.key(), b"a\0\x01\x01");
    assert_eq!(row.value("d", "v"), Some(&[0xff, 0xff, 0xff, 0xfb][..]));
    assert_eq!(row.value("d", "state"), Some(&b"new"[..]));
    assert_eq!(row.value("m", "p:x y"), Some(&1.5f64.to_be_bytes()[..]));
    assert_eq!(row.value("d", [0x80, 0x0b]), Some(&[0, 0, 0, 2, 0, 0xfa][..]));
    let record = codec.decode(&row, &NoResolver);
    assert_eq!(record.value(0), Ok(Some(&Value::Signed(-5))));
    let names: Vec<String> =
        record.cells.iter().map(|cell| codec.name(cell.place.as_ref().unwrap())).collect();
    assert_eq!(names, ["state", "v", "price", "m[x y]"]);
}

#[test]
fn a_bad_cell_leaves_the_others_readable() {
    let codec = codec("v I32, w I32");
    let mut cells = CellsBuilder::with_capacity(64);
    for (qualifier, value) in [("other", &b"x"[..]), ("v", b"20"), ("w", &[0, 0, 0, 7])] {
        cells.push_parts(CellParts {
            row: b"no key",
            family: b"d",
            qualifier: qualifier.as_bytes(),
            timestamp: 1,
            cell_type: CellType::Put,
            value,
            tags: b"",
        });
    }
    let row = Row::new(cells.finish());
    let record = codec.decode(&row, &NoResolver);
    assert!(record.key.is_err());
    assert_eq!(record.cells[0].place, None);
    assert!(record.value(0).unwrap_err().to_string().contains("ENCODING TEXT reads it"));
    assert_eq!(record.value(1), Ok(Some(&Value::Signed(7))));
}

#[test]
fn errors_name_what_is_wrong_and_the_fix() {
    let codec = codec("value I32, state STRING NOT NULL FAMILY d, m MAP(U8, U8) FAMILY m");
    let error = |given: &[&str]| put(&codec, given).unwrap_err();
    let cases: &[(&[&str], &str)] = &[
        (&["vlaue=1"], "did you mean value? there are id, n, value, state, m"),
        (&["value"], "a value is given as NAME=VALUE"),
        (&["value=x"], "value: \"x\" is no I32; a number is wanted"),
        (&["value=1", "value=2"], "value is given twice"),
        (&["id=a", "n=1", "value=1"], "state is NOT NULL; give it a value: state=.."),
        (&["id=a", "state=x"], "field n: segment 2"),
        (&["m=1"], "m is a MAP; name one of its cells, as in m[KEY]"),
        (&["m[256]=1"], "m[256]: 256 is outside of U8"),
        (&["value[1]=1"], "value is no MAP; leave [1] out"),
    ];
    for (given, expected) in cases {
        let said = error(given);
        assert!(said.contains(expected), "{said}");
    }
    let loose = self::codec("v I32");
    assert!(put(&loose, &["id=a", "n=1", "v=null"]).unwrap_err().contains("none is given"));
}
