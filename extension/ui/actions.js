/** What clicks do: ask, act, report. Errors are shown, never thrown. */
import { attempting } from './widgets/attempt.js';
import { say, sayNames } from './words.js';
/** @import { Dialogs, Finding, ForkKind, ForkReport, OwnActions, Parts, PutBackReport, Toasts } from './types.js' */

export function createActions(/** @type {Parts & {dialogs: Dialogs, toasts: Toasts}} */ { app, screen, dialogs, toasts }) {
    const attempt = attempting(toasts);

    const fork = attempt(async (/** @type {{kind: ForkKind, message: number, whenReady?: boolean}} */ { kind, message, whenReady = false }) => {
        const name = kind === 'checkpoint' ? await checkpointName(message) : undefined;
        if (name === null) {
            return null;
        }
        return app.fork({ kind, message, ...(name ? { name } : {}), ...(whenReady ? { whenReady } : {}) });
    });

    const checkpointName = async (/** @type {number} */ message) => {
        const suggestion = await app.suggestName(message);
        return app.settings.autoName ? suggestion : dialogs.askName(suggestion);
    };

    /** @type {OwnActions} */
    const actions = {
        fork,

        checkpointAtEnd: attempt(async ({ whenReady = false } = {}) => {
            const open = app.open();
            if (!open) {
                toasts.notify('info', say('ready.no-chat'));
                return null;
            }
            return fork({ kind: 'checkpoint', message: open.messages - 1, whenReady });
        }),

        stopWaiting: attempt(async () => app.stopWaiting()),

        repair: attempt(async () => {
            const choice = await dialogs.askRepair(await app.repairOptions());
            if (choice) {
                toasts.repaired(choice.source, await app.repair(choice), actions);
            }
        }),

        bringBack: attempt(async () => toasts.repaired('journal', await app.repair({ source: 'journal' }), actions)),

        split: attempt(async () => {
            const choice = await dialogs.askSplit(await app.readiness());
            if (choice) {
                toasts.split(await app.split(choice), actions);
            }
        }),

        giveCopy: attempt(async (/** @type {string} */ book) => toasts.copied(book, await app.giveCopy(book), actions)),

        useOriginal: attempt(async () => {
            const choice = await dialogs.askOriginal((await app.readiness()).leftOut);
            if (choice) {
                await app.useOriginal(choice);
            }
        }),

        clean: attempt(async () => {
            const plan = await screen.during(app.cleanupPlan(), say('verify.running'));
            if (await dialogs.askCleanup(plan)) {
                toasts.cleaned(await app.clean(), actions);
            }
        }),

        undo: attempt(async (/** @type {string[]} */ ...tokens) => {
            const reports = [];
            for (const token of tokens) {
                reports.push(await app.undo(token));
            }
            toasts.undone(joined(reports), actions);
        }),

        showTrash: attempt(() => dialogs.showTrash({
            putBack: (token) => actions.undo(token),
            saved: (names) => toasts.notify('success', say('trash.saved', { names: sayNames(names) })),
            failed: toasts.failed,
        })),

        strip: attempt(async () => {
            const open = app.open();
            if (!open) {
                toasts.notify('info', say('ready.no-chat'));
            } else if (await dialogs.askStrip(open.name)) {
                toasts.stripped(await app.strip());
            }
        }),

        stripAll: attempt(async () => {
            const all = await screen.during(app.allChats(), say('strip.all.listing'));
            if (await dialogs.askStripAll(all)) {
                const { report, isSeen } = await dialogs.showStripAll(all);
                if (report && !isSeen) {
                    toasts.strippedAll(report);
                }
            }
        }),

        verifyAll: attempt(async () => {
            const chosen = await dialogs.showVerification();
            if (chosen) {
                await screen.openChat(chosen);
            }
        }),

        showFindings: (/** @type {Finding[]} */ findings) => dialogs.showFindings(findings),
        showFork: (/** @type {ForkReport} */ report) => dialogs.showFork(report),
    };
    return actions;
}

/** @param {PutBackReport[]} reports @returns {PutBackReport} */
function joined(reports) {
    return {
        restored: reports.flatMap(({ restored }) => restored),
        replaced: reports.flatMap(({ replaced }) => replaced),
        chats: reports.flatMap(({ chats }) => chats),
        undone: reports.flatMap(({ undone }) => undone),
        blocked: reports.flatMap(({ blocked }) => blocked),
        unreadable: reports.reduce((sum, { unreadable }) => sum + unreadable, 0),
    };
}
