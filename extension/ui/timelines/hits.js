/** What a search has found, as a list: by timeline, each hit with the words around it. */
import { wordsAround } from '../messages.js';
import { cutInside, shortNames } from '../names.js';
import { button, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, keepOrder } from '../widgets/dom.js';
import { foundPieces, holdsWords } from '../widgets/search.js';
import { say } from '../words.js';
import { KIND_ICONS } from './card.js';
/** @import { FoundTimeline, HitActions, SearchHit, ShownTimeline, TimelinesModel } from '../types.js' */

/** How many hits are shown. */
const SHOWN = 100;

/** The timelines that exist: the open chat's family first, and in each family the oldest first. @param {TimelinesModel} model */
export function oldestFirst({ timelines, families }) {
    const byId = new Map(timelines.map((timeline) => [timeline.id, timeline]));
    const mine = families.find(({ hasOpen }) => hasOpen)?.id;
    const depthOf = (/** @type {ShownTimeline} */ timeline) => {
        let depth = 0;
        for (let above = byId.get(timeline.parent ?? ''); above && depth < timelines.length; above = byId.get(above.parent ?? '')) {
            depth += 1;
        }
        return depth;
    };
    return timelines.filter(({ kind }) => kind !== 'gone')
        .map((timeline) => ({ timeline, rank: depthOf(timeline) + (timeline.family === mine ? 0 : timelines.length) }))
        .sort((one, other) => one.rank - other.rank).map(({ timeline }) => timeline);
}

/**
 * What was found, by timeline. A hit that several share belongs to the oldest of them.
 * @param {ShownTimeline[]} timelines in their order @param {string} typed @param {readonly SearchHit[]} hits @returns {FoundTimeline[]}
 */
export function foundIn(timelines, typed, hits) {
    const all = new Map(timelines.map((timeline, rank) => [timeline.name, { timeline, rank, isNamed: isNamed(timeline, typed), hits: /** @type {SearchHit[]} */ ([]) }]));
    for (const hit of hits) {
        const [first, ...others] = [...hit.books.keys()].flatMap((name) => all.get(name) ?? []);
        others.reduce((oldest, one) => (oldest && oldest.rank < one.rank ? oldest : one), first)?.hits.push(hit);
    }
    const order = (/** @type {SearchHit} */ { kind, place }) => (kind === 'entry' ? Number.MAX_SAFE_INTEGER / 2 : 0) + place;
    return [...all.values()].filter((found) => found.isNamed || found.hits.length)
        .map(({ timeline, isNamed, hits: its }) => ({ timeline, isNamed, hits: its.sort((one, other) => order(one) - order(other)) }));
}

/** What is known of a timeline without reading it. @param {ShownTimeline} timeline @param {string} typed */
function isNamed({ name, preview, book, label }, typed) {
    return holdsWords([label.title, label.note, name, preview, book].join('\n'), typed);
}

/** @typedef {{element: HTMLElement, show: (found: FoundTimeline, hit?: SearchHit) => void}} Row */

export class HitList {
    /** @param {HitActions & {leave: () => void, clear: () => void}} actions `leave`: the keyboard moves up, out of the list */
    constructor(actions) {
        this.actions = actions;
        this.typed = '';
        /** What is drawn stays: the user may be about to press it. @type {Map<SearchHit | string, Row>} */
        this.rows = new Map();
        /** Short names, by name. @type {Map<string, string>} */
        this.names = new Map();
        this.list = element('ul', { class: 'forklore_hits', 'aria-label': say('search.list') });
        this.note = paragraph();
        this.element = element('div', { class: 'forklore_found', on: { keydown: (event) => this.keyPressed(event) } }, this.list, this.note);
    }

    /** @param {FoundTimeline[]} found @param {{typed: string, isDone: boolean, all: ShownTimeline[]}} how */
    show(found, { typed, isDone, all }) {
        if (typed !== this.typed) {
            this.typed = typed;
            this.rows.clear();
            this.names.clear();
        }
        const short = shortNames(all.map(({ name }) => name));
        let left = SHOWN;
        const shown = [];
        for (const one of found) {
            if (left <= 0) {
                break;
            }
            const hits = one.hits.slice(0, left);
            left -= Math.max(1, hits.length);
            shown.push(this.rowOf(one.timeline.id, () => this.heading(one, short)), ...hits.map((hit) => this.rowOf(hit, () => this.hit())));
            this.rows.get(one.timeline.id)?.show(one);
            hits.forEach((hit) => this.rows.get(hit)?.show(one, hit));
        }
        keepOrder(this.list, shown);
        const more = countOf(found) - (SHOWN - left);
        this.note.textContent = more > 0 ? say('search.more', { count: more }) : isDone && !found.length ? say('search.none') : '';
    }

    /** @param {SearchHit | string} key @param {() => Row} make */
    rowOf(key, make) {
        const row = this.rows.get(key) ?? make();
        this.rows.set(key, row);
        return row.element;
    }

    /** A timeline with its hits below it. @param {FoundTimeline} found @param {(name: string) => string} short @returns {Row} */
    heading({ timeline }, short) {
        const { id, name, label, kind, isOpen } = timeline;
        const shown = label.title || (this.names.get(name) ?? short(name));
        this.names.set(name, shown);
        const about = element('small', { class: 'forklore_hit_words' });
        const head = element('button', { type: 'button', class: 'forklore_hit_timeline', title: name, data: { id }, on: { click: () => this.actions.show(id), keydown: leaveEnter } },
            icon(isOpen ? 'fa-location-dot' : KIND_ICONS[kind]), ' ', element('bdi', {}, this.marked(shown)), about);
        return {
            element: element('li', {}, head),
            show: ({ timeline: now, isNamed, hits }) => {
                const rest = [now.label.note, now.book ?? '', hits.length ? '' : now.preview];
                const text = isNamed && !holdsWords(shown, this.typed) ? rest.find((text) => text && foundPieces(text, this.typed).some(({ isFound }) => isFound)) : undefined;
                about.replaceChildren(...text ? this.marked(wordsAround(text, this.typed)) : []);
            },
        };
    }

    /** @returns {Row} */
    hit() {
        let shown = /** @type {{found: FoundTimeline, hit: SearchHit} | null} */ (null);
        const title = element('span', { class: 'forklore_hit_title' });
        const words = element('bdi', { class: 'forklore_hit_words' });
        const shared = element('small', {});
        const select = element('button', {
            type: 'button', class: 'forklore_hit', on: { click: () => shown && this.actions.select(shown.found.timeline.id), keydown: leaveEnter },
        }, title, words, shared);
        const open = button('', { icon: 'fa-arrow-up-right-from-square', class: 'forklore_hit_open', run: () => shown && this.actions.open(shown.hit, shown.found.timeline) });
        return {
            element: element('li', { class: 'forklore_hit_row' }, select, open),
            show: (found, hit) => {
                if (!hit) {
                    return;
                }
                const { timeline } = found;
                if (!shown) {
                    words.replaceChildren(...this.marked(wordsAround(hit.text, this.typed)));
                }
                if (shown?.found.timeline.id !== timeline.id) {
                    title.replaceChildren(...this.titleOf(hit, hit.books.get(timeline.name) ?? ''));
                    const label = say(`search.open.${hit.kind}`, { name: timeline.label.title || timeline.name, place: hit.place, title: hit.name });
                    open.setAttribute('aria-label', label);
                    open.title = label;
                }
                shared.textContent = hit.books.size > 1 ? say('search.shared', { count: hit.books.size }) : '';
                shown = { found, hit };
            },
        };
    }

    /** @param {SearchHit} hit @param {string} book */
    titleOf({ kind, place, name }, book) {
        if (kind === 'message') {
            return [nameOf(name ? say('message.by', { message: place, name: cutInside(name) }) : String(place))];
        }
        const title = nameOf('');
        title.replaceChildren(...this.marked(wordsAround(name, this.typed) || say('lore.untitled', { uid: place })));
        const from = nameOf(cutInside(book));
        from.title = book;
        return [icon('fa-book'), ' ', title, element('small', {}, from)];
    }

    /** @param {string} text */
    marked(text) {
        return foundPieces(text, this.typed).map((piece) => (piece.isFound ? element('mark', {}, piece.text) : piece.text));
    }

    /** Shows which timeline is selected. @param {string | null} id */
    select(id) {
        for (const head of this.heads()) {
            const isSelected = head.dataset.id === id;
            head.toggleAttribute('aria-current', isSelected);
            if (isSelected && !this.element.contains(document.activeElement)) {
                head.scrollIntoView({ block: 'nearest' });
            }
        }
    }

    heads() {
        return /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll('[data-id]')]);
    }

    controls() {
        return /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll('.forklore_hit_timeline, .forklore_hit')]);
    }

    /** Moves the keyboard focus to a timeline, or to the first one. @param {string | null} [id] @returns {boolean} whether there is one */
    focus(id) {
        const head = this.heads().find((head) => head.dataset.id === id) ?? this.heads()[0];
        head?.focus();
        return Boolean(head);
    }

    keyPressed(/** @type {KeyboardEvent} */ event) {
        const controls = this.controls();
        const row = document.activeElement?.closest('li');
        const at = controls.findIndex((control) => row?.contains(control));
        if (event.key === 'ArrowDown') {
            controls[at + 1]?.focus();
        } else if (event.key === 'ArrowUp') {
            at > 0 ? controls[at - 1]?.focus() : this.actions.leave();
        } else if (event.key === 'Escape') {
            this.actions.clear();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

/** How many rows there are. @param {FoundTimeline[]} found */
export function countOf(found) {
    return found.reduce((count, { hits }) => count + Math.max(1, hits.length), 0);
}

/** The browser clicks a real button on Enter; SillyTavern would click it again. @param {KeyboardEvent} event */
function leaveEnter(event) {
    if (event.key === 'Enter') {
        event.stopPropagation();
    }
}
