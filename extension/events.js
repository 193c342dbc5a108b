// What happens in Forklore, for its user interface and for other extensions.

/** @import { AppEvents, Host } from './types.js' */

export class Events {
    /** @type {Map<keyof AppEvents, ((value: never) => void)[]>} */
    #listeners = new Map();

    /** @param {Pick<Host, 'emit'>} host */
    constructor(host) {
        this.host = host;
    }

    /** @template {keyof AppEvents} Event @param {Event} event @param {(value: AppEvents[Event]) => void} listener */
    on(event, listener) {
        this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
    }

    /** @template {keyof AppEvents} Event @param {Event} event @param {AppEvents[Event]} value */
    emit(event, value) {
        const listeners = /** @type {((value: AppEvents[Event]) => void)[]} */ (this.#listeners.get(event) ?? []);
        listeners.forEach((listener) => listener(value));
    }

    changed() {
        this.emit('changed', undefined);
    }

    /** @param {unknown} error */
    failed = (error) => this.emit('failed', error);

    /** Tells other extensions as well. @param {string} event @param {unknown} value */
    announce(event, value) {
        this.host.emit(`forklore:${event}`, value);
    }

    /** Runs a step whose failure must not stop SillyTavern: an error is reported, not thrown. @param {() => unknown} step */
    async reportErrors(step) {
        try {
            await step();
        } catch (error) {
            this.failed(error);
        }
    }
}
