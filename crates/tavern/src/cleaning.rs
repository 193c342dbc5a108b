//! Books of ours that nothing refers to, into the trash.

use forklore_core::cleanup::{CleanupPlan, cleanup};

use crate::references::{gather, our_books_and_unread};
use crate::tavern::Tavern;
use crate::workshop::{CarryOutError, Task};

/// A cleanup that was done, or would be.
#[derive(Debug)]
pub struct Cleaned {
    pub plan: CleanupPlan,
    pub operation: Option<u64>,
}

impl Tavern<'_> {
    pub fn plan_cleanup(&self, despite_backups: bool, tick: &dyn Fn()) -> CleanupPlan {
        let library = self.library();
        let mut references = gather(self.disk, &self.folders, &library, tick);
        let (ours, unread) = our_books_and_unread(self.disk, &library);
        references.unread.extend(unread);
        cleanup(ours, &references, despite_backups)
    }

    /// Moves to the trash what a fresh plan says, under the lock.
    pub fn clean(&self, despite_backups: bool, tick: &dyn Fn()) -> Result<Cleaned, CarryOutError> {
        let workshop = self.workshop()?;
        let plan = self.plan_cleanup(despite_backups, tick);
        if plan.remove.is_empty() {
            return Ok(Cleaned { plan, operation: None });
        }
        let files = plan
            .remove
            .iter()
            .map(|book| {
                let path = self.folders.worlds.join(format!("{}.json", book.name));
                let path = self.folders.inside.check_no_link(self.disk, &path)?;
                let bytes = self.disk.read(&path).map_err(|source| CarryOutError::Io {
                    doing: "read",
                    path: path.clone(),
                    source,
                })?;
                Ok((path, bytes))
            })
            .collect::<Result<Vec<_>, CarryOutError>>()?;
        let tasks: Vec<Task<'_>> = files
            .iter()
            .map(|(path, bytes)| Task::Remove { path: path.clone(), expected: bytes })
            .collect();
        let names: Vec<String> =
            plan.remove.iter().map(|book| format!("{:?}", book.name)).collect();
        let summary = format!("moved {} to the trash", names.join(", "));
        let operation = workshop.carry_out("clean", &summary, &tasks)?;
        Ok(Cleaned { plan, operation: Some(operation.id) })
    }
}
