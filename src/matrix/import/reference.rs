//! The parts of an image reference, and names that are made of them.
//!
//! Main type: [`Parts`]. Whether a reference is a sound one is not its business: `matrix::reference` says that.

use crate::matrix::reference::{is_domain, name_and_tag};

/// Path and tag of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// Without the registry.
    pub(super) path: &'a str,
    /// Empty where there is none.
    pub(super) tag: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn of(reference: &'a str) -> Self {
        let (name, tag) = name_and_tag(reference);
        let path = match name.split_once('/') {
            Some((first, rest)) if is_domain(first) => rest,
            Some(_) | None => name,
        };
        Self { path, tag: tag.unwrap_or_default() }
    }

    /// Last component and tag.
    pub(super) fn short(&self) -> String {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        if self.tag.is_empty() { last.to_owned() } else { format!("{last}-{}", self.tag) }
    }
}

#[cfg(test)]
mod tests {
    use super::Parts;

    #[test]
    fn registries_are_no_part_of_the_path() {
        for (reference, path, tag) in [
            ("a", "a", ""),
            ("a:1", "a", "1"),
            ("team/a:1", "team/a", "1"),
            ("localhost:5000/a", "a", ""),
            ("localhost/a/b:x", "a/b", "x"),
            ("r.example:5000/team/a:cu128@sha256:00", "team/a", "cu128"),
        ] {
            assert_eq!(Parts::of(reference), Parts { path, tag }, "{reference}");
        }
    }
}
