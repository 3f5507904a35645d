//! Settings from a file, settings kept in the model, and what shells and manuals are told of the options.

use std::fs;

use crate::{
    processes::{Cluster, free_address},
    util::{Place, ddiht, fails, json, ok, output, read_json, stderr},
};

#[test]
fn a_file_of_settings_trains_what_the_options_would() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let (mut train, typed) = place.train(&data, 20, "typed.json");
    ok(train.args(["--lambda", "1e-3", "--loss", "logistic", "--no-intercept", "--seed", "4"]));
    let written = place.path("written.json");
    let settings = format!(
        "# as typed\ndata = [{data:?}]\nk = 20\nlambda = 1e-3\nloss = \"logistic\"\nno-intercept = true\n\
         seed = 4\njson = true\nquiet = false\nmodel = {written:?}\n"
    );
    let file = place.write("train.toml", &settings);
    json(ddiht().arg("train").arg("--config").arg(&file));
    assert_eq!(fs::read(&written).unwrap(), fs::read(&typed).unwrap());

    // The command line wins, also over a setting that it excludes.
    json(ddiht().arg("train").arg("--config").arg(&file).args(["-k", "5", "--C", "3"]));
    let settings = &read_json(&written)["settings"];
    assert_eq!((&settings["k"], &settings["lambda"]), (&5.into(), &(1.0 / 600.0).into()));
    assert_eq!((&settings["seed"], &settings["loss"]), (&4.into(), &"logistic".into()));

    let printed = ok(ddiht().arg("train").arg("--config").arg(&file).arg("--print-config"));
    let again = place.write("again.toml", &printed);
    json(ddiht().arg("train").arg("--config").arg(&again));
    assert_eq!(fs::read(&written).unwrap(), fs::read(&typed).unwrap());
}

#[test]
fn a_bad_file_of_settings_is_named() {
    let place = Place::new();
    let data = place.write("a.svm", "1 1:1\n-1 1:-1\n");
    for (text, expected) in [
        ("k = 2\nlamda = 1e-3\n", ":2:1: there is no setting `lamda`; the nearest is `lambda`"),
        ("batch_size = 2\n", ":1:1: there is no setting `batch_size`; the nearest is `batch-size`"),
        ("config = \"x\"\n", "there is no setting `config`"),
        ("k = \"many\"\n", ":1:1: `k`: invalid value 'many'"),
        ("k = [1, 2]\n", ":1:1: `k`: "),
        ("json = 1\n", ":1:1: `json` takes true or false"),
        ("k = 0x10\n", "not decimal"),
        ("[train]\nk = 1\n", ":1:2: there is no setting `train`"),
        ("k = 1\nloss = = 2\n", ":2:"),
        ("loss = \"cubic\"\n", ":1:1: `loss`: invalid value 'cubic'"),
    ] {
        let file = place.write("bad.toml", text);
        let mut train = ddiht();
        train.arg("train").arg(&data).args(["-k", "1", "--config"]).arg(&file);
        let message = fails(&mut train, 2);
        assert!(message.contains("bad.toml:") && message.contains(expected), "{text:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let mut train = ddiht();
    let message = fails(train.arg("train").arg(&data).arg("--config").arg(place.path("no")), 2);
    assert!(message.contains("/no: "), "{message}");
}

#[test]
fn a_server_takes_a_file_of_settings() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let address = free_address();
    let settings =
        format!("k = 20\nlambda = 1e-3\nheartbeat-timeout = \"30s\"\nlisten = \"{address}\"\n");
    let file = place.write("server.toml", settings);
    let options = ["--config", file.to_str().unwrap()];
    let mut cluster = Cluster::start(&place, "file", &data, 2, &options);
    cluster.finish();
    let (mut train, alone) = place.train(&data, 20, "alone.json");
    ok(train.args(["--lambda", "1e-3", "--workers", "2"]));
    assert_eq!(fs::read(&cluster.model).unwrap(), fs::read(alone).unwrap());
    let printed = ok(ddiht().arg("server").args(options).arg("--print-config"));
    assert!(printed.contains(&format!("listen = \"{address}\"\n")), "{printed}");
    assert!(printed.contains("adopt-orphans = false\n"), "{printed}");
}

#[test]
fn a_model_remembers_its_settings() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 200);
    let (mut train, model) = place.train(&data, 5, "m.json");
    ok(train.args(["--aggregate", "weighted", "--power", "inf", "--rounds", "3", "--time", "5m"]));
    let settings = &read_json(&model)["settings"];
    for (name, value) in [
        ("algorithm", "sdiht".into()),
        ("aggregate", "weighted".into()),
        ("power", "inf".into()),
        ("rounds", 3.into()),
        ("time", "300s".into()),
        ("lambda", serde_json::json!(1e-4)),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    let text = ok(ddiht().arg("inspect").arg(&model));
    assert!(text.contains("aggregate weighted") && text.contains("rounds 3"), "{text}");
}

#[test]
fn shells_and_manuals() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = ok(ddiht().args(["completions", shell]));
        assert!(script.contains("no-intercept"), "{shell}");
    }
    assert_eq!(output(ddiht().args(["completions", "cmd"])).status.code(), Some(2));
    let pages = place.path("pages");
    ok(ddiht().arg("man").arg(&pages));
    let page = fs::read_to_string(pages.join("ddiht-train.1")).unwrap();
    assert!(page.contains("no\\-intercept") && pages.join("ddiht-export.1").exists(), "{page}");
    let blocked = place.write("file", "");
    let out = output(ddiht().arg("man").arg(blocked.join("x")));
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
}
