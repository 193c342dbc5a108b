/** Slash commands. They never ask questions, and their results can be piped. */
import { compareAnswer, wantedEntries } from './compare/answers.js';
import { textTree } from './timelines/text_tree.js';
import { say, sayWord } from './words.js';
/** @import { Actions, AppForUi, Command, CommandDraft, DescribedArgument, ForkCheck, ForkKind, GuardedCommand, Toasts, VerifiedChat, Word } from './types.js' */

const TRUE_WORDS = ['true', 'on', '1', 'yes'];

/** @param {string | undefined} typed @returns {typed is ForkKind} */
const isForkKind = (typed) => typed === 'checkpoint' || typed === 'branch';
/** @param {string | undefined} typed @returns {typed is 'ours' | 'theirs'} */
const isSide = (typed) => typed === 'ours' || typed === 'theirs';

export function commandList(/** @type {{app: AppForUi, toasts: Pick<Toasts, 'failed'>, actions: Actions}} */ { app, toasts, actions }) {
    /** @param {CommandDraft} draft @returns {Command} */
    const command = ({ name, named = [], unnamed = [], examples, run }) => ({
        name: `forklore-${name}`,
        help: say(`command.${name}`),
        exampleTitle: say('command.example'),
        examples: examples.map((code) => ({ code, text: say(`command.${name}.example`) })),
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
    /** @type {DescribedArgument} */
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
                if (!isForkKind(kind)) {
                    throw inputError('command.bad-kind', kind);
                }
                const at = messageNumber(app, number);
                app.refuseEdited(at);
                const report = await app.fork({ kind, message: at, ...(name ? { name } : {}), ask: false });
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
                    throw inputError('command.bad-message', '');
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
            name: 'tree',
            named: [{ name: 'show', type: 'bool', about: 'command.tree.show', byDefault: 'true' }],
            examples: ['/forklore-tree show=false | /setvar key=family {{pipe}}'],
            run: async ({ show = 'true' }) => {
                if (!app.open()) {
                    throw inputError('command.no-chat');
                }
                if (isTrue(show)) {
                    actions.showTimelines();
                }
                const { timelines, open } = await app.timelines.readAll();
                const family = timelines.find(({ id }) => id === open)?.family;
                return textTree(timelines.filter((timeline) => timeline.family === family));
            },
        }),
        command({
            name: 'compare',
            named: [
                { name: 'left', type: 'string', about: 'command.timeline' },
                { name: 'right', type: 'string', about: 'command.timeline' },
                { name: 'at', type: 'number', about: 'command.compare.at' },
                { name: 'show', type: 'bool', about: 'command.compare.show', byDefault: 'true' },
            ],
            examples: ['/forklore-compare right="The harbour - Branch #2" show=false | /setvar key=differences {{pipe}}'],
            run: async ({ left, right, at, show = 'true' }) => {
                const asked = { left: moment(app, left, at), right: moment(app, right) };
                const model = await app.compare(asked);
                if (isTrue(show)) {
                    actions.compare({ ...asked, model });
                }
                return JSON.stringify(compareAnswer(model));
            },
        }),
        command({
            name: 'bring',
            named: [
                { name: 'from', type: 'string', about: 'command.bring.from', isRequired: true },
                { name: 'into', type: 'string', about: 'command.timeline' },
                { name: 'at', type: 'number', about: 'command.bring.at' },
                { name: 'settle', type: 'string', about: 'command.bring.settle', values: ['ours', 'theirs'] },
            ],
            unnamed: [{ type: 'string', about: 'command.bring.entries' }],
            examples: ['/forklore-bring from="The harbour - Branch #2" Mara, The storm'],
            run: async ({ from, into, at, settle }, entries) => {
                const otherwise = isSide(settle) ? settle : null;
                if (settle && !otherwise) {
                    throw inputError('command.bad-settle', settle);
                }
                const request = { from: moment(app, from, at), into: moment(app, into).chat, otherwise };
                const only = entries ? wantedEntries(await app.compare({ left: { chat: request.into }, right: request.from }), entries) : null;
                const done = await app.bring({ ...request, only });
                return done.isStale ? '' : JSON.stringify({ into: done.into, book: done.book, added: done.added, changed: done.changed, removed: done.removed });
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

/** SillyTavern's own commands that fork, each with the message it will fork at. @param {{app: AppForUi, toasts: Pick<Toasts, 'failed'>}} parts */
export function forkCommands({ app, toasts }) {
    /** @param {string} name @param {(named: Record<string, unknown>, unnamed: unknown) => unknown} messageOf @returns {GuardedCommand} */
    const guarded = (name, messageOf) => ({
        name,
        mayRun: (named, unnamed) => {
            const message = Number(messageOf(named, unnamed) ?? (app.open()?.messages ?? NaN) - 1);
            try {
                if (app.settings.isolate && Number.isInteger(message)) {
                    app.refuseEdited(message);
                }
                return true;
            } catch (error) {
                toasts.failed(error);
                return false;
            }
        },
    });
    return [
        guarded('checkpoint-create', ({ mesId }) => mesId),
        guarded('branch-create', ({ mesId }, text) => mesId ?? text),
    ];
}

/** The message number that was typed, or the last message if none was. @param {Pick<AppForUi, 'open'>} app @param {unknown} typed */
export function messageNumber(app, typed) {
    const open = app.open();
    if (!open) {
        throw inputError('command.no-chat');
    }
    const text = String(typed ?? '').trim();
    if (text === '') {
        return open.messages - 1;
    }
    if (!/^\d+$/.test(text)) {
        throw inputError('command.bad-message', text);
    }
    return Number(text);
}

/** A timeline by name, or the open one if none was given; as it is now, or as it was at a message. @param {AppForUi} app @param {string} [typed] @param {string} [message] */
function moment(app, typed, message) {
    const open = app.open();
    if (!open) {
        throw inputError('command.no-chat');
    }
    const at = String(message ?? '').trim();
    if (at !== '' && !/^\d+$/.test(at)) {
        throw inputError('command.bad-message', at);
    }
    return { chat: String(typed ?? '').trim() || open.name, message: at === '' ? null : Number(at) };
}

export function isTrue(/** @type {unknown} */ typed) {
    return TRUE_WORDS.includes(String(typed ?? '').trim().toLowerCase());
}

function describe(/** @type {DescribedArgument} */ { about, ...argument }) {
    return { ...argument, description: say(about) };
}

function stateWord(/** @type {ForkCheck} */ { obstacles }) {
    return obstacles.length ? 'blocked' : 'ready';
}

function checkAnswer(/** @type {ForkCheck} */ found) {
    const plain = (/** @type {Word[]} */ words) => words.map((word) => ({ code: word.code, text: sayWord(word), values: word.values ?? {} }));
    return {
        state: stateWord(found),
        obstacles: plain(found.obstacles),
        remarks: plain(found.remarks),
        book: found.book,
        metadata: found.metadata,
    };
}

async function openResult(/** @type {AppForUi} */ app) {
    if (!app.open()) {
        throw inputError('command.no-chat');
    }
    return app.verifyOpen();
}

function findingsOf(/** @type {VerifiedChat} */ { chat, owner, findings }) {
    return findings.map((finding) => ({
        chat,
        ...(owner === undefined ? {} : { owner }),
        code: finding.code,
        problem: finding.problem,
        text: sayWord(finding),
        values: finding.values ?? {},
    }));
}

/** An error in what the user typed: shown as a message, not as a failure of Forklore. @param {string} key @param {string} [text] */
function inputError(key, text) {
    const sentence = say(key, { text });
    return Object.assign(new Error(sentence), { word: { code: key, values: { text } }, sentence });
}
