//! What must hold, whatever the faults: each property is one function over the facts of a run.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Delivered, History, Id, Kind, Sent};

type Check = fn(&History) -> Result<(), String>;

pub const ALL: [(&str, Check); 16] = [
    ("D1 authenticity", authenticity),
    ("D2 no replay", no_replay),
    ("D3 acceptance", acceptance),
    ("D4 monotone memory", monotone_memory),
    ("D5 eventual delivery", eventual_delivery),
    ("D6 exactly once", exactly_once),
    ("O1 precedence", precedence),
    ("O2 no inversion", no_inversion),
    ("S1 quorum", quorum),
    ("S2 overlap", overlap),
    ("S3 distinctness", distinctness),
    ("T3 nonce", nonces),
    ("Q1 agreement", agreement),
    ("Q2 honest once", honest_once),
    ("Q3 lane consistency", lane_consistency),
    ("Q4 stability", stability),
];

/// Q5 and Q6 have checks of their own, and so have old copies.
pub const MORE: [(&str, Check); 3] = [
    ("Q5 Byzantine alone", byzantine_alone),
    ("Q6 subject binding", subject_binding),
    ("old copies are refused", old_copies),
];

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn short(id: &Id) -> String {
    id[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// No envelope that fails a lane, and nothing that its source did not make final, acts.
fn authenticity(history: &History) -> Result<(), String> {
    for (at, network) in history.networks.iter().enumerate() {
        let sent: BTreeSet<Id> = history.networks[1 - at]
            .sent()
            .map(|sent| sent.id)
            .collect();
        for delivered in network.delivered() {
            ensure(delivered.is_retry || delivered.proven, || {
                format!(
                    "network {at} acted on {} without proof",
                    short(&delivered.id)
                )
            })?;
            ensure(sent.contains(&delivered.id), || {
                format!(
                    "network {at} acted on {}, which nobody sent",
                    short(&delivered.id)
                )
            })?;
        }
    }
    refused(
        history,
        &[Kind::Strip, Kind::Flip, Kind::BelowQuorum, Kind::Alone],
    )
}

fn refused(history: &History, kinds: &[Kind]) -> Result<(), String> {
    for attack in &history.attacks {
        let wanted = kinds.contains(&attack.kind);
        ensure(!wanted || attack.refused.is_some(), || {
            format!(
                "{:?} was accepted by network {}",
                attack.kind, attack.network
            )
        })?;
    }
    Ok(())
}

/// What was processed is not processed again.
fn no_replay(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut first = BTreeSet::new();
        let mut executed = BTreeSet::new();
        for delivered in network.delivered() {
            ensure(delivered.is_retry || first.insert(delivered.id), || {
                format!("{} was delivered again", short(&delivered.id))
            })?;
            ensure(!delivered.executed || executed.insert(delivered.id), || {
                format!("{} was executed again", short(&delivered.id))
            })?;
        }
    }
    let replays = history
        .attacks
        .iter()
        .filter(|attack| attack.kind == Kind::Replay);
    for replay in replays {
        // The interface says that it is known; the ledger itself must refuse it.
        ensure(replay.refused.is_some(), || {
            "the ledger took a replay".to_owned()
        })?;
    }
    Ok(())
}

/// Valid and fresh is accepted when it is first presented; an ordered channel may ask to wait.
fn acceptance(history: &History) -> Result<(), String> {
    for presented in &history.presented {
        let waits = presented.refused.as_deref() == Some("channel-gap");
        ensure(
            presented.refused.is_none() || presented.is_known || waits,
            || {
                let code = presented.refused.clone().unwrap_or_default();
                let (id, there) = (short(&presented.id), presented.network);
                format!("{id} was refused by network {there}: {code}")
            },
        )?;
    }
    Ok(())
}

/// The number of processed messages never falls, on no validator, and is the same at a height.
fn monotone_memory(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut last: BTreeMap<u16, u64> = BTreeMap::new();
        let mut at_height: BTreeMap<u64, u64> = BTreeMap::new();
        for (validator, height, count) in &network.memory {
            let known = last.insert(*validator, *count).unwrap_or(0);
            ensure(known <= *count, || {
                format!("validator {validator} forgot a delivery: {known}, then {count}")
            })?;
            let same = *at_height.entry(*height).or_insert(*count) == *count;
            ensure(same, || format!("deliveries differ at height {height}"))?;
        }
    }
    Ok(())
}

/// Everything that was sent arrived, and its sender knows.
fn eventual_delivery(history: &History) -> Result<(), String> {
    ensure(history.is_complete, || "the time was over first".to_owned())?;
    for (at, network) in history.networks.iter().enumerate() {
        let there: BTreeSet<Id> = history.networks[1 - at]
            .delivered()
            .map(|delivered| delivered.id)
            .collect();
        let told: BTreeSet<Id> = network.acknowledged().copied().collect();
        for sent in network.sent().filter(|sent| !sent.is_ack) {
            let id = short(&sent.id);
            ensure(there.contains(&sent.id), || {
                format!("{id} was not delivered")
            })?;
            ensure(told.contains(&sent.id), || {
                format!("{id} was not acknowledged")
            })?;
        }
    }
    Ok(())
}

/// Delivered once, and the handlers hold exactly what was sent to them, everywhere.
fn exactly_once(history: &History) -> Result<(), String> {
    no_replay(history)?;
    eventual_delivery(history)?;
    for network in &history.networks {
        let executed: Vec<&Delivered> = network
            .delivered()
            .filter(|delivered| delivered.executed && !delivered.is_ack)
            .collect();
        let of = |name: &[u8]| {
            let name = name.to_vec();
            executed
                .iter()
                .filter(move |delivered| delivered.recipient == name)
        };
        let counter: u64 = of(b"counter")
            .filter_map(|delivered| delivered.body[..].try_into().ok())
            .map(u64::from_be_bytes)
            .sum();
        let journal = of(b"journal").count() as u64;
        ensure(!network.effects.is_empty(), || {
            "nobody told its state".to_owned()
        })?;
        for effects in &network.effects {
            ensure(*effects == (counter, journal), || {
                format!(
                    "effects {effects:?} where {:?} was sent",
                    (counter, journal)
                )
            })?;
        }
    }
    Ok(())
}

/// Height and place in the block are one order, and its numbers have no gap.
fn precedence(history: &History) -> Result<(), String> {
    let dense = |numbers: &mut dyn Iterator<Item = u64>| {
        numbers.zip(0..).all(|(found, wanted)| found == wanted)
    };
    for network in &history.networks {
        let sent = dense(&mut network.sent().map(|sent| sent.sequence));
        ensure(sent, || "outgoing numbers are not dense".to_owned())?;
        let delivered = dense(&mut network.delivered().map(|delivered| delivered.sequence));
        ensure(delivered, || "delivery numbers are not dense".to_owned())?;
    }
    Ok(())
}

/// An ordered channel is processed in its order.
fn no_inversion(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut next: BTreeMap<Id, u64> = BTreeMap::new();
        let first = network.delivered().filter(|delivered| !delivered.is_retry);
        for delivered in first.filter(|delivered| delivered.channel[0] == 1) {
            let wanted = next.entry(delivered.channel).or_default();
            ensure(delivered.nonce == *wanted, || {
                format!("nonce {} where {wanted} was next", delivered.nonce)
            })?;
            *wanted += 1;
        }
    }
    Ok(())
}

/// Less than a quorum proves nothing; exactly a quorum does.
fn quorum(history: &History) -> Result<(), String> {
    refused(history, &[Kind::BelowQuorum])?;
    for attack in &history.attacks {
        let right = attack.kind == Kind::ExactQuorum;
        ensure(!right || attack.refused.is_none(), || {
            format!("a quorum was refused: {:?}", attack.refused)
        })?;
    }
    for (at, network) in history.networks.iter().enumerate() {
        let total = u32::from(history.networks[1 - at].validators);
        for delivered in network.delivered().filter(|delivered| !delivered.is_retry) {
            let enough = delivered.signers.iter().all(|count| count * 3 > total * 2);
            ensure(enough, || {
                format!(
                    "{} came with {:?} of {total}",
                    short(&delivered.id),
                    delivered.signers
                )
            })?;
        }
    }
    Ok(())
}

/// No two messages with one place in a channel are authenticated.
fn overlap(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut seen: BTreeMap<(Id, u64), Id> = BTreeMap::new();
        for delivered in network.delivered() {
            let place = (delivered.channel, delivered.nonce);
            let first = *seen.entry(place).or_insert(delivered.id);
            ensure(first == delivered.id, || {
                format!("{} and {} conflict", short(&first), short(&delivered.id))
            })?;
        }
    }
    Ok(())
}

/// Another channel, nonce or source is another id.
fn distinctness(history: &History) -> Result<(), String> {
    let mut seen: BTreeMap<Id, (usize, Id, u64)> = BTreeMap::new();
    for (at, network) in history.networks.iter().enumerate() {
        for sent in network.sent() {
            let place = (at, sent.channel, sent.nonce);
            let same = *seen.entry(sent.id).or_insert(place) == place;
            ensure(same, || {
                format!("two messages have the id {}", short(&sent.id))
            })?;
        }
    }
    Ok(())
}

/// Every nonce of a channel is used once, without gaps.
fn nonces(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut next: BTreeMap<Id, u64> = BTreeMap::new();
        for sent in network.sent() {
            let wanted = next.entry(sent.channel).or_default();
            ensure(sent.nonce == *wanted, || {
                format!("nonce {} where {wanted} was next", sent.nonce)
            })?;
            *wanted += 1;
        }
    }
    Ok(())
}

/// One block at every height.
fn agreement(history: &History) -> Result<(), String> {
    for (at, network) in history.networks.iter().enumerate() {
        let mut blocks: BTreeMap<u64, Id> = BTreeMap::new();
        let told = network
            .blocks
            .iter()
            .map(|(height, block)| (height, &block.digest));
        for (height, digest) in told {
            blocks.insert(*height, *digest);
        }
        for (validator, height, digest) in &network.finals {
            let same = *blocks.entry(*height).or_insert(*digest) == *digest;
            ensure(same, || {
                format!("network {at} forked at {height}, as validator {validator} has it")
            })?;
        }
    }
    Ok(())
}

/// An honest validator signs one value per place, in every lane, over all its lives.
fn honest_once(history: &History) -> Result<(), String> {
    for network in &history.networks {
        for accused in &network.accused {
            ensure(network.faulty.contains(accused), || {
                format!("honest validator {accused} signed conflicting votes")
            })?;
        }
        let places: BTreeMap<Id, (Id, u64)> = network
            .sent()
            .map(|sent| (sent.id, (sent.channel, sent.nonce)))
            .collect();
        let mut signed: BTreeMap<(u16, Id, u64), Id> = BTreeMap::new();
        for attested in &network.attested {
            let Some((channel, nonce)) = places.get(&attested.id) else {
                continue;
            };
            let place = (attested.signer, *channel, *nonce);
            let same = *signed.entry(place).or_insert(attested.id) == attested.id;
            ensure(same, || {
                format!("validator {} signed twice", attested.signer)
            })?;
        }
        let mut answered: BTreeMap<(u16, u64, u16), Id> = BTreeMap::new();
        for (signer, batch, index, session) in &network.partials {
            let place = (*signer, *batch, *index);
            let same = *answered.entry(place).or_insert(*session) == *session;
            ensure(same || network.faulty.contains(signer), || {
                format!("validator {signer} used a nonce of batch {batch} twice")
            })?;
        }
    }
    Ok(())
}

/// What an honest validator signs in one lane is what it signs in the other, and is final.
fn lane_consistency(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let sent: BTreeSet<Id> = network.sent().map(|sent| sent.id).collect();
        let mut lanes: BTreeMap<(u16, Id), [bool; 2]> = BTreeMap::new();
        for attested in &network.attested {
            if network.faulty.contains(&attested.signer) {
                continue;
            }
            ensure(sent.contains(&attested.id), || {
                format!("validator {} signed what is not final", attested.signer)
            })?;
            let entry = lanes.entry((attested.signer, attested.id)).or_default();
            entry[0] |= attested.beam;
            entry[1] |= attested.certificate;
        }
        for ((signer, id), lanes) in lanes {
            ensure(lanes[0] == lanes[1], || {
                format!("validator {signer} signed {} in one lane only", short(&id))
            })?;
        }
    }
    Ok(())
}

/// What was final stays: no validator goes back behind what it told.
fn stability(history: &History) -> Result<(), String> {
    for network in &history.networks {
        let mut told: BTreeMap<u16, u64> = BTreeMap::new();
        for (validator, height, _) in &network.memory {
            let known = told.entry(*validator).or_default();
            ensure(*known <= *height, || {
                format!("validator {validator} fell from {known} to {height}")
            })?;
            *known = *height;
        }
    }
    Ok(())
}

/// As many as may be faulty prove nothing.
fn byzantine_alone(history: &History) -> Result<(), String> {
    refused(history, &[Kind::Alone])
}

/// Every byte of the subject is bound.
fn subject_binding(history: &History) -> Result<(), String> {
    refused(history, &[Kind::Flip])
}

fn old_copies(history: &History) -> Result<(), String> {
    let copies = history.networks.iter().flat_map(|network| &network.copies);
    for refused in copies {
        ensure(*refused, || "an old copy was started".to_owned())?;
    }
    Ok(())
}

/// Changes a run so that this property does not hold in it.
pub fn break_for(name: &str, history: &mut History) {
    let [one, two] = &mut history.networks;
    let at = *one
        .blocks
        .iter()
        .find(|(_, block)| !block.delivered.is_empty())
        .map(|(height, _)| height)
        .expect("something was delivered");
    let block = one.blocks.get_mut(&at).expect("it is there");
    let sent = two
        .blocks
        .values_mut()
        .find(|block| !block.sent.is_empty())
        .expect("something was sent");
    match name {
        "D1 authenticity" => block.delivered[0].proven = false,
        "D2 no replay" | "D6 exactly once" => {
            let again = block.delivered[0].clone();
            block.delivered.push(again);
        }
        "D3 acceptance" => {
            history.presented[0].refused = Some("beam-invalid".to_owned());
            history.presented[0].is_known = false;
        }
        "D4 monotone memory" => {
            let (validator, height, count) = *one.memory.last().expect("it was looked at");
            one.memory.push((validator, height, count + 1));
            one.memory.push((validator, height, count));
        }
        "D5 eventual delivery" => one.blocks.values_mut().for_each(|b| b.delivered.clear()),
        "O1 precedence" => block.delivered[0].sequence += 1,
        "O2 no inversion" => {
            let mut jump = block.delivered[0].clone();
            jump.channel = [1; 32];
            jump.nonce = 7;
            block.delivered.push(jump);
        }
        "S1 quorum" => block.delivered[0].signers[1] = 2,
        "S2 overlap" => {
            let mut other = block.delivered[0].clone();
            other.id = [9; 32];
            block.delivered.push(other);
        }
        "S3 distinctness" => {
            let mut other = sent.sent[0].clone();
            other.nonce += 1;
            sent.sent.push(other);
        }
        "T3 nonce" => {
            let again: Sent = sent.sent[0].clone();
            sent.sent.push(again);
        }
        "Q1 agreement" => {
            let (validator, height, _) = one.finals[0];
            one.finals.push((validator, height, [7; 32]));
        }
        "Q2 honest once" => {
            let honest = (0..4).find(|v| !one.faulty.contains(v)).expect("three are");
            one.partials.push((honest, 1, 0, [1; 32]));
            one.partials.push((honest, 1, 0, [2; 32]));
        }
        "Q3 lane consistency" => {
            let faulty = one.faulty.clone();
            let own = |a: &&mut super::history::Attested| !faulty.contains(&a.signer);
            one.attested.iter_mut().find(own).expect("they sign").id = [5; 32];
        }
        "Q4 stability" => {
            let (validator, height, count) = *one.memory.last().expect("it was looked at");
            one.memory.push((validator, height - 1, count));
        }
        "Q5 Byzantine alone" => accept(history, Kind::Alone),
        "Q6 subject binding" => accept(history, Kind::Flip),
        "old copies are refused" => one.copies.push(false),
        other => panic!("nothing breaks {other}"),
    }
}

fn accept(history: &mut History, kind: Kind) {
    let attack = history
        .attacks
        .iter_mut()
        .find(|attack| attack.kind == kind);
    attack.expect("every run tries it").refused = None;
}
