/** Puts the user interface together. */
import { createActions } from './actions.js';
import { commandList, forkCommands } from './commands.js';
import { createCompare } from './compare/index.js';
import { createDialogs } from './dialogs/index.js';
import { createLore } from './dialogs/lore.js';
import { mountEditorLine } from './editor_line.js';
import { mountMarks } from './message_marks.js';
import { firstWords } from './messages.js';
import { cleanUpNote } from './dialogs/trash_list.js';
import { mountFailure, mountPanel, mountReason } from './panel/panel.js';
import { createTimelines } from './timelines/index.js';
import { mountInChatList } from './timelines/label.js';
import { createToasts } from './toasts.js';
import { say, useTranslations } from './words.js';
/** @import { Actions, Parts } from './types.js' */

/** Mounts everything and starts to listen to the app. @param {Parts} parts */
export function startUi({ app, screen }) {
    useTranslations(screen.translate, screen.locale());
    const dialogs = createDialogs({ app, screen });
    const toasts = createToasts({ app, screen });
    const own = createActions({ app, screen, dialogs, toasts });
    const compare = createCompare({ app, screen, toasts, actions: own });
    const compared = { compare: compare.show, chooseToCompare: compare.choose, bring: compare.bring, bringEntry: compare.bringEntry };
    const timelines = createTimelines({ app, screen, toasts, actions: { ...own, ...compared }, showLore: (typed) => lore.showLast(typed) });
    /** @type {Actions} */
    const actions = { ...own, ...compared, showTimelines: timelines.show };
    const lore = createLore({ app, screen, dialogs, toasts, actions });
    const panel = mountPanel({ app, screen, actions: { ...actions, showLore: lore.showLast } });
    lore.mount();
    timelines.mount();
    compare.mount();
    mountEditorLine({ app, screen });
    mountInChatList({ app, screen });
    mountMarks({ app, screen, toasts, showLore: lore.show });
    screen.addCommands(commandList({ app, toasts, actions }));
    screen.guardCommands(forkCommands({ app, toasts }));
    screen.addWandItem({ id: 'forklore_wand_trash', icon: 'fa-trash-can', text: say('trash.wand'), run: actions.showTrash });
    app.on('forked', (report) => toasts.forked(report, actions));
    app.on('waiting', (fork) => toasts.waiting(fork, actions));
    app.on('opened', (report) => toasts.opened(report, actions));
    app.on('lost', (report) => toasts.lost(report, actions));
    app.on('common', (shared) => toasts.common(shared, actions));
    app.on('checked', (report) => toasts.checked(report));
    app.on('removed', (report) => toasts.removed(report, actions));
    app.on('merged', (news) => toasts.merged(news));
    app.on('kept', (report) => toasts.kept(report, actions));
    app.on('unlisted', (files) => screen.noteInCleanUp(files.count ? cleanUpNote(files, actions) : null));
    app.on('failed', (error) => toasts.failed(error));
    return { dialogs, toasts, actions, lore, panel, firstWords };
}

/** What is shown if the core could not be loaded. @param {Parts['screen']} screen @param {unknown} error */
export function showFailure(screen, error) {
    useTranslations(screen.translate, screen.locale());
    mountFailure(screen, error);
}

/** What is shown if Forklore does not start in this page. @param {Parts['screen']} screen @param {'windowed'} reason */
export function showReason(screen, reason) {
    useTranslations(screen.translate, screen.locale());
    mountReason(screen, say(`ready.${reason}`));
}
