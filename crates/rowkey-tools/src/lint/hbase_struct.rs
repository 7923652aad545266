//! Static check of a row key declared by HBase's `StructBuilder` in Java source.
//!
//! `Struct` rejects fields that are not self-delimiting, but checks all except the last two (HBase
//! 2.6.4, constructor of `org.apache.hadoop.hbase.types.Struct`): the first of the last two must be
//! self-delimiting too, but is accepted if it is not.

use halite_rowkey::internals::line_of;

use super::finding::{Finding, Findings};

/// Types whose `isSkippable` is false: they decode the whole rest of the key.
const WITHOUT_END: [&str; 3] = ["RawString", "RawBytes", "OrderedBlob"];

/// Returns the findings (K-SKIP) about the structs in a Java source. Chains of `add` between
/// `new StructBuilder` and `toStruct` are examined; comments and string literals are ignored.
pub fn lint_struct(java: &str) -> Vec<Finding> {
    lint_structs(java).into_iter().flat_map(|(_, findings)| findings).collect()
}

/// Returns the findings of each struct, with the line on which it begins, from 1 on; empty if the
/// source builds none.
pub fn lint_structs(java: &str) -> Vec<(usize, Vec<Finding>)> {
    let source = without_comments(java);
    let mut structs = Vec::new();
    let mut at = source.split("new StructBuilder").next().map_or(0, str::len);
    for built in source.split("new StructBuilder").skip(1) {
        let line = line_of(&source, at);
        let variable = assigned(&source[..at]);
        at += "new StructBuilder".len() + built.len();
        let mut found = Findings::default();
        let built = built.split("toStruct").next().unwrap_or(built);
        let types: Vec<&str> = added(built, variable).into_iter().filter_map(type_name).collect();
        if let Some(at) =
            types.iter().rev().skip(1).rev().position(|name| WITHOUT_END.contains(name))
        {
            unended(&types, at, &mut found);
        }
        structs.push((line, found.0));
    }
    structs
}

/// Returns the line of the first struct with an incomplete statement: it ends between parentheses,
/// or before `toStruct`.
pub fn unfinished_struct(java: &str) -> Option<usize> {
    let source = without_comments(java);
    let mut begins = source.match_indices("new StructBuilder").map(|(at, _)| at);
    begins.find(|at| is_cut_off(&source[*at..])).map(|at| line_of(&source, at))
}

fn is_cut_off(built: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in built.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            // The builder may be inside a call, a block or a list, which ends after it.
            b')' | b';' | b',' | b'}' if depth == 0 => return false,
            _ if depth == 0 && built.as_bytes()[..at].ends_with(b"toStruct()") => return false,
            _ => {}
        }
    }
    depth > 0 || !built.contains("toStruct")
}

/// Returns the name before `=` at the end of a source.
fn assigned(before: &str) -> Option<&str> {
    last_name(before.trim_end().strip_suffix('=')?)
}

fn last_name(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let begin = text
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    Some(&text[begin..]).filter(|name| !name.is_empty())
}

/// Returns the arguments of the `.add(` calls of a builder, with blanks anywhere: in its own chain,
/// and in those that begin with its variable. Lists have an `add` too.
fn added<'s>(built: &'s str, variable: Option<&str>) -> Vec<&'s str> {
    let (mut arguments, mut is_builder) = (Vec::new(), true);
    for (at, word) in built.match_indices("add") {
        let (before, behind) = (built[..at].trim_end(), built[at + word.len()..].trim_start());
        let (Some(receiver), Some(argument)) = (before.strip_suffix('.'), behind.strip_prefix('('))
        else {
            continue;
        };
        // A call before the dot continues the previous chain.
        if let Some(name) = last_name(receiver) {
            is_builder = Some(name) == variable;
        }
        if is_builder {
            arguments.push(argument);
        }
    }
    arguments
}

/// K-SKIP.
fn unended(types: &[&str], at: usize, found: &mut Findings) {
    let (name, next) = (types[at], types[at + 1]);
    let message = if at + 2 == types.len() {
        format!(
            "{name} has no end in the bytes, and {next} follows it: (\"1\", \"23\") and \
             (\"12\", \"3\") are one key, and the reader gives all that is left to {name}. Struct \
             checks all fields but the last two, so it takes this one."
        )
    } else {
        format!(
            "{name} has no end in the bytes, and other fields follow it: Struct throws \
             IllegalArgumentException when it is built."
        )
    };
    let fix = match name {
        "RawString" => "OrderedString, or RawStringTerminated with a byte that no value has",
        "RawBytes" => "OrderedBlobVar, or RawBytesFixedLength",
        _ => "OrderedBlobVar, which ends by itself",
    };
    found
        .add("K-SKIP", at, message)
        .evidence(
            "StructBuilder with RawString and RawLong writes 6162 0000000000000001 for (ab, 1), \
             and decode throws (HBase 2.6.4)",
        )
        .fix(format!("{fix}; or {name} as the last field"));
}

/// Returns the class of an argument: `RawString.ASCENDING`, `new RawLong()`, with an optional
/// package.
fn type_name(argument: &str) -> Option<&str> {
    let argument = argument.trim_start();
    let argument = argument.strip_prefix("new ").unwrap_or(argument).trim_start();
    let end = argument
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(argument.len());
    argument[..end]
        .split('.')
        .find(|part| part.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Returns the source with comments and string literals replaced by blanks.
fn without_comments(java: &str) -> String {
    let mut out = String::with_capacity(java.len());
    let mut rest = java;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        out.push_str(&rest[..at]);
        let found = &rest[at..];
        let length = if found.starts_with("//") {
            found.find('\n').unwrap_or(found.len())
        } else if found.starts_with("/*") {
            found.find("*/").map_or(found.len(), |end| end + 2)
        } else if found.starts_with(['"', '\'']) {
            quoted_bytes(found)
        } else {
            out.push('/');
            1
        };
        out.push(' ');
        // Line breaks are kept for the line numbers.
        out.extend(found[..length].chars().filter(|char| *char == '\n'));
        rest = &found[length..];
    }
    out.push_str(rest);
    out
}

/// Returns the length of a quoted text, including both quotes.
fn quoted_bytes(text: &str) -> usize {
    let (mut escaped, quote) = (false, text.as_bytes().first().copied());
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\n' => return at + 1,
            _ if Some(byte) == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(java: &str) -> Vec<Option<usize>> {
        lint_struct(java).iter().map(|finding| finding.segment).collect()
    }

    #[test]
    fn unterminated_inner_field_is_found_in_every_spelling() {
        assert_eq!(
            found("new StructBuilder().add(RawString.ASCENDING).add(new RawLong()).toStruct()"),
            [Some(0)]
        );
        assert_eq!(
            found(
                "new StructBuilder() .add( new org.apache.hadoop.hbase.types.RawBytes() )\n\
                 .add(OrderedInt64.DESCENDING).toStruct()"
            ),
            [Some(0)]
        );
        assert_eq!(
            found(
                "new StructBuilder().add(OrderedInt8.ASCENDING).add(OrderedBlob.DESCENDING)\
                 .add(OrderedString.ASCENDING).toStruct()"
            ),
            [Some(1)]
        );
        // HBase rejects this one itself, with its position.
        assert_eq!(
            found(
                "new StructBuilder().add(RawString.ASCENDING).add(new RawLong()).add(new RawLong())\
                 .toStruct()"
            ),
            [Some(0)]
        );
    }

    #[test]
    fn terminated_fields_and_unterminated_last_field_pass() {
        assert_eq!(
            found(
                "new StructBuilder().add(OrderedString.ASCENDING).add(RawString.ASCENDING)\
                 .toStruct()"
            ),
            []
        );
        assert_eq!(
            found(
                "new StructBuilder().add(new RawStringTerminated(\"/\")).add(new RawLong())\
                 .toStruct()"
            ),
            []
        );
        assert_eq!(
            found(
                "new StructBuilder().add(new FixedLengthWrapper<>(RawString.ASCENDING, 8))\
                 .add(new RawLong()).toStruct()"
            ),
            []
        );
        assert_eq!(found("new StructBuilder().add(RawString.ASCENDING).toStruct()"), []);
        assert_eq!(
            found(
                "// new StructBuilder().add(RawString.ASCENDING).add(new RawLong()).toStruct()\n\
                 /* .add( */ class A {}"
            ),
            []
        );
        assert_eq!(
            found(
                "String s = \"new StructBuilder().add(RawString.ASCENDING).add(new RawLong())\";"
            ),
            []
        );
    }

    /// Regression test: a quote in single quotes hid the following text, blanks hid an `add`, and
    /// the `add` of a list was interpreted as one of the builder.
    #[test]
    fn only_add_calls_of_the_builder_are_counted() {
        assert_eq!(
            found(
                "char q = '\"'; new StructBuilder().add(RawString.ASCENDING).add(new RawLong())\
                 .toStruct()"
            ),
            [Some(0)]
        );
        assert_eq!(
            found(
                "char q = '\\''; new StructBuilder()\n  . add (RawString.ASCENDING)\n  . add (new \
                 RawLong()).toStruct()"
            ),
            [Some(0)]
        );
        let lists = "StructBuilder b = new StructBuilder(); list.add(RawString.ASCENDING).add(x); \
                     b.add(new RawLong()); b.add(new RawLong()); b.toStruct()";
        assert_eq!(found(lists), []);
        let steps = "StructBuilder b = new StructBuilder(); b.add(RawString.ASCENDING); \
                     names.add(n); this.b.add(new RawLong()); b.toStruct()";
        assert_eq!(found(steps), [Some(0)]);
    }

    #[test]
    fn unfinished_struct_statement_is_detected() {
        let whole = "new StructBuilder().add(new RawLong()).toStruct()";
        for text in [
            whole,
            "f(new StructBuilder())",
            "B b = new StructBuilder();",
            "class A {}",
            "// new StructBuilder(",
        ] {
            assert_eq!(unfinished_struct(text), None, "{text}");
        }
        for end in [
            "new StructBuilder".len(),
            "new StructBuilder(".len(),
            "new StructBuilder().add(new".len(),
            whole.len() - 1,
        ] {
            assert_eq!(
                unfinished_struct(&format!("class A {{\n{}", &whole[..end])),
                Some(2),
                "{end}"
            );
        }
        assert_eq!(unfinished_struct(&format!("{whole};\n\nnew StructBuilder()")), Some(3));
    }

    #[test]
    fn truncated_java_source_has_no_findings() {
        for text in [
            "new StructBuilder().add(",
            "new StructBuilder().add(new ",
            "/*",
            "\"",
            "\"\\",
            "/",
            "new StructBuilder.add()..add(\u{e9})",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
        assert_eq!(found(&"new StructBuilder().add(RawString.ASCENDING)".repeat(10_000)), []);
    }
}
