//! What a session keeps by name, and the bytes that it has.

use std::collections::HashMap;

/// Statements or portals by name.
pub(super) struct Kept<T> {
    items: HashMap<String, (T, usize)>,
    bytes: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { items: HashMap::new(), bytes: 0 }
    }
}

impl<T> Kept<T> {
    /// Returns the bytes of all.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of one; 0 if it is not there.
    pub(super) fn bytes_of(&self, name: &str) -> usize {
        self.items.get(name).map_or(0, |(_, bytes)| *bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.items.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.items.get(name).map(|(item, _)| item)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.items.get_mut(name).map(|(item, _)| item)
    }

    /// Keeps an item, which has `bytes` bytes besides its name.
    pub(super) fn insert(&mut self, name: String, item: T, bytes: usize) {
        self.remove(&name);
        let bytes = bytes.saturating_add(name.len());
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.insert(name, (item, bytes));
    }

    /// Counts `more` bytes for an item in place of `less`.
    pub(super) fn recount(&mut self, name: &str, less: usize, more: usize) {
        if let Some((_, bytes)) = self.items.get_mut(name) {
            let changed = |bytes: usize| bytes.saturating_sub(less).saturating_add(more);
            (*bytes, self.bytes) = (changed(*bytes), changed(self.bytes));
        }
    }

    /// Returns all, in no order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.items.iter_mut().map(|(name, (item, _))| (name.as_str(), item))
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let (item, bytes) = self.items.remove(name)?;
        self.bytes = self.bytes.saturating_sub(bytes);
        Some(item)
    }

    /// Forgets those for which `keep` is `false`.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&str, &T) -> bool) {
        let bytes = &mut self.bytes;
        self.items.retain(|name, (item, of_one)| {
            let is_kept = keep(name, item);
            if !is_kept {
                *bytes = bytes.saturating_sub(*of_one);
            }
            is_kept
        });
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_what_is_kept() {
        let mut kept = Kept::default();
        kept.insert("a".to_owned(), 1, 10);
        kept.insert("b".to_owned(), 2, 20);
        kept.insert("a".to_owned(), 3, 5);
        assert_eq!((kept.bytes(), kept.bytes_of("a"), kept.len()), (27, 6, 2));
        kept.recount("b", 15, 5);
        kept.recount("c", 0, 9);
        assert_eq!((kept.bytes(), kept.bytes_of("b")), (17, 11));
        kept.retain(|name, _| name == "a");
        assert_eq!((kept.bytes(), kept.get("a"), kept.get("b")), (6, Some(&3), None));
        assert_eq!((kept.remove("a"), kept.remove("a"), kept.bytes()), (Some(3), None, 0));
        kept.insert(String::new(), 4, 7);
        kept.clear();
        assert_eq!((kept.bytes(), kept.contains_key("")), (0, false));
    }
}
