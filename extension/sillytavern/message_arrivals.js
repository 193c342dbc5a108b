// Notices messages that arrive, just before they are appended to SillyTavern's array of messages.

/** Marks the wrapped methods. */
const WRAPPED = Symbol('forklore');

/**
 * Wraps `push` and `splice` of this array. Appending goes through `onAppend`, which has to call `put`; `onInsert` is
 * called after messages were inserted. The wrappers are not enumerable, so copies of the array do not have them.
 * @param {object[]} messages
 * unknown) => unknown) => unknown} arriving
 * @param {() => void} inserted
 */
export function watchArrivals(messages, onAppend, onInsert) {
    if (isWatched(messages)) {
        return;
    }
    const wrap = (name, isAtEnd, isBetween = () => false) => {
        const original = messages[name];
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
    const isEnd = ([start, count, ...values]) => values.length > 0 && Math.trunc(Number(start)) >= messages.length && !(Number(count) < 0);
    wrap('splice', isEnd, ([start, count, ...values]) => values.length > 0 && count === 0 && start > 0 && start < messages.length);
}

/** Whether our wrappers are still in place. */
export function isWatched(messages) {
    return Boolean(messages.push[WRAPPED] && messages.splice[WRAPPED]);
}
