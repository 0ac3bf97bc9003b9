//! The HTTP interface over real sockets: against its OpenAPI file, and against bad clients.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests need std"
)]

#[allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses some of these"
)]
mod support {
    pub mod fake;
    pub mod serve;
}

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use horizon_node::api::types::text::to_hex;
use horizon_node::api::types::{EventKind, Have, Id, RetryRequest, SubmitState};
use horizon_node::api::{Limits, NODE_OPERATIONS, RELAYER_OPERATIONS};
use horizon_node::client::{self, Client, Timeouts};
use horizon_warp::policy::Tier;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use support::fake::Fake;
use support::serve::{Served, relayer, ticking};

const OPENAPI: &str = include_str!("../../../docs/openapi.json");

/// What a value has that its schema does not allow, or lacks.
fn violations(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        assert!(schema.is_object(), "{reference}");
        return violations(document, schema, value, at);
    }
    if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = any
            .iter()
            .any(|schema| violations(document, schema, value, at).is_empty());
        return if fits {
            Vec::new()
        } else {
            vec![format!("{at}: fits none")]
        };
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => panic!("{at}: a schema without type"),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.contains(&kind) {
        return vec![format!("{at}: {kind} is not {types:?}")];
    }
    let mut found = Vec::new();
    match value {
        Value::String(text) => {
            if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
                && !allowed.contains(value)
            {
                found.push(format!("{at}: {text} is not listed"));
            }
            if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
                && !matches(pattern, text)
            {
                found.push(format!("{at}: {text:.40} is not {pattern}"));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let at = format!("{at}[{index}]");
                found.extend(violations(document, &schema["items"], item, &at));
            }
        }
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, field) in fields {
                let at = format!("{at}.{name}");
                match properties.and_then(|properties| properties.get(name)) {
                    Some(schema) => found.extend(violations(document, schema, field, &at)),
                    None if schema["additionalProperties"].is_object() => {
                        let schema = &schema["additionalProperties"];
                        found.extend(violations(document, schema, field, &at));
                    }
                    None => found.push(format!("{at}: not in the schema")),
                }
            }
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(name) {
                    found.push(format!("{at}.{name}: missing"));
                }
            }
        }
        _ => {}
    }
    found
}

/// The three patterns of the file; another one would be a new form that nobody checks.
fn matches(pattern: &str, text: &str) -> bool {
    let hex = |text: &str| {
        let digits = text.strip_prefix("0x").filter(|rest| rest.len() % 2 == 0);
        let lower = |b| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        digits.is_some_and(|rest| rest.bytes().all(lower))
    };
    match pattern {
        "^0x[0-9a-f]{64}$" => hex(text) && text.len() == 66,
        "^0x([0-9a-f]{2})*$" => hex(text),
        "^(0|[1-9][0-9]{0,19})$" => {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            digits && !text.is_empty() && (text == "0" || !text.starts_with('0'))
        }
        other => panic!("unknown pattern {other}"),
    }
}

/// A schema that the type's reader and its answer must agree on in both directions: no property may
/// be there that no answer ever showed.
fn shown(value: &Value, schema_name: &str, document: &Value, seen: &mut BTreeSet<String>) {
    let schema = &document["components"]["schemas"][schema_name];
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, property) in properties {
        let Some(field) = value.get(name) else {
            continue;
        };
        seen.insert(format!("{schema_name}.{name}"));
        let target = |schema: &Value| {
            let reference = schema.get("$ref").and_then(Value::as_str);
            reference.map(|text| text.rsplit('/').next().unwrap_or_default().to_owned())
        };
        let nested = target(property)
            .or_else(|| target(&property["items"]))
            .or_else(|| target(&property["anyOf"][0]));
        let Some(nested) = nested else { continue };
        match field {
            Value::Array(items) => items
                .iter()
                .for_each(|item| shown(item, &nested, document, seen)),
            item => shown(item, &nested, document, seen),
        }
    }
}

/// Sends requests and remembers what they covered.
struct Probe<'d> {
    document: &'d Value,
    tag: &'static str,
    base: SocketAddr,
    covered: BTreeSet<(String, String, String)>,
    seen: BTreeSet<String>,
}

impl Probe<'_> {
    /// One request; `path` is the concrete path, `template` the one in the file.
    async fn send(
        &mut self,
        method: &str,
        template: &str,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        status: u16,
    ) -> Vec<u8> {
        let url = format!("http://{}{path}", self.base);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let method_name: reqwest::Method = method.to_uppercase().parse().unwrap();
        let mut request = http.request(method_name, url);
        if let Some((content_type, bytes)) = body {
            request = request.header("content-type", content_type).body(bytes);
        }
        let response = request.send().await.unwrap();
        let what = format!("{} {method} {path}", self.tag);
        assert_eq!(response.status().as_u16(), status, "{what}");
        let content_type = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        let bytes = match content_type.starts_with("text/event-stream") {
            true => Vec::new(),
            false => response.bytes().await.unwrap().to_vec(),
        };
        self.check(method, template, status, &content_type, &bytes, &what);
        bytes
    }

    fn check(
        &mut self,
        method: &str,
        template: &str,
        status: u16,
        content_type: &str,
        bytes: &[u8],
        what: &str,
    ) {
        let operation = &self.document["paths"][template][method];
        assert!(operation.is_object(), "{what} is not in the file");
        let tags = operation["tags"].as_array().unwrap();
        assert!(tags.contains(&Value::from(self.tag)), "{what}");
        let responses = &operation["responses"];
        let mut key = status.to_string();
        if responses.get(&key).is_none() {
            assert!(
                [405, 429, 500, 503, 504].contains(&status),
                "{what}: {status}"
            );
            key = "default".to_owned();
        }
        let mut response = &responses[&key];
        if response.get("$ref").is_some() {
            response = &self.document["components"]["responses"]["Refusal"];
        }
        let content = response["content"].as_object().unwrap();
        let essence = content_type.split(';').next().unwrap();
        let schema = content
            .get(essence)
            .unwrap_or_else(|| panic!("{what}: {essence} is not in the file"));
        let schema = &schema["schema"];
        if essence == "application/json" {
            let value: Value = serde_json::from_slice(bytes).unwrap();
            let found = violations(self.document, schema, &value, "");
            assert!(found.is_empty(), "{what}: {found:#?}");
            let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            shown(&value, name, self.document, &mut self.seen);
            if status >= 400 && name == "ErrorBody" {
                let code = value["code"].as_str().unwrap();
                assert!(horizon_node::api::Code::from_code(code).is_some(), "{code}");
            }
        }
        self.covered
            .insert((method.to_owned(), template.to_owned(), key));
    }

    /// A body that stops half-way: the server must answer and not wait for ever.
    async fn send_slowly(&mut self, template: &str, content_type: &str) {
        let mut stream = TcpStream::connect(self.base).await.unwrap();
        let head = format!(
            "POST {template} HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ncontent-length: 100\r\n\r\nhalf"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert_eq!(answer.0, 408, "{template}");
        let what = format!("slow {template}");
        self.check("post", template, 408, "application/json", &answer.1, &what);
    }
}

/// Status and body of one answer on a raw connection.
async fn read_answer(stream: &mut TcpStream) -> (u16, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase();
            let length = length
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return (status, body.as_bytes().to_vec());
            }
        }
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut buffer)).await;
        let read = read.expect("an answer in time").unwrap();
        assert!(read > 0, "closed without an answer: {text}");
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn quick() -> Limits {
    Limits {
        head_timeout: Duration::from_millis(300),
        body_timeout: Duration::from_millis(300),
        ..Limits::default()
    }
}

/// Two networks that take each other's messages at tier `horizon`.
fn pair() -> (Arc<Fake>, Arc<Fake>) {
    let (a, b) = (
        Fake::new(11, 1, &[1, 1, 1, 1], false),
        Fake::new(22, 2, &[1, 1, 1, 1], false),
    );
    a.trust(&b, Tier::Horizon);
    b.trust(&a, Tier::Horizon);
    (a, b)
}

/// What the file lists for a tag.
fn listed(document: &Value, tag: &str) -> BTreeSet<(String, String, String)> {
    let mut listed = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !operation["tags"]
                .as_array()
                .unwrap()
                .contains(&Value::from(tag))
            {
                continue;
            }
            for status in operation["responses"].as_object().unwrap().keys() {
                listed.insert((method.clone(), path.clone(), status.clone()));
            }
        }
    }
    listed
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_status_and_field_of_the_openapi_file_is_what_the_servers_answer() {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let (a, b) = pair();
    let (mut covered, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (covers, sees) in [
        probe_node(&document, &a, &b).await,
        probe_relayer(&document, &a, &b).await,
    ] {
        covered.extend(covers);
        seen.extend(sees);
    }
    let mut open = listed(&document, "node");
    open.extend(listed(&document, "relayer"));
    open.retain(|row| !covered.contains(row) && row.2 != "default");
    assert!(open.is_empty(), "never answered: {open:#?}");
    // Every field of every type was in some answer; a request's fields are sent below.
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let fields = schema.get("properties").and_then(Value::as_object);
        let event = matches!(name.as_str(), "Event" | "RetryRequest");
        for field in fields.into_iter().flatten().map(|(field, _)| field) {
            let name = format!("{name}.{field}");
            assert!(event || seen.contains(&name), "{name} was never answered");
        }
    }
    for (tag, operations) in [("node", NODE_OPERATIONS), ("relayer", RELAYER_OPERATIONS)] {
        let served: BTreeSet<(String, String)> = operations
            .iter()
            .map(|operation| (operation.method.to_lowercase(), operation.path.to_owned()))
            .collect();
        let described: BTreeSet<(String, String)> = listed(&document, tag)
            .into_iter()
            .map(|(method, path, _)| (method, path))
            .collect();
        assert_eq!(served, described, "{tag}");
    }
}

type Covered = (BTreeSet<(String, String, String)>, BTreeSet<String>);

async fn probe_node(document: &Value, a: &Arc<Fake>, b: &Arc<Fake>) -> Covered {
    let id = a.send(b, b"hello", true);
    let waiting = a.send(b, b"never signed", false);
    let (served_a, served_b) = (
        Served::start(a.clone(), quick()).await,
        Served::start(b.clone(), quick()).await,
    );
    let mut probe = Probe {
        document,
        tag: "node",
        base: served_a.address,
        covered: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    let (id, waiting, unknown) = (to_hex(&id), to_hex(&waiting), to_hex(&[0xee; 32]));
    for path in [
        "/v1/status",
        "/v1/messages",
        "/v1/inbox",
        "/v1/registry",
        "/v1/evidence",
        "/v1/events",
        "/livez",
        "/readyz",
        "/metrics",
    ] {
        probe.send("get", path, path, None, 200).await;
        let bad = format!("{path}?unknown=1");
        probe.send("get", path, &bad, None, 400).await;
    }
    for (part, wait) in [
        ("", 200),
        ("/attestations", 200),
        ("/aggregate", 200),
        ("/pulse", 200),
        ("/envelope", 409),
    ] {
        let template = format!("/v1/messages/{{id}}{part}");
        let path = |id: &str| format!("/v1/messages/{id}{part}");
        probe.send("get", &template, &path(&id), None, 200).await;
        probe
            .send("get", &template, &path(&waiting), None, wait)
            .await;
        probe
            .send("get", &template, &path(&unknown), None, 404)
            .await;
        probe.send("get", &template, &path("0x12"), None, 400).await;
        let bad = format!("{}?x=1", path(&id));
        probe.send("get", &template, &bad, None, 400).await;
    }
    let attestations = "/v1/messages/{id}/attestations";
    let path = format!("/v1/messages/{id}/attestations?have=beam:0x0f,certset:0x03");
    let answer = probe.send("get", attestations, &path, None, 200).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["beam"].as_array().unwrap().len(), 0);
    assert_eq!(answer["certset"].as_array().unwrap().len(), 2);
    a.lock().refuse_attestations = true;
    probe.send("get", attestations, &path, None, 409).await;
    a.lock().refuse_attestations = false;
    for (path, status) in [
        ("/v1/blocks/1", 200),
        ("/v1/blocks/01", 400),
        ("/v1/blocks/99999", 404),
    ] {
        probe
            .send("get", "/v1/blocks/{height}", path, None, status)
            .await;
    }
    for (path, status) in [
        (format!("/v1/accounts/{unknown}"), 200),
        ("/v1/accounts/1".to_owned(), 400),
    ] {
        probe
            .send("get", "/v1/accounts/{id}", &path, None, status)
            .await;
    }
    a.lock().down = true;
    probe.send("get", "/readyz", "/readyz", None, 503).await;
    a.lock().down = false;
    let envelope = Client::new(&served_a.url(), Timeouts::default()).unwrap();
    let envelope = envelope.envelope(&id_of(&id)).await.unwrap().to_vec();
    // What arrives is asked of the other network.
    probe.base = served_b.address;
    b.lock().handler_fails = true;
    let octets = "application/octet-stream";
    probe_bodies(
        &mut probe,
        "/v1/messages",
        octets,
        vec![1],
        vec![9],
        422,
        64 * 1024,
    )
    .await;
    let good = envelope.clone();
    probe_bodies(
        &mut probe,
        "/v1/envelopes",
        octets,
        good,
        vec![9],
        422,
        1 << 20,
    )
    .await;
    b.block(0);
    a.acknowledge_from(b);
    probe.base = served_a.address;
    let path = format!("/v1/messages/{id}");
    probe
        .send("get", "/v1/messages/{id}", &path, None, 200)
        .await;
    probe.base = served_b.address;
    let failed = format!("/v1/inbox/{id}");
    probe
        .send("get", "/v1/inbox/{id}", &failed, None, 200)
        .await;
    probe
        .send("get", "/v1/inbox", "/v1/inbox?limit=5", None, 200)
        .await;
    for path in [
        "/v1/inbox?limit=0",
        "/v1/inbox?limit=257",
        "/v1/inbox?after=x",
    ] {
        probe.send("get", "/v1/inbox", path, None, 400).await;
    }
    for (path, status) in [
        (format!("/v1/inbox/{unknown}"), 404),
        ("/v1/inbox/x".to_owned(), 400),
    ] {
        probe
            .send("get", "/v1/inbox/{id}", &path, None, status)
            .await;
    }
    b.lock().handler_fails = false;
    let json = |id: &str| format!("{{\"id\":\"{id}\"}}").into_bytes();
    let (good, bad) = (json(&id), b"{\"ids\":1}".to_vec());
    probe_bodies(
        &mut probe,
        "/v1/retry",
        "application/json",
        good,
        bad,
        400,
        4 * 1024,
    )
    .await;
    let json = |id: &str| Some(("application/json", json(id)));
    probe
        .send("post", "/v1/retry", "/v1/retry", json(&id), 409)
        .await;
    probe
        .send("post", "/v1/retry", "/v1/retry", json(&unknown), 404)
        .await;
    (probe.covered, probe.seen)
}

/// The ways a body can be wrong, and one that is right.
async fn probe_bodies(
    probe: &mut Probe<'_>,
    path: &str,
    content_type: &str,
    good: Vec<u8>,
    bad: Vec<u8>,
    bad_status: u16,
    limit: usize,
) {
    probe
        .send("post", path, path, Some((content_type, good.clone())), 202)
        .await;
    probe
        .send("post", path, path, Some((content_type, bad)), bad_status)
        .await;
    let large = vec![0; limit + 1];
    probe
        .send("post", path, path, Some((content_type, large)), 413)
        .await;
    probe
        .send("post", path, path, Some(("text/html", good.clone())), 415)
        .await;
    let query = format!("{path}?x=1");
    probe
        .send("post", path, &query, Some((content_type, good)), 400)
        .await;
    probe.send_slowly(path, content_type).await;
}

async fn probe_relayer(document: &Value, a: &Arc<Fake>, b: &Arc<Fake>) -> Covered {
    let (served_a, served_b) = (
        Served::start(a.clone(), Limits::default()).await,
        Served::start(b.clone(), Limits::default()).await,
    );
    a.lock().silent.extend([0, 1]);
    let stuck = a.send(b, b"stuck", true);
    let expired = a.send_to((b.network_id, b.chain_id), b"expired", true, 0);
    let directory = tempfile::tempdir().unwrap();
    let running = relayer(
        directory.path(),
        &[("a", a, &served_a), ("b", b, &served_b)],
        &[("a", "b")],
    )
    .await;
    let client = Client::new(&running.url(), Timeouts::default()).unwrap();
    running
        .until("both are queued", async || {
            let queue = client.queue(&Default::default()).await.ok()?;
            let state = |id: &Id| {
                let entry = queue.entries.iter().find(|entry| &entry.id == id)?;
                serde_json::to_value(entry.state).ok()
            };
            let dead = state(&expired)? == "dead";
            let ready = client.readiness().await.ok()?.ready;
            (ready && dead && state(&stuck)? == "waiting-quorum").then_some(())
        })
        .await;
    let mut probe = Probe {
        document,
        tag: "relayer",
        base: running.address,
        covered: BTreeSet::new(),
        seen: BTreeSet::new(),
    };
    for path in ["/v1/routes", "/v1/queue", "/livez", "/readyz", "/metrics"] {
        probe.send("get", path, path, None, 200).await;
        let bad = format!("{path}?unknown=1");
        probe.send("get", path, &bad, None, 400).await;
    }
    for query in [
        "state=dead",
        "reason=message-expired",
        "route=a-b",
        "limit=1",
    ] {
        let path = format!("/v1/queue?{query}");
        let answer = probe.send("get", "/v1/queue", &path, None, 200).await;
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert!(!answer["entries"].as_array().unwrap().is_empty(), "{query}");
    }
    for query in [
        "state=lost",
        "id=12",
        "limit=0",
        "limit=1001",
        "limit=1&limit=2",
    ] {
        let path = format!("/v1/queue?{query}");
        probe.send("get", "/v1/queue", &path, None, 400).await;
    }
    let json = |text: &str| Some(("application/json", text.as_bytes().to_vec()));
    let nothing = json("{\"reason\":\"no-such-reason\"}");
    probe
        .send("post", "/v1/retry", "/v1/retry", nothing, 409)
        .await;
    let all = json("{\"route\":\"a-b\",\"reason\":\"message-expired\"}");
    probe.send("post", "/v1/retry", "/v1/retry", all, 202).await;
    probe
        .send("post", "/v1/retry", "/v1/retry", json("{"), 400)
        .await;
    let metrics = client.metrics().await.unwrap();
    for name in [
        "horizon_relayer_messages_total{route=\"a-b\",result=\"dead\"}",
        "horizon_relayer_backlog_messages{route=\"a-b\"}",
        "horizon_relayer_oldest_pending_seconds",
        "horizon_relayer_cursor",
        "horizon_relayer_route_up{route=\"a-b\"} 1",
        "horizon_relayer_waits_total{route=\"a-b\",reason=\"insufficient-weight\"}",
        "horizon_relayer_requests_total",
        "horizon_relayer_build_info",
    ] {
        assert!(metrics.contains(name), "{name} in {metrics}");
    }
    // Nobody answers any more: the route is shown as degraded, with its reason.
    served_b.stop().await;
    running
        .until("the route is degraded", async || {
            let readiness = client.readiness().await.ok()?;
            (!readiness.ready).then_some(())
        })
        .await;
    let answer = probe.send("get", "/readyz", "/readyz", None, 503).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["checks"][0]["reason"], "destination-unreachable");
    a.lock().silent.clear();
    running.stop().await;
    (probe.covered, probe.seen)
}

fn id_of(text: &str) -> Id {
    horizon_node::api::types::text::id_from_hex(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_methods_are_typed_refusals() {
    let served = Served::start(Fake::new(1, 1, &[1], true), Limits::default()).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (method, path, status, code) in [
        ("GET", "/", 404, "route-unknown"),
        ("GET", "/v1/nothing", 404, "route-unknown"),
        ("GET", "/v1/messages/", 404, "route-unknown"),
        ("DELETE", "/v1/status", 405, "method-wrong"),
        ("PUT", "/v1/messages", 405, "method-wrong"),
        ("POST", "/v1/status", 405, "method-wrong"),
        ("GET", "/v1/envelopes", 405, "method-wrong"),
        ("GET", "/v1/messages?after=1&after=2", 400, "bad-query"),
        (
            "GET",
            "/v1/messages?after=18446744073709551615",
            400,
            "bad-query",
        ),
        ("GET", "/v1/messages?limit=-1", 400, "bad-query"),
        ("GET", "/v1/status?=", 400, "bad-query"),
    ] {
        let method_name: reqwest::Method = method.parse().unwrap();
        let url = format!("{}{path}", served.url());
        let response = http.request(method_name, url).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["code"], code, "{method} {path}");
        assert_eq!(body["retryable"], false);
    }
    // An event id that is none.
    let url = format!("{}/v1/events", served.url());
    let request = http.get(url).header("last-event-id", "zzz");
    let body: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(body["code"], "bad-query");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_lie_about_their_size_and_heads_that_never_end_are_cut_off() {
    let served = Served::start(Fake::new(1, 1, &[1], true), quick()).await;
    let raw = async |text: &[u8]| {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(text).await.unwrap();
        stream
    };
    let head =
        "POST /v1/envelopes HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n";
    // Chunked, without a declared size, and longer than allowed.
    let mut stream = raw(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).await;
    let chunk = vec![b'x'; 65_536];
    for _ in 0..17 {
        let sent = async {
            stream.write_all(b"10000\r\n").await?;
            stream.write_all(&chunk).await?;
            stream.write_all(b"\r\n").await
        };
        if sent.await.is_err() {
            break;
        }
    }
    assert_eq!(read_answer(&mut stream).await.0, 413);
    // A declared size beyond the limit is refused before a byte of it is read.
    let mut stream = raw(format!("{head}content-length: 99999999999\r\n\r\n").as_bytes()).await;
    assert_eq!(read_answer(&mut stream).await.0, 413);
    // A broken chunk.
    let text = format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n");
    let mut stream = raw(text.as_bytes()).await;
    assert_eq!(read_answer(&mut stream).await.0, 400);
    // No HTTP at all, a head that is too long, and one that never ends: closed in time.
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n", "y".repeat(100_000));
    for text in [
        "\x16\x03\x01 nonsense\r\n\r\n",
        long.as_str(),
        "GET /v1/status HT",
    ] {
        let mut stream = raw(text.as_bytes()).await;
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
        // Either a refusal or a reset, but an end.
        let _ = ended.await.expect("an end");
        let rest = String::from_utf8_lossy(&rest).into_owned();
        assert!(!rest.contains("200 OK"), "{rest}");
    }
    // It still serves.
    let client = Client::new(&served.url(), Timeouts::default()).unwrap();
    client.status().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_writes_its_whole_body_first_still_reads_why_it_is_refused() {
    let served = Served::start(Fake::new(1, 1, &[1], true), quick()).await;
    let body = vec![b'x'; (1 << 20) + 1];
    let octets = "application/octet-stream";
    for (target, kind, status) in [
        ("POST /v1/envelopes", octets, 413),
        ("POST /v1/envelopes", "text/html", 415),
        ("POST /v1/envelopes?x=1", octets, 400),
        ("POST /v1/nowhere", octets, 404),
        ("PUT /v1/envelopes", octets, 405),
    ] {
        let head = format!(
            "{target} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let written = stream.write_all(&body).await;
        assert!(written.is_ok(), "{target}: {written:?}");
        assert_eq!(read_answer(&mut stream).await.0, status, "{target}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_at_once_and_too_much_over_time_are_refused_and_watchers_are_still_answered() {
    let limits = Limits {
        requests: 1,
        streams: 1,
        ..Limits::default()
    };
    let served = Served::start(Fake::new(1, 1, &[1], true), limits).await;
    let client = Client::new(&served.url(), Timeouts::default()).unwrap();
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = "POST /v1/envelopes HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 10\r\n\r\n12345";
    stream.write_all(head.as_bytes()).await.unwrap();
    // The one place is taken once the half body is being waited for.
    let error = loop {
        match client.status().await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Some("overloaded"));
    assert!(error.is_retryable());
    client.readiness().await.unwrap();
    client.metrics().await.unwrap();
    stream.write_all(b"67890").await.unwrap();
    read_answer(&mut stream).await;
    let first = client.events(None).await.unwrap();
    let second = client.events(None).await.map(drop).unwrap_err();
    assert_eq!(second.code(), Some("overloaded"));
    drop(first);

    let limits = Limits {
        rate: 1,
        burst: 5,
        ..Limits::default()
    };
    let served = Served::start(Fake::new(1, 1, &[1], true), limits).await;
    let client = Client::new(&served.url(), Timeouts::default()).unwrap();
    for _ in 0..5 {
        client.status().await.unwrap();
    }
    let error = client.status().await.unwrap_err();
    assert_eq!(error.code(), Some("rate-limited"));
    client.readiness().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_gets_what_the_server_has_in_the_same_types() {
    let (a, b) = pair();
    let ids: Vec<Id> = (0..3).map(|i| a.send(&b, &[i], true)).collect();
    let (served_a, served_b) = (
        Served::start(a.clone(), Limits::default()).await,
        Served::start(b.clone(), Limits::default()).await,
    );
    let from = Client::new(&served_a.url(), Timeouts::default()).unwrap();
    let to = Client::new(&served_b.url(), Timeouts::default()).unwrap();
    assert_eq!(from.status().await.unwrap().outgoing, 3);
    let page = from.messages(None, 2).await.unwrap();
    assert_eq!(
        page.messages.iter().map(|m| m.id).collect::<Vec<_>>(),
        ids[..2]
    );
    let page = from.messages(Some(1), 2).await.unwrap();
    assert_eq!(page.messages[0].sequence, 2);
    assert_eq!(from.message(&ids[2]).await.unwrap(), page.messages[0]);
    let have = Have::parse("beam:0x01").unwrap();
    let attestations = from.attestations(&ids[0], &have).await.unwrap();
    assert_eq!(
        (attestations.beam.len(), attestations.certset.len()),
        (3, 4)
    );
    let aggregate = from.aggregate(&ids[0]).await.unwrap();
    assert!(aggregate.beam.evidence.is_some() && aggregate.missing.is_empty());
    assert!(from.pulse(&ids[0]).await.unwrap().pulse.is_some());
    let envelope = from.envelope(&ids[0]).await.unwrap();
    let answer = to.submit_envelope(envelope.clone()).await.unwrap();
    assert_eq!((answer.id, answer.state), (ids[0], SubmitState::Accepted));
    let answer = to.submit_envelope(envelope.clone()).await.unwrap();
    assert_eq!(answer.state, SubmitState::Pending);
    b.block(0);
    let answer = to.submit_envelope(envelope.clone()).await.unwrap();
    assert_eq!(answer.state, SubmitState::Delivered);
    let mut flipped = envelope.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    let error = to.submit_envelope(Bytes::from(flipped)).await;
    // The id is known already, so a damaged copy is a repetition; a fresh one is refused.
    assert_eq!(error.unwrap().state, SubmitState::Delivered);
    let mut fresh = from.envelope(&ids[1]).await.unwrap().to_vec();
    *fresh.last_mut().unwrap() ^= 1;
    let error = to.submit_envelope(Bytes::from(fresh)).await.unwrap_err();
    assert_eq!(error.code(), Some("certset-invalid"));
    assert!(!error.is_retryable());
    assert_eq!(to.delivery(&ids[1]).await.unwrap(), None);
    assert_eq!(to.delivery(&ids[0]).await.unwrap().unwrap().height, Some(2));
    assert_eq!(to.deliveries(None, 10).await.unwrap().total, 1);
    let retry = RetryRequest {
        id: Some(ids[0]),
        ..RetryRequest::default()
    };
    let error = to.retry(&retry).await.unwrap_err();
    assert_eq!(error.code(), Some("already-executed"));
    assert_eq!(from.registry().await.unwrap().sources.len(), 1);
    assert_eq!(from.evidence().await.unwrap().total, 1);
    assert_eq!(from.account(&[1; 32]).await.unwrap().next_sequence, 7);
    assert_eq!(from.block(1).await.unwrap().height, 1);
    assert!(from.readiness().await.unwrap().ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_on_where_a_client_left_off() {
    let (a, b) = pair();
    let served = Served::start(a.clone(), Limits::default()).await;
    let client = Client::new(&served.url(), Timeouts::default()).unwrap();
    let mut stream = client.events(None).await.unwrap();
    let first = a.send(&b, b"1", true);
    let (id, event) = stream.next().await.unwrap().unwrap();
    assert_eq!((event.kind, event.id), (EventKind::Message, Some(first)));
    drop(stream);
    let second = a.send(&b, b"2", true);
    let mut stream = client.events(Some(id)).await.unwrap();
    let (_, event) = stream.next().await.unwrap().unwrap();
    assert_eq!(event.id, Some(second));
    // A server that stops ends its streams.
    served.stop().await;
    while let Some(Ok(_)) = stream.next().await {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_silent_absent_or_talks_nonsense_is_a_typed_error_in_time() {
    let timeouts = Timeouts {
        connect: Duration::from_millis(300),
        request: Duration::from_millis(300),
        idle: Duration::from_millis(300),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = Client::new(&format!("http://{address}"), timeouts).unwrap();
    let error = client.status().await.unwrap_err();
    assert_eq!(error, client::Error::Unreachable { timeout: true });
    drop(listener);
    let error = client.status().await.unwrap_err();
    assert_eq!(error, client::Error::Unreachable { timeout: false });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops",
            "HTTP/1.1 302 X\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
        ] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4_096];
            let _ = stream.read(&mut buffer).await.unwrap();
            let answer = answer.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let client = Client::new(&format!("http://{address}"), timeouts).unwrap();
    for status in [200, 500, 302] {
        let error = client.status().await.unwrap_err();
        assert_eq!(error, client::Error::BadAnswer { status });
    }
    server.await.unwrap();
}

/// Messages in both directions through real sockets, with the process of the relayer ended at any
/// moment and started again.
#[tokio::test(flavor = "multi_thread")]
async fn a_relayer_that_is_ended_again_and_again_delivers_everything_once() {
    let (a, b) = pair();
    let (served_a, served_b) = (
        Served::start(a.clone(), Limits::default()).await,
        Served::start(b.clone(), Limits::default()).await,
    );
    let ticking = ticking(vec![a.clone(), b.clone()]);
    let directory = tempfile::tempdir().unwrap();
    let networks = [("a", &a, &served_a), ("b", &b, &served_b)];
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for round in 0..6_u8 {
        there.extend((0..4).map(|i| a.send(&b, &[round, i], true)));
        back.extend((0..4).map(|i| b.send(&a, &[round, i], true)));
        let running = relayer(directory.path(), &networks, &[("a", "b"), ("b", "a")]).await;
        let client = Client::new(&running.url(), Timeouts::default()).unwrap();
        let wanted = u64::from(round) * 2;
        running
            .until("some are delivered", async || {
                let routes = client.routes().await.ok()?.routes;
                let delivered: u64 = routes.iter().map(|route| route.delivered).sum();
                (delivered >= wanted).then_some(())
            })
            .await;
        running.kill();
    }
    let running = relayer(directory.path(), &networks, &[("a", "b"), ("b", "a")]).await;
    let client = Client::new(&running.url(), Timeouts::default()).unwrap();
    running
        .until("all are acknowledged", async || {
            let routes = client.routes().await.ok()?.routes;
            let open = |route: &horizon_node::api::types::Route| {
                route.backlog + route.unacknowledged + route.dead
            };
            let done = routes
                .iter()
                .all(|route| route.delivered == 24 && open(route) == 0);
            done.then_some(())
        })
        .await;
    for (network, ids) in [(&b, &there), (&a, &back)] {
        let inner = network.lock();
        assert_eq!(inner.effects.len(), ids.len());
        assert!(ids.iter().all(|id| inner.effects.get(id) == Some(&1)));
        assert!(inner.log.submissions.values().all(|count| *count <= 7));
    }
    running.stop().await;
    ticking.abort();
}

/// A05 over sockets: nothing listens at one destination when the relayer starts.
#[tokio::test(flavor = "multi_thread")]
async fn a05_a_destination_that_refuses_connections_degrades_its_own_route_only() {
    let (a, b) = pair();
    let dead = Fake::new(33, 3, &[1, 1, 1, 1], false);
    dead.trust(&a, Tier::Horizon);
    let first: Vec<Id> = (0..5).map(|i| a.send(&b, &[i], true)).collect();
    let second: Vec<Id> = (0..5).map(|i| a.send(&dead, &[i], true)).collect();
    let served_a = Served::start(a.clone(), Limits::default()).await;
    let served_b = Served::start(b.clone(), Limits::default()).await;
    let gone = Served::start(dead.clone(), Limits::default()).await;
    let address = gone.address;
    let ticking = ticking(vec![a.clone(), b.clone(), dead.clone()]);
    let directory = tempfile::tempdir().unwrap();
    let networks = [
        ("a", &a, &served_a),
        ("b", &b, &served_b),
        ("c", &dead, &gone),
    ];
    let config = support::serve::config(directory.path(), &networks, &[("a", "b"), ("a", "c")]);
    gone.stop().await;
    let running = support::serve::start(config).await;
    let client = Client::new(&running.url(), Timeouts::default()).unwrap();
    let routes = async || client.routes().await.ok().map(|list| list.routes);
    running
        .until("the first route is done", async || {
            let routes = routes().await?;
            let done = routes[0].delivered == 5 && routes[0].healthy && routes[0].backlog == 0;
            (done && routes[1].backlog == 5).then_some(())
        })
        .await;
    let shown = routes().await.unwrap();
    assert_eq!(shown[1].reason.as_deref(), Some("destination-unreachable"));
    assert_eq!(shown[1].submissions, 0);
    let _back = Served::start_at(address, dead.clone(), Limits::default()).await;
    running
        .until("the second route is done", async || {
            let routes = routes().await?;
            (routes[1].delivered == 5 && routes[1].healthy).then_some(())
        })
        .await;
    for (network, ids) in [(&b, &first), (&dead, &second)] {
        let inner = network.lock();
        assert!(ids.iter().all(|id| inner.effects.get(id) == Some(&1)));
    }
    running.stop().await;
    ticking.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_relayer_on_the_same_directory_and_a_file_of_another_route_are_refused() {
    use horizon_node::relayer::{Error, Relayer};
    let (a, b) = pair();
    let served = Served::start(a.clone(), Limits::default()).await;
    let directory = tempfile::tempdir().unwrap();
    let networks = [("a", &a, &served), ("b", &b, &served)];
    let running = relayer(directory.path(), &networks, &[("a", "b")]).await;
    let config = support::serve::config(directory.path(), &networks, &[("a", "b")]);
    let error = Relayer::open(config).await.unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
    running.stop().await;
    // The same name, another direction.
    let swapped = [("b", &a, &served), ("a", &b, &served)];
    let config = support::serve::config(directory.path(), &swapped, &[("a", "b")]);
    let error = Relayer::open(config).await.unwrap_err();
    assert!(matches!(error, Error::Configuration(_)), "{error}");
}
