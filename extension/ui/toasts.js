/** Notices that are shown without the user asking. */
import { sayStripped } from './dialogs/journal_removal.js';
import { sayMessagesOf } from './messages.js';
import { shortNames } from './names.js';
import { wordList } from './widgets/controls.js';
import { say, sayChats, sayCounts, sayError, sayNames, sayPartShort, sayShared, sayWord, withWork } from './words.js';
/** @import { Act, Actions, AppEvents, BookReport, Brought, CanUndo, Finding, ForkReport, Parts, PendingFork, PutBackReport, RepairReport, RepairSource, SayMessage, SeveralArchived, SeveralDeleted, SplitPlan, StripReport, ToastContent, ToastKind, ToastOptions } from './types.js' */

/** In seconds: how long a notice stays that asks for nothing. */
const BRIEFLY = 8;

/** The notice about a new fork: one sentence, or null if there is nothing to say. @param {ForkReport} report @param {{warnings: boolean}} settings @returns {{kind: ToastKind, text: string, details: string | null} | null} */
export function forkNotice({ kind, book, part, remarks, isConversion = false, wasChosen = false }, { warnings }) {
    const what = isConversion ? 'group' : kind;
    const told = warnings ? remarks : [];
    const has = (/** @type {string} */ remark) => remarks.find(({ code }) => code === remark);
    const without = has('without-book');
    const isUnsure = Boolean(has('no-book-as-of'));
    const lore = has('own-copy') ?? has('shares-book');
    if (!book && !without && !isUnsure && !lore && !told.length) {
        return null;
    }
    if (lore) {
        const text = say(`notice.${what}.${lore.code}`, { ...lore.values, entries: book?.entries });
        return { kind: book ? 'success' : 'info', text, details: say('button.details') };
    }
    /** @type {ToastKind} */
    const tone = without ? 'warning' : !book || part?.exactness !== 'live' ? 'success' : wasChosen ? 'info' : 'warning';
    const text = book && part ? say(`notice.${what}.book`, { entries: book.entries, part: sayPartShort(part) })
        : isUnsure && part ? say(`notice.${what}.none`, { part: sayPartShort(part) })
            : without ? say('list.sentences', { first: say(`notice.${what}.without`), then: sayWord(without) }) : say(`notice.${what}`);
    // The question has said it already.
    const isSaid = tone === 'info' && told.length <= 1;
    return { kind: tone, text, details: isSaid ? null : told.length ? say('button.details.count', { count: told.length }) : say('button.details') };
}

/** The notice when a chat was opened, only if something is wrong. @param {Finding[]} findings @param {string[]} [beside] names that others leave out what they share with @returns {{text: string, act: Act} | null} */
export function openedNotice(findings, beside = []) {
    const problems = findings.filter(({ problem }) => problem);
    const of = (/** @type {string} */ code) => problems.find((found) => found.code === code);
    const missing = of('book-missing');
    if (missing) {
        return { text: say('notice.missing', missing.values), act: 'repair' };
    }
    if (of('book-failed') || of('leaves-out-nothing')) {
        return { text: say('notice.no-lore'), act: 'repair' };
    }
    const shared = of('book-shared');
    if (shared) {
        const { name, with: others } = shared.values ?? {};
        return { text: say('notice.shared', { name, with: sayChats(Array.isArray(others) ? others.map(String) : [], 2, beside) }), act: 'split' };
    }
    const [first, ...others] = problems;
    return first ? { text: others.length ? say('notice.problems', { count: problems.length }) : sayWord(first), act: 'details' } : null;
}

export function createToasts(/** @type {Parts} */ { app, screen }) {
    const title = say('title');
    /** A message of the open chat. */
    const sayMessage = sayMessagesOf((message) => app.messageAt(message));
    const reported = new WeakSet();
    let waitNotice = /** @type {{close: () => void} | null} */ (null);
    let commonNotice = /** @type {{close: () => void} | null} */ (null);
    let openNotice = /** @type {{close: () => void, act: Act} | null} */ (null);

    /** @param {ToastKind} kind @param {ToastContent} content @param {ToastOptions} [options] */
    const toast = (kind, content, options = {}) =>
        screen.toast(kind, content, { title, closeLabel: say('toast.close'), ...options });

    /** Names that stand beside those in a notice: they need not say again what the open chat’s name says. */
    const here = () => [app.open()?.name ?? []].flat();

    const failed = (/** @type {unknown} */ error) => {
        // The same error may reach the caller and be emitted by the app as well.
        if (error instanceof Error && reported.has(error)) {
            return;
        }
        if (error instanceof Error) {
            reported.add(error);
        }
        // An error with a code was expected; anything else is a bug that the user may want to report.
        const isExpected = error instanceof Object && 'word' in error && Boolean(error.word);
        (isExpected ? console.debug : console.error)('Forklore:', error);
        toast(isExpected ? 'warning' : 'error', sayError(error, sayMessage));
    };

    return {
        failed,

        notify: (/** @type {ToastKind} */ kind, /** @type {string} */ text) => toast(kind, text),

        forked(/** @type {ForkReport} */ report, /** @type {Pick<Actions, 'showFork'>} */ { showFork }) {
            waitNotice?.close();
            const notice = forkNotice(report, app.settings);
            if (notice) {
                toast(notice.kind, notice.text, {
                    ...(notice.kind !== 'warning' && { seconds: BRIEFLY }),
                    buttons: notice.details ? [{ text: notice.details, run: () => showFork(report) }] : [],
                });
            }
        },

        waiting(/** @type {PendingFork} */ fork, /** @type {Pick<Actions, 'stopWaiting'>} */ { stopWaiting }) {
            waitNotice?.close();
            waitNotice = toast('info', withWork(say(`notice.waiting.${fork.kind}`), fork), { buttons: [{ text: say('do.stop-waiting'), run: stopWaiting }] });
        },

        opened(/** @type {AppEvents['opened']} */ { findings }, /** @type {Pick<Actions, 'repair' | 'split' | 'showFindings'>} */ { repair, split, showFindings }) {
            // The previous notices were about another chat.
            openNotice?.close();
            commonNotice?.close();
            openNotice = commonNotice = null;
            const notice = openedNotice(findings, here());
            if (!notice) {
                return;
            }
            const button = {
                repair: { text: say('do.repair'), run: repair },
                split: { text: say('do.split'), run: split },
                details: { text: say('button.details'), run: () => showFindings(findings) },
            }[notice.act];
            openNotice = { ...toast('warning', notice.text, { isState: true, buttons: [button] }), act: notice.act };
        },

        /** The open chat's lorebook was deleted just now. */
        lost(/** @type {AppEvents['lost']} */ { book, canBringBack }, /** @type {Pick<Actions, 'repair' | 'bringBack'>} */ { repair, bringBack }) {
            openNotice?.close();
            const button = canBringBack ? { text: say('notice.deleted.back'), run: bringBack } : { text: say('do.repair'), run: repair };
            openNotice = { ...toast('warning', say('notice.deleted', { name: book }), { buttons: [button] }), act: 'repair' };
        },

        /** The open chat has no lorebook of its own, but uses one that many chats share. */
        common(/** @type {AppEvents['common']} */ shared, /** @type {Pick<Actions, 'giveCopy'>} */ { giveCopy }) {
            commonNotice = toast('info', sayShared(shared), { isState: true, buttons: [{ text: say('do.copy'), run: () => giveCopy(shared.book) }] });
        },

        copied(/** @type {string} */ original, /** @type {RepairReport} */ { entries, undo }, /** @type {Pick<CanUndo, 'undo'>} */ { undo: takeBack }) {
            commonNotice?.close();
            toast('success', say('notice.copied', { entries, original }), { buttons: undo ? [{ text: say('button.undo'), run: () => void takeBack(undo) }] : [] });
        },

        welcome: (/** @type {Pick<Actions, 'showTimelines'>} */ { showTimelines }) => toast('info', say('notice.welcome'), {
            seconds: BRIEFLY, isState: true, buttons: [{ text: say('notice.welcome.show'), run: () => void showTimelines() }],
        }),

        /** The open chat was verified again: closes the notice if it no longer applies. */
        checked(/** @type {AppEvents['checked']} */ { findings }) {
            if (openNotice && openNotice.act !== openedNotice(findings)?.act) {
                openNotice.close();
                openNotice = null;
            }
        },

        removed: (/** @type {AppEvents['removed']} */ { chat, books, undo, isKept }, /** @type {CanUndo} */ can) => toast('info',
            say(!isKept ? 'notice.removed' : books.length ? 'notice.trashed.books' : 'notice.trashed', { chat: shortNames([...here(), chat], Infinity)(chat), books: sayChats(books, undefined, [...here(), chat]), count: books.length }),
            { buttons: undoButtons(can, undo, isKept ? undefined : say('notice.removed.back', { count: books.length })) }),

        /** Several timelines that were deleted together. */
        deleted: (/** @type {SeveralDeleted & {total: number}} */ { done, tokens, books, refused, total }, /** @type {CanUndo} */ { undo: takeBack, showTrash }) => toast(refused ? 'warning' : 'info', present([
            refused ? say('notice.several.stopped', { name: refused.name, reason: sayError(refused.error), left: total - done.length, total }) : null,
            done.length ? say(!tokens.length ? 'notice.several.deleted' : books.length ? 'notice.several.trashed.books' : 'notice.several.trashed', { count: done.length, books: books.length }) : null,
        ]), { buttons: tokens.length ? [{ text: say('button.undo'), run: () => void takeBack(...tokens) }, { text: say('do.trash'), run: () => void showTrash() }] : [] }),

        archived: (/** @type {SeveralArchived & {isArchived: boolean}} */ { done, refused, isArchived }, /** @type {() => void} */ takeBack) => toast(refused.length ? 'warning' : 'success', present([
            done.length ? say(isArchived ? 'notice.archived' : 'notice.unarchived', { count: done.length }) : null,
            refused[0] ? say('notice.archived.not', { names: sayChats(refused.map(({ name }) => name), 3), reason: sayError(refused[0].error) }) : null,
        ]), { buttons: done.length ? [{ text: say('button.undo'), run: takeBack }] : [] }),

        /** Changes that another page made to a lorebook that this page has saved. */
        merged: (/** @type {AppEvents['merged']} */ { book, entries, isGone }) => toast(isGone ? 'warning' : 'info', isGone
            ? say('notice.came.gone', { book })
            : say('notice.came', { book, count: entries.length, entries: sayNames(entries.map(({ title }) => title || say('notice.came.untitled')), 3) })),

        /** Versions that went to the trash because another one was chosen. */
        kept: (/** @type {AppEvents['kept']} */ { book, kept, isLate }, /** @type {CanUndo} */ { undo: takeBack, showTrash }) => toast(isLate ? 'warning' : 'success',
            say(isLate ? 'notice.kept.late' : 'notice.kept', { book }),
            {
                buttons: [
                    ...kept.map(({ isMine, token }) => ({
                        text: say(kept.length === 1 ? 'notice.kept.get' : isMine ? 'notice.kept.get.mine' : 'notice.kept.get.theirs'),
                        run: () => takeBack(token),
                    })),
                    { text: say('do.trash'), run: () => void showTrash() },
                ],
            }),

        /** What was brought from one timeline into another. */
        brought: (/** @type {Brought} */ { into, added, changed, removed, undo }, /** @type {Pick<CanUndo, 'undo'>} */ { undo: takeBack }) => toast(undo ? 'success' : 'info',
            undo ? say('notice.combined', { chat: into, changes: sayCounts({ added: added.length, changed: changed.length, removed: removed.length }) }) : say('notice.combined.none', { chat: into }),
            { buttons: undo ? [{ text: say('button.undo'), run: () => takeBack(undo) }] : [] }),

        cleaned: (/** @type {{removed: string[], undo: string | null}} */ { removed, undo }, /** @type {CanUndo} */ can) => toast('success',
            say('notice.cleaned', { count: removed.length }),
            { buttons: undoButtons(can, undo) }),

        undone: (/** @type {PutBackReport} */ report, /** @type {Pick<CanUndo, 'showTrash'>} */ { showTrash }) => toast(report.blocked.length || report.unreadable ? 'warning' : 'success', present([
            undoneText(report),
            report.blocked.length && isSomething(report) ? say('notice.undone.blocked', { names: sayNames(report.blocked) }) : null,
            report.unreadable ? say('notice.undone.unreadable', { count: report.unreadable }) : null,
        ]), { buttons: report.blocked.length ? [{ text: say('do.trash'), run: () => void showTrash() }] : [] }),

        repaired: (/** @type {RepairSource} */ source, /** @type {RepairReport} */ report, /** @type {Pick<CanUndo, 'undo'>} */ { undo: takeBack }) => toast('success', present([
            repairedText(source, report, sayMessage),
            app.settings.warnings ? wordList(report.remarks ?? [], 'forklore_small') : null,
        ]), { buttons: report.undo ? [{ text: say('button.undo'), run: () => void takeBack(String(report.undo)) }] : [] }),

        split: (/** @type {SplitPlan} */ { chats }, /** @type {Pick<CanUndo, 'undo'>} */ { undo: takeBack }) => {
            const tokens = chats.flatMap(({ undo }) => undo ?? []);
            toast('success', say('notice.split', { count: chats.length }), { buttons: tokens.length ? [{ text: say('button.undo'), run: () => void takeBack(...tokens) }] : [] });
        },

        restored: (/** @type {number} */ message, /** @type {BookReport} */ { book, entries, remarks, undo }, /** @type {Pick<CanUndo, 'undo'>} */ { undo: takeBack }) => toast('success', present([
            say('notice.restored', { book, entries, message: sayMessage(message) }),
            app.settings.warnings ? wordList(remarks ?? [], 'forklore_small') : null,
        ]), { buttons: undo ? [{ text: say('button.undo'), run: () => takeBack(undo) }] : [] }),

        strippedAll: (/** @type {StripReport} */ report) => toast(report.left.length ? 'warning' : 'success', present([sayStripped(report), wordList(report.left, 'forklore_small')])),

        stripped: (/** @type {number} */ count) => toast('success', count ? say('notice.stripped', { count }) : say('notice.stripped.none')),
    };
}

/** The lines that there are. @param {Array<string | Node | null>} lines */
const present = (lines) => lines.flatMap((line) => line || []);

/** @param {CanUndo} can @param {string | null} token @param {string} [text] what undoing does, if it is not everything */
function undoButtons({ undo, showTrash }, token, text = say('button.undo')) {
    return token ? [{ text, run: () => void undo(token) }, { text: say('do.trash'), run: () => void showTrash() }] : [];
}

/** @param {PutBackReport} report */
const isSomething = ({ restored, chats, undone }) => restored.length + chats.length + undone.length > 0;

/** @param {PutBackReport} report */
function undoneText(report) {
    const { restored, replaced, chats, undone, blocked } = report;
    if (!isSomething(report)) {
        return blocked.length ? say('notice.undone.blocked', { names: sayNames(blocked) }) : say('notice.undone.none');
    }
    if (chats.length) {
        return say(restored.length ? 'notice.back.books' : 'notice.back', { chats: sayChats(chats), back: chats.length, books: sayNames(restored), count: restored.length });
    }
    if (!restored.length) {
        return say('notice.undone.chats', { chats: sayChats(undone) });
    }
    const key = replaced.length === restored.length ? 'notice.undone.replaced' : 'notice.undone';
    return say(key, { count: restored.length, books: sayNames(restored) });
}

function repairedText(/** @type {RepairSource} */ source, /** @type {RepairReport} */ { book, entries, part }, /** @type {SayMessage} */ sayMessage) {
    if (source === 'detach') {
        return say('notice.repaired.detach');
    }
    const isOwn = source === 'journal' || source === 'recap';
    return isOwn && part
        ? say('notice.repaired', { book, entries, part: sayPartShort(part, sayMessage) })
        : say('notice.repaired.copy', { book, entries });
}
