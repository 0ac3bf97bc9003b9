//! A state under construction.

use super::*;

/// The entries of a state with the changes of a block so far.
pub(crate) struct Work {
    parent: State,
    entries: OrdMap<Key, Value>,
    changes: Changes,
}

impl Work {
    pub(crate) fn on(parent: &State) -> Self {
        Self {
            parent: parent.clone(),
            entries: parent.entries.clone(),
            changes: Changes::new(),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Value> {
        self.entries.get(key)
    }

    pub(crate) fn put(&mut self, key: Key, value: Vec<u8>) {
        let value: Value = value.into();
        self.entries.insert(key.clone(), Arc::clone(&value));
        self.changes.insert(key, Some(value));
    }

    pub(crate) fn delete(&mut self, key: Key) {
        if self.entries.remove(&key).is_some() {
            self.changes.insert(key, None);
        }
    }

    /// Ends the changes to entries and gives the state root.
    pub(crate) fn seal(mut self, height: u64) -> Sealed {
        let mut sum = (*self.parent.sum).clone();
        // An entry that came and went, or has its old value again, is no change.
        let parent = &self.parent.entries;
        self.changes
            .retain(|key, new| parent.get(key) != new.as_ref());
        for (key, new) in &self.changes {
            if let Some(old) = parent.get(key) {
                sum.remove(key, old);
            }
            if let Some(new) = new {
                sum.add(key, new);
            }
        }
        let pulse_before = pulse_digest(&self.parent.snapshot);
        let root = root(&sum, &pulse_before);
        Sealed {
            height,
            entries: self.entries,
            changes: self.changes,
            sum,
            pulse_before,
            root,
        }
    }
}

/// Entries and root of a state whose signing ledger is not known yet.
pub(crate) struct Sealed {
    height: u64,
    entries: OrdMap<Key, Value>,
    changes: Changes,
    sum: LtHash,
    pulse_before: [u8; 32],
    root: [u8; 32],
}

impl Sealed {
    pub(crate) fn root(&self) -> &[u8; 32] {
        &self.root
    }

    pub(crate) fn with_pulse(self, pulse: Ledger) -> State {
        let snapshot: Arc<[u8]> = pulse.snapshot().into();
        State {
            height: self.height,
            entries: self.entries,
            sum: Arc::new(self.sum),
            root: self.root,
            pulse_before: self.pulse_before,
            pulse: Arc::new(pulse),
            snapshot,
            changes: Arc::new(self.changes),
        }
    }
}
