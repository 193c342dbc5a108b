// Notices messages that arrive, just before they are appended to SillyTavern's array of messages.

/** @typedef {ST.Message[]} Messages */
/** @typedef {((...values: unknown[]) => unknown) & {[WRAPPED]?: boolean}} Method of an array */

/** Marks the wrapped methods. */
const WRAPPED = Symbol('forklore');

/**
 * Wraps `push` and `splice` of this array. Appending goes through `onAppend`, which has to call `put`; `onInsert` is
 * called after messages were inserted. The wrappers are not enumerable, so copies of the array do not have them.
 * @param {Messages} messages @param {(put: () => unknown) => unknown} onAppend @param {() => void} onInsert
 */
export function watchArrivals(messages, onAppend, onInsert) {
    if (isWatched(messages)) {
        return;
    }
    /** @param {'push' | 'splice'} name @param {(values: unknown[]) => boolean} isAtEnd @param {(values: unknown[]) => boolean} [isBetween] */
    const wrap = (name, isAtEnd, isBetween = () => false) => {
        const original = /** @type {Method} */ (messages[name]);
        /** @type {Method} @this {Messages} */
        const wrapped = function (...values) {
            const put = () => original.apply(this, values);
            if (this === messages && isAtEnd(values)) {
                return onAppend(put);
            }
            const isHeard = this === messages && isBetween(values);
            const result = put();
            if (isHeard) {
                onInsert();
            }
            return result;
        };
        wrapped[WRAPPED] = true;
        Object.defineProperty(messages, name, { value: wrapped, configurable: true, writable: true, enumerable: false });
    };
    wrap('push', (values) => values.length > 0);
    /** @param {unknown[]} values */
    const isEnd = ([start, count, ...values]) => values.length > 0 && Math.trunc(Number(start)) >= messages.length && !(Number(count) < 0);
    wrap('splice', isEnd, ([start, count, ...values]) => values.length > 0 && count === 0 && Number(start) > 0 && Number(start) < messages.length);
}

/** Whether our wrappers are still in place. @param {Messages} messages */
export function isWatched(messages) {
    return [messages.push, messages.splice].every((method) => /** @type {Method} */ (method)[WRAPPED]);
}
