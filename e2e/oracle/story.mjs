// Random stories: what people, SillyTavern and other extensions do to a chat, in any order.

import { Values } from './values.mjs';
import { World } from './world.mjs';

const BOOKS = ['Lore', 'Other lore'];

/** What may happen in a story of each kind, and how often. */
const EVERYDAY = {
    turn: 10, userMessage: 4, repliesInARow: 1.5, streamedReply: 3, lore: 8, loreAtOnce: 1, loreInPlace: 1, variables: 6, second: 5, idle: 4,
    swipe: 2, continueReply: 1, editText: 1, hide: 1, regenerate: 2, deleteEnd: 1.5, deleteMiddle: 1, deleteStart: 0.4, deleteRange: 0.5,
    insert: 1, copy: 0.7, swap: 0.7, reload: 2, reopen: 0.7, closeAndOpen: 1, rebind: 0.7, awayAndBack: 0.4, cancelledSave: 0.5, sceneBreak: 0.3,
};
const PROFILES = {
    clean: EVERYDAY,
    quick: { turn: 10, userMessage: 4, lore: 8, variables: 6, second: 5, idle: 4, reload: 2, deleteEnd: 1 },
    gaps: { ...EVERYDAY, switchOff: 3, switchOn: 5, disable: 2, enable: 4 },
    devices: { ...EVERYDAY, answerFails: 1, foreignEdit: 4, foreignUndone: 1, secondTab: 2, changeTab: 4, closeTab: 1, saveLost: 1, saveLate: 2 },
    bypassed: { ...EVERYDAY, bypass: 5, bypassTwo: 2, silentChange: 2, unwrap: 1 },
    books: { ...EVERYDAY, renameBook: 1.5, removeBook: 1, rebind: 3, awayAndBack: 2, grow: 2 },
    restored: { ...EVERYDAY, backup: 2, restoreBackup: 2 },
    wild: {
        ...EVERYDAY, switchOff: 1, switchOn: 2, disable: 1, enable: 2, foreignEdit: 1, foreignUndone: 0.5, secondTab: 0.7, changeTab: 1, closeTab: 0.5,
        saveLost: 0.7, saveLate: 1, bypass: 1, bypassTwo: 0.5, silentChange: 0.5, unwrap: 0.3, answerFails: 0.5, renameBook: 0.5, removeBook: 0.3, backup: 1, restoreBackup: 0.7, grow: 0.4,
    },
    watched: { turn: 6, userMessage: 4, streamedReply: 2, lore: 6, loreAtOnce: 3, variables: 3, second: 6, swipe: 1, regenerate: 1, deleteEnd: 0.7, deleteMiddle: 0.4, reload: 0.5, idle: 1 },
};
const SHARES = { clean: 30, quick: 8, gaps: 16, devices: 14, bypassed: 8, books: 8, restored: 6, wild: 10 };

/** In these, every message should have an exact answer, and nearly all of them do. */
const WITHOUT_GAPS = ['clean', 'quick', 'watched'];

export class Story {
    /**
     * @param {import('./random.mjs').Random} random
     * @param {object} parts
     * @param {(page: object) => object} [parts.recorderFor]
     * @param {string} [parts.profile]
     * @param {boolean} [parts.extension] whether the extension is enabled at all
     * @param {boolean} [parts.isRealTime]
     */
    constructor(random, { recorderFor, profile = random.weighted(SHARES), extension = true, isRealTime = false } = {}) {
        this.random = random;
        this.values = new Values(random);
        this.world = new World({ recorderFor, isRealTime });
        this.profile = profile;
        this.extension = extension;
        this.hasGaps = !WITHOUT_GAPS.includes(profile);
        /** How soon idle work runs and the server answers. */
        this.promptness = this.hasGaps ? random.pick([0.2, 0.6, 0.95]) : 0.85;
        this.limit = profile === 'books' && random.chance(0.4) ? 0.0006 : 8;
        if (this.limit < 1) {
            this.world.storyTags.add('book over the limit');
        }
        this.world.storyTags.add(`story: ${profile}`);
    }

    /** Starts with a chat file that no page has opened yet, with one message or a few. */
    begin() {
        const { world, random, values } = this;
        BOOKS.forEach((name) => world.server.writeBook(name, JSON.stringify(values.book())));
        const metadata = { integrity: 'slug', variables: { hp: 10 } };
        if (!random.chance(0.06)) {
            metadata.world_info = BOOKS[0];
        }
        const lines = [];
        for (let more = 1 + (random.chance(0.15) ? random.below(4) : 0); more > 0; more--) {
            const token = world.ledger.newToken();
            world.ledger.madeByHand(token, ['before the journal']);
            lines.push({ text: JSON.stringify(this.fields('greeting')), token });
        }
        world.server.writeChat(JSON.stringify({ chat_metadata: metadata, user_name: 'unused', character_name: 'unused' }), lines);
        world.tick();
        this.openPage();
    }

    openPage({ extension = this.extension } = {}) {
        const { world } = this;
        this.pageCount = (this.pageCount ?? 0) + 1;
        const page = world.addPage(`page ${this.pageCount}`, { extension, limit: this.limit });
        const preload = this.random.chance(0.6);
        world.say(`${page.label} opens the chat${extension ? '' : ' without the extension'}${preload ? '' : ', no book read yet'}`);
        page.open({ preload });
        this.page = page;
        this.freshPage = page;
        return page;
    }

    fields(kind) {
        const { random, values, world } = this;
        const isUser = kind === 'user';
        const text = isUser && random.chance(0.4) ? 'Continue.' : values.text();
        const message = { name: isUser ? 'User' : 'Ada', is_user: isUser, is_system: false, send_date: world.nextDate(), mes: text, extra: {} };
        if (random.chance(0.05)) {
            delete message.send_date;
        }
        return isUser ? message : { ...message, swipes: [text], swipe_id: 0, swipe_info: [{ extra: {} }] };
    }

    message(kind) {
        return this.page.makeMessage(this.fields(kind));
    }

    /** @param {number} steps */
    async run(steps) {
        this.begin();
        await this.breathe();
        await this.go(steps);
    }

    /** Continues for a while. */
    async go(steps) {
        for (let step = 0; step < steps; step++) {
            await this.step(this.random.weighted(PROFILES[this.profile]));
            await this.breathe();
        }
    }

    async step(name) {
        await this[name]();
    }

    /** Runs some of the pending idle work, answers and saves. */
    async breathe(promptness = this.promptness) {
        if (!this.hasGaps && this.freshPage === this.page) {
            // A page that opens a chat nearly always reads before it writes.
            this.freshPage = null;
            if (this.random.chance(0.95)) {
                await this.settle();
            }
        }
        for (const page of this.world.pages) {
            if (this.random.chance(promptness)) {
                page.idle.splice(0).forEach((run) => run());
            } else if (page.requests.length && this.random.chance(0.4)) {
                page.serverReads();
            }
            if (page.requests.length && this.random.chance(promptness)) {
                await microtasks();
                page.requests.slice().forEach(() => page.serverAnswers());
            }
            if (page.inFlight.length && this.random.chance(promptness)) {
                page.landOne();
            }
            await microtasks();
            if (page.isChatTimerSet && !page.isFrozen && this.random.chance(promptness)) {
                page.saveChat();
            }
        }
    }

    /** Completes everything that is pending. */
    async settle() {
        for (let round = 0; round < 8; round++) {
            for (const page of this.world.pages) {
                page.landAll();
                page.idle.splice(0).forEach((run) => run());
                await microtasks();
                while (page.requests.length) {
                    page.serverAnswers();
                    await microtasks();
                }
                if (page.isChatTimerSet) {
                    page.saveChat();
                }
            }
        }
    }

    /** Something small that happens in the middle of something else. */
    async interrupt(chance = 0.35) {
        if (this.random.chance(chance)) {
            await this.step(this.random.weighted({ lore: 3, variables: 3, second: 2, loreInPlace: 0.5 }));
        }
        await this.breathe(this.promptness / 2);
    }

    // Messages

    async userMessage() {
        const { page, world } = this;
        world.say(`a user message is sent, it will be message ${page.chat.length}`);
        page.push(this.message('user'));
        if (this.random.chance(0.3)) {
            await this.interrupt(0.4);
        }
        page.event();
        this.save();
    }

    async reply() {
        const { page, world, random } = this;
        if (random.chance(0.5)) {
            world.say('the prompt sets variables');
            page.changeMetadata((metadata) => this.values.editMetadata(metadata));
        }
        if (page.book && random.chance(0.8)) {
            if (this.hasGaps && random.chance(0.3)) {
                page.readBookSlowly(page.book);
            } else {
                page.readBookNow(page.book);
            }
        }
        world.say(`a reply is pushed, message ${page.chat.length}`);
        page.push(this.message('reply'));
        if (random.chance(0.3)) {
            world.say('a listener changes variables after the push, before the event');
            world.touch([page.chat.at(-1)], page, ['late listener']);
            page.changeMetadata((metadata) => this.values.editMetadata(metadata));
        }
        if (random.chance(0.15) && page.book) {
            world.say('a listener changes the lore after the push, before the event');
            world.touch([page.chat.at(-1)], page, ['late listener']);
            page.editBook(page.book, (book) => this.values.editBook(book));
        }
        page.event();
        this.save();
    }

    async turn() {
        await this.userMessage();
        await this.interrupt();
        await this.reply();
    }

    async repliesInARow() {
        for (let more = 2 + this.random.below(2); more > 0; more--) {
            await this.reply();
        }
    }

    async streamedReply() {
        const { page, world, random } = this;
        world.say(`a reply streams, message ${page.chat.length}`);
        const message = this.message('reply');
        message.mes = '';
        page.push(message, ['streaming']);
        for (let more = random.below(3); more > 0; more--) {
            message.mes += this.values.text();
            page.recorder?.streamed();
            await this.interrupt(0.5);
        }
        message.swipes[0] = message.mes;
        world.say('the stream ends');
        page.event();
        this.save();
    }

    async swipe() {
        const { page, world } = this;
        const last = page.chat.at(-1);
        if (!last?.swipes) {
            return;
        }
        world.say('the last message is swiped');
        world.tag('swipe');
        last.swipes.push(this.values.text());
        last.swipe_id = last.swipes.length - 1;
        last.mes = last.swipes.at(-1);
        last.send_date = world.nextDate();
        last.extra = {};
        page.event();
        this.save();
    }

    async continueReply() {
        const last = this.page.chat.at(-1);
        this.world.say('the last message is continued');
        last.mes += this.values.text();
        this.page.event();
        this.save();
    }

    async editText() {
        this.world.say('a message is edited');
        this.random.pick(this.page.chat).mes = this.values.text();
        this.save();
    }

    async hide() {
        this.world.say('a message is hidden');
        const message = this.random.pick(this.page.chat);
        message.is_system = !message.is_system;
        this.save();
    }

    async regenerate() {
        const { page, world } = this;
        if (page.chat.length < 2) {
            return;
        }
        world.say(`message ${page.chat.length - 1} is regenerated`);
        world.tag('regenerated');
        page.remove(page.chat.length - 1, 1, 'length', this.deletionTags());
        if (this.random.chance(0.6)) {
            page.event();
        }
        await this.interrupt();
        await this.reply();
    }

    deletionTags() {
        return [this.page.isWatched ? 'deletion, extension on' : 'deletion, extension off'];
    }

    async deleteEnd() {
        const { page, world, random } = this;
        if (page.chat.length < 2) {
            return;
        }
        world.say(`the last message, ${page.chat.length - 1}, is deleted`);
        world.tag('deletion at the end');
        page.remove(page.chat.length - 1, 1, random.pick(['splice', 'length', 'pop']), this.deletionTags());
        page.event();
        this.save();
    }

    async deleteMiddle() {
        const { page, world, random } = this;
        if (page.chat.length < 3) {
            return;
        }
        const place = 1 + random.below(page.chat.length - 2);
        world.say(`message ${place} is deleted`);
        page.remove(place, 1, 'splice', this.deletionTags());
        this.eventOrNot();
        this.save();
    }

    async deleteStart() {
        const { page, world } = this;
        if (page.chat.length < 3) {
            return;
        }
        world.say('message 0 is deleted');
        page.remove(0, 1, 'splice', this.deletionTags());
        this.eventOrNot();
        this.save();
    }

    async deleteRange() {
        const { page, world, random } = this;
        if (page.chat.length < 4) {
            return;
        }
        const count = 2 + random.below(2);
        const place = 1 + random.below(page.chat.length - count);
        const atEnd = random.chance(0.5);
        world.say(atEnd ? `all from message ${place} on are deleted` : `messages ${place} to ${place + count - 1} are deleted`);
        page.remove(place, atEnd ? page.chat.length - place : count, atEnd ? 'length' : 'splice', this.deletionTags());
        this.eventOrNot();
        this.save();
    }

    async insert() {
        const { page, world, random } = this;
        if (page.chat.length < 2) {
            return;
        }
        const place = 1 + random.below(page.chat.length);
        if (this.wouldForge()) {
            return;
        }
        world.say(`a message is put in at ${place}`);
        page.insert(place, this.message('user'), ['put in between']);
        this.eventOrNot();
        this.save();
    }

    async copy() {
        const { page, world, random } = this;
        const place = random.below(page.chat.length);
        if (this.wouldForge()) {
            return;
        }
        world.say(`message ${place} is copied`);
        const clone = page.makeMessage(JSON.parse(JSON.stringify(page.chat[place])));
        const isUnseen = !page.recorder || !page.settings.journal;
        const original = page.tokenOf.get(page.chat[place]);
        world.copies.set(page.tokenOf.get(clone), { original, isUnseen });
        if (world.recaps.has(original)) {
            world.recaps.set(page.tokenOf.get(clone), world.recaps.get(original));
        }
        page.insert(place + 1, clone, ['copied']);
        this.eventOrNot();
        this.save();
    }

    /** A swap and an insertion, both unnoticed, cannot be told from nothing: all records count correctly again. */
    wouldForge() {
        const { world, page } = this;
        world.hasUnseenInsert ||= !page.isWatched && !world.hasUnseenSwap;
        return !page.isWatched && world.hasUnseenSwap;
    }

    async swap() {
        const { page, world, random } = this;
        if (page.chat.length < 2 || (!page.isWatched && world.hasUnseenInsert)) {
            return;
        }
        const place = random.below(page.chat.length - 1);
        world.say(`messages ${place} and ${place + 1} change places`);
        world.hasUnseenSwap ||= !page.isWatched;
        page.swap(place, place + 1, [page.isWatched ? 'swapped, extension on' : 'swapped, extension off']);
        this.eventOrNot();
        this.save();
    }

    async bypass() {
        const { page, world, random } = this;
        world.say(`message ${page.chat.length} comes behind the back of push`);
        page.pushBypassed(this.message('reply'));
        if (random.chance(0.5)) {
            world.say('then variables change');
            page.changeMetadata((metadata) => this.values.editMetadata(metadata));
        }
        if (random.chance(0.3)) {
            await this.lore();
        }
        page.event();
        this.save();
    }

    async bypassTwo() {
        const { page, world } = this;
        world.say(`messages ${page.chat.length} and ${page.chat.length + 1} come behind the back of push, variables change between`);
        page.pushBypassed(this.message('reply'), ['two between two looks']);
        page.changeMetadata((metadata) => this.values.editMetadata(metadata));
        page.pushBypassed(this.message('reply'), ['two between two looks']);
        page.event();
        this.save();
    }

    /** Saves the book and the chat in turn, as fast as possible. */
    burst() {
        const { page, world, random } = this;
        world.say('book and chat are saved in turn, as fast as they can be');
        for (let more = 3 + random.below(5); more > 0; more--) {
            if (page.book) {
                page.editBook(page.book, (book) => this.values.editBook(book), { immediately: true });
            }
            page.push(this.message(random.pick(['user', 'reply'])), ['burst']);
            page.saveChat();
        }
    }

    /** Another extension removes the last message and adds another one, without any event. */
    async silentChange() {
        const { page, world } = this;
        if (page.chat.length < 2) {
            return;
        }
        world.say('the last message is replaced by another, without an event');
        page.remove(page.chat.length - 1, 1, 'pop', this.deletionTags());
        page.pushBypassed(this.message('reply'), ['replaced silently']);
        await this.interrupt(0.8);
    }

    /** Another extension restores the array's original methods. */
    async unwrap() {
        this.world.say("another extension puts the array's own push and splice back");
        this.world.tag('unwrapped');
        ['push', 'splice'].forEach((method) => Object.defineProperty(this.page.chat, method, { value: Array.prototype[method], configurable: true, writable: true, enumerable: false }));
    }

    eventOrNot() {
        if (this.random.chance(0.7)) {
            this.page.event();
        }
    }

    // Lore and metadata

    async lore(options = {}) {
        const { page, world } = this;
        if (!page.book) {
            return;
        }
        world.say(`the lore is edited while ${page.chat.length - 1} is the last message${options.immediately ? ', and saved at once' : ''}`);
        if (!page.cache.has(page.book)) {
            world.tag('book not read before');
        }
        page.editBook(page.book, (book) => this.values.editBook(book), options);
        if (!options.immediately) {
            world.tag('edit in the debounce');
        }
    }

    async loreAtOnce() {
        await this.lore({ immediately: true });
    }

    async loreInPlace() {
        const { page, world } = this;
        if (page.book) {
            world.say('the editor changes its copy of the lore in place');
            world.tag('copy changed in place');
            page.editBookInPlace(page.book, (book) => this.values.editBook(book));
        }
    }

    async variables() {
        this.world.say(`variables change while ${this.page.chat.length - 1} is the last message`);
        this.page.changeMetadata((metadata) => this.values.editMetadata(metadata));
        if (this.random.chance(0.5)) {
            this.save();
        }
    }

    async second() {
        if (this.page.bookTimer) {
            this.world.say('a second passes: the book is saved');
            this.page.saveBook(this.hasGaps && this.random.chance(0.1) ? 'later' : 'at once');
        }
    }

    /** Another book is saved within the second: the edit stays in the page's cache. */
    async cancelledSave() {
        const { page, world } = this;
        if (!page.book) {
            return;
        }
        const other = BOOKS.find((name) => name !== page.book && page.names.includes(name));
        if (!other) {
            return;
        }
        await this.lore();
        world.say('another book is saved within that second, which cancels the save');
        world.tag('save cancelled');
        page.editBook(other, (book) => this.values.editBook(book), { immediately: true });
    }

    async rebind() {
        const { page, world, random } = this;
        const choices = [...page.names.filter((name) => name !== page.book), null];
        const name = random.chance(0.85) ? random.pick(choices) : page.book;
        world.say(name ? `the chat is bound to "${name}"` : 'the chat is bound to no book');
        world.tag('bound to another book');
        page.changeMetadata((metadata) => {
            if (name) {
                metadata.world_info = name;
            } else {
                delete metadata.world_info;
            }
        });
        this.save();
    }

    async awayAndBack() {
        const { page, world } = this;
        const name = page.book;
        const other = page.names.find((known) => known !== name);
        if (!name || !other) {
            return;
        }
        world.say('the chat is bound to another book, the first is edited, and bound again');
        world.tag('bound away and back');
        page.changeMetadata((metadata) => {
            metadata.world_info = other;
        });
        page.editBook(name, (book) => this.values.editBook(book));
        if (this.random.chance(0.4)) {
            await this.breathe();
        }
        page.changeMetadata((metadata) => {
            metadata.world_info = name;
        });
    }

    async renameBook() {
        const { page, world } = this;
        if (page.book && this.world.server.books.has(page.book)) {
            const to = `Lore ${this.values.count++}`;
            world.say(`the book is renamed to "${to}"`);
            world.tag('book renamed');
            page.renameBook(page.book, to);
            this.save();
        }
    }

    async removeBook() {
        const { page, world } = this;
        if (page.book && world.server.books.has(page.book)) {
            world.say('the book is deleted');
            world.tag('book removed');
            page.removeBook(page.book);
        }
    }

    async grow() {
        const { page, world } = this;
        if (page.book) {
            world.say('the book grows');
            page.editBook(page.book, (book) => {
                book.entries[20] = { uid: 20, content: this.values.text() + 'y'.repeat(800) };
            }, { immediately: true });
        }
    }

    /** ST-Auto-Recap ends a scene, updates its lore a little later, and keeps a snapshot. */
    async sceneBreak() {
        const { page, world } = this;
        if (!page.book) {
            return;
        }
        const scene = page.chat.at(-1);
        world.say(`message ${page.chat.length - 1} ends a scene`);
        scene.extra = { ...scene.extra, auto_recap_memory: { scene_break: true, scene_break_visible: true } };
        await this.turn();
        if (!page.chat.includes(scene) || page !== this.page || !page.book) {
            return;
        }
        page.editBook(page.book, (book) => {
            book.entries[3] = { uid: 3, comment: 'recap', content: this.values.text(), key: ['recap'] };
        }, { immediately: true });
        const all = Object.values(page.cache.get(page.book).entries).map((entry) => ({ uid: entry.uid, comment: entry.comment, world: page.book, key: entry.key, content: entry.content }));
        scene.extra = { ...scene.extra, auto_recap_memory: {
            scene_break: true, scene_break_visible: true, scene_recap_versions: ['', '{}'], scene_recap_current_index: 1,
            scene_recap_metadata: { 1: { timestamp: 1, startIdx: 0, endIdx: 1, chatLorebookName: page.book, totalActivatedEntries: all.length, allEntries: all, entries: all } },
        } };
        world.recaps.set(page.tokenOf.get(scene), { bookName: page.book, entries: all.map(({ uid, content }) => JSON.stringify([uid, content])) });
        world.touch([scene], page, ['scene break']);
        world.say('the recap of that scene writes its lore');
        this.save();
    }

    // Saving, reloading, other pages

    save() {
        const { page, random } = this;
        if (random.chance(0.12)) {
            return;
        }
        page.saveChat(this.hasGaps && random.chance(0.06) ? 'later' : 'at once');
    }

    async saveLost() {
        this.world.say('a save of the chat and one of the book do not reach the server');
        this.world.tag('save lost');
        this.page.saveChat('lost');
        this.page.saveBook('lost');
    }

    async saveLate() {
        this.world.say('saves are slow');
        this.page.saveChat('later');
        this.page.saveBook('later');
    }

    async answerFails() {
        this.world.say('the server does not answer');
        this.page.idle.splice(0).forEach((run) => run());
        await microtasks();
        this.page.serverAnswers({ fails: true });
        await microtasks();
    }

    async idle() {
        await this.breathe(1);
    }

    async leave(page) {
        if (!this.hasGaps) {
            // People look away for longer than a file check takes.
            await this.settle();
        }
        if (this.random.chance(0.7)) {
            page.landAll();
        }
        page.close();
    }

    async reload() {
        const extension = Boolean(this.page.recorder);
        const wasOff = !this.page.settings.journal;
        this.world.say('the page is reloaded');
        this.world.tag('reload');
        await this.leave(this.page);
        this.openPage({ extension });
        if (wasOff) {
            this.page.settings.journal = false;
        }
    }

    async reopen() {
        const { page, world } = this;
        world.say('the chat is opened again in the same page');
        world.tag('reopened');
        if (!this.hasGaps) {
            await this.settle();
        }
        page.landAll();
        page.open({ preload: this.random.chance(0.5) });
    }

    async closeAndOpen() {
        const extension = Boolean(this.page.recorder);
        this.world.say('the page is closed');
        this.world.tag('closed and opened');
        await this.leave(this.page);
        if (this.random.chance(0.5)) {
            this.foreignWrite('another device edits the book meanwhile');
        }
        this.openPage({ extension });
    }

    foreignWrite(words) {
        const { server } = this.world;
        const name = (this.world.pages[0] ?? this.page).book;
        if (!name || !server.books.has(name)) {
            return;
        }
        this.world.say(words);
        const book = JSON.parse(server.books.get(name));
        this.values.editBook(book);
        server.writeBook(name, JSON.stringify(book));
        this.world.tick();
    }

    async foreignEdit() {
        this.world.tag('foreign edit');
        this.foreignWrite('another device edits the book');
    }

    async foreignUndone() {
        const { server } = this.world;
        const name = this.page.book;
        const before = name && server.books.get(name);
        if (!before) {
            return;
        }
        this.world.tag('foreign edit, undone');
        this.foreignWrite('another device edits the book');
        await this.interrupt(0.5);
        if (this.random.chance(0.5)) {
            await this.userMessage();
        }
        this.world.say('and puts it back');
        server.writeBook(name, before);
        this.world.tick();
    }

    async secondTab() {
        if (this.world.pages.length < 3) {
            this.world.say('a second tab');
            this.world.tag('second tab');
            this.openPage({ extension: this.extension && this.random.chance(0.8) });
        }
    }

    async changeTab() {
        const others = this.world.pages.filter((page) => page !== this.page);
        if (others.length) {
            this.page = this.random.pick(others);
            this.world.tag('second tab');
            this.world.say(`on in ${this.page.label}`);
        }
    }

    async closeTab() {
        const others = this.world.pages.filter((page) => page !== this.page);
        if (others.length) {
            this.world.say(`${this.page.label} is closed`);
            await this.leave(this.page);
            this.page = this.random.pick(others);
        }
    }

    async switchOff() {
        const { page, world } = this;
        if (page.isWatched) {
            world.say('the journal is switched off');
            world.tag('extension off');
            if (this.random.chance(0.5)) {
                page.event();
            }
            page.settings.journal = false;
            world.tick();
        }
    }

    async switchOn() {
        const { page, world } = this;
        if (page.recorder && !page.settings.journal) {
            world.say('the journal is switched on');
            world.tag('extension off');
            page.settings.journal = true;
            world.tick();
            if (this.random.chance(0.5)) {
                page.event();
            }
        }
    }

    async disable() {
        if (this.page.recorder) {
            this.world.tag('extension off');
            await this.leave(this.page);
            this.openPage({ extension: false });
        }
    }

    async enable() {
        if (!this.page.recorder) {
            this.world.tag('extension off');
            await this.leave(this.page);
            this.openPage({ extension: this.extension });
        }
    }

    async backup() {
        const { world } = this;
        world.say('a backup of the chat is made');
        world.backups.push(world.server.chat);
    }

    async restoreBackup() {
        const { world, random } = this;
        if (!world.backups.length) {
            return;
        }
        world.say('all pages are closed and a backup of the chat is restored');
        for (const page of [...world.pages]) {
            await this.leave(page);
        }
        const { header, lines } = random.pick(world.backups);
        world.server.writeChat(header, lines);
        world.tag('backup restored');
        world.storyTags.add('backup restored');
        world.tick();
        this.openPage();
    }
}

/** Lets pending answers arrive. */
export function microtasks() {
    return new Promise((resolve) => setImmediate(resolve));
}
