/** Comparing and merging in the user interface: what is listed, ticked, previewed and confirmed. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { wantedEntries } from '../ui/compare/answers.js';
import { bestDirection, canBring, isWorthReading, itemsOf, matching, targets } from '../ui/compare/items.js';
import { pieces } from '../ui/compare/marks.js';
import { matchingMessages } from '../ui/compare/message_picker.js';
import { planView } from '../ui/compare/preview.js';
import { sayBeginning } from '../ui/compare/view.js';
import { startUi } from '../ui/index.js';
import { smoothed } from '../ui/widgets/pieces.js';
import { fakeApp, LIVE, MARKUP } from './fake_app.mjs';
import { fakeScreen, settled, useFakeDocument } from './fake_screen.mjs';

beforeEach(useFakeDocument);

const words = (before, after) => before === after ? [{ is: 'same', text: after }] : [{ is: 'removed', text: before }, { is: 'added', text: after }];
const side = (did, content) => ({ did, entry: content === null ? null : { content, key: ['k'], comment: 't' } });
const NOTHING = { key: '', title: '', internal: false, fields: [] };
const added = (key, title) => ({ ...NOTHING, key, uid: Number(key), title, left: side('nothing', null), right: side('added', `new ${title}`) });
const SIDE = { message: null, book: 'B', hasBook: true, part: null, last: 9 };

const MODEL = {
    left: { ...SIDE, chat: 'One', isOpen: true },
    right: { ...SIDE, chat: `Two ${MARKUP}`, isOpen: false },
    isOneChat: false,
    beginning: { known: true, how: 'sealed', message: 5, parting: 5, chat: 'Main' },
    entries: [
        {
            ...NOTHING, key: '1', uid: 1, title: 'Iven', left: side('changed', 'dead'), right: side('changed', 'alive'),
            fields: [{ name: 'order', by: 'right', base: 1, left: 1, right: 2 }, { name: 'content', by: 'both', base: 'gone', left: 'dead', right: 'alive' }],
        },
        added('4', 'The wedding'),
        added('5', 'The ship'),
        added('6', MARKUP),
        { ...NOTHING, key: '7', uid: 7, title: 'The grave', left: side('added', 'Below the cliff'), right: side('nothing', null) },
        { ...NOTHING, key: '3', uid: 3, title: 'The letter', left: side('nothing', 'Unopened'), right: side('removed', null) },
    ],
    book: [],
    recap: [{ name: 'running', by: 'right', base: 'a', left: 'a', right: 'b' }],
    variables: [{ name: MARKUP, by: 'left', left: 1, right: 2 }],
    other: [{ name: 'note_prompt', by: 'right', left: 'x', right: 'y' }],
    words,
    spokenAt: (name, message) => ({ name: 'Mara', text: `${name} ${message}` }),
};

const step = (what, key, to = key, fields = []) => ({
    key, to, title: `e${key}`, what, fields, internal: false, chosen: false, before: what === 'add' ? null : { content: 'old' }, after: what === 'remove' ? null : { content: 'new' },
});
const CONFLICT = { key: '1', title: 'Iven', kind: 'field', field: 'content', base: 'gone', ours: 'dead', theirs: 'alive', settled: null, words: words('alive', 'dead') };
const PLAN = {
    from: MODEL.right, into: MODEL.left, beginning: MODEL.beginning, isByHand: false,
    steps: [step('add', '4', '8'), step('change', '2', '2', ['content']), step('remove', '3'), { ...step('change', '9'), internal: true }],
    conflicts: [], kept: [], twins: [{ key: '8', to: '4', title: 'The wedding' }], changes: true, words,
};
const DONE = { from: 'Two', into: 'One', book: 'B', added: ['a', 'b', 'c'], changed: [], removed: [], undo: 'token' };

const asked = (app, name) => app.calls.filter(([call]) => call === name).map(([, ...given]) => given);
const checkboxes = body => body.all(({ attributes }) => attributes.type === 'checkbox');
const labelled = (body, label) => body.all(({ attributes }) => attributes['aria-label'] === label)[0];
const buttonSaying = (body, text) => body.all(({ tagName }) => tagName === 'button').find(({ textContent }) => text.test(textContent));
const tick = (body, title) => {
    const box = labelled(body, `Select “${title}”`);
    box.checked = true;
    box.dispatch('change');
};

/** What a row says about why it cannot be ticked. */
const reasonOf = (body, title) => {
    const id = labelled(body, `Select “${title}”`).attributes['aria-describedby'];
    return body.all(({ attributes }) => attributes.id === id)[0].textContent;
};

async function start(given = {}, answers = []) {
    const answer = (name, value) => async (...args) => {
        app.calls.push([name, ...args]);
        return typeof value === 'function' ? value(...args) : value;
    };
    const app = fakeApp({
        compare: answer('compare', MODEL),
        bringPlan: answer('bringPlan', PLAN),
        bring: answer('bring', DONE),
        messagesOf: async () => Array.from({ length: 58 }, (_, message) => ({ name: 'Mara', text: `Words of ${message}`, forks: 0, hasNewLore: false })),
        timelineChoices: answer('timelineChoices', [
            { name: 'The harbour', isOpen: true, isRelated: true }, { name: MARKUP, isOpen: false, isRelated: true }, { name: 'Other', isOpen: false, isRelated: false },
        ]),
        ...given,
    });
    const screen = fakeScreen(answers);
    const ui = startUi({ app, screen });
    await settled();
    return { app, screen, ui };
}

test('who did what is said of every entry', () => {
    const summaries = Object.fromEntries(itemsOf(MODEL).map(({ title, summary, isConflict }) => [title, [summary, isConflict]]));
    assert.deepEqual(summaries.Iven, [`changed in both: content; changed in “Two ${MARKUP}”: order`, true]);
    assert.deepEqual(summaries['The grave'], ['added in “One”', false]);
    assert.deepEqual(summaries['The letter'], [`removed in “Two ${MARKUP}”`, false]);
});

test('without a beginning it is not said who did it', () => {
    const unknown = { ...MODEL, entries: [
        { ...NOTHING, title: 'a', left: side('unknown', 'x'), right: side('unknown', 'y'), fields: [{ name: 'content', by: 'unknown', left: 'x', right: 'y' }] },
        { ...NOTHING, title: 'b', left: side('unknown', 'x'), right: side('unknown', null) },
    ] };
    assert.deepEqual(itemsOf(unknown).map(({ summary }) => summary), ['different: content', 'only in “One”']);
    assert.deepEqual(itemsOf(unknown).map((item) => canBring(item, 'right', unknown)), [true, false]);
});

test('the list is narrowed by kind, by side and by words', () => {
    const items = itemsOf(MODEL);
    const titles = (wanted) => matching(items, { kinds: new Set(['added', 'changed', 'removed']), sides: new Set(['left', 'right']), typed: '', ...wanted }).map(({ title }) => title);
    assert.equal(titles({}).length, 6);
    assert.deepEqual(titles({ sides: new Set(['left']) }), ['Iven', 'The grave']);
    assert.deepEqual(titles({ kinds: new Set(['removed']) }), ['The letter']);
    assert.deepEqual(titles({ typed: 'cliff below' }), ['The grave']);
});

test('lore goes into the open chat unless something else is chosen', () => {
    assert.deepEqual(targets(MODEL)[0], { from: 'right', into: 'left' });
    assert.deepEqual(targets({ ...MODEL, left: MODEL.right, right: MODEL.left })[0], { from: 'left', into: 'right' });
    assert.deepEqual(targets({ ...MODEL, isOneChat: true }), [{ from: 'left', into: 'right' }], 'time does not run the other way');
});

test('if the open chat alone has changed something, lore goes into the other one', () => {
    const mine = { ...MODEL, entries: MODEL.entries.filter(({ title }) => title === 'The grave') };
    assert.deepEqual(bestDirection(mine, itemsOf(mine)), { from: 'left', into: 'right' });
    assert.deepEqual(bestDirection(MODEL, itemsOf(MODEL)), { from: 'right', into: 'left' });
});

const shownControls = (body) => ({
    all: !buttonSaying(body, /^Select all/)?.hidden && Boolean(buttonSaying(body, /^Select all/)),
    go: !buttonSaying(body, /^Merge \d/)?.hidden && Boolean(buttonSaying(body, /^Merge \d/)),
});

test('where nothing can be ticked, it is said why, and nothing is offered', async () => {
    const mine = { ...MODEL, entries: MODEL.entries.filter(({ title }) => title === 'The grave') };
    const { ui } = await start({ compare: async () => mine }, [async (body) => {
        const [way] = body.all(({ tagName }) => tagName === 'select');
        assert.equal(labelled(body, 'Select “The grave”').attributes.disabled, undefined, 'it can be brought at once');
        assert.deepEqual(shownControls(body), { all: true, go: false });
        way.dispatch('change', { target: { value: 'right' } });
        assert.deepEqual(shownControls(body), { all: false, go: false });
        assert.match(body.textContent, /Nothing can be selected: “Two .*” has changed nothing that could be merged into “One”/);
        assert.match(reasonOf(body, 'The grave'), /does not have it/);
    }]);
    await ui.actions.compare({ left: 'One', right: 'Two' });
});

test('without a lorebook on one side nothing is offered in either direction', async () => {
    const bookless = { ...MODEL, right: { ...MODEL.right, book: null, hasBook: false } };
    const { ui } = await start({ compare: async () => bookless }, [async (body) => {
        assert.deepEqual(body.all(({ tagName }) => tagName === 'select'), []);
        assert.deepEqual(shownControls(body), { all: false, go: false });
        assert.match(body.textContent, /Nothing can be merged, because “Two .*” has no lorebook\./);
        body.all(({ tagName }) => tagName === 'details')[0].dispatch('toggle');
        assert.equal(buttonSaying(body, /^Merge this entry/), undefined);
    }]);
    await ui.actions.compare({ left: 'One', right: 'Two' });
});

test('the newer words are added, the older ones removed, whichever side they stand on', () => {
    const told = (by, base) => pieces({ by, base, left: 'l', right: 'r' }, words);
    assert.deepEqual(told('right'), { left: [{ is: 'removed', text: 'l' }], right: [{ is: 'added', text: 'r' }] });
    assert.deepEqual(told('left'), { left: [{ is: 'added', text: 'l' }], right: [{ is: 'removed', text: 'r' }] });
    assert.deepEqual(told('both', 'b').left, [{ is: 'removed', text: 'b' }, { is: 'added', text: 'l' }]);
    assert.deepEqual(told('unknown'), { left: [{ is: 'other', text: 'l' }], right: [{ is: 'other', text: 'r' }] });
    assert.deepEqual(pieces({ by: 'right', left: 1, right: true }, words).right, [{ is: 'added', text: 'on' }]);
    assert.deepEqual(pieces({ by: 'right', right: ['a', 'b'] }, words).right, [{ is: 'added', text: 'a, b' }]);
});

test('changed words with only blanks between them are one mark', () => {
    const list = (...given) => given.map(([is, text]) => ({ is, text }));
    const [same, gone, came] = ['same', 'removed', 'added'].map((is) => (text) => [is, text]);
    assert.deepEqual(smoothed(list(same('a '), gone('b'), same(' '), gone('c'), same(' d'))), list(same('a '), gone('b c'), same(' d')));
    assert.deepEqual(smoothed(list(gone('b'), came('x'), same(' '), gone('c'), came('y'), same('.'))), list(gone('b c'), came('x y'), same('.')));
    assert.deepEqual(smoothed(list(gone('b'), came('x'), same(' '), came('y'))), list(gone('b'), came('x'), same(' '), came('y')), 'a blank is lost on neither side');
    assert.deepEqual(smoothed(list(gone('b'), same('\n'), gone('c'))), list(gone('b'), same('\n'), gone('c')), 'lines stay lines');
    assert.deepEqual(smoothed(list(gone('b'), same(' '))), list(gone('b'), same(' ')));
});

test('what is empty on both sides is no difference to read about', () => {
    assert.deepEqual([{ left: {} }, { left: { sticky: {} }, right: null }, { right: 0 }, { left: 'x' }].map(isWorthReading), [false, false, true, true]);
});

test('how the beginning is known is said', () => {
    const spokenAt = (side, message) => ({ name: 'Mara', text: message === 3 ? `Only ${side} has this.` : `Words of ${message}.` });
    const say = (given) => sayBeginning({ beginning: { known: true, message: 4, parting: 5, chat: 'Main', ...given }, spokenAt });
    assert.match(say({ how: 'sealed' }), /^They part in “Main” at message 4, Mara: “Words of 4\.”\.$/);
    assert.match(say({ how: 'recorded' }), /Both have the same record/);
    assert.match(say({ how: 'earlier' }), /message 5, Mara: “Words of 5\.”.*message 4, a little earlier/);
    assert.match(say({ how: 'sealed', chat: null }), /a chat that is missing/);
    assert.match(say({ known: false, parting: null }), /no common past/);
    assert.match(say({ known: false, parting: 3 }), /at message 3, but what both started with was not recorded/, 'words that only one side has are not quoted');
});

test('three entries are ticked, looked at, agreed to, and can be taken back', async () => {
    const { app, screen, ui } = await start({}, [async (body) => {
        assert.equal(checkboxes(body).filter(({ checked }) => checked).length, 0, 'nothing is ticked by itself');
        assert.ok(labelled(body, 'Select “The grave”').attributes.disabled !== undefined, 'what only the target did is not to be brought');
        assert.match(reasonOf(body, 'The grave'), /“Two .*” does not have it/);
        const go = buttonSaying(body, /^Merge 0 entries/);
        assert.equal(go.hidden, true);
        assert.match(body.textContent, /Select the entries you want/);
        ['The wedding', 'The ship', MARKUP].forEach((title) => tick(body, title));
        assert.equal(go.hidden, false);
        assert.match(go.textContent, /Merge 3 entries into “One”/);
        go.click();
        await settled();
        assert.match(body.textContent, /is added as number 8, because 4 is taken/);
        assert.match(body.textContent, /two entries called “The wedding”: numbers 4 and 8/);
        assert.match(body.textContent, /1 list of ST-Auto-Recap is updated/);
        buttonSaying(body, /^Apply to/).click();
        await settled();
    }]);
    await ui.actions.compare({ left: 'One', right: 'Two' });
    assert.deepEqual(asked(app, 'compare'), [[{ left: { chat: 'One', message: null }, right: { chat: 'Two', message: null } }]]);
    const request = { from: { chat: MODEL.right.chat, message: null }, into: 'One', only: { 4: true, 5: true, 6: true } };
    assert.deepEqual(asked(app, 'bringPlan'), [[request]]);
    assert.deepEqual(asked(app, 'bring'), [[{ ...request, settle: {} }, PLAN]]);
    const notice = screen.toasts.at(-1);
    assert.match(notice.lines[0], /: 3 added\./);
    notice.options.buttons[0].run();
    await settled();
    assert.deepEqual(asked(app, 'undo'), [['token']]);
});

test('some fields only; and the way can be turned', async () => {
    const { app, ui } = await start({}, [async (body) => {
        body.all(({ tagName }) => tagName === 'details')[0].dispatch('toggle');
        const [, content] = checkboxes(body);
        content.checked = true;
        content.dispatch('change');
        buttonSaying(body, /^Merge 1 entry/).click();
        await settled();
        buttonSaying(body, /^Back/).click();
        const turned = body.all(({ tagName }) => tagName === 'select')[0];
        turned.dispatch('change', { target: { value: 'left' } });
        tick(body, 'The grave');
        buttonSaying(body, /^Merge 1 entry into “Two/).click();
        await settled();
    }]);
    await ui.actions.compare({ left: 'One', right: 'Two' });
    assert.deepEqual(asked(app, 'bringPlan').map(([{ from, into, only }]) => [from.chat, into, only]), [
        [MODEL.right.chat, 'One', { 1: ['content'] }],
        ['One', MODEL.right.chat, { 7: true }],
    ]);
    assert.deepEqual(asked(app, 'bring'), [], 'whoever leaves has changed nothing');
});

test('nothing can be done before every conflict is settled', async () => {
    const { app, ui } = await start({ bringPlan: async () => ({ ...PLAN, conflicts: [CONFLICT] }) }, [async (body) => {
        const go = buttonSaying(body, /^Apply to/);
        assert.equal(go.disabled, true);
        assert.match(body.textContent, /1 decision left/);
        const radios = body.all(({ attributes }) => attributes.type === 'radio');
        assert.ok(radios.every(({ checked }) => !checked), 'nothing is chosen by itself');
        body.all(({ tagName }) => tagName === 'textarea')[0].value = 'in my words';
        radios[2].dispatch('change');
        assert.equal(go.disabled, false);
        go.click();
        await settled();
    }]);
    await ui.actions.bring({ from: { chat: 'Two' }, into: 'One', only: null });
    assert.deepEqual(asked(app, 'bring')[0][0].settle, { 1: { content: { value: 'in my words' } } });
});

test('a plan that has changed is shown again instead of being carried out', async () => {
    const answers = [{ isStale: true, plan: { ...PLAN, steps: [step('add', '99')] } }, DONE];
    const { app, screen, ui } = await start({ bring: async (...given) => {
        app.calls.push(['bring', ...given]);
        return answers.shift();
    } }, [async (body) => {
        buttonSaying(body, /^Apply to/).click();
        await settled();
        assert.match(body.textContent, /was changed in the meantime/);
        assert.match(body.textContent, /e99/);
        assert.equal(screen.toasts.length, 0);
        buttonSaying(body, /^Apply to/).click();
        await settled();
    }]);
    await ui.actions.bring({ from: { chat: 'Two' }, into: 'One', only: null });
    assert.deepEqual(asked(app, 'bring').map(([, seen]) => seen.steps.length), [4, 1]);
});

test('where there is nothing to do, nothing can be agreed to', async () => {
    const nothing = { ...PLAN, steps: [], changes: false };
    assert.ok(planView(nothing).isNothing);
    const { app, ui } = await start({ bringPlan: async () => nothing }, [async (body) => {
        assert.equal(buttonSaying(body, /^Apply to/).disabled, true);
        assert.match(body.textContent, /already has this/);
    }]);
    await ui.actions.bring({ from: { chat: 'Two' }, into: 'One', only: null });
    assert.deepEqual(asked(app, 'bring'), []);
});

test('a preview of a single entry shows it at once', async () => {
    const isOpen = (body) => body.all(({ tagName }) => tagName === 'details').map(({ attributes }) => attributes.open !== undefined);
    const { ui } = await start({ bringPlan: async () => ({ ...PLAN, steps: [step('add', '4', '8')] }) }, [async (body) => assert.deepEqual(isOpen(body), [true])]);
    await ui.actions.bring({ from: { chat: 'Two' }, into: 'One', only: null });
    const many = await start({}, [async (body) => assert.deepEqual(isOpen(body), [false, false, false])]);
    await many.ui.actions.bring({ from: { chat: 'Two' }, into: 'One', only: null });
});

test('a thousand entries are drawn a hundred at a time', async () => {
    const entries = Array.from({ length: 1000 }, (_, at) => added(String(at), `Place ${at}`));
    const { ui } = await start({ compare: async () => ({ ...MODEL, entries }) }, [async (body) => {
        const rows = () => body.all(({ className }) => className === 'forklore_row').length;
        assert.equal(rows(), 100);
        buttonSaying(body, /^Show more/).click();
        assert.equal(rows(), 200);
        buttonSaying(body, /^Select all/).click();
        assert.match(body.textContent, /Merge 1000 entries/);
    }]);
    await ui.actions.compare({ left: 'One', right: 'Two' });
});

test('two messages of one chat: what was comes back', async () => {
    const then = { ...MODEL, isOneChat: true, left: { ...MODEL.left, message: 3, part: LIVE }, right: { ...MODEL.left }, entries: [added('4', 'The wedding')] };
    const { app, ui } = await start({ compare: async () => then }, [async (body) => {
        assert.match(body.textContent, /Changes in between/);
        assert.match(body.textContent, /at message 3, Mara: “left 3”, as it is today/);
        assert.match(body.textContent, /added since/);
        body.all(({ tagName }) => tagName === 'details')[0].dispatch('toggle');
        buttonSaying(body, /^Restore as it was/).click();
        await settled();
    }]);
    await ui.actions.compare({ left: { chat: 'One', message: 3 }, right: { chat: 'One' } });
    assert.deepEqual(asked(app, 'bringPlan'), [[{ from: { chat: 'One', message: 3 }, into: 'One', only: { 4: true } }]]);
});

test('from the lore of a message: an entry to another timeline, or a comparison with now', async () => {
    const { app, ui } = await start({}, [
        (body) => {
            body.all(({ tagName }) => tagName === 'details').at(-2).dispatch('toggle');
            buttonSaying(body, /^Merge into…/).click();
        },
        (body) => {
            const [select] = body.all(({ tagName }) => tagName === 'select');
            assert.equal(select.value, MARKUP, 'another one than the open chat');
            return 'ok';
        },
        null,
        'compare',
        async (body, { mayClose }) => {
            await settled();
            const fields = body.all(({ attributes }) => attributes['aria-haspopup'] === 'listbox');
            assert.deepEqual(fields.map(({ textContent }) => textContent), ['Message 57, Mara: “Words of 57”', 'Now']);
            assert.deepEqual(fields.map(({ attributes }) => attributes['aria-label']), ['When, of the first: Message 57, Mara: “Words of 57”', 'When, of the second: Now']);
            assert.ok(mayClose('ok'));
            return 'ok';
        },
    ]);
    await ui.lore.show(57);
    assert.deepEqual(asked(app, 'bringPlan')[0][0].from, { chat: 'The harbour', message: 57 });
    assert.equal(asked(app, 'bringPlan')[0][0].into, MARKUP);
    await ui.lore.show(57);
    assert.deepEqual(asked(app, 'compare'), [[{ left: { chat: 'The harbour', message: 57 }, right: { chat: 'The harbour', message: null } }]]);
});

test('the same moment twice cannot be compared', async () => {
    const { app, ui } = await start({}, [(body, { mayClose }) => {
        assert.equal(mayClose('ok'), false);
        assert.match(body.textContent, /These are the same/);
        return null;
    }]);
    const now = { chat: 'The harbour', message: null };
    await ui.actions.chooseToCompare({ left: now, right: now });
    assert.deepEqual(asked(app, 'compare'), []);
});

test('messages to choose from: newest first, now on top, found by words, speaker and number', () => {
    const messages = ['The lamp turns', 'Who is there?', '灯塔的灯'].map((text, at) => ({ name: at === 1 ? 'Iven' : 'Mara', text, forks: 0, hasNewLore: false }));
    const numbers = (typed) => matchingMessages(messages, typed).map(({ number }) => number);
    assert.deepEqual(numbers(''), [null, 2, 1, 0]);
    assert.deepEqual(numbers('  '), [null, 2, 1, 0]);
    assert.deepEqual(matchingMessages(messages, '', 0).map(({ number }) => number), [null, 0, 2, 1], 'the chosen one is at hand');
    assert.deepEqual(numbers('turns LAMP'), [0]);
    assert.deepEqual(numbers('iven'), [1]);
    assert.deepEqual(numbers('灯塔'), [2]);
    assert.deepEqual(numbers('2'), [2]);
    assert.deepEqual(numbers('nobody'), []);
    const many = Array.from({ length: 5000 }, (_, at) => ({ name: 'Mara', text: `${'The tide goes out. '.repeat(60)}${at}`, forks: 0, hasNewLore: false }));
    const began = performance.now();
    assert.equal(matchingMessages(many, 'tide 4999').length, 1);
    assert.ok(performance.now() - began < 500);
});

test('commands understand titles and numbers, and titles with commas', () => {
    const model = { ...MODEL, entries: [...MODEL.entries, added('8', 'Mara, captain')] };
    assert.deepEqual(wantedEntries(model, 'the WEDDING, 5'), { 4: true, 5: true });
    assert.deepEqual(wantedEntries(model, 'Mara, captain'), { 8: true });
    assert.throws(() => wantedEntries(model, 'Nobody'), ({ word }) => word.code === 'no-such-entry' && word.values.name === 'Nobody');
});

test('commands: what differs as JSON; a conflict stops bringing', async () => {
    const { app, screen } = await start();
    const command = (name) => screen.mounted.commands.find((each) => each.name === `forklore-${name}`);
    const told = JSON.parse(await command('compare').run({ right: 'Two', show: 'false' }, ''));
    assert.deepEqual(told.entries[0], { key: '1', uid: 1, title: 'Iven', left: 'changed', right: 'changed', fields: [{ name: 'order', by: 'right' }, { name: 'content', by: 'both' }] });
    assert.equal(screen.popups.length, 0);
    assert.deepEqual(JSON.parse(await command('bring').run({ from: 'Two', settle: 'theirs' }, 'The ship')), { into: 'One', book: 'B', added: ['a', 'b', 'c'], changed: [], removed: [] });
    assert.deepEqual(asked(app, 'bring')[0][0], { from: { chat: 'Two', message: null }, into: 'The harbour', otherwise: 'theirs', only: { 5: true } });
    app.bring = async () => { throw Object.assign(new Error('x'), { word: { code: 'conflicts-left', values: { count: 2 }, text: 'x' } }); };
    assert.equal(await command('bring').run({ from: 'Two' }, ''), '');
    assert.match(screen.toasts.at(-1).lines[0], /2 entries were changed in both timelines\. Nothing was done/);
    assert.equal(await command('bring').run({ from: 'Two', settle: 'mine' }, ''), '');
    assert.match(screen.toasts.at(-1).lines[0], /neither ours nor theirs/);
});
