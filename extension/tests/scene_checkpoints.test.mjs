import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SceneCheckpoints } from '../features/fork/scene_checkpoints.js';
import { DEFAULTS } from '../features/settings.js';
import { Tavern, realCore } from './tavern.mjs';

const sceneEnd = (memory = {}) => ({ mes: 'x', extra: { auto_recap_memory: { scene_break: true, scene_recap_memory: 'They met.', ...memory } } });

async function checkpoints(tavern) {
    const made = [];
    const scenes = new SceneCheckpoints({
        host: tavern.host(),
        core: await realCore(),
        settings: { ...DEFAULTS, checkpointAtScenes: true },
        untilReady: async () => true,
        checkpoint: async (wanted) => { made.push(wanted); },
        reportErrors: (step) => step(),
    });
    scenes.chatOpened();
    const save = async () => {
        scenes.makeIfDue();
        await new Promise((resolve) => setTimeout(resolve));
    };
    return { scenes, made, save };
}

test('a checkpoint is made once at each new scene break, when its recap is there', async () => {
    const tavern = new Tavern();
    tavern.open.messages[1] = sceneEnd();
    const { made, save } = await checkpoints(tavern);
    await save();
    assert.deepEqual(made, [], 'it was there before');
    tavern.open.messages.push(sceneEnd({ scene_break_name: 'Harbour', scene_recap_memory: '' }));
    await save();
    assert.deepEqual(made, [], 'no recap yet');
    tavern.open.messages[4].extra.auto_recap_memory.scene_recap_memory = 'They left.';
    await save();
    await save();
    assert.deepEqual(made, [{ message: 4, name: 'Scene 2 - Harbour' }]);
});

test('no checkpoint is made in a chat that was opened while its name was looked up', async () => {
    const tavern = new Tavern();
    const { scenes, made, save } = await checkpoints(tavern);
    tavern.open.messages.push(sceneEnd());
    scenes.host.chatNames = async () => { tavern.open = { ...tavern.open, name: 'Other' }; return []; };
    await save();
    assert.deepEqual(made, []);
});

test('only a message that ends a scene suggests a name', async () => {
    const tavern = new Tavern();
    tavern.open.messages[2] = sceneEnd();
    const { scenes } = await checkpoints(tavern);
    const open = tavern.host().openChat();
    assert.equal(await scenes.nameAt(open, 2), 'Scene 1 - Message 2');
    assert.equal(await scenes.nameAt(open, 1), '');
});
