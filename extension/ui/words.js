/** What the extension says: texts by key, words of the core, and how well something is known. */
import { ENGLISH } from './english.js';

const NAMES_SHOWN = 5;
const PLACEHOLDER = /\{(\w+)((?:\|[^{}|]*)+)?\}/g;

let translate = (english) => english;
let language = 'en';

/** Says everything through SillyTavern's translations into `locale` from now on: `translator(english, key)`. */
export function useTranslations(translator, locale = 'en') {
    translate = translator;
    language = locale;
}

/** The text of a key, with its placeholders filled in. What is not given stays as it is written. */
export function say(key, values = {}) {
    const english = ENGLISH[key];
    if (english === undefined) {
        return key;
    }
    const text = translate(english, `forklore.${key}`);
    return fill(text, values, text === english ? 'en' : language);
}

/** A word of the core in the user's language. */
export function sayWord(word) {
    const key = keyOf(word);
    const values = shown(word);
    const isSayable = key in ENGLISH && placeholders(ENGLISH[key]).every(name => isGiven(values[name]));
    return isSayable ? say(key, values) : word.code;
}

/** How well a lorebook is known, so that it can follow its name in a sentence. */
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

/** Names in quotes, not too many of them. */
export function sayNames(names, limit = NAMES_SHOWN) {
    const quoted = names.slice(0, limit).map(text => say('list.quote', { text }));
    const joined = quoted.join(say('list.separator'));
    const left = names.length - limit;
    return left > 0 ? say('list.more', { names: joined, count: left }) : joined;
}

/** How many entries were added, changed and removed, without those of which there are none. */
export function sayCounts(counts) {
    return sayList(Object.entries(counts).filter(([, count]) => count > 0).map(([what, count]) => say(`count.${what}`, { count })));
}

/** Plain words one after the other. */
export function sayList(words) {
    return words.join(say('list.separator'));
}

/** @param {string[]} terms of one sentence, of which some may be empty */
export const sayTerms = terms => terms.filter(Boolean).join(say('list.separator'));

/** What went wrong, for people. */
export function sayError(error) {
    if (error?.word) {
        return error.sentence ?? sayWord(error.word);
    }
    const reason = String(error?.message ?? error);
    return error?.leftWithout ? say('notice.failed.fork', { chat: error.leftWithout, reason }) : say('notice.failed', { reason });
}

/** Fields of a lorebook entry, as its editor calls them. */
export function sayFields(fields) {
    return sayList(fields.map(field => `field.${field}` in ENGLISH ? say(`field.${field}`) : field));
}

export function saySize(bytes) {
    const kilobytes = bytes / 1024;
    return kilobytes < 1000
        ? say('size.kb', { size: Math.max(1, Math.round(kilobytes)) })
        : say('size.mb', { size: (kilobytes / 1024).toFixed(1) });
}

/** The names of a text's placeholders, each once. */
export function placeholders(text) {
    return [...new Set([...text.matchAll(PLACEHOLDER)].map(found => found[1]))];
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

/** Which of a language's forms a number takes, counted in the order above. */
function formOf(number, locale) {
    if (!RULES.has(locale)) {
        const rules = new Intl.PluralRules(locale);
        const { pluralCategories } = rules.resolvedOptions();
        RULES.set(locale, { rules, forms: FORMS.filter(form => pluralCategories.includes(form)) });
    }
    const { rules, forms } = RULES.get(locale);
    return forms.indexOf(rules.select(number));
}

/** Letters that run from right to left, and signs that turn the direction of what follows them. */
const TURNING = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ISOLATES = /[\u2066-\u2069]/g;

/** A name must not turn the sentence around it. */
function setApart(text) {
    return TURNING.test(text) ? `\u2068${text.replace(ISOLATES, '')}\u2069` : text;
}

function isGiven(value) {
    return value !== undefined && value !== null;
}

/** Codes whose sentence is another one when a value is missing. */
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
            result.places = sayList(value.map(place => say(`place.${place.code}`, place.values)));
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

/** What SillyTavern keeps with a chat, by its key. */
export function sayMetadataKey(key) {
    const prefix = ['note', 'cfg'].find(name => key.startsWith(`${name}_`));
    const name = `metadata.${METADATA_GROUPS[key] ?? prefix ?? key}`;
    return name in ENGLISH ? say(name) : key;
}
