//! Settings kept in the model.

use crate::util::{Place, ddiht, ok, read_json};

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
