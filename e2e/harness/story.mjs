// Characters, groups and chats for the page. Chats and lorebooks are written to disk, in SillyTavern's format, before
// the page opens them.

import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { Files } from './files.mjs';

/**
 * A character or group with a chat, for the page to open and the files to be checked.
 *
 * @typedef {object} Tale
 * @property {string | null} group the group's id, or null for a solo chat
 * @property {string | null} avatar the character's file, or null for a group
 * @property {string} of the character or group, as displayed
 * @property {string} speaker a character who can speak
 * @property {string} chat the chat that opens first
 * @property {string | null} book the bound lorebook
 */

/**
 * @typedef {object} Beginning
 * @property {boolean} [group]
 * @property {number | ((cast: { name: string, group: boolean }) => any[])} [messages] how many, or the messages; `name` is
 *   the speaker's
 * @property {any} [book] the lorebook to bind; none if null
 * @property {any} [metadata] additional `chat_metadata`
 */

let count = 0;

export class Story {
    /** @param {import('./sillytavern.mjs').SillyTavern} st @param {Beginning} [usual] the defaults */
    constructor(st, usual = {}) {
        this.st = st;
        this.usual = usual;
        this.files = new Files(st.user);
    }

    /**
     * Creates a character, or a group of two, with a chat, all with unique names.
     *
     * @param {Beginning} [beginning]
     * @returns {Promise<Tale>}
     */
    async begin(beginning = {}) {
        const { group = false, messages = 6, book = null, metadata = {} } = { ...this.usual, ...beginning };
        const tell = typeof messages === 'function' ? messages : (cast) => conversation(messages, cast);
        count += 1;
        const chat = `Story ${count}`;
        const speaker = `Ada ${count}`;
        const tale = { group: null, avatar: null, name: speaker, speaker, chat, book: book && `Lore ${count}` };
        const avatar = await this.character(speaker, chat);
        if (group) {
            tale.name = `Company ${count}`;
            tale.group = await this.group(tale.name, [avatar, await this.character(`Bo ${count}`)], chat);
        } else {
            tale.avatar = avatar;
        }
        if (book) {
            this.writeBook(tale.book, book);
        }
        this.writeChat(tale, chat, {
            messages: tell({ name: speaker, group }),
            metadata: { ...(book && { world_info: tale.book }), ...metadata },
        });
        return tale;
    }

    /** @param {string} [chat] its active chat @returns {Promise<string>} the avatar */
    async character(name, chat) {
        const avatar = await this.st.post('/api/characters/create', { ch_name: name, first_mes: 'Hello.' });
        if (chat) {
            await this.st.post('/api/characters/merge-attributes', { avatar, chat });
        }
        return avatar;
    }

    /** @param {string[]} members avatars @returns {Promise<string>} the id */
    async group(name, members, chat) {
        const group = await this.st.post('/api/groups/create', { name, members, avatar_url: 'img/ai4.png', chat_id: chat, chats: [chat] });
        return group.id;
    }

    /**
     * Writes the tale's chat, or another one. A group has to list it: see `list`.
     *
     * @param {Tale} tale
     * @param {{ messages: any[], metadata?: any }} content
     */
    writeChat(tale, name, { messages, metadata = {} }) {
        const header = {
            chat_metadata: { integrity: randomUUID(), ...metadata },
            user_name: 'unused',
            character_name: 'unused',
        };
        const text = [header, ...messages].map((line) => JSON.stringify(line)).join('\n');
        write(this.files.chatPath(tale, name), text);
    }

    /** Adds a chat to a group's list, before the page has loaded the group. */
    async list(tale, name) {
        const group = this.files.group(tale);
        await this.st.post('/api/groups/edit', { ...group, chats: [...group.chats, name] });
    }

    writeBook(name, book) {
        write(this.files.bookPath(name), JSON.stringify(book, null, 4));
    }
}

/** Messages in turn, starting with the character. */
export function conversation(count, { name = 'Ada', group = false } = {}) {
    return Array.from({ length: count }, (_, number) =>
        number % 2 === 0 ? reply(number, { name, group }) : question(number),
    );
}

/** A user message. */
export function question(number, fields = {}) {
    return {
        name: 'User',
        is_user: true,
        is_system: false,
        send_date: sendDate(number),
        mes: `question ${number}`,
        extra: { isSmallSys: false },
        ...fields,
    };
}

/** A character's message with as many swipes as given; the first one is on display. */
export function reply(number, { name = 'Ada', group = false, swipes = 1, ...fields } = {}) {
    const texts = Array.from({ length: swipes }, (_, swipe) =>
        swipe === 0 ? `reply ${number}` : `reply ${number}, swipe ${swipe}`,
    );
    const extra = (swipe) => (group ? { gen_id: 1_760_000_000_000 + number * 10 + swipe } : {});
    return {
        name,
        is_user: false,
        is_system: false,
        send_date: sendDate(number),
        mes: texts[0],
        extra: extra(0),
        ...(group && {
            original_avatar: `${name}.png`,
            force_avatar: `/thumbnail?type=avatar&file=${encodeURIComponent(name)}.png`,
        }),
        swipe_id: 0,
        swipes: texts,
        swipe_info: texts.map((_, swipe) => ({ send_date: sendDate(number), extra: extra(swipe) })),
        ...fields,
    };
}

function sendDate(number) {
    return new Date(Date.UTC(2026, 0, 1, 10, number)).toISOString();
}

function write(file, text) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
}
