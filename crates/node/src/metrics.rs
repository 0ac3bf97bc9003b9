//! The text of `/metrics`: the consensus library's families and ours, in one OpenMetrics document.

use core::fmt::{Display, Write as _};

/// Builds our part of the document.
#[derive(Debug, Default)]
pub struct Families {
    text: String,
}

impl Families {
    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.sample(name, "", value);
    }

    /// A number that only grows. `name` is without `_total`.
    pub fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "counter", help);
        self.sample(&format!("{name}_total"), "", value);
    }

    /// A gauge with one label.
    pub fn labelled<L: Display, V: Display>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (L, V)>,
    ) {
        self.head(name, "gauge", help);
        for (key, value) in values {
            self.sample(name, &format!("{{{label}=\"{key}\"}}"), value);
        }
    }

    /// The whole document: `library` without its end mark, our families, the end mark.
    #[must_use]
    pub fn finish(self, library: &str) -> String {
        let library = library.trim_end().strip_suffix(END).unwrap_or(library);
        let mut document = String::with_capacity(library.len().saturating_add(self.text.len()));
        document.push_str(library);
        if !document.is_empty() && !document.ends_with('\n') {
            document.push('\n');
        }
        document.push_str(&self.text);
        document.push_str(END);
        document.push('\n');
        document
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}.");
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

const END: &str = "# EOF";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_one_end_and_keeps_both_parts() {
        let mut families = Families::default();
        families.gauge("horizon_height", "Height", 7);
        families.counter("horizon_seen", "Seen", 2);
        families.labelled("horizon_peer", "Peers", "position", [(1, 9)]);
        let text = families.finish("# TYPE a gauge\na 1\n# EOF\n");
        assert_eq!(text.matches(END).count(), 1);
        assert!(text.ends_with("# EOF\n"));
        for line in [
            "a 1",
            "horizon_height 7",
            "horizon_seen_total 2",
            "horizon_peer{position=\"1\"} 9",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
    }
}
