//! Metrics of the relayer, prefix `horizon_relayer_`: seconds and counts, no message id as label.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::api::Code;
use crate::api::types::Route;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    route: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    route: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    route: String,
    side: &'static str,
    result: &'static str,
}

type Level = Gauge<f64, AtomicU64>;

/// The metrics of all routes.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    messages: Family<ResultLabel, Counter>,
    waits: Family<ReasonLabel, Counter>,
    requests: Family<RequestLabel, Counter>,
    backlog: Family<RouteLabel, Gauge>,
    unacknowledged: Family<RouteLabel, Gauge>,
    dead: Family<RouteLabel, Gauge>,
    cursor: Family<RouteLabel, Gauge>,
    source_messages: Family<RouteLabel, Gauge>,
    oldest: Family<RouteLabel, Level>,
    up: Family<RouteLabel, Gauge>,
    store_failures: Family<RouteLabel, Counter>,
    delivery: Family<RouteLabel, Histogram>,
    submit: Family<RouteLabel, Histogram>,
}

fn seconds() -> Histogram {
    Histogram::new([
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
    ])
}

impl Metrics {
    pub(super) fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("horizon_relayer");
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of the software", Info::new(version));
        macro_rules! family {
            ($name:literal, $help:literal) => {{
                let family = Family::default();
                registry.register($name, $help, family.clone());
                family
            }};
        }
        let messages = family!(
            "messages",
            "Messages by what became of them; redundant ones are delivered ones of other relayers"
        );
        let waits = family!("waits", "Looks at a message without progress, by reason");
        let requests = family!(
            "requests",
            "Requests to either side: ok, refused, bad_answer, unreachable"
        );
        let backlog = family!(
            "backlog_messages",
            "Messages read and not delivered or dead"
        );
        let unacknowledged = family!(
            "unacknowledged_messages",
            "Messages delivered and not acknowledged"
        );
        let dead = family!("dead_messages", "Dead letters");
        let cursor = family!("cursor", "Sequence of the next message to read");
        let source_messages = family!("source_messages", "Messages the source has sent");
        let up = family!("route_up", "1 if both sides of the route answer");
        let store_failures = family!("store_failures", "Failed writes to the route's file");
        let oldest = Family::default();
        registry.register_with_unit(
            "oldest_pending",
            "Age of the oldest message of the backlog",
            Unit::Seconds,
            oldest.clone(),
        );
        let delivery = Family::<RouteLabel, Histogram>::new_with_constructor(seconds);
        registry.register_with_unit(
            "delivery_duration",
            "From reading a message to seeing it final at the destination",
            Unit::Seconds,
            delivery.clone(),
        );
        let submit = Family::<RouteLabel, Histogram>::new_with_constructor(seconds);
        registry.register_with_unit(
            "submit_duration",
            "Duration of an envelope's submission",
            Unit::Seconds,
            submit.clone(),
        );
        Arc::new(Self {
            registry,
            messages,
            waits,
            requests,
            backlog,
            unacknowledged,
            dead,
            cursor,
            source_messages,
            oldest,
            up,
            store_failures,
            delivery,
            submit,
        })
    }

    pub(super) fn message(&self, route: &str, result: &'static str) {
        let route = route.to_owned();
        self.messages
            .get_or_create(&ResultLabel { route, result })
            .inc();
    }

    /// Reasons are from the table; others, from a newer destination, are one label.
    pub(super) fn wait(&self, route: &str, reason: &str) {
        let reason = Code::from_code(reason).map_or("other", Code::code);
        let route = route.to_owned();
        self.waits
            .get_or_create(&ReasonLabel { route, reason })
            .inc();
    }

    pub(super) fn request(&self, route: &str, side: &'static str, result: &'static str) {
        let label = RequestLabel {
            route: route.to_owned(),
            side,
            result,
        };
        self.requests.get_or_create(&label).inc();
    }

    pub(super) fn store_failed(&self, route: &str) {
        self.store_failures.get_or_create(&label(route)).inc();
    }

    pub(super) fn delivered(&self, route: &str, seconds: f64) {
        self.delivery.get_or_create(&label(route)).observe(seconds);
    }

    pub(super) fn submitted(&self, route: &str, seconds: f64) {
        self.submit.get_or_create(&label(route)).observe(seconds);
    }

    pub(super) fn show(&self, route: &Route, now_ms: u64) {
        let label = label(&route.name);
        let set = |family: &Family<RouteLabel, Gauge>, value: u64| {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            family.get_or_create(&label).set(value);
        };
        set(&self.backlog, route.backlog);
        set(&self.unacknowledged, route.unacknowledged);
        set(&self.dead, route.dead);
        set(&self.cursor, route.cursor);
        set(&self.source_messages, route.source_total);
        set(&self.up, u64::from(route.healthy));
        let oldest_ms = route.oldest_ms.map_or(0, |at| now_ms.saturating_sub(at));
        let oldest = core::time::Duration::from_millis(oldest_ms).as_secs_f64();
        self.oldest.get_or_create(&label).set(oldest);
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            // Writing to a string does not fail.
            Err(_) => String::new(),
        }
    }
}

fn label(route: &str) -> RouteLabel {
    RouteLabel {
        route: route.to_owned(),
    }
}
