/** What is displayed, derived from the state of the app. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originOf } from '../features/readiness.js';
import { cleanupView } from '../ui/dialogs/cleanup_list.js';
import { partAndRecaps } from '../ui/dialogs/fork_report.js';
import { loreView, matchingEntries } from '../ui/dialogs/lore.js';
import { matchingBooks, repairChoices } from '../ui/dialogs/missing_book.js';
import { splitView } from '../ui/dialogs/shared_book.js';
import { verifyView } from '../ui/dialogs/verification.js';
import { isInUse, MORE_SETTINGS, panelView, SETTING_GROUPS, settingValue } from '../ui/panel/panel_view.js';
import { forkNotice, openedNotice } from '../ui/toasts.js';
import { sayWord } from '../ui/words.js';
import { CLEANUP, EXACT, finding, LIVE, LORE, MARKUP, READINESS, REMARKS, REPORT, RESULTS, SETTINGS, SNAPSHOT, SPLIT, word } from './fake_app.mjs';
import { realCore } from './tavern.mjs';

const actionIds = view => view.actions.map(({ id }) => id);

test('the panel says how the open chat stands', () => {
    const view = state => panelView({ readiness: READINESS[state] });
    assert.match(view('ready').line, /“Harbour lore” \(34 entries\) belongs to this chat alone/);
    assert.match(view('waiting').line, /is working: 3 operations left/);
    assert.match(view('paused').line, /is paused: 2 operations left/);
    assert.match(view('shared').line, /shared with 3 other chats/);
    assert.match(view('elsewhere').line, /“Harbour lore” \(34 entries\) is also used by 1 other chat\./);
    assert.match(view('missing').line, /missing/);
    assert.ok(view('missing').line.includes(MARKUP));
    assert.equal(panelView({ readiness: null }).state, 'loading');
});

test('only a look at all chats lets the panel call a lorebook this chat’s alone', () => {
    const line = more => panelView({ readiness: { ...READINESS.ready, ...more } }).line;
    assert.match(line({}), /belongs to this chat alone\.$/);
    assert.match(line({ reach: 'owner' }), /is not linked to any other chat of Ada\.$/);
    assert.match(line({ reach: 'open' }), /Forklore has not checked whether other chats use it/);
    assert.equal(line({ reach: null }), 'Ready. Lorebook “Harbour lore” (34 entries).');
    assert.match(line({ selected: ['global', 'card'] }), /not linked to any other chat\. It is also selected for all chats\. It is also the lorebook of a character card\.$/);
});

test('the panel offers what helps', () => {
    const offered = (state, more = {}) => actionIds(panelView({ readiness: READINESS[state], ...more }));
    assert.deepEqual(offered('ready'), ['checkpoint']);
    assert.deepEqual(offered('waiting'), ['when-ready']);
    assert.deepEqual(offered('paused'), ['when-ready']);
    assert.deepEqual(offered('shared'), ['split', 'checkpoint']);
    assert.deepEqual(offered('elsewhere'), ['split', 'checkpoint']);
    assert.deepEqual(offered('missing'), ['repair', 'checkpoint']);
    assert.deepEqual(offered('no-book', { checked: { findings: [finding('book-failed', true)], when: 'opened' } }), ['repair', 'checkpoint']);
    assert.deepEqual(offered('no-book', { checked: { findings: [finding('book-left-out', false)], when: 'opened' } }), ['checkpoint']);
    assert.deepEqual(offered('waiting', { waiting: { message: 5, kind: 'branch', operations: 1 } }), ['stop-waiting']);
    assert.equal(panelView({ readiness: READINESS['no-chat'] }).actions[0].disabled, true);
});

test('the panel keeps what was found when the chat was opened', () => {
    const note = (findings, when = 'opened') => panelView({ readiness: READINESS.ready, checked: findings && { findings, when } }).note;
    assert.equal(note(null), '');
    assert.equal(note([], 'again'), 'Checked again: all is well.');
    assert.match(note([]), /all is well\.$/);
    assert.match(note([finding('no-seal', false)]), /1 thing worth knowing/);
    assert.match(note([finding('no-seal', false), finding('damage', true)]), /1 problem\.$/);
});

test('every setting has its place', () => {
    const shown = [...SETTING_GROUPS.flatMap(({ settings }) => settings), ...MORE_SETTINGS].map(({ name }) => name);
    assert.deepEqual([...shown].sort(), Object.keys(SETTINGS).sort());
});

test('a setting without effect cannot be changed', () => {
    const template = SETTING_GROUPS[1].settings.find(({ name }) => name === 'nameTemplate');
    const seconds = MORE_SETTINGS.find(({ name }) => name === 'waitSeconds');
    assert.equal(isInUse(template, SETTINGS), true);
    assert.equal(isInUse(template, { ...SETTINGS, autoName: false }), false);
    assert.equal(isInUse(seconds, { ...SETTINGS, whenBusy: 'drain' }), false);
});

test('numbers stay within their bounds, and what is no number changes nothing', () => {
    const seconds = { type: 'number', min: 1, max: 3600 };
    assert.equal(settingValue(seconds, '12.4'), 12);
    assert.equal(settingValue(seconds, '-3'), 1);
    assert.equal(settingValue(seconds, '99999'), 3600);
    assert.equal(settingValue(seconds, ''), undefined);
    assert.equal(settingValue(seconds, 'soon'), undefined);
    assert.equal(settingValue({ type: 'checkbox' }, false), false);
});

test('ways to repair that are not there say why', () => {
    const ways = repairChoices({ book: 'Lore', journal: null, recap: { message: 7 }, books: [] });
    const unbound = repairChoices({ book: null, journal: { message: 3 }, recap: null, books: ['Lore'] });
    assert.deepEqual(unbound.map(({ value }) => value), ['journal', 'recap', 'copy', 'empty'], 'there is no link to remove');
    assert.deepEqual(ways.map(({ value, disabled }) => [value, disabled]),
        [['journal', true], ['recap', false], ['copy', true], ['empty', false], ['detach', false]]);
    assert.match(ways[0].hint, /Nothing was recorded/);
    assert.match(ways[1].hint, /message 7/);
    assert.deepEqual(ways.filter(({ checked }) => checked).map(({ value }) => value), ['recap']);
});

test('books are found by any part of their names', () => {
    const books = ['Eldoria', 'The long road', MARKUP];
    assert.deepEqual(matchingBooks(books, ' ROAD the'), ['The long road']);
    assert.deepEqual(matchingBooks(books, ''), books);
    assert.deepEqual(matchingBooks(books, '<img'), [MARKUP]);
});

test('a split begins with the open chat and says who keeps the book', () => {
    const view = splitView(SPLIT, 'Harbour lore');
    assert.equal(view.lines[0].open, true);
    assert.match(view.lines[0].about, /34 entries, as it is today/);
    assert.match(view.keeper, /“The harbour” keeps “Harbour lore”/);
    assert.equal(splitView({ keeper: null, chats: [] }, 'b').isEmpty, true);
});

test('verification: problems first, notes apart, calm when all is well', () => {
    const view = verifyView(RESULTS);
    assert.deepEqual(view.problems.map(({ chat }) => chat), ['The harbour - Branch #1', MARKUP, 'The council of the nine']);
    assert.equal(view.notes.length, 2);
    assert.match(view.summary, /3 of 6 chats need attention/);
    assert.match(verifyView(RESULTS.slice(0, 1)).summary, /^All is well\. 1 chat was checked/);
    assert.equal(verifyView([]).isWell, true);
});

test('within a chat, problems stand before notes', () => {
    const [first] = verifyView([{ chat: 'c', owner: 'o', findings: [finding('no-seal', false), finding('damage', true)] }]).problems;
    assert.deepEqual(first.findings.map(({ code }) => code), ['damage', 'no-seal']);
});

test('cleaning up says what goes, what stays and why', () => {
    const view = cleanupView(CLEANUP);
    assert.equal(view.removeTitle, '2 lorebooks go to the trash (2.1 MB)');
    assert.match(view.remove[0].about, /47 KB · created for “The harbour - Checkpoint #1”/);
    assert.match(view.keep[1].about, /1 chat backup still names it/);
    assert.equal(view.canClean, true);
    const nothing = cleanupView({ remove: [], keep: [], unread: ['x.jsonl'] });
    assert.equal(nothing.canClean, false);
    assert.match(nothing.unreadTitle, /^1 file could not be read\. It may/);
});

test('a fork is told in one short sentence, with how well its lore is known', () => {
    const words = (notice) => `${notice.text} ${notice.details}`.split(' ').length;
    const said = [REPORT, { ...REPORT, kind: 'branch', part: SNAPSHOT }, { ...REPORT, part: LIVE, remarks: REMARKS }, { ...REPORT, kind: 'branch', isConversion: true }]
        .map((report) => forkNotice(report, SETTINGS));
    assert.deepEqual(said.map(({ text }) => text), [
        'Checkpoint created with its own lore: 34 entries, exact.',
        'Branch created with its own lore: 34 entries, as of message 42.',
        'Checkpoint created with its own lore: 34 entries, as it is today.',
        'Group chat created with its own lore: 34 entries, exact.',
    ]);
    assert.deepEqual(said.map(({ kind }) => kind), ['success', 'success', 'warning', 'success']);
    assert.deepEqual(said.map(({ details }) => details), ['Details', 'Details', `Details (${REMARKS.length})`, 'Details']);
    assert.ok(said.every((notice) => words(notice) <= 20));
});

test('a fork without lore is made in silence, unless it should have some', () => {
    const bare = { ...REPORT, book: null, part: null };
    assert.equal(forkNotice(bare, SETTINGS), null);
    assert.equal(forkNotice({ ...bare, remarks: REMARKS }, { warnings: false }), null);
    assert.deepEqual(forkNotice({ ...bare, remarks: REMARKS }, SETTINGS), { kind: 'success', text: 'Checkpoint created.', details: `Details (${REMARKS.length})` });
    const without = [word('without-book', { name: 'Lore', why: 'busy', count: 1 })];
    assert.deepEqual(forkNotice({ ...bare, remarks: without }, { warnings: false }), { kind: 'warning', text: 'Checkpoint created without a lorebook. The lorebook “Lore” was not copied: ST-Auto-Recap was still working, with 1 operation left.', details: 'Details' });
    const unsure = { ...bare, kind: 'branch', part: SNAPSHOT, remarks: [word('no-book-as-of', { as_of: 42, here: false })] };
    assert.equal(forkNotice(unsure, { warnings: false }).text, 'Branch created without a lorebook: there was none, as of message 42.');
    assert.deepEqual([...unsure.remarks, word('no-book-as-of', { as_of: 42, here: true })].map((it) => sayWord(it)), [
        'There was no lorebook, as of message 42.',
        'There was no lorebook, as last seen at this message.',
    ]);
    const live = { ...REPORT, part: { exactness: 'live' }, remarks: [word('book-live')] };
    assert.deepEqual([forkNotice(live, SETTINGS).kind, forkNotice(live, SETTINGS).details], ['warning', 'Details (1)']);
    assert.deepEqual([forkNotice({ ...live, wasChosen: true }, SETTINGS).kind, forkNotice({ ...live, wasChosen: true }, SETTINGS).details], ['info', null]);
    assert.equal(forkNotice({ ...live, wasChosen: true, remarks: REMARKS }, SETTINGS).details, `Details (${REMARKS.length})`);
    const lore = (code, more) => forkNotice({ ...bare, ...more, remarks: [{ code, values: { name: 'Eldoria' } }] }, { warnings: false });
    assert.deepEqual(lore('shares-book'), { kind: 'info', text: 'Checkpoint created. It shares “Eldoria”.', details: 'Details' });
    const own = { book: { name: 'C - Lore', entries: 5 }, part: { exactness: 'live' } };
    assert.deepEqual(lore('own-copy', own), { kind: 'success', text: 'Checkpoint created with its own copy of “Eldoria”: 5 entries.', details: 'Details' });
});

test('the details of a fork name the recaps that came along', () => {
    const recap = { version: 0, scenes: 1 };
    assert.match(partAndRecaps({ ...REPORT, recap, combined: 10 }), /^[^.]+, running recap version 0 \(1 scene\), combined recap of 10 messages$/);
    assert.doesNotMatch(partAndRecaps({ ...REPORT, recap: { version: null, scenes: 0 }, combined: null }), /recap/);
});

test('the panel says what a chat was made of', async () => {
    const core = await realCore();
    const seal = { kind: 'checkpoint', parent: { chat: 'Main', message: 12 }, made: '2026-11-15T00:00:00.000Z', running_recap: { version: 3, count: 5, scenes: 4 }, combined_recap: { messages: 10, digest: `sha256:${'0'.repeat(64)}` } };
    const birth = (it) => panelView({ readiness: { ...READINESS.ready, origin: originOf(core, { messages: Array(1000).fill({}), metadata: { forklore: it } }) }, sayDate: (time) => new Date(time).toISOString().slice(0, 10) }).origin;
    assert.equal(birth(seal), 'Checkpoint of “Main” at message 12, created 2026-11-15, running recap version 3 (4 scenes), combined recap of 10 messages.');
    assert.equal(birth({ kind: 'branch', parent: { chat: 'Main', message: 0 }, running_recap: { version: 0, count: 1 } }), 'Branch of “Main” at message 0, running recap version 0.');
    for (const other of [undefined, null, 7, {}, { kind: 'odd', parent: { chat: 'x' } }, { kind: 'branch' }]) {
        assert.equal(birth(other), '');
    }
});

test('opening a chat says nothing unless something is wrong', () => {
    assert.equal(openedNotice([]), null);
    assert.equal(openedNotice([finding('no-seal', false), finding('book-elsewhere', false, { name: 'b', by: [] })]), null);
    assert.equal(openedNotice([finding('book-missing', true, { name: 'B' })]).act, 'repair');
    assert.equal(openedNotice([finding('book-shared', true, { name: 'B', with: ['c'] })]).act, 'split');
    assert.equal(openedNotice([finding('damage', true)]).act, 'details');
    const gone = finding('running-gone', true, { version: 5 });
    assert.equal(openedNotice([gone, finding('no-seal', false)]).text, 'This chat was created with version 5 of the running recap, which is gone.');
    assert.equal(openedNotice([gone, finding('damage', true)]).text, '2 things are wrong with this chat.');
});

test('the lore of a message: entries, what memory extensions keep, what happened since', () => {
    const view = loreView(LORE);
    assert.deepEqual([view.entries.length, view.internal.length], [8, 2]);
    assert.match(view.exactness, /message 42/);
    assert.equal(view.entries.find(({ title }) => title === 'Entry 5').keys, 'No keywords');
    assert.equal(view.since, 'Since message 42: 1 added, 1 changed, 1 removed');
    assert.equal(view.changes[2].about, 'changed: content, keywords, odd_field');
    assert.deepEqual(view.restored.map(({ what, about }) => [what, about]),
        [['removed', 'is removed'], ['added', 'is restored'], ['changed', 'changes back: content, keywords, odd_field']]);
});

test('what happened since a message is only told where the message is known', () => {
    const since = (part, changes) => loreView({ ...LORE, part, changes }).since;
    assert.equal(since(EXACT, []), 'Nothing has changed since then.');
    assert.equal(since(EXACT, LORE.changes.slice(0, 1)), 'Since then: 1 added');
    assert.equal(since(SNAPSHOT, []), 'Today’s lorebook is the same as at message 42.');
    assert.equal(since(LIVE, []), 'What has changed since then is not known.');
    const without = part => loreView({ message: 3, part, book: null, entries: [], changes: [] });
    assert.deepEqual([without(EXACT).book, without(EXACT).since], ['This chat had no lorebook then.', '']);
    assert.equal(without(LIVE).book, 'This chat has no lorebook.', 'of then, nothing is known');
    assert.match(without(EXACT).hint, /^Link one with Chat Lore/);
    assert.equal(loreView({ message: 3, part: EXACT, book: null, entries: [], changes: [], hasBook: true }).hint, '', 'it has one by now');
});

test('an inherited message does not call its parent’s lorebook its own', () => {
    assert.equal(loreView({ ...LORE, isInherited: true }).book, 'Inherited from the parent: 10 entries');
    assert.match(loreView(LORE).book, /^Lorebook “Harbour lore”/);
    assert.equal(loreView({ ...LORE, part: EXACT }, String, LORE.message + 1).exactness, 'Shown as it was when the next message arrived.');
    assert.equal(loreView({ ...LORE, part: EXACT }).exactness, 'Shown exactly as it was at this message.');
});

test('lore can be restored only if there is something to restore', () => {
    assert.equal(loreView(LORE).canRestore, true);
    assert.equal(loreView({ ...LORE, changes: [] }).canRestore, false);
    assert.equal(loreView({ message: 3, part: EXACT, book: null, entries: [], changes: [] }).canRestore, false);
});

test('entries are found by title, keyword and content', () => {
    const { entries } = loreView(LORE);
    const titles = typed => matchingEntries(entries, typed).map(({ title }) => title);
    assert.deepEqual(titles('COMETS ships'), ['The storm']);
    assert.deepEqual(titles('lighthouse'), ['Old Tom']);
    assert.deepEqual(titles('nothing like it'), []);
});
