import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bookSave, kindOfSave, readBookSave, readSave, saveTarget, withoutBook } from '../sillytavern/requests.js';

const solo = '/api/chats/save';
const group = '/api/chats/group/save';

function saved(name, metadata, more = {}) {
    const chat = [{ chat_metadata: metadata, user_name: 'unused', character_name: 'unused' }, { mes: 'a' }, { mes: 'b' }];
    return JSON.stringify({ ch_name: 'Ada', file_name: name, chat, avatar_url: 'Ada.png', force: false, ...more });
}

test('the target of a save is told without parsing its chat', () => {
    const text = saved('Story "one"', {}).replace('{"mes":"a"}', '{"mes":not json at all');
    assert.deepEqual(saveTarget(solo, text), { group: false, name: 'Story "one"', avatar: null });
});

test('a save whose fields are in another order is parsed', () => {
    const text = JSON.stringify({ chat: [], file_name: 'Story', avatar_url: 'Ada.png' });
    assert.deepEqual(saveTarget(solo, text), { group: false, name: 'Story', avatar: 'Ada.png' });
    assert.equal(saveTarget(group, JSON.stringify({ chat: [], id: 'G' })).name, 'G');
});

test('a name that looks like the chat does not mislead', () => {
    const name = 'x","chat":[';
    assert.equal(saveTarget(solo, saved(name, {})).name, name);
});

test('children, conversions and the rest are told apart', () => {
    const open = { name: 'Main', group: false, integrity: 'i', book: 'Lore' };
    const kind = (path, metadata) => kindOfSave(readSave(path, saved('Other', metadata, { id: 'Other' })), open);
    assert.equal(kind(solo, { main_chat: 'Main', world_info: 'Lore', integrity: 'j' }), 'child');
    assert.equal(kind(solo, { world_info: 'Lore', integrity: 'i' }), 'other');
    assert.equal(kind(group, { world_info: 'Lore', integrity: 'i' }), 'conversion');
    assert.equal(kind(group, { world_info: 'Lore', integrity: 'another' }), 'other');
    assert.equal(kind(group, { world_info: 'Else', integrity: 'i' }), 'other');
    assert.equal(kindOfSave(readSave(solo, '{"chat":[5]}'), open), 'other');
});

test('the last resort takes the book away, what leads to it, and nothing else', () => {
    const kept = { main_chat: 'Main', note_prompt: 'n', integrity: 'its own' };
    const before = saved('C', { ...kept, integrity: 'its parent’s', world_info: 'Lore', forklore: { format: 1 }, auto_lorebooks: { lorebookName: 'Lore', registry: {} } });
    assert.deepEqual(JSON.parse(withoutBook(before, 'its own')), JSON.parse(saved('C', { ...kept, auto_lorebooks: { registry: {} } })));
    assert.deepEqual(JSON.parse(withoutBook(saved('C', { ...kept, world_info: 'Lore' }), 'its own')), JSON.parse(saved('C', kept)));
});

test('a book goes into its request and out again as it is', () => {
    const text = '{"entries":{"0":{"content":"\\ud800 \\u2028","n":1}},"x":[1,2]}';
    for (const name of ['Plain', 'with "quotes"', 'with ,"data": in it', '雨']) {
        assert.deepEqual(readBookSave(bookSave(name, text)), { name, bookText: text });
    }
    assert.deepEqual(readBookSave('{"data":{"entries":{}},"name":"B"}'), { name: 'B', bookText: '{"entries":{}}' });
});
