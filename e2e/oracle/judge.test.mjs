// A judge that cannot fail is worthless: here it gets false answers, and must find each.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HonestProduct } from './honest.mjs';
import { judge } from './judge.mjs';
import { bookKey, Ledger } from './ledger.mjs';
import { damage } from './damage.mjs';
import { tellAndAsk } from './page_stories.mjs';
import { Random } from './random.mjs';
import { bookSaying } from './stage.mjs';
import { Story } from './story.mjs';
import { Tally } from './tally.mjs';
import { metadataText } from './values.mjs';
import { pageVerdict, tooFewExact } from './verdict.mjs';
import { World } from './world.mjs';

/** A page without any extension, and a chat of one message. */
function plainWorld() {
    const world = new World();
    const token = world.ledger.newToken();
    world.ledger.madeByHand(token);
    world.server.writeBook('Lore', JSON.stringify(bookSaying('a')));
    world.server.writeChat(JSON.stringify({ chat_metadata: { world_info: 'Lore', variables: { hp: 10 } } }), [{ text: '{"mes":"0"}', token, isSound: true }]);
    const page = world.addPage('page', { extension: false });
    page.open();
    return { world, page };
}

const push = (page) => page.push(page.makeMessage({ mes: 'next' }));
const lore = (page, text) => page.editBook('Lore', (book) => {
    book.entries[0].content = text;
});
const hp = (page, value) => page.changeMetadata((metadata) => {
    metadata.variables = { hp: value };
});
const saying = (text) => bookKey('Lore', JSON.stringify(bookSaying(text)));
const having = (value) => metadataText({ variables: { hp: value } });

/** The faults in an answer about the page's chat. */
function faults({ world, page }, m, { book = { kind: 'none' }, metadata = { kind: 'none' } }, rest = {}) {
    const { bookName, bookText, metadata: now } = page.held();
    const question = { ledger: world.ledger, tokens: page.tokens(), m, place: (k) => k, isFiles: false, lastHasRecord: false, live: { bookName, bookText, metadata: now }, ...rest };
    return judge(question, { book, metadata }).map(({ part }) => part);
}
const exact = (content) => ({ kind: 'exact', k: null, content });
const asOf = (k, content) => ({ kind: 'as of', k, content });

test('the state of a message is what held when the next one came', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    lore(page, 'b');
    hp(page, 5);
    push(page);
    lore(page, 'c');
    hp(page, 1);
    assert.deepEqual(faults(stage, 1, { book: exact(saying('b')), metadata: exact(having(5)) }), []);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')), metadata: exact(having(10)) }), []);
    assert.deepEqual(faults(stage, 1, { book: exact(saying('c')), metadata: exact(having(1)) }), ['book', 'metadata']);
    assert.deepEqual(faults(stage, 1, { book: exact(saying('a')), metadata: exact(having(10)) }), ['book', 'metadata']);
    assert.deepEqual(faults(stage, 2, { book: exact(saying('c')), metadata: exact(having(1)) }), []);
    assert.deepEqual(faults(stage, 2, { book: exact(saying('b')) }), ['book']);
    assert.deepEqual(faults(stage, 1, { book: exact(bookKey('Other', JSON.stringify(bookSaying('b')))) }), ['book']);
});

test('as of a message is what was anywhere while it was the last, and nothing made later', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    lore(page, 'b');
    page.saveBook();
    lore(page, 'c');
    push(page);
    lore(page, 'd');
    page.saveBook();
    for (const text of ['a', 'b', 'c']) {
        assert.deepEqual(faults(stage, 2, { book: asOf(1, saying(text)) }), [], text);
    }
    assert.deepEqual(faults(stage, 2, { book: asOf(1, saying('d')) }), ['book']);
    assert.deepEqual(faults(stage, 2, { book: asOf(0, saying('b')) }), ['book']);
    assert.deepEqual(faults(stage, 1, { book: asOf(2, saying('d')) }), ['book'], 'as of a later message');
    assert.deepEqual(faults(stage, 1, { book: { kind: 'live', content: saying('c') } }), ['book']);
    assert.deepEqual(faults(stage, 1, { book: { kind: 'live', content: saying('d') } }), []);
});

test('messages that are gone are left out of the count', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    lore(page, 'b');
    push(page);
    page.remove(1, 1, 'splice');
    assert.deepEqual(faults(stage, 0, { book: exact(saying('b')) }), []);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')) }), ['book']);
    assert.deepEqual(faults(stage, 0, { book: asOf(0, saying('a')) }), []);
});

test('a swap moves no state, and a message put in between has that of the next', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    lore(page, 'b');
    push(page);
    lore(page, 'c');
    page.swap(0, 1);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')) }), []);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('b')) }), ['book']);
    page.insert(1, page.makeMessage({ mes: 'between' }));
    assert.deepEqual(faults(stage, 2, { book: exact(saying('b')) }), []);
    assert.deepEqual(faults(stage, 1, { book: exact(saying('c')) }), ['book']);
});

test('a message put in between was there, though the one after it is gone and it changed places since', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    page.insert(1, page.makeMessage({ mes: 'between' }));
    page.remove(2, 1, 'pop');
    page.pushBypassed(page.makeMessage({ mes: 'another' }));
    hp(page, 5);
    push(page);
    hp(page, 1);
    page.swap(1, 2);
    page.remove(3, 1, 'pop');
    push(page);
    hp(page, 2);
    assert.deepEqual(faults(stage, 2, { metadata: asOf(2, having(5)) }), []);
    assert.deepEqual(faults(stage, 2, { metadata: asOf(2, having(2)) }), ['metadata']);
});

test('a page behind the file has no exact book', () => {
    const stage = plainWorld();
    const { world, page } = stage;
    world.server.writeBook('Lore', JSON.stringify(bookSaying('foreign')));
    world.tick();
    push(page);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')) }), ['book']);
    assert.deepEqual(faults(stage, 0, { book: exact(saying('foreign')) }), ['book']);
    assert.deepEqual(faults(stage, 0, { book: asOf(0, saying('a')), metadata: exact(having(10)) }), []);
    assert.deepEqual(faults(stage, 0, { book: asOf(0, saying('foreign')) }), []);
});

test('what somebody else wrote is no other state where it is the same, letter by letter', () => {
    for (const [foreign, expected] of [['b', []], ['c', ['book']]]) {
        const stage = plainWorld();
        const { world, page } = stage;
        lore(page, 'b');
        world.server.writeBook('Lore', JSON.stringify(bookSaying(foreign)));
        world.tick();
        push(page);
        page.requestBook('Lore');
        page.serverAnswers();
        assert.deepEqual(faults(stage, 0, { book: exact(saying('b')) }), expected, foreign);
    }
});

test('a foreign write that was undone before the look is no state', () => {
    const stage = plainWorld();
    const { world, page } = stage;
    const before = world.server.books.get('Lore');
    world.server.writeBook('Lore', JSON.stringify(bookSaying('foreign')));
    world.tick();
    push(page);
    world.server.writeBook('Lore', before);
    page.requestBook('Lore');
    page.serverAnswers();
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')) }), []);
});

test('a reading that was taken before the arrival is no look', () => {
    const stage = plainWorld();
    const { world, page } = stage;
    page.requestBook('Lore');
    page.serverReads();
    world.server.writeBook('Lore', JSON.stringify(bookSaying('foreign')));
    world.tick();
    push(page);
    page.serverAnswers();
    assert.deepEqual(faults(stage, 0, { book: exact(saying('a')) }), ['book']);
});

test('the last message in files is exact only where its record does not disagree', () => {
    const stage = plainWorld();
    const { page } = stage;
    push(page);
    lore(page, 'b');
    const files = { isFiles: true, live: { bookName: 'Lore', bookText: JSON.stringify(bookSaying('b')), metadata: having(10) } };
    assert.deepEqual(faults(stage, 1, { book: exact(saying('b')) }, files), []);
    // No page with the extension enabled has ever seen "b".
    assert.deepEqual(faults(stage, 1, { book: exact(saying('b')) }, { ...files, lastHasRecord: true }), ['book']);
});

test('a message that no page told has no exact state before it', () => {
    const ledger = new Ledger();
    const [one, two] = [ledger.newToken(), ledger.newToken()];
    ledger.madeByHand(one);
    ledger.madeByHand(two);
    const question = { ledger, tokens: [one, two], m: 0, place: (k) => k, isFiles: true, lastHasRecord: false, live: { bookName: null, bookText: undefined, metadata: '{}' } };
    assert.equal(judge(question, { book: exact('(no book)'), metadata: exact('{}') }).length, 2);
});

// Products that lie. Each implements the real interface, and a run with it must not pass.

class Liar {
    errors = [];
    constructor(answer) {
        this.answer = answer;
    }

    recorderFor() {
        return { opened() {}, sync() {}, streamed() {}, bookChanged() {}, bookReading() {}, bookRead() {}, carriedBy() {} };
    }

    ask({ metadata, bookName, bookText, m, messages }) {
        const live = { book: bookKey(bookName, bookText), metadata: metadataText(metadata) };
        return this.answer({ live, m, last: messages.length - 1 });
    }
}

const both = (claim, { book, metadata }) => ({ book: { ...claim, content: book }, metadata: { ...claim, content: metadata } });

const LIARS = {
    "calls today's state exact": [({ live }) => both({ kind: 'exact', k: null }, live), /FALSE/],
    "calls today's state as of the message": [({ live, m }) => both({ kind: 'as of', k: m }, live), /FALSE/],
    "calls today's state as of the first message": [({ live }) => both({ kind: 'as of', k: 0 }, live), /FALSE/],
    'claims nothing but the last': [({ live, m, last }) => both({ kind: m === last ? 'exact' : 'live', k: null }, live), /TOO FEW/],
    'never claims anything': [() => both({ kind: 'none', k: null }, { book: '', metadata: '' }), /TOO FEW/],
};

for (const [name, [answer, expected]] of Object.entries(LIARS)) {
    test(`a product that ${name} does not pass`, async () => {
        const tally = new Tally();
        const liar = new Liar(answer);
        for (let seed = 1; seed <= 60; seed++) {
            await tellAndAsk(seed, liar, tally);
        }
        assert.match(pageVerdict(tally).join('\n'), expected);
    });
}

test('an honest product passes', async () => {
    const tally = new Tally();
    const honest = new HonestProduct();
    for (let seed = 1; seed <= 150; seed++) {
        await tellAndAsk(seed, honest, tally);
    }
    assert.deepEqual(pageVerdict(tally), []);
    assert.deepEqual(tooFewExact(tally), []);
    assert.ok(tally.count('all', 'book', 'as of') > 100 && tally.count('all', 'book', 'exact') > 800);
});

test('a run that met no hard case does not pass', () => {
    const tally = new Tally();
    tally.stories = 1000;
    assert.match(pageVerdict(tally).join('\n'), /HARDLY MET: push bypassed/);
});

test('a story is its seed', async () => {
    const told = async () => {
        const story = new Story(new Random(11), { recorderFor: () => null, profile: 'wild' });
        await story.run(20);
        return story.world.words.join('\n');
    };
    assert.equal(await told(), await told());
});

test('a torn line keeps the message that it was', () => {
    const { world, page } = plainWorld();
    push(page);
    push(page);
    page.saveChat();
    page.close();
    const before = world.server.chat.lines.length;
    assert.ok(damage(world, new Random(3), 'torn end'));
    assert.ok(world.server.chat.lines.length <= before);
    assert.ok(world.server.tokens().length < world.server.chat.lines.length);
});
