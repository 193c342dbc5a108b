// The entry points for SillyTavern: `init` when the extension is activated, `clean` for the broom in the list of
// extensions.

import { App } from './app.js';
import { chatOpened } from './chat_opening.js';
import { loadCore } from './core/core.js';
import { MESSAGE_EVENTS } from './features/journal/recorder.js';
import { SHARED_LORE_EVENTS } from './features/shared_lore.js';
import { RequestRouter } from './request_router.js';
import * as host from './sillytavern/host.js';
import * as screen from './sillytavern/screen.js';
import { installTap } from './sillytavern/tap.js';
import { cannotRecordBecause } from './sillytavern/tauritavern.js';
import { startWithoutHooks, watchCheckpoints } from './sillytavern/versions.js';
import { showFailure, showReason, startUi } from './ui/index.js';

/** Started as soon as SillyTavern has loaded this file, so that the core is ready when `init` is called. */
const loading = loadCore();
// An error is handled where the promise is awaited; this avoids an unhandled rejection until then.
loading.catch(() => {});

/** @type {App | null} */
let running = null;

let isStarted = false;

/** SillyTavern waits for this before it shows its page, so nothing in here waits. */
export function init() {
    if (!isStarted) {
        isStarted = true;
        start().catch((error) => console.error('Forklore could not start', error));
    }
}

startWithoutHooks(init);

async function start() {
    performance.mark('forklore:start');
    const reason = cannotRecordBecause();
    if (reason) {
        showReason(screen, reason);
        performance.mark('forklore:ready');
        return;
    }
    const core = await loading.catch((error) => {
        console.warn('Forklore: WebAssembly could not be loaded, so nothing is changed', error);
        showFailure(screen, error);
    });
    if (core) {
        const app = running = new App({ host, core });
        listen(app);
        const ui = startUi({ app, screen });
        app.forks.ask = (question) => ui.dialogs.askFork(question);
        app.forks.askLore = (lore, kind) => ui.dialogs.askLore(lore, kind);
        app.childSaves.firstWords = ui.firstWords;
        app.askConflict = (question) => ui.dialogs.askConflict(question);
        if (app.isNew) {
            // Once they are saved, it is not new any more.
            host.saveSettings();
            // Not below SillyTavern's curtain. An extension that was just installed hears of it, too.
            host.on('APP_READY', () => ui.toasts.welcome(ui.actions));
        }
        void chatOpened(app);
        void app.events.reportErrors(() => app.trash.prune());
    }
    performance.mark('forklore:ready');
}

function listen(/** @type {App} */ app) {
    const router = new RequestRouter(app);
    const tap = installTap(window, (held) => router.handle(held), app.events.failed);
    host.useFetch(tap.fetch);
    host.watchCopies(app.lineage);
    host.watchCachedBooks({ before: () => app.recorder.messageMayHaveArrived(), after: (name) => app.recorder.bookChanged(name, undefined) });
    host.onBookInEditor(() => app.editorBook.update());
    host.on('CHAT_CHANGED', () => void chatOpened(app));
    host.onLoreLoaded((lore) => app.sharedLore.loaded(lore));
    SHARED_LORE_EVENTS.forEach((event) => host.on(event, () => app.events.changed()));
    watchCheckpoints();
    MESSAGE_EVENTS.forEach((event) => host.on(event, () => {
        void app.recorder.sync();
        app.messageMarks.schedule();
    }));
    host.on('STREAM_TOKEN_RECEIVED', () => app.recorder.messageMayHaveArrived());
    screen.onAction(({ kind, message, again, showWork }) => {
        if (!app.settings.isolate) {
            return false;
        }
        showWork(true);
        const direct = () => (kind === 'branch' ? host.createBranch(message) : host.createCheckpointAsking(message));
        void app.forks.forkByButton(kind, message, { again: async () => void await (again() ?? direct()), direct }).finally(() => showWork(false));
        return true;
    });
}

/** Removes the journal from the open chat and clears the timeline index in this browser, for SillyTavern's broom. */
export async function clean() {
    await running?.strip();
    await running?.timelines.index.clear();
}
