// Another device saves a chat at a random instant of a change that Forklore makes, and this page goes on, too: neither loses a
// message or a key. Only a save between our last reading and the end of our write, one round trip, cannot be kept; such
// saves are counted.
//
// FORKLORE_DEVICE_SAVES: how often for each change. FORKLORE_SEED: chance.

import assert from 'node:assert/strict';

import { chance } from '../harness/chance.mjs';
import { exposeApp } from '../harness/forklore.mjs';
import { book, entry } from '../harness/lore.mjs';
import { isNight } from '../harness/places.mjs';
import { LIMIT, stage } from '../harness/scenario.mjs';
import { conversation, question } from '../harness/story.mjs';
import { bodyOf, endpointOf, slowDown } from '../harness/wire.mjs';

const SAVES = Number(process.env.FORKLORE_DEVICE_SAVES ?? (isNight ? 20 : 1));
const SEED = Number(process.env.FORKLORE_SEED ?? 20_261_119);
/** In milliseconds: how slow an answer may be. */
const SLOW = 400;

const scenario = stage({ settings: (settings) => (settings.extension_settings.forklore = { isolate: true, whenInexact: 'nearest' }) });

const lore = (content = 'of the parent') => book([entry(0, { content }), entry(1)]);

/**
 * The changes. `prepare` returns what `change` needs and, as `closed`, the chat that the other device has open, if any.
 *
 * @type {Record<string, {
 *     prepare: (given: Given & { tale: Tale, sibling: string }) => Promise<{ closed?: string, [key: string]: any }>,
 *     change: (given: Given & { tale: Tale, sibling: string, prepared: any }) => Promise<unknown>,
 *     isQuiet?: boolean,
 *     isWithoutBook?: boolean,
 *     isForTheNight?: boolean,
 * }>}
 * `isQuiet`: nobody writes in the open chat meanwhile; `isWithoutBook`: no lorebook is bound to it
 * @typedef {import('../harness/scenario.mjs').Given} Given
 * @typedef {import('../harness/story.mjs').Tale} Tale
 */
const CHANGES = {
    'a family is split': {
        prepare: async ({ sibling }) => ({ closed: sibling }),
        change: ({ page }) => app(page, (app) => app.split({ family: true })),
    },
    'the open chat gets its own copy': {
        isWithoutBook: true,
        prepare: async ({ page, story, tale }) => {
            const shared = `Shared by ${tale.chat}`;
            story.writeBook(shared, lore());
            await page.refresh();
            return { shared };
        },
        change: ({ page, prepared }) => app(page, (app, shared) => app.giveCopy(shared), prepared.shared),
    },
    'the lorebook is renamed': {
        prepare: async ({ sibling }) => ({ closed: sibling }),
        change: ({ page, tale }) => page.renameBook(tale.book, `${tale.book} renamed`),
    },
    'the chat is renamed': {
        isForTheNight: true,
        isQuiet: true,
        prepare: async ({ sibling }) => ({ closed: sibling }),
        change: ({ page, tale }) => page.opening(() => page.raw.evaluate(async ({ from, to }) => {
            const { renameGroupOrCharacterChat } = await import('/script.js');
            const { characterId, groupId } = SillyTavern.getContext();
            await renameGroupOrCharacterChat({ characterId: groupId ? undefined : characterId, groupId: groupId ?? undefined, oldFileName: from, newFileName: to, loader: false });
        }, { from: tale.chat, to: `${tale.chat} renamed` })),
    },
    'a lost lorebook is repaired': {
        isForTheNight: true,
        prepare: async ({ page, st, tale }) => {
            await page.send('recorded');
            await page.settle();
            await st.post('/api/worldinfo/delete', { name: tale.book });
            await page.refresh();
            return {};
        },
        change: ({ page }) => app(page, (app) => app.repair({ source: 'journal' })),
    },
    'a deleted timeline is put back': {
        prepare: async ({ page, tale }) => {
            const closed = await page.checkpointByCommand(3, { name: `Deleted of ${tale.chat}` });
            await page.settle();
            return { closed, token: await app(page, async (app, name) => (await app.several.delete([name], { isForGood: false }, () => {})).tokens[0], closed) };
        },
        change: ({ page, prepared }) => app(page, (app, token) => app.undo(token), prepared.token),
    },
    'a timeline is labelled': {
        isForTheNight: true,
        prepare: async ({ page, sibling }) => {
            await app(page, async (app) => void (await app.labels.all()));
            return { closed: sibling };
        },
        change: ({ page, sibling }) => app(page, (app, name) => app.labels.set(name, { title: 'Labelled', note: '', colour: 'red', pin: true, archived: false }), sibling),
    },
    'lore is merged into a timeline': {
        isForTheNight: true,
        prepare: async ({ page, story, tale, sibling }) => {
            const closed = await page.checkpointByCommand(3, { name: `Into of ${tale.chat}` });
            await page.settle();
            story.writeBook(tale.book, lore('changed since'));
            await page.refresh();
            return { closed, sibling };
        },
        change: ({ page, tale, prepared }) => app(page, (app, request) => app.bring(request), { from: { chat: tale.chat }, into: prepared.closed, otherwise: 'theirs' }),
    },
};

for (const [nth, [what, { prepare, change, isQuiet = false, isWithoutBook = false, isForTheNight = false }]] of Object.entries(CHANGES).entries()) {
    scenario(`a device that saves while ${what} loses nothing`, { beforeLoading: exposeApp, limit: LIMIT + SAVES * 30_000, expects: { ours: true }, nightly: isForTheNight && 'one function makes all of these changes, and half of them run for every change' }, async ({ page, st, files, story }) => {
        const dice = chance(SEED + nth);
        const counts = { saves: 0, refused: 0, 'within our own write': 0, 'lost in it': 0 };
        let usual = 600;
        for (let round = 0; round < SAVES; round += 1) {
            const tale = await story.begin({ book: isWithoutBook ? null : lore(), group: (nth + round) % 3 === 0, metadata: { variables: { hp: '1' } } });
            const sibling = `Sibling of ${tale.chat}`;
            story.writeChat(tale, sibling, { messages: conversation(4, { name: tale.speaker }), metadata: { world_info: tale.book, main_chat: tale.chat } });
            if (tale.group) {
                await story.list(tale, sibling);
            }
            await page.open(tale);
            await page.save();
            const prepared = await prepare({ page, st, files, story, tale, sibling });
            const device = prepared.closed && new Device({ st, tale, name: prepared.closed, lines: linesOf(files, tale, prepared.closed) });
            const ours = ownWrites(page, prepared.closed);
            const endSlowness = await slowDown(page, () => (dice.below(5) < 2 ? dice.below(SLOW) : 0));

            const instants = [dice.below(usual), dice.below(usual), dice.below(usual)];
            const began = Date.now();
            const changing = change({ page, st, files, story, tale, sibling, prepared }).then(() => Date.now() - began, (error) => error);
            const after = (time, act) => new Promise((resolve) => setTimeout(resolve, time)).then(act);
            await Promise.all([
                device && after(instants[0], () => device.save(round)),
                !isQuiet && after(instants[1], () => page.raw.evaluate((round) => {
                    const { chatMetadata, saveMetadataDebounced } = SillyTavern.getContext();
                    chatMetadata.variables = { ...chatMetadata.variables, set: `meanwhile ${round}` };
                    chatMetadata.neighbour = { added: round };
                    saveMetadataDebounced();
                }, round)),
                !isQuiet && after(instants[2], () => page.send(`sent meanwhile ${round}`)),
            ]);
            const took = await changing;
            if (typeof took === 'number') {
                usual = took;
            } else {
                counts.refused += 1;
                assert.match(took.message, /chat|changed|open/i, `${what}, round ${round}`);
            }
            await page.settle();
            await endSlowness();
            // SillyTavern saves metadata up to a second later.
            await page.save();
            await page.settle();
            ours.end();

            counts.saves += device ? 1 : 0;
            const words = `round ${round}, saved at ${instants[0]} ms${tale.group ? ', in a group' : ''}; ours: ${ours.words(began)}; the device: ${device?.words(began)}`;
            if (device) {
                const isWithin = ours.spans.some(([from, to]) => device.began <= to && device.ended >= from);
                const { metadata, messages } = files.chat(tale, prepared.closed);
                const isKept = messages.some(({ mes }) => mes === `from the other device ${round}`) && metadata.other_device === round;
                counts['within our own write'] += isWithin ? 1 : 0;
                counts['lost in it'] += isWithin && !isKept ? 1 : 0;
                assert.ok(isKept || isWithin, `lost what the other device has saved: ${words}`);
            }
            if (!isQuiet) {
                const { metadata, messages } = files.chat(tale, (await page.current()).chat);
                assert.equal(metadata.variables.set, `meanwhile ${round}`, `a variable set in the open chat: ${words}`);
                assert.equal(metadata.variables.hp, '1', `another variable: ${words}`);
                assert.deepEqual(metadata.neighbour, { added: round }, `a key set in the open chat: ${words}`);
                assert.ok(messages.some(({ mes }) => mes === `sent meanwhile ${round}`), `a message sent in the open chat: ${words}`);
            }
        }
        console.log(`while ${what}: ${JSON.stringify(counts)}`);
    });
}

/** Runs in the page, with Forklore's parts. */
function app(page, step, given) {
    return page.raw.evaluate(({ step, given }) => new Function(`return ${step}`)()(globalThis.forkloreApp, given), { step: String(step), given });
}

const linesOf = (files, tale, name) => {
    try {
        const { header, messages } = files.chat(tale, name);
        return [header, ...messages];
    } catch {
        return null;
    }
};

/** Another device with a chat on its screen: it reads the file when it begins to save, unless that is gone. */
class Device {
    constructor({ st, tale, name, lines }) {
        Object.assign(this, { st, tale, name, lines, began: 0, ended: 0 });
    }

    async save(round) {
        const { group, avatar, speaker } = this.tale;
        const [get, save, which] = group
            ? ['/api/chats/group/get', '/api/chats/group/save', { id: this.name }]
            : ['/api/chats/get', '/api/chats/save', { ch_name: speaker, file_name: this.name, avatar_url: avatar }];
        this.began = Date.now();
        const read = await this.st.post(get, which);
        const lines = Array.isArray(read) && read.length ? read : this.lines;
        const [header, ...messages] = lines ?? [{ chat_metadata: {}, user_name: 'unused', character_name: 'unused' }];
        header.chat_metadata.other_device = round;
        // Not so new that Forklore leaves the chat alone because it may be open somewhere.
        const more = question(60, { mes: `from the other device ${round}` });
        await this.st.post(save, { ...which, chat: [header, ...messages, more] });
        this.ended = Date.now();
    }

    words(began) {
        return `${this.began - began} to ${this.ended - began} ms`;
    }
}

/** What comes between a reading and a write that are not one round trip. */
const STEPS = ['/api/worldinfo/edit', '/api/files/upload'];

/** When this page wrote a closed chat: from its reading, directly before, to the end of the write. */
function ownWrites(page, name) {
    const spans = [];
    let read = 0;
    const under = new Map();
    const isAbout = (request) => {
        const body = name && bodyOf(request);
        return Boolean(body) && [body.file_name, body.id, body.file].some((about) => about === name || about === `${name}.jsonl`);
    };
    const began = (request) => {
        if (STEPS.includes(endpointOf(request))) {
            read = 0;
        } else if (isAbout(request)) {
            if (endpointOf(request).endsWith('/save')) {
                under.set(request, read || Date.now());
            } else {
                read = Date.now();
            }
        }
    };
    const ended = (request) => {
        if (under.has(request)) {
            spans.push([under.get(request), Date.now()]);
        }
    };
    page.raw.on('request', began);
    page.raw.on('requestfinished', ended);
    return {
        spans,
        end() {
            page.raw.off('request', began);
            page.raw.off('requestfinished', ended);
        },
        words: (since) => spans.map(([from, to]) => `${from - since} to ${to - since} ms`).join(', ') || 'nothing written',
    };
}
