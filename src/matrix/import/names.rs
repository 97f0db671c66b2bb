//! Names and texts that are safe to write.
//!
//! Main type: [`Names`], which gives each name once. Functions: [`slug`], [`shown`].

use std::collections::{BTreeMap, BTreeSet};

/// Longest name that a matrix takes.
const MAX_NAME: usize = 64;

/// Longest piece of the source in a comment or a warning, in characters.
const MAX_SHOWN: usize = 160;

/// A name of letters, digits and `. _ + -`, made of any text; empty where the text has no letter or digit.
pub(super) fn slug(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let mut name = String::new();
    for c in text.chars() {
        let c = if fits(c) { c } else { '-' };
        let doubled = c == '-' && name.ends_with('-');
        if c.is_ascii_alphanumeric() || !(name.is_empty() || doubled) {
            name.push(c);
        }
        if name.len() == MAX_NAME {
            break;
        }
    }
    name.trim_end_matches(['-', '.', '_', '+']).to_owned()
}

/// The names that an axis has already.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: BTreeSet<String>,
    /// The number that the next name of each base gets.
    next: BTreeMap<String, usize>,
}

impl Names {
    /// The first of these that is free, else the last one with a number.
    pub(super) fn take(&mut self, wanted: &[&str]) -> String {
        let mut slugs: Vec<String> = wanted.iter().map(|text| slug(text)).collect();
        slugs.retain(|name| !name.is_empty());
        if slugs.is_empty() {
            slugs.push("unnamed".to_owned());
        }
        if let Some(free) = slugs.iter().find(|name| !self.taken.contains(*name)) {
            self.taken.insert(free.clone());
            return free.clone();
        }
        let base = slugs.pop().unwrap_or_default();
        let next = self.next.entry(base.clone()).or_insert(2);
        loop {
            let end = format!("-{next}");
            let name = format!("{}{end}", &base[..base.len().min(MAX_NAME - end.len())]);
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A text of the source on one line, without anything that steers a terminal or ends a comment.
pub(super) fn shown(text: &str) -> String {
    let mut line = String::new();
    for c in text.chars().take(MAX_SHOWN) {
        // Spaces of other kinds, U+2028 among them, and what Unicode keeps for itself.
        let odd = c.is_whitespace() && c != ' ';
        let private =
            u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}');
        if c.is_control() || odd || private || gpusweep_report::is_steering(c) {
            line.extend(c.escape_unicode());
        } else {
            line.push(c);
        }
    }
    if text.chars().nth(MAX_SHOWN).is_some() {
        line.push('…');
    }
    line
}
