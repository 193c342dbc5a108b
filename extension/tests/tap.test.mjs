import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { installTap } from '../sillytavern/tap.js';

/** A page whose server returns what it was sent. */
function page() {
    const sent = [];
    const scope = {
        location: { href: 'http://127.0.0.1:8000/' },
        fetch(resource, init) {
            assert.equal(this, scope, 'called as the browser wants it');
            sent.push({ resource, init });
            return Promise.resolve(new Response(init?.body ?? null));
        },
    };
    return { scope, sent };
}

const save = (body, headers = {}) => ['/api/chats/save', { method: 'POST', headers, body }];

test('what does not matter passes untouched, in the same turn', () => {
    const { scope, sent } = page();
    installTap(scope, () => assert.fail('held'), () => {});
    const init = { method: 'POST', body: 'x' };
    scope.fetch('/api/characters/all', init);
    scope.fetch('/api/chats/save');
    scope.fetch('http://elsewhere.invalid/api/chats/save', init);
    scope.fetch('::not an address', { method: 'POST' });
    assert.deepEqual(sent.map((request) => request.init), [init, undefined, init, { method: 'POST' }]);
});

test('a held request can go as it is', async () => {
    const { scope, sent } = page();
    installTap(scope, async (held) => {
        assert.deepEqual([held.kind, await held.text()], ['chat-save', '{"a":1}']);
        return held.send();
    }, assert.fail);
    const request = save('{"a":1}');
    await scope.fetch(...request);
    assert.equal(sent[0].init, request[1]);
});

test('a held request can go with another body, which is never gzipped', async () => {
    const { scope, sent } = page();
    installTap(scope, async (held) => held.send(`${await held.text()}!`), assert.fail);
    const packed = new Uint8Array(gzipSync('"körper"'));
    const response = await scope.fetch(...save(packed, { 'Content-Encoding': 'gzip', 'X-CSRF-Token': 't' }));
    assert.equal(await response.text(), '"körper"!');
    assert.equal(sent[0].init.headers.get('content-encoding'), null);
    assert.equal(sent[0].init.headers.get('x-csrf-token'), 't');
});

test('however often a held request is looked at, its body is read once', async () => {
    const { scope } = page();
    let reads = 0;
    const body = { [Symbol.toPrimitive]: () => { reads += 1; return '"body"'; } };
    installTap(scope, async (held) => {
        assert.deepEqual([await held.text(), await held.text()], ['"body"', '"body"']);
        return held.send();
    }, assert.fail);
    await scope.fetch('/api/chats/save', { method: 'POST', body });
    assert.equal(reads, 2, 'by the tap, and by the server');
});

test('a request in an object is read and replaced, too', async () => {
    const { scope, sent } = page();
    installTap(scope, async (held) => held.send(`${await held.text()}!`), assert.fail);
    await scope.fetch(new Request('http://127.0.0.1:8000/api/worldinfo/edit', { method: 'POST', body: 'b' }));
    assert.equal(sent[0].init.body, 'b!');
});

test('when our part throws, the request still goes out, once', async () => {
    const { scope, sent } = page();
    const reported = [];
    installTap(scope, async () => { throw new Error('ours'); }, (error) => reported.push(error.message));
    const response = await scope.fetch(...save('body'));
    assert.equal(await response.text(), 'body');
    assert.deepEqual([sent.length, reported], [1, ['ours']]);
});

test('when our part throws after the request went, the answer is that of the request', async () => {
    const { scope, sent } = page();
    installTap(scope, async (held) => {
        await held.send();
        throw new Error('late');
    }, () => assert.fail('nothing was lost'));
    await scope.fetch(...save('body'));
    assert.equal(sent.length, 1);
});

test('an error of the network is the caller\'s', async () => {
    const { scope } = page();
    scope.fetch = () => Promise.reject(new TypeError('offline'));
    installTap(scope, (held) => held.send(), () => {});
    await assert.rejects(scope.fetch(...save('body')), /offline/);
});

test('the tap can be taken out again', () => {
    const { scope } = page();
    const before = scope.fetch;
    const tap = installTap(scope, assert.fail, assert.fail);
    tap.remove();
    assert.equal(scope.fetch, before);
});
