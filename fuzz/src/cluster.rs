//! A cluster without sockets: a coordinator and its shards, every message through the contract.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use ddiht_core::{
    coordinator::{Command, Coordinator, Event},
    round::{Directive, Job, Reply},
    shard::Shard,
};
use ddiht_wire::{
    AnswerBody, Caller, DirectiveDecoder, DirectiveEncoder, SessionId, Turn, decode_reply,
    exchange, pb,
};

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// There is a model.
    Finished,
    /// The coordinator gave up, or somebody refused a message.
    Failed,
    /// The questions that were granted have been asked.
    Enough,
}

/// What a shard has to do.
pub(crate) struct Task {
    pub(crate) shard: usize,
    round: u64,
    pub(crate) directive: Arc<Directive>,
}

/// The two ends of a session.
struct Line {
    encoder: DirectiveEncoder,
    decoder: DirectiveDecoder,
}

/// A coordinator with its shards.
pub(crate) struct Cluster<'a> {
    pub(crate) coordinator: Coordinator,
    shards: &'a mut [Shard],
    lines: Vec<Line>,
    tasks: VecDeque<Task>,
    now: Duration,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(coordinator: Coordinator, shards: &'a mut [Shard]) -> Self {
        let job = *coordinator.tally().job();
        let line =
            |_| Line { encoder: DirectiveEncoder::new(), decoder: DirectiveDecoder::new(&job) };
        let lines = (0..shards.len()).map(line).collect();
        Self { coordinator, shards, lines, tasks: VecDeque::new(), now: Duration::ZERO }
    }

    pub(crate) fn job(&self) -> Job {
        *self.coordinator.tally().job()
    }

    /// Every shard says what it holds, as after the death of a server.
    pub(crate) fn restate_all(&mut self) {
        for shard in 0..self.shards.len() {
            let part = self.shards[shard].restate();
            self.handle(Event::Restated { shard, part });
        }
    }

    pub(crate) fn handle(&mut self, event: Event) {
        self.now += Duration::from_millis(1);
        self.coordinator.handle(self.now, event);
    }

    /// The next question that nobody has answered, or why there is none.
    pub(crate) fn next_task(&mut self) -> Result<Task, End> {
        while let Some(command) = self.coordinator.poll() {
            match command {
                Command::Send { shard, round, directive } => {
                    self.tasks.push_back(Task { shard, round, directive });
                }
                Command::Report => {}
                Command::Finish(_) => return Err(End::Finished),
                Command::Fail(_) => return Err(End::Failed),
            }
        }
        // Nobody is asked anything any more: a run that waits for ever.
        self.tasks.pop_front().ok_or(End::Failed)
    }

    /// What the shard itself says to its task, if the question and the answer pass the checks.
    pub(crate) fn honest(&mut self, task: &Task) -> Option<Reply> {
        let line = &mut self.lines[task.shard];
        let message = line.encoder.encode(task.round, &task.directive);
        let Ok(Turn::Ask { round, directive }) = line.decoder.decode(message) else { return None };
        let reply = self.shards[task.shard].handle(round, &directive);
        let caller = Caller { session: SessionId(1), shard: task.shard };
        let request = exchange::encode_answer(caller, round, Duration::ZERO, &reply);
        self.read(request, task)
    }

    /// An answer as the server reads it.
    pub(crate) fn read(&self, request: pb::ExchangeRequest, task: &Task) -> Option<Reply> {
        match exchange::open_answer(request).ok()?.body {
            AnswerBody::Reply(sealed) => decode_reply(sealed, &task.directive, &self.job()).ok(),
            AnswerBody::Ready => None,
        }
    }

    /// Takes the answer to a task.
    pub(crate) fn answer(&mut self, task: &Task, reply: Reply) {
        self.handle(Event::Answer { shard: task.shard, round: task.round, reply });
    }

    /// Honest answers to at most `questions` questions.
    pub(crate) fn run(&mut self, questions: usize) -> End {
        for _ in 0..questions {
            let task = match self.next_task() {
                Ok(task) => task,
                Err(end) => return end,
            };
            match self.honest(&task) {
                Some(reply) => self.answer(&task, reply),
                None => return End::Failed,
            }
        }
        End::Enough
    }
}
