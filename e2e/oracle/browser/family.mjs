// A family of timelines and everything that Forklore does to one, at random. After each operation every file of the family is
// what it must be: what the operation is not about has not changed by a byte, no lorebook is shared or missing, and
// what is undone is byte for byte what it was.

import { book, entry } from '../../harness/lore.mjs';
import { Random } from '../random.mjs';
import { bookText } from './child.mjs';

const OPERATIONS = { send: 18, edit: 20, fork: 14, switchTo: 12, merge: 12, restore: 6, remove: 9, clean: 4, shareAndSplit: 4, loseAndRepair: 2 };

export class Family {
    /**
     * @param {object} given
     * @param {number} given.seed
     * @param {import('../../harness/page.mjs').TavernPage} given.page with the extension's parts exposed
     * @param {import('../../harness/story.mjs').Story} given.story
     */
    constructor({ seed, page, story }) {
        this.random = new Random(seed);
        this.page = page;
        this.story = story;
        this.files = story.files;
        this.value = 0;
        /** What was done, and how often. @type {Map<string, number>} */
        this.counts = new Map();
        this.words = [];
        this.problems = [];
    }

    async live(steps) {
        this.tale = await this.story.begin({ book: book([0, 1, 2].map((uid) => entry(uid))), messages: 1 });
        this.main = this.tale.chat;
        await this.page.open(this.tale);
        await this.#rest();
        for (let step = 0; step < steps; step++) {
            const name = this.random.weighted(OPERATIONS);
            const before = this.#all();
            this.open = (await this.page.current()).chat;
            this.bound = this.#boundIn(before, this.open);
            this.may = new Set([chatKey(this.open)]);
            this.#count(name);
            await this[name](before);
            this.#compare(name, before);
        }
    }

    // ---- What is done ----

    async send() {
        await this.page.send(`said ${++this.value}`);
        await this.#rest();
    }

    async edit() {
        const how = { value: ++this.value, kind: this.random.pick(['change', 'change', 'add', 'remove']), which: this.random.below(50) };
        await this.page.raw.evaluate(async ({ value, kind, which }) => {
            const { loadWorldInfo, saveWorldInfo, chatMetadata } = SillyTavern.getContext();
            const data = chatMetadata.world_info && await loadWorldInfo(chatMetadata.world_info);
            if (!data) {
                return;
            }
            const all = Object.values(data.entries);
            const one = all[which % Math.max(1, all.length)];
            if (kind === 'add' || !one) {
                data.entries[100 + value] = { uid: 100 + value, key: ['new'], comment: `new ${value}`, content: `added ${value}` };
            } else if (kind === 'remove' && all.length > 1) {
                delete data.entries[one.uid];
            } else {
                one.content = `changed ${value}`;
            }
            await saveWorldInfo(chatMetadata.world_info, data, true);
        }, how);
        this.may.add(bookKey(this.bound));
        await this.#rest();
    }

    async fork() {
        const { messages } = await this.page.current();
        const child = await this.page.branchByImport(this.random.below(messages));
        await this.#rest();
        const after = this.#all();
        this.may.add(chatKey(child)).add(bookKey(this.#boundIn(after, child)));
    }

    async switchTo() {
        const to = this.random.pick(this.#chats());
        if (to !== this.open) {
            await this.page.switchTo(to);
        }
        this.may.add(chatKey(to));
        await this.#rest();
    }

    async merge(before) {
        const others = this.#chats().filter((name) => name !== this.open);
        if (others.length === 0) {
            return;
        }
        const from = this.random.pick(others);
        const into = this.random.chance(0.5) ? this.open : this.random.pick(this.#chats().filter((name) => name !== from));
        const target = bookKey(this.#boundIn(before, into));
        this.may.add(chatKey(into)).add(target);
        const { done } = await this.#ask('merge', (app, request) => app.bring(request), { from: { chat: from }, into, otherwise: this.random.pick(['ours', 'theirs']) });
        await this.#undo('merge', before, done?.undo, [target]);
    }

    async restore(before) {
        const { messages } = await this.page.current();
        this.may.add(bookKey(this.bound));
        const { done } = await this.#ask('restore', (app, message) => app.restore(message), this.random.below(messages));
        await this.#undo('restore', before, done?.undo, [bookKey(this.bound)], 1);
    }

    async remove(before) {
        const others = this.#chats().filter((name) => name !== this.open && name !== this.main);
        const some = this.random.chance(0.5) ? others.slice(0, 1) : others.filter(() => this.random.chance(0.5)).slice(0, 3);
        if (some.length === 0) {
            return;
        }
        const keys = some.flatMap((name) => [chatKey(name), bookKey(this.#boundIn(before, name))]);
        keys.forEach((key) => this.may.add(key));
        const { done } = await this.#ask('delete', async (app, names) => {
            const { refused, ...report } = await app.several.delete(names, { isForGood: false }, () => {});
            return { ...report, refused: refused && String(refused.error) };
        }, some);
        for (const token of [...done?.tokens ?? []].reverse()) {
            await this.#ask('put back', (app, token) => app.undo(token), token);
        }
        if (done?.tokens?.length) {
            this.#assertAsBefore('delete', before, keys);
        }
    }

    async clean(before) {
        const { done } = await this.#ask('clean', (app) => app.clean());
        const gone = [...before.keys()].filter((key) => !this.#all().has(key));
        const used = new Set(this.#chats().map((name) => bookKey(this.#boundIn(before, name))));
        const isWrong = gone.filter((key) => !isBook(key) || used.has(key));
        if (isWrong.length) {
            this.#false(`the clean up removed ${isWrong.join(', ')}, which is in use`);
        }
        gone.forEach((key) => this.may.add(key));
        await this.#undo('clean', before, done?.undo, gone, 1);
    }

    /** Two chats get one lorebook by the user's own hand, and the open one is split off. */
    async shareAndSplit(before) {
        const others = this.#chats().filter((name) => name !== this.open && this.#boundIn(before, name));
        if (others.length === 0) {
            return;
        }
        const shared = this.#boundIn(before, this.random.pick(others));
        await this.page.raw.evaluate(async (shared) => {
            const { chatMetadata, saveMetadata } = SillyTavern.getContext();
            chatMetadata.world_info = shared;
            await saveMetadata();
        }, shared);
        await this.#rest();
        await this.#ask('split', (app) => app.split({}));
        const own = bookKey(this.#boundIn(this.#all(), this.open));
        if (before.has(own)) {
            this.#false(`after the split “${this.open}” has a lorebook that was there before`);
        }
        this.may.add(own);
    }

    async loseAndRepair(before) {
        if (!this.bound || !this.#all().has(bookKey(this.bound))) {
            return;
        }
        await this.page.raw.evaluate(async (name) => (await import('/scripts/world-info.js')).deleteWorldInfo(name), this.bound);
        await this.page.settle();
        await this.#ask('repair', (app) => app.repair({ source: 'journal' }));
        const now = this.#all();
        const own = bookKey(this.#boundIn(now, this.open));
        this.may.add(bookKey(this.bound)).add(own);
        if (!now.has(own) || bookText(now.get(own)) !== bookText(before.get(bookKey(this.bound)))) {
            this.#false('the repaired lorebook is not what was lost');
        }
    }

    // ---- What must be true ----

    async #ask(what, step, given) {
        const result = await this.page.raw.evaluate(async ({ step, given }) => {
            try {
                return { done: await new Function(`return ${step}`)()(globalThis.forkloreApp, given) };
            } catch (error) {
                return { refused: String(error.message) };
            }
        }, { step: String(step), given });
        await this.#rest();
        this.#count(result.refused ? `${what}: refused` : `${what}: done`);
        if (result.refused) {
            this.words.push(`  (${what} refused: ${result.refused})`);
        }
        return result;
    }

    /** Sometimes takes it back. */
    async #undo(what, before, token, keys, probability = 0.7) {
        if (token && this.random.chance(probability)) {
            const { done } = await this.#ask(`undo ${what}`, (app, token) => app.undo(token), token);
            if (!done) {
                this.#false(`${what} could not be undone`);
            }
            this.#assertAsBefore(what, before, keys);
        }
    }

    #assertAsBefore(what, before, keys) {
        const now = this.#all();
        const differs = keys.filter((key) => before.get(key) !== now.get(key));
        this.#count(`undone byte for byte: ${what}`);
        differs.forEach((key) => this.#false(`${what} and its undo left ${key} different\n  was: ${before.get(key)?.slice(0, 1500)}\n  is:  ${now.get(key)?.slice(0, 1500)}`));
    }

    #compare(name, before) {
        const now = this.#all();
        this.words.push(`${name} in “${this.open}”`);
        const users = new Map();
        for (const chat of this.#chats()) {
            const bound = this.#boundIn(now, chat);
            if (bound) {
                users.set(bound, [...users.get(bound) ?? [], chat]);
                if (!now.has(bookKey(bound))) {
                    this.#false(`“${chat}” is bound to “${bound}”, which is missing`);
                }
            }
        }
        for (const [bound, chats] of users) {
            if (chats.length > 1 && !this.#isBeingShared(bound, before)) {
                this.#false(`“${bound}” is shared by ${chats.join(', ')}`);
            }
        }
        const changed = [...new Set([...before.keys(), ...now.keys()])].filter((key) => before.get(key) !== now.get(key) && !this.may.has(key));
        changed.forEach((key) => this.#false(`${key} changed\n  was: ${before.get(key)?.slice(0, 1500)}\n  is:  ${now.get(key)?.slice(0, 1500)}`));
        this.#count('all files compared');
    }

    /** A split that was refused leaves what the user did. */
    #isBeingShared(bound, before) {
        return this.#chats().filter((name) => this.#boundIn(before, name) === bound).length > 1 || this.words.at(-2)?.includes('split refused');
    }

    #false(problem) {
        this.problems.push(`${problem}\n${this.words.slice(-12).map((words) => `    ${words}`).join('\n')}`);
    }

    #count(what) {
        this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    }

    // ---- The files ----

    async #rest() {
        await this.page.settle();
        await this.page.raw.evaluate(() => SillyTavern.getContext().saveChat());
        await this.page.settle();
    }

    #chats() {
        return this.files.chats(this.tale);
    }

    #all() {
        return new Map([
            ...this.#chats().map((name) => [chatKey(name), this.files.chat(this.tale, name).text]),
            ...this.files.books().map((name) => [bookKey(name), this.files.book(name).text]),
        ]);
    }

    #boundIn(all, chat) {
        return JSON.parse(all.get(chatKey(chat)).split('\n')[0]).chat_metadata.world_info;
    }
}

const chatKey = (name) => `the chat “${name}”`;
const bookKey = (name) => `the lorebook “${name}”`;
const isBook = (key) => key.startsWith('the lorebook');
