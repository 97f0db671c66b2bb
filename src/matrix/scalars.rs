//! Durations, sizes, counts, names and flags, from text.
//!
//! Functions only. They know what a value may be, and not which key it belongs to beyond its name in the message.

use std::time::Duration;

use gpusweep_report::Probe;

use super::at::At;
use super::error::{Parsed, Problem};
use crate::model::{Device, Stack};

/// torch counts devices in eight bits with a sign.
const MAX_DEVICE: u32 = 127;

/// Longest name: it stands in tables and becomes part of ids.
const MAX_NAME: usize = 64;

/// A name for tables, ids and patterns.
pub(super) fn name(text: &At<String>, what: &str) -> Parsed<String> {
    let name = text.value.as_str();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '/' | ':');
    let problem = |why: String| {
        Problem::new(
            text.place,
            format!("`{}` cannot be the name of {what}: {why}", name.escape_debug()),
            "use letters, digits and any of `. _ + - / :`, beginning with a letter or a digit",
        )
    };
    if name.chars().count() > MAX_NAME {
        return Err(problem(format!("it has more than {MAX_NAME} characters")));
    }
    match name.chars().next() {
        None => return Err(problem("it is empty".to_owned())),
        Some(first) if !first.is_alphanumeric() => {
            return Err(problem(format!("it begins with `{}`", first.escape_debug())));
        }
        Some(_) => {}
    }
    match name.chars().find(|c| !fits(*c)) {
        Some(bad) => Err(problem(format!("it holds `{}`", bad.escape_debug()))),
        None => Ok(name.to_owned()),
    }
}

/// A name that becomes part of a path: that of the run folder.
pub(super) fn folder_name(text: &At<String>, what: &str) -> Parsed<String> {
    let name = name(text, what)?;
    match name.chars().find(|c| matches!(c, '/' | ':')) {
        None => Ok(name),
        Some(bad) => Err(Problem::new(
            text.place,
            format!("`{name}` cannot be the name of {what}: it holds `{bad}`, and becomes part of a path"),
            format!("use `-` instead: `{}`", name.replace(['/', ':'], "-")),
        )),
    }
}

/// A duration: `30s`, `1m30s`, or plain seconds.
pub(super) fn duration(text: &At<String>) -> Parsed<Duration> {
    let problem = || {
        Problem::new(
            text.place,
            format!("`{}` is no duration", text.value),
            "give seconds, or numbers with `ms`, `s`, `m` or `h`, such as `90s` or `1m30s`",
        )
    };
    let mut rest = text.value.as_str();
    if rest.is_empty() {
        return Err(problem());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(letters);
        let milliseconds = match unit {
            "ms" => 1,
            "" | "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(problem()),
        };
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(milliseconds));
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(problem)?;
        rest = next;
    }
    Ok(Duration::from_millis(total))
}

/// A duration between two bounds, in whole seconds.
pub(super) fn seconds_within(text: &At<String>, what: &str, least: u64, most: u64) -> Parsed<u64> {
    let duration = duration(text)?;
    let whole = duration.as_secs();
    if duration.subsec_nanos() != 0 || !(least..=most).contains(&whole) {
        return Err(Problem::new(
            text.place,
            format!("`{what}: {}` is out of range", text.value),
            format!("give whole seconds from {least}s to {most}s"),
        ));
    }
    Ok(whole)
}

/// A size: bytes, or a number with `k`, `m`, `g` or `t`, each 1024 times the one before.
pub(super) fn bytes(text: &At<String>) -> Parsed<u64> {
    let problem = || {
        Problem::new(
            text.place,
            format!("`{}` is no size", text.value),
            "give bytes, or a number with `k`, `m`, `g` or `t`, such as `64m`",
        )
    };
    let lower = text.value.to_ascii_lowercase();
    let digits = lower.len() - lower.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = lower.split_at(digits);
    let shift = match unit {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(problem()),
    };
    let number: u64 = number.parse().map_err(|_| problem())?;
    // The engine takes signed 64-bit sizes.
    number.checked_mul(1 << shift).filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or_else(problem)
}

/// A number of things at a time.
pub(super) fn count(text: &At<String>, what: &str) -> Parsed<u32> {
    match text.value.parse::<u32>() {
        Ok(number) if (1..=100_000).contains(&number) => Ok(number),
        Ok(_) | Err(_) => Err(Problem::new(
            text.place,
            format!("`{what}: {}` is no number from 1 to 100000", text.value),
            format!("give a number, or leave `{what}` out for its default"),
        )),
    }
}

/// A GPU index or `cpu`.
pub(super) fn device(text: &At<String>) -> Parsed<Device> {
    let problem = |hint: String| Problem::new(text.place, format!("`{}` is no device", text.value), hint);
    let plain = format!("give a GPU index from 0 to {MAX_DEVICE}, or `cpu`");
    let index = ["cuda:", "hip:", "gpu"].into_iter().find_map(|prefix| text.value.strip_prefix(prefix));
    if let Some(index) = index.filter(|index| index.parse::<u32>().is_ok()) {
        return Err(problem(format!("give the index alone: `{index}`")));
    }
    match text.value.parse() {
        Ok(Device::Cpu) => Ok(Device::Cpu),
        // A sign or leading zeros would give one device two spellings.
        Ok(Device::Gpu(index)) if index <= MAX_DEVICE && index.to_string() == text.value => {
            Ok(Device::Gpu(index))
        }
        Ok(Device::Gpu(_)) | Err(_) => Err(problem(plain)),
    }
}

/// A GPU stack.
pub(super) fn stack(text: &At<String>) -> Parsed<Stack> {
    const ALL: [Stack; 3] = [Stack::Cuda, Stack::Rocm, Stack::Cpu];
    ALL.into_iter()
        .find(|stack| stack.as_str() == text.value)
        .ok_or_else(|| Problem::unknown(text.place, "stack", &text.value, ALL.map(Stack::as_str)))
}

/// A probe.
pub(super) fn probe(text: &At<String>) -> Parsed<Probe> {
    const ALL: [Probe; 4] = [Probe::Auto, Probe::Python, Probe::Libtorch, Probe::Driver];
    ALL.into_iter()
        .find(|probe| probe.as_str() == text.value)
        .ok_or_else(|| Problem::unknown(text.place, "probe", &text.value, ALL.map(Probe::as_str)))
}

/// A path in the image.
pub(super) fn python(text: &At<String>) -> Parsed<String> {
    if text.value.trim().is_empty() || text.value.contains('\0') {
        return Err(Problem::new(
            text.place,
            "`python` names no interpreter",
            "give the interpreter's path in the image, such as `/opt/venv/bin/python`, or leave it out",
        ));
    }
    Ok(text.value.clone())
}

#[cfg(test)]
mod tests {
    use super::super::at::{At, Place};
    use super::{bytes, count, device, duration, name};

    fn at(text: &str) -> At<String> {
        At { value: text.to_owned(), place: Place::START }
    }

    #[test]
    fn durations() {
        let milliseconds = |text: &str| duration(&at(text)).ok().map(|duration| duration.as_millis());
        for (text, expected) in [
            ("30", 30_000),
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("1m30", 90_000),
            ("2h", 7_200_000),
            ("250ms", 250),
            ("0", 0),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        for text in ["", "s", "1.5s", "-1s", "1 s", "1d", "1S", "18446744073709551615h", "ms1"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }

    #[test]
    fn sizes() {
        let size = |text: &str| bytes(&at(text)).ok();
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("1b", 1),
            ("1k", 1024),
            ("64m", 64 << 20),
            ("8G", 8 << 30),
            ("1gb", 1 << 30),
            ("1GiB", 1 << 30),
            ("2t", 2 << 40),
        ] {
            assert_eq!(size(text), Some(expected), "{text}");
        }
        for text in ["", "g", "-1", "1.5g", "1 g", "1x", "9223372036854775808", "9999999t"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn counts_devices_and_names() {
        assert_eq!(count(&at("1"), "jobs").ok(), Some(1));
        assert!(["0", "-1", "1.0", "100001", "x", ""].iter().all(|text| count(&at(text), "jobs").is_err()));
        assert!(["0", "127", "cpu"].iter().all(|text| device(&at(text)).is_ok()));
        assert!(["", "+1", "01", "128", "CPU", "all"].iter().all(|text| device(&at(text)).is_err()));
        assert!(
            ["a", "2.9", "team/torch:1", "größe", "a+b_c-d"].iter().all(|text| name(&at(text), "it").is_ok())
        );
        assert!(
            ["", ".a", "-", "a b", "a=b", "a,b", "a*", "a\u{1b}[0m"]
                .iter()
                .all(|text| name(&at(text), "it").is_err())
        );
    }
}
