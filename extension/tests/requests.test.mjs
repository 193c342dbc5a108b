import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bookSave, readBookSave } from '../sillytavern/requests.js';

test('a book goes into its request and out again as it is', () => {
    const text = '{"entries":{"0":{"content":"\\ud800 \\u2028","n":1}},"x":[1,2]}';
    for (const name of ['Plain', 'with "quotes"', 'with ,"data": in it', '雨']) {
        assert.deepEqual(readBookSave(bookSave(name, text)), { name, bookText: text });
    }
    assert.deepEqual(readBookSave('{"data":{"entries":{}},"name":"B"}'), { name: 'B', bookText: '{"entries":{}}' });
});
