//! Statistics for sampler and timing tests, in `f64`, without dependencies.

/// Count, mean and variance in one pass (Welford's recurrence, which does not cancel).
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Takes one more value in.
    pub fn push(&mut self, value: f64) {
        self.count += 1.0;
        let delta = value - self.mean;
        self.mean += delta / self.count;
        self.squares += delta * (value - self.mean);
    }

    /// Number of values.
    #[must_use]
    pub const fn count(&self) -> f64 {
        self.count
    }

    /// Arithmetic mean; 0 without values.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Unbiased variance; 0 with fewer than two values.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.count < 2.0 {
            0.0
        } else {
            self.squares / (self.count - 1.0)
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.push(value));
        moments
    }
}

/// Welch's t statistic of two samples; 0 when neither varies.
///
/// For equal means and many values it is close to a standard normal variable, so `|t| > 10` has a
/// false-alarm rate below 2^-75: a threshold that a quiet test never reaches by chance.
#[must_use]
pub fn welch_t(a: &Moments, b: &Moments) -> f64 {
    let scale = a.variance() / a.count.max(1.0) + b.variance() / b.count.max(1.0);
    if scale > 0.0 {
        (a.mean - b.mean) / scale.sqrt()
    } else {
        0.0
    }
}

/// Pearson's chi-square of observed counts against expected counts, with its degrees of freedom.
///
/// Neighbouring cells are merged until each expects at least `floor` hits (5 or more is usual),
/// since the statistic is not chi-square distributed otherwise.
///
/// # Panics
/// When the slices differ in length.
#[must_use]
pub fn chi_square(observed: &[u64], expected: &[f64], floor: f64) -> (f64, usize) {
    assert_eq!(
        observed.len(),
        expected.len(),
        "one expectation for each cell"
    );
    let (mut statistic, mut cells) = (0.0, 0usize);
    let (mut seen, mut wanted) = (0.0, 0.0);
    let mut remaining: f64 = expected.iter().sum();
    for (&hits, &expectation) in observed.iter().zip(expected) {
        seen += hits as f64;
        wanted += expectation;
        remaining -= expectation;
        if wanted >= floor && (remaining >= floor || remaining <= 1e-9) {
            statistic += (seen - wanted) * (seen - wanted) / wanted;
            cells += 1;
            (seen, wanted) = (0.0, 0.0);
        }
    }
    if wanted > 0.0 {
        statistic += (seen - wanted) * (seen - wanted) / wanted;
        cells += 1;
    }
    (statistic, cells.saturating_sub(1))
}

/// The chi-square value that is exceeded with the probability of `z` standard deviations of a
/// normal variable, for `freedom` degrees of freedom (Wilson and Hilferty's approximation, good to
/// a per cent from 10 degrees up). `z = 6` gives a false-alarm rate of about 1e-9.
#[must_use]
pub fn chi_square_limit(freedom: usize, z: f64) -> f64 {
    let k = freedom.max(1) as f64;
    let spread = 2.0 / (9.0 * k);
    k * (1.0 - spread + z * spread.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeededRng;

    #[test]
    fn moments_match_a_hand_computed_sample() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
            .into_iter()
            .collect();
        assert!((moments.mean() - 5.0).abs() < 1e-12);
        assert!((moments.variance() - 32.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn welch_t_separates_what_differs_and_nothing_else() {
        let mut rng = SeededRng::new(1);
        let mut draw = |shift: f64| -> Moments {
            (0..20_000)
                .map(|_| rng.below(1000) as f64 + shift)
                .collect()
        };
        let (a, b, c) = (draw(0.0), draw(0.0), draw(60.0));
        assert!(welch_t(&a, &b).abs() < 6.0);
        assert!(welch_t(&a, &c).abs() > 10.0);
    }

    #[test]
    fn chi_square_accepts_a_fair_die_and_refuses_a_loaded_one() {
        let mut rng = SeededRng::new(2);
        let mut counts = [0u64; 16];
        (0..160_000).for_each(|_| counts[rng.index(16)] += 1);
        let expected = [10_000.0; 16];
        let (fair, freedom) = chi_square(&counts, &expected, 5.0);
        assert_eq!(freedom, 15);
        assert!(fair < chi_square_limit(freedom, 6.0));
        counts[3] += 900;
        assert!(chi_square(&counts, &expected, 5.0).0 > chi_square_limit(freedom, 6.0));
    }

    #[test]
    fn the_limit_agrees_with_the_tables_at_the_usual_level() {
        // 99.9 % points of the printed tables: 10 degrees 29.588, 100 degrees 149.449.
        assert!((chi_square_limit(10, 3.0902) - 29.588).abs() < 0.5);
        assert!((chi_square_limit(100, 3.0902) - 149.449).abs() < 0.5);
    }
}
