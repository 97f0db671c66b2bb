//! The grammar of image references, as engines read them.
//!
//! ```text
//! reference  = [domain "/"] path [":" tag] ["@" digest]
//! domain     = host [":" port], and it holds a `.`, a `:` or an upper-case letter, or is `localhost`
//! path       = component {"/" component}
//! component  = [a-z0-9]+ {("." | "_" | "__" | "-"+) [a-z0-9]+}
//! tag        = [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}
//! digest     = "sha256:" 64 lower-case hexadecimal digits, or another algorithm with at least 32
//! ```
//! It is checked here because an engine says "invalid reference format" and no more.

/// Longest name, domain and path together.
const MAX_NAME: usize = 255;

/// Says why a text is no reference.
pub(super) fn check(reference: &str) -> Result<(), String> {
    if reference.is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some(bad) = reference.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("it holds {}", if bad == ' ' { "a space" } else { "white space" }));
    }
    if reference.contains("://") {
        return Err("it begins with a scheme, and a reference has none".to_owned());
    }
    let digest = reference.split_once('@').map(|(_, digest)| digest);
    let (name, tag) = name_and_tag(reference);
    check_name(name)?;
    tag.map_or(Ok(()), check_tag)?;
    digest.map_or(Ok(()), check_digest)
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("it names no repository".to_owned());
    }
    if name.len() > MAX_NAME {
        return Err(format!("its name has more than {MAX_NAME} characters"));
    }
    let path = match name.split_once('/') {
        Some((first, path)) if is_domain(first) => {
            check_domain(first)?;
            path
        }
        Some(_) | None => name,
    };
    path.split('/').try_for_each(check_component)
}

/// What an engine takes for a registry rather than for the first part of the path.
pub(crate) fn is_domain(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':']) || first.chars().any(|c| c.is_ascii_uppercase())
}

/// The part before a digest and the tag, and the tag.
pub(crate) fn name_and_tag(reference: &str) -> (&str, Option<&str>) {
    let rest = reference.split('@').next().unwrap_or_default();
    match rest.rfind(':').filter(|colon| !rest[*colon..].contains('/')) {
        Some(colon) => (&rest[..colon], Some(&rest[colon + 1..])),
        None => (rest, None),
    }
}

/// Whether it has a tag or a digest.
pub(crate) fn is_exact(reference: &str) -> bool {
    reference.contains('@') || name_and_tag(reference).1.is_some_and(|tag| !tag.is_empty())
}

fn check_domain(domain: &str) -> Result<(), String> {
    let bad = || Err(format!("`{domain}` is no registry: that is a host name, with `:PORT` if need be"));
    let (host, port) = if let Some(inner) = domain.strip_prefix('[') {
        let Some((address, rest)) = inner.split_once(']') else { return bad() };
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return bad();
        }
        match rest.strip_prefix(':') {
            Some(port) => ("ipv6", Some(port)),
            None if rest.is_empty() => ("ipv6", None),
            None => return bad(),
        }
    } else {
        domain.split_once(':').map_or((domain, None), |(host, port)| (host, Some(port)))
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !host.split('.').all(label) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return bad();
    }
    Ok(())
}

fn check_component(component: &str) -> Result<(), String> {
    if component.is_empty() {
        return Err("a part of its path is empty".to_owned());
    }
    if component.chars().any(|c| c.is_ascii_uppercase()) {
        return Err(format!("`{component}` holds upper-case letters, which a path may not"));
    }
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if let Some(bad) = component.chars().find(|c| !word(*c) && !matches!(c, '.' | '_' | '-')) {
        return Err(format!("`{component}` holds `{}`, which a path may not", bad.escape_debug()));
    }
    if !component.starts_with(word) || !component.ends_with(word) {
        return Err(format!("`{component}` must begin and end with a letter or a digit"));
    }
    let separators = component.split(word).filter(|separator| !separator.is_empty());
    for separator in separators {
        let dashes = separator.chars().all(|c| c == '-');
        if !dashes && !matches!(separator, "." | "_" | "__") {
            return Err(format!("`{component}` holds `{separator}`, which a path may not"));
        }
    }
    Ok(())
}

fn check_tag(tag: &str) -> Result<(), String> {
    let first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest = |c: char| first(c) || matches!(c, '.' | '-');
    if tag.is_empty() {
        return Err("there is nothing after the `:` of its tag".to_owned());
    }
    if tag.len() > 128 {
        return Err("its tag has more than 128 characters".to_owned());
    }
    if !tag.starts_with(first) || !tag.chars().all(rest) {
        return Err(format!("`{tag}` is no tag"));
    }
    Ok(())
}

fn check_digest(digest: &str) -> Result<(), String> {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return Err(format!("`@{digest}` is no digest: that is `@sha256:` and 64 hexadecimal digits"));
    };
    let hexadecimal = hex.chars().all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f'));
    let known = algorithm.starts_with(|c: char| c.is_ascii_alphabetic())
        && algorithm.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '_' | '-'));
    let length = if algorithm == "sha256" { hex.len() == 64 } else { hex.len() >= 32 };
    if hexadecimal && known && length {
        return Ok(());
    }
    Err(format!("`@{algorithm}:…` is no digest: that is `@sha256:` and 64 hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn references_that_engines_take() {
        for reference in [
            "a",
            "ubuntu:24.04",
            "pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime",
            "localhost/gpusweep/bare:1",
            "localhost:5000/a",
            "registry.example:443/team/a_b/c--d:Tag_1",
            "[::1]:5000/a",
            "[2001:db8::1]/a",
            "Registry/a",
            "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "a:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ] {
            assert_eq!(check(reference), Ok(()), "{reference}");
        }
    }

    #[test]
    fn references_that_engines_refuse() {
        for (reference, reason) in [
            ("", "empty"),
            ("a b", "a space"),
            ("a\tb", "white space"),
            ("https://example.com/a", "scheme"),
            ("Ubuntu", "upper-case"),
            ("team/Torch:1", "upper-case"),
            ("a:", "nothing after"),
            ("a:-x", "no tag"),
            ("a:b:c", "`:`"),
            ("a//b", "empty"),
            ("/a", "empty"),
            ("a/", "empty"),
            (":1", "no repository"),
            ("a..b", "`..`"),
            ("a___b", "`___`"),
            ("-a", "begin and end"),
            ("a@sha256:12", "64"),
            ("a@latest", "64"),
            ("localhost:port/a", "registry"),
            ("exa_mple.com/a", "registry"),
            ("ä", "`ä`"),
        ] {
            let said = check(reference).expect_err(reference);
            assert!(said.contains(reason), "{reference}: {said}");
        }
    }
}
