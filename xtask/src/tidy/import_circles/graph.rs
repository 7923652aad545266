//! Groups of nodes that reach each other: Tarjan's algorithm for strongly connected components.

use std::collections::{BTreeMap, BTreeSet};

/// Returns each group of at least two nodes that reach each other.
pub(super) fn circles<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let mut search = Search { edges, visited: BTreeMap::new(), stack: Vec::new(), found: vec![] };
    for node in edges.keys() {
        if !search.visited.contains_key(node) {
            search.visit(node);
        }
    }
    search.found
}

struct Search<'a, 'e> {
    edges: &'e BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Order in which each node was first seen.
    visited: BTreeMap<&'a str, usize>,
    /// Nodes that may still become part of a group.
    stack: Vec<&'a str>,
    found: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'a, '_> {
    /// Returns the earliest node on the stack that this one reaches.
    fn visit(&mut self, node: &'a str) -> usize {
        let order = self.visited.len();
        self.visited.insert(node, order);
        let position = self.stack.len();
        self.stack.push(node);
        let mut earliest = order;
        for target in self.edges.get(node).into_iter().flatten() {
            match self.visited.get(target) {
                None => earliest = earliest.min(self.visit(target)),
                Some(order) if self.stack.contains(target) => earliest = earliest.min(*order),
                Some(_) => {}
            }
        }
        if earliest == order {
            let group: BTreeSet<_> = self.stack.drain(position..).collect();
            if group.len() > 1 {
                self.found.push(group);
            }
        }
        earliest
    }
}
