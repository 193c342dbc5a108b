/** Everything the extension says: texts by key, coded messages of the core, and how well something is known. */
import { ENGLISH } from './english.js';
import { shortNames } from './names.js';
/** @import { BookReference, Part, PendingFork, SayMessage, Word } from './types.js' */
/** @typedef {Record<string, unknown>} Values */

const NAMES_SHOWN = 5;
const PLACEHOLDER = /\{(\w+)((?:\|[^{}|]*)+)?\}/g;

let translate = (/** @type {string} */ english, /** @type {string} */ _key) => english;
let language = 'en';

/** Uses SillyTavern's translations into `locale` from now on. @param {typeof translate} translator */
export function useTranslations(translator, locale = 'en') {
    translate = translator;
    language = locale;
}

/** The text of a key, with its placeholders filled in. Those without a value are left as they are. @param {string} key @param {object} [values] */
export function say(key, values = {}) {
    const english = ENGLISH[key];
    if (english === undefined) {
        return key;
    }
    const text = translate(english, `forklore.${key}`);
    return fill(text, { ...values }, text === english ? 'en' : language);
}

/** A coded message of the core in the user's language. @param {Word} word @param {SayMessage} [sayMessage] if the chat it is about is known */
export function sayWord(word, sayMessage) {
    const key = keyOf(word);
    const values = withMessages(shown(word), sayMessage);
    const english = ENGLISH[key];
    const isSayable = english !== undefined && placeholders(english).every((name) => isGiven(values[name]));
    return isSayable ? say(key, values) : word.code;
}

/** How well a lorebook is known, phrased to follow its name in a sentence. @param {Part} part @param {SayMessage} [sayMessage] */
export function sayPart(part, sayMessage) {
    if (part.source === 'chosen') {
        return say('part.chosen');
    }
    const fromRecap = part.source === 'recap' && part.exactness !== 'live' ? '.recap' : '';
    return say(`part.${part.exactness}${fromRecap || (part.here ? '.here' : '')}`, withMessages(part, sayMessage));
}

/** The same in a word or two, for lists. @param {Part} part @param {SayMessage} [sayMessage] */
export function sayPartShort(part, sayMessage) {
    return say(`part.short.${part.source === 'chosen' ? 'chosen' : part.exactness}${part.here ? '.here' : ''}`, withMessages(part, sayMessage));
}

/** Values that are numbers of messages. */
const MESSAGES = ['message', 'as_of', 'settled_at'];

/** Values with their messages in words. @param {object} values @param {SayMessage} sayMessage @returns {Values} */
export function withMessages(values, sayMessage = String) {
    /** @type {Values} */
    const said = { ...values };
    for (const name of MESSAGES) {
        const number = said[name];
        if (typeof number === 'number') {
            said[name] = sayMessage(number);
        }
    }
    return said;
}

/** Names in quotes, up to a limit. @param {string[]} names */
export function sayNames(names, limit = NAMES_SHOWN) {
    const quoted = names.slice(0, limit).map((text) => say('list.quote', { text }));
    const joined = quoted.join(say('list.separator'));
    const left = names.length - limit;
    return left > 0 ? say('list.more', { names: joined, count: left }) : joined;
}

/** Names of chats, without what they share. @param {string[]} names @param {number} [limit] @param {string[]} [beside] other names that they may share it with */
export function sayChats(names, limit, beside = []) {
    return sayNames(names.map(shortNames([...beside, ...names], Infinity)), limit);
}

/** The number of added, changed and removed entries, without zeros. @param {Record<string, number>} counts */
export function sayCounts(counts) {
    return sayList(Object.entries(counts).filter(([, count]) => count > 0).map(([what, count]) => say(`count.${what}`, { count })));
}

/** Words separated by commas. @param {string[]} words */
export function sayList(words) {
    return words.join(say('list.separator'));
}

/** The terms of one sentence; empty ones are left out. */
export const sayTerms = (/** @type {string[]} */ terms) => terms.filter(Boolean).join(say('list.separator'));

/** A sentence about a fork that waits, with what it waits for. @param {string} first @param {PendingFork} fork */
export function withWork(first, { operations, paused }) {
    const then = () => sayWord({ code: paused ? 'queue-paused' : 'queue-busy', values: { count: operations } });
    return operations ? say('list.sentences', { first, then: then() }) : first;
}

/** Which lorebook a chat without its own one uses, and who shares it. @param {BookReference} shared */
export function sayShared({ book, place, name }) {
    return say(`common.${place}`, { book, name });
}

/** Findings about a chat without its lorebook, which a repair brings back. */
export const REPAIRABLE = ['book-missing', 'book-failed', 'book-left-out', 'leaves-out-nothing'];

/** Errors that are always about the open chat. */
const ABOUT_OPEN_CHAT = ['being-edited', 'nothing-to-restore', 'book-not-recorded'];

/** What went wrong, for the user. @param {unknown} error @param {SayMessage} [sayMessage] how to say messages of the open chat */
export function sayError(error, sayMessage) {
    /** @type {Partial<Error> & {word?: Word, sentence?: string, leftWithout?: string}} */
    const { word, sentence, message, leftWithout } = error instanceof Object ? error : {};
    if (word) {
        return sentence ?? sayWord(word, ABOUT_OPEN_CHAT.includes(word.code) ? sayMessage : undefined);
    }
    const reason = String(message ?? error);
    return leftWithout ? say('notice.failed.fork', { chat: leftWithout, reason }) : say('notice.failed', { reason });
}

/** The fields of a lorebook entry, in the words of SillyTavern's editor. @param {string[]} fields */
export function sayFields(fields) {
    return sayList(fields.map((field) => `field.${field}` in ENGLISH ? say(`field.${field}`) : field));
}

export function saySize(/** @type {number} */ bytes) {
    const kilobytes = bytes / 1024;
    return kilobytes < 1000
        ? say('size.kb', { size: Math.max(1, Math.round(kilobytes)) })
        : say('size.mb', { size: (kilobytes / 1024).toFixed(1) });
}

/** The names of a text's placeholders, without duplicates. @param {string} text */
export function placeholders(text) {
    return [...new Set([...text.matchAll(PLACEHOLDER)].map((found) => found[1] ?? ''))];
}

function fill(/** @type {string} */ text, /** @type {Values} */ values, /** @type {string} */ locale) {
    return text.replace(PLACEHOLDER, (/** @type {string} */ written, /** @type {string} */ name, /** @type {string | undefined} */ forms) => {
        if (!isGiven(values[name])) {
            return written;
        }
        if (!forms) {
            return setApart(String(values[name]));
        }
        const choices = forms.slice(1).split('|');
        return choices[formOf(Number(values[name]), locale)] ?? choices.at(-1) ?? written;
    });
}

/** @type {Intl.LDMLPluralRule[]} */
const FORMS = ['zero', 'one', 'two', 'few', 'many', 'other'];
const RULES = /** @type {Map<string, {rules: Intl.PluralRules, forms: Intl.LDMLPluralRule[]}>} */ (new Map());

/** Which plural form a number takes in a language, as an index into those that the language has. @param {number} number @param {string} locale */
function formOf(number, locale) {
    let known = RULES.get(locale);
    if (!known) {
        const rules = new Intl.PluralRules(locale);
        const { pluralCategories } = rules.resolvedOptions();
        known = { rules, forms: FORMS.filter((form) => pluralCategories.includes(form)) };
        RULES.set(locale, known);
    }
    return known.forms.indexOf(known.rules.select(number));
}

/** Right-to-left letters, and characters that change the direction of the text after them. */
const TURNING = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ISOLATES = /[\u2066-\u2069]/g;

/** Isolates a name, so that it cannot change the direction of the sentence around it. @param {string} text */
function setApart(text) {
    return TURNING.test(text) ? `\u2068${text.replace(ISOLATES, '')}\u2069` : text;
}

function isGiven(/** @type {unknown} */ value) {
    return value !== undefined && value !== null;
}

/** Codes with a different sentence if a value is missing: its name, and the variant. @type {Record<string, [string, string]>} */
const VARIANTS = {
    'book-not-known': ['as_of', 'never'],
    'metadata-not-exact': ['as_of', 'never'],
    'another-book': ['bound', 'none'],
    'combined-changed': ['found', 'gone'],
    'running-another': ['current', 'none'],
    'registry-without-entry': ['name', 'nameless'],
    'being-edited': ['message', 'this'],
};

function keyOf(/** @type {Word} */ { code, values }) {
    if (code === 'without-book') {
        return `word.without-book.${values?.why}`;
    }
    if (code === 'also-selected') {
        return `word.also-selected.${wordIn(values?.place).code}`;
    }
    if (code === 'no-book-as-of' && values?.here) {
        return `word.${code}.here`;
    }
    const [name, variant] = VARIANTS[code] ?? [];
    return name && !isGiven(values?.[name]) ? `word.${code}.${variant}` : `word.${code}`;
}

const LISTS_OF_CHATS = ['with', 'by', 'chats'];

/** A word among the values of another one. @param {unknown} value @returns {Word} */
function wordIn(value) {
    /** @type {Partial<Word>} */
    const { code = '', values } = value instanceof Object ? value : {};
    return { code, values };
}

function shown(/** @type {Word} */ { values }) {
    const result = { ...values };
    for (const [name, value] of Object.entries(result)) {
        if (!Array.isArray(value)) {
            continue;
        }
        if (name === 'keys') {
            result.keys = sayList([...new Set(value.map(String).map(sayMetadataKey))]);
        } else if (name === 'places') {
            result.places = sayList(value.map(wordIn).map((place) => say(`place.${place.code}`, place.values)));
        } else {
            result[name] = LISTS_OF_CHATS.includes(name) ? sayChats(value.map(String)) : sayList(value.map(String));
        }
    }
    return result;
}

/** @type {Record<string, string>} */
const METADATA_GROUPS = {
    scenario: 'prompts',
    mes_example: 'prompts',
    system_prompt: 'prompts',
    custom_background: 'backgrounds',
    chat_backgrounds: 'backgrounds',
};

/** A metadata key of SillyTavern's, in words. @param {string} key */
export function sayMetadataKey(key) {
    const prefix = ['note', 'cfg'].find((name) => key.startsWith(`${name}_`));
    const name = `metadata.${METADATA_GROUPS[key] ?? prefix ?? key}`;
    return name in ENGLISH ? say(name) : key;
}
