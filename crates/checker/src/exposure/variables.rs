//! Visibility variables: the one place where values of variables are reported.
//!
//! Main function: [`variables`].

use std::collections::BTreeMap;

use gpusweep_report::{VISIBILITY_VARIABLES, is_steering};

/// The longest value told.
const MAX_VALUE: usize = 256;

/// Unset and set-and-empty differ: the latter hides every device.
pub(super) fn variables() -> BTreeMap<String, Option<String>> {
    let value = |name: &str| std::env::var_os(name).map(|value| plain(&value.to_string_lossy()));
    VISIBILITY_VARIABLES.iter().map(|name| ((*name).to_owned(), value(name))).collect()
}

/// Quotes and blanks stay, as they can be the fault; control characters and identifiers of devices do not.
fn plain(value: &str) -> String {
    let visible: String =
        value.chars().map(|c| if c.is_control() || is_steering(c) { ' ' } else { c }).collect();
    let is_blank = visible.trim().is_empty();
    let text = if is_blank { visible } else { keep_blanks(&visible) };
    text.chars().take(MAX_VALUE).collect()
}

fn keep_blanks(value: &str) -> String {
    let cleaned = gpusweep_report::one_line(value, &[]);
    let front = &value[..value.len() - value.trim_start().len()];
    let back = &value[value.trim_end().len()..];
    format!("{front}{cleaned}{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_as_they_are_but_without_identifiers() {
        assert_eq!(plain("\"0,1\""), "\"0,1\"");
        assert_eq!(plain(" 0 "), " 0 ");
        assert_eq!(plain(" "), " ");
        assert_eq!(plain("\u{ad}"), " ");
        assert_eq!(plain("\u{202e}0"), " 0");
        assert_eq!(plain(""), "");
        assert_eq!(plain("GPU-12345678-1234-1234-1234-123456789abc"), "[uuid]");
        assert_eq!(plain(&"1,".repeat(400)).chars().count(), MAX_VALUE);
    }
}
