/** Messages in words: the number, which SillyTavern hides by default, who spoke, and how it begins. */
import { cutInside } from './names.js';
import { placeOfWords } from './widgets/search.js';
import { say } from './words.js';
/** @import { SayMessage, Spoken } from './types.js' */

/** Most columns of the first words; Chinese characters take two. */
const WORDS = 40;
/** Most characters of a speaker's name. */
const NAME = 30;
/** How much of a message is read: it may begin with a long tag. */
const READ = 4000;
/** The most that can be left of the words: one sign can be made of hundreds of characters. */
const LONGEST = 160;
const CUT = '…';

/** A message of which only the number may be known. @param {number} number @param {Spoken | null | undefined} spoken */
export function sayMessage(number, spoken) {
    const message = String(number);
    const name = cutInside(plain(spoken?.name ?? ''), NAME);
    const words = firstWords(spoken?.text ?? '');
    if (!words) {
        return name ? say('message.by', { message, name }) : message;
    }
    return name ? say('message.said', { message, name, words }) : say('message.words', { message, words });
}

/** How to say the messages of one chat. @param {(message: number) => Spoken | null | undefined} spokenAt @returns {SayMessage} */
export const sayMessagesOf = (spokenAt) => (message) => sayMessage(message, spokenAt(message));

/** The first words of a message, without markup; empty if there are none. @param {string} text */
export function firstWords(text, columns = WORDS) {
    // The words stand in quotation marks of their own.
    const line = plain(text.slice(0, READ)).replace(QUOTES, '').trim();
    const words = fitting(line, 'word', columns);
    if (words === line) {
        return line;
    }
    // The first word may be too long, and so may its first sign.
    const start = words.trim() ? words : fitting(line, 'grapheme', columns) || [...line][0] || '';
    return `${start.replace(/[\s,;:.!?…，、；：。！？-]+$/u, '')}${CUT}`;
}

/** How much is read on both sides of what was searched for, and how many characters of it are shown: before it, and in all. */
const READ_AROUND = 400;
const BEFORE = 40;
const AROUND = 160;

/** The words around what was searched for. @param {string} text @param {string} typed */
export function wordsAround(text, typed) {
    const at = Math.max(0, placeOfWords(text, typed));
    const part = text.slice(Math.max(0, at - READ_AROUND), at + READ_AROUND);
    // It may be part of the markup.
    const line = [plain(part), part.replace(/\s+/g, ' ')].find((line) => placeOfWords(line, typed) >= 0) ?? plain(part);
    const place = Math.max(0, placeOfWords(line, typed));
    const blank = place <= BEFORE ? -1 : line.indexOf(' ', place - BEFORE);
    const start = place <= BEFORE ? 0 : blank >= 0 && blank < place ? blank + 1 : place - BEFORE;
    const last = line.lastIndexOf(' ', start + AROUND);
    const end = line.length <= start + AROUND ? line.length : last > place ? last : start + AROUND;
    // Without halves of characters.
    const words = line.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
    return `${start || at > READ_AROUND ? CUT : ''}${words}${end < line.length || at + READ_AROUND < text.length ? CUT : ''}`;
}

/** As many pieces of a line as fit. @param {string} line @param {'word' | 'grapheme'} granularity @param {number} columns */
function fitting(line, granularity, columns) {
    let shown = '';
    let width = 0;
    for (const piece of piecesOf(line.slice(0, LONGEST), granularity)) {
        width += widthOf(piece);
        if (width > columns) {
            break;
        }
        shown += piece;
    }
    return shown;
}

/** @type {Map<string, Intl.Segmenter>} */
const SEGMENTERS = new Map();

/** @param {string} text @param {'word' | 'grapheme'} granularity */
function piecesOf(text, granularity) {
    if (!('Segmenter' in Intl)) {
        return granularity === 'word' ? text.split(/(?<=\s)/u) : [...text];
    }
    const segmenter = SEGMENTERS.get(granularity) ?? new Intl.Segmenter(undefined, { granularity });
    SEGMENTERS.set(granularity, segmenter);
    return [...segmenter.segment(text)].map(({ segment }) => segment);
}

const QUOTES = /["“”„‟«»「」『』＂]/g;
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uff60\p{Extended_Pictographic}]/u;
const MARKS = /\p{M}/gu;

function widthOf(/** @type {string} */ text) {
    return [...text.replace(MARKS, '')].reduce((width, sign) => width + (WIDE.test(sign) ? 2 : 1), 0);
}

/** What is not words, and what is left of it. Macros stay, because only SillyTavern knows what they mean. @type {[what: RegExp, left: string][]} */
const MARKUP = [
    [/<(script|style)\b[^>]*>[^]*?(<\/\1\s*>|$)/gi, ' '],
    [/<!--[^]*?(-->|$)/g, ' '],
    [/<\/?[a-z!?][^<>]*>/gi, ' '],
    [/!?\[([^[\]]*)\]\([^()]*\)/g, '$1'],
    [/^\s*(#{1,6}\s+|>+\s*|[-+]\s+|(-{3,}|={3,})\s*$)/gm, ''],
    [/```\w*|[*`|]+|~~/g, ' '],
    [/(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, ''],
];

/** A text in one line, without markup. @param {string} text */
function plain(text) {
    const bare = MARKUP.reduce((rest, [what, left]) => rest.replace(what, left), text);
    return bare.replace(/[\s\p{Cc}\u200b\ufeff]+/gu, ' ').replace(/ (?=[,.;:!?])/g, '').trim();
}
