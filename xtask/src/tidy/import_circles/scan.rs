//! Imports of one source file, and the names it imports or exports.

use std::collections::BTreeMap;

use crate::tidy::tokens::{Token, tokens};

/// Path from the crate's root, `["a", "b", "Name"]`.
pub(super) type CratePath = Vec<String>;

/// Path that a file names, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: CratePath,
    pub(super) line: usize,
}

/// What one source file imports.
pub(super) struct SourceFile {
    /// Path in the repository.
    pub(super) path: String,
    /// Module path, `a::b`.
    pub(super) module: String,
    pub(super) imports: Vec<Import>,
    /// Path of every name that a `use` brings into the file's own scope.
    pub(super) names: BTreeMap<String, CratePath>,
    /// Modules declared under `#[cfg(test)]`.
    pub(super) test_modules: Vec<String>,
}

/// Reads the imports of a file.
pub(super) fn scan(path: &str, module: &str, text: &str) -> SourceFile {
    let file = SourceFile {
        path: path.to_string(),
        module: module.to_string(),
        imports: Vec::new(),
        names: BTreeMap::new(),
        test_modules: Vec::new(),
    };
    let mut scanner = Scanner {
        tokens: tokens(text),
        next: 0,
        depth: 0,
        scope: split(module),
        inline_depths: Vec::new(),
        child_modules: Vec::new(),
        exports: Vec::new(),
        file,
    };
    scanner.run();
    scanner.finish()
}

struct Scanner<'a> {
    tokens: Vec<Token<'a>>,
    /// Index of the next token.
    next: usize,
    /// Open braces.
    depth: usize,
    /// Path of the module around the next token: the file's, and inline modules in it.
    scope: CratePath,
    /// Brace depth inside each open inline module.
    inline_depths: Vec<usize>,
    /// Modules that this file declares.
    child_modules: Vec<String>,
    /// Exported names, with the import that each is if the file uses it.
    exports: Vec<(String, Import)>,
    file: SourceFile,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        while let Some(token) = self.peek(0) {
            match token.text {
                "#" if self.is_test_attribute() => self.skip_test_item(),
                // Not the lifetimes and types that an opaque type captures: `impl Trait + use<T>`.
                "use" if self.text(1) != "<" => self.read_use(),
                "mod" => self.read_module(),
                "{" => {
                    self.depth += 1;
                    self.next += 1;
                }
                "}" => self.close_brace(),
                _ => self.read_path(token),
            }
        }
    }

    fn finish(mut self) -> SourceFile {
        let is_used =
            |name: &str| self.tokens.iter().filter(|token| token.text == name).count() > 1;
        let used: Vec<_> =
            self.exports.into_iter().filter(|(name, _)| is_used(name)).map(|(_, it)| it).collect();
        self.file.imports.extend(used);
        self.file
    }

    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.next + ahead).copied()
    }

    fn text(&self, ahead: usize) -> &'a str {
        self.peek(ahead).map_or("", |token| token.text)
    }

    fn close_brace(&mut self) {
        self.next += 1;
        if self.inline_depths.last() == Some(&self.depth) {
            self.inline_depths.pop();
            self.scope.pop();
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// Returns `true` at `#[cfg(test)]` and at `#[cfg(all(test, ...))]`.
    fn is_test_attribute(&self) -> bool {
        if (self.text(1), self.text(2)) != ("[", "cfg") {
            return false;
        }
        let condition = self.tokens.iter().skip(self.next + 3).map(|token| token.text);
        let inner: Vec<&str> = condition.take_while(|text| *text != "]").collect();
        inner.contains(&"test") && !inner.contains(&"not") && !inner.contains(&"any")
    }

    /// Skips an item: to the end of its first block, or to its semicolon outside all brackets.
    fn skip_test_item(&mut self) {
        while !["]", ""].contains(&self.text(0)) {
            self.next += 1;
        }
        self.next += 1;
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            match token.text {
                "mod" if depth == 0 => {
                    let name = self.text(1).to_string();
                    self.file.test_modules.push(join(&self.scope, &name));
                }
                "{" | "(" | "[" => depth += 1,
                // The end of the block around the item, which is a field or a statement.
                "}" | ")" | "]" if depth == 0 => return,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            self.next += 1;
            if depth == 0 && ["}", ";"].contains(&token.text) {
                return;
            }
        }
    }

    fn read_module(&mut self) {
        let name = self.text(1).to_string();
        if self.text(2) == "{" {
            self.scope.push(name);
            self.depth += 1;
            self.inline_depths.push(self.depth);
        } else if self.inline_depths.is_empty() {
            self.child_modules.push(name);
        }
        self.next += 3;
    }

    fn read_use(&mut self) {
        let is_export = self
            .next
            .checked_sub(1)
            .is_some_and(|before| [")", "pub"].contains(&self.tokens[before].text));
        self.next += 1;
        self.read_use_tree(Vec::new(), is_export);
    }

    /// Reads one tree of a `use` behind the path that all of it begins with.
    fn read_use_tree(&mut self, mut path: Vec<&'a str>, is_export: bool) {
        let line = self.peek(0).map_or(0, |token| token.line);
        loop {
            match self.text(0) {
                "{" => {
                    self.next += 1;
                    while !["}", ";", ""].contains(&self.text(0)) {
                        self.read_use_tree(path.clone(), is_export);
                        if self.text(0) == "," {
                            self.next += 1;
                        }
                    }
                    self.next += 1;
                    return;
                }
                "::" => self.next += 1,
                "as" => {
                    let alias = self.text(1);
                    self.next += 2;
                    self.add_use(&path, alias, is_export, line);
                    return;
                }
                "," | "}" | ";" | "" => {
                    let name = path.last().copied().unwrap_or("");
                    self.add_use(&path, name, is_export, line);
                    return;
                }
                part => {
                    path.push(part);
                    self.next += 1;
                }
            }
        }
    }

    fn add_use(&mut self, path: &[&str], name: &str, is_export: bool, line: usize) {
        let is_self = path.last() == Some(&"self") && path.len() > 1;
        let path = if is_self { &path[..path.len() - 1] } else { path };
        let name = if is_self && name == "self" { path[path.len() - 1] } else { name };
        let Some(path) = self.path_from_root(path) else { return };
        if self.inline_depths.is_empty() && self.depth == 0 && name != "*" {
            self.file.names.insert(name.to_string(), path.clone());
        }
        let import = Import { path, line };
        if is_export && name != "*" {
            self.exports.push((name.to_string(), import));
        } else if !is_export {
            self.file.imports.push(import);
        }
    }

    /// Reads a path in code, or skips one token.
    fn read_path(&mut self, first: Token<'a>) {
        let before = &self.tokens[..self.next];
        self.next += 1;
        let text_before = |back: usize| before.iter().rev().nth(back).map_or("", |it| it.text);
        let is_visibility = (text_before(1), text_before(0)) == ("(", "in");
        if self.text(0) != "::" || text_before(0) == "::" || is_visibility {
            return;
        }
        let mut path = vec![first.text];
        while self.text(0) == "::" && is_name(self.text(1)) {
            path.push(self.text(1));
            self.next += 2;
        }
        if let Some(path) = self.path_from_root(&path) {
            self.file.imports.push(Import { path, line: first.line });
        }
    }

    /// Returns a path from the crate's root, or `None` for one into another crate.
    fn path_from_root(&self, path: &[&str]) -> Option<CratePath> {
        let (first, rest) = path.split_first()?;
        let mut rest = rest;
        let mut root = match *first {
            "crate" => Vec::new(),
            "self" => self.scope.clone(),
            "super" => {
                let mut scope = self.scope.clone();
                scope.pop();
                while let Some((&"super", after)) = rest.split_first() {
                    scope.pop();
                    rest = after;
                }
                scope
            }
            name if self.child_modules.iter().any(|child| child == name) => {
                let mut scope = self.scope.clone();
                scope.push(name.to_string());
                scope
            }
            _ => return None,
        };
        root.extend(rest.iter().map(ToString::to_string).filter(|part| part != "*"));
        Some(root)
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

fn split(module: &str) -> CratePath {
    module.split("::").filter(|part| !part.is_empty()).map(ToString::to_string).collect()
}

fn join(scope: &[String], name: &str) -> String {
    scope.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(text: &str) -> Vec<String> {
        let file = scan("a/b.rs", "a::b", text);
        file.imports.iter().map(|import| import.path.join("::")).collect()
    }

    #[test]
    fn use_trees_give_one_path_for_each_name() {
        let text =
            "use crate::c::{self, d::{E, F as G}, h::*};\nuse super::{I, super::J};\nuse std::fmt;";
        assert_eq!(imports(text), ["c", "c::d::E", "c::d::F", "c::h", "a::I", "J"]);
    }

    #[test]
    fn paths_in_code_count_and_those_of_other_crates_do_not() {
        let text = "mod child;\nfn f() -> crate::A { child::run(std::fmt::X, self::Y) }";
        assert_eq!(imports(text), ["A", "a::b::child::run", "a::b::Y"]);
        assert_eq!(imports("pub(in crate::c) fn f() {}"), Vec::<String>::new());
    }

    #[test]
    fn exports_count_where_the_file_uses_them() {
        assert_eq!(imports("mod c;\npub(crate) use c::C;"), Vec::<String>::new());
        assert_eq!(imports("mod c;\npub use c::C;\nstruct D(C);"), ["a::b::c::C"]);
    }

    #[test]
    fn inline_module_is_a_scope_of_its_own() {
        assert_eq!(imports("mod c { use super::D; }\nuse super::E;"), ["a::b::D", "a::E"]);
    }

    #[test]
    fn captures_of_opaque_types_are_no_imports() {
        let text =
            "fn f() -> impl A + use<> { b() }\nfn g<T>() -> impl A + use<T>;\nuse crate::c::D;";
        assert_eq!(imports(text), ["c::D"]);
    }

    #[test]
    fn modules_of_tests_are_listed() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(all(test, unix))] mod more { use crate::x; }";
        let file = scan("a/b.rs", "a::b", text);
        assert_eq!(file.test_modules, ["a::b::tests", "a::b::more"]);
        assert!(file.imports.is_empty());
    }

    #[test]
    fn test_items_end_outside_brackets() {
        let text =
            "#[cfg(test)]\nfn f(a: [u8; 2]) -> [u8; 2] { crate::x::run(a) }\nuse crate::c::D;";
        assert_eq!(imports(text), ["c::D"]);
        let text = "#[cfg(test)]\nconst A: [X; 2] = [crate::x::Y; 2];\nuse crate::c::D;";
        assert_eq!(imports(text), ["c::D"]);
        let text = "mod c { struct A { #[cfg(test)] b: crate::x::Y } }\nuse super::D;";
        assert_eq!(imports(text), ["a::D"]);
    }
}
