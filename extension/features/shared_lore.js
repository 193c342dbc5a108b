// Lore that many chats share, because it belongs to a character, a persona or all chats. A chat can have its own copy of
// such a book; then the book itself is left out of that chat's prompt.

import { replacedBooks, replacingBook } from '../sillytavern/metadata.js';
/** @import { CharacterLore } from '../core/fork_calls.js' */
/** @import { CharactersBook, Core, Host, LoreChoice, OpenChat, Settings } from '../types.js' */
/** @import { Events } from '../events.js' */

/** Events after which a chat may use other books. @type {(keyof ST.EventTypes)[]} */
export const SHARED_LORE_EVENTS = ['CHARACTER_EDITED', 'WORLDINFO_SETTINGS_UPDATED', 'PERSONA_CHANGED'];

export class SharedLore {
    /** @param {{host: Host, core: Core, settings: Settings, events: Events}} parts */
    constructor({ host, core, settings, events }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.events = events;
    }

    /** The books that a chat without its own shares with many others. @param {OpenChat} open */
    beside(open) {
        return open.book ? [] : this.host.booksBesideChat();
    }

    /** The books that are left out of the prompt. None, unless the chat is bound to the copy that replaces them. @param {OpenChat} open */
    leftOut({ book, metadata }) {
        const isCopy = this.core.sameBook(replacingBook(metadata) ?? book, book);
        const isThere = book && isCopy && this.host.knownBooks().some((known) => this.core.sameBook(known, book));
        return isThere ? replacedBooks(metadata).filter((name) => !this.core.sameBook(name, book)) : [];
    }

    /** A lorebook of the character that a fork without other lore would share, if there is one. @param {OpenChat} open @returns {CharactersBook | null} */
    ofCharacter(open) {
        const leftOut = this.leftOut(open);
        const isElse = (/** @type {string} */ book) => [open.book, ...leftOut].some((other) => this.core.sameBook(other, book));
        const [found] = this.host.booksBesideChat().flatMap(({ book, name, avatar }) => (avatar && !isElse(book) ? { book, name, avatar } : []));
        return found ?? null;
    }

    /** What is always wanted for a lorebook of a character. @param {CharactersBook | null} lore @returns {CharacterLore | null} */
    always(lore) {
        return lore && { book: lore.book, always: this.settings.lore?.[lore.avatar]?.[lore.book] ?? null };
    }

    /** From now on, all forks of the character do the same with this lorebook. @param {CharactersBook} lore @param {LoreChoice} choice */
    decideFor({ avatar, book }, choice) {
        const { [avatar]: others, ...rest } = this.settings.lore ?? {};
        this.settings.lore = { ...rest, [avatar]: { ...others, [book]: choice } };
        this.host.saveSettings();
    }

    /** SillyTavern has loaded what belongs into the prompt of the open chat. @param {ST.LoadedLore} lore */
    loaded(lore) {
        const open = this.host.openChat();
        const names = open ? this.leftOut(open) : [];
        if (names.length) {
            removeBooks(lore, (book) => names.some((name) => this.core.sameBook(name, book)));
        }
    }

    /** Tells the user, once per book, that many chats share it. @param {OpenChat} open the chat that was opened */
    tellOnce(open) {
        const now = this.host.openChat();
        const [first] = now?.name === open.name && this.settings.isolate ? this.beside(now) : [];
        const told = this.settings.toldBooks ?? [];
        if (first && !told.includes(first.book)) {
            this.settings.toldBooks = [...told, first.book];
            this.host.saveSettings();
            this.events.emit('common', first);
        }
    }
}

/**
 * Removes the entries of books from everything but the chat's own lore. SillyTavern goes on with the same lists, so
 * everything is worked out before any of them changes.
 * @param {ST.LoadedLore} lore @param {(book: string) => boolean} isRemoved
 */
export function removeBooks({ globalLore, characterLore, personaLore }, isRemoved) {
    const lists = [globalLore, characterLore, personaLore].filter(Array.isArray);
    const books = new Set(lists.flat().map((entry) => entry?.world));
    const removed = new Set([...books].filter((book) => typeof book === 'string' && isRemoved(book)));
    const kept = lists.map((list) => list.filter((entry) => !removed.has(entry?.world)));
    lists.forEach((list, at) => {
        list.length = 0;
        kept[at]?.forEach((entry) => list.push(entry));
    });
}
