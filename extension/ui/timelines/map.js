/** The map: cards and the lines between them, moved and zoomed together. It knows where things are, not what they mean. */
import { IN_A_LINE, IN_A_SMALL_CARD, cutInside, shortNames } from '../names.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
import { STEP, closeUp, fitsAsCards, fitted, fittedInOutline, heldInView, middleOf, onMapAt, partOfOutline, revealing, showingAt, zoomed } from './layout/camera.js';
import { card } from './card.js';
import { listenTo } from './layout/gestures.js';
import { neighbour } from './layout/keyboard.js';
import { foldedAtFirst, layoutOf } from './layout/layout.js';
import { ROWS, isNarrow, outlineOf } from './layout/outline.js';

/** In pixels: how far from a card a tap still counts. */
const FINGER = 24;
/** In pixels: the height of the status line at the lower edge, which nothing of an outline may be behind. */
const STATUS = 32;
const SVG = 'http://www.w3.org/2000/svg';

/** @import { Camera, Density, Fired, Layout, Place, Point, Rectangle, ShownTimeline, Size } from '../types.js' */
/** @typedef {{id: string, inView: Point} | null} Anchor */

export class TimelineMap {
    /** @param {{select: (id: string) => void, activate: (id: string) => void, open: (id: string) => void, tick: (id: string) => void, search: () => void, framed: () => void}} handlers `framed`: another part of the map is shown */
    constructor(handlers) {
        this.handlers = handlers;
        this.timelines = /** @type {ShownTimeline[]} */ ([]);
        /** @type {Set<string>} */
        this.folded = new Set();
        /** What the user has folded or unfolded, compared to the initial state. @type {Set<string>} */
        this.toggled = new Set();
        this.unfoldsAll = false;
        /** Whether the user has moved or selected anything. Until then the initial view is kept up, however much the map grows. */
        this.isTouched = false;
        /** Whether the user asked to see everything; then it stays in view when the size changes. */
        this.showsAll = false;
        this.found = /** @type {Set<string> | null} */ (null);
        /** The ids of what is ticked; null while a tap selects. @type {Set<string> | null} */
        this.ticked = null;
        /** @type {Density} */
        this.density = 'cards';
        /** @type {Camera} */
        this.camera = { x: 0, y: 0, scale: 1 };
        this.selected = /** @type {string | null} */ (null);
        /** Whether less is shown than was asked for, because all of it would be too small. */
        this.isPart = false;
        /** @type {Map<string, Layout>} */
        this.layouts = new Map();
        this.size = /** @type {Size | undefined} */ (undefined);
        /** The timeline to show as soon as the map has a size. @type {string | null} */
        this.awaited = null;
        this.links = document.createElementNS(SVG, 'svg');
        this.links.setAttribute('class', 'forklore_links');
        this.links.setAttribute('aria-hidden', 'true');
        this.cards = element('div', { class: 'forklore_cards', role: 'tree', 'aria-label': say('timelines.tree') });
        this.world = element('div', { class: 'forklore_world' }, this.links, this.cards);
        this.element = element('div', { class: 'forklore_map', on: { keydown: (event) => this.keyPressed(event) } }, this.world);
        listenTo(this.element, {
            pan: (x, y) => {
                this.touched();
                this.moveTo({ ...this.camera, x: this.camera.x + x, y: this.camera.y + y });
            },
            zoom: (factor, at) => this.zoom(factor, at),
            tap: (event) => this.tapped(event),
        });
        this.watchSize();
    }

    /** On a phone, the details take space from the map and give it back. */
    watchSize() {
        if (typeof ResizeObserver === 'undefined') {
            return;
        }
        new ResizeObserver(([entry]) => {
            const { width = 0, height = 0 } = entry?.contentRect ?? {};
            const before = this.size;
            this.size = { width, height };
            if (this.awaited && width) {
                this.frame(this.awaited);
            } else if (before?.width && width && height && (width !== before.width || height !== before.height)) {
                this.resized(isNarrow(before) !== isNarrow(this.size));
            }
        }).observe(this.element);
    }

    resized(hasOtherLayout = false) {
        if (this.ticked && !hasOtherLayout) {
            // The bar has grown. What is about to be ticked must not move.
            this.moveTo(this.camera);
        } else if (this.showsAll || !this.isTouched || hasOtherLayout) {
            this.frame(this.showsAll ? null : this.selected);
        } else {
            this.moveTo(this.centred(this.selected ?? ''));
        }
    }

    /** Measured once for each size, because measuring forces the browser to lay everything out. @returns {Size} */
    view() {
        if (!this.size?.width) {
            this.size = { width: this.element.clientWidth, height: this.element.clientHeight };
        }
        return this.size;
    }

    layout(density = this.density) {
        const isOutline = isNarrow(this.view());
        const key = `${density} ${isOutline}`;
        const { folded } = this;
        const layout = this.layouts.get(key) ?? (isOutline && density !== 'dots' ? outlineOf(this.timelines, { density, folded }) : layoutOf(this.timelines, { density, folded }));
        this.layouts.set(key, layout);
        return layout;
    }

    /** How names are cut. */
    get room() {
        if (this.density !== 'dots' && isNarrow(this.view())) {
            return ROWS[this.density].most;
        }
        return this.density === 'cards' ? IN_A_LINE : IN_A_SMALL_CARD;
    }

    /** The user has moved the map. */
    touched() {
        this.isTouched = true;
        this.showsAll = false;
        if (this.isPart) {
            this.isPart = false;
            this.handlers.framed();
        }
    }

    // Display

    /**
     * Shows other timelines, or more details of the same ones. What is visible stays in place.
     * @param {ShownTimeline[]} timelines @param {{selected?: string | null, around?: string | null}} [how]
     */
    show(timelines, { selected = this.selected, around = null } = {}) {
        const anchor = around ? null : this.anchor();
        this.timelines = timelines;
        this.selected = timelines.some(({ id }) => id === selected) ? selected : null;
        this.fold();
        if (around || this.showsAll) {
            this.frame(around);
        } else {
            this.draw();
            this.holdTo(anchor);
        }
    }

    frame(/** @type {string | null} */ around) {
        if (around) {
            this.showAround(around);
        } else {
            this.showAll();
        }
    }

    fold() {
        const atFirst = this.unfoldsAll ? new Set() : foldedAtFirst(this.timelines);
        const changed = (/** @type {string} */ id) => atFirst.has(id) !== this.toggled.has(id);
        this.folded = new Set(this.timelines.map(({ id }) => id).filter(changed));
        this.layouts.clear();
    }

    /** Unfolds everything, or goes back to the initial state. @param {boolean} isWanted */
    unfoldAll(isWanted) {
        const anchor = this.anchor();
        this.isTouched = true;
        this.unfoldsAll = isWanted;
        this.toggled.clear();
        this.fold();
        this.draw();
        this.holdTo(anchor);
    }

    /** @param {Set<string> | null} found ids of the search results; null without a search */
    mark(found) {
        if (!found && !this.found) {
            return;
        }
        this.found = found;
        // The cards stay: during a search this happens often.
        const cards = new Map(/** @type {HTMLElement[]} */ ([...this.cards.children]).map((card) => [card.dataset.id, card]));
        for (const place of this.layout().places.values()) {
            const { isFound, isDimmed } = this.marksOf(place);
            cards.get(place.id)?.toggleAttribute('data-found', isFound);
            cards.get(place.id)?.toggleAttribute('data-dimmed', isDimmed);
        }
    }

    /** How a search shows on a card. @param {Place} place */
    marksOf({ id, hidden }) {
        const { found } = this;
        const isFound = Boolean(found?.has(id));
        return { isFound, isDimmed: Boolean(found && !isFound && !(hidden && this.hasBelow(id, (below) => found.has(below.id)))) };
    }

    /** @param {Set<string> | null} ticked ids; null while a tap selects */
    tick(ticked) {
        this.ticked = ticked;
        this.draw();
    }

    select(/** @type {string} */ id, { reveal = true } = {}) {
        this.isTouched = true;
        this.unfoldTo(id);
        this.selected = id;
        this.draw();
        if (reveal) {
            this.moveTo(this.revealed(id), true);
        }
    }

    unfoldTo(/** @type {string} */ id) {
        const byId = new Map(this.timelines.map((timeline) => [timeline.id, timeline]));
        for (let parent = byId.get(id)?.parent; parent; parent = byId.get(parent)?.parent) {
            if (this.folded.has(parent)) {
                this.toggle(parent);
            }
        }
        this.fold();
    }

    toggle(/** @type {string} */ id) {
        this.isTouched = true;
        if (!this.toggled.delete(id)) {
            this.toggled.add(id);
        }
    }

    toggleFold(/** @type {string} */ id) {
        const anchor = this.anchor(id);
        this.toggle(id);
        this.fold();
        this.draw();
        this.holdTo(anchor);
    }

    draw() {
        const { places, links, shelves, width, height } = this.layout();
        const hadFocus = this.cards.contains(document.activeElement) ? idOf(document.activeElement) : null;
        const byId = new Map(this.timelines.map((timeline) => [timeline.id, timeline]));
        const most = this.room;
        const short = shortNames(this.timelines.map(({ name }) => name), most);
        const titles = this.timelines.map(({ label }) => label.title);
        const hasOwnTitle = (/** @type {string} */ title) => Boolean(title) && titles.indexOf(title) === titles.lastIndexOf(title);
        const nameOf = (/** @type {ShownTimeline} */ { name, label }) => (hasOwnTitle(label.title) ? cutInside(label.title, most) : short(name));
        const hasChildren = new Set(this.timelines.map(({ parent }) => parent));
        const current = places.has(this.selected ?? '') ? this.selected : places.keys().next().value ?? null;
        this.element.dataset.density = this.density;
        this.element.toggleAttribute('data-outline', this.density !== 'dots' && isNarrow(this.view()));
        this.element.toggleAttribute('data-ticking', this.ticked !== null);
        fill(this.cards, [...places.values()].map((place) => {
            const siblings = places.get(place.parent ?? '')?.children ?? [place.id];
            const timeline = byId.get(place.id);
            return timeline && card(timeline, place, {
                density: this.density,
                name: nameOf(timeline),
                isSelected: place.id === this.selected,
                isCurrent: place.id === current,
                ...this.marksOf(place),
                isFolded: this.folded.has(place.id),
                hasChildren: hasChildren.has(place.id),
                hidesProblem: place.hidden > 0 && this.hasBelow(place.id, ({ findings }) => findings.some(({ problem }) => problem)),
                isTicked: this.ticked && timeline.kind !== 'gone' ? this.ticked.has(place.id) : null,
                position: siblings.indexOf(place.id) + 1,
                siblings: siblings.length,
            });
        }));
        this.links.setAttribute('width', String(width));
        this.links.setAttribute('height', String(height));
        this.links.replaceChildren(...shelves.map(drawShelf), ...links.map(({ path }) => drawn('path', { d: path })));
        Object.assign(this.world.style, { width: `${width}px`, height: `${height}px` });
        if (hadFocus) {
            (this.cardOf(hadFocus) ?? this.cardOf(current))?.focus({ preventScroll: true });
        }
    }

    /** @param {string} id @param {(timeline: ShownTimeline) => boolean} fits @returns {boolean} */
    hasBelow(id, fits) {
        return this.timelines.filter(({ parent }) => parent === id).some((child) => fits(child) || this.hasBelow(child.id, fits));
    }

    /** @param {string | null} id @returns {HTMLElement | null} */
    cardOf(id) {
        const cards = /** @type {HTMLElement[]} */ ([...this.cards.children]);
        return cards.find((card) => card.dataset.id === id) ?? null;
    }

    // Camera

    moveTo(/** @type {Camera} */ camera, glides = false) {
        this.camera = heldInView(camera, this.layout(), this.view());
        this.world.classList.toggle('forklore_gliding', glides);
        this.world.style.transform = `translate(${this.camera.x}px, ${this.camera.y}px) scale(${this.camera.scale})`;
    }

    /** Keeps the horizontal position, and centres vertically. @param {string} id */
    centred(id) {
        const place = this.layout().places.get(id);
        const y = place ? this.centre().y - middleOf(place).y * this.camera.scale : 0;
        return place ? revealing({ ...this.camera, y }, place, this.view()) : this.camera;
    }

    revealed(/** @type {string} */ id) {
        const place = this.layout().places.get(id);
        return place ? revealing(this.camera, place, this.view()) : this.camera;
    }

    zoom(/** @type {number} */ factor, at = this.centre()) {
        this.touched();
        const { density, scale } = zoomed({ density: this.density, scale: this.camera.scale }, factor);
        if (density === this.density) {
            this.moveTo(showingAt(scale, onMapAt(this.camera, at), at));
            return;
        }
        const nearest = this.nearestTo(at);
        const anchor = nearest && this.anchor(nearest.id);
        this.density = density;
        this.camera = { ...this.camera, scale };
        this.draw();
        this.holdTo(anchor);
    }

    zoomIn() {
        this.zoom(STEP);
    }

    zoomOut() {
        this.zoom(1 / STEP);
    }

    keepAllInView() {
        this.isTouched = true;
        this.showAll();
        this.showsAll = true;
    }

    showAll() {
        const room = this.roomForAll();
        const fit = isNarrow(room) ? fittedInOutline((density) => this.layout(density), room) : fitted((density) => this.layout(density), room);
        if (!fit) {
            this.showPart(this.timelines.find(({ isOpen }) => isOpen)?.id ?? this.selected);
            return;
        }
        this.isPart = false;
        this.density = fit.density;
        this.draw();
        const { width, height } = this.layout();
        this.moveTo(showingAt(fit.scale, { x: width / 2, y: height / 2 }, { x: room.width / 2, y: room.height / 2 }), true);
        this.handlers.framed();
    }

    roomForAll() {
        const { width, height } = this.view();
        return { width, height: isNarrow({ width }) ? height - STATUS : height };
    }

    /** What can be read of an outline around one timeline. @param {string | null} id */
    showPart(id) {
        this.isPart = true;
        this.density = 'names';
        this.draw();
        const place = this.layout().places.get(id ?? '') ?? this.layout().places.values().next().value;
        if (place) {
            this.moveTo(partOfOutline(this.layout(), place, this.roomForAll()));
        }
        this.handlers.framed();
    }

    /** Shows everything if it fits; otherwise a readable part around one timeline. @param {string} id */
    showAround(id) {
        this.unfoldTo(id);
        // If this is called before the popup has a size, it is repeated once it has one.
        this.awaited = this.view().width ? null : id;
        const room = this.roomForAll();
        const isWhole = isNarrow(room) ? fittedInOutline((density) => this.layout(density), room) !== null : fitsAsCards(this.layout('cards'), room);
        if (isWhole) {
            this.showAll();
            return;
        }
        this.showsAll = false;
        if (isNarrow(room)) {
            this.showPart(id);
            return;
        }
        const { density, scale } = closeUp(this.view());
        this.density = density;
        this.draw();
        const place = this.layout().places.get(id) ?? this.layout().places.values().next().value;
        if (place) {
            const centre = this.centre();
            // There is nothing to the left of a root.
            const x = place.depth === 0 ? Math.min(centre.x, (place.width / 2) * scale + 16) : centre.x;
            this.moveTo(showingAt(scale, middleOf(place), { x, y: centre.y }));
        }
    }

    centre() {
        const { width, height } = this.view();
        return { x: width / 2, y: height / 2 };
    }

    /** A timeline and its position on the screen, to keep it there when the layout changes. @returns {Anchor} */
    anchor(id = this.selected) {
        const place = this.layout().places.get(id ?? '') ?? this.nearestTo(this.centre());
        const { x, y, scale } = this.camera;
        return place && { id: place.id, inView: { x: middleOf(place).x * scale + x, y: middleOf(place).y * scale + y } };
    }

    holdTo(/** @type {Anchor} */ anchor) {
        const place = anchor && this.layout().places.get(anchor.id);
        this.moveTo(anchor && place ? showingAt(this.camera.scale, middleOf(place), anchor.inView) : this.camera);
    }

    nearestTo(/** @type {Point} */ inView, within = Infinity) {
        const point = onMapAt(this.camera, inView);
        const distance = (/** @type {Rectangle} */ { x, y, width, height }) => Math.hypot(
            Math.max(x - point.x, 0, point.x - x - width), Math.max(y - point.y, 0, point.y - y - height)) * this.camera.scale;
        const [nearest] = [...this.layout().places.values()].map((place) => ({ place, far: distance(place) })).sort((one, other) => one.far - other.far);
        return nearest && nearest.far <= within ? nearest.place : null;
    }

    // Input

    tapped(/** @type {MouseEvent} */ event) {
        const target = /** @type {Element} */ (event.target);
        const onFold = target.closest('.forklore_fold');
        const onCard = idOf(target.closest('.forklore_card'));
        const { left, top } = this.element.getBoundingClientRect();
        const id = onCard ?? this.nearestTo({ x: event.clientX - left, y: event.clientY - top }, FINGER)?.id;
        if (onFold && id !== undefined) {
            this.toggleFold(id);
        } else if (id !== undefined && (this.ticked || event.ctrlKey || event.metaKey || target.closest('.forklore_card_tick'))) {
            this.handlers.tick(id);
            this.cardOf(id)?.focus({ preventScroll: true });
        } else if (onCard && event.detail === 2) {
            this.handlers.open(onCard);
        } else if (id !== undefined) {
            this.handlers.select(id);
            this.cardOf(id)?.focus({ preventScroll: true });
        }
    }

    keyPressed(/** @type {Fired<'div', 'keydown'>} */ event) {
        const { key } = event;
        const at = idOf(event.target.closest('.forklore_card')) ?? this.selected ?? '';
        const action = this.actionFor(key, at);
        if (!action || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        // SillyTavern has its own uses for arrow keys and Enter.
        event.preventDefault();
        event.stopPropagation();
        action();
    }

    /** @param {string} key @param {string} at @returns {(() => void) | null} */
    actionFor(key, at) {
        const place = this.layout().places.get(at);
        const to = neighbour(this.layout().places, at, key, this.density !== 'dots' && isNarrow(this.view()));
        if (key === 'ArrowRight' && place && this.folded.has(at)) {
            return () => this.toggleFold(at);
        }
        if (to !== null) {
            return () => {
                this.handlers.select(to);
                this.cardOf(to)?.focus({ preventScroll: true });
            };
        }
        /** @type {Record<string, () => void>} */
        const keys = {
            'Enter': () => this.handlers.activate(at),
            ' ': () => this.handlers.tick(at),
            'f': () => (place?.hidden || place?.children.length ? this.toggleFold(at) : undefined),
            '+': () => this.zoomIn(),
            '=': () => this.zoomIn(),
            '-': () => this.zoomOut(),
            '0': () => this.keepAllInView(),
            '/': () => this.handlers.search(),
            'ArrowLeft': () => {},
            'ArrowRight': () => {},
            'ArrowUp': () => {},
            'ArrowDown': () => {},
        };
        return keys[key] ?? null;
    }
}

/** The timeline that a card stands for. @param {Element | null} card */
const idOf = (card) => /** @type {HTMLElement | null} */ (card)?.dataset.id;

function drawn(/** @type {'path' | 'rect'} */ tag, /** @type {Record<string, string | number>} */ attributes) {
    const result = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([name, value]) => result.setAttribute(name, String(value)));
    return result;
}

function drawShelf(/** @type {Rectangle} */ { x, y, width, height }) {
    return drawn('rect', { x, y, width, height, rx: 12 });
}
