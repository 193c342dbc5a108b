// Families of any size on disk: a main chat and its forks, sealed as by Forklore.

import { randomUUID } from 'node:crypto';

import { book, entry } from './lore.mjs';
import { conversation, question } from './story.mjs';

const PLACES = ['the harbour', 'the lighthouse', 'the old mill', 'the salt road', 'the crypt', 'the market', 'the north gate', 'the ferry'];
const DEEDS = ['Mara opens the letter', 'Iven stays behind', 'the storm breaks', 'nobody answers', 'the keeper is seen', 'Tom tells the truth', 'the ship is sold'];

/**
 * Grows the family of a tale's chat to `count` timelines. Every seventh one is older than Forklore and shares its
 * parent's book; one has lost its book.
 *
 * @param {import('./story.mjs').Story} story
 * @param {import('./story.mjs').Tale} tale
 * @param {number} count including the main chat
 * @param {{ chance: { below: (limit: number) => number, of: (list: any[]) => any }, ballast?: number, isWell?: boolean }} how
 *   `ballast`: how many messages of four kilobytes come first; `isWell`: whether there are no problems
 * @returns {Promise<string[]>} the names, the main chat's first
 */
export async function growFamily(story, tale, count, { chance, ballast = 0, isWell = false }) {
    const pick = chance.of;
    const isIn = (percent) => chance.below(100) < percent;
    const known = [{ name: tale.chat, messages: 60, book: tale.book }];
    for (let number = 1; number < count; number += 1) {
        // Most forks are of the main chat, and some branches are deep.
        const parent = isIn(45) ? known[0] : isIn(50) ? known.at(-1) : pick(known);
        const kind = isIn(60) ? 'checkpoint' : 'branch';
        const message = chance.below(parent.messages - 1);
        const name = kind === 'branch' ? `${tale.chat} - Branch #${number}` : `${pick(DEEDS)} at ${pick(PLACES)} ${number}`;
        const isOlder = !isWell && number % 7 === 3;
        const lore = isOlder ? parent.book : `${name} - Lore`;
        const messages = message + 2 + chance.below(6);
        if (!isOlder && (isWell || number !== 5)) {
            story.writeBook(lore, book(Array.from({ length: 2 + (number % 9) }, (_, uid) => entry(uid))));
        }
        story.writeChat(tale, name, {
            messages: [...ballastOf(ballast), ...told(messages, tale, `${pick(DEEDS)}, and ${pick(PLACES)} is never the same.`)],
            metadata: {
                main_chat: parent.name,
                ...(lore && { world_info: lore }),
                ...(!isOlder && { forklore: seal({ kind, parent: parent.name, message: message + ballast, lore, from: parent.book, number }) }),
            },
        });
        known.push({ name, messages, book: lore });
    }
    if (tale.group) {
        const group = story.files.group(tale);
        await story.st.post('/api/groups/edit', { ...group, chats: [...new Set([...group.chats, ...known.map(({ name }) => name)])] });
    }
    return known.map(({ name }) => name);
}

/** Messages that only take up space. */
export function ballastOf(count) {
    return Array(count).fill(question(0, { mes: 'The tide goes out, and the tide comes in. '.repeat(100) }));
}

function told(count, tale, last) {
    const messages = conversation(count, { name: tale.speaker, group: Boolean(tale.group) });
    messages.at(-1).mes = last;
    return messages;
}

function seal({ kind, parent, message, lore, from, number }) {
    const part = [{ exactness: 'exact', source: 'journal' }, { exactness: 'snapshot', as_of: Math.max(0, message - 3), source: 'journal' }, { exactness: 'live', source: 'files' }][number % 3];
    return {
        format: 1,
        kind,
        parent: { chat: parent, integrity: randomUUID(), message },
        made: new Date(Date.UTC(2026, 2, 1 + (number % 27), 12)).toISOString(),
        book: lore ? { name: lore, from, entries: 2 + (number % 9), digest: `sha256:${'0'.repeat(64)}`, ...part } : null,
        metadata: part,
        warnings: [],
    };
}
