/** Slash commands. They never ask; what they answer can be piped. */
import { say, sayWord } from './words.js';

const TRUE_WORDS = ['true', 'on', '1', 'yes'];

/**
 * @param {{app: object, toasts: object}} parts
 * @returns {Array<object>} as `screen.addCommands` takes them
 */
export function commandList({ app, toasts }) {
    const command = ({ name, named = [], unnamed = [], examples, run }) => ({
        name: `forklore-${name}`,
        help: say(`command.${name}`),
        exampleTitle: say('command.example'),
        examples: examples.map(code => ({ code, text: say(`command.${name}.example`) })),
        returns: say(`command.${name}.returns`),
        named: named.map(describe),
        unnamed: unnamed.map(describe),
        run: async (given, text) => {
            try {
                return await run(given, String(text ?? '').trim());
            } catch (error) {
                toasts.failed(error);
                return '';
            }
        },
    });
    const message = { name: 'message', type: 'message', about: 'command.message' };

    return [
        command({
            name: 'check',
            named: [{ name: 'json', type: 'bool', about: 'command.check.json', byDefault: 'false' }],
            unnamed: [message],
            examples: ['/forklore-check 42 | /if left={{pipe}} rule=eq right=ready {: /forklore-fork message=42 :}'],
            run: async ({ json }, text) => {
                const found = await app.check(messageNumber(app, text));
                return isTrue(json) ? JSON.stringify(checkAnswer(found)) : stateWord(found);
            },
        }),
        command({
            name: 'fork',
            named: [
                { name: 'kind', type: 'string', about: 'command.fork.kind', values: ['checkpoint', 'branch'], byDefault: 'checkpoint' },
                message,
            ],
            unnamed: [{ type: 'string', about: 'command.fork.name' }],
            examples: ['/forklore-fork message=42 Before the storm | /setvar key=fork {{pipe}}'],
            run: async ({ kind = 'checkpoint', message: number }, name) => {
                if (!['checkpoint', 'branch'].includes(kind)) {
                    throw complaint('command.bad-kind', kind);
                }
                const report = await app.fork({ kind, message: messageNumber(app, number), ...(name ? { name } : {}), ask: false });
                return report?.child ?? '';
            },
        }),
        command({
            name: 'verify',
            named: [{ name: 'all', type: 'bool', about: 'command.verify.all', byDefault: 'false' }],
            examples: ['/forklore-verify all=true | /len | /echo'],
            run: async ({ all }) => {
                const results = isTrue(all) ? await app.verifyAll(() => {}) : [await openResult(app)];
                return JSON.stringify(results.flatMap(findingsOf));
            },
        }),
        command({
            name: 'restore',
            named: [{ ...message, about: 'command.message.required', isRequired: true }],
            examples: ['/forklore-restore message=42'],
            run: async ({ message: number }) => {
                if (number === undefined || number === '') {
                    throw complaint('command.bad-message', '');
                }
                const { entries } = await app.restore(messageNumber(app, number), { dryRun: false });
                return String(entries);
            },
        }),
        command({
            name: 'split',
            named: [{ name: 'family', type: 'bool', about: 'command.split.family', byDefault: 'false' }],
            examples: ['/forklore-split family=true'],
            run: async ({ family }) => {
                const { chats } = await app.split({ family: isTrue(family) });
                return JSON.stringify(chats.map(({ book }) => book));
            },
        }),
        command({
            name: 'clean',
            named: [{ name: 'preview', type: 'bool', about: 'command.clean.preview', byDefault: 'false' }],
            examples: ['/forklore-clean preview=true | /echo'],
            run: async ({ preview }) => {
                if (isTrue(preview)) {
                    const { remove } = await app.cleanupPlan();
                    return JSON.stringify(remove.map(({ name }) => name));
                }
                return JSON.stringify((await app.clean()).removed);
            },
        }),
    ];
}

/** The number of a message as it was typed; the last one if nothing was. */
export function messageNumber(app, typed) {
    const open = app.open();
    if (!open) {
        throw complaint('command.no-chat');
    }
    const text = String(typed ?? '').trim();
    if (text === '') {
        return open.messages - 1;
    }
    if (!/^\d+$/.test(text)) {
        throw complaint('command.bad-message', text);
    }
    return Number(text);
}

export function isTrue(typed) {
    return TRUE_WORDS.includes(String(typed ?? '').trim().toLowerCase());
}

function describe({ about, ...argument }) {
    return { ...argument, description: say(about) };
}

function stateWord({ obstacles }) {
    return obstacles.length ? 'blocked' : 'ready';
}

function checkAnswer(found) {
    const plain = words => words.map(word => ({ code: word.code, text: sayWord(word), values: word.values ?? {} }));
    return {
        state: stateWord(found),
        obstacles: plain(found.obstacles),
        remarks: plain(found.remarks),
        book: found.book,
        metadata: found.metadata,
    };
}

async function openResult(app) {
    if (!app.open()) {
        throw complaint('command.no-chat');
    }
    return app.verifyOpen();
}

function findingsOf({ chat, owner, findings }) {
    return findings.map(finding => ({
        chat,
        ...(owner === undefined ? {} : { owner }),
        code: finding.code,
        problem: finding.problem,
        text: sayWord(finding),
        values: finding.values ?? {},
    }));
}

/** Something that was typed wrongly: told like a word of the core, not like a fault of ours. */
function complaint(key, text) {
    const sentence = say(key, { text });
    return Object.assign(new Error(sentence), { word: { code: '', values: {}, text: sentence } });
}
