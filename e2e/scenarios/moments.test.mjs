// A long story whose lore and metadata change all the time, with forks at some of its messages: each child has the
// state of the story at the time the next message was written.

import assert from 'node:assert/strict';

import { book, entry } from '../harness/lore.mjs';
import { assertSameBook } from '../harness/forks.mjs';
import { chance } from '../harness/chance.mjs';
import { isNight } from '../harness/places.mjs';
import { stage } from '../harness/scenario.mjs';

const [MESSAGES, EDITS] = isNight ? [300, 200] : [60, 40];
/** `FORKLORE_FORKS=300` forks at all of them. */
const FORKS = Number(process.env.FORKLORE_FORKS ?? 10);
const SEED = Number(process.env.FORKLORE_SEED ?? 20261115);
/** Reloads must lose nothing; each takes some seconds. `FORKLORE_RELOAD_EVERY=7` */
const RELOAD_EVERY = Number(process.env.FORKLORE_RELOAD_EVERY ?? MESSAGES / 2);

const scenario = stage();

scenario(`forked at random messages of ${MESSAGES}, with ${EDITS} edits of its book`, { freshPage: true, limit: RELOAD_EVERY < 100 || FORKS > 100 ? 2_400_000 : 600_000 }, async ({ page, files, story }) => {
    const random = chance(SEED);
    const lore = book(Array.from({ length: 40 }, (_, uid) => entry(uid, { content: `entry ${uid} at first` })));
    const tale = await story.begin({ book: lore, messages: 1 });
    await page.open(tale);
    const told = new Told(page, tale, lore);
    await told.begin();

    const wanted = { messages: MESSAGES, edits: EDITS };
    let reloadAt = RELOAD_EVERY;
    while (told.length < wanted.messages || told.edits < wanted.edits) {
        await told.step(random, wanted);
        if (told.length > reloadAt) {
            reloadAt += RELOAD_EVERY;
            // A reload loses what SillyTavern was about to save.
            await told.flush();
            await page.reload();
            await page.open(tale);
        }
    }
    await told.flush();
    await page.save();

    // The last message's moment is now.
    const truth = [...told.truth, await told.now()];
    const { messages } = files.chat(tale);
    assert.equal(messages.length, truth.length);
    const unrecorded = messages.flatMap((message, index) => (message.forklore ? [] : [index]));
    assert.deepEqual(unrecorded, [], 'messages without a record');

    for (const message of random.several(FORKS, truth.length)) {
        const child = await page.branchByImport(message);
        const { metadata, messages } = files.chat(tale, child);
        const about = `message ${message} (FORKLORE_SEED=${SEED})`;
        assert.equal(messages.length, message + 1, about);
        assert.equal(metadata.forklore.book.exactness, 'exact', about);
        assert.equal(metadata.forklore.metadata.exactness, 'exact', about);
        assertSameBook(files.book(metadata.world_info).value, truth[message].book);
        assert.deepEqual(seen(metadata, metadata.world_info), seen(truth[message].metadata, tale.book), about);
    }
});

/** The metadata that belongs to a moment. Effects are listed by entry, because their keys and hashes depend on the book's name. */
function seen(metadata, bookName) {
    const effects = Object.entries(metadata.timedWorldInfo?.sticky ?? {}).map(([key, { start, end }]) => {
        assert.ok(key.startsWith(`${bookName}.`), `${key} is an effect of ${bookName}`);
        return [key.slice(bookName.length), start, end];
    });
    return { variables: metadata.variables ?? {}, note: metadata.note_prompt ?? '', effects };
}

/** The story as it goes on, and what was true at each of its messages. */
class Told {
    steps = 0;
    edits = 0;
    /** The state when the next message arrived, by message; the last one's is not final yet. */
    truth = [];

    constructor(page, tale, lore) {
        Object.assign(this, { page, tale, book: structuredClone(lore) });
    }

    get length() {
        return this.truth.length + 1;
    }

    async begin() {
        await this.page.settle();
    }

    /** The current state: the book as edited here, and the metadata in the page. */
    async now() {
        const { metadata } = await this.page.current();
        return { book: structuredClone(this.book), metadata };
    }

    async step(random, wanted) {
        this.steps += 1;
        const isShort = this.length < wanted.messages;
        const acts = [
            ...(isShort ? Array(8).fill('message') : []),
            ...(this.edits < wanted.edits ? Array(isShort ? 5 : 9).fill('edit') : []),
            'variable', 'effect', 'note', 'swipe', 'olderEdit',
            ...(this.length > 20 && this.length < wanted.messages ? ['deleteLast', 'deleteOlder'] : []),
        ];
        await this[random.of(acts)](random);
    }

    async message() {
        this.truth.push(await this.now());
        const text = `message ${this.length} of the story`;
        await (this.length % 2 ? this.page.sendAs(this.tale.speaker, text) : this.page.send(text));
    }

    async edit(random) {
        this.edits += 1;
        const uids = Object.keys(this.book.entries);
        const uid = random.of(uids);
        const act = random.below(10);
        if (act === 0 && uids.length > 20) {
            delete this.book.entries[uid];
        } else if (act === 1) {
            const free = Number(random.of(uids)) + 1000 + this.edits;
            this.book.entries[free] = entry(free, { content: `new at step ${this.steps}` });
        } else if (act === 2) {
            this.book.description = `step ${this.steps}`;
        } else {
            this.book.entries[uid].content = `entry ${uid} at step ${this.steps}`;
        }
        const how = random.of(['saved', 'pending']);
        await this.page.raw.evaluate(write, { name: this.tale.book, book: this.book, how });
    }

    /** Saves everything that waits to be saved. */
    async flush() {
        await this.page.raw.evaluate(write, { name: this.tale.book, book: this.book, how: 'saved' });
        await this.page.save();
        await this.page.settle();
    }

    async variable(random) {
        await this.page.run(`/setvar key=v${random.below(4)} ${this.steps}`);
    }

    /** Like SillyTavern when an entry with a running effect is activated: in memory, for the next save. */
    async effect(random) {
        const uid = Number(random.of(Object.keys(this.book.entries)));
        await this.page.raw.evaluate(({ name, uid, step }) => {
            const { chatMetadata } = SillyTavern.getContext();
            chatMetadata.timedWorldInfo = { sticky: { [`${name}.${uid}`]: { hash: 1, start: step, end: step + 5, protected: false } }, cooldown: {} };
        }, { name: this.tale.book, uid, step: this.steps });
    }

    async note() {
        await this.page.raw.evaluate((text) => { SillyTavern.getContext().chatMetadata.note_prompt = text; }, `note of step ${this.steps}`);
    }

    async swipe() {
        if (this.length % 2) {
            await this.page.run(`/addswipe another ending of step ${this.steps}`);
        }
    }

    async olderEdit(random) {
        await this.page.raw.evaluate(async ({ at, step }) => {
            const context = SillyTavern.getContext();
            context.chat[at].mes += ` (edited at step ${step})`;
            await context.saveChat();
        }, { at: random.below(this.length), step: this.steps });
    }

    async deleteLast() {
        await this.page.run('/del 1');
        this.truth.pop();
    }

    /** The message before takes over: the next one arrived when this one's moment ended. */
    async deleteOlder(random) {
        const at = 1 + random.below(this.length - 2);
        await this.page.run(`/cut ${at}`);
        this.truth.splice(at - 1, 1);
    }
}

/**
 * Writes a book in the page, at once or a second later. Not on the server alone: an extension that only writes there
 * leaves the page's copy unchanged, and prompts are built from that.
 */
async function write({ name, book, how }) {
    await SillyTavern.getContext().saveWorldInfo(name, book, how === 'saved');
}
