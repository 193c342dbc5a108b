// JSON as text and as bytes in UTF-8.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {unknown} value */
export function toBytes(value) {
    return encoder.encode(JSON.stringify(value));
}

/** @param {Uint8Array} bytes @returns {unknown} */
export function fromBytes(bytes) {
    return JSON.parse(decoder.decode(bytes));
}

/** @param {string} text */
export function textBytes(text) {
    return encoder.encode(text);
}

/** @param {Uint8Array} bytes */
export function bytesText(bytes) {
    return decoder.decode(bytes);
}

/** Whether two texts hold the same value. @param {string} one @param {string} other */
export function sameJson(one, other) {
    return one === other || JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
}
