//! The user guide: every command in it works, in the order in which it is read.

use std::{fs, process::Command};

use crate::util::{Place, ok, read_json, stderr, stdout};

/// The commands of `docs/guide.md`: indented lines that begin with a dollar sign.
fn commands(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("    $ ")).collect()
}

/// Runs a line as a shell does, in the place of the guide's files and with `ddiht` on the path.
fn run(place: &Place, line: &str) -> String {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ddiht")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", line]).env("PATH", path).current_dir(place.path(""));
    let out = shell.output().unwrap();
    assert!(out.status.success(), "`{line}`: {}", stderr(&out));
    stdout(&out)
}

#[test]
fn every_command_of_the_guide_works() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let guide = fs::read_to_string(format!("{root}/docs/guide.md")).unwrap();
    let place = Place::new();
    fs::copy(format!("{root}/examples/reviews.txt"), place.path("reviews.txt")).unwrap();
    let commands = commands(&guide);
    assert!(commands.len() >= 15, "{commands:?}");
    let mut said = String::new();
    for line in commands {
        said.push_str(&run(&place, line));
    }
    // What the text says of the results.
    for part in ["smallest within one standard error", "gap ", "test ", "proof ", "confusion"] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    assert!(said.contains("great"), "the largest weights go by their words:\n{said}");
    for file in ["path.svg", "run.svg", "reviews.onnx", "reviews.model", "reviews.plain.json"] {
        assert!(fs::metadata(place.path(file)).unwrap().len() > 100, "{file}");
    }
    assert_eq!(fs::read_to_string(place.path("chances.txt")).unwrap().lines().count(), 150);
    let words = read_json(&place.path("chosen.json"))["names"].clone();
    let words: Vec<&str> = words.as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert!(words.contains(&"ending") && !words.contains(&"the"), "{words:?}");
}

/// What the guide and the README lead to is there.
#[test]
fn links_of_the_documents_lead_somewhere() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let documents = ok(Command::new("ls").current_dir(format!("{root}/docs")));
    let pages = documents.lines().filter(|name| name.ends_with(".md")).map(|n| format!("docs/{n}"));
    for page in pages.chain(["README.md".to_owned()]) {
        let text = fs::read_to_string(format!("{root}/{page}")).unwrap();
        let base = page.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if !target.is_empty() && !target.contains("://") {
                let path = format!("{root}/{base}{target}");
                assert!(fs::metadata(&path).is_ok(), "{page} leads to {target}");
            }
        }
    }
}
