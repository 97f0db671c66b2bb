//! What cells must yield: codes and facts.

use super::at::{At, Entries, Place, Texts};
use super::either::CodesOr;
use super::error::{Parsed, Problem};
use super::facts;
use super::meant::Outcome;
use super::raw::{RawOutcome, RawRule};
use crate::model::Code;

/// The outcome of a rule.
pub(super) fn of_rule(rule: &At<RawRule>, source: &str) -> Parsed<Outcome> {
    outcome(rule.value.code.as_ref(), rule.value.facts.as_ref(), rule.place, source)
}

/// The outcome of a combination of `include`.
pub(super) fn of_include(expect: &At<CodesOr<RawOutcome>>, source: &str) -> Parsed<Outcome> {
    match &expect.value {
        CodesOr::One(name) => {
            let name = At { value: name.clone(), place: expect.place };
            Ok(Outcome { codes: Some(vec![code(&name)?]), facts: Vec::new() })
        }
        CodesOr::Many(names) => Ok(Outcome { codes: Some(codes(names, expect.place)?), facts: Vec::new() }),
        CodesOr::Spelled(raw) => outcome(raw.code.as_ref(), raw.facts.as_ref(), expect.place, source),
    }
}

fn outcome(
    code: Option<&Texts>,
    facts: Option<&Entries<At<Option<String>>>>,
    place: Place,
    source: &str,
) -> Parsed<Outcome> {
    if code.is_none() && facts.is_none() {
        return Err(Problem::new(
            place,
            "nothing is said of what these cells must yield",
            "add `code:`, `facts:`, or both",
        ));
    }
    Ok(Outcome {
        codes: code.map(|names| codes(&names.items(source), names.place)).transpose()?,
        facts: facts.map(facts::parse).transpose()?.unwrap_or_default(),
    })
}

fn codes(names: &[At<String>], place: Place) -> Parsed<Vec<Code>> {
    if names.is_empty() {
        return Err(Problem::new(place, "`code` has an empty list", "give at least one code"));
    }
    let mut codes = Vec::new();
    for name in names {
        let code = code(name)?;
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    Ok(codes)
}

fn code(name: &At<String>) -> Parsed<Code> {
    name.value.parse().map_err(|_| {
        // `Code::all` gives values, whose names live as long as the program.
        Problem::unknown(name.place, "code", &name.value, Code::all().map(Code::as_str))
    })
}
