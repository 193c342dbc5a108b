// Where timeline records are kept between visits: in this browser, separate from SillyTavern's own data.

import { currentUser } from '/scripts/user.js';

let opened = null;

function store() {
    opened ??= globalThis.SillyTavern.libs.localforage.createInstance({ name: 'Forklore', storeName: 'timelines' });
    return opened;
}

/** Several people may use SillyTavern in the same browser. */
const keyFor = (key) => `${currentUser?.handle ?? 'default-user'} ${key}`;

export const read = (key) => store().getItem(keyFor(key));
export const write = async (key, value) => { await store().setItem(keyFor(key), value); };
export const clear = () => store().clear();
