//! `ddiht reproduce`: every figure runs, goes on where it was, and does not depend on threads.

use std::{fs, path::Path};

use crate::util::{Place, ddiht, fails, ok};

/// Figures whose numbers are not seconds.
const UNTIMED: [&str; 4] = ["diht-5.1", "diht-5.3", "report-4", "momentum-3"];

fn smoke(figure: &str, out: &Path, more: &[&str]) -> String {
    let mut command = ddiht();
    command.args(["reproduce", figure, "--scale", "smoke", "--quiet"]).args(more);
    ok(command.arg("--out").arg(out))
}

#[test]
fn every_figure_runs_and_leaves_its_page_its_pictures_and_its_numbers() {
    let place = Place::new();
    let out = place.path("all");
    let said = smoke("all", &out, &[]);
    let list = ok(ddiht().args(["reproduce", "list"]));
    assert_eq!(list.lines().count(), 16);
    for figure in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let file = |ending: &str| out.join(figure).join(format!("{figure}.{ending}"));
        let page = fs::read_to_string(out.join(figure).join("README.md")).unwrap();
        assert!(page.contains("## Claims") && page.contains("| **"), "{figure}: {page}");
        assert!(fs::read_to_string(file("csv")).unwrap().lines().count() > 2, "{figure}");
        assert!(fs::read_to_string(file("svg")).unwrap().contains("</svg>"), "{figure}");
        assert!(fs::read(file("png")).unwrap().starts_with(b"\x89PNG"), "{figure}");
        assert!(said.contains(figure), "{said}");
    }
    let overview = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(overview.contains("momentum-3/README.md"), "{overview}");
}

#[test]
fn a_call_that_ended_early_goes_on_and_threads_change_nothing() {
    let place = Place::new();
    for figure in UNTIMED {
        let (first, again) =
            (place.path(&format!("{figure}-1")), place.path(&format!("{figure}-2")));
        smoke(figure, &first, &["--threads", "1"]);
        smoke(figure, &again, &["--threads", "2"]);
        let csv = |out: &Path| fs::read(out.join(format!("{figure}.csv"))).unwrap();
        let whole = csv(&first);
        assert!(whole == csv(&again), "{figure}: threads");
        // As if it had been killed in the middle of a line.
        let cells = first.join("cells.jsonl");
        let text = fs::read_to_string(&cells).unwrap();
        fs::write(&cells, &text[..text.len() / 2]).unwrap();
        smoke(figure, &first, &[]);
        assert!(whole == csv(&first), "{figure}: resumed");
    }
}

#[test]
fn calls_that_make_no_sense_are_answered_in_a_sentence() {
    let place = Place::new();
    let call = |more: &[&str]| {
        let mut command = ddiht();
        command.arg("reproduce").args(more);
        fails(&mut command, 2)
    };
    let message = call(&["diht-5.6"]);
    assert!(message.contains("did you mean diht-5") && message.contains("momentum-3"), "{message}");
    let file = place.write("file", "x");
    let inside = file.join("out");
    let message = call(&["diht-5.1", "--out", inside.to_str().unwrap()]);
    assert!(message.contains("cannot use the directory"), "{message}");
    let out = place.path("out");
    smoke("momentum-1", &out, &[]);
    let out = out.to_str().unwrap();
    let message = call(&["momentum-1", "--scale", "smoke", "--seed", "1", "--out", out]);
    assert!(message.contains("holds results of `ddiht reproduce momentum-1"), "{message}");
    let message = call(&["diht-5.2", "--scale", "smoke", "--data", "words.svm"]);
    assert!(message.contains("rcv1=words.svm"), "{message}");
    let message = call(&["momentum-1", "--scale", "smoke", "-k", "20"]);
    assert!(message.contains("-k is for diht-5.2"), "{message}");
    let other = place.path("other");
    let other = other.to_str().unwrap();
    let message = call(&["diht-5.2", "--scale", "smoke", "-k", "21", "--out", other]);
    assert!(message.contains("choose from [20, 200]"), "{message}");
}

#[test]
fn one_k_alone_and_then_the_others() {
    let place = Place::new();
    let out = place.path("out");
    let page = || fs::read_to_string(out.join("README.md")).unwrap();
    smoke("diht-5.2", &out, &["-k", "20"]);
    assert!(
        page().contains("--scale smoke -k 20\n") && !page().contains("news20, lambda"),
        "{}",
        page()
    );
    let cells = fs::read_to_string(out.join("cells.jsonl")).unwrap();
    smoke("diht-5.2", &out, &[]);
    assert!(page().contains("news20, lambda"), "{}", page());
    assert!(fs::read_to_string(out.join("cells.jsonl")).unwrap().starts_with(&cells));
}

#[test]
fn files_of_the_user_take_the_place_of_generated_text() {
    let place = Place::new();
    let data = place.synth("rcv1.svm", 300, 500);
    let out = place.path("out");
    smoke("grahtp-2", &out, &["--data", data.to_str().unwrap()]);
    let page = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(page.contains("200 of 300 rows of rcv1.svm, 500 features"), "{page}");
    assert!(page.contains("news20: a stand-in"), "{page}");
}
