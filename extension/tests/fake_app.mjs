/** An app with made-up stories, for tests and for trying out the user interface. Names that look like markup are intentional. */

import { DEFAULTS } from '../features/settings.js';

export const MARKUP = '<img src=x onerror=alert(1)>';

export const SETTINGS = { ...DEFAULTS };

export const EXACT = { exactness: 'exact', source: 'journal' };
export const SNAPSHOT = { exactness: 'snapshot', as_of: 42, source: 'journal' };
export const LIVE = { exactness: 'live', source: 'files' };

export function word(code, values = {}) {
    return { code, values };
}

export function finding(code, problem, values = {}) {
    return { ...word(code, values), problem };
}

export const READINESS = {
    ready: { state: 'ready', book: 'Harbour lore', entries: 34, operations: 0, sharedWith: [], hasFamily: false, reach: 'all', owner: 'Ada', selected: [] },
    waiting: { state: 'waiting', book: 'Harbour lore', entries: 34, operations: 3, sharedWith: [] },
    paused: { state: 'paused', book: 'Harbour lore', entries: 34, operations: 2, sharedWith: [] },
    shared: {
        state: 'shared', book: 'Harbour lore', entries: 34, operations: 0,
        sharedWith: ['The harbour', `The harbour - Branch ${MARKUP}`, 'The harbour - Branch #2'], hasFamily: true,
    },
    elsewhere: { state: 'elsewhere', book: 'Harbour lore', entries: 34, operations: 0, sharedWith: ['The harbour imported'], hasFamily: false },
    missing: { state: 'missing', book: `Lost book ${MARKUP}`, entries: 0, operations: 0, sharedWith: [] },
    'no-book': { state: 'no-book', book: null, entries: 0, operations: 0, sharedWith: [] },
    common: {
        state: 'common', book: null, entries: 0, operations: 0, sharedWith: [],
        common: [{ book: `Eldoria ${MARKUP}`, place: 'card', name: 'Seraphina' }, { book: 'World', place: 'global', name: '' }],
    },
    'no-chat': { state: 'no-chat', book: null, entries: 0, operations: 0, sharedWith: [] },
    off: { state: 'off', book: 'Harbour lore', entries: 34, operations: 0, sharedWith: [] },
};

export const REPORT = {
    kind: 'checkpoint',
    parent: 'The harbour',
    child: `Scene 3 - ${MARKUP}`,
    message: 57,
    book: { name: 'Harbour lore (Scene 3)', entries: 34 },
    part: EXACT,
    metadata: EXACT,
    remarks: [],
};

export const REMARKS = [
    word('metadata-live', { keys: ['variables', 'note_prompt', 'note_depth', 'odd_key'] }),
    word('running-dropped', { count: 2 }),
    word('not-scene-break'),
    word('also-used', { chats: [MARKUP, 'The harbour'] }),
];

const STORM = 'The storm of the year of the two comets sank eleven ships in the roads.\n\nNobody speaks of it in the Anchor.';

export const LORE = {
    message: 57,
    part: SNAPSHOT,
    book: 'Harbour lore',
    entries: [
        { key: '0', uid: 0, title: 'The harbour', content: 'A bay between two cliffs, with a chain across it at night.', keys: ['harbour', 'bay'], disabled: false, internal: false },
        { key: '1', uid: 1, title: 'The Anchor', content: 'The only inn that serves strangers.', keys: ['inn', 'Anchor'], disabled: false, internal: false },
        { key: '2', uid: 2, title: MARKUP, content: `${MARKUP}\n<b>not bold</b>`, keys: ['<script>'], disabled: true, internal: false },
        { key: '3', uid: 3, title: 'The storm', content: STORM, keys: ['storm', 'comets'], disabled: false, internal: false },
        { key: '5', uid: 5, title: '', content: '', keys: [], disabled: false, internal: false },
        { key: '6', uid: 6, title: 'Mara', content: 'Ferrywoman. Owes Ada a favour.', keys: ['Mara', 'ferry'], disabled: false, internal: false },
        { key: '7', uid: 7, title: 'Old Tom', content: 'Keeper of the light.', keys: ['Tom', 'lighthouse'], disabled: false, internal: false },
        { key: '8', uid: 8, title: 'The chain', content: 'Raised at dusk.', keys: ['chain'], disabled: false, internal: false },
        { key: '9', uid: 9, title: '__operation_queue', content: '{"queue":[]}', keys: [], disabled: true, internal: true },
        { key: '10', uid: 10, title: '_registry_character', content: '[]', keys: [], disabled: true, internal: true },
    ],
    changes: [
        { key: '11', uid: 11, title: 'The smugglers', what: 'added', fields: [] },
        { key: '4', uid: 4, title: `The old customs house ${MARKUP}`, what: 'removed', fields: [] },
        { key: '1', uid: 1, title: 'The Anchor', what: 'changed', fields: ['content', 'key', 'odd_field'] },
    ],
};

export const RESULTS = [
    { chat: 'The harbour', owner: 'Ada', findings: [] },
    { chat: 'The harbour - Branch #1', owner: 'Ada', findings: [finding('book-shared', true, { name: 'Harbour lore', with: ['The harbour', MARKUP] }), finding('no-seal', false)] },
    { chat: MARKUP, owner: 'Ada', findings: [finding('book-missing', true, { name: 'Lost book' })] },
    { chat: 'The council of the nine', owner: 'Nine at the table', findings: [finding('damage', true), finding('parent-missing', false, { name: 'The council' })] },
    { chat: 'An older branch', owner: 'Bram', findings: [finding('no-seal', false)] },
    { chat: 'Another older branch', owner: 'Bram', findings: [finding('no-seal', false), finding('book-edited', false, { sealed: 3, entries: 4 })] },
];

export const CLEANUP = {
    remove: [
        { name: 'Harbour lore (Scene 1)', bytes: 48213, madeFor: 'The harbour - Checkpoint #1' },
        { name: MARKUP, bytes: 2203412, madeFor: 'A chat with a very long name that goes on and on until it does not fit on any line of any phone' },
    ],
    keep: [
        { name: 'Harbour lore (Scene 2)', reason: word('referred', { places: [{ code: 'chat', values: { name: 'The harbour - Checkpoint #2' } }] }) },
        { name: 'Harbour lore (Scene 3)', reason: word('only-backups', { count: 1 }) },
    ],
    unread: [],
};

export const SPLIT = {
    keeper: 'The harbour',
    chats: [
        { name: 'The harbour - Branch #2', book: 'Harbour lore (Branch #2)', entries: 31, part: SNAPSHOT, open: false },
        { name: `The harbour - Branch ${MARKUP}`, book: 'Harbour lore (Branch #1)', entries: 34, part: LIVE, open: true },
    ],
};

/** The report of an undo that put nothing back. */
export const NOTHING_BACK = { restored: [], replaced: [], chats: [], undone: [], blocked: [], unreadable: 0 };

const ADA = { group: null, avatar: 'Ada.png' };

export const TRASH = [
    { token: '/user/files/forklore-trash-4.json', when: '2026-11-15T03:10:55.123Z', why: { code: 'timeline' }, books: [MARKUP], chat: 'The harbour - Branch #2', of: { ...ADA, name: 'The harbour - Branch #2' }, bytes: 2203412 },
    { token: '/user/files/forklore-trash-3.json', when: '2026-11-14T03:10:55.123Z', why: { code: 'rename', from: 'The harbour - Branch #1', to: 'Ashore' }, books: [], chat: null, of: { ...ADA, name: 'Ashore' }, bytes: 312 },
    { token: '/user/files/forklore-trash-2.json', when: '2026-11-13T03:10:55.123Z', why: { code: 'restore', message: 42 }, books: ['Harbour lore'], chat: null, of: { ...ADA, name: 'The harbour' }, bytes: 48213 },
    { token: '/user/files/forklore-trash-1.json', when: '2026-11-12T03:10:55.123Z', why: { code: 'text', text: 'clean' }, books: ['One', 'Two'], chat: null, of: null, bytes: 48213 },
];

/** `given` overrides what the app would return; `calls` records the calls. */
export function fakeApp(given = {}) {
    const listeners = {};
    const calls = [];
    const answer = (name, value) => async (...args) => {
        calls.push([name, ...args]);
        return typeof value === 'function' ? value(...args) : value;
    };
    return {
        calls,
        settings: { ...SETTINGS },
        saveSettings: () => calls.push(['saveSettings']),
        open: () => ({ name: 'The harbour', group: false, messages: 58 }),
        marks: { forks: new Map(), lore: new Set() },
        forksAt: async () => [],
        recordedSince: () => null,
        messageAt: () => null,
        forkMessage: () => null,
        readiness: answer('readiness', READINESS.ready),
        refuseEdited: () => {},
        hasAutoRecap: () => true,
        check: answer('check', { obstacles: [], remarks: [], book: EXACT, metadata: EXACT }),
        fork: answer('fork', asked => ({ ...REPORT, ...asked, child: asked.name ?? 'The harbour - Checkpoint #1' })),
        suggestName: answer('suggestName', 'Scene 3 - The quay'),
        lore: answer('lore', LORE),
        restore: answer('restore', { book: 'Harbour lore', entries: 33, part: SNAPSHOT, remarks: [] }),
        verifyOpen: answer('verifyOpen', { chat: 'The harbour', findings: [] }),
        verifyAll: answer('verifyAll', RESULTS),
        repairOptions: answer('repairOptions', {
            book: `Lost book ${MARKUP}`, journal: { message: 42 }, recap: null, books: ['Eldoria', MARKUP, 'Harbour lore', 'The long road'],
        }),
        repair: answer('repair', { book: 'Lost book', entries: 12, part: SNAPSHOT, remarks: [] }),
        splitPlan: answer('splitPlan', ({ family }) => family ? SPLIT : { keeper: null, chats: SPLIT.chats.filter(({ open }) => open) }),
        split: answer('split', SPLIT),
        giveCopy: answer('giveCopy', { book: 'The harbour - Lore', entries: 4, part: LIVE, remarks: [] }),
        useOriginal: answer('useOriginal', undefined),
        cleanupPlan: answer('cleanupPlan', CLEANUP),
        clean: answer('clean', { removed: CLEANUP.remove.map(({ name }) => name), undo: 'token' }),
        undo: answer('undo', { ...NOTHING_BACK, restored: ['Harbour lore (Scene 1)'] }),
        trashList: answer('trashList', TRASH),
        findInTrash: answer('findInTrash', 0),
        dropFromTrash: answer('dropFromTrash', undefined),
        namesToSave: answer('namesToSave', [{ isChat: false, name: 'Harbour lore', free: 'Harbour lore (2)' }]),
        saveFromTrash: answer('saveFromTrash', (token, names) => names),
        strip: answer('strip', 12),
        allChats: answer('allChats', { chats: ['One', 'Two', 'Three'].map((name) => ({ group: null, avatar: 'Ada.png', name })), left: [] }),
        stripAll: answer('stripAll', { chats: 2, records: 9, done: 3, total: 3, left: [] }),
        pendingFork: null,
        openFindings: null,
        stopWaiting: () => calls.push(['stopWaiting']),
        on: (event, listener) => (listeners[event] ??= []).push(listener),
        emit: (event, value) => (listeners[event] ?? []).forEach(listener => listener(value)),
        ...given,
    };
}
