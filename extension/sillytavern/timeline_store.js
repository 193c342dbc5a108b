// Where records of timelines are kept between visits: in this browser, apart from everything of SillyTavern's.

import { currentUser } from '/scripts/user.js';

let opened = null;

function store() {
    opened ??= globalThis.SillyTavern.libs.localforage.createInstance({ name: 'Forklore', storeName: 'timelines' });
    return opened;
}

/** Several people may use SillyTavern in one browser. */
const keyFor = (key) => `${currentUser?.handle ?? 'default-user'} ${key}`;

export const read = (key) => store().getItem(keyFor(key));
export const write = async (key, value) => { await store().setItem(keyFor(key), value); };
export const clear = () => store().clear();
