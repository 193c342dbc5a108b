/** The file of a chat beside what the page holds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllInPage } from '../sillytavern/chat_file.js';

const HEADER = { chat_metadata: { integrity: 'one', variables: { hp: 1 } }, user_name: 'unused' };
const MESSAGES = [{ name: 'Ada', mes: 'Hello.', extra: { a: 1 } }, { name: 'User', mes: 'Yes?', forklore: { v: 2 } }];
const copy = (value) => structuredClone(value);

test('a save of the page loses nothing if the page has all that the file has', () => {
    const isAll = (change) => {
        const [header, ...messages] = copy([HEADER, ...MESSAGES]);
        const page = { metadata: copy(HEADER.chat_metadata), messages: copy(MESSAGES) };
        change(page, messages, header);
        return isAllInPage([header, ...messages], page.metadata, page.messages);
    };
    assert.ok(isAll(() => {}));
    assert.ok(isAll((page) => { page.messages[0].swipes = ['Hello.']; page.metadata.more = 1; }), 'SillyTavern completes messages');
    assert.ok(isAll((page) => { page.messages[1].forklore = { v: 3 }; }), 'a record that is not saved yet');
    assert.ok(!isAll((page, messages) => { messages[0].mes = 'Good morning.'; }), 'edited elsewhere');
    assert.ok(!isAll((page, messages) => { messages[0].extra.b = 2; }), 'a field from elsewhere');
    assert.ok(!isAll((page, messages) => { messages.push({ name: 'Ada', mes: 'More.' }); }), 'continued elsewhere');
    assert.ok(!isAll((page, messages) => { messages.pop(); }), 'cut elsewhere');
    assert.ok(!isAll((page, messages, header) => { header.chat_metadata.variables.hp = 2; }), 'a variable from elsewhere');
    assert.ok(!isAll((page, messages) => { messages[0].toString = 'mine'; }), 'only what the page itself has counts');
    assert.ok(!isAllInPage([], copy(HEADER.chat_metadata), copy(MESSAGES)), 'the file is gone');
});
