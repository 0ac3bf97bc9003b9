//! Markdown, and text for a terminal.

use core::fmt::Write as _;

use super::Report;
use crate::scaling;
use crate::tables::Verdict;

pub(super) const HOW: &str = "Times are processor time of the one thread that works, median of the samples; \
     rows marked *wall* count wall time because several threads work. The spread is the larger of \
     half the distance between the 5th and the 95th percentile and the distance between the \
     medians of the passes. Ratios above 1 mean that ours is better.";

pub(super) const LIMITS: &str = "Limits and best figures of libraries were measured or computed on AMD EPYC \
     (Zen 4), one core; floors follow from the number of operations that the algorithm cannot avoid.";

/// The page.
pub(super) fn markdown(report: &Report<'_>) -> String {
    let mut page = String::from("# Benchmarks\n\n");
    page += "This page is computed from results.json by `just report`; nobody types a number. The same \
             with charts: [benchmarks.html](benchmarks.html).\n\n";
    page += &provenance(report);
    let _ = write!(page, "\n{HOW}\n\n{LIMITS}\n\n");
    page += "## Targets\n\n";
    page += &targets(report);
    for table in report.published() {
        let _ = write!(page, "\n## {}\n\n", table.title);
        if !table.about.is_empty() {
            let _ = write!(page, "{} ", table.about);
        }
        let _ = write!(page, "Published: {}.\n\n", table.source);
        page += &rows(&report.rows(table));
    }
    page += &sheets(report);
    page += "\n## Notes\n\n";
    for (key, note) in &report.tables.notes {
        let _ = writeln!(page, "* <a id=\"{key}\"></a>**{key}**: {note}");
    }
    page
}

/// The section about scaling.
fn sheets(report: &Report<'_>) -> String {
    let sheets = scaling::sheets(report.results);
    let mut text = format!("\n## Scaling, computed and simulated\n\n{SCALING}\n");
    if sheets.is_empty() {
        text += "\nNot computed in this run: it needs every measured section.\n";
    }
    for sheet in sheets {
        let _ = write!(text, "\n### {}\n\n{}\n\n", sheet.title, sheet.text);
        let _ = writeln!(text, "| {} |", sheet.header.join(" | "));
        let _ = writeln!(text, "|{}", "--:|".repeat(sheet.header.len()));
        for row in &sheet.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    text
}

/// What the section about scaling is.
pub(super) const SCALING: &str = "Computed from the costs and sizes above; no network of this size \
     was run.";

/// The block of the README.
pub(super) fn readme_block(report: &Report<'_>) -> String {
    let mut block =
        String::from("\n| operation | published | reference | ours | ratio | target | met |\n");
    block += "|---|--:|--:|--:|--:|---|---|\n";
    for row in report.targets().iter().filter(|row| row.readme) {
        let _ = writeln!(
            block,
            "| {} | {} | {} | {} | {} | {} | {} |",
            row.op,
            shown(row.published.as_ref()),
            shown(row.reference),
            ours(row),
            ratio(row),
            shown(row.target.as_ref()),
            met(row),
        );
    }
    block.push('\n');
    block += &provenance(report);
    block
}

/// Machine, build, command and noise, as list items.
fn provenance(report: &Report<'_>) -> String {
    facts(report)
        .iter()
        .map(|fact| format!("* {fact}\n"))
        .collect()
}

/// The same, one by one.
pub(super) fn facts(report: &Report<'_>) -> Vec<String> {
    let results = report.results;
    let machine = &results.machine;
    let pinned = machine.pinned.map_or_else(
        || "not pinned".to_owned(),
        |core| format!("serial rows pinned to core {core}"),
    );
    let mut facts = vec![
        format!(
            "ours: {}, {} cores, {}, {}; {pinned}; backends {} and {}",
            machine.processor,
            machine.cores,
            machine.system,
            machine.features.join(" "),
            machine.backend,
            machine.hash_backend,
        ),
        format!(
            "build: version {}, commit {}{}, {}",
            machine.version,
            machine.commit,
            if machine.changed { " with changes" } else { "" },
            machine.rustc,
        ),
        format!("command: `{}`, {:.0} s", results.command, results.seconds),
        format!(
            "reference: {}; {}",
            report.baseline("source"),
            report.baseline("machine")
        ),
    ];
    facts.push(comparison(report));
    if results.quick {
        facts.push("a short run: figures are rough".to_owned());
    }
    facts.push(if results.noise.quiet {
        "the machine was quiet".to_owned()
    } else {
        let reasons = results.noise.reasons.join("; ");
        format!("**the machine was too busy to quote these figures**: {reasons}")
    });
    facts
}

/// What the ratios compare: the reference may have run on another kind of processor.
fn comparison(report: &Report<'_>) -> String {
    let kind = report.results.machine.processor.split_once('(');
    let kind = kind.map(|(_, kind)| kind.trim_end_matches(')'));
    let same = kind.is_some_and(|kind| report.baseline("machine").contains(kind));
    let what = if same {
        "the reference was recorded on the same kind of processor"
    } else {
        "the reference was recorded on another generation of processor: ratios to it mix machine and code"
    };
    format!("{what}; published figures are from the machines that their documents name")
}

fn targets(report: &Report<'_>) -> String {
    let mut text = String::from(
        "| operation | target | ours | reference | ratio | met | where the time goes |\n",
    );
    text += "|---|---|--:|--:|--:|---|---|\n";
    for row in report.targets() {
        let _ = writeln!(
            text,
            "| {}{} | {} | {} | {} | {} | {} | {} |",
            row.op,
            notes(&row),
            shown(row.target.as_ref()),
            ours(&row),
            shown(row.reference),
            ratio(&row),
            met(&row),
            profile(&row),
        );
    }
    text
}

/// The parts of an operation, and for a miss what would close it.
pub(super) fn profile(row: &Verdict) -> String {
    let parts: Vec<String> = row
        .parts
        .iter()
        .map(|(name, figure)| format!("{name} {figure}"))
        .collect();
    let mut text = parts.join(", ");
    if row.met == Some(false) {
        let separator = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{separator}would close it: {}", row.closes);
    }
    text
}

fn rows(rows: &[Verdict]) -> String {
    let mut text = String::from(
        "| operation | published | reference | ours | spread | p99 | to published | to reference | limit or best library |\n",
    );
    text += "|---|--:|--:|--:|--:|--:|--:|--:|---|\n";
    for row in rows {
        let _ = writeln!(
            text,
            "| {}{} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.op,
            notes(row),
            shown(row.published.as_ref()),
            shown(row.reference),
            ours(row),
            spread(row),
            shown(row.p99.filter(|_| row.ours.is_some())),
            times(row.ratio_to_published),
            times(row.ratio_to_reference),
            limit(row),
        );
    }
    text
}

fn notes(row: &Verdict) -> String {
    let links: Vec<String> = row
        .notes
        .iter()
        .map(|key| format!("[{key}](#{key})"))
        .collect();
    if links.is_empty() {
        String::new()
    } else {
        format!(" ({})", links.join(", "))
    }
}

/// Our figure, or why there is none.
pub(super) fn ours(row: &Verdict) -> String {
    match (row.ours, &row.absent) {
        (Some(figure), _) if row.wall => format!("{figure} wall"),
        (Some(figure), _) => figure.to_string(),
        (None, reason) => shown(reason.as_ref()),
    }
}

/// Relative spread in per cent.
pub(super) fn spread(row: &Verdict) -> String {
    row.spread
        .filter(|_| row.ours.is_some())
        .map_or_else(String::new, |spread| format!("{:.1} %", spread * 100.0))
}

/// A ratio.
pub(super) fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => String::new(),
        Some(ratio) if ratio >= 100.0 => format!("{ratio:.0}x"),
        Some(ratio) if ratio >= 0.1 => format!("{ratio:.1}x"),
        Some(ratio) => format!("{ratio:.3}x"),
    }
}

/// The ratio to the reference, or to the published figure where there is no reference.
pub(super) fn ratio(row: &Verdict) -> String {
    match (row.ratio_to_reference, row.ratio_to_published) {
        (None, Some(published)) => format!("{} of published", times(Some(published))),
        (reference, _) => times(reference),
    }
}

/// Whether the target is met.
pub(super) fn met(row: &Verdict) -> &'static str {
    match row.met {
        Some(true) => "met",
        Some(false) => "**missed**",
        None if row.target.is_some() => "not measured",
        None => "",
    }
}

/// Limit and whose it is.
pub(super) fn limit(row: &Verdict) -> String {
    row.limit
        .as_ref()
        .map_or_else(String::new, |(figure, what)| format!("{figure} ({what})"))
}

/// The value as text, nothing for none.
pub(super) fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Tables of the sections that ran, aligned.
pub(super) fn text(report: &Report<'_>) -> String {
    let mut out = String::new();
    for table in report.published() {
        if !report.results.sections.contains(&table.section) {
            continue;
        }
        let rows: Vec<[String; 6]> = report
            .rows(table)
            .iter()
            .map(|row| {
                let published = shown(row.published.as_ref());
                [
                    row.op.clone(),
                    published,
                    shown(row.reference),
                    ours(row),
                    spread(row),
                    ratio(row),
                ]
            })
            .collect();
        let header = ["", "published", "reference", "ours", "spread", "ratio"].map(str::to_owned);
        let _ = write!(out, "\n{}\n{}", table.title, aligned(&header, &rows));
    }
    for reason in &report.results.noise.reasons {
        let _ = write!(
            out,
            "\nThe machine was too busy to quote these figures: {reason}."
        );
    }
    out
}

fn aligned<const N: usize>(header: &[String; N], rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows.iter().chain([header]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for row in core::iter::once(header).chain(rows) {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell}{}  ", " ".repeat(width - cell.chars().count()));
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}
