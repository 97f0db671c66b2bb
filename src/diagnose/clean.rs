//! Cleaning of what containers and engines said, remembered from row to row.
//!
//! Main function: [`clean`]. The same few messages come back in every row of a large matrix, and cleaning one takes
//! longer than all the rest that is done for the row.

use std::cell::RefCell;
use std::collections::HashMap;

use gpusweep_report::one_line;

/// Texts that are remembered at a time. A run whose texts are all different must not fill the memory with them.
const REMEMBERED: usize = 1024;

thread_local! {
    static SEEN: RefCell<HashMap<String, String>> = RefCell::new(HashMap::new());
}

/// [`one_line`], remembered.
#[must_use]
pub fn clean(text: &str) -> String {
    SEEN.with_borrow_mut(|seen| {
        if let Some(cleaned) = seen.get(text) {
            return cleaned.clone();
        }
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        let cleaned = one_line(text, &[]);
        seen.insert(text.to_owned(), cleaned.clone());
        cleaned
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembering_changes_nothing() {
        for round in 0..2 {
            for index in 0..REMEMBERED + 2 {
                let text = format!("/home/alice/{index}\u{7}");
                assert_eq!(clean(&text), index.to_string(), "round {round}");
            }
        }
    }
}
