//! The live table: one line per message on a terminal, one line per arrival elsewhere.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::stage::Stage;
use super::track::{Row, RowId, Tracker};

pub(super) struct Board {
    rows: Vec<RowId>,
    bars: Option<(MultiProgress, Vec<ProgressBar>)>,
    told: BTreeSet<usize>,
}

impl Board {
    pub(super) fn new(stage: &Stage, tracker: &Tracker, rows: &[RowId]) -> Self {
        let terminal = std::io::stderr().is_terminal() && !stage.output.is_json();
        // More lines than a screen has are no table.
        let bars = (terminal && rows.len() <= BARS_MAX).then(|| {
            let all = MultiProgress::new();
            let bars = rows.iter().map(|_| {
                let bar = all.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg}") {
                    bar.set_style(style);
                }
                bar
            });
            let bars = bars.collect();
            (all, bars)
        });
        // What an earlier wait has shown is not shown again.
        let arrived = |row: &RowId| tracker.row(*row).times.delivered.is_some();
        let told = (0..rows.len()).filter(|index| rows.get(*index).is_some_and(arrived));
        Self {
            rows: rows.to_vec(),
            bars,
            told: told.collect(),
        }
    }

    pub(super) fn show(&mut self, tracker: &Tracker, stage: &Stage) {
        for (index, row) in self.rows.iter().enumerate() {
            let row = tracker.row(*row);
            if let Some(bar) = self.bars.as_ref().and_then(|(_, bars)| bars.get(index)) {
                bar.set_message(line(row, stage));
                bar.tick();
            } else if row.times.delivered.is_some() && self.told.insert(index) {
                stage.output.text(&format!("  {}", line(row, stage)));
            }
        }
    }

    /// Leaves the last state on the screen.
    pub(super) fn finish(&self) {
        if let Some((_, bars)) = &self.bars {
            for bar in bars {
                bar.finish();
            }
        }
    }
}

fn line(row: &Row, stage: &Stage) -> String {
    let [a, b] = &stage.layout.networks;
    let (from, to) = if row.from == 0 { (a, b) } else { (b, a) };
    let times = &row.times;
    let stages = [
        ("final", times.fin),
        ("quorum", times.quorum),
        ("pulse", times.pulse),
        ("built", times.built),
        ("submitted", times.submitted),
        ("delivered", times.delivered),
        ("acknowledged", times.acknowledged),
    ];
    let reached: Vec<String> = stages
        .into_iter()
        .filter_map(|(name, at)| Some(format!("{name} {:.2}", seconds(row.sent, at?))))
        .collect();
    format!(
        "{} -> {} #{:<3} {}",
        from.name,
        to.name,
        row.nonce,
        reached.join("  ")
    )
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

const BARS_MAX: usize = 24;
