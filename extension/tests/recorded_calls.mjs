// Records what the tests ask the core and what it answers, for `.ci/check-types`, which compares it with the declarations.

import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

/** More examples of one call say nothing new. */
const MOST = 150;

/** What these are given is the metadata of a chat, or a name that a test may have made of anything. */
const WITHOUT_AN_ASK = ['booksNamed', 'origin', 'bookKey', 'chatStem', 'isInternal', 'sameBook'];

/** Records each call of the core's functions, and of its guard's, in a file of this folder. */
export function record(core, folder) {
    const examples = new Map();
    const add = (call, value) => {
        const text = source(value);
        const known = examples.get(call) ?? examples.set(call, new Set()).get(call);
        if (known.size < MOST) {
            known.add(text);
        }
    };
    const recorded = (object, type, names) => {
        for (const name of names) {
            const run = object[name];
            object[name] = (...given) => {
                const answer = run(...given);
                given.forEach((value, at) => isOurs(value) && !WITHOUT_AN_ASK.includes(name) && add(`Parameters<${type}['${name}']>[${at}]`, value));
                add(`ReturnType<${type}['${name}']>`, answer);
                return answer;
            };
        }
        return object;
    };
    const functions = Object.keys(core).filter((name) => typeof core[name] === 'function' && name !== 'newGuard');
    recorded(core, 'Core', functions);
    const { newGuard } = core;
    core.newGuard = () => recorded(newGuard(), 'PageGuard', ['takeNews', 'next']);
    process.on('exit', () => {
        fs.mkdirSync(folder, { recursive: true });
        const list = [...examples].flatMap(([type, texts]) => [...texts].map((text) => ({ type, text })));
        fs.writeFileSync(path.join(folder, `${process.pid}.json`), JSON.stringify(list));
    });
}

/** Named values. The rest are files, texts and what SillyTavern has in its chats. */
function isOurs(value) {
    return value !== null && typeof value === 'object' && !ArrayBuffer.isView(value) && !Array.isArray(value);
}

/** What other extensions may have written to as well: their keys are no one's mistake. */
function isForeign(key, value) {
    return /metadata$|^extensions$/i.test(key) && isOurs(value) && !('exactness' in value);
}

/** A value as TypeScript. Of equal kinds of elements in a list, one is enough. */
function source(value) {
    if (ArrayBuffer.isView(value)) {
        return 'new Uint8Array()';
    }
    if (Array.isArray(value)) {
        return `[${[...new Set(value.map(source))].slice(0, 5).join(', ')}]`;
    }
    if (value !== null && typeof value === 'object') {
        const members = Object.entries(value).filter(([, part]) => part !== undefined);
        return `{ ${members.map(([key, part]) => `${JSON.stringify(key)}: ${isForeign(key, part) ? '{}' : source(part)}`).join(', ')} }`;
    }
    if (typeof value === 'number') {
        return '1';
    }
    // Only a word can be one of a list of words.
    return typeof value === 'string' && !/^[a-z-]+(:\d+)?$/.test(value) ? '"A text."' : String(JSON.stringify(value));
}
