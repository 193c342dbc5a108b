// Where SillyTavern begins: `init` when the extension is activated, `clean` from the broom in its list of extensions.

import { App } from './app.js';
import { loadCore } from './core/core.js';
import { EVENTS } from './features/journal/recorder.js';
import { Hearing } from './request_router.js';
import * as story from './sillytavern/host.js';
import * as screen from './sillytavern/screen.js';
import { installTap } from './sillytavern/tap.js';
import { startWithoutHooks, watchCheckpoints } from './sillytavern/versions.js';
import { startUi } from './ui/index.js';

/** Begun as soon as SillyTavern has read this file, so that it is there when `init` is called. */
const loading = loadCore();
// Whoever waits for it is told; until then nobody is.
loading.catch(() => {});

let app = null;

let isStarted = false;

/** SillyTavern waits for this before it shows itself, so nothing in here waits for anything. */
export function init() {
    if (!isStarted) {
        isStarted = true;
        start().catch((error) => console.error('Forklore could not start', error));
    }
}

startWithoutHooks(init);

async function start() {
    performance.mark('forklore:start');
    let core = null;
    let coreError = null;
    try {
        core = await loading;
    } catch (error) {
        console.warn('Forklore: WebAssembly could not be loaded, so nothing is changed', error);
        coreError = error;
    }
    app = new App({ host: story, core, coreError });
    if (core) {
        listen();
    }
    const ui = startUi({ app, screen });
    if (core) {
        app.askFork = (question) => ui.dialogs.askFork(question);
        app.askConflict = (question) => ui.dialogs.askConflict(question);
        app.chatOpened();
    }
    performance.mark('forklore:ready');
}

function listen() {
    const hearing = new Hearing(app);
    const tap = installTap(window, (held) => hearing.request(held), (error) => app.tell('failed', error));
    story.useFetch(tap.fetch);
    story.watchCopies(app.lineage);
    story.watchBooksInMemory({ before: () => app.recording.messageMayHaveCome(), after: (name) => app.recording.bookChanged(name, undefined) });
    story.onBookInEditor(() => app.whoseBook.look());
    story.on('CHAT_CHANGED', () => void app.chatOpened());
    watchCheckpoints();
    EVENTS.forEach((event) => story.on(event, () => void app.recording.sync()));
    story.on('STREAM_TOKEN_RECEIVED', () => app.recording.messageMayHaveCome());
    screen.onAction(({ kind, message, again }) => {
        if (!app.settings.isolate) {
            return false;
        }
        const direct = () => (kind === 'branch' ? story.createBranch(message) : story.createCheckpointAsking(message));
        app.forkByButton(kind, message, { again, direct });
        return true;
    });
}

/** Takes the journal out of the open chat, and forgets what this browser remembers: what SillyTavern's broom is for. */
export async function clean() {
    if (app?.core) {
        await app.strip();
        await app.timelines.index.clear();
    }
}
