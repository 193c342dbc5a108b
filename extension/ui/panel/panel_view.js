/** What the panel shows, derived from the state of the app. */
import { REPAIRABLE, say, sayNames, sayShared, sayTerms, withMessages, withWork } from '../words.js';
/** @import { Finding, Origin, PanelAction, PanelFacts, PanelState, PanelView, Readiness, SayMessage, Setting, Settings } from '../types.js' */

/** @type {Record<PanelState, {icon: string, tone: string}>} */
const SIGNS = {
    loading: { icon: 'fa-hourglass-half', tone: 'quiet' },
    off: { icon: 'fa-power-off', tone: 'quiet' },
    'no-chat': { icon: 'fa-comment-slash', tone: 'quiet' },
    'no-book': { icon: 'fa-circle-check', tone: 'good' },
    common: { icon: 'fa-link', tone: 'care' },
    ready: { icon: 'fa-circle-check', tone: 'good' },
    waiting: { icon: 'fa-hourglass-half', tone: 'care' },
    paused: { icon: 'fa-circle-pause', tone: 'care' },
    pending: { icon: 'fa-hourglass-half', tone: 'care' },
    shared: { icon: 'fa-link', tone: 'bad' },
    elsewhere: { icon: 'fa-link', tone: 'care' },
    missing: { icon: 'fa-triangle-exclamation', tone: 'bad' },
};

/** States in which a checkpoint can be requested. If something is in the way, the user is asked then. */
const FORKABLE = ['no-book', 'common', 'ready', 'shared', 'elsewhere', 'missing', 'off'];

/** @param {PanelFacts} facts @returns {PanelView} */
export function panelView(facts) {
    const { readiness, checked = null, sayDate = String, sayMessage = String } = facts;
    const state = stateOf(facts);
    return {
        state,
        ...SIGNS[state],
        line: lineOf(state, facts),
        origin: originLine(readiness?.origin, sayDate, sayMessage),
        note: noteOf(checked),
        leftOut: leftOutLine(readiness),
        details: [...(checked?.findings ?? []), ...notCopied(readiness)],
        actions: actionsOf(state, readiness, checked?.findings ?? []),
    };
}

/** @param {PanelFacts} facts @returns {PanelState} */
function stateOf({ readiness, waiting }) {
    return waiting ? 'pending' : readiness?.state ?? 'loading';
}

function lineOf(/** @type {PanelState} */ state, /** @type {PanelFacts} */ { readiness, waiting, sayMessage }) {
    if (waiting) {
        return withWork(say(`ready.pending.${waiting.kind}`, withMessages(waiting, sayMessage)), waiting);
    }
    const count = readiness?.sharedWith?.length;
    const [shared] = readiness?.common ?? [];
    return shared ? sayShared(shared) : readiness?.state === 'ready' ? readyLine(readiness) : say(`ready.${state}`, { ...readiness, count });
}

/** @param {Readiness | null} readiness */
function leftOutLine(readiness) {
    const { leftOut = [] } = readiness ?? {};
    return leftOut.length ? say('common.left-out', { books: sayNames(leftOut), count: leftOut.length }) : '';
}

/** Of several lorebooks that many chats share, only the first is offered to be copied. @param {Readiness | null} readiness @returns {Finding[]} */
function notCopied(readiness) {
    return (readiness?.common ?? []).slice(1).map(({ book }) => ({ code: 'common-too', values: { name: book }, problem: false }));
}

/** Who uses the lorebook, as far as the chats were checked. @param {Readiness} readiness */
function readyLine(readiness) {
    const { reach, selected } = readiness;
    if (reach === 'all' && !selected.length) {
        return say('ready.ready', readiness);
    }
    const linked = reach ? { all: 'ready.linked.all', owner: 'ready.linked.owner', open: 'ready.linked.unknown' }[reach] : 'ready.unchecked';
    return selected.reduce((first, place) => say('list.sentences', { first, then: say(`ready.selected.${place}`) }), say(linked, readiness));
}

/** Where the chat was forked from, according to its seal. @param {Origin | null | undefined} origin @param {(milliseconds: number) => string} sayDate @param {SayMessage} sayMessage */
function originLine(origin, sayDate, sayMessage) {
    if (!origin) {
        return '';
    }
    const { kind, parent, message, made, recap, scenes, combined } = origin;
    return say('ready.birth', {
        terms: sayTerms([
            say(`ready.birth.${kind}`, withMessages({ parent, message }, sayMessage)),
            Number.isNaN(made) ? '' : say('ready.birth.made', { date: sayDate(made) }),
            recap === null ? '' : scenes === null ? say('ready.birth.recap', { version: recap }) : say('notice.recap', { version: recap, count: scenes }),
            combined === null ? '' : say('notice.combined-recap', { count: combined }),
        ]),
    });
}

function noteOf(/** @type {PanelFacts['checked']} */ checked) {
    if (!checked) {
        return '';
    }
    const { findings } = checked;
    const when = say(`ready.when.${checked.when}`);
    const problems = findings.filter(({ problem }) => problem).length;
    if (problems) {
        return say('ready.checked.problems', { when, count: problems });
    }
    return findings.length ? say('ready.checked.notes', { when, count: findings.length }) : say('ready.checked.well', { when });
}

/** @param {PanelState} state @param {Readiness | null} readiness @param {Finding[]} findings */
function actionsOf(state, readiness, findings) {
    if (state === 'pending') {
        return [action('stop-waiting', 'do.stop-waiting', 'fa-ban')];
    }
    const isBusy = state === 'waiting' || state === 'paused';
    const actions = [isBusy
        ? action('when-ready', 'do.when-ready', 'fa-hourglass-half')
        : action('checkpoint', 'do.checkpoint', 'fa-flag-checkered', !FORKABLE.includes(state))];
    if (state === 'shared' || state === 'elsewhere') {
        actions.unshift(action('split', 'do.split', 'fa-code-branch'));
    }
    if (state === 'common') {
        actions.unshift(action('copy', 'do.copy', 'fa-copy'));
    }
    if (readiness?.leftOut?.length) {
        actions.push(action('original', 'do.original', 'fa-rotate-left'));
    }
    if (state === 'missing' || findings.some(({ code, problem }) => problem && REPAIRABLE.includes(code))) {
        actions.unshift(action('repair', 'do.repair', 'fa-screwdriver-wrench'));
    }
    return actions;
}

/** @param {PanelAction['id']} id @param {string} key @param {string} icon @returns {PanelAction} */
function action(id, key, icon, disabled = false) {
    const hint = say(`${key}.hint`);
    return { id, text: say(key), hint: hint === `${key}.hint` ? '' : hint, icon, disabled };
}

/** The settings in display order. @type {Array<{title: string, isOfRecap?: boolean, settings: Setting[]}>} */
export const SETTING_GROUPS = [
    {
        title: 'group.forks',
        settings: [
            { name: 'isolate', type: 'checkbox' },
            { name: 'warnings', type: 'checkbox' },
            { name: 'whenInexact', type: 'select', options: ['ask', 'nearest', 'refuse'] },
            { name: 'branchTitle', type: 'text' },
        ],
    },
    {
        title: 'group.checkpoints',
        isOfRecap: true,
        settings: [
            { name: 'checkpointAtScenes', type: 'checkbox' },
            { name: 'autoName', type: 'checkbox' },
            { name: 'nameTemplate', type: 'text', needs: 'autoName' },
        ],
    },
    {
        title: 'group.keeping',
        settings: [
            { name: 'journal', type: 'checkbox' },
            { name: 'markLore', type: 'checkbox' },
            { name: 'cleanUp', type: 'checkbox' },
            { name: 'guard', type: 'checkbox' },
        ],
    },
];

/** Settings that few people need. @type {Setting[]} */
export const MORE_SETTINGS = [
    { name: 'requireScene', type: 'checkbox', isOfRecap: true },
    { name: 'whenBusy', type: 'select', options: ['wait', 'drain', 'without'], isOfRecap: true },
    { name: 'waitSeconds', type: 'number', min: 1, max: 3600, needs: 'whenBusy', being: 'wait', isOfRecap: true },
    { name: 'journalLimit', type: 'number', min: 1, max: 1024, needs: 'journal' },
    { name: 'trashDays', type: 'number', min: 0, max: 3650 },
    { name: 'trashLimit', type: 'number', min: 1, max: 10_000 },
];

/** Whether a setting has any effect, given the others. @param {Pick<Setting, 'needs' | 'being'>} setting @param {Settings} settings */
export function isInUse({ needs, being = true }, settings) {
    return !needs || settings[needs] === being;
}

/** The value of a setting from what was typed; undefined if it is not valid. @param {Pick<Setting, 'type' | 'min' | 'max'>} setting @param {string | boolean} typed */
export function settingValue({ type, min = -Infinity, max = Infinity }, typed) {
    if (type !== 'number') {
        return typed;
    }
    const number = Number(typed);
    if (typed === '' || !Number.isFinite(number)) {
        return undefined;
    }
    return Math.min(max, Math.max(min, Math.round(number)));
}
