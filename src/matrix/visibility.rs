//! The third axis: ways of exposing a GPU.

use super::at::{At, Entries, Texts};
use super::either::NameOr;
use super::error::{Parsed, Problem};
use super::images::duplicate;
use super::meant::BASELINE_VISIBILITY;
use super::presets::{self, PRESETS, Preset};
use super::raw::RawVisibility;
use super::{gpus, scalars};
use crate::model::{Grant, Visibility};

/// The axis; `none` alone where the matrix has none.
pub(super) fn parse(
    axis: Option<&At<Vec<At<NameOr<RawVisibility>>>>>,
    source: &str,
) -> Parsed<Vec<Visibility>> {
    let Some(axis) = axis else {
        return Ok(presets::find(presets::DEFAULT).map(Preset::visibility).into_iter().collect());
    };
    if axis.value.is_empty() {
        let names: Vec<String> = PRESETS.iter().map(|preset| format!("`{}`", preset.name)).collect();
        return Err(Problem::new(
            axis.place,
            "`visibility` is empty",
            format!("give at least one of {}, or remove the key", names.join(", ")),
        ));
    }
    let mut parsed: Vec<Visibility> = Vec::new();
    for item in &axis.value {
        let (place, visibility) = match &item.value {
            NameOr::Name(name) => (item.place, preset(&At { value: name.clone(), place: item.place })?),
            NameOr::Spelled(spelled) => (spelled.name.place, spelled_out(spelled, source)?),
        };
        if parsed.iter().any(|known| known.name == visibility.name) {
            return Err(duplicate(place, "visibility", &visibility.name));
        }
        parsed.push(visibility);
    }
    Ok(parsed)
}

fn preset(name: &At<String>) -> Parsed<Visibility> {
    presets::find(&name.value).map(Preset::visibility).ok_or_else(|| {
        let known = PRESETS.iter().map(|preset| preset.name);
        Problem::unknown(name.place, "visibility preset", &name.value, known)
    })
}

fn spelled_out(raw: &RawVisibility, source: &str) -> Parsed<Visibility> {
    let name = scalars::name(&raw.name, "a visibility")?;
    if let Some(preset) = presets::find(&name) {
        return Err(Problem::new(
            raw.name.place,
            format!("`{name}` is the name of a preset ({})", preset.about),
            format!("give it another name, or write `- {name}` alone for the preset"),
        ));
    }
    if name == BASELINE_VISIBILITY {
        return Err(Problem::new(
            raw.name.place,
            format!("`{name}` is the visibility of a host without a container"),
            "give it another name",
        ));
    }
    let mut grants = Vec::new();
    exposing(raw, source, &mut grants)?;
    environment(raw.env.as_ref(), source, &mut grants)?;
    limiting(raw, &mut grants)?;
    for option in items(raw.security.as_ref(), source) {
        grants.push(security(&option)?);
    }
    if raw.privileged {
        grants.push(Grant::Privileged);
    }
    Ok(Visibility { name, grants })
}

fn items(texts: Option<&Texts>, source: &str) -> Vec<At<String>> {
    texts.map(|texts| texts.items(source)).unwrap_or_default()
}

fn filled(text: &At<String>, key: &str) -> Parsed<String> {
    if text.value.trim().is_empty() || text.value.contains('\0') {
        return Err(Problem::new(text.place, format!("`{key}` has an empty value"), "give a value"));
    }
    Ok(text.value.clone())
}

fn exposing(raw: &RawVisibility, source: &str, grants: &mut Vec<Grant>) -> Parsed<()> {
    if let Some(text) = &raw.gpus {
        grants.push(gpus::parse(&text.value).map_err(|(why, hint)| {
            Problem::new(text.place, format!("`gpus: {}` cannot be: {why}", text.value), hint)
        })?);
    }
    for name in items(raw.cdi.as_ref(), source) {
        grants.push(cdi(&name)?);
    }
    if let Some(name) = &raw.runtime {
        grants.push(Grant::Runtime(filled(name, "runtime")?));
    }
    for device in items(raw.devices.as_ref(), source) {
        grants.push(device_node(&device)?);
    }
    for group in items(raw.groups.as_ref(), source) {
        grants.push(self::group(&group)?);
    }
    Ok(())
}

/// `vendor/class=name`.
fn is_cdi_name(text: &str) -> bool {
    let parts = text.split_once('=').and_then(|(kind, name)| Some((kind.split_once('/')?, name)));
    parts.is_some_and(|((vendor, class), name)| {
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c))
        };
        word(vendor) && word(class) && word(name)
    })
}

fn cdi(name: &At<String>) -> Parsed<Grant> {
    if is_cdi_name(&name.value) {
        return Ok(Grant::Cdi(name.value.clone()));
    }
    Err(Problem::new(
        name.place,
        format!("`{}` is no CDI device", name.value),
        "give its full name, such as `nvidia.com/gpu=all` or `amd.com/gpu=0`",
    ))
}

/// As the command line reads it: a name and, but for one, a value after `=`, or after `:` as it once was.
fn security(option: &At<String>) -> Parsed<Grant> {
    let text = filled(option, "security")?;
    let value = text.split_once('=').or_else(|| text.split_once(':')).map(|(_, value)| value);
    if text != "no-new-privileges" && value.is_none_or(str::is_empty) {
        return Err(Problem::new(
            option.place,
            format!("`{text}` is no security option: it has no value"),
            "give a name and a value, such as `seccomp=unconfined` or `label=disable`",
        ));
    }
    // One spelling for those who look for a profile.
    let old = text.strip_prefix("seccomp:").map(|profile| format!("seccomp={profile}"));
    Ok(Grant::Security(old.unwrap_or(text)))
}

fn device_node(text: &At<String>) -> Parsed<Grant> {
    // `docker run --device` takes CDI names too.
    if is_cdi_name(&text.value) {
        return Ok(Grant::Cdi(text.value.clone()));
    }
    let problem = |why: &str, hint: &str| {
        Problem::new(text.place, format!("`{}` is no device node: {why}", text.value), hint)
    };
    let mut parts = text.value.splitn(3, ':');
    let path = parts.next().unwrap_or_default();
    let (inside, permissions) = match (parts.next(), parts.next()) {
        (None, _) => (path, "rwm"),
        (Some(inside), None) if inside.contains('/') => (inside, "rwm"),
        (Some(permissions), None) => (path, permissions),
        (Some(inside), Some(permissions)) => (inside, permissions),
    };
    if !path.starts_with('/') || path.len() < 2 || path.contains('\0') {
        return Err(problem(
            "its path is not absolute",
            "give its path, such as `/dev/kfd` or `/dev/dri:rw`",
        ));
    }
    if inside != path {
        return Err(problem(
            "another path inside the container is not carried by this version",
            "give the path once: it is the same inside",
        ));
    }
    let once = |letter: char| permissions.matches(letter).count() <= 1;
    if permissions.is_empty() || !permissions.chars().all(|c| "rwm".contains(c) && once(c)) {
        return Err(problem(
            "what follows the colon are no permissions",
            "give any of `r`, `w` and `m` there",
        ));
    }
    Ok(Grant::DeviceNode { path: path.to_owned(), permissions: permissions.to_owned() })
}

fn group(text: &At<String>) -> Parsed<Grant> {
    if text.value == "host" {
        return Ok(Grant::HostGroups);
    }
    text.value.parse().map(Grant::Group).map_err(|_| {
        Problem::new(
            text.place,
            format!("`{}` is no group number", text.value),
            "give the number, or `host` for the groups that own the device nodes: names are looked up in the image",
        )
    })
}

fn environment(
    env: Option<&Entries<At<Option<String>>>>,
    source: &str,
    grants: &mut Vec<Grant>,
) -> Parsed<()> {
    for (name, value) in env.map_or(&[][..], |env| &env.0) {
        if name.value.is_empty()
            || name.value.contains(['=', '\0'])
            || name.value.contains(char::is_whitespace)
        {
            return Err(Problem::new(
                name.place,
                format!("`{}` cannot be the name of a variable", name.value.escape_debug()),
                "use letters, digits and `_`",
            ));
        }
        grants.push(match &value.value {
            Some(text) if text.contains('\0') => {
                return Err(Problem::new(
                    value.place,
                    "a variable cannot hold a null character",
                    "remove it",
                ));
            }
            Some(text) => Grant::Env { name: name.value.clone(), value: text.clone() },
            // Set and empty, and unset, hide different GPUs: nothing after the colon could be meant as either.
            None if value.place.text_in(source).is_none_or(|text| text.trim().is_empty()) => {
                return Err(Problem::new(
                    name.place,
                    format!("variable `{}` has no value", name.value),
                    "write `\"\"` for one that is set and empty, `null` for one that is unset, or remove it",
                ));
            }
            None => Grant::Unset(name.value.clone()),
        });
    }
    Ok(())
}

fn limiting(raw: &RawVisibility, grants: &mut Vec<Grant>) -> Parsed<()> {
    if let Some(size) = &raw.shm_size {
        match scalars::bytes(size)? {
            0 => {
                let why = "`shm_size: 0` would be taken for the engine's default";
                return Err(Problem::new(size.place, why, "give a size, or leave `shm_size` out"));
            }
            bytes => grants.push(Grant::ShmSize(bytes)),
        }
    }
    if let Some(mode) = &raw.ipc {
        const MODES: [&str; 4] = ["none", "private", "shareable", "host"];
        if !MODES.contains(&mode.value.as_str()) {
            return Err(Problem::unknown(mode.place, "ipc mode", &mode.value, MODES));
        }
        grants.push(Grant::Ipc(mode.value.clone()));
    }
    for (name, value) in raw.ulimits.as_ref().map_or(&[][..], |ulimits| &ulimits.0) {
        grants.push(ulimit(name, value)?);
    }
    Ok(())
}

/// The limits that an engine knows.
const ULIMITS: [&str; 15] = [
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "sigpending",
    "stack",
];

fn ulimit(name: &At<String>, value: &At<String>) -> Parsed<Grant> {
    if !ULIMITS.contains(&name.value.as_str()) {
        return Err(Problem::unknown(name.place, "ulimit", &name.value, ULIMITS));
    }
    let number = |text: &str| match text.trim() {
        "unlimited" => Some(-1),
        text => text.parse::<i64>().ok().filter(|number| *number >= -1),
    };
    let (soft, hard) = value.value.split_once(':').unwrap_or((&value.value, &value.value));
    let limits = number(soft).zip(number(hard));
    let ordered = |soft: i64, hard: i64| hard == -1 || (soft != -1 && soft <= hard);
    match limits {
        Some((soft, hard)) if ordered(soft, hard) => {
            Ok(Grant::Ulimit { name: name.value.clone(), soft, hard })
        }
        Some(_) => Err(Problem::new(
            value.place,
            format!("`{}: {}` has a soft limit above its hard limit", name.value, value.value),
            "give the soft limit first: `soft:hard`",
        )),
        None => Err(Problem::new(
            value.place,
            format!("`{}: {}` is no limit", name.value, value.value),
            "give a number, `\"soft:hard\"`, or -1 for no limit",
        )),
    }
}
