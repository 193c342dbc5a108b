//! Moves Forklore's unreferenced books to the trash.

use forklore_core::plan::cleanup::{CleanupPlan, KeepReason, OurBook, cleanup};
use forklore_core::sillytavern::names::book_key;

use crate::folder::references::gather;
use crate::transaction::{CommitError, Task};
use crate::work::tavern::Tavern;

#[derive(Clone, Copy, Debug, Default)]
pub struct CleanOptions {
    /// Also remove books that only chat backups refer to.
    pub despite_backups: bool,
    /// Also remove the books of recently deleted chats.
    pub despite_deleted: bool,
}

/// A cleanup plan, and the books spared because their chat may be restored.
#[derive(Debug)]
pub struct Cleanup {
    pub plan: CleanupPlan,
    /// Each book with its deleted chats.
    pub of_deleted_chats: Vec<(OurBook, Vec<String>)>,
}

/// A cleanup that was done, or planned in a dry run.
#[derive(Debug)]
pub struct Cleaned {
    pub cleanup: Cleanup,
    pub operation: Option<u64>,
}

impl Tavern<'_> {
    pub fn plan_cleanup(&self, options: CleanOptions, tick: &(dyn Fn() + Sync)) -> Cleanup {
        let library = self.library();
        let (references, ours) = gather(self.disk, &self.folders, &library, tick);
        let plan = cleanup(ours, &references, options.despite_backups);
        if options.despite_deleted {
            return Cleanup { plan, of_deleted_chats: Vec::new() };
        }
        self.spare_books_of_deleted_chats(plan)
    }

    /// Spares the books of recently deleted chats: someone who restores the chat will want its book
    /// too.
    pub fn spare_books_of_deleted_chats(&self, mut plan: CleanupPlan) -> Cleanup {
        let mut of_deleted_chats = Vec::new();
        let deleted = match (plan.remove.is_empty(), self.pasts) {
            (false, Some(pasts)) => pasts.deleted_chats(),
            _ => return Cleanup { plan, of_deleted_chats },
        };
        match deleted {
            Ok(deleted) => {
                for book in std::mem::take(&mut plan.remove) {
                    let key = book_key(&book.name);
                    let of_it = deleted.iter().filter(|chat| book_key(&chat.book) == key);
                    let chats: Vec<String> = of_it.map(|chat| chat.label.clone()).collect();
                    match chats.is_empty() {
                        true => plan.remove.push(book),
                        false => of_deleted_chats.push((book, chats)),
                    }
                }
            }
            Err(why) => {
                let spared = std::mem::take(&mut plan.remove).into_iter();
                plan.keep.extend(spared.map(|book| (book, KeepReason::Unread)));
                plan.unread.push(format!("the history ({why})"));
            }
        }
        Cleanup { plan, of_deleted_chats }
    }

    /// Moves the books of a fresh plan to the trash, under the lock.
    pub fn clean(
        &self,
        options: CleanOptions,
        tick: &(dyn Fn() + Sync),
    ) -> Result<Cleaned, CommitError> {
        let transaction = self.transaction()?;
        let cleanup = self.plan_cleanup(options, tick);
        let plan = &cleanup.plan;
        if plan.remove.is_empty() {
            return Ok(Cleaned { cleanup, operation: None });
        }
        let files = plan
            .remove
            .iter()
            .map(|book| {
                let path = self.folders.worlds.join(format!("{}.json", book.name));
                let path = self.folders.data_root.resolve(self.disk, &path)?;
                let bytes = self.disk.read(&path).map_err(|source| CommitError::Io {
                    doing: "read",
                    path: path.clone(),
                    source,
                })?;
                Ok((path, bytes))
            })
            .collect::<Result<Vec<_>, CommitError>>()?;
        let tasks: Vec<Task<'_>> = files
            .iter()
            .map(|(path, bytes)| Task::Remove { path: path.clone(), expected: bytes })
            .collect();
        let names: Vec<String> =
            plan.remove.iter().map(|book| format!("{:?}", book.name)).collect();
        let summary = format!("moved {} to the trash", names.join(", "));
        let operation = transaction.commit("clean", &summary, &tasks)?;
        Ok(Cleaned { cleanup, operation: Some(operation.id) })
    }
}
