/** The comparison of two timelines: where they diverge, what differs, and what to bring over. */
import { sayMessagesOf } from '../messages.js';
import { button, exactnessIcon, folded, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say, sayMetadataKey, sayPart } from '../words.js';
import { columns, entryRow } from './entry.js';
import { bestDirection, canBring, counts, isWorthReading, itemsOf, KINDS, labelOf, matching, SIDES, targets, whyNothing } from './items.js';
import { sideBySide } from './marks.js';
import { Selection } from './selection.js';

/** How many rows to draw at once; the rest is drawn on scrolling. */
const DRAWN = 100;
/** In pixels: how close to the end to draw more. */
const NEAR = 400;

/** @import { ComparedModel, Fired, Item, MergeRequest, Side, WantedEntries } from '../types.js' */

export class CompareView {
    /** @param {{model: ComparedModel, preview: (request: MergeRequest) => unknown, close: () => void}} parts */
    constructor({ model, preview, close }) {
        this.model = model;
        this.preview = preview;
        this.close = close;
        this.items = itemsOf(model);
        this.kinds = new Set(KINDS);
        this.sides = new Set(SIDES);
        this.direction = bestDirection(model, this.items);
        this.selection = new Selection({ model, from: this.direction.from, changed: () => this.showFooter() });
        this.waiting = /** @type {Item[]} */ ([]);
        this.more = button(say('compare.more'), { run: () => this.draw() });
        this.search = element('input', {
            type: 'search', class: 'text_pole', placeholder: say('lore.search'), 'aria-label': say('lore.search'),
            on: { input: () => this.showList(), keydown: (event) => event.stopPropagation() },
        });
        this.list = element('div', { class: 'forklore_rows', role: 'list', 'aria-label': say('compare.list') });
        this.rest = element('div', { class: 'forklore_sections' });
        // On a small screen everything scrolls, otherwise only the list.
        const scrolled = { scroll: (/** @type {Fired<'div', 'scroll'>} */ event) => this.drawMore(event.target) };
        const body = element('div', { class: 'forklore_compare_body', tabindex: -1, on: scrolled }, this.list, this.rest);
        this.status = element('span', { class: 'forklore_chosen', role: 'status' });
        this.go = button('', { icon: 'fa-arrow-right-to-bracket', class: 'forklore_go', run: () => this.preview(this.mergeRequest()) });
        this.select = button('', { icon: 'fa-check-double', run: () => this.tickAll() });
        this.footer = this.footerElement();
        this.title = heading(say(this.model.isOneChat ? 'compare.title.messages' : 'compare.title'));
        this.element = element('div', { class: 'forklore_dialog forklore_compare' },
            element('div', { class: 'forklore_bar' }, this.title,
                button('', { icon: 'fa-xmark', title: say('button.close'), label: say('button.close'), class: 'forklore_tool', run: this.close })),
            element('div', { class: 'forklore_compare_main', tabindex: -1, on: scrolled },
                headerElement(this.model),
                this.items.length ? this.filters() : null,
                body),
            this.footer);
        fill(this.rest, sections(this.model));
        this.setDirection(this.direction.from);
    }

    // Display

    filters() {
        const count = counts(this.items);
        /** @template Name @param {Set<Name>} set @param {Name} name @param {string} text */
        const chip = (set, name, text) => {
            /** @type {HTMLButtonElement} */
            const chipButton = button(text, { class: 'forklore_chip', run: () => {
                set.has(name) ? set.delete(name) : set.add(name);
                chipButton.setAttribute('aria-pressed', String(set.has(name)));
                this.showList();
            } });
            chipButton.setAttribute('aria-pressed', 'true');
            return chipButton;
        };
        const kinds = KINDS.filter((kind) => count[kind]).map((kind) => chip(this.kinds, kind, say(`compare.chip.${kind}`, { count: count[kind] })));
        const sides = this.model.isOneChat || SIDES.some((side) => !count[side]) ? []
            : SIDES.map((side) => chip(this.sides, side, say('compare.chip.side', { chat: labelOf(this.model, side), count: count[side] })));
        return element('div', { class: 'forklore_filters', role: 'group', 'aria-label': say('compare.filters') },
            kinds.length > 1 ? kinds : null, sides,
            element('div', { class: 'forklore_search' }, this.search));
    }

    shown() {
        return matching(this.items, { kinds: this.kinds, sides: this.sides, typed: this.search.value ?? '' });
    }

    showList() {
        this.waiting = this.shown();
        const nothing = this.items.length ? say('lore.no-match') : say('compare.same');
        fill(this.list, this.waiting.length ? null : paragraph(this.items.length ? null : icon('fa-equals'), ' ', nothing));
        this.draw();
        this.showFooter();
    }

    draw() {
        const rows = this.waiting.splice(0, DRAWN).map((item) => entryRow(item, {
            model: this.model,
            from: this.direction.from,
            selection: this.selection,
            bring: (each, from) => this.preview(this.mergeRequest({ [each.key]: true }, from)),
        }));
        this.more.remove?.();
        this.list.append(...rows);
        if (this.waiting.length) {
            this.list.append(this.more);
        }
    }

    drawMore(/** @type {HTMLElement} */ { scrollTop, clientHeight, scrollHeight }) {
        if (this.waiting.length && scrollHeight - scrollTop - clientHeight < NEAR) {
            this.draw();
        }
    }

    // Selection

    /** Sets the side that lore comes from. @param {string} from */
    setDirection(from) {
        this.direction = targets(this.model).find((direction) => direction.from === from) ?? this.direction;
        this.selection.start(this.direction.from);
        this.showList();
    }

    /** @param {WantedEntries} only @returns {MergeRequest} */
    mergeRequest(only = this.selection.only(), from = this.direction.from) {
        const side = this.model[from];
        const into = from === 'left' ? this.model.right : this.model.left;
        return { from: { chat: side.chat, message: side.message }, into: into.chat, only };
    }

    tickAll() {
        this.isAllTicked() ? this.selection.clear() : this.selection.tickAll(this.shown());
    }

    tickable(/** @type {Item[]} */ items) {
        return items.filter((item) => canBring(item, this.direction.from, this.model));
    }

    isAllTicked() {
        const items = this.tickable(this.shown());
        return items.length > 0 && items.every((item) => this.selection.of(item) === true);
    }

    footerElement() {
        const directions = targets(this.model);
        const canBringAny = this.tickable(this.items).length > 0;
        const choice = directions.length < 2 || !canBringAny ? null : element('label', { class: 'forklore_way' },
            element('span', {}, say('compare.into')),
            element('select', { class: 'text_pole', on: { change: (event) => this.setDirection(event.target.value) } },
                directions.map(({ from, into }) => element('option', { value: from, title: this.model[into].chat, selected: from === this.direction.from }, labelOf(this.model, into)))));
        const controls = canBringAny ? [this.select, this.go] : button(say('button.close'), { run: this.close });
        return element('div', { class: 'forklore_footer' }, choice, this.status, element('div', { class: 'forklore_buttons' }, controls));
    }

    showFooter() {
        if (!this.footer) {
            return;
        }
        const count = this.selection.size;
        const target = labelOf(this.model, this.direction.into);
        const canTick = this.tickable(this.items).length > 0;
        this.status.textContent = count || !this.items.length ? '' : canTick ? say('compare.choose') : whyNothing(this.model, this.direction);
        this.select.hidden = this.tickable(this.shown()).length === 0;
        this.go.hidden = count === 0;
        const isAll = this.isAllTicked();
        label(this.select, say(isAll ? 'compare.select.none' : 'compare.select.all'));
        this.select.setAttribute('title', isAll ? '' : say('compare.select.all.hint', { chat: labelOf(this.model, this.direction.from) }));
        label(this.go, say(this.model.isOneChat ? 'compare.go.back' : 'compare.go', { count, chat: target }));
    }
}

function label(/** @type {HTMLElement} */ control, /** @type {string} */ text) {
    const [last] = [...control.children].slice(-1);
    if (last) {
        last.textContent = text;
    }
}

function headerElement(/** @type {ComparedModel} */ model) {
    const side = (/** @type {Side} */ name) => {
        const { chat, message, book, hasBook, part } = model[name];
        const told = sayMessagesOf((number) => model.spokenAt(name, number));
        const about = message === null ? say('compare.side.now') : say('compare.side.then', { message: told(message), part: part ? sayPart(part, told) : '' });
        return element('div', { class: 'forklore_compared' },
            element('div', {}, element('b', {}, nameOf(chat)), model[name].isOpen ? element('small', { class: 'forklore_tag' }, say('compare.open')) : null),
            element('small', {}, part ? [exactnessIcon(part), ' '] : null, about),
            element('small', {}, book && hasBook ? say('compare.side.book', { book }) : say('compare.side.no-book')));
    };
    return element('div', { class: 'forklore_compare_head' },
        element('div', { class: 'forklore_columns' }, side('left'), side('right')),
        model.isOneChat ? null : paragraph(icon(model.beginning.known ? 'fa-code-fork' : 'fa-circle-question'), ' ', sayBeginning(model)));
}

/** Where two timelines diverge, and how that is known. @param {Pick<ComparedModel, 'beginning' | 'spokenAt'>} model */
export function sayBeginning({ beginning: { known, how, message, parting, chat }, spokenAt }) {
    // A message that was changed on one side is not the one they have in common.
    const told = sayMessagesOf((number) => {
        const [left, right] = [spokenAt('left', number), spokenAt('right', number)];
        return left?.name === right?.name && left?.text === right?.text ? left : null;
    });
    const where = parting === null ? null : told(parting);
    if (!known) {
        return where === null ? say('compare.began.never') : say('compare.began.unknown', { parting: where });
    }
    if (how === 'earlier') {
        return say('compare.began.earlier', { message, parting: where });
    }
    const values = { message: message === null ? null : told(message), chat };
    return say(chat === null ? 'compare.began.nameless' : `compare.began.${how}`, values);
}

/** Read-only sections: recap, variables, and other metadata of the chat. @param {ComparedModel} model */
function sections(model) {
    /** @param {'recap' | 'variables' | 'other' | 'book'} name @param {(name: string) => string} sayName */
    const section = (name, sayName, hasKeys = false) => {
        const list = model[name].filter(isWorthReading);
        return list.length === 0 ? null : folded(say(`compare.section.${name}`, { count: list.length }), () => list.map((field) =>
            element('section', { class: 'forklore_field' },
                element('div', { class: 'forklore_field_name' }, nameOf(sayName(field.name)),
                    hasKeys ? element('small', { class: 'forklore_by' }, field.name) : null),
                sideBySide(columns(field, model), model))));
    };
    const found = [
        section('recap', (name) => say(`compare.recap.${name}`)),
        section('variables', (name) => name),
        section('other', sayMetadataKey, true),
        section('book', (name) => name),
    ].filter(Boolean);
    return found.length ? [element('h4', {}, say('compare.beside')), found] : null;
}
