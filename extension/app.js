// The extension as a whole: reacts to what happens in SillyTavern, and carries out what the user asks for.

import { chatForCore, queueTitle } from './core/chat.js';
import { bytesText, toBytes } from './core/json.js';
import { wordError } from './core/word_error.js';
import { Cleanup } from './features/cleanup.js';
import { Comparison } from './features/compare/comparison.js';
import { TimelineMerge } from './features/compare/timeline_merge.js';
import { EditorBook } from './features/editor_book.js';
import { ChildSaveHandler } from './features/fork/child_save.js';
import { QueueWait } from './features/fork/queue_wait.js';
import { SceneCheckpoints } from './features/fork/scene_checkpoints.js';
import { Guard } from './features/guard/guard.js';
import { Lineage } from './features/guard/lineage.js';
import { Recorder } from './features/journal/recorder.js';
import { Renames } from './features/rename.js';
import { LostBook } from './features/repair/lost_book.js';
import { Repairs } from './features/repair/repairs.js';
import { Verifier } from './features/repair/verifier.js';
import { fillDefaults } from './features/settings.js';
import { TimelineIndex } from './features/timelines/timeline_index.js';
import { Timelines } from './features/timelines/timelines.js';
import { Trash } from './features/trash.js';
import { readBookSave } from './sillytavern/requests.js';

export class App {
    /**
     * @param {{host: object, core: object | null, coreError?: Error | null}} parts
     */
    constructor({ host, core, coreError = null }) {
        this.host = host;
        this.core = core;
        this.coreError = coreError;
        this.settings = fillDefaults(host.settings());
        this.listeners = new Map();
        /** The findings of the open chat; `null` once something has changed since they were made. */
        this.openFindings = null;
        this.findingsUpdates = 0;
        /** Asks the user how to proceed. Set by the user interface. */
        this.askFork = async () => 'cancel';
        /** Asks the user which of two versions to keep, entry by entry. Set by the user interface. */
        this.askConflict = async () => null;
        if (!core) {
            return;
        }
        const index = new TimelineIndex({ store: host.timelineStore, core });
        host = this.host = index.watching(host);
        this.timelines = new Timelines({ host, core, index, settings: this.settings });
        const plain = host;
        host = Object.create(plain, { writeBook: { value: (request) => this.writeBook(plain, request) } });
        this.trash = new Trash({ host });
        this.repairs = new Repairs({ host, core, trash: this.trash, onChange: () => this.loreChanged() });
        this.verifier = new Verifier({ host, core, index });
        this.cleanup = new Cleanup({ host, core, trash: this.trash, leftBehind: () => this.settings.leftBehind ?? [] });
        this.renames = new Renames({ host, core, repairs: this.repairs });
        this.lostBook = new LostBook({ host, repairs: this.repairs, onError: (error) => this.emit('failed', error) });
        const recordedHost = Object.create(host, { openChat: { value: () => this.lostBook.asRecorded() } });
        this.recorder = new Recorder({ host: recordedHost, core, settings: this.settings, onError: (error) => this.emit('failed', error) });
        this.queueWait = new QueueWait({ isBusy: async () => (await this.pendingWork()).busy, seconds: () => this.settings.waitSeconds });
        this.childSaves = new ChildSaveHandler({
            host,
            core,
            settings: this.settings,
            untilReady: () => this.queueWait.untilReady(),
            untilFileChecked: () => this.recorder.untilFileChecked(),
            ask: (question) => this.askFork(question),
            lost: () => (this.lostBook.isReplaced(this.host.openChat()) ? this.lostBook.name : null),
            onForked: (report) => this.forkMade(report),
            onError: (error) => this.emit('failed', error),
        });
        this.lineage = new Lineage(core);
        this.guard = new Guard({
            host: plain,
            core,
            settings: this.settings,
            lineage: this.lineage,
            trash: this.trash,
            ask: (question) => this.askConflict(question),
            onMerged: (news) => this.emit('merged', news),
            onKept: (kept) => this.emit('kept', kept),
            onWritten: (name, text) => this.recorder.bookChanged(name, text),
            onRead: (name, text) => this.recorder.fileRead(name, text),
            onError: (error) => this.emit('failed', error),
        });
        this.editorBook = new EditorBook({ host, core, onChange: (shown) => this.emit('editor', shown) });
        this.comparison = new Comparison({ host, core, repairs: this.repairs, timelines: this.timelines });
        this.timelineMerge = new TimelineMerge({
            host,
            core,
            repairs: this.repairs,
            comparison: this.comparison,
            exclusively: (book, step) => this.guard.inTurn(book, () => this.guard.withLock(book, step)),
        });
        this.sceneCheckpoints = new SceneCheckpoints({
            host,
            core,
            settings: this.settings,
            untilReady: () => this.queueWait.untilReady(),
            checkpoint: ({ message, name }) => this.fork({ kind: 'checkpoint', message, name, ask: false }),
            reportErrors: (step) => this.reportErrors(step),
        });
    }

    on(event, listener) {
        this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
    }

    emit(event, value) {
        (this.listeners.get(event) ?? []).forEach((listener) => listener(value));
    }

    saveSettings() {
        fillDefaults(this.settings);
        this.host.saveSettings();
        this.emit('changed');
    }

    open() {
        const open = this.host.openChat();
        return open && { name: open.name, group: Boolean(open.group), messages: open.messages.length };
    }

    /** Runs a step whose failure must not stop SillyTavern: an error is reported, not thrown. */
    async reportErrors(step) {
        try {
            await step();
        } catch (error) {
            this.emit('failed', error);
        }
    }

    // Events in the page

    /** Another chat was opened, or the chat was closed. */
    async chatOpened() {
        this.openFindings = null;
        this.childSaves.pending.clear();
        this.stopWaiting();
        const open = this.host.openChat();
        this.lostBook.chatOpened(open);
        this.recorder.chatOpened();
        this.sceneCheckpoints.chatOpened();
        this.timelines.openSaved();
        void this.reportErrors(() => this.editorBook.chatOpened(open));
        this.emit('changed');
        if (!open) {
            return;
        }
        await this.reportErrors(async () => {
            await this.ensureListed(open.book);
            await this.updateFindings(open, 'opened');
        });
    }

    /**
     * Verifies the open chat. The findings are only kept if no later run has started in the meantime.
     * @param {'opened' | 'again'} when
     * @param {{reach?: import('./features/repair/verifier.js').Reach, listed?: object[]}} [options]
     * @returns {Promise<{chat: string, findings: object[]}>}
     */
    async updateFindings(open, when, options = {}) {
        this.findingsUpdates += 1;
        const update = this.findingsUpdates;
        const reach = options.reach ?? await this.verifier.reach(open);
        const found = await this.verifier.verifyOpen(open, { ...options, reach });
        found.findings = await this.lostBook.withFinding(found.findings);
        const now = this.host.openChat();
        if (update === this.findingsUpdates && now?.name === open.name && now?.integrity === open.integrity) {
            this.openFindings = { ...found, when, book: open.book };
            this.editorBook.learned(found.heads);
            this.announce('verified', { chat: found.chat, findings: found.findings }, when === 'opened' ? 'opened' : 'checked');
            this.emit('changed');
        }
        return found;
    }

    /** The open chat was saved. It may now be bound to a different book than when it was verified. */
    async openSaved() {
        this.timelines.openSaved();
        const { openFindings } = this;
        if (openFindings && openFindings.book !== this.host.openChat()?.book) {
            this.openFindings = null;
            this.emit('changed');
            await this.checkAgain();
        }
    }

    /** The findings of the open chat may be out of date. */
    async checkAgain(options) {
        const open = this.host.openChat();
        if (open) {
            await this.reportErrors(() => this.updateFindings(open, 'again', options));
        }
    }

    /** Another tab may have created the book since this page loaded its list of books. */
    async ensureListed(name) {
        if (name && !this.host.knownBooks().includes(name)) {
            await this.host.refreshBooks();
            this.recorder.bookChanged(name, undefined);
        }
    }

    /** Tells the guard about a book that Forklore writes, so that it does not take it for another page's edit. */
    async writeBook(host, request) {
        await host.writeBook(request);
        const { name, bookText } = readBookSave(typeof request === 'string' ? request : bytesText(request));
        this.guard.wroteByForklore(name, bookText);
    }

    /** Forklore has written the open chat's book: what the page and the journal know of it is out of date. */
    loreChanged() {
        const open = this.host.openChat();
        if (open?.book) {
            this.recorder.bookChanged(open.book, undefined);
        }
        this.openFindings = null;
        this.emit('changed');
    }

    /** The open chat's book was deleted in this page. */
    async bookLost(book) {
        this.lostBook.name = book;
        await this.checkAgain();
        const { journal } = await this.repairOptions();
        if (this.host.openChat()?.book === book) {
            this.emit('lost', { book, canBringBack: Boolean(journal) });
        }
    }

    announce(event, value, own = event) {
        this.emit(own, value);
        this.host.emit(`forklore:${event}`, value);
    }

    forkMade(report) {
        this.host.copyRecapSettings(report.parent, report.child);
        this.announce('forked', report);
    }

    // Forks

    async pendingWork() {
        const open = this.host.openChat();
        if (!open) {
            return { busy: false, operations: 0 };
        }
        // Only the queue matters here, and this is called often.
        const entries = Object.entries((await this.currentBook(open.book))?.entries ?? {});
        const queue = { entries: Object.fromEntries(entries.filter(([, entry]) => entry?.comment === queueTitle())) };
        return this.core.pendingWork({ metadata: open.metadata, underWay: await this.host.recapOperations() }, toBytes(queue));
    }

    /** The open chat's book as the page knows it. Asks the server only if the page has not loaded it. */
    async currentBook(name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return undefined;
        }
        return this.host.cachedBook(name) ?? JSON.parse(bytesText(await this.host.readBook(name)));
    }

    async check(message, { whenReady = false } = {}) {
        await this.recorder.untilFileChecked();
        const open = this.lostBook.asRecorded() ?? this.repairs.requireOpenChat();
        const book = await this.repairs.bookBytes(open.book);
        const ask = {
            ...this.stateOf(message),
            parent: open.name,
            group: Boolean(open.group),
            isOpen: true,
            bookName: open.book,
            underWay: await this.host.recapOperations(),
            settings: this.settings,
            whenReady,
        };
        return this.core.check(ask, chatForCore(open), book);
    }

    /** What the core has to know to tell whether a message is final. */
    stateOf(message) {
        const last = this.repairs.requireOpenChat().messages.length - 1;
        return { message, last, isWriting: this.host.isWriting(), edited: this.host.editedUpTo(message) };
    }

    /**
     * Asks the user whatever has to be decided before a fork.
     * @returns {Promise<string[] | null>} the core's decision for the save that follows, or `null` for no fork
     */
    async decide(kind, message, { whenReady = false, begin } = {}) {
        if (!this.settings.isolate) {
            return [];
        }
        const { step: first, decision: settled, obstacles, remarks, part, canWait } = await this.check(message, { whenReady });
        const { step, decision } = first === 'ask'
            ? this.core.forkChoice(await this.askFork({ obstacles, remarks, part, canWait }))
            : { step: first, decision: settled };
        if (step === 'wait') {
            this.beginWaiting(kind, message, begin);
        }
        return step === 'go' ? decision : null;
    }

    /** A fork that cannot ask the user is refused while its messages are being edited. */
    refuseEdited(message) {
        const [edited] = this.core.unfinished({ ...this.stateOf(message), isWriting: false });
        if (edited) {
            throw wordError(edited.code, edited.values);
        }
    }

    /** The user pressed one of SillyTavern's own buttons. `go` does what the button would do. */
    async forkByButton(kind, message, { again, direct }) {
        const go = async () => {
            const decision = await this.decide(kind, message, { begin: go });
            if (!decision) {
                return;
            }
            const mustBeDirect = decision.length > 0 || this.host.hasAutoRecap();
            if (!mustBeDirect) {
                again();
                return;
            }
            await this.withDecision(message, decision, direct);
        };
        await this.reportErrors(go);
    }

    /** Lets SillyTavern fork the open chat. @returns {Promise<{made: unknown, report: object | null}>} */
    async withDecision(message, decision, make) {
        const { pending } = this.childSaves;
        const fork = pending.begin(this.repairs.requireOpenChat(), message, decision);
        try {
            return { made: await make(), report: fork.report };
        } finally {
            pending.end(fork);
        }
    }

    /** @returns {Promise<object | null>} the report, or `null` if there is no fork (yet) */
    async fork({ kind, message, name, whenReady = false, ask = true }) {
        const open = this.repairs.requireOpenChat();
        const at = Number.isInteger(message) ? message : open.messages.length - 1;
        const begin = () => this.fork({ kind, message: at, name });
        const decision = ask ? await this.decide(kind, at, { whenReady, begin }) : ['unattended'];
        if (!decision) {
            return null;
        }
        const { made: child, report } = await this.withDecision(at, decision, () =>
            (kind === 'branch' ? this.host.createBranch(at) : this.host.createCheckpoint(at, name)));
        if (!child) {
            return null;
        }
        return report ?? { kind, parent: open.name, child, message: at, book: null, part: null, metadata: null, remarks: [] };
    }

    suggestName(message) {
        return this.sceneCheckpoints.nameAt(this.repairs.requireOpenChat(), message);
    }

    beginWaiting(kind, message, begin) {
        this.pendingFork = { kind, message, operations: 0 };
        this.pendingWork().then(({ operations }) => {
            if (this.pendingFork) {
                this.pendingFork.operations = operations;
                this.emit('changed');
            }
        });
        const mine = this.pendingFork;
        this.emit('changed');
        const isBusy = async () => this.host.isWriting() || (await this.pendingWork()).busy;
        this.queueWait.untilReady({ forEver: true, isBusy }).then((isReady) => {
            if (this.pendingFork !== mine) {
                return;
            }
            this.pendingFork = null;
            this.emit('changed');
            if (isReady) {
                // The last changes may not be saved yet, and a branch is opened at once.
                this.reportErrors(async () => {
                    await this.host.saveOpenChat();
                    await begin();
                });
            }
        });
    }

    stopWaiting() {
        this.pendingFork = null;
        this.queueWait.cancel();
        this.emit('changed');
    }

    // What the user asks for

    async readiness() {
        const open = this.host.openChat();
        const answer = { state: 'no-chat', book: open?.book ?? null, entries: 0, operations: 0, sharedWith: [], hasFamily: false, reach: null, owner: '', selected: [], origin: open ? this.originOf(open) : null };
        if (!open) {
            return answer;
        }
        if (!this.settings.isolate) {
            return { ...answer, state: 'off' };
        }
        if (!open.book) {
            return { ...answer, state: 'no-book' };
        }
        const book = await this.currentBook(open.book);
        if (!book || this.lostBook.isReplaced(open)) {
            return { ...answer, state: 'missing', book: this.lostBook.name ?? open.book };
        }
        answer.entries = Object.keys(book.entries ?? {}).length;
        const { busy, operations } = await this.pendingWork();
        if (busy) {
            return { ...answer, state: 'waiting', operations: Math.max(1, operations) };
        }
        const known = this.openFindings?.book === open.book ? this.openFindings : null;
        const found = (code) => known?.findings.find((finding) => finding.code === code)?.values;
        const { with: family = [] } = found('book-shared') ?? {};
        const { by: elsewhere = [] } = found('book-elsewhere') ?? {};
        return {
            ...answer,
            state: family.length ? 'shared' : elsewhere.length ? 'elsewhere' : 'ready',
            sharedWith: [...family, ...elsewhere],
            hasFamily: family.length > 0,
            reach: known?.reach ?? null,
            owner: this.host.owners().find((owner) => owner.group === open.group && owner.avatar === open.avatar)?.label ?? '',
            selected: [...new Set(this.host.bookReferences().filter(({ book }) => this.core.sameBook(book, open.book)).map(({ place }) => place))],
        };
    }

    /** Where a chat was forked from; `null` if it was not forked by Forklore. */
    originOf({ metadata: { forklore } }) {
        const origin = this.core.origin({ forklore });
        return origin && { ...origin, made: Date.parse(origin.made) };
    }

    async lore(message) {
        await this.recorder.untilFileChecked();
        const open = this.repairs.requireOpenChat();
        const book = await this.repairs.bookBytes(open.book);
        const found = this.core.lore({ group: Boolean(open.group), isOpen: true, bookName: open.book, message }, chatForCore(open), book);
        if (!found.known) {
            throw wordError('lore-unknown', { message });
        }
        const isInherited = message <= (open.metadata.forklore?.parent?.message ?? -1) && !this.core.sameBook(found.book, open.book);
        return { ...found, isInherited };
    }

    async restore(message, options = {}) {
        const result = await this.repairs.restore(message, options);
        if (!options.dryRun) {
            this.announce('restored', { ...result, message });
            await this.checkAgain();
        }
        return result;
    }

    async verifyOpen() {
        const open = this.repairs.requireOpenChat();
        const reach = await this.verifier.reach(open);
        const { chat, findings } = await this.updateFindings(open, 'again', { reach: reach === 'open' ? 'owner' : reach });
        return { chat, findings };
    }

    async verifyAll(progress) {
        const { results, heads } = await this.verifier.verifyAll(progress);
        await this.checkAgain({ reach: 'all', listed: heads });
        return results;
    }

    repairOptions() {
        return this.repairs.repairOptions(this.lostBook.name);
    }

    async repair(choice) {
        const result = await this.repairs.repair(choice, this.lostBook.name);
        this.lostBook.name = null;
        this.announce('repaired', { ...result, source: choice.source });
        await this.checkAgain();
        return result;
    }

    async splitPlan({ family = false } = {}) {
        const { keeper, heads } = await this.verifier.sharing(this.repairs.requireOpenChat(), { family });
        return { keeper, chats: await this.repairs.splitPlan(heads) };
    }

    async split({ family = false } = {}) {
        const { keeper, heads } = await this.verifier.sharing(this.repairs.requireOpenChat(), { family });
        const result = { keeper, chats: await this.repairs.split(heads) };
        this.announce('split', result);
        await this.checkAgain();
        return result;
    }

    /** Shows the open chat's lorebook in SillyTavern's editor. */
    showOwnBook() {
        this.editorBook.showOwn();
    }

    cleanupPlan() {
        return this.cleanup.plan();
    }

    clean() {
        return this.cleanup.clean();
    }

    /** What differs between two moments. */
    compare(what) {
        return this.comparison.compare(what);
    }

    /** The timelines that can be compared, or that lore can be brought into. */
    timelineChoices() {
        return this.comparison.choices();
    }

    /** What bringing lore from one timeline into another would do. */
    bringPlan(request) {
        return this.timelineMerge.plan(request);
    }

    /** @returns {Promise<object>} what was done, or `{isStale: true, plan}` if the plan is no longer the one that was `seen` */
    async bring(request, seen = null) {
        const { text, ...done } = await this.timelineMerge.apply(request, seen);
        if (text !== undefined) {
            this.recorder.bookChanged(done.book, text);
            this.host.refreshEditor(done.book);
            this.announce('combined', done);
            await this.checkAgain();
        }
        return done;
    }

    async undo(token) {
        const { restored, replaced } = await this.trash.restore(token);
        if (restored.length) {
            await this.timelineMerge.undo(token);
        }
        this.announce('undone', { restored });
        this.loreChanged();
        await this.checkAgain();
        return { restored, replaced };
    }

    async strip() {
        const count = this.recorder.strip();
        if (count > 0) {
            await this.host.saveOpenChat();
        }
        return count;
    }
}
