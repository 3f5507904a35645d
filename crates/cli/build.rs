//! Says which commit and which features a program was built from; `ddiht --version` prints it.
//!
//! The commit is what `DDIHT_COMMIT` says, else what git says of this directory, else what cargo has put
//! into a published package, else unknown: a build needs neither git nor a repository.

use std::{env, fs, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-env-changed=DDIHT_COMMIT");
    let commit = asked().or_else(of_repository).or_else(of_package);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    let features = features();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=DDIHT_VERSION={version} (commit {commit}, features: {features})");
}

fn asked() -> Option<String> {
    env::var("DDIHT_COMMIT").ok().filter(|commit| is_word(commit))
}

/// Whatever stands there is printed to terminals, and must not end the line that cargo reads.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._+".contains(c))
}

fn of_repository() -> Option<String> {
    // A package that was unpacked inside of somebody else's repository is not of its commit.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if !Path::new(&root).join("crates/cli/build.rs").is_file() {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let out = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    let text = text.trim();
    (out.status.success() && !text.is_empty()).then(|| text.to_owned())
}

fn of_package() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    (is_word(commit) && commit.len() >= 12).then(|| commit[..12].to_owned())
}

fn features() -> String {
    let mut names: Vec<String> = env::vars()
        .filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase()))
        .filter(|name| name != "default")
        .map(|name| name.replace('_', "-"))
        .collect();
    names.sort();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}
