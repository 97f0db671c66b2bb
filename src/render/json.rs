//! The document `summary.json` itself.

use std::io;

use super::{Render, View};

pub(super) struct Json;

impl Render for Json {
    fn render(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, view.summary)?;
        writeln!(out)
    }
}
