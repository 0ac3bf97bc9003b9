//! Charts as SVG: axes, bars, lines, dots. Colours come from the page's style sheet, so that one
//! drawing serves light and dark.

use core::fmt::Write as _;

/// Width of every chart, in its own units.
pub(super) const WIDTH: f64 = 720.0;

/// Text with the characters escaped that mean something to HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A scale from values to positions.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Whether it is logarithmic.
    pub(super) log: bool,
    /// Smallest and largest value.
    pub(super) range: (f64, f64),
    /// Their positions.
    pub(super) place: (f64, f64),
}

impl Scale {
    /// A logarithmic scale over whole powers of ten around the values.
    pub(super) fn log(values: impl Iterator<Item = f64>, place: (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10().floor());
            high = high.max(value.log10().ceil());
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if low == high {
            high += 1.0;
        }
        Self {
            log: true,
            range: (10f64.powf(low), 10f64.powf(high)),
            place,
        }
    }

    /// A linear scale from zero.
    pub(super) fn linear(largest: f64, place: (f64, f64)) -> Self {
        Self {
            log: false,
            range: (0.0, largest.max(f64::MIN_POSITIVE) * 1.05),
            place,
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let on = |value: f64| {
            if self.log {
                value.max(1e-12).log10()
            } else {
                value
            }
        };
        let (low, high) = (on(self.range.0), on(self.range.1));
        let part = ((on(value) - low) / (high - low)).clamp(0.0, 1.0);
        (self.place.1 - self.place.0).mul_add(part, self.place.0)
    }

    /// Values to label: powers of ten, or about five round steps.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let mut ticks = Vec::new();
            let mut value = self.range.0;
            while value <= self.range.1 * 1.001 && ticks.len() < TICKS_MAX {
                ticks.push(value);
                value *= 10.0;
            }
            return ticks;
        }
        let rough = self.range.1 / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let factors = [1.0, 2.0, 5.0, 10.0];
        let step = factors
            .into_iter()
            .find(|f| f * power >= rough)
            .unwrap_or(10.0)
            * power;
        (0..TICKS_MAX as u32)
            .map(|index| f64::from(index) * step)
            .take_while(|value| *value <= self.range.1)
            .collect()
    }
}

const TICKS_MAX: usize = 24;

/// A drawing that grows.
pub(super) struct Drawing {
    body: String,
    height: f64,
    title: String,
}

impl Drawing {
    pub(super) fn new(title: &str, height: f64) -> Self {
        Self {
            body: String::new(),
            height,
            title: title.to_owned(),
        }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn text(&mut self, anchor: &str, at: (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            "<text text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.0,
            at.1,
            escaped(text)
        );
    }

    pub(super) fn heading(&mut self, at: (f64, f64), text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"strong\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.0,
            at.1,
            escaped(text)
        );
    }

    pub(super) fn bar(&mut self, series: usize, at: (f64, f64), size: (f64, f64), hint: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"s{series}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>{}</title></rect>",
            at.0,
            at.1,
            size.0.max(0.5),
            size.1,
            escaped(hint)
        );
    }

    pub(super) fn dot(&mut self, series: usize, hollow: bool, at: (f64, f64), hint: &str) {
        let class = if hollow { "o" } else { "s" };
        let _ = write!(
            self.body,
            "<circle class=\"{class}{series}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{}</title></circle>",
            at.0,
            at.1,
            escaped(hint)
        );
    }

    fn path(&mut self, series: usize, dashed: bool, points: &[(f64, f64)]) {
        let places: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let dash = if dashed { " dashed" } else { "" };
        let _ = write!(
            self.body,
            "<polyline class=\"l{series}{dash}\" points=\"{}\"/>",
            places.join(" ")
        );
    }

    /// Coloured marks with their names, from the left edge on.
    pub(super) fn legend(&mut self, y: f64, names: &[(usize, &str)]) {
        let mut x = 8.0;
        for (series, name) in names {
            self.bar(*series, (x, y - 9.0), (10.0, 10.0), name);
            self.text("start", (x + 15.0, y), name);
            // Seven units a letter is more than any letter of the font needs on average.
            x += 6.4f64.mul_add(name.chars().count() as f64, 36.0);
        }
    }

    /// The horizontal axis with its grid.
    pub(super) fn axis_x(&mut self, scale: &Scale, y: (f64, f64), label: impl Fn(f64) -> String) {
        for tick in scale.ticks() {
            let x = scale.at(tick);
            self.line("grid", (x, y.0), (x, y.1));
            self.text("middle", (x, y.1 + 14.0), &label(tick));
        }
    }

    /// The vertical axis with its grid.
    pub(super) fn axis_y(&mut self, scale: &Scale, x: (f64, f64), label: impl Fn(f64) -> String) {
        for tick in scale.ticks() {
            let y = scale.at(tick);
            self.line("grid", (x.0, y), (x.1, y));
            self.text("end", (x.0 - 6.0, y + 4.0), &label(tick));
        }
    }

    pub(super) fn finish(self) -> String {
        format!(
            "<figure><figcaption>{}</figcaption><div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {:.0}\" \
             role=\"img\" aria-label=\"{}\">{}</svg></div></figure>\n",
            escaped(&self.title),
            self.height,
            escaped(&self.title),
            self.body,
        )
    }
}

/// A line through measured points.
pub(super) struct Curve {
    pub(super) name: String,
    /// Colour.
    pub(super) series: usize,
    pub(super) dashed: bool,
    /// Published points instead of a line of ours.
    pub(super) hollow: bool,
    pub(super) points: Vec<(f64, f64)>,
}

/// Curves over a logarithmic plane.
pub(super) fn curves(
    title: &str,
    x_name: &str,
    curves: &[Curve],
    label: impl Fn(f64) -> String,
) -> String {
    let rows = curves.len().div_ceil(3) as f64;
    let top = 18.0 * rows + 12.0;
    let (left, right, bottom) = (80.0, WIDTH - 16.0, top + 280.0);
    let mut drawing = Drawing::new(title, bottom + 40.0);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let y = Scale::log(points().map(|point| point.1), (bottom, top));
    let largest = points().map(|point| point.0).fold(1.0, f64::max);
    let smallest = points().map(|point| point.0).fold(largest, f64::min);
    let x = Scale {
        log: true,
        range: (smallest * 0.9, largest * 1.1),
        place: (left, right),
    };
    drawing.axis_y(&y, (left, right), label);
    let mut seen: Vec<f64> = points().map(|point| point.0).collect();
    seen.sort_by(f64::total_cmp);
    seen.dedup();
    for value in seen {
        drawing.line("grid", (x.at(value), top), (x.at(value), bottom));
        drawing.text(
            "middle",
            (x.at(value), bottom + 14.0),
            &format!("{value:.0}"),
        );
    }
    drawing.text(
        "middle",
        (f64::midpoint(left, right), bottom + 32.0),
        x_name,
    );
    for (index, curve) in curves.iter().enumerate() {
        let column = (index % 3) as f64;
        let row = (index / 3) as f64;
        let at = (236.0f64.mul_add(column, 8.0), 18.0f64.mul_add(row, 14.0));
        if curve.hollow {
            drawing.dot(curve.series, true, (at.0 + 5.0, at.1 - 4.0), &curve.name);
        } else {
            let thickness = if curve.dashed { 4.0 } else { 10.0 };
            let top = at.1 - 4.0 - thickness / 2.0;
            drawing.bar(curve.series, (at.0, top), (10.0, thickness), &curve.name);
        }
        drawing.text("start", (at.0 + 15.0, at.1), &curve.name);
        let places: Vec<(f64, f64)> = curve
            .points
            .iter()
            .map(|(a, b)| (x.at(*a), y.at(*b)))
            .collect();
        if !curve.hollow {
            drawing.path(curve.series, curve.dashed, &places);
        }
        for place in places {
            drawing.dot(curve.series, curve.hollow, place, &curve.name);
        }
    }
    drawing.finish()
}

/// A bar made of parts.
pub(super) struct Stack {
    pub(super) name: String,
    /// Colour and length of each part.
    pub(super) parts: Vec<(usize, f64)>,
}

/// Bars of stacked parts on a linear axis.
pub(super) fn stacks(
    title: &str,
    stacks: &[Stack],
    names: &[(usize, &str)],
    label: impl Fn(f64) -> String,
) -> String {
    let (left, right, top) = (220.0, WIDTH - 90.0, 34.0);
    let bottom = 34.0f64.mul_add(stacks.len() as f64, top);
    let total = |stack: &Stack| stack.parts.iter().map(|part| part.1).sum::<f64>();
    let largest = stacks.iter().map(total).fold(0.0, f64::max);
    let scale = Scale::linear(largest, (left, right));
    let mut drawing = Drawing::new(title, bottom + 28.0);
    drawing.legend(16.0, names);
    drawing.axis_x(&scale, (top, bottom), &label);
    for (index, stack) in stacks.iter().enumerate() {
        let y = 34.0f64.mul_add(index as f64, top + 6.0);
        drawing.text("end", (left - 8.0, y + 15.0), &stack.name);
        let mut from = 0.0;
        for (series, length) in &stack.parts {
            let (start, end) = (scale.at(from), scale.at(from + length));
            let name = names
                .iter()
                .find(|(s, _)| s == series)
                .map_or("", |(_, name)| name);
            drawing.bar(
                *series,
                (start, y),
                (end - start, 22.0),
                &format!("{name}: {}", label(*length)),
            );
            from += length;
        }
        drawing.text("start", (scale.at(from) + 6.0, y + 15.0), &label(from));
    }
    drawing.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_keep_order_and_stay_inside() {
        let scale = Scale::log([3.0, 700.0].into_iter(), (100.0, 500.0));
        assert_eq!(scale.range, (1.0, 1000.0));
        assert_eq!((scale.at(0.001), scale.at(1e9)), (100.0, 500.0));
        assert!(scale.at(3.0) < scale.at(700.0));
        let linear = Scale::linear(7.0, (0.0, 10.0));
        assert_eq!(linear.ticks(), [0.0, 2.0, 4.0, 6.0]);
    }

    #[test]
    fn no_values_still_make_a_scale() {
        let scale = Scale::log(core::iter::empty(), (0.0, 1.0));
        assert!(scale.at(1.0).is_finite());
        assert!(!curves("t", "x", &[], |v| v.to_string()).is_empty());
        assert!(!stacks("t", &[], &[], |v| v.to_string()).is_empty());
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
