//! What was told together, and what of it can be relied on.
//!
//! A file is opened when its save is told. If the next save came before that, the file that is opened
//! is already the next one, and the order in which it would be recorded is not the order in which it
//! was saved. Then the save of the file that was opened is told, too, later. So whatever was told
//! before a fence that was raised after the last file was opened says which file belongs to which
//! save.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::events::Event;
use super::watched::FileEvent;
use crate::file::FileName;

/// What is recorded together.
const TOGETHER: usize = 64;
/// How often a fence is raised for files that are saved again meanwhile.
const ROUNDS: usize = 3;
/// So much may come before a fence. Files that were opened wait until it is there.
const MOST: usize = 256;
/// Disks tell writes apart that are at least so far from each other.
const TICK: Duration = Duration::from_millis(10);
/// How long a fence is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Events in the order in which they were told.
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    /// Everything is there that was told before the last of their files was opened.
    pub(super) is_fenced: bool,
}

/// What has been told, and what of it waits.
pub(super) struct Queue {
    told: Receiver<Event>,
    waiting: VecDeque<Event>,
}

impl Queue {
    pub(super) fn new(told: Receiver<Event>) -> Self {
        Self { told, waiting: VecDeque::new() }
    }

    /// What is there already.
    pub(super) fn next(&mut self) -> Option<Event> {
        self.waiting.pop_front().or_else(|| self.told.try_recv().ok())
    }

    /// Waits for the next event. `None` where nothing came.
    pub(super) fn wait(&mut self, patience: Duration) -> Option<Event> {
        self.waiting.pop_front().or_else(|| self.told.recv_timeout(patience).ok())
    }

    /// An event and what came with it. `raise` raises a fence.
    pub(super) fn batch(&mut self, first: Event, mut raise: impl FnMut() -> Option<u64>) -> Batch {
        let mut events = vec![first];
        while events.len() < TOGETHER
            && let Some(event) = self.next()
        {
            events.push(event);
        }
        let mut batch = Batch { events, is_fenced: true };
        if !batch.events.iter().any(|event| matches!(event, Event::Saved(_))) {
            return batch;
        }
        for _ in 0..ROUNDS {
            batch.settle();
            let (later, is_there) = self.until(raise());
            if !is_there {
                batch.events.extend(later);
                break;
            }
            if !later.iter().any(|event| batch.has_file_of(event)) {
                self.waiting.extend(later);
                return batch;
            }
            batch.events.extend(later);
        }
        batch.is_fenced = false;
        batch
    }

    /// What was told before a fence, and whether that came.
    fn until(&mut self, fence: Option<u64>) -> (Vec<Event>, bool) {
        let mut events: Vec<Event> = self.waiting.drain(..).collect();
        let Some(fence) = fence else { return (events, false) };
        let end = Instant::now() + PATIENCE;
        while events.len() < MOST {
            match self.told.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Event::Fence(number)) if number == fence => return (events, true),
                // One that was waited for in vain.
                Ok(Event::Fence(_)) => {}
                Ok(event) => events.push(event),
                Err(_) => break,
            }
        }
        (events, false)
    }
}

impl Batch {
    /// Waits until whoever writes into one of these files again changes its time.
    fn settle(&self) {
        let in_place = self.events.iter().filter_map(|event| match event {
            Event::Saved(caught) if caught.is_in_place => Some(caught.stat.written),
            _ => None,
        });
        let age = in_place.max().and_then(|newest| newest.elapsed().ok());
        if let Some(rest) = age.and_then(|age| TICK.checked_sub(age)) {
            std::thread::sleep(rest);
        }
    }

    fn has_file_of(&self, event: &Event) -> bool {
        let file = event.file();
        file.is_some() && self.events.iter().any(|known| known.file() == file)
    }
}

impl Event {
    /// The file that it is about.
    pub(super) fn file(&self) -> Option<(usize, &FileName)> {
        match self {
            Self::Saved(caught) => Some((caught.user, &caught.name)),
            Self::Gone { user, name } | Self::Writing { user, name } => Some((*user, name)),
            _ => None,
        }
    }
}

/// What happened to the files of one user, without what was opened too late.
pub(super) fn happenings(events: Vec<Event>, is_fenced: bool) -> Vec<FileEvent> {
    let late: Vec<bool> = (0..events.len()).map(|at| is_late(&events, at)).collect();
    let saved = events.iter().filter_map(|event| match event {
        Event::Saved(caught) if !is_fenced => Some(caught.name.clone()),
        _ => None,
    });
    // Which of their versions these are shows when the next ones come.
    let unsure: Vec<FileName> = saved.collect();
    let mut happenings: Vec<FileEvent> = unsure.iter().cloned().map(FileEvent::Missed).collect();
    for (event, is_late) in events.into_iter().zip(late) {
        match event {
            Event::Saved(caught) if is_late => happenings.push(FileEvent::Missed(caught.name)),
            Event::Saved(caught) => happenings.push(FileEvent::Saved(caught)),
            Event::Gone { name, .. } => happenings.push(FileEvent::Gone(name)),
            _ => {}
        }
    }
    happenings.extend(unsure.into_iter().map(FileEvent::Missed));
    happenings
}

/// Whether the file that was opened is one that was saved later, or was being written again.
fn is_late(events: &[Event], at: usize) -> bool {
    let Event::Saved(caught) = &events[at] else { return false };
    let file = events[at].file();
    let mut is_written = false;
    for later in events[at + 1..].iter().filter(|later| later.file() == file) {
        match later {
            Event::Saved(later) if later.stat == caught.stat => return true,
            Event::Writing { .. } => is_written = true,
            // Its writer is done; whether it was still then shows when it is read.
            _ => is_written = false,
        }
    }
    is_written
}
