/** The ticked items: whole entries, or some of their fields. */
import { canBring, fieldsToBring } from './items.js';

export class Selection {
    /** @param {{model: object, changed: () => void}} parts */
    constructor({ model, changed }) {
        Object.assign(this, { model, changed });
        this.from = null;
        this.ticked = new Map();
        this.watchers = new Map();
    }

    /** The direction has changed: clears the selection. */
    start(from) {
        this.from = from;
        this.ticked.clear();
        this.watchers.clear();
        this.changed();
    }

    /** @returns {true | string[] | undefined} */
    of(item) {
        return this.ticked.get(item.id)?.wanted;
    }

    watch(item, show) {
        this.watchers.set(item.id, show);
    }

    tick(item, isOn) {
        this.set(item, isOn ? true : undefined);
        this.changed();
    }

    tickField(item, name, isOn) {
        const all = fieldsToBring(item, this.from, this.model);
        const now = this.of(item);
        const names = new Set(now === true ? all : now ?? []);
        isOn ? names.add(name) : names.delete(name);
        this.set(item, names.size === all.length ? true : names.size ? [...names] : undefined);
        this.changed();
    }

    /** @param {object[]} items the visible items */
    tickAll(items) {
        items.filter((item) => canBring(item, this.from, this.model)).forEach((item) => this.set(item, true));
        this.changed();
    }

    clear() {
        const items = [...this.ticked.values()].map(({ item }) => item);
        items.forEach((item) => this.set(item, undefined));
        this.changed();
    }

    set(item, wanted) {
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

    /** The selection in the form that the core expects. */
    only() {
        return Object.fromEntries([...this.ticked.values()].map(({ item, wanted }) => [item.key, wanted]));
    }
}
