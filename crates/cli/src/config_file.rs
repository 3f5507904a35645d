//! `--config FILE` and `--print-config`: the options of a command as TOML, under the same names.
//!
//! The file's settings become arguments that are put before those of the call, except where the call says
//! otherwise, and all of them go through the one parser. So a file can say what a call can, in the same
//! words, and is refused for the same reasons.

use std::{
    ffi::OsString,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgAction, ArgMatches, Command, CommandFactory, error::ErrorKind, parser::ValueSource,
};
use toml::de::{DeTable, DeValue};

use crate::{args::Cli, failure::Failure};

/// Options that are about the file, and cannot be in it.
const OWN: [&str; 2] = ["config", "print_config"];

#[derive(Debug, thiserror::Error)]
enum ConfigFileError {
    #[error("cannot read the settings {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{place}: {message}")]
    Syntax { place: String, message: String },
    #[error("{place}: there is no setting `{key}`; the nearest is `{nearest}`")]
    Unknown { place: String, key: String, nearest: String },
    #[error("{place}: `{key}` takes true or false")]
    NotAFlag { place: String, key: String },
    #[error("{place}: `{key}` cannot be {kind}")]
    Kind { place: String, key: String, kind: &'static str },
    #[error("{place}: `{key}`: {message}")]
    Value { place: String, key: String, message: String },
}

/// What a call turned out to be.
#[derive(Debug)]
pub(crate) enum Call {
    /// To be parsed as these arguments.
    Arguments(Vec<OsString>),
    /// To print this.
    Print(String),
}

/// Adds to a call the settings of the file it names.
pub(crate) fn expand(arguments: Vec<OsString>) -> Result<Call, Failure> {
    // What is wrong with the call is said by the parser proper, once the file's part is there.
    let found = Cli::command().ignore_errors(true).try_get_matches_from(&arguments);
    let Ok(matches) = found else { return Ok(Call::Arguments(arguments)) };
    let Some((name, call)) = matches.subcommand() else { return Ok(Call::Arguments(arguments)) };
    if !call.try_contains_id("config").unwrap_or(false) && !asks_to_print(call) {
        return Ok(Call::Arguments(arguments));
    }
    let command = loose(name);
    let mut expanded = arguments;
    if let Some(path) = call.get_one::<PathBuf>("config") {
        let settings = read(path, &command).map_err(Failure::input)?;
        let used = settings.into_iter().filter(|setting| !overruled(setting, &command, call));
        // The first two are the program and the command.
        expanded.splice(2..2, used.flat_map(|setting| setting.arguments));
    }
    if asks_to_print(call) {
        let whole = command.clone().try_get_matches_from(&expanded[1..]);
        let matches = whole.unwrap_or_else(|error| error.exit());
        return Ok(Call::Print(print(&command, &matches)));
    }
    Ok(Call::Arguments(expanded))
}

fn asks_to_print(call: &ArgMatches) -> bool {
    matches!(call.try_get_one::<bool>("print_config"), Ok(Some(true)))
}

/// The command of this name, by itself and with nothing required.
fn loose(name: &str) -> Command {
    let mut whole = Cli::command();
    whole.build();
    let command = whole.find_subcommand(name).cloned().unwrap_or_default();
    command.mut_args(|arg| arg.required(false))
}

/// A setting of the file, as arguments.
struct Setting {
    id: clap::Id,
    arguments: Vec<OsString>,
}

/// Whether the call says the same thing otherwise, or something that excludes it.
fn overruled(setting: &Setting, command: &Command, call: &ArgMatches) -> bool {
    let given = |id: &clap::Id| call.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let Some(arg) = command.get_arguments().find(|arg| *arg.get_id() == setting.id) else {
        return false;
    };
    given(&setting.id) || excluding(command, arg).iter().any(|other| given(other.get_id()))
}

/// The options that cannot go with `arg`, whichever of the two says so.
fn excluding<'a>(command: &'a Command, arg: &Arg) -> Vec<&'a Arg> {
    let named = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    command.get_arguments().filter(|other| named(arg, other) || named(other, arg)).collect()
}

/// The name of an option in a file.
fn key(arg: &Arg) -> Option<String> {
    if OWN.contains(&arg.get_id().as_str()) || matches!(arg.get_action(), ArgAction::Help) {
        return None;
    }
    let short = || arg.get_short().map(String::from);
    let long = arg.get_long().map(str::to_owned);
    Some(long.or_else(short).unwrap_or_else(|| arg.get_id().to_string()))
}

fn read(path: &Path, command: &Command) -> Result<Vec<Setting>, ConfigFileError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ConfigFileError::Read { path: path.to_owned(), source })?;
    let place = |span: Range<usize>| {
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        format!("{}:{line}:{column}", path.display())
    };
    let table = DeTable::parse(&text).map_err(|error| ConfigFileError::Syntax {
        place: place(error.span().unwrap_or(0..0)),
        message: error.message().to_owned(),
    })?;
    let entries = table.get_ref().iter();
    entries
        .map(|(key, value)| {
            let place = place(key.span());
            setting(command, key.get_ref(), value.get_ref(), place)
        })
        .collect()
}

fn setting(
    command: &Command,
    name: &str,
    value: &DeValue<'_>,
    place: String,
) -> Result<Setting, ConfigFileError> {
    let Some(arg) = command.get_arguments().find(|arg| key(arg).as_deref() == Some(name)) else {
        let nearest = nearest(command, name);
        return Err(ConfigFileError::Unknown { place, key: name.to_owned(), nearest });
    };
    let option = match (arg.get_long(), arg.get_short()) {
        (Some(long), _) => format!("--{long}="),
        (None, Some(short)) => format!("-{short}="),
        (None, None) => String::new(),
    };
    let arguments = if matches!(arg.get_action(), ArgAction::SetTrue) {
        let Some(set) = value.as_bool() else {
            return Err(ConfigFileError::NotAFlag { place, key: name.to_owned() });
        };
        if set { vec![format!("--{name}")] } else { Vec::new() }
    } else {
        let texts = texts(value).map_err(|kind| {
            let (place, key) = (place.clone(), name.to_owned());
            ConfigFileError::Kind { place, key, kind }
        })?;
        texts.into_iter().map(|text| format!("{option}{text}")).collect()
    };
    let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    if let Some(message) = refusal(command, &arguments) {
        return Err(ConfigFileError::Value { place, key: name.to_owned(), message });
    }
    Ok(Setting { id: arg.get_id().clone(), arguments })
}

fn nearest(command: &Command, name: &str) -> String {
    let known = command.get_arguments().filter_map(key);
    let near = |other: &String| strsim::jaro_winkler(other, name);
    known.max_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or_default()
}

/// A value as it would be typed; several for a list.
fn texts(value: &DeValue<'_>) -> Result<Vec<String>, &'static str> {
    Ok(vec![match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Integer(_) => return Err("a number that is not decimal"),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(list) => {
            let lists: Result<Vec<_>, _> = list.iter().map(|item| texts(item.get_ref())).collect();
            return Ok(lists?.concat());
        }
        DeValue::Datetime(_) => return Err("a date"),
        DeValue::Table(_) => return Err("a table"),
    }])
}

/// Why the parser would not take these arguments, whatever the others are.
fn refusal(command: &Command, arguments: &[OsString]) -> Option<String> {
    let program = [OsString::from("ddiht")];
    let alone = command.clone().try_get_matches_from(program.iter().chain(arguments));
    let error = alone.err()?;
    let own = matches!(
        error.kind(),
        ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::ArgumentConflict
            | ErrorKind::TooManyValues
            | ErrorKind::TooFewValues
    );
    let text = error.to_string();
    let sentence = text.lines().next().unwrap_or_default();
    own.then(|| sentence.trim_start_matches("error: ").to_owned())
}

/// All settings in effect, as a file that would bring them about.
fn print(command: &Command, matches: &ArgMatches) -> String {
    let mut text = format!("# ddiht {}\n", command.get_name());
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        let (Some(key), Some(values)) = (key(arg), matches.get_raw(id)) else { continue };
        let given = |other: &&Arg| {
            matches.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        let default = matches.value_source(id) == Some(ValueSource::DefaultValue);
        if default && excluding(command, arg).iter().any(given) {
            continue;
        }
        let flag = matches!(arg.get_action(), ArgAction::SetTrue);
        let values: Vec<String> = values
            .map(|value| {
                let value = value.to_string_lossy();
                if flag { value.into_owned() } else { toml_value(&value) }
            })
            .collect();
        let list = matches!(arg.get_action(), ArgAction::Append);
        let value = if list { format!("[{}]", values.join(", ")) } else { values.concat() };
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

/// A number where the text is one, else a string.
fn toml_value(text: &str) -> String {
    if let Ok(number) = text.parse::<i64>() {
        return number.to_string();
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.parse::<u64>().is_err() => format!("{number:?}"),
        _ => toml::Value::String(text.to_owned()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(arguments: &[&str]) -> String {
        let arguments = arguments.iter().map(OsString::from).collect();
        match expand(arguments) {
            Ok(Call::Print(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    /// Every option of a command that takes a file can be in one: what is printed is read back.
    #[test]
    fn what_is_printed_is_a_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("settings.toml");
        let calls: [&[&str]; 3] = [
            &["ddiht", "train", "--print-config"],
            &[
                "ddiht",
                "train",
                "a.svm",
                "5",
                "-k",
                "7",
                "--C",
                "0.5",
                "--seed",
                "18446744073709551615",
                "--positive",
                ">=7",
                "--time",
                "90s",
                "--json",
                "--print-config",
            ],
            &[
                "ddiht",
                "server",
                "--workers",
                "3",
                "--data",
                "a b",
                "--data",
                "c\"d",
                "-k",
                "2",
                "--power",
                "inf",
                "--print-config",
            ],
        ];
        for call in calls {
            let text = printed(call);
            fs::write(&file, &text).unwrap();
            let again =
                printed(&["ddiht", call[1], "--print-config", "--config", file.to_str().unwrap()]);
            assert_eq!(again, text);
        }
        let text = printed(calls[1]);
        for line in ["C = 0.5", "k = 7", "data = [\"a.svm\", 5]", "json = true", "quiet = false"] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("lambda"), "{text}");
        assert!(printed(calls[0]).contains("lambda = 0.0001\n"));
    }

    #[test]
    fn the_call_wins() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("settings.toml");
        fs::write(&file, "data = [\"a\", \"b\"]\nk = 5\nlambda = 1e-3\nloss = \"hinge\"\n")
            .unwrap();
        let file = file.to_str().unwrap();
        let text =
            printed(&["ddiht", "train", "c", "--C=2", "--config", file, "--print-config", "-k9"]);
        for line in ["data = [\"c\"]", "k = 9", "C = 2", "loss = \"hinge\""] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("lambda"), "{text}");
    }
}
