// One random story in a real page: what people, SillyTavern, other extensions, another tab and another device do, and forks.

import { book, entry } from '../../harness/lore.mjs';
import { reply } from '../../harness/story.mjs';
import { closeTab, openTab } from '../../harness/tabs.mjs';
import { until } from '../../harness/until.mjs';
import { slowDown } from '../../harness/wire.mjs';
import { Random } from '../random.mjs';
import { isSameBook, judgeChild, metadataText } from './child.mjs';
import { contents, giveEyes, look, lookAtFile, openEyes } from './eyes.mjs';
import { Shelf } from './shelf.mjs';

const EVERYDAY = {
    talk: 12, swipe: 3, regenerate: 2, goOn: 2, say: 12, pushTwice: 2, assign: 2, lore: 16, loreInEditor: 2, variables: 10,
    remove: 2, cut: 2, hide: 1, edit: 1, move: 1, copy: 1, insert: 1, fork: 14, bind: 1.5, reload: 1, renameChat: 1, renameBook: 1,
};
/** What may happen in a story of each kind, and what has to. */
const KINDS = {
    everyday: { weights: EVERYDAY, must: ['swipe', 'pushTwice', 'lore'] },
    slow: { weights: EVERYDAY, must: ['lore', 'fork'] },
    tabs: { weights: { ...EVERYDAY, tab: 6 }, must: ['tab', 'reload'] },
    devices: { weights: { ...EVERYDAY, loreElsewhere: 5, phone: 3, phoneInClosed: 6 }, must: ['loreElsewhere', 'phone', 'phoneInClosed'] },
    gaps: { weights: { ...EVERYDAY, journal: 5, withoutForklore: 1 }, must: ['journal', 'withoutForklore'] },
};
/** Every way to fork, in turn. */
const WAYS = ['branchByButton', 'checkpointByButton', 'branchByCommand', 'checkpointByCommand', 'branchByImport', 'branchBySwipe'];

export class Teller {
    /**
     * @param {object} given
     * @param {number} given.seed
     * @param {import('../../harness/page.mjs').TavernPage} given.page with eyes
     * @param {import('../../harness/story.mjs').Story} given.story
     * @param {import('../../harness/model.mjs').FakeModel} given.model
     * @param {import('../tally.mjs').Tally} given.tally
     */
    constructor({ seed, page, story, model, tally }) {
        this.seed = seed;
        this.random = new Random(seed);
        /** Of its own, because nobody knows in which order requests come. */
        this.slowness = new Random(-seed);
        this.page = page;
        this.story = story;
        this.files = story.files;
        this.st = story.st;
        this.model = model;
        this.tally = tally;
        this.kind = Object.keys(KINDS)[seed % 5];
        this.isGroup = seed % 3 === 0;
        this.words = [];
        this.value = 0;
        this.forks = 0;
        /** What this story has met so far. @type {Set<string>} */
        this.situations = new Set();
        /** Children that nobody has bound to another lorebook since. @type {Set<string>} */
        this.sealed = new Set();
        this.shelf = new Shelf({ files: this.files, seed });
    }

    // ---- The story ----

    tell(steps) {
        return this.#answering(this.#tellAll(steps));
    }

    /** Two tabs or devices that change the same entry are asked which version they want: this tab's, as long as the story goes on. */
    async #answering(told) {
        let isOver = false;
        const ending = told.finally(() => { isOver = true; });
        // An error is handled where it is awaited.
        ending.catch(() => {});
        while (!isOver) {
            await Promise.all([this.page, this.other].map((page) => page && keepOwnVersion(page).catch(() => {})));
            await Promise.race([ending.catch(() => {}), new Promise((resolve) => setTimeout(resolve, 100))]);
        }
        return ending;
    }

    async #tellAll(steps) {
        await this.#begin();
        const { weights, must } = KINDS[this.kind];
        const fixed = new Map(must.map((name, nth) => [1 + Math.floor(((nth + this.random.next()) * (steps - 2)) / must.length), name]));
        for (let step = 0; step < steps; step++) {
            const name = fixed.get(step) ?? this.random.weighted(weights);
            await this.#touch();
            await this[name]();
            await this.#touch();
            if (this.random.chance(0.3)) {
                await this.rest();
            }
        }
        await this.fork({ way: 'branchByImport' });
        await this.rest();
        this.#checkSharing();
        await this.endSlowness?.();
        await this.#closeTab();
    }

    async #begin() {
        const { seed, random } = this;
        this.speaker = `Ada${seed}x`;
        this.current = `${seed} Main`;
        this.books = [`${seed} Lore`, `${seed} Other`];
        const avatar = await this.story.character(this.speaker, this.isGroup ? undefined : this.current);
        this.tale = { group: null, avatar, name: this.speaker, speaker: this.speaker, chat: this.current, book: this.books[0] };
        if (this.isGroup) {
            const members = [avatar, await this.story.character(`Bo${seed}x`)];
            Object.assign(this.tale, { group: await this.story.group(`Company ${seed}`, members, this.current), avatar: null, name: `Company ${seed}` });
        }
        this.books.forEach((name) => this.story.writeBook(name, book([0, 1, 2].slice(random.below(2)).map((uid) => entry(uid, { content: `${name} ${uid}` })))));
        this.story.writeChat(this.tale, this.current, {
            messages: [0, 2].map((number) => ({
                ...reply(number, { name: this.speaker, group: this.isGroup, swipes: 3 }),
                oracle: { id: `begun-${seed}-${number}`, came: null, books: [], metadata: [] },
            })),
            metadata: { variables: { hp: 10 }, ...(random.chance(0.9) && { world_info: this.books[0] }) },
        });
        this.#met(this.isGroup ? 'story in a group' : 'story of one character');
        this.#met(`story: ${this.kind}`);
        await this.#record(true);
        await this.page.open(this.tale);
        if (this.kind === 'slow') {
            this.endSlowness = await slowDown(this.page, (endpoint) => this.#delay(endpoint));
        }
        this.shelf.begin(this.tale);
    }

    /** Mostly what is saved and read is slow, up to three seconds. */
    #delay(endpoint) {
        const isAbout = /chats|worldinfo|groups/.test(endpoint);
        const time = isAbout && this.slowness.chance(0.4) ? Math.floor(3000 * this.slowness.next() ** 2) : 0;
        if (time > 500) {
            this.#met('slow answer');
        }
        return time;
    }

    #tell(words) {
        this.words.push(words);
    }

    #met(situation) {
        this.situations.add(situation);
    }

    /** Notes which files the page may write now. */
    async #touch() {
        const { chat, book: bound } = await this.page.current();
        if (chat) {
            this.current = chat;
        }
        this.shelf.mayChange({ chats: [chat], books: [bound] });
    }

    /** Waits until nothing is under way, and looks at the files. */
    async rest() {
        const { page } = this;
        await this.#idle();
        await page.settle();
        await this.#touch();
        const sight = await look(page);
        if (sight.errors.length) {
            throw new Error(`the oracle's eyes: ${sight.errors[0]}`);
        }
        const missing = () => {
            const there = this.files.chat(this.tale, this.current).messages.map(({ mes }) => mes);
            return sight.messages.filter(({ said }) => !there.includes(said) || !there.splice(there.indexOf(said), 1)).map(({ said }) => `“${said}”`);
        };
        const isThere = await until('all messages to be on disk', () => missing().length === 0).catch(() => false);
        if (!isThere) {
            this.#false(`LOST: of “${this.current}”, messages ${missing().join(', ')} are in the page and not on disk`);
        }
        this.shelf.compare().forEach((problem) => this.#false(problem));
    }

    #false(problem) {
        this.tally.false.push(`${problem}\n${this.toString()}`);
    }

    /** The story so far, in words. */
    toString() {
        const head = `  seed ${this.seed}: a story of the kind “${this.kind}”${this.isGroup ? ' in a group' : ''}`;
        return [head, ...this.words.map((words, nth) => `  ${nth + 1}. ${words}`)].join('\n');
    }

    async #idle(page = this.page) {
        await until('SillyTavern to have written', async () => {
            return page.raw.evaluate(async () => {
                const { isChatSaving, isGenerating, is_send_press: isSending } = await import('/script.js');
                return !isChatSaving && !isGenerating() && !isSending;
            });
        });
    }

    // ---- Talking ----

    async talk() {
        this.#tell('the user speaks, and the model answers');
        const box = this.page.raw.locator('#send_textarea');
        await this.#generate(async () => {
            await box.fill(this.random.chance(0.4) ? 'Continue.' : `speaks ${++this.value}`);
            await until('the text to be sent', async () => {
                await box.press('Enter');
                return await box.inputValue() === '';
            }, { every: 1000 });
        });
    }

    async swipe() {
        const { messages } = await look(this.page);
        const last = messages.at(-1);
        // Nobody of a group can say anew what somebody else has said.
        if (messages.length < 2 || last.isUser || last.isSystem || (this.isGroup && last.name === 'Somebody')) {
            return this.talk();
        }
        const isThere = last.swipe < last.swipes - 1;
        this.#tell(isThere ? 'the next swipe of the last message is shown' : 'the last message is swiped');
        const press = () => this.page.raw.locator('.last_mes .swipe_right').filter({ visible: true }).first().click();
        await (isThere ? press() : this.#generate(press));
        await this.#idle();
    }

    async regenerate() {
        this.#tell('the last message is generated again');
        await this.#generate(() => this.page.menu('#option_regenerate'));
    }

    async goOn() {
        this.#tell('the last message is continued');
        await this.#generate(() => this.page.menu('#option_continue'));
    }

    /** Streamed or at once; sometimes lore or variables change while the reply comes. */
    async #generate(press) {
        const isStreamed = this.random.chance(0.5);
        await this.page.raw.evaluate((isStreamed) => void (SillyTavern.getContext().chatCompletionSettings.stream_openai = isStreamed), isStreamed);
        const isMine = (asked) => JSON.stringify(asked).includes(this.speaker);
        const next = () => this.model.take(isMine);
        await press();
        let asked = await until('the model to be asked', next);
        while (asked) {
            await this.#answer(asked);
            let more;
            // In a group several may answer.
            await until('the reply', async () => (more = next()) || this.page.raw.evaluate(async () => {
                const { isChatSaving, isGenerating, is_send_press: isSending } = await import('/script.js');
                return !isChatSaving && !isGenerating() && !isSending && !document.body.dataset.generating;
            }));
            asked = more;
        }
    }

    async #answer(asked) {
        const text = `reply ${++this.value}`;
        const during = this.random.chance(0.4) ? this.random.pick(['lore', 'variables']) : null;
        if (!asked.asked.stream) {
            if (during) {
                this.#tell('while the model thinks:');
                await this[during]();
            }
            asked.whole(text);
            return;
        }
        asked.begin();
        asked.say(`${text} `);
        if (during) {
            this.#tell('while the reply is streamed:');
            this.#met('change while a reply is streamed');
            await this[during]();
        }
        asked.say('to the end');
        asked.end();
    }

    async say() {
        const value = ++this.value;
        const command = this.random.pick([`/send said ${value}`, '/send Continue.', `/sendas name="${this.speaker}" said ${value}`, `/sys told ${value}`, `/comment noted ${value}`]);
        this.#tell(command);
        await this.page.run(command);
    }

    /** As an extension does that makes two messages of one answer. */
    async pushTwice() {
        this.#tell('an extension puts in two messages and changes a variable between them');
        this.#met('two messages at once');
        await this.page.raw.evaluate(async (value) => {
            const { chat, chatMetadata, saveChat, reloadCurrentChat } = SillyTavern.getContext();
            const message = (text) => ({ name: 'Somebody', is_user: false, is_system: false, send_date: new Date().toISOString(), mes: text, extra: {} });
            chat.push(message(`one ${value}`));
            chatMetadata.variables = { ...chatMetadata.variables, between: value };
            chat.push(message(`two ${value}`));
            await saveChat();
            await reloadCurrentChat();
        }, ++this.value);
    }

    async assign() {
        this.#tell('an extension assigns a message to the array instead of pushing it');
        this.#met('message assigned');
        await this.page.raw.evaluate(async (value) => {
            const { chat, saveChat, reloadCurrentChat } = SillyTavern.getContext();
            globalThis.oracle.assigning(() => {
                chat[chat.length] = { name: 'Somebody', is_user: false, is_system: false, send_date: new Date().toISOString(), mes: `assigned ${value}`, extra: {} };
            });
            await saveChat();
            await reloadCurrentChat();
        }, ++this.value);
    }

    // ---- Lore and metadata ----

    async lore(page = this.page, { atOnce = this.random.chance(0.5), inPlace = this.random.chance(0.1) } = {}) {
        const how = { kind: this.random.pick(['change', 'change', 'change', 'add', 'remove']), which: this.random.below(50), value: ++this.value, atOnce, inPlace };
        this.#tell(`lore: ${how.kind}, ${atOnce ? 'saved at once' : 'saved a second later'}${inPlace ? ', and changed again without a save' : ''}`);
        await page.raw.evaluate(async ({ kind, which, value, atOnce, inPlace }) => {
            const { loadWorldInfo, saveWorldInfo, world_names: names } = await import('/scripts/world-info.js');
            const name = SillyTavern.getContext().chatMetadata.world_info;
            const data = names.includes(name) && await loadWorldInfo(name);
            if (!data) {
                return;
            }
            const uids = Object.keys(data.entries);
            const one = data.entries[uids[which % Math.max(1, uids.length)]];
            if (kind === 'add' || !one) {
                data.entries[value] = { uid: value, key: ['new'], keysecondary: [], comment: `new ${value}`, content: `added ${value}`, order: 50, position: 0 };
            } else if (kind === 'remove' && uids.length > 1) {
                delete data.entries[one.uid];
            } else {
                one.content = `changed ${value}`;
            }
            await saveWorldInfo(name, data, atOnce);
            if (inPlace && one) {
                one.content = `changed in place ${value}`;
            }
        }, how);
    }

    async loreInEditor() {
        const { book: bound } = await this.page.current();
        // What the page holds may not be saved yet.
        const held = bound && this.files.books().includes(bound) ? await heldBook(this.page, bound) ?? this.files.book(bound).text : null;
        const [uid] = Object.keys(JSON.parse(held ?? '{}').entries ?? {});
        if (uid === undefined) {
            return this.variables();
        }
        this.#tell('an entry is edited in SillyTavern’s editor');
        const field = await this.page.openInEditor(bound, uid);
        await field.fill(`typed ${++this.value}`);
        await this.page.raw.locator('#WIDrawerIcon').click();
    }

    async variables(page = this.page) {
        const value = ++this.value;
        const commands = [`/setvar key=hp ${value}`, `/addvar key=gold ${value}`, `/note note ${value}`, `/inject id=i${value % 2} position=chat depth=2 injected ${value}`];
        const command = this.random.pick([...commands, null]);
        this.#tell(command ?? 'another extension changes its metadata');
        if (command) {
            await page.run(command);
            return;
        }
        await page.raw.evaluate((value) => {
            const { chatMetadata, saveMetadataDebounced } = SillyTavern.getContext();
            chatMetadata.neighbour = { value, list: [value] };
            saveMetadataDebounced();
        }, value);
    }

    async bind() {
        const to = this.random.pick([this.books[0], this.books[1], null]);
        this.#tell(to ? `“${to}” is bound to the chat` : 'no lorebook is bound any more');
        this.#met('another lorebook bound');
        await this.page.raw.evaluate(async (to) => {
            const { chatMetadata, saveMetadata } = SillyTavern.getContext();
            const { world_names: names } = await import('/scripts/world-info.js');
            if (to && names.includes(to)) {
                chatMetadata.world_info = to;
            } else {
                delete chatMetadata.world_info;
            }
            await saveMetadata();
        }, to);
        this.sealed.delete(this.current);
    }

    // ---- Messages that go, move and change ----

    async remove() {
        await this.#ifLong(3, () => `/del ${1 + this.random.below(2)}`, 'messages deleted at the end');
    }

    async cut() {
        await this.#ifLong(4, (count) => {
            const from = this.random.below(count - 1);
            return this.random.chance(0.5) ? `/cut ${from}` : `/cut ${from}-${from + 1}`;
        }, 'messages deleted');
    }

    async hide() {
        await this.#ifLong(1, (count) => this.random.pick([`/hide ${this.random.below(count)}`, `/unhide ${this.random.below(count)}`]));
    }

    async insert() {
        await this.#ifLong(1, (count) => `/sys at=${1 + this.random.below(count)} put in ${++this.value}`, 'message put in between');
    }

    async #ifLong(least, commandFor, situation = null) {
        const { messages } = await this.page.current();
        if (messages > least) {
            const command = commandFor(messages);
            this.#tell(command);
            if (situation) {
                this.#met(situation);
            }
            await this.page.run(command);
        }
    }

    async edit() {
        await this.#editing(async (shown) => {
            this.#tell('a message is edited');
            await shown.locator('.edit_textarea').fill(`edited ${++this.value}`);
        });
    }

    async move() {
        const way = this.random.pick(['up', 'down']);
        await this.#editing(async (_shown, isFirst, isLast) => {
            const direction = isFirst ? 'down' : isLast ? 'up' : way;
            if (isFirst && isLast) {
                return;
            }
            this.#tell(`a message is moved ${direction}`);
            this.#met('message moved');
            await this.page.raw.locator(`.mes .mes_edit_${direction}`).filter({ visible: true }).first().click();
        });
    }

    async copy() {
        await this.#editing(async () => {
            this.#tell('a message is copied');
            this.#met('message copied');
            await this.page.raw.locator('.mes .mes_edit_copy').filter({ visible: true }).first().click();
            await this.page.confirm();
        });
    }

    async #editing(act) {
        const { messages } = await this.page.current();
        const message = this.random.below(messages);
        await this.page.messageAction(message, '.mes_edit');
        const shown = this.page.raw.locator(`.mes[mesid="${message}"]`);
        await shown.locator('.edit_textarea').waitFor();
        await act(shown, message === 0, message === messages - 1);
        await this.page.raw.locator('.mes .mes_edit_done').filter({ visible: true }).first().click();
        await this.page.raw.locator('#chat .edit_textarea').waitFor({ state: 'detached' });
        await this.#idle();
    }

    // ---- Names ----

    async renameChat() {
        await this.#idle();
        const [from, to] = [this.current, `${this.seed} Renamed ${++this.value}`];
        this.#tell(`the chat is renamed to “${to}”`);
        this.#met('chat renamed');
        // Its children follow.
        this.shelf.mayChange({ chats: [from, to, ...this.shelf.forkedFrom(from)] });
        await this.page.opening(() => this.page.raw.evaluate(async ({ from, to }) => {
            const { renameGroupOrCharacterChat } = await import('/script.js');
            const { characterId, groupId } = SillyTavern.getContext();
            await renameGroupOrCharacterChat({ characterId: groupId ? undefined : characterId, groupId: groupId ?? undefined, oldFileName: from, newFileName: to, loader: false });
        }, { from, to }));
        this.current = to;
        if (this.sealed.delete(from)) {
            this.sealed.add(to);
        }
    }

    async renameBook() {
        await this.#idle();
        const { book: bound } = await this.page.current();
        if (!bound || !this.files.books().includes(bound) || Object.keys(this.files.book(bound).value.entries).length === 0) {
            return;
        }
        const to = `${this.seed} Book ${++this.value}`;
        this.#tell(`the lorebook is renamed to “${to}”`);
        this.#met('lorebook renamed');
        // Other chats may be bound to it, too.
        this.shelf.mayChange({ chats: this.shelf.boundTo(bound), books: [bound, to] });
        await this.page.renameBook(bound, to);
        this.books = this.books.map((name) => (name === bound ? to : name));
    }

    // ---- Pages ----

    async reload() {
        this.#tell('the page is reloaded');
        this.#met('page reloaded');
        await this.#idle();
        await this.page.settle();
        await this.#reloaded();
    }

    async #reloaded() {
        await this.page.reload();
        await openEyes(this.page);
        await this.#record(!this.isOff);
        await this.page.open(this.tale, this.current);
    }

    /** @param {boolean} isOn */
    async #record(isOn) {
        await this.page.raw.evaluate((isOn) => void (SillyTavern.getContext().extensionSettings.forklore.journal = isOn), isOn);
    }

    async journal() {
        this.isOff = !this.isOff;
        this.#tell(this.isOff ? 'recording is switched off' : 'recording is switched on');
        this.#met('recording switched');
        await this.#record(!this.isOff);
    }

    async withoutForklore() {
        this.#tell('the page is reloaded without Forklore');
        this.#met('without Forklore for a while');
        const isList = (url) => url.pathname === '/api/extensions/discover';
        await this.page.raw.route(isList, async (route) => {
            const found = await (await route.fetch()).json();
            await route.fulfill({ json: found.filter(({ name }) => name !== 'third-party/forklore') });
        });
        this.page.hasForklore = false;
        await this.reload();
        for (let more = 1 + this.random.below(3); more > 0; more--) {
            await this[this.random.pick(['say', 'lore', 'variables', 'talk'])]();
        }
        await this.page.raw.unroute(isList);
        this.page.hasForklore = true;
        await this.reload();
    }

    /** Another tab opens the chat, does something, and forks; this one goes on with what it has, or reloads. */
    async tab() {
        this.#met('second tab');
        await this.#idle();
        await this.#save();
        if (this.other) {
            await this.other.refresh();
            await this.other.switchTo(this.current);
        } else {
            this.other = await openTab(this.page, { beforeLoading: giveEyes });
            await openEyes(this.other);
            await this.other.open(this.tale, this.current);
        }
        const { other } = this;
        for (let more = 1 + this.random.below(3); more > 0; more--) {
            this.#tell('in another tab:');
            const what = this.random.pick(['lore', 'variables', 'send']);
            await (what === 'lore' ? this.lore(other, { atOnce: true, inPlace: false }) : what === 'variables' ? this.variables(other) : this.#send(other));
        }
        if (this.random.chance(0.5)) {
            this.#tell('in another tab:');
            await this.fork({ page: other, isBack: true });
        }
        await this.#idle(other);
        // A second later SillyTavern itself would write over what this tab does next.
        await other.raw.evaluate(async () => {
            const { cancelDebouncedMetadataSave } = await import('/scripts/extensions.js');
            cancelDebouncedMetadataSave();
            await SillyTavern.getContext().saveMetadata();
        });
        await other.settle();
        await this.page.raw.bringToFront();
        await lookAtFile(this.page);
        if (this.random.chance(0.5)) {
            await this.reload();
        } else {
            this.#tell('and this tab knows nothing of it');
            this.#met('second tab, unnoticed');
        }
    }

    async #send(page) {
        this.#tell('a message is sent');
        await page.send(`from there ${++this.value}`);
    }

    async #closeTab() {
        if (this.other) {
            await closeTab(this.other);
            this.other = undefined;
        }
    }

    #save(page = this.page) {
        return page.raw.evaluate(() => SillyTavern.getContext().saveChat());
    }

    // ---- Another device ----

    async loreElsewhere() {
        const { book: bound } = await this.page.current();
        if (!bound || !this.files.books().includes(bound)) {
            return;
        }
        await this.page.settle();
        this.#tell('another device saves the lorebook');
        this.#met('lorebook saved elsewhere');
        const { value: data } = this.files.book(bound);
        const [first] = Object.values(data.entries);
        if (first) {
            first.content = `from elsewhere ${++this.value}`;
        }
        await this.st.post('/api/worldinfo/edit', { name: bound, data });
        await lookAtFile(this.page);
    }

    /** Another device goes on with the open chat, and this page opens it again. */
    async phone() {
        this.#met('chat saved elsewhere');
        await this.rest();
        this.#tell('another device goes on with this chat, and it is opened again here');
        await this.#savedByPhone(this.current, 1 + this.random.below(2));
        await this.#reloaded();
    }

    /** Another device goes on with a chat that is not open here. */
    async phoneInClosed() {
        const closed = this.shelf.chats().filter((name) => name !== this.current);
        if (closed.length === 0) {
            return this.fork({ way: 'checkpointByCommand' });
        }
        const name = this.random.pick(closed);
        this.#tell(`another device goes on with “${name}”`);
        this.#met('closed chat saved elsewhere');
        this.shelf.mayChange({ chats: [name] });
        await this.#savedByPhone(name, 1);
        this.shelf.isNow({ chat: name });
    }

    async #savedByPhone(name, count) {
        const { header, messages } = this.files.chat(this.tale, name);
        const bound = header.chat_metadata.world_info;
        const lore = !bound ? 'none' : this.files.books().includes(bound) ? this.files.book(bound).text : 'missing';
        const [one, two] = [`phone ${this.seed} ${++this.value} book`, `phone ${this.seed} ${this.value} metadata`];
        contents.set(one, lore);
        contents.set(two, metadataText(header.chat_metadata));
        const more = Array.from({ length: count }, () => ({
            name: 'User', is_user: true, is_system: false, send_date: new Date().toISOString(), mes: 'Continue.', extra: {},
            // The other device has no extension that would claim to know its arrival.
            oracle: { id: `phone-${this.seed}-${++this.value}`, came: { book: one, metadata: two, isBehind: false }, books: [one], metadata: [two] },
        }));
        const chat = [header, ...messages, ...more];
        await (this.tale.group
            ? this.st.post('/api/chats/group/save', { id: name, chat })
            : this.st.post('/api/chats/save', { ch_name: this.tale.name, file_name: name, chat, avatar_url: this.tale.avatar }));
    }

    // ---- Forks ----

    /** @param {{ page?: import('../../harness/page.mjs').TavernPage, way?: string, isBack?: boolean }} [how] `isBack`: the parent is opened again */
    async fork({ page = this.page, way = WAYS[(this.seed + this.forks++) % WAYS.length], isBack = false } = {}) {
        await this.#idle(page);
        const parent = this.current;
        const sight = await look(page);
        const all = sight.messages.map((message, at) => ({ ...message, at }));
        const possible = all.filter((message) => (way === 'branchBySwipe' ? !message.isUser && !message.isSystem && message.swipes > 1 : !way.startsWith('checkpoint') || !message.hasCheckpoint));
        if (possible.length === 0) {
            return;
        }
        const { at, swipes } = this.random.chance(0.25) ? possible.at(-1) : this.random.pick(possible);
        const swipe = this.random.below(Math.max(1, swipes));
        this.#tell(`${way} at message ${at} of “${parent}”, whose last is ${all.length - 1}`);
        const before = sight.book && this.shelf.book(sight.book);
        const there = new Map(this.shelf.chats().map((name) => [name, this.files.chat(this.tale, name).text]));
        const child = await page[way](at, ...(way === 'branchBySwipe' ? [swipe] : []));
        const isOpened = ['branchByButton', 'branchByCommand', 'branchBySwipe'].includes(way);
        this.words[this.words.length - 1] += ` → “${child}”`;
        const { metadata, messages, text } = await this.files.chatWhen(this.tale, child);
        if (there.has(child)) {
            // A tab that does not know another one's branch gives it its own list of a group's chats, and then takes the name again.
            this.#met('name of a branch that this tab does not know');
            if (text !== there.get(child)) {
                this.#false(`LOST: “${child}” was there, and was written over`);
            }
            await page.switchTo(parent);
            return;
        }
        const own = metadata.world_info;
        this.shelf.mayChange({ chats: [child], books: [own] });

        if (own && own === sight.book) {
            this.#false(`SHARED: “${child}” is bound to the lorebook of its parent, “${own}”`);
        }
        const said = all.slice(0, at + 1).map((message) => message.said);
        if (messages.length !== said.length || messages.some(({ mes }, nth) => mes !== said[nth] && !(way === 'branchBySwipe' && nth === at))) {
            this.#false(`LOST: “${child}” has ${messages.length} messages, and should have ${said.length}, or some of them differ`);
        }
        const now = before && this.shelf.book(sight.book);
        // An edit that waited for its save may have been merged with another device's.
        const isPending = sight.file && !isSameBook(contents.get(sight.file), contents.get(sight.now.book));
        // So may one that waited in the tab where nobody forked.
        const tabs = [...(isPending ? [page] : []), ...[this.page, this.other].filter((tab) => tab && tab !== page)];
        const held = before ? await Promise.all(tabs.map((tab) => heldBook(tab, sight.book))) : [];
        const saved = [before, contents.get(sight.now.book), ...held];
        if (before && !saved.some((text) => text === now || (text && now && isSameBook(text, now)))) {
            this.#false(`CHANGED: the fork changed the lorebook of the parent, “${sight.book}”`);
        }
        const hasBook = own && this.files.books().includes(own);
        const later = isPending && !isOpened ? (await look(page)).now : null;
        const verdicts = judgeChild(sight, at, { metadata, book: hasBook ? this.files.book(own).value : undefined }, later);
        const answer = Object.fromEntries(verdicts.map(({ part, claim }) => [part, { kind: claim }]));
        const isLast = at === all.length - 1;
        this.tally.add([way, isLast ? 'last message' : 'earlier message', ...this.situations], answer);
        if (['everyday', 'slow'].includes(this.kind) && (isLast || sight.places[at + 1].came)) {
            this.tally.addPlain(answer, `seed ${this.seed}, message ${at} of ${all.length}`);
        }
        for (const { part, claim, why, got, allowed } of verdicts) {
            if (why) {
                this.#false(`FALSE: ${part} of “${child}”: ${claim}: ${why}\n  claim: ${JSON.stringify(metadata.forklore?.[part])}\n  got:   ${short(got)}\n  truth: ${allowed.map(short).join('\n     or: ') || 'nothing may be claimed here'}`);
            }
        }
        if (metadata.forklore) {
            this.sealed.add(child);
        }
        if (isOpened && (isBack || this.random.chance(0.55))) {
            this.#tell(`back to “${parent}”`);
            await page.switchTo(parent);
        } else if (isOpened && page === this.page) {
            this.current = child;
        }
    }

    #checkSharing() {
        const users = new Map();
        this.shelf.chats().forEach((name) => {
            const { world_info: bound } = this.files.chat(this.tale, name).metadata;
            users.set(bound, [...users.get(bound) ?? [], name]);
        });
        users.delete(undefined);
        for (const [bound, chats] of users) {
            if (chats.length > 1 && chats.some((name) => this.sealed.has(name))) {
                this.#false(`SHARED: “${bound}” is bound to ${chats.map((name) => `“${name}”`).join(' and ')}`);
            }
        }
    }
}

/** @param {import('../../harness/page.mjs').TavernPage} page */
async function keepOwnVersion(page) {
    const question = page.raw.locator('dialog[open]:not([closing])', { hasText: 'Which version do you want?' });
    if (await question.isVisible()) {
        await question.locator('.popup-button-ok').click({ timeout: 2000 });
    }
}

/** The page's copy of a lorebook. */
function heldBook(page, name) {
    return page.raw.evaluate(async (name) => {
        const { worldInfoCache } = await import('/scripts/world-info.js');
        const held = worldInfoCache.get(name);
        return held ? JSON.stringify(held) : null;
    }, name);
}

/** What tells entries apart, and not all of their fields. */
function short(text) {
    const { entries } = JSON.parse(text === 'none' ? '{}' : text);
    return entries ? Object.values(entries).map(({ uid, content }) => `${uid}: ${content}`).join(' | ') : text;
}
