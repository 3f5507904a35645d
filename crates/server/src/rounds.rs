//! The rounds of a run as they go over the wire: what each shard was sent, who waits, and what it cost.

use std::time::Instant;

use ddiht_core::{
    coordinator::{Event, Stopped, Tally},
    enrol::Launch,
    local::Costs,
    round::Directive,
    switchboard::{Notice, Switchboard},
};
use ddiht_wire::{
    Answer, AnswerBody, DirectiveEncoder, Ending, WireError, decode_reply, exchange, payload_len,
    pb,
};

use crate::request::Respond;

/// The line to one shard.
#[derive(Default)]
struct Line {
    encoder: DirectiveEncoder,
    /// The last directive as it was sent: a repeated question gets the same bytes.
    sent: Option<pb::ExchangeReply>,
    /// Who waits, and for what comes after which round.
    waiting: Option<(u64, Respond<pb::ExchangeReply>)>,
    answered: u64,
    told_the_end: bool,
}

/// A run under way.
pub(crate) struct Rounds {
    pub(crate) launch: Launch,
    board: Switchboard,
    lines: Vec<Line>,
    start: Instant,
    pub(crate) costs: Costs,
}

impl Rounds {
    /// The clock of training starts now.
    pub(crate) fn new(launch: Launch, board: Switchboard) -> Self {
        let shards = launch.job.shards;
        Self {
            launch,
            board,
            lines: (0..shards).map(|_| Line::default()).collect(),
            start: Instant::now(),
            costs: Costs::new(shards),
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.board.tally()
    }

    /// Takes the answer of a shard, if it is one that is waited for.
    pub(crate) fn take(&mut self, answer: Answer, bytes: u64) -> Result<(), WireError> {
        let (shard, round) = (answer.caller.shard, answer.round);
        let Some(asked) = self.board.asked(shard, round) else {
            // Late or repeated: what it says is known.
            self.costs.traffic.up += bytes;
            return Ok(());
        };
        count(&mut self.costs, asked, bytes, Way::Up);
        let AnswerBody::Reply(sealed) = answer.body else { return Ok(()) };
        let reply = decode_reply(sealed, asked, &self.launch.job)?;
        self.lines[shard].answered += 1;
        self.costs.spend(shard, answer.compute);
        self.board.handle(self.start.elapsed(), Event::Answer { shard, round, reply });
        Ok(())
    }

    /// Lets `respond` wait for what `shard` has to do after `round`. Who waited before has hung up.
    pub(crate) fn wait(&mut self, shard: usize, round: u64, respond: Respond<pb::ExchangeReply>) {
        self.lines[shard].waiting = Some((round, respond));
    }

    /// Asks for an early end.
    pub(crate) fn stop(&mut self, event: Event) {
        self.board.handle(self.start.elapsed(), event);
    }

    /// What has happened since the last call.
    pub(crate) fn poll(&mut self) -> Option<Notice> {
        self.board.poll()
    }

    /// Answers everybody whose next directive is there.
    pub(crate) fn tell_the_waiting(&mut self) {
        for (shard, line) in self.lines.iter_mut().enumerate() {
            let Some((round, _)) = line.waiting else { continue };
            let Some(next) = self.board.next(shard, round) else { continue };
            let known = line.sent.as_ref().is_some_and(|sent| sent.round == next.round);
            if !known {
                line.sent = Some(line.encoder.encode(next.round, &next.directive));
            }
            let (Some(sent), Some((_, respond))) = (&line.sent, line.waiting.take()) else {
                continue;
            };
            count(&mut self.costs, &next.directive, payload_len(sent), Way::Down);
            // Who has hung up in the meantime will ask again.
            let _ = respond.send(Ok(sent.clone()));
        }
    }

    /// Tells everybody who waits that the run is over.
    pub(crate) fn tell_the_end(&mut self, ending: &Ending) {
        for line in &mut self.lines {
            if let Some((round, respond)) = line.waiting.take() {
                let told = respond.send(Ok(exchange::encode_end(round, ending))).is_ok();
                line.told_the_end |= told;
            }
        }
    }

    /// Whether `shard` knows that the run is over.
    pub(crate) fn knows_the_end(&self, shard: usize) -> bool {
        self.lines[shard].told_the_end
    }

    /// Rounds that `shard` has answered, and how far behind it is.
    pub(crate) fn progress(&self, shard: usize) -> (u64, u64) {
        let round = self.tally().rounds + 1;
        let behind = self.lines[shard].sent.as_ref().map_or(0, |s| round.saturating_sub(s.round));
        (self.lines[shard].answered, behind)
    }

    /// Why the run ended early, if somebody asked for that.
    pub(crate) fn interrupted(&self) -> Option<Stopped> {
        self.tally().interrupted.then_some(Stopped::Interrupted)
    }
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

/// Books payload; that of rounds which are no steps of the method goes to the certificate as well.
fn count(costs: &mut Costs, directive: &Directive, bytes: u64, way: Way) {
    match way {
        Way::Up => costs.traffic.up += bytes,
        Way::Down => costs.traffic.down += bytes,
    }
    if !directive.is_step() {
        costs.traffic.certificate += bytes;
    }
}
