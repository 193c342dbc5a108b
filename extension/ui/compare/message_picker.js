/** A control to choose one of a timeline's messages, or now. Its messages are only read when it is opened. */
import { sayMessage } from '../messages.js';
import { icon, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { holdsWords } from '../widgets/search.js';
import { say, sayError } from '../words.js';
/** @import { ListedMessage } from '../types.js' */

/** How many messages to draw at once; more are drawn on scrolling. */
const DRAWN = 60;
/** In pixels: how close to the end to draw more. */
const NEAR = 200;

/** @typedef {{number: number | null, said?: ListedMessage}} Row `number`: null for now */

/**
 * The rows to choose from, newest first. If nothing is searched: below now, and below the chosen one, which may be far down.
 * @param {ListedMessage[]} messages @param {string} typed @param {number | null} [chosen] @returns {Row[]}
 */
export function matchingMessages(messages, typed, chosen = null) {
    const rows = messages.map((said, number) => ({ number, said })).reverse();
    const words = typed.trim();
    if (words) {
        return rows.filter(({ number, said }) => holdsWords(`${number}\n${said.name}\n${said.text}`, words));
    }
    const isChosen = (/** @type {Row} */ { number }) => number === chosen;
    return [{ number: null }, ...rows.filter(isChosen), ...rows.filter((row) => !isChosen(row))];
}

export class MessagePicker {
    /** @param {{label: (message: string) => string, chosen: number | null, read: () => Promise<ListedMessage[]>}} parts `label`: for screen readers */
    constructor({ label, chosen, read }) {
        this.label = label;
        this.read = read;
        this.chosen = chosen;
        /** @type {ListedMessage[] | null} */
        this.messages = null;
        /** What matches the search, and how much of it is drawn. @type {Row[]} */
        this.rows = [];
        this.active = 0;
        this.round = 0;
        const id = freshId('messages');
        this.text = element('span', { class: 'forklore_picked_text' });
        this.field = element('button', {
            type: 'button', class: 'text_pole forklore_picked', 'aria-haspopup': 'listbox', 'aria-expanded': 'false', 'aria-controls': id,
            on: { click: () => this.toggle(), keydown: (event) => this.fieldKey(event) },
        }, this.text, icon('fa-chevron-down'));
        this.search = element('input', {
            type: 'search', class: 'text_pole', placeholder: say('choose.search'), 'aria-label': say('choose.search'),
            role: 'combobox', 'aria-expanded': 'true', 'aria-controls': id, autocomplete: 'off',
            on: { input: () => this.showRows() },
        });
        this.status = element('small', { class: 'forklore_unseen', role: 'status' });
        this.list = element('div', { class: 'forklore_messages', id, role: 'listbox', tabindex: -1, on: {
            scroll: ({ target }) => this.drawMore(target),
            click: (event) => this.clicked(event),
        } });
        this.panel = element('div', { class: 'forklore_pick', hidden: true, on: { keydown: (event) => this.key(event) } }, this.search, this.list, this.status);
        this.body = element('div', { class: 'forklore_message_picker' }, this.field, this.panel);
        this.show();
        if (chosen !== null) {
            void this.load().then(() => this.show(), () => {});
        }
    }

    /** Another timeline was chosen. */
    reset() {
        this.round += 1;
        this.messages = null;
        this.chosen = null;
        this.close();
        this.show();
    }

    show() {
        const text = this.sayRow({ number: this.chosen, said: this.messages?.[this.chosen ?? -1] });
        this.text.textContent = text;
        this.field.setAttribute('aria-label', this.label(text));
        this.field.setAttribute('title', text);
    }

    /** @param {Row} row */
    sayRow({ number, said }) {
        return number === null ? say('choose.now') : say('choose.message', { message: sayMessage(number, said) });
    }

    async load() {
        const { round } = this;
        const messages = this.messages ?? await this.read();
        if (round === this.round) {
            this.messages = messages;
        }
    }

    // Opening and closing

    async toggle() {
        if (!this.panel.hidden) {
            this.close();
            return;
        }
        this.panel.hidden = false;
        this.field.setAttribute('aria-expanded', 'true');
        fill(this.list, paragraph(say('choose.reading')));
        this.search.value = '';
        // On a phone, the keyboard would cover the list.
        if (!globalThis.matchMedia?.('(pointer: coarse)').matches) {
            this.search.focus();
        }
        try {
            await this.load();
            this.showRows();
        } catch (error) {
            fill(this.list, paragraph(sayError(error)));
        }
    }

    close() {
        this.panel.hidden = true;
        this.field.setAttribute('aria-expanded', 'false');
    }

    pick(/** @type {number | null} */ number) {
        this.chosen = number;
        this.show();
        this.close();
        this.field.focus();
    }

    // The list

    showRows() {
        if (!this.messages) {
            return;
        }
        this.rows = matchingMessages(this.messages, this.search.value, this.chosen);
        this.status.textContent = this.search.value.trim() ? say('timelines.found', { count: this.rows.length }) : '';
        fill(this.list, this.rows.length ? null : paragraph(say('choose.none')));
        this.draw(DRAWN);
        this.activate(this.search.value.trim() || this.chosen === null ? 0 : 1);
    }

    /** Draws up to this many rows. @param {number} count */
    draw(count) {
        const drawn = this.rows.length ? this.list.children.length : 0;
        this.list.append(...this.rows.slice(drawn, count).map((row, at) => this.rowElement(row, drawn + at)));
    }

    drawMore(/** @type {HTMLElement} */ { scrollTop, clientHeight, scrollHeight }) {
        if (scrollHeight - scrollTop - clientHeight < NEAR) {
            this.draw(this.list.children.length + DRAWN);
        }
    }

    rowElement(/** @type {Row} */ row, /** @type {number} */ at) {
        const { number, said } = row;
        const sign = (/** @type {string} */ name, /** @type {string} */ title) => element('small', { class: 'forklore_message_sign', title }, icon(name), element('span', { class: 'forklore_unseen' }, title));
        return element('div', {
            class: 'forklore_message', id: `${this.list.getAttribute('id')}_${at}`, role: 'option', 'aria-selected': String(number === this.chosen),
            'aria-setsize': this.rows.length, 'aria-posinset': at + 1, data: { at: String(at) },
        },
        element('bdi', { class: 'forklore_picked_text' }, number === null ? say('choose.now') : sayMessage(number, said)),
        said?.forks ? sign('fa-code-branch', say('mark.forks', { count: said.forks })) : null,
        said?.hasNewLore ? sign('fa-book-atlas', say('mark.lore')) : null);
    }

    activate(/** @type {number} */ at) {
        this.list.children[this.active]?.classList.remove('forklore_message_active');
        this.active = Math.min(Math.max(at, 0), this.rows.length - 1);
        this.draw(this.active + DRAWN / 2);
        const row = this.list.children[this.active];
        row?.classList.add('forklore_message_active');
        row?.scrollIntoView({ block: 'nearest' });
        [this.search, this.list].forEach((control) => control.setAttribute('aria-activedescendant', row?.id ?? ''));
    }

    clicked(/** @type {MouseEvent} */ event) {
        const row = /** @type {Element} */ (event.target).closest('[data-at]');
        const chosen = this.rows[Number(row?.getAttribute('data-at') ?? -1)];
        if (chosen) {
            this.pick(chosen.number);
        }
    }

    // Keys

    /** The browser clicks a real button on Enter; SillyTavern would close the popup. @param {KeyboardEvent} event */
    fieldKey(event) {
        if (event.key === 'Enter') {
            event.stopPropagation();
        } else if (event.key === 'ArrowDown' && this.panel.hidden) {
            event.preventDefault();
            void this.toggle();
        }
    }

    key(/** @type {KeyboardEvent} */ event) {
        /** @type {Record<string, () => void>} */
        const keys = {
            ArrowDown: () => this.activate(this.active + 1),
            ArrowUp: () => this.activate(this.active - 1),
            PageDown: () => this.activate(this.active + 8),
            PageUp: () => this.activate(this.active - 8),
            Enter: () => {
                const row = this.rows[this.active];
                row && this.pick(row.number);
            },
            Escape: () => {
                this.close();
                this.field.focus();
            },
        };
        const run = keys[event.key];
        if (run) {
            event.preventDefault();
            event.stopPropagation();
            run();
        }
    }
}
