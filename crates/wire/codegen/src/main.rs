//! Generator of `crates/wire`'s Rust code from its `.proto` files: `cargo xtask codegen [--check]`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "the program writes its output to the terminal")]

mod messages;
mod repeated_fields;
mod services;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use protox::prost_reflect::prost_types::FileDescriptorSet;

/// Result of a step: its product, or an error message for the user.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(),
        ["--check"] => check(),
        _ => Err("usage: cargo xtask codegen [--check]".to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("codegen: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<()> {
    for (path, text) in generate()? {
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn check() -> Result<()> {
    for (path, text) in generate()? {
        let committed = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if committed != text {
            return Err(format!(
                "{} does not match the .proto files: run cargo xtask codegen and commit the result",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Returns the paths of the generated files and their content.
fn generate() -> Result<[(PathBuf, String); 3]> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("src");
    let files = parse(&source.join("proto"))?;
    let messages = messages::generate(&files)?;
    let services = services::generate(&files)?;
    let repeated_fields = repeated_fields::generate(&files)?;
    Ok([
        (source.join("proto/generated.rs"), messages),
        (source.join("rpc/repeated_fields.rs"), repeated_fields),
        (source.join("service/table.rs"), services),
    ])
}

/// Parses all `.proto` files of a directory.
fn parse(folder: &Path) -> Result<FileDescriptorSet> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "proto"))
        .collect();
    files.sort();
    protox::compile(&files, [folder]).map_err(|error| format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn committed_code_matches_proto_files() {
        assert_eq!(super::check(), Ok(()));
    }
}
