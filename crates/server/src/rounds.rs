//! The rounds of a run as they go over the wire: what each shard was sent, who waits, and what it cost.

use std::time::{Duration, Instant};

use ddiht_core::{
    checkpoint::Checkpoint,
    config::ValidConfig,
    coordinator::{Event, Tally},
    enrol::Launch,
    local::Costs,
    round::{Directive, Reply},
    switchboard::{Notice, Switchboard},
};
use ddiht_wire::{
    Answer, AnswerBody, DirectiveEncoder, Ending, Pieces, Restatement, WireError, decode_reply,
    exchange, payload_len, pb,
};
use tonic::Status;

use crate::{keeper::Saved, request::Respond, roster::Refusal};

/// The line to one shard.
#[derive(Default)]
struct Line {
    encoder: DirectiveEncoder,
    /// The last directive as it was sent: a repeated question gets the same bytes.
    sent: Option<pb::ExchangeReply>,
    /// Who waits, and for what comes after which round.
    waiting: Option<(u64, Respond<pb::ExchangeReply>)>,
    /// What has come of a restatement that must be complete before the shard can answer.
    restating: Option<Pieces>,
    /// Answers taken, and the round of the last one in this stay.
    answered: u64,
    last: Option<u64>,
    told_the_end: bool,
}

/// A run under way.
pub(crate) struct Rounds {
    pub(crate) launch: Launch,
    board: Switchboard,
    lines: Vec<Line>,
    start: Instant,
    /// Training time before `start`, by an earlier server.
    before: Duration,
    pub(crate) costs: Costs,
    max_update_norm: Option<f64>,
}

/// Why what a worker sent cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum BadAnswer {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<BadAnswer> for Status {
    fn from(bad: BadAnswer) -> Self {
        match bad {
            BadAnswer::Wire(error) => error.into(),
            BadAnswer::Refused(refusal) => refusal.into(),
        }
    }
}

impl Rounds {
    /// The clock of training starts now.
    pub(crate) fn new(launch: Launch, board: Switchboard, max_update_norm: Option<f64>) -> Self {
        let shards = launch.job.shards;
        Self {
            launch,
            board,
            lines: (0..shards).map(|_| Line::default()).collect(),
            start: Instant::now(),
            before: Duration::ZERO,
            costs: Costs::new(shards),
            max_update_norm,
        }
    }

    /// Goes on with a run that was saved; every shard has to restate itself.
    pub(crate) fn resume(saved: Saved, max_update_norm: Option<f64>) -> Self {
        let Saved { checkpoint, coordinator } = saved;
        let board = Switchboard::new(coordinator);
        let mut this = Self::new(checkpoint.launch, board, max_update_norm);
        this.before = checkpoint.elapsed;
        this.costs.traffic = checkpoint.traffic;
        (0..this.lines.len()).for_each(|shard| this.renew(shard));
        this
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.board.tally()
    }

    fn now(&self) -> Duration {
        self.before + self.start.elapsed()
    }

    /// Another stay on `shard` begins: nothing of the line's past holds for it.
    pub(crate) fn renew(&mut self, shard: usize) {
        let answered = self.lines[shard].answered;
        let restating = Some(Pieces::default());
        self.lines[shard] = Line { restating, answered, ..Line::default() };
    }

    /// Whether `shard` has to restate itself before it can answer.
    pub(crate) fn must_restate(&self, shard: usize) -> bool {
        self.lines[shard].restating.is_some()
    }

    /// Takes a piece of what `shard` holds; the number of entries, once all of it is there.
    pub(crate) fn restate(
        &mut self,
        piece: Restatement,
        bytes: u64,
    ) -> Result<Option<usize>, BadAnswer> {
        self.costs.traffic.up += bytes;
        self.costs.traffic.certificate += bytes;
        let shard = piece.caller.shard;
        let Some(pieces) = &mut self.lines[shard].restating else { return Ok(None) };
        let Some(part) = pieces.take(piece, &self.launch.job)? else { return Ok(None) };
        self.check_norm(shard, norm(&part.values))?;
        self.lines[shard].restating = None;
        let entries = part.indices.len();
        self.board.handle(self.now(), Event::Restated { shard, part });
        Ok(Some(entries))
    }

    /// Takes the answer of a shard, if it is one that is waited for.
    pub(crate) fn take(&mut self, answer: Answer, bytes: u64) -> Result<(), BadAnswer> {
        let (shard, round) = (answer.caller.shard, answer.round);
        if self.must_restate(shard) {
            return Err(Refusal::NotRestated { shard }.into());
        }
        let Some(asked) = self.board.asked(shard, round) else {
            // The first word, or an answer that is said again: what it says is known.
            self.costs.traffic.up += bytes;
            let repeated = round == 0 || self.lines[shard].last == Some(round);
            let awaited = self.board.awaited(shard);
            let stale = Refusal::WrongRound { shard, round, awaited };
            return if repeated { Ok(()) } else { Err(stale.into()) };
        };
        count(&mut self.costs, asked, bytes, Way::Up);
        let AnswerBody::Reply(sealed) = answer.body else { return Ok(()) };
        let reply = decode_reply(sealed, asked, &self.launch.job)?;
        match &reply {
            Reply::Ascend(update) => self.check_norm(shard, norm(&update.values))?,
            Reply::Attested(attested) => {
                self.check_norm(shard, norm(&attested.update.values))?;
            }
            Reply::Sdiht(local) => self.check_norm(shard, norm(&local.model.values))?,
            _ => {}
        }
        self.lines[shard].answered += 1;
        self.lines[shard].last = Some(round);
        self.costs.spend(shard, answer.compute);
        self.board.handle(self.now(), Event::Answer { shard, round, reply });
        Ok(())
    }

    fn check_norm(&self, shard: usize, norm: f64) -> Result<(), Refusal> {
        match self.max_update_norm {
            Some(most) if norm > most => Err(Refusal::TooLarge { shard, norm, most }),
            _ => Ok(()),
        }
    }

    /// Lets `respond` wait for what `shard` has to do after `round`. Who waited before has hung up.
    pub(crate) fn wait(&mut self, shard: usize, round: u64, respond: Respond<pb::ExchangeReply>) {
        self.lines[shard].waiting = Some((round, respond));
    }

    /// Asks for an early end.
    pub(crate) fn stop(&mut self, event: Event) {
        self.board.handle(self.now(), event);
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

    /// The state of the run, for another server to go on with.
    pub(crate) fn checkpoint(&self, config: &ValidConfig) -> Option<Checkpoint> {
        let tally = self.tally();
        let coordinator = self.board.save();
        let failed = |error| tracing::warn!("the state of the run cannot be encoded: {error}");
        Some(Checkpoint {
            request: config.identity(),
            launch: self.launch,
            elapsed: self.now(),
            traffic: self.costs.traffic,
            rounds: tally.reported,
            objective: tally.best().map(|best| best.objective),
            bound: tally.bound(),
            coordinator: coordinator.map_err(failed).ok()?,
        })
    }
}

fn norm<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    values.iter().map(|&v| v.into().powi(2)).sum::<f64>().sqrt()
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
