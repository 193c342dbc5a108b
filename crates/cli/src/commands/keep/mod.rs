//! Recording a history.

pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod watch;

use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::locate::root::find_root;
use forklore_tavern::locate::users::Users;
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::Context;
use crate::args::{Cli, Command};
use crate::ui::Ui;

/// Runs `record` or `watch` for every user.
pub(crate) fn for_all(
    ui: &mut Ui<'_>,
    context: Context<'_>,
    cli: &Cli,
    histories: &Histories,
) -> Outcome {
    let Context { disk, clock, environment, editor: _ } = context;
    let environment = environment.given(cli.data.as_deref());
    let found = find_root(disk, &environment)?;
    let users = Users::find(disk, &found.root)?;
    let mut taverns = Vec::new();
    for user in users.users.iter().filter(|user| user.has_folder) {
        let folders = UserFolders::new(&found.root, &user.handle)?;
        taverns.push(Tavern { disk, clock, folders, pasts: None });
    }
    match &cli.command {
        Command::Watch(args) => watch::run(ui, &taverns, histories, args),
        _ => record::run(ui, &taverns, histories),
    }
}
