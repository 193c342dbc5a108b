// The twenty cases of the rule, by number, on a simulated page; those that need files or a running watch use real ones.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';

import { bookText, chatText, commandPath, Folder, forkedClaims, shownClaim, stop } from './command.mjs';
import { Product } from './product.mjs';
import { readable, Stage } from './stage.mjs';

const product = await Product.load();
const needsCommand = { skip: commandPath() ? false : 'there is no forklore: cargo build -p forklore' };

/** Runs a case on a data folder that is removed afterwards. */
async function inFolder(work) {
    const folder = new Folder();
    try {
        return await work(folder);
    } finally {
        folder.remove();
    }
}

const shown = async (folder, m, chat = 'Ada/Main') => {
    const run = await folder.run('show', chat, '--at', String(m));
    assert.equal(run.code, 0, run.text);
    return readable({ book: shownClaim(run), metadata: { kind: '', content: '' } });
};

test('case 01: an edit belongs to the message that was the last', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    await stage.arrives();
    await stage.arrives();
    assert.equal(stage.ask(1).book, 'exact b');
    assert.equal(stage.ask(0).book, 'exact a');
});

test('case 02: a reload costs nothing', async () => {
    for (const preload of [true, false]) {
        const stage = new Stage(product);
        await stage.settle();
        await stage.arrives();
        await stage.lore('b');
        await stage.reload({ preload });
        await stage.arrives();
        assert.equal(stage.ask(1).book, 'exact b');
        assert.equal(stage.ask(1).metadata, 'exact 10');
        assert.equal(stage.ask(0).book, 'exact a');
    }
});

test('case 03: what another device wrote while the chat was closed', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    stage.closeAll();
    stage.foreign('b');
    stage.open();
    await stage.settle();
    await stage.arrives();
    assert.equal(stage.ask(1).book, 'exact b');
});

for (const way of ['switched off', 'disabled']) {
    test(`case 04: a gap, extension ${way}`, async () => {
        const stage = new Stage(product);
        await stage.settle();
        await stage.arrives();
        if (way === 'disabled') {
            await stage.reload({ extension: false });
        } else {
            stage.page.settings.journal = false;
            stage.page.event();
        }
        await stage.lore('b');
        await stage.arrives();
        if (way === 'disabled') {
            await stage.reload();
        } else {
            stage.page.settings.journal = true;
            stage.page.event();
            await stage.settle();
        }
        await stage.arrives();
        assert.equal(stage.ask(1).book, 'as of 1 a');
        assert.equal(stage.ask(2).book, 'exact b');
    });
}

test('case 05: a listener that sets a variable after the push', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    stage.page.push(stage.message());
    stage.hp(3);
    stage.page.event();
    stage.page.saveChat();
    await stage.settle();
    await stage.arrives();
    assert.equal(stage.ask(1).metadata, 'exact 10');
    assert.equal(stage.ask(2).metadata, 'exact 3');
    assert.equal(stage.ask(1).book, 'exact a');
});

test('case 06: the same with push bypassed', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    stage.page.pushBypassed(stage.message());
    stage.hp(3);
    stage.page.event();
    stage.page.saveChat();
    await stage.settle();
    await stage.arrives();
    assert.equal(stage.ask(1).metadata, 'as of 1 10');
    assert.equal(stage.ask(1).book, 'exact a');
});

test('case 07: two messages between two looks, no wrapper', async () => {
    const stage = new Stage(product);
    await stage.settle();
    stage.page.pushBypassed(stage.message());
    stage.hp(3);
    stage.page.pushBypassed(stage.message());
    stage.page.event();
    await stage.settle();
    assert.equal(stage.ask(0).metadata, 'as of 0 10');
    assert.doesNotMatch(stage.ask(1).metadata, /^exact/);
});

test('case 08: lore edited while a reply streams', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    stage.page.push(stage.message());
    stage.page.recorder.streamed();
    await stage.lore('b');
    stage.page.event();
    stage.page.saveChat();
    await stage.settle();
    assert.equal(stage.ask(1).book, 'exact a');
});

test('case 08: the same beside a watch: the history does not say the later lore', needsCommand, () => inFolder(async (folder) => {
    const stage = await streamingBesideWatch(folder, true);
    assert.equal((await shown(folder, 1)).book, 'exact a');
    stage.closeAll();
}));

test('case 09: the same without the extension', needsCommand, () => inFolder(async (folder) => {
    await streamingBesideWatch(folder, false);
    assert.equal((await shown(folder, 1)).book, 'as of 1 a');
}));

/** Message 1 is saved; 2 streams while the lore is edited and saved; then 2 is saved. Waits until the watch has recorded each. */
async function streamingBesideWatch(folder, extension) {
    const stage = new Stage(product, { extension });
    const { server } = stage.world;
    mirror(folder, server);
    const watch = await folder.watch();
    try {
        await stage.settle();
        await stage.arrives();
        await recorded(folder, stage);
        stage.page.push(stage.message());
        await stage.lore('b');
        await recorded(folder, stage);
        stage.page.event();
        stage.page.saveChat();
        await stage.settle();
        await recorded(folder, stage);
    } finally {
        await stop(watch);
    }
    return stage;
}

/** Writes each file of a simulated server whenever the server writes it. */
function mirror(folder, server) {
    const write = (kind, name) => {
        if (kind === 'chat') {
            writeFileSync(folder.chatPath('Main'), chatText(server));
        } else if (server.books.has(name)) {
            writeFileSync(folder.bookPath(name), bookText(server.books.get(name)));
        }
    };
    folder.write(server);
    server.wrote = write;
}

/** Waits until the newest recorded versions match both files. */
async function recorded(folder, stage) {
    const wanted = [['Ada/Main', chatText(stage.world.server)], ['book:Lore', bookText(stage.world.server.books.get('Lore'))]];
    for (const [name, text] of wanted) {
        for (let tries = 0; ; tries++) {
            const { answer } = await folder.run('log', name, '-n', '1');
            const newest = answer?.versions?.map(({ version }) => version).sort((one, other) => other - one)[0];
            const { answer: version } = newest ? await folder.run('show', name, '--version', String(newest)) : { answer: null };
            if (version?.text === text) {
                break;
            }
            assert.ok(tries < 200, `the watch never recorded ${name}: ${JSON.stringify(answer)}`);
            await new Promise((resolve) => setTimeout(resolve, 25));
        }
    }
}

test('case 10: a page frozen before its timer', needsCommand, () => inFolder(async (folder) => {
    const stage = new Stage(product, { extension: false });
    mirror(folder, stage.world.server);
    const watch = await folder.watch();
    try {
        await recorded(folder, stage);
        await stage.lore('b', { save: false });
        await stage.arrives();
        await recorded(folder, stage);
        stage.page.saveBook();
        await recorded(folder, stage);
    } finally {
        await stop(watch);
    }
    assert.equal((await shown(folder, 0)).book, 'as of 0 a');
}));

test('case 11: a page that is behind the file', async () => {
    const stage = new Stage(product);
    await stage.settle();
    stage.foreign('b');
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'as of 0 a');
    assert.equal(stage.ask(0).metadata, 'exact 10');
});

test('case 12: a message within the debounce', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.lore('b', { save: false });
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'exact b');
    stage.page.saveBook();
    await stage.settle();
    assert.equal(stage.ask(0).book, 'exact b');
});

test('case 13: a swipe is no arrival', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    await stage.does((page) => {
        const last = page.chat.at(-1);
        last.swipes.push('other');
        Object.assign(last, { swipe_id: 1, mes: 'other', extra: {} });
    });
    await stage.lore('c');
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'exact a');
    assert.equal(stage.ask(1).book, 'exact c');
});

test('case 14: regenerating is an arrival', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    stage.page.remove(1, 1, 'length');
    stage.page.event();
    await stage.arrives();
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'exact b');
});

test('case 15: a message in the middle is deleted with the extension on', async () => {
    const stage = await threeWithChanges();
    await stage.does((page) => page.remove(1, 1, 'splice'));
    assert.equal(stage.ask(0).book, 'exact b');
});

test('case 15: a message in the middle is deleted with the extension off', async () => {
    const stage = await threeWithChanges();
    await stage.reload({ extension: false });
    await stage.does((page) => page.remove(1, 1, 'splice'));
    await stage.reload();
    assert.equal(stage.ask(0).book, 'as of 0 a');
    assert.equal(stage.ask(1).book, 'exact c');
});

/** a: message 0, b: message 1, c: message 2, each edited while it was the last. */
async function threeWithChanges() {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    await stage.arrives();
    await stage.lore('c');
    await stage.arrives();
    return stage;
}

test('case 16: messages swapped with the extension off', async () => {
    const stage = await threeWithChanges();
    await stage.reload({ extension: false });
    await stage.does((page) => page.swap(0, 1));
    for (const ask of [() => stage.ask(0), () => stage.ask(1)]) {
        assert.doesNotMatch(ask().book, /^(exact|as of)/);
    }
    await stage.reload();
    assert.doesNotMatch(stage.ask(0).book, /^(exact|as of)/);
    assert.doesNotMatch(stage.ask(1).book, /^(exact|as of 1)/);
});

test('case 16: a record copied into another message', async () => {
    const stage = await threeWithChanges();
    stage.page.saveChat();
    stage.closeAll();
    const { server } = stage.world;
    const lines = [...server.chat.lines];
    const record = JSON.parse(lines[0].text).forklore;
    lines[2] = { ...lines[2], text: JSON.stringify({ ...JSON.parse(lines[2].text), forklore: record }) };
    server.writeChat(server.chat.header, lines);
    for (const m of [0, 1, 2]) {
        assert.doesNotMatch(stage.askFiles(m).book, /^exact/);
    }
});

test('case 16: the message before a whole record deleted with the extension off', async () => {
    const stage = new Stage(product);
    await stage.settle();
    stage.world.server.writeBook('Second', JSON.stringify({ entries: { 0: { uid: 0, content: 'second' } } }));
    await stage.arrives();
    await stage.lore('b');
    await stage.reload();
    stage.page.changeMetadata((metadata) => {
        metadata.world_info = 'Second';
    });
    stage.page.readBookNow('Second');
    await stage.arrives();
    await stage.arrives();
    await stage.reload({ extension: false });
    await stage.does((page) => page.remove(1, 1, 'splice'));
    assert.doesNotMatch(stage.ask(0).book, /^exact/);
});

for (const [name, work] of Object.entries({
    'torn end': (lines) => [...lines.slice(0, 2), { ...lines[2], text: lines[2].text.slice(0, 30), isSound: false }],
    'line cut at a boundary': (lines) => lines.slice(0, 2),
})) {
    test(`case 17: ${name}, book newer`, needsCommand, () => inFolder(async (folder) => {
        const stage = await threeWithChanges();
        stage.closeAll();
        const { server } = stage.world;
        server.writeChat(server.chat.header, work(server.chat.lines));
        folder.write(server);
        assert.equal((await shown(folder, -1)).book, 'as of 1 b');
        const refused = await folder.run('branch', 'Ada/Main', '--allow', 'exact');
        assert.equal(refused.code, 2, refused.text);
        assert.equal(refused.answer.error.code, 'fork-refused');
        assert.equal(stage.askFiles(-1).book, 'as of 1 b');
    }));
}

test('case 17: a backup of the chat restored', needsCommand, () => inFolder(async (folder) => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    stage.page.saveChat();
    const { header, lines } = stage.world.server.chat;
    await stage.lore('c');
    await stage.arrives();
    stage.closeAll();
    stage.world.server.writeChat(header, lines);
    folder.write(stage.world.server);
    assert.equal((await shown(folder, -1)).book, 'as of 1 b');
    const refused = await folder.run('branch', 'Ada/Main', '--allow', 'exact');
    assert.equal(refused.code, 2, refused.text);
    assert.equal(stage.askFiles(-1).book, 'as of 1 b');
}));

const LARGE = { limit: 0.00001 };

test('case 18: a book over the limit, unchanged since', async () => {
    const stage = new Stage(product, LARGE);
    await stage.settle();
    await stage.arrives();
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'exact a');
    assert.equal(stage.ask(1).book, 'exact a');
});

test('case 18: a book over the limit, changed since, no watch', async () => {
    const stage = new Stage(product, LARGE);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    await stage.arrives();
    assert.equal(stage.ask(1).book, 'exact b');
    assert.doesNotMatch(stage.ask(0).book, /^exact/);
});

test('case 18: a book over the limit, changed since, the watch ran', needsCommand, () => inFolder(async (folder) => {
    const stage = new Stage(product, LARGE);
    mirror(folder, stage.world.server);
    const watch = await folder.watch();
    try {
        await stage.settle();
        await stage.arrives();
        await recorded(folder, stage);
        await stage.lore('b');
        await recorded(folder, stage);
        await stage.arrives();
        await recorded(folder, stage);
    } finally {
        await stop(watch);
    }
    assert.equal((await shown(folder, 0)).book, 'exact a');
}));

test('case 19: a scene break', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    const scene = stage.page.chat[1];
    scene.extra = { auto_recap_memory: { scene_break: true, scene_break_visible: true } };
    await stage.arrives();
    await stage.arrives();
    await stage.lore('recap');
    const all = [{ uid: 0, comment: 'The king', world: 'Lore', key: ['king'], content: 'recap' }];
    scene.extra = { auto_recap_memory: {
        scene_break: true, scene_break_visible: true, scene_recap_versions: ['', '{}'], scene_recap_current_index: 1,
        scene_recap_metadata: { 1: { timestamp: 1, startIdx: 0, endIdx: 1, chatLorebookName: 'Lore', totalActivatedEntries: 1, allEntries: all, entries: all } },
    } };
    stage.page.saveChat();
    await stage.settle();
    await stage.arrives();
    assert.match(stage.ask(1).book, /^(exact a|settled 3 recap)$/);
    assert.equal(stage.ask(1).metadata, 'exact 10');
});

test('case 20: a child that nobody has opened', needsCommand, () => inFolder(async (folder) => {
    const stage = await threeWithChanges();
    stage.closeAll();
    folder.write(stage.world.server);
    const made = await folder.run('branch', 'Ada/Main', '--at', '1');
    assert.equal(made.code, 0, made.text);
    const { child, book } = forkedClaims(folder, made);
    assert.equal(readable({ book, metadata: { kind: '', content: '' } }).book, 'exact b');
    assert.match((await shown(folder, -1, `Ada/${child}`)).book, /^exact b$/);
    const again = await folder.run('branch', `Ada/${child}`, '--allow', 'exact');
    assert.equal(again.code, 0, again.text);
}));

test('case 20: a child that a page continues', needsCommand, () => inFolder(async (folder) => {
    const stage = await threeWithChanges();
    stage.closeAll();
    folder.write(stage.world.server);
    const made = await folder.run('branch', 'Ada/Main', '--at', '1');
    assert.equal(made.code, 0, made.text);
    const { child } = forkedClaims(folder, made);
    const { world } = stage;
    const metadata = folder.readHeader(child);
    // From here on, the chat is the child and the book is its book. Forklore's own mark in it is not lore.
    const { extensions, ...lore } = folder.readBook(metadata.world_info);
    assert.deepEqual(Object.keys(extensions), ['forklore']);
    world.server.writeBook(metadata.world_info, JSON.stringify(lore));
    world.server.writeChat(JSON.stringify({ chat_metadata: metadata }), folder.readLines(child).map((text, place) => ({ text, token: world.server.chat.lines[place].token, isSound: true })));
    stage.open();
    await stage.settle();
    stage.page.editBook(metadata.world_info, (entries) => {
        entries.entries[0].content = 'child';
    });
    stage.page.saveBook();
    await stage.arrives();
    assert.equal(stage.ask(1).book, 'exact child');
}));

test('a command while a reply streams: the record on the last saved message disagrees', needsCommand, () => inFolder(async (folder) => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    stage.page.push(stage.message());
    stage.page.editBook('Lore', (book) => {
        book.entries[0].content = 'b';
    });
    stage.page.bookTimer && stage.page.saveBook();
    folder.write(stage.world.server);
    assert.equal((await shown(folder, 1)).book, 'as of 1 a');
}));

test('a tab with older memory overwrites what the other wrote', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    const first = stage.page;
    const second = stage.open();
    await stage.settle();
    stage.page = first;
    await stage.lore('b');
    await stage.arrives();
    stage.page = second;
    await stage.arrives();
    for (const m of [0, 1, 2]) {
        stage.ask(m);
        stage.askFiles(m);
    }
    assert.equal(stage.ask(0).book, 'exact a');
    assert.equal(stage.ask(1).book, 'as of 1 a');
});

test('a book bound away and back, edited between', async () => {
    const stage = new Stage(product);
    await stage.settle();
    const bind = (name) => stage.page.changeMetadata((metadata) => {
        metadata.world_info = name;
    });
    await stage.arrives();
    bind('Second');
    await stage.lore('b', { save: false });
    bind('Lore');
    await stage.arrives();
    assert.equal(stage.ask(1).book, 'exact b');
    assert.equal(stage.ask(0).book, 'exact a');
});

test('an edit whose save was cancelled', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.lore('b', { save: false });
    stage.page.editBook('Second', (book) => {
        book.entries[1] = { uid: 1, content: 'other' };
    }, { immediately: true });
    await stage.arrives();
    await stage.arrives();
    assert.equal(stage.ask(0).book, 'exact b');
    assert.equal(stage.ask(1).book, 'exact b');
});

test('a message after one that nobody saw, and lore that nobody told of', async () => {
    const stage = new Stage(product);
    await stage.settle();
    await stage.arrives();
    await stage.lore('b');
    stage.page.remove(1, 1, 'pop');
    stage.page.pushBypassed(stage.message('instead'));
    stage.page.editBookInPlace('Lore', (book) => {
        book.entries[0].content = 'c';
    });
    await stage.arrives();
    await stage.does((page) => page.pushBypassed(stage.message()));
    stage.closeAll();
    assert.equal(stage.askFiles(2).book, 'exact c');
});

test('a look that began before the chat was opened again', async () => {
    const stage = new Stage(product);
    const { page } = stage;
    page.idle.splice(0).forEach((run) => run());
    page.open();
    const before = stage.world.server.books.get('Lore');
    stage.foreign('x');
    await stage.lore('b', { save: false });
    page.push(stage.message());
    page.event();
    page.serverReads();
    stage.world.server.writeBook('Lore', before);
    stage.world.tick();
    await stage.settle();
    assert.doesNotMatch(stage.ask(0).book, /^exact/);
});

test('a message put in between has the state of when the next one came', async () => {
    const stage = await threeWithChanges();
    await stage.does((page) => page.insert(1, stage.message('between')));
    assert.equal(stage.ask(0).book, 'exact a');
    assert.equal(stage.ask(1).book, 'exact a');
    assert.equal(stage.ask(2).book, 'exact b');
});
