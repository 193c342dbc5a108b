// What ST-Auto-Recap writes to books, messages and metadata.

import { entry } from './lore.mjs';

const CLOCK = 1_763_632_438_061;
export const QUEUE_UID = CLOCK;

/** The registry of one type. `items` are `{ uid, name, aliases?, synopsis? }`; the name is the entry's title. */
export function registryEntry(uid, type, items) {
    const line = ({ uid, name, aliases = [], synopsis }) =>
        `- UID=${uid} | name: ${name} | aliases: ${aliases.join('; ') || '—'} | synopsis: ${synopsis || '—'}`;
    // Only SillyTavern's editor adds these two.
    const { displayIndex, characterFilter, ...made } = entry(uid, {
        comment: `_registry_${type}`,
        key: [],
        content: [`[Registry: ${type}]`, ...items.map(line)].join('\n'),
        disable: true,
        preventRecursion: true,
        ignoreBudget: true,
        useProbability: false,
        tags: ['auto_lorebooks_registry'],
    });
    return made;
}

/** The entry that contains the queue. @param {any[]} operations see `operation` */
export function queueEntry(operations = [], { current = null, paused = false } = {}) {
    const queue = { queue: operations, current_operation_id: current, paused, version: 1, queueVersion: 0 };
    return {
        uid: QUEUE_UID,
        key: [],
        keysecondary: [],
        content: JSON.stringify(queue, null, 2),
        comment: '__operation_queue',
        constant: false,
        disable: true,
        excludeRecursion: true,
        order: 1000,
        position: 0,
        depth: 4,
        selectiveLogic: 0,
        addMemo: false,
        displayIndex: QUEUE_UID,
        probability: 100,
        useProbability: true,
    };
}

/** @param {'pending' | 'in_progress' | 'retrying' | 'completed' | 'failed' | 'cancelled'} status */
export function operation(number, status, { type = 'generate_scene_recap', index = 0 } = {}) {
    return {
        id: `op_${CLOCK + number}_1eddtmv8r`,
        type,
        params: { index },
        status,
        created_at: CLOCK + number,
        started_at: status === 'pending' ? null : CLOCK + number + 1,
        completed_at: ['completed', 'failed', 'cancelled'].includes(status) ? CLOCK + number + 2 : null,
        error: status === 'failed' ? 'no answer' : null,
        retries: 0,
        priority: 0,
        dependencies: [],
        metadata: {
            triggered_by: 'backwards_detection',
            backwards_chain: true,
            backwards_chain_remaining: [],
            backwards_chain_forward_continuation: {
                start_index: index + 1,
                end_index: index + 2,
                original_operation_id: `op_${CLOCK + number - 1}_w0d8y1k2q`,
            },
        },
        queueVersion: 0,
        pauseBeforeExecution: false,
        abortController: {},
    };
}

/**
 * The `extra` of a message that ends a scene, with its recap written and its lorebook operations finished.
 *
 * @param {{ name: string, start: number, end: number, book: any, bookName: string }} scene
 */
export function sceneBreak({ name, start, end, book, bookName }) {
    const stage1 = { sn: name, extracted: [`what happened in ${name}`] };
    const entity = { type: 'location', name, keywords: [name.toLowerCase()], content: [`what ${name} is`] };
    const recap = JSON.stringify({
        scene_name: name,
        stage1,
        stage2: { sn: name, recap: { outcomes: `what happened in ${name}`, threads: '', state: '' }, entities: [entity] },
        stage3: { developments: [`[${name}] what happened in ${name}`], open: [], state: [], resolved: [] },
        stage4: { entities: [entity] },
    });
    return {
        auto_recap_memory: {
            scene_break: true,
            scene_break_visible: true,
            scene_break_name: `${name} ${start}-${end}`,
            auto_scene_break_checked: true,
            scene_recap_memory: recap,
            scene_break_recap: recap,
            scene_recap_hash: 'rm4ymq',
            scene_recap_versions: [JSON.stringify({ stage1 }), recap],
            scene_recap_current_index: 1,
            scene_recap_metadata: { 1: snapshot({ start, end, book, bookName }) },
        },
    };
}

function snapshot({ start, end, book, bookName }) {
    const entries = Object.values(book.entries).filter(({ comment }) => comment !== '__operation_queue');
    const active = entries.slice(0, 1);
    return {
        timestamp: CLOCK + end,
        startIdx: start,
        endIdx: end,
        sceneMessageCount: end - start + 1,
        totalActivatedEntries: active.length,
        totalBeforeFiltering: entries.length,
        chatLorebookName: bookName,
        suppressOtherLorebooks: true,
        allEntries: entries.map((entry) => lossy(entry, bookName)),
        entries: active.map((entry) => activated(entry, bookName)),
        created_entry_uids: active.map(({ uid }) => String(uid)),
        combined_at: CLOCK + end + 1,
    };
}

function lossy(entry, world) {
    const kept = pick(entry, [
        ...['content', 'position', 'depth', 'order', 'role', 'constant', 'vectorized', 'selective', 'selectiveLogic'],
        ...['sticky', 'disable', 'addMemo', 'excludeRecursion', 'preventRecursion', 'ignoreBudget', 'probability'],
        ...['useProbability', 'group', 'groupOverride', 'groupWeight'],
    ]);
    return {
        comment: entry.comment || '(unnamed)',
        uid: entry.uid,
        world,
        key: entry.key,
        keysecondary: [],
        ...kept,
        tags: entry.tags ?? [],
        strategy: strategy(entry),
    };
}

function activated(entry, world) {
    const kept = pick(entry, ['position', 'depth', 'order', 'role', 'constant', 'vectorized']);
    return {
        comment: entry.comment || '(unnamed)',
        uid: entry.uid,
        world,
        key: entry.key,
        ...kept,
        sticky: entry.sticky ?? 0,
        strategy: strategy(entry),
        content: entry.content,
    };
}

/**
 * `chat_metadata` of a chat with these scenes, each `{ start, end }`, with the running recap at the last of them. Items
 * of the `registry` have the name from the registry's entry.
 */
export function recapMetadata({ chat, bookName, scenes, registry = [] }) {
    const index = registry.map(({ uid, type, name, aliases = [], synopsis = '' }) => [
        String(uid),
        { uid, id: String(uid), type, name, comment: name, synopsis, aliases },
    ]);
    return {
        auto_lorebooks: { lorebookName: bookName, attachedAt: CLOCK, registry: { index: Object.fromEntries(index) } },
        auto_recap_running_scene_recaps: {
            chat_id: chat,
            current_version: scenes.length - 1,
            versions: scenes.map(({ end }, version) => ({
                version,
                timestamp: CLOCK + end,
                content: `DEVELOPMENTS:\nup to message ${end}`,
                scene_count: version + 1,
                excluded_count: 0,
                prev_scene_index: version ? scenes[version - 1].end : 0,
                new_scene_index: end,
                event_keys: [],
            })),
        },
    };
}

function strategy({ constant, vectorized }) {
    return constant ? 'constant' : vectorized ? 'vectorized' : 'normal';
}

function pick(object, fields) {
    return Object.fromEntries(fields.filter((field) => field in object).map((field) => [field, object[field]]));
}
