//! Who is connected, and who has to leave when it is full.
//!
//! A connection is a stranger's until it has made a call that was let through; a stranger has little time,
//! and is the first to go when there is no room. So whoever floods the server with connections pushes out
//! his own, and who has credentials finds room.

use std::{
    collections::{BTreeMap, HashMap},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

/// Calls a second of a connection, and of one that has not been let in. Faster ones wait.
const CALLS: f64 = 10_000.0;
const STRANGER_CALLS: f64 = 20.0;

/// All connections.
#[derive(Debug, Clone)]
pub(crate) struct Lobby {
    most: usize,
    // A std mutex: held for a look into a map, never across an await.
    rooms: Arc<Mutex<Rooms>>,
}

#[derive(Debug, Default)]
struct Rooms {
    closed: bool,
    next: u64,
    /// In the order of their arrival. Who drops a sender asks its connection to end.
    strangers: BTreeMap<u64, oneshot::Sender<()>>,
    guests: HashMap<u64, oneshot::Sender<()>>,
}

impl Lobby {
    /// With room for `most` connections.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, rooms: Arc::default() }
    }

    /// Gives room to a new connection, if need be that of the oldest stranger. The receiver ends when the
    /// connection has to.
    pub(crate) fn enter(&self, peer: SocketAddr) -> Option<(Visit, oneshot::Receiver<()>)> {
        let mut rooms = self.rooms();
        let full = rooms.strangers.len() + rooms.guests.len() >= self.most;
        if rooms.closed || (full && rooms.strangers.pop_first().is_none()) {
            return None;
        }
        let (room, dismissed) = oneshot::channel();
        let id = rooms.next;
        rooms.next += 1;
        rooms.strangers.insert(id, room);
        let inner = Inner {
            id,
            peer,
            admitted: AtomicBool::new(false),
            pace: Mutex::new(Instant::now()),
            lobby: self.clone(),
        };
        Some((Visit(Arc::new(inner)), dismissed))
    }

    /// Whether nobody is let in any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.rooms().closed
    }

    /// Asks the oldest stranger to leave.
    pub(crate) fn dismiss_a_stranger(&self) {
        self.rooms().strangers.pop_first();
    }

    /// Asks all strangers to leave, and lets nobody in any more.
    pub(crate) fn close(&self) {
        let mut rooms = self.rooms();
        rooms.closed = true;
        rooms.strangers.clear();
    }

    /// Asks everybody to leave.
    pub(crate) fn dismiss_all(&self) {
        self.close();
        self.rooms().guests.clear();
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        // Whoever panicked has left maps that are whole.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection, as the calls that come over it know it.
#[derive(Debug, Clone)]
pub(crate) struct Visit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    peer: SocketAddr,
    admitted: AtomicBool,
    /// When the next call would come if all came evenly at the highest rate.
    pace: Mutex<Instant>,
    lobby: Lobby,
}

impl Visit {
    /// Who it is.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.0.peer
    }

    /// Whether it is a stranger's no longer.
    pub(crate) fn is_admitted(&self) -> bool {
        self.0.admitted.load(Ordering::Relaxed)
    }

    /// A call was let through.
    pub(crate) fn admit(&self) {
        if !self.0.admitted.swap(true, Ordering::Relaxed) {
            let mut rooms = self.0.lobby.rooms();
            // One that was asked to leave meanwhile has no room to keep.
            if let Some(room) = rooms.strangers.remove(&self.0.id) {
                rooms.guests.insert(self.0.id, room);
            }
        }
    }

    /// The connection is gone.
    pub(crate) fn leave(&self) {
        let mut rooms = self.0.lobby.rooms();
        rooms.strangers.remove(&self.0.id);
        rooms.guests.remove(&self.0.id);
    }

    /// How long the call that comes now has to wait; a second's worth may come at once.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let rate = if self.is_admitted() { CALLS } else { STRANGER_CALLS };
        let mut pace = self.0.pace.lock().unwrap_or_else(PoisonError::into_inner);
        *pace = (*pace).max(now) + Duration::from_secs_f64(1.0 / rate);
        pace.duration_since(now).saturating_sub(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 1))
    }

    #[test]
    fn the_oldest_stranger_makes_room_and_guests_stay() {
        let lobby = Lobby::new(2);
        let (guest, mut guest_out) = lobby.enter(peer()).unwrap();
        guest.admit();
        let (_stranger, mut stranger_out) = lobby.enter(peer()).unwrap();
        let (next, mut next_out) = lobby.enter(peer()).unwrap();
        assert!(stranger_out.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        assert!(guest_out.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        next.admit();
        assert!(lobby.enter(peer()).is_none(), "guests are not sent away");
        next.leave();
        assert!(next_out.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        let (_late, mut late_out) = lobby.enter(peer()).unwrap();
        lobby.close();
        assert!(late_out.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        assert!(guest_out.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        assert!(lobby.enter(peer()).is_none());
        lobby.dismiss_all();
        assert!(guest_out.try_recv() == Err(oneshot::error::TryRecvError::Closed));
    }

    #[test]
    fn who_was_sent_away_is_not_admitted_to_a_room() {
        let lobby = Lobby::new(1);
        let (first, _out) = lobby.enter(peer()).unwrap();
        let (second, _kept) = lobby.enter(peer()).unwrap();
        first.admit();
        second.admit();
        assert_eq!(lobby.rooms().guests.len(), 1);
    }

    #[test]
    fn calls_beyond_the_rate_wait() {
        let (visit, _out) = Lobby::new(1).enter(peer()).unwrap();
        let now = Instant::now() + Duration::from_secs(1);
        let burst = STRANGER_CALLS as u32;
        for _ in 0..burst {
            assert_eq!(visit.pause(now), Duration::ZERO);
        }
        let (first, second) = (visit.pause(now), visit.pause(now));
        assert!(Duration::ZERO < first && first < second, "{first:?} {second:?}");
        let later = now + Duration::from_secs(3);
        assert_eq!(visit.pause(later), Duration::ZERO);
        visit.admit();
        for _ in 0..burst * 100 {
            assert_eq!(visit.pause(later), Duration::ZERO);
        }
    }
}
