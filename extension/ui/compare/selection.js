/** The ticked items: whole entries, or some of their fields. */
import { canBring, fieldsToBring } from './items.js';
/** @import { ComparedModel, Item, Side, WantedEntries } from '../types.js' */
/** @typedef {true | string[] | undefined} Wanted */

export class Selection {
    /** @param {{model: ComparedModel, from: Side, changed: () => void}} parts */
    constructor({ model, from, changed }) {
        this.model = model;
        this.from = from;
        this.changed = changed;
        this.ticked = /** @type {Map<number, {item: Item, wanted: true | string[]}>} */ (new Map());
        /** @type {Map<number, () => void>} */
        this.watchers = new Map();
    }

    /** The direction has changed: clears the selection. @param {Side} from */
    start(from) {
        this.from = from;
        this.ticked.clear();
        this.watchers.clear();
        this.changed();
    }

    /** @param {Item} item @returns {Wanted} */
    of(item) {
        return this.ticked.get(item.id)?.wanted;
    }

    watch(/** @type {Item} */ item, /** @type {() => void} */ show) {
        this.watchers.set(item.id, show);
    }

    tick(/** @type {Item} */ item, /** @type {boolean} */ isOn) {
        this.set(item, isOn ? true : undefined);
        this.changed();
    }

    tickField(/** @type {Item} */ item, /** @type {string} */ name, /** @type {boolean} */ isOn) {
        const all = fieldsToBring(item, this.from, this.model);
        const now = this.of(item);
        const names = new Set(now === true ? all : now ?? []);
        isOn ? names.add(name) : names.delete(name);
        this.set(item, names.size === all.length ? true : names.size ? [...names] : undefined);
        this.changed();
    }

    /** @param {Item[]} items the visible items */
    tickAll(items) {
        items.filter((item) => canBring(item, this.from, this.model)).forEach((item) => this.set(item, true));
        this.changed();
    }

    clear() {
        const items = [...this.ticked.values()].map(({ item }) => item);
        items.forEach((item) => this.set(item, undefined));
        this.changed();
    }

    set(/** @type {Item} */ item, /** @type {Wanted} */ wanted) {
        if (wanted === undefined) {
            this.ticked.delete(item.id);
        } else {
            this.ticked.set(item.id, { item, wanted });
        }
        this.watchers.get(item.id)?.();
    }

    get size() {
        return this.ticked.size;
    }

    /** The selection in the form that the core expects. @returns {WantedEntries} */
    only() {
        return Object.fromEntries([...this.ticked.values()].map(({ item, wanted }) => [item.key, wanted]));
    }
}
