// Where timeline records are kept between visits: in this browser, separate from SillyTavern's own data.

import { currentUser } from '/scripts/user.js';

let opened = /** @type {ST.Store | null} */ (null);

function store() {
    opened ??= globalThis.SillyTavern.libs.localforage.createInstance({ name: 'Forklore', storeName: 'timelines' });
    return opened;
}

/** Several people may use SillyTavern in the same browser. @param {string} key */
const keyFor = (key) => `${currentUser?.handle ?? 'default-user'} ${key}`;

export const read = (/** @type {string} */ key) => store().getItem(keyFor(key));
export const write = async (/** @type {string} */ key, /** @type {unknown} */ value) => { await store().setItem(keyFor(key), value); };
export const clear = () => store().clear();
