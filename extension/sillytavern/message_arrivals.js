// Sees messages arrive: the instant before one is put at the end of SillyTavern's array of messages.

/** The wrapped methods, so that they are known again. */
const WRAPPED = Symbol('forklore');

/**
 * Wraps `push` and `splice` of this one array. What is put at its end goes through `arriving`, which has to call `put`;
 * what is put in between happens as ever, and `inserted` hears of it. The wrappers are not enumerable: no copy of the
 * array has them.
 * @param {object[]} messages
 * @param {(put: () => unknown) => unknown} arriving
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

/** Whether nobody has taken our wrappers off or put others in their place. */
export function isWatched(messages) {
    return Boolean(messages.push[WRAPPED] && messages.splice[WRAPPED]);
}
