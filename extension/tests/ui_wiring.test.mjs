/** Clicks, dialogs and notices, wired up as in the page. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { showFailure, startUi } from '../ui/index.js';
import { fakeApp, finding, LIVE, MARKUP, NOTHING_BACK, READINESS, REMARKS, REPORT, TRASH, word } from './fake_app.mjs';
import { fakeScreen, settled, useFakeDocument } from './fake_screen.mjs';

beforeEach(useFakeDocument);

const asked = (app, name) => app.calls.filter(([call]) => call === name).map(([, ...given]) => given);

/** Presses a button, by its text. */
async function pressed(root, text, at = 0) {
    root.all((node) => node.tagName === 'button' && node.textContent === text)[at].click();
    await settled();
}

async function start(given = {}, answers = []) {
    const app = fakeApp(given);
    const screen = fakeScreen(answers);
    const ui = startUi({ app, screen });
    await settled();
    return { app, screen, ui, panel: screen.mounted.panel };
}

test('everything is mounted', async () => {
    const { screen, panel } = await start();
    assert.match(panel.textContent, /Ready\. The lorebook “Harbour lore”/);
    assert.equal(screen.mounted.action.title, 'Lore at this message');
    assert.equal(screen.mounted.commands.length, 9);
    assert.ok(screen.mounted.wand);
});

test('marks: a list of the timelines that fork off, one of which is opened', async () => {
    const opened = [];
    const given = {
        marks: { forks: new Map([[12, [`The harbour - Branch ${MARKUP}`, 'The harbour - Branch #2']]]), lore: new Set([5]) },
        forksAt: async () => [`The harbour - Branch ${MARKUP}`, 'The harbour - Branch #2'],
        messageAt: () => ({ name: 'Mara', text: MARKUP }),
        timelines: { open: async (name) => opened.push(name) },
    };
    const { app, screen } = await start(given, [(body) => {
        assert.match(body.textContent, /^Timelines that fork off at message 12, Mara/);
        assert.match(body.textContent, /… Branch #2/);
        body.all(({ tagName }) => tagName === 'button')[0].click();
    }, 'ok']);
    const { forklore_mark_forks: forks, forklore_mark_lore: lore } = screen.mounted;
    app.emit('marks');
    assert.deepEqual([...forks.drawn], [[12, { text: '2', title: '2 timelines fork off here' }]]);
    assert.deepEqual([...lore.drawn], [[5, { text: '', title: 'The lore changed here' }]]);
    await forks.run(12);
    assert.deepEqual(opened, [`The harbour - Branch ${MARKUP}`]);
    await forks.run(12);
    assert.equal(opened.length, 1, 'closed without opening one');
    app.forksAt = async () => [];
    await forks.run(12);
    assert.equal(screen.popups.length, 2, 'another tab has deleted them');
    await lore.run(5);
    assert.deepEqual(asked(app, 'lore'), [[5]]);
});

test('without its core, only the panel is there, and says nothing else', () => {
    const screen = fakeScreen([]);
    showFailure(screen, new Error('no wasm'));
    assert.match(screen.mounted.panel.textContent, /^Forklore.*could not start: no wasm/);
    assert.deepEqual(Object.keys(screen.mounted), ['panel']);
    assert.deepEqual(screen.mounted.panel.all(({ tagName }) => tagName === 'button'), []);
});

test('the panel’s button names the checkpoint by the template', async () => {
    const { app, panel } = await start();
    panel.saying('Create checkpoint').click();
    panel.all(({ tagName }) => tagName === 'button')[0].click();
    await settled();
    assert.deepEqual(asked(app, 'fork'), [[{ kind: 'checkpoint', message: 57, name: 'Scene 3 - The quay' }]]);
});

test('without a template a name is asked for, and no name means no checkpoint', async () => {
    const { app, ui } = await start({}, ['Mine', '', null]);
    app.settings.autoName = false;
    await ui.actions.checkpointAtEnd();
    await ui.actions.checkpointAtEnd();
    await ui.actions.checkpointAtEnd();
    assert.deepEqual(asked(app, 'fork'), [
        [{ kind: 'checkpoint', message: 57, name: 'Mine' }],
        [{ kind: 'checkpoint', message: 57 }],
    ]);
});

test('when the queue is busy, the checkpoint is made when ready', async () => {
    const { app, screen, panel } = await start({ readiness: async () => READINESS.waiting });
    app.fork = async (given) => {
        app.calls.push(['fork', given]);
        app.pendingFork = { message: 57, kind: 'checkpoint', operations: 3, paused: false };
        app.emit('waiting', app.pendingFork);
        app.emit('changed');
        return null;
    };
    panel.all(({ tagName }) => tagName === 'button')[0].click();
    await settled();
    assert.equal(asked(app, 'fork')[0][0].whenReady, true);
    assert.match(screen.toasts.at(-1).lines[0], /as soon as the pending work is done\. ST-Auto-Recap is still working: 3 operations left\./);
    assert.match(panel.textContent, /at message 57.* will be created as soon as the pending work is done\. ST-Auto-Recap is still working: 3 operations left\./);
    screen.toasts.at(-1).options.buttons[0].run();
    assert.equal(asked(app, 'stopWaiting').length, 1);
});

test('the panel shows where the chat was forked from', async () => {
    const origin = { kind: 'checkpoint', parent: 'Main', message: 12, made: NaN, recap: 3, scenes: 4, combined: null };
    const { panel } = await start({ readiness: async () => ({ ...READINESS.ready, origin }) });
    await settled();
    assert.match(panel.textContent, /Checkpoint of “Main” at message 12.*, running recap version 3 \(4 scenes\)\./);
});

test('the settings for ST-Auto-Recap appear as soon as it does', async () => {
    let isThere = false;
    const { app, panel } = await start({ hasAutoRecap: () => isThere });
    await settled();
    const isShown = () => /Checkpoint at every scene break/.test(panel.textContent);
    assert.equal(isShown(), false);
    isThere = true;
    app.emit('changed');
    assert.equal(isShown(), true);
});

test('the panel follows the app', async () => {
    const { app, panel } = await start();
    app.readiness = async () => READINESS.shared;
    app.emit('changed');
    await settled();
    assert.match(panel.textContent, /shared with 3 other chats/);
    app.openFindings = { findings: [finding('no-seal', false)], when: 'opened' };
    app.emit('changed');
    await settled();
    assert.match(panel.textContent, /1 thing worth knowing/);
    app.openFindings = { findings: [], when: 'again' };
    app.emit('changed');
    await settled();
    assert.match(panel.textContent, /Checked again: all is well/);
    assert.throws(() => panel.saying('Details'), 'there is nothing left to tell');
});

test('a lorebook that is used elsewhere can be split off, without a family to split', async () => {
    const { app, ui } = await start({ readiness: async () => READINESS.elsewhere }, [async (body) => {
        await settled();
        assert.match(body.textContent, /also used by:The harbour imported/);
        assert.equal(body.all(({ attributes }) => attributes.type === 'radio').length, 1);
        return 'ok';
    }]);
    await ui.actions.split();
    assert.deepEqual(asked(app, 'split'), [[{ family: false }]]);
});

test('a chat without its own lorebook says which one it shares, and gets a copy at a press', async () => {
    const { app, screen, panel } = await start({ readiness: async () => READINESS.common });
    const line = `All chats with Seraphina share the lorebook “Eldoria ${MARKUP}”.`;
    assert.ok(panel.textContent.includes(line));
    panel.all(({ tagName }) => tagName === 'button')[0].click();
    await settled();
    assert.deepEqual(asked(app, 'giveCopy'), [[`Eldoria ${MARKUP}`]]);
    assert.equal(screen.toasts.at(-1).lines[0], `This chat uses its own copy of “Eldoria ${MARKUP}” now: 4 entries.`);
    app.emit('common', READINESS.common.common[0]);
    const [notice] = screen.toasts.slice(-1);
    assert.deepEqual([notice.lines[0], notice.options.buttons.map(({ text }) => text)], [line, ['Give this chat its own copy']]);
    notice.options.buttons[0].run();
    await settled();
    assert.equal(asked(app, 'giveCopy').length, 2);
    app.emit('common', READINESS.common.common[0]);
    app.emit('opened', { chat: 'd', findings: [] });
    assert.equal(screen.toasts.at(-1).kind, 'closed', 'another chat was opened');
});

test('of several shared lorebooks, the details name those that are not copied', async () => {
    const { screen, panel } = await start({ readiness: async () => READINESS.common }, [null]);
    panel.all(({ tagName, textContent }) => tagName === 'button' && textContent === 'Details')[0].click();
    await settled();
    assert.match(screen.popups[0].text, /“World” is shared with other chats, too/);
    assert.doesNotMatch(screen.popups[0].text, /Eldoria/);
});

test('the original is used again after a question, which says what becomes of the copy', async () => {
    const readiness = { ...READINESS.ready, leftOut: ['Eldoria'] };
    const keep = (body) => {
        body.all(({ attributes }) => attributes.type === 'radio')[1].dispatch('change');
        return 'ok';
    };
    const { app, panel, ui } = await start({ readiness: async () => readiness }, ['ok', keep, null]);
    assert.match(panel.textContent, /“Eldoria” is left out of the prompt in this chat; the chat’s own lorebook is used instead\./);
    assert.match(panel.textContent, /Use the original again…/);
    await ui.actions.useOriginal();
    await ui.actions.useOriginal();
    await ui.actions.useOriginal();
    assert.deepEqual(asked(app, 'useOriginal'), [[{ unlink: true }], [{ unlink: false }]]);
});

test('an answer that comes late does not replace a newer one', async () => {
    const { app, panel } = await start();
    let answerLate;
    app.readiness = () => new Promise((resolve) => { answerLate = () => resolve(READINESS.missing); });
    app.emit('changed');
    app.readiness = async () => READINESS.shared;
    app.emit('changed');
    await settled();
    answerLate();
    await settled();
    assert.match(panel.textContent, /shared with/);
});

test('settings are saved as they are changed', async () => {
    const { app, panel } = await start();
    const box = panel.all(({ attributes }) => attributes.type === 'checkbox')[0];
    box.checked = false;
    box.dispatch('change');
    assert.equal(app.settings.isolate, false);
    assert.equal(asked(app, 'saveSettings').length, 1);
});

test('a missing lorebook is repaired from what was chosen', async () => {
    const { app, screen, ui } = await start({}, ['ok']);
    await ui.actions.repair();
    assert.deepEqual(asked(app, 'repair'), [[{ source: 'journal' }]]);
    assert.ok(screen.popups[0].text.includes(MARKUP));
    assert.match(screen.toasts.at(-1).lines[0], /“Lost book” was restored: 12 entries, as of message 42/);
});

test('not now repairs nothing', async () => {
    const { app, ui } = await start({}, [null]);
    await ui.actions.repair();
    assert.deepEqual(asked(app, 'repair'), []);
});

test('a shared lorebook is split as it was shown', async () => {
    const { app, screen, ui } = await start({ readiness: async () => READINESS.shared }, [async (body, { mayClose }) => {
        await settled();
        assert.match(body.textContent, /Harbour lore \(Branch #1\)/);
        const [, family] = body.all(({ attributes }) => attributes.type === 'radio');
        family.dispatch('change');
        assert.equal(mayClose(), false, 'the plan is not there yet');
        await settled();
        assert.match(body.textContent, /“The harbour” keeps/);
        assert.equal(mayClose(), true);
        return 'ok';
    }]);
    await ui.actions.split();
    assert.deepEqual(asked(app, 'split'), [[{ family: true }]]);
    assert.match(screen.toasts.at(-1).lines[0], /2 chats have their own lorebook/);
});

test('cleaning up is shown first, and can be undone', async () => {
    const { app, screen, ui } = await start({}, ['ok']);
    await ui.actions.clean();
    assert.equal(asked(app, 'clean').length, 1);
    screen.toasts.at(-1).options.buttons[0].run();
    await settled();
    assert.deepEqual(asked(app, 'undo'), [['token']]);
    assert.match(screen.toasts.at(-1).lines[0], /1 lorebook was restored/);
});

test('an undo says what became of the lorebook', async () => {
    const { app, screen, ui } = await start({ undo: async () => ({ ...NOTHING_BACK, restored: ['Harbour lore'], replaced: ['Harbour lore'] }) });
    await ui.actions.undo('token');
    assert.equal(screen.toasts.at(-1).lines[0], 'Undone. “Harbour lore” is as it was before.');
    app.undo = async () => ({ ...NOTHING_BACK, restored: ['One', 'Two'] });
    await ui.actions.undo('token');
    assert.equal(screen.toasts.at(-1).lines[0], '2 lorebooks were restored: “One”, “Two”.');
});

test('the trash is a list: put back, save under another name, delete after a question', async () => {
    let list = TRASH;
    const inList = async (body) => {
        await settled();
        const press = (text, at = 0) => pressed(body, text, at);
        assert.equal(body.all((node) => node.tagName === 'li').length, TRASH.length);
        assert.match(body.textContent, /2\.2 MB in all\. Deleted timelines are kept for 30 days, up to 200 MB/);
        assert.match(body.textContent, /Clean-Up leaves the trash out of its list/);
        await press('Put back', 1);
        assert.deepEqual(asked(app, 'undo'), [[TRASH[1].token]]);
        await press('Save as…');
        assert.equal(screen.toasts.at(-1).lines[0], 'Saved as “Harbour lore (2)”.');
        await press('Delete', 2);
        assert.match(screen.popups.at(-1).text, /Delete “Harbour lore” from the trash\?/);
        assert.deepEqual(asked(app, 'dropFromTrash'), [], 'no is no');
        await press('Delete', 2);
        assert.deepEqual(asked(app, 'dropFromTrash'), [[TRASH[2].token]]);
        list = [];
        await press('Empty the trash…');
        assert.equal(asked(app, 'dropFromTrash').length, 1 + TRASH.length);
        assert.match(body.textContent, /The trash is empty/);
        return 'ok';
    };
    const { app, screen, ui, panel } = await start({ trashList: async () => list }, [inList, 'ok', null, 'ok', 'ok']);
    await ui.actions.showTrash();
    assert.deepEqual(asked(app, 'saveFromTrash'), [[TRASH[0].token, ['Harbour lore (2)']]]);
    assert.equal(screen.popups.length, 5);
    await pressed(panel, 'Trash…');
    assert.equal(screen.popups.length, 6);
});

test('where a search would take long, the trash asks first', async () => {
    const found = [];
    const look = async (body) => {
        await settled();
        await pressed(body, 'Look for more');
        assert.match(body.textContent, /2 things were not in the list yet/);
    };
    const { ui } = await start({ findInTrash: async (how) => found.push(how) === 1 ? null : 2 }, [look]);
    await ui.actions.showTrash();
    assert.deepEqual(found, [{ isAsked: false }, { isAsked: true }]);
});

test('notices that speak of the trash lead to it, and a split or repair can be undone', async () => {
    const { app, screen, ui } = await start({ split: async () => ({ keeper: null, chats: [{ undo: 'a' }, { undo: 'b' }] }) }, ['ok']);
    const labels = () => screen.toasts.at(-1).options.buttons.map(({ text }) => text);
    app.emit('removed', { chat: 'C', books: ['B'], undo: 'token', isKept: true });
    assert.deepEqual([screen.toasts.at(-1).lines[0], labels()], ['“C” and its lorebook “B” are in the trash.', ['Undo', 'Trash…']]);
    app.emit('removed', { chat: 'C', books: ['B', 'D'], undo: 'token' });
    assert.deepEqual(labels(), ['Put the lorebooks back', 'Trash…'], 'the chat itself does not come back');
    app.emit('kept', { book: 'B', kept: [{ isMine: true, token: 'token' }] });
    assert.deepEqual(labels(), ['Recover it as a lorebook', 'Trash…']);
    screen.toasts.at(-1).options.buttons[1].run();
    await settled();
    assert.match(screen.popups.at(-1).text, /^Trash/);
    ui.toasts.split(await app.split({}), ui.actions);
    screen.toasts.at(-1).options.buttons[0].run();
    await settled();
    assert.deepEqual(asked(app, 'undo'), [['a'], ['b']]);
});

test('what could not be put back is named', async () => {
    const { app, screen, ui } = await start({ undo: async () => ({ ...NOTHING_BACK, blocked: ['Two'] }) });
    await ui.actions.undo('token');
    assert.deepEqual(screen.toasts.at(-1).lines, ['“Two” exists again or was changed since, and stays as it is.']);
    app.undo = async () => ({ ...NOTHING_BACK, chats: ['Two'], restored: ['Lore'], unreadable: 2 });
    await ui.actions.undo('token');
    assert.deepEqual(screen.toasts.at(-1).lines, ['“Two” is back with 1 lorebook: “Lore”.', '2 lines of its file could not be read by SillyTavern and are still in the trash.']);
    app.undo = async () => ({ ...NOTHING_BACK, undone: ['Two'] });
    await ui.actions.undo('token');
    assert.deepEqual([screen.toasts.at(-1).kind, ...screen.toasts.at(-1).lines], ['success', 'Undone in “Two”.']);
});

test('what was brought over is told without what was not', async () => {
    const { screen, ui, app } = await start();
    ui.toasts.brought({ into: 'C', added: [], changed: [1], removed: [], undo: 'token' }, { undo: app.undo });
    assert.equal(screen.toasts.at(-1).lines[0], 'Merged into “C”: 1 changed.');
    ui.toasts.brought({ into: 'C', added: [1, 2], changed: [], removed: [3], undo: 'token' }, { undo: app.undo });
    assert.equal(screen.toasts.at(-1).lines[0], 'Merged into “C”: 2 added, 1 removed.');
});

test('chats worth knowing about are called more only beside others', async () => {
    const seen = [];
    const look = async (body) => {
        await settled();
        seen.push(body.textContent);
    };
    const notes = [{ chat: 'An older branch', owner: 'Bram', findings: [finding('no-seal', false)] }];
    const { ui } = await start({ verifyAll: async () => notes }, [look]);
    await ui.actions.verifyAll();
    assert.match(seen[0], /Worth knowing about 1 chat/);
    const both = await start({}, [look]);
    await both.ui.actions.verifyAll();
    assert.match(seen[1], /Worth knowing about 2 more chats/);
});

test('a lorebook that was deleted is brought back from the journal, or from wherever it can be', async () => {
    const { app, screen } = await start({}, [null]);
    app.emit('lost', { book: 'B', canBringBack: true });
    assert.equal(screen.toasts.at(-1).lines[0], 'The lorebook “B” of this chat was deleted.');
    assert.equal(screen.toasts.at(-1).options.buttons[0].text, 'Restore it');
    screen.toasts.at(-1).options.buttons[0].run();
    await settled();
    assert.deepEqual(asked(app, 'repair'), [[{ source: 'journal' }]]);
    app.emit('lost', { book: 'B', canBringBack: false });
    assert.equal(screen.toasts.at(-1).options.buttons[0].text, 'Repair…');
});

test('nothing is cleaned without a yes, nor when there is nothing', async () => {
    const { app, ui } = await start({}, [null, 'ok']);
    await ui.actions.clean();
    app.cleanupPlan = async () => ({ remove: [], keep: [], unread: [] });
    await ui.actions.clean();
    assert.deepEqual(asked(app, 'clean'), []);
});

test('the journal is taken out only after a yes', async () => {
    const { app, screen, ui } = await start({}, [null, 'ok']);
    await ui.actions.strip();
    assert.equal(asked(app, 'strip').length, 0);
    await ui.actions.strip();
    assert.equal(asked(app, 'strip').length, 1);
    assert.match(screen.popups[0].text, /cannot be undone/);
});

test('the journal is taken out of all chats only after a yes, and what was left is said', async () => {
    const left = [word('chat-recent', { chat: MARKUP }), word('chat-failed', { chat: 'Two', reason: 'x' })];
    const { app, screen, ui } = await start({}, [null, 'ok', async (body) => {
        await settled();
        assert.match(body.textContent, /The journal was removed from 2 chats\./);
        body.saying('Close').click();
    }, 'ok', async (body) => {
        assert.ok(body.saying('Stop'));
        body.saying('Stop').click();
    }]);
    await ui.actions.stripAll();
    assert.equal(asked(app, 'stripAll').length, 0);
    assert.match(screen.popups[0].text, /^Remove the journal from all chats\?3 chats of all/);
    assert.match(screen.popups[0].text, /forks at old messages are no longer exact.*cannot be undone/);
    assert.match(screen.popups[0].text, /the lorebooks and the forks you already have stay/);
    await ui.actions.stripAll();
    assert.equal(asked(app, 'stripAll').length, 1);
    assert.equal(screen.toasts.length, 0, 'what was seen is not said twice');
    let isWanted;
    app.stripAll = async (all, how) => {
        how.progress(1, 3);
        await settled();
        isWanted = how.isWanted();
        return { chats: 1, records: 3, done: 1, total: 3, left };
    };
    await ui.actions.stripAll();
    assert.equal(isWanted, false, 'leaving the popup stops it');
    const { kind, lines } = screen.toasts.at(-1);
    assert.equal(kind, 'warning');
    assert.equal(lines[0], 'The journal was removed from 1 chat. Stopped after 1 of 3 chats.');
    assert.ok(lines[1].includes(MARKUP) && lines[1].includes('“Two” could not be read or saved: x'));
});

test('a chat that needs a look can be opened from the list', async () => {
    const { screen, ui } = await start({}, [async (body) => {
        await settled();
        body.all(({ attributes }) => attributes['aria-label'] === `Open “${MARKUP}”`)[0].click();
    }]);
    await ui.actions.verifyAll();
    assert.deepEqual(screen.mounted.opened, { chat: MARKUP, owner: 'Ada' });
});

test('a fork that cannot be made asks, and leaving it means no', async () => {
    const question = { obstacles: [word('queue-busy', { count: 2 })], remarks: REMARKS, part: null, topic: 'busy', choices: ['wait', 'drain', 'without'] };
    const press = (at) => (body) => body.all(({ tagName }) => tagName === 'button')[at].click();
    const { ui } = await start({}, [body => body.saying('Create when ready').dispatch('click'), null, press(0), press(1)]);
    assert.equal(await ui.dialogs.askFork(question), 'cancel');
    assert.equal(await ui.dialogs.askFork(question), 'cancel');
    assert.equal(await ui.dialogs.askFork(question), 'wait');
    assert.equal(await ui.dialogs.askFork(question), 'drain');
});

test('lore that was not recorded: it is said since when there are records', async () => {
    const question = { obstacles: [word('book-not-known', { as_of: null })], part: LIVE, topic: 'inexact', choices: ['live', 'without'] };
    const { app, screen, ui } = await start({ recordedSince: () => 6, messageAt: (message) => ({ name: 'Mara', text: `Words of ${message}` }) }, [null, null]);
    await ui.dialogs.askFork(question);
    assert.match(screen.popups[0].text, /Forklore has recorded this chat since message 6, Mara: “Words of 6”\./);
    app.recordedSince = () => null;
    await ui.dialogs.askFork(question);
    assert.doesNotMatch(screen.popups[1].text, /has recorded/);
});

test('lore: both versions of what changed since are one press away', async () => {
    const { app, ui } = await start({ compare: async (...given) => {
        app.calls.push(['compare', ...given]);
        throw new Error('enough');
    } }, [(body) => {
        body.all(({ tagName }) => tagName === 'button').find(({ textContent }) => textContent === 'Show both versions').click();
    }]);
    await ui.lore.show(57);
    assert.deepEqual(asked(app, 'compare'), [[{ left: { chat: 'The harbour', message: 57 }, right: { chat: 'The harbour', message: null } }]]);
});

test('lore: restored after a preview and a yes', async () => {
    const { app, screen, ui } = await start({}, ['restore', 'ok']);
    await ui.lore.show(57);
    assert.deepEqual(asked(app, 'restore'), [[57, { dryRun: true }], [57, { dryRun: false }]]);
    assert.match(screen.popups[1].text, /A copy of today’s lorebook is kept in the trash/);
});

test('lore: the dialogs and the notice say which message it is', async () => {
    const messageAt = (message) => ({ name: MARKUP, text: `${MARKUP} Words of **${message}**` });
    const { screen, ui } = await start({ messageAt }, ['restore', 'ok']);
    await ui.lore.show(57);
    assert.match(screen.popups[0].text, /^Lore at message 57: “Words of 57”/, 'a name that is only markup is none');
    assert.match(screen.popups[0].text, /as it was at message 42: “Words of 42”, the nearest known state/);
    assert.match(screen.popups[1].text, /^Restore the lore of message 57: “Words of 57”\?/);
    assert.match(screen.toasts.at(-1).lines[0], /was restored to message 57: “Words of 57”\.$/);
});

test('lore: a no after the preview changes nothing', async () => {
    const { app, ui } = await start({}, ['restore', null]);
    await ui.lore.show(57);
    assert.deepEqual(asked(app, 'restore'), [[57, { dryRun: true }]]);
});

test('lore: a branch of that message', async () => {
    const { app, screen } = await start({}, ['branch']);
    await screen.mounted.action.run(12);
    assert.deepEqual(asked(app, 'fork'), [[{ kind: 'branch', message: 12 }]]);
});

test('lore that is not known is told in words', async () => {
    const unknown = Object.assign(new Error('x'), { word: word('book-not-known', { as_of: null }) });
    const { screen, ui } = await start({ lore: async () => { throw unknown; } });
    await ui.lore.show(3);
    assert.equal(screen.toasts[0].kind, 'warning');
    assert.match(screen.toasts[0].lines[0], /The lorebook was not recorded/);
});

test('notices: forks, removed books, chats that were opened', async () => {
    const { app, screen } = await start();
    app.emit('forked', { ...REPORT, remarks: REMARKS });
    const [details] = screen.toasts[0].options.buttons;
    assert.equal(details.text, `Details (${REMARKS.length})`);
    details.run();
    await settled();
    const shown = screen.popups.at(-1).text;
    assert.ok(shown.includes(REPORT.child) && shown.includes(MARKUP), shown);
    app.emit('removed', { chat: MARKUP, books: ['B'], undo: 'token' });
    screen.toasts[1].options.buttons[0].run();
    await settled();
    assert.deepEqual(asked(app, 'undo'), [['token']]);
    const before = screen.toasts.length;
    app.emit('opened', { chat: 'c', findings: [] });
    assert.equal(screen.toasts.length, before, 'a chat that is well is opened in silence');
    app.emit('opened', { chat: 'c', findings: [finding('book-missing', true, { name: 'B' })] });
    assert.deepEqual([screen.toasts.at(-1).options.sticky, screen.toasts.at(-1).options.isState, screen.toasts.at(-1).options.buttons[0].text], [undefined, true, 'Repair…']);
    app.emit('checked', { chat: 'c', findings: [finding('book-missing', true, { name: 'B' })] });
    assert.notEqual(screen.toasts.at(-1).kind, 'closed', 'it is still so');
    app.emit('checked', { chat: 'c', findings: [] });
    assert.equal(screen.toasts.at(-1).kind, 'closed', 'it was put right');
    app.emit('opened', { chat: 'c', findings: [finding('book-missing', true, { name: 'B' })] });
    app.emit('opened', { chat: 'd', findings: [] });
    assert.equal(screen.toasts.at(-1).kind, 'closed', 'what was said of the last chat is taken back');
});

test('one failure is told once', async (context) => {
    context.mock.method(console, 'error', () => {});
    const error = new Error('the server is gone');
    const { app, screen, ui } = await start({ strip: async () => { throw error; } }, ['ok']);
    await ui.actions.strip();
    app.emit('failed', error);
    assert.equal(screen.toasts.length, 1);
    assert.match(screen.toasts[0].lines[0], /the server is gone/);
});
