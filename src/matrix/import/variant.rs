//! The rule table: which stack and toolkit a tag, an argument or a name speaks of.
//!
//! Main type: [`Signal`]; entry points: [`of_reference`], [`of_argument`], [`of_name`], and [`resolve`] where several speak.
//! `docs/import.md` shows the table to users, and a test holds both together row by row. It must not know of bake files or
//! workflows.

use super::reference::Parts;
use crate::model::Stack;

/// What a text says of the build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) stack: Stack,
    /// Version of CUDA or ROCm, as exact as the text has it.
    pub(super) toolkit: Option<String>,
    /// The word that said it, fit to name a variant.
    pub(super) word: String,
}

impl Signal {
    fn versioned(stack: Stack, toolkit: String, word: String) -> Self {
        Self { stack, toolkit: Some(toolkit), word }
    }

    fn bare(stack: Stack) -> Self {
        Self { stack, toolkit: None, word: stack.as_str().to_owned() }
    }

    /// The stack with its toolkit, for a comment.
    pub(super) fn told(&self) -> String {
        match &self.toolkit {
            Some(toolkit) => format!("{} {toolkit}", self.stack.as_str()),
            None => self.stack.as_str().to_owned(),
        }
    }

    fn contradicts(&self, other: &Self) -> bool {
        let apart = |a: &String, b: &String| !is_prefix(a, b) && !is_prefix(b, a);
        self.stack != other.stack
            || self.toolkit.as_ref().zip(other.toolkit.as_ref()).is_some_and(|(a, b)| apart(a, b))
    }
}

/// What the value of an argument, or of a key of a row, is.
#[derive(Clone, Copy)]
enum Meaning {
    /// A version of this stack's toolkit, or a word of the table.
    Toolkit(Stack),
    /// An index of Python packages: its last path component is a word of the table.
    Index,
    /// The image that is built upon.
    Base,
    /// A word of the table.
    Word,
}

/// The arguments that are read, in upper case and with `_`; all others say nothing.
const ARGUMENTS: [(&[&str], Meaning); 5] = [
    (
        &[
            "CUDA",
            "CUDA_VERSION",
            "CUDA_VER",
            "CUDA_TAG",
            "CUDA_TOOLKIT",
            "CUDA_TOOLKIT_VERSION",
            "TORCH_CUDA",
            "TORCH_CUDA_VERSION",
            "PYTORCH_CUDA",
            "PYTORCH_CUDA_VERSION",
        ],
        Meaning::Toolkit(Stack::Cuda),
    ),
    (
        &["ROCM", "ROCM_VERSION", "ROCM_VER", "ROCM_TAG", "TORCH_ROCM", "TORCH_ROCM_VERSION", "PYTORCH_ROCM"],
        Meaning::Toolkit(Stack::Rocm),
    ),
    (
        &[
            "PYTORCH_INDEX",
            "PYTORCH_INDEX_URL",
            "TORCH_INDEX",
            "TORCH_INDEX_URL",
            "INDEX_URL",
            "EXTRA_INDEX_URL",
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "UV_INDEX_URL",
        ],
        Meaning::Index,
    ),
    (&["BASE", "BASE_IMAGE", "BASE_TAG", "BASEIMAGE", "FROM", "FROM_IMAGE", "PARENT_IMAGE"], Meaning::Base),
    (
        &[
            "VARIANT",
            "FLAVOR",
            "FLAVOUR",
            "STACK",
            "BACKEND",
            "ACCELERATOR",
            "DEVICE",
            "GPU",
            "GPU_ARCH_TYPE",
            "COMPUTE_PLATFORM",
            "TORCH_BACKEND",
            "UV_TORCH_BACKEND",
            "SUFFIX",
            "TAG",
            "TAGS",
        ],
        Meaning::Word,
    ),
];

/// What an image reference says. A version that opens the tag counts where the repository is named `cuda` or is AMD's `rocm`.
pub(super) fn of_reference(reference: &str) -> Option<Signal> {
    let parts = Parts::of(reference);
    let (tag, path) = (of_text(parts.tag), of_text(parts.path));
    let exact = |signal: &Signal| signal.toolkit.is_some();
    let opened = || of_repository(parts.path, parts.tag);
    tag.clone().filter(exact).or_else(opened).or_else(|| path.clone().filter(exact)).or(tag).or(path)
}

fn of_repository(path: &str, tag: &str) -> Option<Signal> {
    let first = words(tag).into_iter().next()?;
    // A bare number is more likely the image's own version.
    if !first.contains('.') {
        return None;
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    let stack = if words(last).iter().any(|word| word == "cuda") {
        Stack::Cuda
    } else if path.split('/').any(|part| part.eq_ignore_ascii_case("rocm")) {
        Stack::Rocm
    } else {
        return None;
    };
    let toolkit = version(stack, &first)?;
    let word = format!("{}{toolkit}", stack.as_str());
    Some(Signal::versioned(stack, toolkit, word))
}

/// What an argument of a build, or a key of a row, says.
pub(super) fn of_argument(key: &str, value: &str) -> Option<Signal> {
    let upper = normal(key);
    let (_, meaning) = ARGUMENTS.iter().find(|(keys, _)| keys.contains(&upper.as_str()))?;
    match meaning {
        Meaning::Toolkit(stack) => of_toolkit(*stack, value),
        Meaning::Index => of_text(value.trim_end_matches('/').rsplit('/').next()?),
        Meaning::Base => of_reference(value.trim()),
        Meaning::Word => of_text(value),
    }
}

/// A key in the spelling of the table: `cuda-version` and `image.cuda_version` are `CUDA_VERSION`.
pub(super) fn normal(key: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or_default();
    last.to_ascii_uppercase().replace('-', "_")
}

fn of_toolkit(stack: Stack, value: &str) -> Option<Signal> {
    let lower = value.trim().to_ascii_lowercase();
    if ["1", "true", "yes", "on"].contains(&lower.as_str()) {
        return Some(Signal::bare(stack));
    }
    let first = words(&lower).into_iter().next()?;
    let Some(toolkit) = version(stack, &first) else { return of_text(&lower) };
    let prefix = match stack {
        Stack::Cuda if !first.contains('.') => "cu",
        Stack::Cuda | Stack::Rocm | Stack::Cpu => stack.as_str(),
    };
    Some(Signal::versioned(stack, toolkit, format!("{prefix}{first}")))
}

/// What the name of a target says. It can hold no dot, so that `cuda12-8` is 12.8 there.
pub(super) fn of_name(name: &str) -> Option<Signal> {
    of_text(&dotted(name)).filter(|signal| signal.toolkit.is_some()).or_else(|| of_text(name))
}

/// With a dot for what stands between two digits.
fn dotted(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let digit = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let between = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    let dot = |(at, c): (usize, &char)| if matches!(c, '-' | '_') && between(at) { '.' } else { *c };
    chars.iter().enumerate().map(dot).collect()
}

/// What any text says, word by word: a version before `cpu`, and that before a bare `cuda` or `rocm`.
pub(super) fn of_text(text: &str) -> Option<Signal> {
    let words = words(text);
    let exact = (0..words.len()).find_map(|at| exact_at(&words, at));
    let cpu = || words.iter().any(|word| is_cpu(word)).then(|| Signal::bare(Stack::Cpu));
    let bare = || words.iter().find_map(|word| bare(word)).map(Signal::bare);
    exact.map(|(signal, _)| signal).or_else(cpu).or_else(bare)
}

/// A versioned signal that begins at this word, and how many words it takes.
fn exact_at(words: &[String], at: usize) -> Option<(Signal, usize)> {
    let word = &words[at];
    if let Some(stack) = bare(word) {
        let next = words.get(at + 1)?;
        let toolkit = version(stack, next)?;
        let name = format!("{word}{next}");
        return Some((Signal::versioned(stack, toolkit, name), 2));
    }
    let of = |prefix: &str, stack| version(stack, word.strip_prefix(prefix)?).map(|toolkit| (stack, toolkit));
    let (stack, toolkit) =
        of("cuda", Stack::Cuda).or_else(|| of("cu", Stack::Cuda)).or_else(|| of("rocm", Stack::Rocm))?;
    Some((Signal::versioned(stack, toolkit, word.clone()), 1))
}

fn bare(word: &str) -> Option<Stack> {
    [Stack::Cuda, Stack::Rocm].into_iter().find(|stack| stack.as_str() == word)
}

fn is_cpu(word: &str) -> bool {
    matches!(word, "cpu" | "cpuonly")
}

/// Words in lower case. A dot is part of one, so that a version is.
fn words(text: &str) -> Vec<String> {
    let separates = |c: char| !(c.is_alphanumeric() || c == '.');
    let words = text.split(separates).map(|word| word.trim_matches('.').to_ascii_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// The version that stands behind a stack's name: `12.8.1`, or its digits alone, as `128` and `644`.
fn version(stack: Stack, text: &str) -> Option<String> {
    let digits =
        |text: &str| !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !text.contains('.') {
        return digits(text).then(|| of_digits(stack, text)).flatten();
    }
    let parts: Vec<&str> = text.split('.').collect();
    let sound = parts.len() <= 3 && parts.iter().all(|part| digits(part) && part.len() <= 2);
    (sound && plausible(stack, parts[0])).then(|| text.to_owned())
}

fn of_digits(stack: Stack, digits: &str) -> Option<String> {
    let each = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
    let parts = match (stack, digits.len()) {
        (Stack::Cuda, 2) if digits.starts_with('1') => vec![digits.to_owned()],
        (Stack::Cuda, 2) => each(digits),
        (Stack::Cuda, 3 | 4) => {
            let (major, rest) = digits.split_at(2);
            std::iter::once(major.to_owned()).chain(each(rest)).collect()
        }
        (Stack::Rocm, 1..=3) => each(digits),
        (Stack::Cuda | Stack::Rocm | Stack::Cpu, _) => return None,
    };
    plausible(stack, &parts[0]).then(|| parts.join("."))
}

/// Versions that there are or may soon be: an image's own version, such as 2.9, or Ubuntu's, is none of them.
fn plausible(stack: Stack, major: &str) -> bool {
    let Ok(major) = major.parse::<u32>() else { return false };
    match stack {
        Stack::Cuda => (7..=19).contains(&major),
        Stack::Rocm => (3..=14).contains(&major),
        Stack::Cpu => false,
    }
}

fn is_prefix(short: &str, long: &str) -> bool {
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A text without the words that tell builds of one thing apart; none where nothing else is left.
pub(super) fn without(text: &str) -> Option<String> {
    let dots = dotted(text);
    let exact = of_text(&dots).is_some_and(|signal| signal.toolkit.is_some());
    let words = words(if exact { &dots } else { text });
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let word = words[at].as_str();
        match exact_at(&words, at) {
            Some((_, length)) => at += length,
            None => {
                let tells = is_cpu(word) || bare(word).is_some() || matches!(word, "gpu" | "latest");
                if !tells && !word.starts_with("cudnn") {
                    kept.push(word);
                }
                at += 1;
            }
        }
    }
    let family = kept.join("-");
    // The dots that `dotted` put in are not the author's.
    let family = if text.contains('.') { family } else { family.replace('.', "-") };
    (!family.is_empty()).then_some(family)
}

/// Who says something, and what.
pub(super) type Said = (String, Signal);

/// What several sources come to.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) signal: Option<Signal>,
    /// Where it comes from, and who says otherwise.
    pub(super) comments: Vec<String>,
}

/// The first source decides; later ones that agree may be more exact. Arguments that contradict each other decide nothing.
pub(super) fn resolve(first: Vec<Said>, arguments: Vec<Said>, last: Option<Said>) -> Resolved {
    let mut comments = Vec::new();
    let torn = arguments.iter().any(|(_, one)| one.stack != arguments[0].1.stack);
    let mut said = first;
    if said.is_empty() && torn {
        let told: Vec<String> =
            arguments.iter().map(|(who, signal)| format!("{who} says {}", signal.told())).collect();
        comments.push(format!("not read, since they contradict each other: {}", told.join(", ")));
    } else {
        said.extend(arguments);
    }
    said.extend(last);
    let mut said = said.into_iter();
    let Some((who, mut signal)) = said.next() else { return Resolved { signal: None, comments } };
    let mut from = vec![who.clone()];
    for (other, more) in said {
        if signal.contradicts(&more) {
            comments.push(format!("{other} says {}, and {who} wins", more.told()));
        } else if more.toolkit.as_ref().map_or(0, String::len)
            > signal.toolkit.as_ref().map_or(0, String::len)
        {
            if signal.toolkit.is_none() {
                signal.word = more.word;
            }
            signal.toolkit = more.toolkit;
            from.push(other);
        }
    }
    comments.insert(0, format!("{} by {}", signal.told(), from.join(" and ")));
    Resolved { signal: Some(signal), comments }
}
