// Tells the core which copies of books the page holds: in its cache, in the editor, in other extensions. The core knows
// them by number, and what each is based on.

export class Lineage {
    /** @param {{newGuard: () => object}} core */
    constructor(core) {
        this.guard = core.newGuard();
        /** @type {WeakMap<object, number>} */
        this.numbers = new WeakMap();
        this.count = 0;
        this.dropped = new FinalizationRegistry((number) => this.guard.release(number));
    }

    numberOf(copy) {
        if (!this.numbers.has(copy)) {
            this.count += 1;
            this.numbers.set(copy, this.count);
            this.dropped.register(copy, this.count);
        }
        return this.numbers.get(copy);
    }

    /** A book was read from the server. */
    remember(name, text) {
        this.guard.remember(name, text);
    }

    /** A book was deleted. */
    forget(name) {
        this.guard.forget(name);
    }

    /** A copy was put into the page's cache: just read, or about to be saved. */
    cached(name, copy) {
        if (copy && typeof copy === 'object') {
            this.guard.cached(name, this.numberOf(copy), this.guard.wasReadTwice(name) ? JSON.stringify(copy) : undefined);
        }
    }

    /** A copy was made from another one, including its edits so far. */
    copied(original, copy) {
        if (copy && this.numbers.has(original)) {
            const number = this.numberOf(original);
            this.guard.copied(number, this.numberOf(copy), this.guard.mayBeEdited(number) ? JSON.stringify(original) : undefined);
        }
    }

    /**
     * A save is about to be sent.
     * @param {object | undefined} copy the copy that is saved, if known
     * @returns {number} the core's number for the save
     */
    begin(name, copy, text) {
        return this.guard.begin(name, copy && this.numberOf(copy), text);
    }

    /** A copy was replaced in the page's cache by the book as it is on the server. */
    replaced(name, copy, text) {
        this.guard.replaced(name, this.numberOf(copy), text);
    }
}
