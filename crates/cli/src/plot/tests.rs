use std::fmt::Write as _;

use clap::Parser;
use tempfile::TempDir;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    plot: PlotArgs,
}

/// A run that looks like a real one: an objective that falls fast, a bound that rises and is
/// certified every fifth round.
fn fake_history(rounds: u32, best: f64, speed: f64) -> String {
    let mut text = String::new();
    let (mut bound, mut gap) = ("null".to_owned(), "null".to_owned());
    for round in 1..=rounds {
        let left = (-speed * f64::from(round)).exp();
        let objective = best * (1.0 + 1.3 * left + 0.004 / f64::from(round));
        if round % 5 == 0 || round == rounds {
            let value = best * (0.996 - 0.8 * left);
            bound = value.to_string();
            gap = ((objective - value) / objective).to_string();
        }
        let bytes = u64::from(round) * 65_000;
        writeln!(
            text,
            r#"{{"round":{round},"seconds":{},"objective":{objective},"dual_bound":{bound},"gap":{gap},"nnz":1000,"support_changed":false,"step":"dual","bytes":{{"up":{bytes},"down":{},"certificate":0}}}}"#,
            f64::from(round) * 0.033 / speed,
            bytes / 2,
        )
        .unwrap();
    }
    text
}

fn args(dir: &TempDir, files: &[(&str, &str)], more: &[&str]) -> PlotArgs {
    let mut call = vec!["plot".to_owned()];
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
        call.push(dir.path().join(name).to_string_lossy().into_owned());
    }
    call.extend(more.iter().map(|&word| word.to_owned()));
    Cli::parse_from(call).plot
}

fn draw(files: &[(&str, &str)], name: &str, more: &[&str]) -> Result<Vec<u8>, PlotError> {
    let dir = TempDir::new().unwrap();
    let output = dir.path().join(name);
    let output_words = ["-o", output.to_str().unwrap()];
    run(&args(&dir, files, &[&output_words, more].concat()))?;
    Ok(fs::read(output).unwrap())
}

fn svg(files: &[(&str, &str)], more: &[&str]) -> String {
    String::from_utf8(draw(files, "out.svg", more).unwrap()).unwrap()
}

#[test]
fn an_svg_names_every_run_and_both_panels() {
    let (exact, average) = (fake_history(60, 0.44, 0.15), fake_history(60, 0.45, 0.08));
    let got = svg(&[("exact.jsonl", &exact), ("average.jsonl", &average)], &["--title", "A & B"]);
    for text in ["exact", "average", "Objective and proven bound", "Relative gap", "A &amp; B"] {
        assert!(
            got.contains(&format!("\n{text}\n")) || got.contains(&format!(">{text}\n")),
            "{text}"
        );
    }
    assert!(got.contains("Training time (seconds)") && got.contains("1 %"));
    assert!(got.contains("#0072B2") && got.contains("#D55E00"));
    resvg::usvg::Tree::from_str(&got, &resvg::usvg::Options::default()).unwrap();
}

#[test]
fn labels_replace_file_names() {
    let got = svg(&[("run.jsonl", &fake_history(5, 0.4, 0.1))], &["--label", "mine"]);
    assert!(got.contains("mine\n") && !got.contains("run\n"));
}

#[test]
fn every_x_axis_is_named() {
    let run = fake_history(40, 0.4, 0.1);
    let named = |x| svg(&[("run.jsonl", &run)], &["--x", x]);
    assert!(named("rounds").contains("Rounds\n"));
    assert!(named("bytes").contains("Sent and received (kB)\n"));
}

#[test]
fn a_png_has_its_size_and_is_not_blank() {
    let runs = [("a.jsonl", &*fake_history(50, 0.44, 0.15))];
    let got = draw(&runs, "out.PNG", &["--size", "640x480"]).unwrap();
    assert_eq!(got[..8], *b"\x89PNG\r\n\x1a\n");
    assert_eq!((&got[16..20], &got[20..24]), (&[0, 0, 2, 128][..], &[0, 0, 1, 224][..]));
    assert!(got.len() > 8_000, "{}", got.len());
}

#[test]
fn text_is_drawn_into_a_png_without_system_fonts() {
    let picture = |text| {
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='99' height='30'>\
             <text x='5' y='20' font-family='Nowhere, sans-serif'>{text}</text></svg>"
        );
        raster::png(&svg).unwrap()
    };
    assert_ne!(picture("abc"), picture(""));
}

#[test]
fn one_round_no_bound_and_huge_values_are_drawn() {
    let one = r#"{"round":1,"seconds":0,"objective":0.0}"#;
    assert!(!svg(&[("one.jsonl", one)], &[]).contains("Relative gap"));
    let huge = "{\"round\":1,\"seconds\":1,\"objective\":1e300,\"dual_bound\":-1e300}\n\
                {\"round\":2,\"seconds\":2,\"objective\":0.5,\"dual_bound\":0.5}\n";
    assert!(svg(&[("huge.jsonl", huge)], &[]).contains("<circle"));
}

#[test]
fn many_runs_fit_the_legend() {
    let run = fake_history(20, 0.4, 0.2);
    let names: Vec<String> = (0..12).map(|i| format!("a-rather-long-name-{i}.jsonl")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*run)).collect();
    let got = svg(&files, &[]);
    assert!((0..12).all(|i| got.contains(&format!("a-rather-long-name-{i}\n"))));
}

#[test]
fn mistakes_are_named_with_their_file() {
    let good = fake_history(5, 0.4, 0.1);
    let message = |name: &str, text: &str, output: &str, more: &[&str]| {
        draw(&[(name, text)], output, more).unwrap_err().to_string()
    };
    let cases = [
        (message("a.jsonl", "nonsense\n", "o.svg", &[]), "a.jsonl:1: not a history line"),
        (message("a.jsonl", "\n", "o.svg", &[]), "a.jsonl: the history has no rounds"),
        (message("a.jsonl", &good, "o.pdf", &[]), "o.pdf: the picture's name must end in"),
        (message("a.jsonl", &good, "no/o.svg", &[]), "no/o.svg: cannot write the picture"),
        (message("a.jsonl", &good, "o.svg", &["--label", "x", "--label", "y"]), "2 labels"),
        (
            message(
                "a.jsonl",
                r#"{"round":1,"seconds":1,"objective":1}"#,
                "o.svg",
                &["--x", "bytes"],
            ),
            "a.jsonl: no bytes were counted",
        ),
        (message("a.jsonl", r#"{"round":1,"seconds":1}"#, "o.svg", &[]), "a.jsonl: no round"),
    ];
    for (got, want) in cases {
        assert!(got.contains(want), "{got}");
    }
    let missing = History::read(Path::new("/nowhere/x.jsonl"), None).unwrap_err().to_string();
    assert!(missing.starts_with("/nowhere/x.jsonl: cannot read"), "{missing}");
}

#[test]
fn sizes_are_checked() {
    assert_eq!("640x480".parse::<Size>().unwrap(), Size { width: 640, height: 480 });
    for bad in ["640", "axb", "10x10", "99999x500"] {
        assert!(bad.parse::<Size>().is_err(), "{bad}");
    }
}
