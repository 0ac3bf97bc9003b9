//! Events with resume: a bounded log that any number of readers follow.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;

use super::types::{Event, EventKind, Id, text};

/// Names one event: the process start it belongs to, and its number since then.
///
/// The text form is `<run>-<number>`, hex and decimal, for `Last-Event-ID`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// Random number of the process start.
    pub run: u64,
    /// Number since the start, from 1.
    pub number: u64,
}

impl EventId {
    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (run, number) = text.split_once('-')?;
        let plain = run.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if run.len() != 16 || !plain {
            return None;
        }
        Some(Self {
            run: u64::from_str_radix(run, 16).ok()?,
            number: text::from_decimal(number)?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.run, self.number)
    }
}

/// The last events of a process, at most `capacity` of them. Cheap to clone; clones share the log.
///
/// A reader that asks for more than the log remembers, or for events of another run, first gets one
/// [`EventKind::Gap`].
#[derive(Clone, Debug)]
pub struct EventLog {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    run: u64,
    capacity: usize,
    events: Mutex<VecDeque<Event>>,
    /// Number of the newest event; events are numbered from 1.
    last: watch::Sender<u64>,
}

impl EventLog {
    /// An empty log. `run` is a fresh random number per process start; `capacity` is at least 1.
    #[must_use]
    pub fn new(run: u64, capacity: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                run,
                capacity: capacity.max(1),
                events: Mutex::new(VecDeque::new()),
                last: watch::Sender::new(0),
            }),
        }
    }

    /// Appends an event and wakes the readers. Never waits for them.
    pub fn push(&self, kind: EventKind, height: u64, id: Option<Id>) {
        let mut events = lock(&self.shared.events);
        if events.len() >= self.shared.capacity {
            events.pop_front();
        }
        events.push_back(Event { kind, height, id });
        // Under the lock, so that number and position agree for every reader.
        self.shared
            .last
            .send_modify(|last| *last = last.saturating_add(1));
    }

    /// Follows the log: events after `resume`, or from now on.
    #[must_use]
    pub fn follow(&self, resume: Option<EventId>) -> BoxStream<'static, (EventId, Event)> {
        let shared = Arc::clone(&self.shared);
        let mut wake = shared.last.subscribe();
        let last = *wake.borrow_and_update();
        let (next, gap) = match resume {
            None => (last.saturating_add(1), false),
            Some(id) if id.run == shared.run && id.number <= last => {
                (id.number.saturating_add(1), false)
            }
            Some(_) => (last.saturating_add(1), true),
        };
        let reader = Reader {
            shared,
            wake,
            next,
            gap,
        };
        stream::unfold(reader, |mut reader| async move {
            let event = reader.next_event().await?;
            Some((event, reader))
        })
        .boxed()
    }
}

struct Reader {
    shared: Arc<Shared>,
    wake: watch::Receiver<u64>,
    next: u64,
    gap: bool,
}

impl Reader {
    async fn next_event(&mut self) -> Option<(EventId, Event)> {
        loop {
            let found = self.take();
            if found.is_some() {
                return found;
            }
            self.wake.changed().await.ok()?;
        }
    }

    fn take(&mut self) -> Option<(EventId, Event)> {
        let events = lock(&self.shared.events);
        let last = *self.wake.borrow_and_update();
        let kept = u64::try_from(events.len()).unwrap_or(u64::MAX);
        let first = last.saturating_sub(kept).saturating_add(1);
        let id = |number| EventId {
            run: self.shared.run,
            number,
        };
        if self.next < first {
            self.next = first;
            self.gap = true;
        }
        if self.gap {
            self.gap = false;
            let height = events.back().map_or(0, |event| event.height);
            let gap = Event {
                kind: EventKind::Gap,
                height,
                id: None,
            };
            return Some((id(self.next.saturating_sub(1)), gap));
        }
        let at = usize::try_from(self.next.saturating_sub(first)).ok()?;
        let event = events.get(at)?.clone();
        let found = (id(self.next), event);
        self.next = self.next.saturating_add(1);
        Some(found)
    }
}

/// The log holds plain values: a panic elsewhere leaves them whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn take(stream: &mut BoxStream<'static, (EventId, Event)>) -> Option<(EventId, Event)> {
        stream.next().now_or_never().flatten()
    }

    #[test]
    fn a_reader_sees_every_event_from_its_start_in_order() {
        let log = EventLog::new(7, 10);
        log.push(EventKind::Block, 1, None);
        let mut reader = log.follow(None);
        assert_eq!(take(&mut reader), None);
        log.push(EventKind::Message, 2, Some([1; 32]));
        log.push(EventKind::Block, 2, None);
        let (id, event) = take(&mut reader).unwrap();
        assert_eq!((id.number, event.kind), (2, EventKind::Message));
        assert_eq!(take(&mut reader).unwrap().0.number, 3);
        assert_eq!(take(&mut reader), None);
        let mut again = log.follow(Some(id));
        assert_eq!(take(&mut again).unwrap().0.number, 3);
    }

    #[test]
    fn a_reader_that_is_too_far_behind_or_of_another_run_gets_one_gap() {
        let log = EventLog::new(7, 2);
        let mut slow = log.follow(None);
        for height in 1..=5 {
            log.push(EventKind::Block, height, None);
        }
        assert_eq!(take(&mut slow).unwrap().1.kind, EventKind::Gap);
        assert_eq!(take(&mut slow).unwrap().0.number, 4);
        assert_eq!(take(&mut slow).unwrap().0.number, 5);
        assert_eq!(take(&mut slow), None);
        let other = EventId { run: 8, number: 1 };
        let mut stranger = log.follow(Some(other));
        assert_eq!(take(&mut stranger).unwrap().1.kind, EventKind::Gap);
        assert_eq!(take(&mut stranger), None);
    }

    #[test]
    fn event_ids_have_one_spelling() {
        let id = EventId { run: 7, number: 12 };
        assert_eq!(id.to_string(), "0000000000000007-12");
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for text in ["", "7-12", "0000000000000007-012", "000000000000000G-1"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }
}
