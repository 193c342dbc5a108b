// What happens to files outside SillyTavern. Lines keep their tokens, so the ledger still knows which message each was.

const FIELD = 'forklore';

const KINDS = {
    'torn end': ({ lines }, random) => {
        const place = random.below(lines.length - 1) + 1;
        const { text, token } = lines[place];
        lines.length = place;
        lines.push({ text: text.slice(0, 1 + random.below(text.length - 1)), token });
    },
    'cut at a line': ({ lines }, random) => {
        lines.length = 1 + random.below(lines.length - 1);
    },
    'bad line in between': ({ lines }, random) => {
        lines.splice(random.below(lines.length), 0, { text: random.pick(['not json', '{', '\u0000']), token: null });
    },
    'message torn': ({ lines }, random) => {
        const line = lines[random.below(lines.length)];
        lines[lines.indexOf(line)] = { text: line.text.slice(0, 1 + random.below(line.text.length - 1)), token: line.token };
    },
    'line dropped': ({ lines }, random) => {
        lines.splice(random.below(lines.length), 1);
    },
    'line doubled': ({ lines }, random, ledger) => {
        const place = random.below(lines.length);
        const token = ledger.newToken();
        const next = lines[place + 1]?.token;
        if (next) {
            ledger.putBetween(token, next);
        } else {
            ledger.madeByHand(token, []);
        }
        lines.splice(place + 1, 0, { text: lines[place].text, token });
    },
    'lines swapped': ({ lines }, random) => {
        const one = random.below(lines.length);
        const other = random.below(lines.length);
        [lines[one], lines[other]] = [lines[other], lines[one]];
    },
    'record copied': ({ lines }, random) => {
        const [from, to] = [soundPlace(lines, random), soundPlace(lines, random)];
        const record = JSON.parse(lines[from].text)[FIELD];
        if (record !== undefined) {
            lines[to] = { ...lines[to], text: JSON.stringify({ ...JSON.parse(lines[to].text), [FIELD]: record }) };
        }
    },
    'records exchanged': ({ lines }, random) => {
        const [one, other] = [soundPlace(lines, random), soundPlace(lines, random)];
        const [first, second] = [JSON.parse(lines[one].text), JSON.parse(lines[other].text)];
        if (first[FIELD] === undefined || second[FIELD] === undefined) {
            return;
        }
        [first[FIELD], second[FIELD]] = [second[FIELD], first[FIELD]];
        lines[one] = { ...lines[one], text: JSON.stringify(first) };
        lines[other] = { ...lines[other], text: JSON.stringify(second) };
    },
    'record removed': ({ lines }, random) => {
        const place = soundPlace(lines, random);
        const message = JSON.parse(lines[place].text);
        delete message[FIELD];
        lines[place] = { ...lines[place], text: JSON.stringify(message) };
    },
    'keys doubled': ({ lines }, random) => {
        const place = soundPlace(lines, random);
        const { text, token } = lines[place];
        const other = JSON.stringify(JSON.parse(lines[soundPlace(lines, random)].text)[FIELD] ?? { v: 2 });
        lines[place] = { text: random.chance(0.5) ? `{"${FIELD}":${other},${text.slice(1)}` : `${text.slice(0, -1)},"${FIELD}":${other}}`, token };
    },
    'record scratched': ({ lines }, random) => {
        const place = random.below(lines.length);
        const { text, token } = lines[place];
        const start = text.indexOf(`"${FIELD}"`);
        for (let tries = 0; start >= 0 && tries < 20; tries++) {
            const at = start + FIELD.length + 3 + random.below(text.length - start - FIELD.length - 4);
            const changed = text.slice(0, at) + String.fromCharCode((text.charCodeAt(at) ^ (1 << random.below(4))) & 127) + text.slice(at + 1);
            try {
                JSON.parse(changed);
            } catch {
                continue;
            }
            lines[place] = { text: changed, token };
            return;
        }
    },
    'byte order mark': (chat) => {
        chat.header = `\ufeff${chat.header}`;
    },
};

/** The index of a readable line; there is always one. */
function soundPlace(lines, random) {
    const sound = lines.flatMap(({ text }, place) => {
        try {
            return JSON.parse(text) ? [place] : [];
        } catch {
            return [];
        }
    });
    return random.pick(sound);
}

export const DAMAGES = Object.keys(KINDS);

/** Kinds of damage that only remove something. A file may get more than one. */
export const LOSSES = ['torn end', 'cut at a line', 'bad line in between', 'message torn', 'line dropped'];

/** Kinds of damage after which the last message may carry any record. */
export const OF_RECORDS = ['record copied', 'records exchanged', 'record removed', 'keys doubled', 'record scratched', 'lines swapped', 'line doubled', 'bad line in between', 'byte order mark'];

/**
 * Damages the chat's file.
 * @param {import('./world.mjs').World} world @param {import('./random.mjs').Random} random
 * @param {string} kind one of `DAMAGES`
 */
export function damage(world, random, kind) {
    const chat = { header: world.server.chat.header, lines: [...world.server.chat.lines] };
    // If messages were swapped unnoticed and a record is removed as well, the result looks like a deletion.
    if (world.server.tokens().length < 3 || (world.hasUnseenSwap && !LOSSES.includes(kind))) {
        return false;
    }
    KINDS[kind](chat, random, world.ledger);
    world.say(`the file is damaged: ${kind}`);
    world.storyTags.add(`damage: ${kind}`);
    world.server.writeChat(chat.header, chat.lines);
    world.tick();
    return true;
}
