//! The matrix as text.
//!
//! Entry point: [`matrix`]. Every value that comes from the source is quoted or made a plain name; comments hold shown
//! text alone.

use std::fmt::Write as _;

use super::draft::{Draft, Found};
use super::names::{Names, slug};
use super::variant::Signal;
use crate::matrix::SCHEMA;
use crate::model::Stack;

/// A variant of the matrix.
struct Entry {
    name: String,
    given: Option<String>,
    stack: Option<Stack>,
    toolkit: Option<String>,
}

#[derive(Default)]
struct Variants {
    names: Names,
    entries: Vec<Entry>,
}

impl Variants {
    /// The name of the variant of this image.
    fn place(&mut self, found: &Found) -> String {
        let stack = found.signal.as_ref().map(|signal| signal.stack);
        let toolkit = found.signal.as_ref().and_then(|signal| signal.toolkit.clone());
        let given = found.given.as_ref();
        let same = |entry: &&Entry| {
            entry.given.as_ref() == given && entry.stack == stack && entry.toolkit == toolkit
        };
        if let Some(entry) = self.entries.iter().find(same) {
            return entry.name.clone();
        }
        let name = match (given, &found.signal) {
            (None, None) => self.names.take(&["unknown"]),
            (None, Some(signal)) => self.names.take(&[&signal.word, &canonical(signal)]),
            (Some(given), None) => self.names.take(&[given]),
            (Some(given), Some(signal)) => self.names.take(&[given, &format!("{given}-{}", signal.word)]),
        };
        self.entries.push(Entry { name: name.clone(), given: given.cloned(), stack, toolkit });
        name
    }

    fn has(&self, stack: Stack) -> bool {
        self.entries.iter().any(|entry| entry.stack == Some(stack))
    }
}

fn canonical(signal: &Signal) -> String {
    format!("{}{}", signal.stack.as_str(), signal.toolkit.as_deref().unwrap_or_default())
}

/// The whole document.
pub(super) fn matrix(name: &str, draft: &Draft, warnings: &[String]) -> String {
    let mut variants = Variants::default();
    // A matrix in which nothing is known of any variant needs none.
    let known = draft.found.iter().any(|found| found.signal.is_some() || found.given.is_some());
    let placed: Vec<Option<String>> =
        draft.found.iter().map(|found| known.then(|| variants.place(found))).collect();
    let name = slug(name);
    let mut text = head(draft, warnings);
    let name = if name.is_empty() { "imported" } else { &name };
    let _ = writeln!(text, "schema: {SCHEMA}\nname: {}\n", quoted(name));
    images(&mut text, draft, &placed);
    if known {
        entries(&mut text, &variants);
    }
    visibility(&mut text, &variants);
    text.push_str(TAIL);
    text
}

fn head(draft: &Draft, warnings: &[String]) -> String {
    let count = draft.found.len();
    let images = if count == 1 { "image" } else { "images" };
    let mut text = format!(
        "# {count} {images} imported from {}. Ready for `gpusweep plan`; edit what you know better.\n",
        draft.source
    );
    for line in &draft.about {
        let _ = writeln!(text, "# {line}");
    }
    if !warnings.is_empty() {
        text.push_str("#\n# To look at:\n");
    }
    for line in warnings {
        let _ = writeln!(text, "# - {line}");
    }
    text
}

fn images(text: &mut String, draft: &Draft, placed: &[Option<String>]) {
    text.push_str("images:\n");
    let mut names = Names::default();
    for (found, variant) in draft.found.iter().zip(placed) {
        let name = names.take(&[&found.name, "image"]);
        let _ = writeln!(text, "  # {}", found.origin);
        for comment in &found.comments {
            let _ = writeln!(text, "  #   {comment}");
        }
        if found.signal.is_none() {
            text.push_str("  #   nothing tells its stack\n");
        }
        let _ = write!(text, "  - {{ name: {}, ref: {}", quoted(&name), quoted_always(&found.reference));
        if let Some(family) =
            found.family.as_deref().map(slug).filter(|family| !family.is_empty() && *family != name)
        {
            let _ = write!(text, ", family: {}", quoted(&family));
        }
        if let Some(variant) = variant {
            let _ = write!(text, ", variant: {}", quoted(variant));
        }
        text.push_str(" }\n");
    }
}

fn entries(text: &mut String, variants: &Variants) {
    text.push_str(
        "\n# By the rules of docs/import.md. A toolkit is as exact as the source has it.\nvariants:\n",
    );
    for entry in &variants.entries {
        let _ = write!(text, "  {}: {{", quoted(&entry.name));
        match (entry.stack, &entry.toolkit) {
            (Some(stack), Some(toolkit)) => {
                let _ = writeln!(text, " stack: {}, toolkit: {} }}", stack.as_str(), quoted_always(toolkit));
            }
            (Some(stack), None) => {
                let _ = writeln!(text, " stack: {} }}", stack.as_str());
            }
            (None, _) => {
                text.push_str("} # say its stack, so that what cannot apply is pruned: { stack: cuda }\n");
            }
        }
    }
}

fn visibility(text: &mut String, variants: &Variants) {
    text.push_str("\nvisibility:\n  - none # nothing exposed: the isolation proof\n");
    if variants.has(Stack::Cuda) {
        text.push_str("  - nvidia-all # also: nvidia-0, nvidia-cdi, nvidia-runtime\n");
    }
    if variants.has(Stack::Rocm) {
        text.push_str("  - amd-all # also: amd-no-group, amd-cdi, amd-runtime\n");
    }
    if !variants.has(Stack::Cuda) && !variants.has(Stack::Rocm) {
        text.push_str("  # No image is known to need a GPU. Add nvidia-all or amd-all where one does.\n");
    }
}

const TAIL: &str = "
# What may be edited next:
# - `family:` names what `stacks` compares side by side; give builds of one thing the same one.
# - `hosts:` where the cells run, such as [{ name: gpu-host, endpoint: local, stacks: [cuda] }]
# - `expect:` what they must yield beyond the default, such as facts: { pytorch.cuda_build: \"12.8*\" }
# - `checks: { device: [0, cpu], timeout: 60s }`, `limits: { pull: 1, cell_timeout: 30m }`
";

/// A name as it is where YAML reads it as text, else in quotes.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let lower = name.to_ascii_lowercase();
    let word =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"].contains(&lower.as_str());
    if starts && !word && name.chars().all(plain) { name.to_owned() } else { quoted_always(name) }
}

/// As a JSON string, which YAML reads too.
fn quoted_always(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
