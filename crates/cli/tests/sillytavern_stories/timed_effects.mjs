// Asks SillyTavern's own code which timed effects are active. Its functions are extracted from the
// installed page at run time and run on stubs; no copy of them is stored here.
//
// Usage: node timed_effects.mjs <SillyTavern's folder> < request > answer
// request: {do: "begin" | "look", book: name, data: the book, timed: timedWorldInfo, length: messages}
// answer:  {timed, hashes: {uid: hash}, sticky: [uid], cooldown: [uid]}

import fs from 'node:fs';
import path from 'node:path';

const [, , install] = process.argv;
const page = name => fs.readFileSync(path.join(install, 'public/scripts', name), 'utf8');
const worldInfo = page('world-info.js');
const utils = page('utils.js');

function cut(source, pattern, end) {
    const start = source.search(pattern);
    const stop = source.indexOf(end, start);
    if (start < 0 || stop < 0) {
        throw new Error(`SillyTavern has no ${pattern} any more`);
    }
    return source.slice(start, stop + end.length).replace(/^export /, '');
}
const block = (source, pattern) => cut(source, pattern, '\n}\n');

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
const stubs = `
    const METADATA_KEY = 'world_info';
    const chat_metadata = { world_info: request.book, timedWorldInfo: request.timed };
    const selected_world_info = [];
    const world_info_insertion_strategy = { evenly: 0, character_first: 1, global_first: 2 };
    const world_info_character_strategy = 1;
    const event_types = {};
    const eventSource = { emit: async () => {} };
    const loadWorldInfo = async name => name === request.book ? request.data : null;
    const getGlobalLore = async () => [];
    const getCharacterLore = async () => [];
    const getPersonaLore = async () => [];
    const console = { log() {}, debug() {}, error(error) { throw error; } };
`;
const code = [
    stubs,
    cut(worldInfo, /^const KNOWN_DECORATORS = /m, ';\n'),
    cut(worldInfo, /^const sortFn = /m, ';\n'),
    block(utils, /^export function getStringHash\(/m),
    block(worldInfo, /^function parseDecorators\(/m),
    block(worldInfo, /^async function getChatLore\(/m),
    block(worldInfo, /^export async function getSortedEntries\(/m),
    block(worldInfo, /^class WorldInfoTimedEffects /m),
    'return { chat_metadata, getSortedEntries, WorldInfoTimedEffects };',
].join('\n');
const tavern = new Function('request', code)(request);

const entries = await tavern.getSortedEntries();
const effects = new tavern.WorldInfoTimedEffects(Array(request.length).fill('x'), entries);
if (request.do === 'begin') {
    effects.setTimedEffects(entries);
} else {
    effects.checkTimedEffects();
}
const active = kind => entries.filter(entry => effects.isEffectActive(kind, entry)).map(entry => entry.uid);
process.stdout.write(JSON.stringify({
    timed: tavern.chat_metadata.timedWorldInfo,
    hashes: Object.fromEntries(entries.map(entry => [entry.uid, entry.hash])),
    sticky: active('sticky'),
    cooldown: active('cooldown'),
}));
