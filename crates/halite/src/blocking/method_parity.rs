//! The synchronous calls are complete: every method of the traits has one of the same name here.

const TRAITS: &str = include_str!("../../../types/src/table.rs");

/// Returns the names of the functions that begin with `start` in the block that `head` opens.
fn functions<'a>(source: &'a str, head: &str, start: &str) -> Vec<&'a str> {
    let (_, block) = source.split_once(head).expect("the block exists");
    let (block, _) = block.split_once("\n}\n").expect("the block ends");
    block
        .lines()
        .filter_map(|line| line.strip_prefix(start))
        .filter_map(|line| line.split(['(', '<']).next())
        .collect()
}

/// Returns the methods of the trait that are no method of the type.
fn missing(trait_name: &str, source: &str, type_name: &str) -> Vec<String> {
    let declared = functions(TRAITS, &format!("pub trait {trait_name}: "), "    fn ");
    let present = functions(source, &format!("impl {type_name} {{"), "    pub fn ");
    assert!(declared.len() >= 2 && present.len() >= 10, "{declared:?} {present:?}");
    // `blocking_` methods serve these types; their names here are those without it.
    let name = |method: &str| method.strip_prefix("blocking_").unwrap_or(method).to_owned();
    declared.into_iter().map(name).filter(|method| !present.contains(&&**method)).collect()
}

#[test]
fn cluster_calls_have_blocking_equivalents() {
    let source = include_str!("cluster.rs");
    assert_eq!(missing("Cluster", source, "BlockingCluster"), [""; 0]);
    assert_eq!(missing("Admin", source, "BlockingCluster"), [""; 0]);
}

#[test]
fn table_calls_have_blocking_equivalents() {
    let source = include_str!("table.rs");
    assert_eq!(missing("Table", source, "BlockingTable"), [""; 0]);
    assert_eq!(missing("TableExt", source, "BlockingTable"), [""; 0]);
}
