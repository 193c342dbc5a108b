// Sees messages arrive: the instant before one is put at the end of SillyTavern's array of messages.

/** The wrapped methods, so that they are known again. */
const OURS = Symbol('forklore');

/**
 * Wraps `push` and `splice` of this one array. What is put at its end goes through `arriving`, which has to call `put`;
 * everything else happens as ever. The wrappers are not enumerable: no copy of the array has them.
 * @param {object[]} messages
 * @param {(put: () => unknown) => unknown} arriving
 */
export function watchArrivals(messages, arriving) {
    if (isWatched(messages)) {
        return;
    }
    const wrap = (name, isAtEnd) => {
        const original = messages[name];
        const wrapped = function (...values) {
            const put = () => original.apply(this, values);
            return this === messages && isAtEnd(values) ? arriving(put) : put();
        };
        wrapped[OURS] = true;
        Object.defineProperty(messages, name, { value: wrapped, configurable: true, writable: true, enumerable: false });
    };
    wrap('push', (values) => values.length > 0);
    wrap('splice', ([start, count, ...values]) => values.length > 0 && Math.trunc(Number(start)) >= messages.length && !(Number(count) < 0));
}

/** Whether nobody has taken our wrappers off or put others in their place. */
export function isWatched(messages) {
    return Boolean(messages.push[OURS] && messages.splice[OURS]);
}
