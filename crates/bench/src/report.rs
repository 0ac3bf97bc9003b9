//! Reads criterion's files and computes what the report states.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// One benchmark as measured: nanoseconds of processor time per iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Number of samples.
    pub samples: usize,
    /// Smallest sample.
    pub min: f64,
    /// Median of the samples.
    pub median: f64,
    /// Half the distance between the quartiles, relative to the median.
    pub spread: f64,
    /// 99th percentile of the samples; a sample is the mean over its iterations.
    pub p99: f64,
    /// Bytes per iteration, where the benchmark stated them.
    pub bytes: Option<u64>,
}

/// Reads every benchmark below criterion's folder, by identifier.
///
/// # Errors
/// [`io::Error`]: the folder is unreadable, or a result in it is malformed.
pub fn collect(folder: &Path) -> io::Result<BTreeMap<String, Measured>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            }
        }
        if folder.file_name().is_some_and(|name| name == "new") {
            let benchmark = read(&folder.join("benchmark.json"))?;
            let sample = read(&folder.join("sample.json"))?;
            let id = benchmark.get("full_id").and_then(Value::as_str);
            let id = id.ok_or_else(|| malformed("full_id"))?.to_owned();
            found.insert(
                id,
                measured(&benchmark, &sample).ok_or_else(|| malformed("sample"))?,
            );
        }
    }
    Ok(found)
}

fn measured(benchmark: &Value, sample: &Value) -> Option<Measured> {
    let list = |name: &str| -> Option<Vec<f64>> {
        sample
            .get(name)?
            .as_array()?
            .iter()
            .map(Value::as_f64)
            .collect()
    };
    let mut means: Vec<f64> = list("times")?
        .iter()
        .zip(list("iters")?)
        .map(|(time, iters)| time / iters)
        .collect();
    means.sort_by(f64::total_cmp);
    let median = quantile(&means, 0.5)?;
    let throughput = benchmark.get("throughput");
    Some(Measured {
        samples: means.len(),
        min: *means.first()?,
        median,
        spread: (quantile(&means, 0.75)? - quantile(&means, 0.25)?) / 2.0 / median,
        p99: quantile(&means, 0.99)?,
        bytes: throughput
            .and_then(|value| value.get("Bytes"))
            .and_then(Value::as_u64),
    })
}

/// Linear interpolation between the two nearest of sorted values.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = part * last as f64;
    #[allow(clippy::cast_sign_loss, reason = "both factors are positive")]
    let low = position as usize;
    let (low_value, high_value) = (sorted.get(low)?, sorted.get((low + 1).min(last))?);
    Some(low_value + (high_value - low_value) * position.fract())
}

fn read(path: &Path) -> io::Result<Value> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("criterion result without {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantiles_interpolate_and_need_a_value() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_sample_is_the_mean_over_its_iterations() {
        let sample = json!({"iters": [10.0, 20.0, 40.0], "times": [100.0, 180.0, 440.0]});
        let benchmark = json!({"throughput": {"Bytes": 64}});
        let measured = measured(&benchmark, &sample).unwrap();
        assert_eq!(
            (measured.samples, measured.min, measured.median),
            (3, 9.0, 10.0)
        );
        assert_eq!(measured.bytes, Some(64));
    }
}
