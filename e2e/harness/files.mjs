// The contents of SillyTavern's files, read from disk.

import fs from 'node:fs';
import path from 'node:path';

import { until } from './until.mjs';

/** @typedef {import('./story.mjs').Tale} Tale */

/**
 * @typedef {object} Chat
 * @property {string} text the file's text
 * @property {any} header
 * @property {any} metadata
 * @property {any[]} messages
 */

export class Files {
    /** @param {string} user the user's folder */
    constructor(user) {
        this.user = user;
    }

    /** @param {Tale} tale @param {string} [name] @returns {Chat} */
    chat(tale, name = tale.chat) {
        const text = fs.readFileSync(this.chatPath(tale, name), 'utf8');
        const [header, ...messages] = text.split('\n').map((line) => JSON.parse(line));
        return { text, header, metadata: header.chat_metadata, messages };
    }

    /**
     * Waits until a chat is on disk and meets a condition: a message is on the screen before it is in its file.
     *
     * @param {Tale} tale
     * @param {string} name
     * @param {(chat: Chat) => unknown} [wanted]
     */
    async chatWhen(tale, name, wanted = () => true) {
        return until(`the chat "${name}" to be as wanted`, () => {
            const chat = this.chat(tale, name);
            return wanted(chat) && chat;
        });
    }

    /** The chats of a tale's character, or those that its group lists. @param {Tale} tale @returns {string[]} */
    chats(tale) {
        return tale.group ? this.group(tale).chats : stems(this.chatFolder(tale), '.jsonl');
    }

    /** The names of all group chats, whether a group lists them or not. */
    groupChats() {
        return stems(path.join(this.user, 'group chats'), '.jsonl');
    }

    /** @param {string} name @returns {{ text: string, value: any }} */
    book(name) {
        const text = fs.readFileSync(this.bookPath(name), 'utf8');
        return { text, value: JSON.parse(text) };
    }

    /** @param {(book: any) => unknown} [wanted] */
    async bookWhen(name, wanted = () => true) {
        return until(`the lorebook "${name}" to be as wanted`, () => {
            const book = this.book(name);
            return wanted(book.value) && book;
        });
    }

    books() {
        return stems(path.join(this.user, 'worlds'), '.json');
    }

    /** @param {Tale} tale */
    group(tale) {
        return JSON.parse(fs.readFileSync(path.join(this.user, 'groups', `${tale.group}.json`), 'utf8'));
    }

    settings() {
        return JSON.parse(fs.readFileSync(path.join(this.user, 'settings.json'), 'utf8'));
    }

    /** @param {Tale} tale */
    chatPath(tale, name) {
        return path.join(this.chatFolder(tale), `${name}.jsonl`);
    }

    bookPath(name) {
        return path.join(this.user, 'worlds', `${name}.json`);
    }

    /** @param {Tale} tale */
    chatFolder(tale) {
        return tale.group
            ? path.join(this.user, 'group chats')
            : path.join(this.user, 'chats', tale.avatar.replace('.png', ''));
    }
}

function stems(folder, ending) {
    const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    return names
        .filter((name) => name.endsWith(ending))
        .map((name) => name.slice(0, -ending.length))
        .sort();
}
