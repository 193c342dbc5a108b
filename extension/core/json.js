// JSON as text and as bytes in UTF-8.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @param {unknown} value @returns {Uint8Array} */
export function toBytes(value) {
    return encoder.encode(JSON.stringify(value));
}

/** @param {Uint8Array} bytes */
export function fromBytes(bytes) {
    return JSON.parse(decoder.decode(bytes));
}

/** @param {string} text @returns {Uint8Array} */
export function textBytes(text) {
    return encoder.encode(text);
}

/** @param {Uint8Array} bytes @returns {string} */
export function bytesText(bytes) {
    return decoder.decode(bytes);
}

/** Whether two texts hold the same value. */
export function sameJson(one, other) {
    return one === other || JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
}
