//! The HTML page: one file, no script, nothing loaded.

use core::fmt::Write as _;

use super::chart::escaped;
use super::prose::{
    HOW, LIMITS, SCALING, facts, limit, met, ours, profile, ratio, shown, spread, times,
};
use super::{Report, charts};
use crate::scaling;
use crate::tables::Verdict;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1c1f24;--dim:#5c6470;--paper:#fff;--line:#d5d9e0;--soft:#f4f6f9;
--s1:#2563c9;--s2:#c2590c;--s3:#0f7b5f;--s4:#8a8f98;--s5:#8b3fb5;--s6:#b5263f;--s7:#6b6a12;--s8:#3b4a63}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaee;--dim:#a0a8b5;--paper:#14171c;--line:#373d47;--soft:#1c2027;
--s1:#6ea3ff;--s2:#f39a54;--s3:#4fc9a4;--s4:#8d949f;--s5:#c78bea;--s6:#ff7f93;--s7:#c9c653;--s8:#9fb2d1}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:90rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,'DejaVu Sans',sans-serif}
h1{font-size:1.7rem;margin:.4rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .4rem}h3{font-size:1.05rem;margin:1.6rem 0 .3rem}
a{color:var(--s1)}p,li{max-width:60rem;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;min-width:100%}
th,td{padding:.3rem .55rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;white-space:nowrap}
th{color:var(--dim);font-weight:600;white-space:normal;vertical-align:bottom}th:first-child,td:first-child{text-align:left;white-space:normal;min-width:11rem}
tbody tr:nth-child(even){background:var(--soft)}
.words td:last-child,.words th:last-child{text-align:left;white-space:normal;min-width:12rem}
.absent{color:var(--dim);white-space:normal;min-width:9rem;display:inline-block}
.missed{color:var(--s6);font-weight:600}.met{color:var(--s3);font-weight:600}
figure{margin:1.4rem 0}figcaption{font-weight:600;font-size:.95rem;margin-bottom:.3rem}
svg{display:block;width:100%;min-width:38rem;max-width:60rem;height:auto;font:11px system-ui,'DejaVu Sans',sans-serif}
svg text{fill:var(--ink)}svg .strong{font-weight:600}
.grid{stroke:var(--line);stroke-width:1}.mark{stroke:var(--ink);stroke-width:1.2}
polyline{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 4}
.warning{border-left:4px solid var(--s6);padding:.4rem .8rem;background:var(--soft)}
";

/// The whole page.
pub(super) fn html(report: &Report<'_>) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Horizon: benchmarks</title>\n<link rel=\"icon\" href=\"data:,\">\n",
    );
    let _ = write!(
        page,
        "<style>{STYLE}{}</style>\n</head>\n<body>\n",
        colours()
    );
    page += "<h1>Horizon: benchmarks</h1>\n";
    for fact in facts(report).iter().filter(|fact| fact.starts_with("**")) {
        let _ = writeln!(
            page,
            "<p class=\"warning\">{}</p>",
            escaped(&fact.replace("**", ""))
        );
    }
    page += "<ul>\n";
    for fact in facts(report).iter().filter(|fact| !fact.starts_with("**")) {
        let _ = writeln!(page, "<li>{}</li>", escaped(&fact.replace('`', "")));
    }
    page += "</ul>\n";
    for text in [HOW, LIMITS] {
        let _ = writeln!(page, "<p>{}</p>", escaped(&text.replace('*', "")));
    }
    page += "<h2 id=\"targets\">Targets</h2>\n";
    page += &targets(report);
    page += "<h2 id=\"charts\">Charts</h2>\n";
    page += &charts::path(report);
    page += &charts::committee(report);
    page += &charts::signers(report);
    page += &charts::envelope_sizes(report);
    page += &charts::delivery(report);
    page += &charts::ratios(report);
    for table in report.published() {
        let _ = writeln!(
            page,
            "<h2 id=\"{}\">{}</h2>",
            table.id,
            escaped(&table.title)
        );
        let about = if table.about.is_empty() {
            String::new()
        } else {
            format!("{} ", table.about)
        };
        let _ = writeln!(
            page,
            "<p>{}Published: {}.</p>",
            escaped(&about),
            escaped(&table.source)
        );
        page += &rows(report, &report.rows(table));
    }
    page += &sheets(report);
    page += "<h2 id=\"notes\">Notes</h2>\n<ol>\n";
    for (key, note) in &report.tables.notes {
        let _ = writeln!(page, "<li id=\"note-{key}\">{}</li>", escaped(note));
    }
    page + "</ol>\n</body>\n</html>\n"
}

/// Fill, outline and stroke of each colour.
fn colours() -> String {
    (1..=8)
        .map(|n| {
            format!(
                ".s{n}{{fill:var(--s{n})}}.o{n}{{fill:var(--paper);stroke:var(--s{n});stroke-width:2}}\
                 .l{n}{{stroke:var(--s{n})}}\n"
            )
        })
        .collect()
}

/// A table; `class` is `words` where the last column holds text.
fn table(class: &str, header: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("<div class=\"wide\"><table class=\"{class}\"><thead><tr>");
    for name in header {
        let _ = write!(text, "<th>{}</th>", escaped(name));
    }
    text += "</tr></thead><tbody>\n";
    for row in rows {
        text += "<tr>";
        for cell in row {
            let _ = write!(text, "<td>{cell}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

fn targets(report: &Report<'_>) -> String {
    let rows: Vec<Vec<String>> = report
        .targets()
        .iter()
        .map(|row| {
            let class = match row.met {
                Some(true) => "met",
                Some(false) => "missed",
                None => "absent",
            };
            vec![
                escaped(&row.op) + &notes(report, row),
                escaped(&shown(row.target.as_ref())),
                figure(row),
                shown(row.reference),
                ratio(row),
                format!(
                    "<span class=\"{class}\">{}</span>",
                    met(row).replace('*', "")
                ),
                escaped(&profile(row)),
            ]
        })
        .collect();
    let header = [
        "operation",
        "target",
        "ours",
        "reference",
        "ratio",
        "met",
        "where the time goes",
    ];
    table("words", &header, &rows)
}

fn rows(report: &Report<'_>, rows: &[Verdict]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                escaped(&row.op) + &notes(report, row),
                escaped(&shown(row.published.as_ref())),
                shown(row.reference),
                figure(row),
                spread(row),
                shown(row.p99.filter(|_| row.ours.is_some())),
                times(row.ratio_to_published),
                times(row.ratio_to_reference),
                escaped(&limit(row)),
            ]
        })
        .collect();
    let header = [
        "operation",
        "published",
        "reference",
        "ours",
        "spread",
        "p99",
        "to published",
        "to reference",
        "limit or best library",
    ];
    table("words", &header, &cells)
}

fn figure(row: &Verdict) -> String {
    if row.ours.is_some() {
        ours(row)
    } else {
        format!("<span class=\"absent\">{}</span>", escaped(&ours(row)))
    }
}

/// Numbers of the footnotes of a row.
fn notes(report: &Report<'_>, row: &Verdict) -> String {
    let number = |key: &String| report.tables.notes.keys().position(|other| other == key);
    row.notes
        .iter()
        .filter_map(|key| {
            let number = number(key)? + 1;
            Some(format!(" <sup><a href=\"#note-{key}\">{number}</a></sup>"))
        })
        .collect()
}

fn sheets(report: &Report<'_>) -> String {
    let mut text = format!(
        "<h2 id=\"scaling\">Scaling, computed and simulated</h2>\n<p>{}</p>\n",
        escaped(SCALING)
    );
    let sheets = scaling::sheets(report.results);
    if sheets.is_empty() {
        text += "<p>Not computed in this run: it needs every measured section.</p>\n";
    }
    for sheet in sheets {
        let _ = writeln!(
            text,
            "<h3>{}</h3>\n<p>{}</p>",
            escaped(sheet.title),
            escaped(&sheet.text)
        );
        let rows: Vec<Vec<String>> = sheet
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| escaped(cell)).collect())
            .collect();
        text += &table("numbers", &sheet.header, &rows);
    }
    text
}
