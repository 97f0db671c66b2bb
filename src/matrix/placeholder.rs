//! `{variant}` and `{variant.KEY}` in references.
//!
//! Main type: [`Template`].

/// A reference with its placeholders.
#[derive(Debug)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Name,
    Key(String),
}

/// What is wrong with a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A brace without its counterpart.
    Unpaired(char),
    /// Neither `variant` nor `variant.KEY`.
    Unknown(String),
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(brace) = rest.find(['{', '}']) {
            let (before, from_brace) = rest.split_at(brace);
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let Some(inside) = from_brace.strip_prefix('{') else { return Err(Fault::Unpaired('}')) };
            let Some((placeholder, after)) = inside.split_once('}') else { return Err(Fault::Unpaired('{')) };
            parts.push(Part::parse(placeholder)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// The keys of a variant that are needed.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Key(key) => Some(key.as_str()),
            Part::Text(_) | Part::Name => None,
        })
    }

    /// Whether anything is to be filled in.
    pub(super) fn has_placeholder(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Name | Part::Key(_) => true,
            Part::Text(_) => false,
        })
    }

    /// The text for one variant; the error names the key that it lacks.
    pub(super) fn fill<'a>(
        &'a self,
        variant: &str,
        value_of: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<String, &'a str> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Name => filled.push_str(variant),
                Part::Key(key) => filled.push_str(value_of(key).ok_or(key.as_str())?),
            }
        }
        Ok(filled)
    }
}

impl Part {
    fn parse(placeholder: &str) -> Result<Self, Fault> {
        match placeholder.strip_prefix("variant") {
            Some("") => Ok(Self::Name),
            Some(rest) => match rest.strip_prefix('.') {
                Some(key) if !key.is_empty() => Ok(Self::Key(key.to_owned())),
                Some(_) | None => Err(Fault::Unknown(placeholder.to_owned())),
            },
            None => Err(Fault::Unknown(placeholder.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Template};

    fn fill(text: &str) -> String {
        let keys = [("toolkit", "12.8"), ("py", "3.12")];
        let template = Template::parse(text).unwrap();
        let value = |key: &str| keys.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        template.fill("cu128", value).map_err(str::to_owned).unwrap_or_else(|key| format!("no {key}"))
    }

    #[test]
    fn placeholders_are_filled_in() {
        assert_eq!(fill("a:1"), "a:1");
        assert_eq!(fill("a:{variant}"), "a:cu128");
        assert_eq!(fill("{variant}-{variant.toolkit}-py{variant.py}!"), "cu128-12.8-py3.12!");
        assert_eq!(fill("{variant.other}"), "no other");
    }

    #[test]
    fn anything_else_is_refused() {
        let fault = |text: &str| Template::parse(text).unwrap_err();
        assert_eq!(fault("{"), Fault::Unpaired('{'));
        assert_eq!(fault("a}"), Fault::Unpaired('}'));
        for text in ["{}", "{image}", "{variants}", "{variant.}", "{{variant}}", "{ variant }"] {
            assert!(matches!(fault(text), Fault::Unknown(_)), "{text}");
        }
    }
}
