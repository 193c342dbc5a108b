// Where timeline records are kept between visits: in this browser, separate from SillyTavern's own data.

import { currentUser } from '/scripts/user.js';

/** @type {ST.Store | null} */
let opened = null;

function store() {
    opened ??= globalThis.SillyTavern.libs.localforage.createInstance({ name: 'Forklore', storeName: 'timelines' });
    return opened;
}

/** Several people may use SillyTavern in the same browser. @param {string} key */
const keyFor = (key) => `${currentUser?.handle ?? 'default-user'} ${key}`;

/** @param {string} key */
export const read = (key) => store().getItem(keyFor(key));
/** @param {string} key @param {unknown} value */
export const write = async (key, value) => { await store().setItem(keyFor(key), value); };
export const clear = () => store().clear();
