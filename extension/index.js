// Where SillyTavern begins: `init` when the extension is activated, `clean` from the broom in its list of extensions.

import { App } from './app.js';
import { loadCore } from './core/core.js';
import { MESSAGE_EVENTS } from './features/journal/recorder.js';
import { RequestRouter } from './request_router.js';
import * as host from './sillytavern/host.js';
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
    app = new App({ host, core, coreError });
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
    const router = new RequestRouter(app);
    const tap = installTap(window, (held) => router.handle(held), (error) => app.emit('failed', error));
    host.useFetch(tap.fetch);
    host.watchCopies(app.lineage);
    host.watchCachedBooks({ before: () => app.recorder.messageMayHaveArrived(), after: (name) => app.recorder.bookChanged(name, undefined) });
    host.onBookInEditor(() => app.editorBook.update());
    host.on('CHAT_CHANGED', () => void app.chatOpened());
    watchCheckpoints();
    MESSAGE_EVENTS.forEach((event) => host.on(event, () => void app.recorder.sync()));
    host.on('STREAM_TOKEN_RECEIVED', () => app.recorder.messageMayHaveArrived());
    screen.onAction(({ kind, message, again }) => {
        if (!app.settings.isolate) {
            return false;
        }
        const direct = () => (kind === 'branch' ? host.createBranch(message) : host.createCheckpointAsking(message));
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
