// Thousands of random histories of a chat, compared to a simple model of what was true at each message.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { FIELD } from '../features/journal/journal.js';
import { Page, clone, entry, recorded } from './journal_page.mjs';

const HISTORIES = Number(process.env.FORKLORE_HISTORIES ?? 800);

/** Small, seeded, good enough (mulberry32). */
function random(seed) {
    const next = () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const below = (count) => Math.floor(next() * count);
    return { below, oneIn: (count) => below(count) === 0, pick: (list) => list[below(list.length)] };
}

/**
 * What is true about a place in the chat.
 * @typedef {{states: string[], isSure: boolean}} Truth `states`: the state, or all that may be claimed;
 *     empty if it was not observed. `isSure`: the journal has to know it
 */
const unknown = () => ({ states: [], isSure: false });

class History extends Page {
    /** @type {Truth[]} one for each message */
    truths = [];
    /** The state that is being recorded, or `null` if it is not visible. */
    seen() {
        const isSeen = this.isOn && !(this.bound && this.isMissing);
        return isSeen ? { states: [this.state()], isSure: !this.isTooLarge() } : null;
    }

    isTooLarge() {
        return this.bound && JSON.stringify(this.book).length > this.largestBook - 20;
    }

    lastWas(truth) {
        if (truth && this.truths.length) {
            this.truths[this.truths.length - 1] = truth;
        }
    }

    save() {
        this.sync();
        this.lastWas(this.seen());
    }

    append(count) {
        const isFirst = !this.chat.length;
        this.lastWas(this.seen());
        for (let n = 0; n < count; n++) {
            this.arrives({ mes: 'x' });
            this.truths.push(isFirst ? unknown() : this.seen() ?? unknown());
        }
    }

    delete(at) {
        const { chat, truths } = this;
        chat.splice(at, 1);
        const [gone] = truths.splice(at, 1);
        if (!this.isOn || !gone.states.length || !truths.length) {
            return;
        }
        if (at > 0) {
            const before = truths[at - 1];
            // After a break in the chain, the two may not fit together; then the earlier one stays as it is.
            truths[at - 1] = before.isSure && gone.isSure
                ? gone
                : { states: [...before.states, ...gone.states], isSure: gone.isSure && !before.states.length };
        } else if (chat.every((message) => !(FIELD in message))) {
            // Nothing else knows it: the last one keeps it, so that the lore is not lost.
            truths[truths.length - 1] = { states: gone.states, isSure: false };
        }
    }

    insert(at, message) {
        this.chat.splice(at, 0, message);
        // It only gets a record if the arrival of the next one was observed.
        this.truths.splice(at, 0, at > 0 ? { ...this.truths[at - 1], isSure: false } : unknown());
    }

    swap(one, other) {
        if ((FIELD in this.chat[one]) !== (FIELD in this.chat[other])) {
            // The record says nothing about the message that has none now.
            [one, other].forEach((place) => (this.truths[place] = { ...this.truths[place], isSure: false }));
        }
        [this.chat[one], this.chat[other]] = [this.chat[other], this.chat[one]];
    }

    /** Something happened that the journal could not follow. */
    isShaken() {
        this.truths = this.truths.map((truth) => ({ ...truth, isSure: false }));
    }

    check(label) {
        assert.equal(this.chat.length, this.truths.length);
        this.chat.forEach((message, asked) => {
            const found = recorded(this.chat, asked);
            const { isSure, states } = this.truths[asked];
            if (isSure) {
                assert.ok(FIELD in message, `${label}: message ${asked} has a record`);
                assert.equal(found?.message, asked, `${label}: message ${asked} is known`);
            }
            if (found) {
                assert.ok(found.message <= asked);
                const truth = this.truths[found.message];
                assert.ok(truth.states.includes(JSON.stringify(found.state)),
                    `${label}: false at ${found.message}, asked for ${asked}:\n${JSON.stringify(found.state)}\n${truth.states.join('\n')}`);
            }
            if (!states.length) {
                assert.notEqual(found?.message, asked, `${label}: nothing is known of message ${asked}`);
            }
        });
    }
}

/** Changes something that is recorded. */
function changeState(page, { below, oneIn, pick }) {
    const text = () => pick(['', 'short', '\ud83d', 'é', 'long '.repeat(80)]) + below(4);
    const { metadata } = page;
    switch (below(8)) {
        case 0:
        case 1:
            metadata.variables = { ...metadata.variables, [pick(['gold', 'mood', '7'])]: below(3) };
            break;
        case 2:
            if (oneIn(2)) {
                metadata.note_prompt = text();
            } else {
                delete metadata.note_prompt;
            }
            // From an unknown extension.
            if (oneIn(2)) {
                metadata.quests = { open: [text(), text()], count: below(5) };
            } else if (oneIn(4)) {
                delete metadata.quests;
            }
            break;
        case 3:
            page.bound = pick(['Lore', 'Lore', 'Other', null]);
            break;
        default: {
            const { entries } = page.books[page.bound ?? 'Lore'];
            const key = pick(['0', '5', '10', '1763632438061', 'k']);
            if (!entries[key] || oneIn(5)) {
                delete entries[key];
                entries[key] = entry(below(9), text());
            } else if (oneIn(4)) {
                delete entries[key];
            } else if (oneIn(3)) {
                entries[key].extensions = { ...entries[key].extensions, b: below(5) };
            } else {
                entries[key].content = text();
            }
        }
    }
}

/** One thing that happens to the messages between two saves. */
function changeMessages(page, chance) {
    const { below, oneIn } = chance;
    const { chat } = page;
    const action = below(page.isOn ? 12 : 8);
    if (!chat.length || action < 4) {
        page.append(oneIn(5) ? 2 : 1);
    } else if (action === 4) {
        page.delete(chat.length - 1);
    } else if (action === 5) {
        page.delete(below(chat.length));
    } else if (action === 6 && chat.length > 1 && page.isOn) {
        page.swap(below(chat.length), below(chat.length));
    } else if (action === 7) {
        // An edit or a swipe: the same message with a different text.
        chat[below(chat.length)].mes += 'y';
    } else if (action === 8) {
        page.insert(below(chat.length), oneIn(2) ? { mes: 'new' } : clone(chat[below(chat.length)]));
    } else if (action === 9 && chat.length > 1) {
        const at = below(chat.length - 1);
        chat[at] = oneIn(2) ? clone(chat[at]) : { mes: 'written anew' };
    } else if (action === 10) {
        page.delete(0);
    } else if (action === 11 && chat.at(-1)[FIELD]) {
        chat[chat.length - 1] = clone(chat.at(-1));
    }
}

function change(page, chance) {
    for (let left = chance.below(3); left > 0; left--) {
        changeState(page, chance);
    }
}

function goOff(page, chance) {
    page.isOn = false;
    for (let left = chance.below(5); left > 0; left--) {
        change(page, chance);
        changeMessages(page, chance);
        page.sync();
    }
    page.isOn = true;
    page.isShaken();
    page.save();
}

test('whatever happens to a chat, the journal is true of it', () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
        const chance = random(seed);
        const page = new History();
        page.largestBook = chance.oneIn(6) ? 700 : 1 << 20;
        page.append(1);
        page.save();
        const length = 5 + chance.below(30);
        for (let step = 0; step < length; step++) {
            change(page, chance);
            if (chance.oneIn(3)) {
                page.save();
            }
            changeMessages(page, chance);
            page.save();
            if (chance.oneIn(12)) {
                page.chat = clone(page.chat);
                change(page, chance);
                page.journal.forget();
                page.sync();
                page.lastWas(page.seen());
            }
            if (chance.oneIn(20)) {
                goOff(page, chance);
            }
            if (chance.oneIn(15)) {
                page.isMissing = !page.isMissing;
            }
            if (chance.oneIn(8)) {
                page.check(`seed ${seed}, step ${step}`);
            }
        }
        page.check(`seed ${seed}, end`);
    }
});

test('whatever happens between two saves, the chain holds and time does not run backwards', () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
        const chance = random(seed * 7919);
        const page = new History();
        page.append(1);
        page.sync();
        const times = new Map([[page.state(), 0]]);
        for (let step = 1; step < 12; step++) {
            // Each state is unique, so it identifies its time.
            page.metadata.variables = { ...page.metadata.variables, step };
            change(page, chance);
            const before = new Set(page.chat);
            for (let left = chance.below(6); left > 0; left--) {
                changeMessages(page, chance);
            }
            if (!page.chat.some((message) => before.has(message))) {
                // Copies of deleted messages would be a different chat, with gaps in its past.
                page.chat = [{ mes: 'all over again' }];
                page.truths = [unknown()];
            }
            times.set(page.state(), step);
            page.sync();
        }
        let newest = -1;
        page.chat.forEach((message, asked) => {
            const label = `seed ${seed}, message ${asked}`;
            const found = recorded(page.chat, asked);
            if (FIELD in message && !(message[FIELD].gap < 0)) {
                assert.equal(found?.message, asked, label);
            }
            if (found) {
                const time = times.get(JSON.stringify(found.state));
                assert.ok(time >= newest, `${label}: from ${newest} to ${time}`);
                newest = time;
            }
        });
        assert.equal(newest, 11, `seed ${seed}: the last message is as things are now`);
    }
});
