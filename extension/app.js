// Forklore in the page: what happens in SillyTavern comes in here, and what people ask for.

import { chatForCore } from './core/chat.js';
import { bytesText, toBytes } from './core/json.js';
import { wordError } from './core/word_error.js';
import { Cleaning, QUEUE } from './features/cleanup.js';
import { Comparing } from './features/compare/comparison.js';
import { Combining } from './features/compare/timeline_merge.js';
import { WhoseBook } from './features/editor_book.js';
import { Forking } from './features/fork/child_save.js';
import { WITHOUT_BOOK, policyFor } from './features/fork/policy.js';
import { Waiting } from './features/fork/queue_wait.js';
import { Scenes } from './features/fork/scene_checkpoints.js';
import { Guard } from './features/guard/guard.js';
import { Lineage } from './features/guard/lineage.js';
import { Recording } from './features/journal/recorder.js';
import { Renaming } from './features/rename.js';
import { Losing } from './features/repair/lost_book.js';
import { Mending } from './features/repair/repairs.js';
import { Verifying } from './features/repair/verifier.js';
import { completed } from './features/settings.js';
import { TimelineIndex } from './features/timelines/timeline_index.js';
import { Timelines, birthOf } from './features/timelines/timelines.js';
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
        this.settings = completed(host.settings());
        this.listeners = new Map();
        /** What was found in the open chat when it was last looked at; `null` where something has changed since. */
        this.openFindings = null;
        this.looks = 0;
        /** Asks the owner how to go on; the user interface puts it here. */
        this.askFork = async () => 'cancel';
        /** Asks which of two versions holds, entry by entry; the user interface puts it here. */
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
        this.mending = new Mending({ host, core, trash: this.trash, changed: () => this.loreChanged() });
        this.verifying = new Verifying({ host, core, index });
        this.cleaning = new Cleaning({ host, core, trash: this.trash, leftBehind: () => this.settings.leftBehind ?? [] });
        this.renaming = new Renaming({ host, core, mending: this.mending });
        this.losing = new Losing({ host, mending: this.mending, failed: (error) => this.tell('failed', error) });
        const recordedHost = Object.create(host, { openChat: { value: () => this.losing.asRecorded() } });
        this.recording = new Recording({ host: recordedHost, core, settings: this.settings, failed: (error) => this.tell('failed', error) });
        this.waitingFor = new Waiting({ isBusy: async () => (await this.work()).busy, seconds: () => this.settings.waitSeconds });
        this.forking = new Forking({
            host,
            core,
            settings: this.settings,
            untilReady: () => this.waitingFor.untilReady(),
            untilLooked: () => this.recording.untilLooked(),
            ask: (refusal) => this.askAtSave(refusal),
            lost: () => (this.losing.isReplaced(this.host.openChat()) ? this.losing.name : null),
            made: (report) => this.forkMade(report),
            failed: (error) => this.tell('failed', error),
        });
        this.lineage = new Lineage(core);
        this.guard = new Guard({
            host: plain,
            core,
            settings: this.settings,
            lineage: this.lineage,
            trash: this.trash,
            ask: (question) => this.askConflict(question),
            came: (news) => this.tell('came', news),
            kept: (kept) => this.tell('kept', kept),
            changed: (name, text) => this.recording.bookChanged(name, text),
            found: (name, text) => this.recording.fileSeen(name, text),
            failed: (error) => this.tell('failed', error),
        });
        this.whoseBook = new WhoseBook({ host, core, told: (shown) => this.tell('editor', shown) });
        this.comparing = new Comparing({ host, core, mending: this.mending, timelines: this.timelines });
        this.combining = new Combining({
            host,
            core,
            mending: this.mending,
            comparing: this.comparing,
            alone: (book, step) => this.guard.inTurn(book, () => this.guard.locked(book, step)),
        });
        this.scenes = new Scenes({
            host,
            core,
            settings: this.settings,
            untilReady: () => this.waitingFor.untilReady(),
            checkpoint: ({ message, name }) => this.fork({ kind: 'checkpoint', message, name, ask: false }),
            quietly: (step) => this.quietly(step),
        });
    }

    on(event, listener) {
        this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
    }

    tell(event, value) {
        (this.listeners.get(event) ?? []).forEach((listener) => listener(value));
    }

    saveSettings() {
        completed(this.settings);
        this.host.saveSettings();
        this.tell('changed');
    }

    open() {
        const open = this.host.openChat();
        return open && { name: open.name, group: Boolean(open.group), messages: open.messages.length };
    }

    /** For what is worth doing but must not stand in SillyTavern's way. */
    async quietly(step) {
        try {
            await step();
        } catch (error) {
            this.tell('failed', error);
        }
    }

    // What happens in the page

    /** Another chat was opened, or none. */
    async chatOpened() {
        this.openFindings = null;
        this.forking.decision = null;
        this.stopWaiting();
        const open = this.host.openChat();
        this.losing.opened(open);
        this.recording.opened();
        this.scenes.opened();
        this.timelines.openSaved();
        void this.quietly(() => this.whoseBook.chatOpened(open));
        this.tell('changed');
        if (!open) {
            return;
        }
        await this.quietly(async () => {
            await this.meetBook(open.book);
            await this.lookAt(open, 'opened');
        });
    }

    /**
     * Looks at the open chat. What was found is only kept if it was not looked at again meanwhile.
     * @param {'opened' | 'again'} when
     * @param {{reach?: import('./features/repair/verifier.js').Reach, listed?: object[]}} [options]
     * @returns {Promise<{chat: string, findings: object[]}>}
     */
    async lookAt(open, when, options = {}) {
        this.looks += 1;
        const look = this.looks;
        const reach = options.reach ?? await this.verifying.reach(open);
        const found = await this.verifying.open(open, { ...options, reach });
        found.findings = await this.losing.told(found.findings);
        const now = this.host.openChat();
        if (look === this.looks && now?.name === open.name && now?.integrity === open.integrity) {
            this.openFindings = { ...found, when, book: open.book };
            this.whoseBook.learned(found.heads);
            this.announce('verified', { chat: found.chat, findings: found.findings }, when === 'opened' ? 'opened' : 'checked');
            this.tell('changed');
        }
        return found;
    }

    /** The open chat was saved: it may be bound to another book than when it was looked at. */
    async openSaved() {
        this.timelines.openSaved();
        const { openFindings } = this;
        if (openFindings && openFindings.book !== this.host.openChat()?.book) {
            this.openFindings = null;
            this.tell('changed');
            await this.checkAgain();
        }
    }

    /** What was found in the open chat may not hold any more. */
    async checkAgain(options) {
        const open = this.host.openChat();
        if (open) {
            await this.quietly(() => this.lookAt(open, 'again', options));
        }
    }

    /** Another tab may have made the book since this page read the list of books. */
    async meetBook(name) {
        if (name && !this.host.knownBooks().includes(name)) {
            await this.host.refreshBooks();
            this.recording.bookChanged(name, undefined);
        }
    }

    /** A book that we write is no news for the guard. */
    async writeBook(host, request) {
        await host.writeBook(request);
        const { name, bookText } = readBookSave(typeof request === 'string' ? request : bytesText(request));
        this.guard.wroteOurselves(name, bookText);
    }

    /** The book was written by us: what the page and the journal know of it is old. */
    loreChanged() {
        const open = this.host.openChat();
        if (open?.book) {
            this.recording.bookChanged(open.book, undefined);
        }
        this.openFindings = null;
        this.tell('changed');
    }

    /** The open chat's book was deleted in this page. */
    async bookLost(book) {
        this.losing.name = book;
        await this.checkAgain();
        const { journal } = await this.repairOptions();
        if (this.host.openChat()?.book === book) {
            this.tell('lost', { book, canBringBack: Boolean(journal) });
        }
    }

    announce(event, value, own = event) {
        this.tell(own, value);
        this.host.emit(`forklore:${event}`, value);
    }

    forkMade(report) {
        this.lastReport = report;
        this.host.copyRecapSettings(report.parent, report.child);
        this.announce('forked', report);
    }

    // Forks

    async work() {
        const open = this.host.openChat();
        if (!open) {
            return { busy: false, operations: 0 };
        }
        // Only the queue matters here, and this is asked often.
        const entries = Object.entries((await this.bookSeen(open.book))?.entries ?? {});
        const queue = { entries: Object.fromEntries(entries.filter(([, entry]) => entry?.comment === QUEUE)) };
        const ask = { bookName: open.book, allow: 'live', message: 0, underWay: await this.host.recapOperations() };
        return this.core.check(ask, [{ chat_metadata: open.metadata }, { mes: '' }], toBytes(queue));
    }

    /** The open chat's book as the page knows it, without asking the server more than it must. */
    async bookSeen(name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return undefined;
        }
        return this.host.bookSeen(name) ?? JSON.parse(bytesText(await this.host.readBook(name)));
    }

    async check(message, decision = {}) {
        await this.recording.untilLooked();
        const open = this.losing.asRecorded() ?? this.mending.opened();
        const book = await this.mending.bookOf(open.book);
        const ask = { parent: open.name, group: Boolean(open.group), isOpen: true, bookName: open.book, message, underWay: await this.host.recapOperations(), ...policyFor(this.settings, decision) };
        const found = this.core.check(ask, chatForCore(open), book);
        return { ...found, obstacles: [...found.obstacles, ...this.unfinished(message)] };
    }

    /**
     * Asks what has to be asked before a fork.
     * @returns {Promise<object | null>} a decision for the save that follows, or `null` for no fork
     */
    async decide(kind, message, { whenReady = false, begin } = {}) {
        if (!this.settings.isolate) {
            return {};
        }
        const found = await this.check(message);
        if (found.obstacles.length === 0) {
            return {};
        }
        const isBusy = found.obstacles.some((obstacle) => ['queue-busy', 'still-writing'].includes(obstacle.code));
        const inexact = ['book-not-known', 'metadata-not-exact'];
        if (this.settings.whenInexact === 'nearest' && found.obstacles.every((obstacle) => inexact.includes(obstacle.code))) {
            return {};
        }
        const choice = whenReady && isBusy
            ? 'wait'
            : await this.askFork({ obstacles: found.obstacles, remarks: found.remarks, part: leastKnown(found), canWait: isBusy });
        if (choice === 'wait') {
            this.beginWaiting(kind, message, begin);
            return null;
        }
        return { nearest: { allow: 'live' }, live: { allow: 'live' }, without: WITHOUT_BOOK }[choice] ?? null;
    }

    /** Whoever forks without being asked is refused what is still being edited. */
    refuseEdited(message) {
        const [edited] = this.beingEdited(message);
        if (edited) {
            throw wordError(edited.code, edited.values);
        }
    }

    /** The message, or one before it, may become another one any moment. */
    beingEdited(message) {
        const edited = this.host.editedUpTo(message);
        if (edited === null) {
            return [];
        }
        const isThis = edited === message;
        return [{ code: 'being-edited', values: isThis ? {} : { message: edited } }];
    }

    /** A message that is not final yet. */
    unfinished(message) {
        const open = this.host.openChat();
        const isWriting = this.host.isWriting() && message === open.messages.length - 1;
        return [
            ...(isWriting ? [{ code: 'still-writing', values: {} }] : []),
            ...this.beingEdited(message),
        ];
    }

    /** At a save there is no way back: the child is made, with the nearest book or with none. */
    async askAtSave(refusal) {
        const part = refusal.obstacles.find((obstacle) => obstacle.code === 'book-not-known');
        const asOf = part?.values?.as_of;
        const known = part ? { exactness: asOf == null ? 'live' : 'snapshot', as_of: asOf } : { exactness: 'live' };
        const choice = await this.askFork({ obstacles: refusal.obstacles, remarks: refusal.remarks, part: known, canWait: false });
        return choice === 'nearest' || choice === 'live' ? choice : 'without';
    }

    /** One of SillyTavern's own buttons was pressed; `go` is what it would do. */
    async forkByButton(kind, message, { again, direct }) {
        const go = async () => {
            const decision = await this.decide(kind, message, { begin: go });
            if (!decision) {
                return;
            }
            const mustBeDirect = Object.keys(decision).length > 0 || this.host.hasAutoRecap();
            this.forking.decision = decision;
            if (!mustBeDirect) {
                again();
                return;
            }
            await direct();
            this.forking.decision = null;
        };
        await this.quietly(go);
    }

    /** @returns {Promise<object | null>} the report, or `null` where there is no fork (yet) */
    async fork({ kind, message, name, whenReady = false, ask = true }) {
        const open = this.mending.opened();
        const at = Number.isInteger(message) ? message : open.messages.length - 1;
        const begin = () => this.fork({ kind, message: at, name });
        // Nobody sits before a script: there, the settings decide, and what is nearest is taken.
        const unasked = this.settings.whenInexact === 'ask' ? { allow: 'live' } : {};
        const decision = ask ? await this.decide(kind, at, { whenReady, begin }) : unasked;
        if (!decision) {
            return null;
        }
        this.forking.decision = decision;
        this.lastReport = null;
        const child = kind === 'branch' ? await this.host.createBranch(at) : await this.host.createCheckpoint(at, name);
        this.forking.decision = null;
        if (!child) {
            return null;
        }
        return this.lastReport ?? { kind, parent: open.name, child, message: at, book: null, part: null, metadata: null, remarks: [] };
    }

    suggestName(message) {
        return this.scenes.nameAt(this.mending.opened(), message);
    }

    beginWaiting(kind, message, begin) {
        this.waiting = { kind, message, operations: 0 };
        this.work().then(({ operations }) => {
            if (this.waiting) {
                this.waiting.operations = operations;
                this.tell('changed');
            }
        });
        const mine = this.waiting;
        this.tell('changed');
        const isBusy = async () => this.host.isWriting() || (await this.work()).busy;
        this.waitingFor.untilReady({ forEver: true, isBusy }).then((isReady) => {
            if (this.waiting !== mine) {
                return;
            }
            this.waiting = null;
            this.tell('changed');
            if (isReady) {
                // What was done last may not be saved yet, and a branch is opened at once.
                this.quietly(async () => {
                    await this.host.saveOpenChat();
                    await begin();
                });
            }
        });
    }

    stopWaiting() {
        this.waiting = null;
        this.waitingFor.giveUp();
        this.tell('changed');
    }

    // What people ask

    async readiness() {
        const open = this.host.openChat();
        const answer = { state: 'no-chat', book: open?.book ?? null, entries: 0, operations: 0, sharedWith: [], hasFamily: false, reach: null, owner: '', selected: [], birth: birthOf(open?.metadata?.forklore) };
        if (!open) {
            return answer;
        }
        if (!this.settings.isolate) {
            return { ...answer, state: 'off' };
        }
        if (!open.book) {
            return { ...answer, state: 'no-book' };
        }
        const book = await this.bookSeen(open.book);
        if (!book || this.losing.isReplaced(open)) {
            return { ...answer, state: 'missing', book: this.losing.name ?? open.book };
        }
        answer.entries = Object.keys(book.entries ?? {}).length;
        const { busy, operations } = await this.work();
        if (busy) {
            return { ...answer, state: 'waiting', operations: Math.max(1, operations) };
        }
        const known = this.openFindings?.book === open.book ? this.openFindings : null;
        const found = (code) => known?.findings.find((finding) => finding.code === code)?.values;
        const { with: family = [] } = found('book-shared') ?? {};
        const { by: elsewhere = [] } = found('book-elsewhere') ?? {};
        const key = this.core.bookKey(open.book);
        return {
            ...answer,
            state: family.length ? 'shared' : elsewhere.length ? 'elsewhere' : 'ready',
            sharedWith: [...family, ...elsewhere],
            hasFamily: family.length > 0,
            reach: known?.reach ?? null,
            owner: this.host.owners().find((owner) => owner.group === open.group && owner.avatar === open.avatar)?.label ?? '',
            selected: [...new Set(this.host.bookReferences().filter(({ book }) => this.core.bookKey(book) === key).map(({ place }) => place))],
        };
    }

    async lore(message) {
        await this.recording.untilLooked();
        const open = this.mending.opened();
        const book = await this.mending.bookOf(open.book);
        const found = this.core.lore({ group: Boolean(open.group), isOpen: true, bookName: open.book, message }, chatForCore(open), book);
        if (!found.known) {
            throw wordError('lore-unknown', { message });
        }
        const isSame = (one, other) => Boolean(one && other) && this.core.bookKey(one) === this.core.bookKey(other);
        const isInherited = message <= (open.metadata.forklore?.parent?.message ?? -1) && !isSame(found.book, open.book);
        return { ...found, isInherited };
    }

    async restore(message, options = {}) {
        const result = await this.mending.restore(message, options);
        if (!options.dryRun) {
            this.announce('restored', { ...result, message });
            await this.checkAgain();
        }
        return result;
    }

    async verifyOpen() {
        const open = this.mending.opened();
        const reach = await this.verifying.reach(open);
        const { chat, findings } = await this.lookAt(open, 'again', { reach: reach === 'open' ? 'owner' : reach });
        return { chat, findings };
    }

    async verifyAll(progress) {
        const { results, heads } = await this.verifying.all(progress);
        await this.checkAgain({ reach: 'all', listed: heads });
        return results;
    }

    repairOptions() {
        return this.mending.repairOptions(this.losing.name);
    }

    async repair(choice) {
        const result = await this.mending.repair(choice, this.losing.name);
        this.losing.name = null;
        this.announce('repaired', { ...result, source: choice.source });
        await this.checkAgain();
        return result;
    }

    async splitPlan({ family = false } = {}) {
        const { keeper, heads } = await this.verifying.sharing(this.mending.opened(), { family });
        return { keeper, chats: await this.mending.splitPlan(heads) };
    }

    async split({ family = false } = {}) {
        const { keeper, heads } = await this.verifying.sharing(this.mending.opened(), { family });
        const result = { keeper, chats: await this.mending.split(heads) };
        this.announce('split', result);
        await this.checkAgain();
        return result;
    }

    /** Lets SillyTavern's editor show the lorebook of the open chat. */
    showOwnBook() {
        this.whoseBook.showOwn();
    }

    cleanupPlan() {
        return this.cleaning.plan();
    }

    clean() {
        return this.cleaning.clean();
    }

    /** What differs between two moments. */
    compare(what) {
        return this.comparing.compare(what);
    }

    /** The timelines that can be compared, or that lore can be brought into. */
    timelineChoices() {
        return this.comparing.choices();
    }

    /** What bringing lore from one timeline into another would do. */
    bringPlan(wish) {
        return this.combining.plan(wish);
    }

    /** @returns {Promise<object>} what was done, or `{isStale: true, plan}` where it is not what was `seen` any more */
    async bring(wish, seen = null) {
        const { text, ...done } = await this.combining.carryOut(wish, seen);
        if (text !== undefined) {
            this.recording.bookChanged(done.book, text);
            this.host.showAnew(done.book);
            this.announce('combined', done);
            await this.checkAgain();
        }
        return done;
    }

    async undo(token) {
        const { restored, replaced } = await this.trash.giveBack(token);
        if (restored.length) {
            await this.combining.takeBack(token);
        }
        this.announce('undone', { restored });
        this.loreChanged();
        await this.checkAgain();
        return { restored, replaced };
    }

    async strip() {
        const count = this.recording.strip();
        if (count > 0) {
            await this.host.saveOpenChat();
        }
        return count;
    }
}

/** How what stands in the way is known: the metadata where only that does, the book otherwise. */
function leastKnown({ obstacles, book, metadata }) {
    const codes = obstacles.map((obstacle) => obstacle.code);
    const isMetadataOnly = codes.includes('metadata-not-exact') && !codes.includes('book-not-known');
    return isMetadataOnly ? metadata : book;
}
