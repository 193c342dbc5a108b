/** Everything the extension says: texts by key, coded messages of the core, and how well something is known. */
import { ENGLISH } from './english.js';

const NAMES_SHOWN = 5;
const PLACEHOLDER = /\{(\w+)((?:\|[^{}|]*)+)?\}/g;

let translate = (english) => english;
let language = 'en';

/** Uses SillyTavern's translations into `locale` from now on: `translator(english, key)`. */
export function useTranslations(translator, locale = 'en') {
    translate = translator;
    language = locale;
}

/** The text of a key, with its placeholders filled in. Those without a value are left as they are. */
export function say(key, values = {}) {
    const english = ENGLISH[key];
    if (english === undefined) {
        return key;
    }
    const text = translate(english, `forklore.${key}`);
    return fill(text, values, text === english ? 'en' : language);
}

/** A coded message of the core in the user's language. */
export function sayWord(word) {
    const key = keyOf(word);
    const values = shown(word);
    const isSayable = key in ENGLISH && placeholders(ENGLISH[key]).every((name) => isGiven(values[name]));
    return isSayable ? say(key, values) : word.code;
}

/** How well a lorebook is known, phrased to follow its name in a sentence. */
export function sayPart(part) {
    if (part.source === 'chosen') {
        return say('part.chosen');
    }
    const fromRecap = part.source === 'recap' && part.exactness !== 'live' ? '.recap' : '';
    return say(`part.${part.exactness}${fromRecap || (part.here ? '.here' : '')}`, part);
}

/** The same in a word or two, for lists. */
export function sayPartShort(part) {
    return say(`part.short.${part.source === 'chosen' ? 'chosen' : part.exactness}${part.here ? '.here' : ''}`, part);
}

/** Names in quotes, up to a limit. */
export function sayNames(names, limit = NAMES_SHOWN) {
    const quoted = names.slice(0, limit).map((text) => say('list.quote', { text }));
    const joined = quoted.join(say('list.separator'));
    const left = names.length - limit;
    return left > 0 ? say('list.more', { names: joined, count: left }) : joined;
}

/** The number of added, changed and removed entries, without zeros. */
export function sayCounts(counts) {
    return sayList(Object.entries(counts).filter(([, count]) => count > 0).map(([what, count]) => say(`count.${what}`, { count })));
}

/** Words separated by commas. */
export function sayList(words) {
    return words.join(say('list.separator'));
}

/** @param {string[]} terms of one sentence; empty ones are left out */
export const sayTerms = (terms) => terms.filter(Boolean).join(say('list.separator'));

/** What went wrong, for the user. */
export function sayError(error) {
    if (error?.word) {
        return error.sentence ?? sayWord(error.word);
    }
    const reason = String(error?.message ?? error);
    return error?.leftWithout ? say('notice.failed.fork', { chat: error.leftWithout, reason }) : say('notice.failed', { reason });
}

/** The fields of a lorebook entry, in the words of SillyTavern's editor. */
export function sayFields(fields) {
    return sayList(fields.map((field) => `field.${field}` in ENGLISH ? say(`field.${field}`) : field));
}

export function saySize(bytes) {
    const kilobytes = bytes / 1024;
    return kilobytes < 1000
        ? say('size.kb', { size: Math.max(1, Math.round(kilobytes)) })
        : say('size.mb', { size: (kilobytes / 1024).toFixed(1) });
}

/** The names of a text's placeholders, without duplicates. */
export function placeholders(text) {
    return [...new Set([...text.matchAll(PLACEHOLDER)].map((found) => found[1]))];
}

function fill(text, values, locale) {
    return text.replace(PLACEHOLDER, (written, name, forms) => {
        if (!isGiven(values[name])) {
            return written;
        }
        if (!forms) {
            return setApart(String(values[name]));
        }
        const choices = forms.slice(1).split('|');
        return choices[formOf(Number(values[name]), locale)] ?? choices.at(-1);
    });
}

const FORMS = ['zero', 'one', 'two', 'few', 'many', 'other'];
const RULES = new Map();

/** Which plural form a number takes in a language, as an index into those that the language has. */
function formOf(number, locale) {
    if (!RULES.has(locale)) {
        const rules = new Intl.PluralRules(locale);
        const { pluralCategories } = rules.resolvedOptions();
        RULES.set(locale, { rules, forms: FORMS.filter((form) => pluralCategories.includes(form)) });
    }
    const { rules, forms } = RULES.get(locale);
    return forms.indexOf(rules.select(number));
}

/** Right-to-left letters, and characters that change the direction of the text after them. */
const TURNING = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ISOLATES = /[\u2066-\u2069]/g;

/** Isolates a name, so that it cannot change the direction of the sentence around it. */
function setApart(text) {
    return TURNING.test(text) ? `\u2068${text.replace(ISOLATES, '')}\u2069` : text;
}

function isGiven(value) {
    return value !== undefined && value !== null;
}

/** Codes with a different sentence if a value is missing. */
const VARIANTS = {
    'book-not-known': ['as_of', 'never'],
    'metadata-not-exact': ['as_of', 'never'],
    'another-book': ['bound', 'none'],
    'combined-changed': ['found', 'gone'],
    'running-another': ['current', 'none'],
    'registry-without-entry': ['name', 'nameless'],
    'being-edited': ['message', 'this'],
};

function keyOf({ code, values }) {
    if (code === 'also-selected') {
        return `word.also-selected.${values.place.code}`;
    }
    const [name, variant] = VARIANTS[code] ?? [];
    return name && !isGiven(values?.[name]) ? `word.${code}.${variant}` : `word.${code}`;
}

const LISTS_OF_NAMES = ['with', 'by', 'chats'];

function shown({ values }) {
    const result = { ...values };
    for (const [name, value] of Object.entries(result)) {
        if (!Array.isArray(value)) {
            continue;
        }
        if (name === 'keys') {
            result.keys = sayList([...new Set(value.map(sayMetadataKey))]);
        } else if (name === 'places') {
            result.places = sayList(value.map((place) => say(`place.${place.code}`, place.values)));
        } else {
            result[name] = LISTS_OF_NAMES.includes(name) ? sayNames(value) : sayList(value);
        }
    }
    return result;
}

const METADATA_GROUPS = {
    scenario: 'prompts',
    mes_example: 'prompts',
    system_prompt: 'prompts',
    custom_background: 'backgrounds',
    chat_backgrounds: 'backgrounds',
};

/** A metadata key of SillyTavern's, in words. */
export function sayMetadataKey(key) {
    const prefix = ['note', 'cfg'].find((name) => key.startsWith(`${name}_`));
    const name = `metadata.${METADATA_GROUPS[key] ?? prefix ?? key}`;
    return name in ENGLISH ? say(name) : key;
}
