// What a language model answers to ST-Auto-Recap. All of it comes from facts in the messages, which name the story they
// belong to, so that everything in a lorebook or recap can be traced back to its source.

import { FakeModel } from '../harness/model.mjs';
import { until } from '../harness/until.mjs';

/**
 * A fact in a message. `tag` names the story and the scene, and appears in everything that is made from the fact.
 *
 * @param {string} type one of ST-Auto-Recap's entity types, or `resolved` for a thread that ends
 * @param {string} name of the entity
 * @param {string} tag
 */
export const fact = (type, name, tag) => `«${type} ${name}: ${tag}»`;

/** The text of a message that ends a scene. */
export const PARTING = 'They left the place.';

const FACT = /«(\w+) (\w+): ([^»]+)»/g;
const factsIn = (text) =>
    [...text.matchAll(FACT)].map(([whole, type, name, tag]) => ({ whole, type, name, tag }));

/** The kinds of prompts, with words that only they contain, and the answer to each. */
const PROMPTS = {
    'scene break': { sign: 'You are a scene break analyst.', answer: sceneBreak },
    extract: { sign: 'TASK: Extract what an LLM would need', answer: extract },
    organize: { sign: 'TASK: Split extracted content into recap', answer: organize },
    'filter recap': { sign: 'TASK: Filter new scene recap against', answer: filterRecap },
    'filter entities': { sign: 'TASK: Filter new entities against existing lorebook', answer: filterEntities },
    'running recap': { sign: 'TASK: Merge filtered scene recap into running recap', answer: runningRecap },
    lookup: { sign: 'You are the setting_lore registry entry lookup assistant', answer: lookup },
    deduplicate: { sign: 'You are the setting_lore duplicate resolver', answer: deduplicate },
    merge: { sign: 'TASK: Merge new content items into existing entry', answer: merge },
    populate: { sign: 'You are the setting_lore bulk registry population assistant', answer: populate },
};

export class RecapModel {
    /** What the character says next, in order. @type {string[]} */
    replies = [];
    /** The kinds of prompts that were answered, in order. @type {string[]} */
    answered = [];
    /** Whether it names the entry that an entity belongs to, as ST-Auto-Recap's prompt asks. */
    namesUids = false;

    #held = null;

    static async start() {
        const model = new RecapModel();
        model.model = await FakeModel.start((asked) => model.#answerTo(asked));
        model.url = model.model.url;
        return model;
    }

    /** Changes a settings.json so that the page and ST-Auto-Recap use this model. */
    connect(settings) {
        this.model.connect(settings);
        settings.oai_settings.stream_openai = false;
        settings.extension_settings.connectionManager = {
            selectedProfile: 'the-fake-model',
            profiles: [{ id: 'the-fake-model', name: 'Fake', mode: 'cc', api: 'custom', 'api-url': this.url, model: 'fake', preset: 'Default' }],
        };
    }

    /** From now on, prompts of this kind wait for `release`. */
    hold(kind) {
        this.#held = { kind, waiting: [] };
    }

    /** Waits for a prompt of the kind that is held back. */
    async holding() {
        await until(`ST-Auto-Recap to ask for "${this.#held.kind}"`, () => this.#held.waiting.length > 0);
    }

    release() {
        const { waiting } = this.#held;
        this.#held = null;
        waiting.forEach((go) => go());
    }

    async #answerTo({ messages }) {
        const prompt = messages.map(({ content }) => content).join('\n');
        const found = Object.entries(PROMPTS).find(([, { sign }]) => prompt.includes(sign));
        if (!found) {
            const reply = this.replies.shift();
            return reply ?? `There is no reply to say: ${prompt.slice(0, 200)}`;
        }
        const [kind, { answer }] = found;
        const held = this.#held;
        if (held?.kind === kind) {
            await new Promise((go) => held.waiting.push(go));
        }
        this.answered.push(kind);
        return JSON.stringify(answer(prompt, this));
    }
}

/** The text between `<NAME>` and `</NAME>`. */
function part(prompt, name) {
    const found = new RegExp(`<${name}>\\n([\\s\\S]*?)\\n?</${name}>`).exec(prompt);
    if (!found) {
        throw new Error(`a prompt without <${name}>: ${prompt.slice(0, 200)}`);
    }
    return found[1];
}

function sceneBreak(prompt) {
    const messages = part(prompt, 'SOURCE_TEXT').split(/\n\n(?=Message #)/);
    const end = messages.map((text) => /^Message #(\d+) /.exec(text) && { text, number: Number(/\d+/.exec(text)[0]) })
        .find((message) => message?.text.includes(PARTING));
    return end
        ? { sceneBreakAt: end.number, rationale: PARTING }
        : { sceneBreakAt: false, rationale: 'No scene break in eligible range' };
}

function extract(prompt) {
    const facts = factsIn(part(prompt, 'SCENE'));
    return { sn: `Of ${facts.at(-1).tag}`, extracted: facts.map(({ whole }) => whole) };
}

function organize(prompt) {
    const text = part(prompt, 'EXTRACTED');
    const facts = factsIn(text);
    const outcomes = facts.filter(({ type }) => type !== 'resolved').map(({ whole }) => whole).join('; ');
    const threads = facts.filter(({ type }) => type === 'resolved').map(({ whole }) => whole).join('; ');
    return { sn: JSON.parse(text).sn, recap: { outcomes, threads, state: '' }, entities: entitiesOf(facts.filter(({ type }) => type !== 'resolved')) };
}

/** One for each name, whatever is said about it. */
function entitiesOf(facts) {
    const entities = new Map();
    for (const { type, name, tag } of facts) {
        const entity = entities.get(name) ?? { type, name, keywords: [name.toLowerCase()], content: [] };
        entity.content.push(`${name}: ${tag}`);
        entities.set(name, entity);
    }
    return [...entities.values()];
}

function filterRecap(prompt) {
    const { outcomes, threads } = JSON.parse(part(prompt, 'NEW_RECAP'));
    const developments = factsIn(outcomes).map(({ name, tag }) => `[${name}] ${tag}`);
    return { developments, open: [], state: [], resolved: factsIn(threads).map(({ whole }) => whole) };
}

function filterEntities(prompt, { namesUids }) {
    const existing = part(prompt, 'EXISTING');
    const uidOf = ({ type, name }) => new RegExp(`name="${type}-${name}" uid="(\\d+)"`).exec(existing)?.[1];
    const entities = JSON.parse(part(prompt, 'NEW_ENTITIES'));
    return { entities: entities.map((entity) => ({ ...entity, ...(namesUids && uidOf(entity) && { uid: uidOf(entity) }) })) };
}

function runningRecap(prompt) {
    const known = part(prompt, 'RUNNING_RECAP').split('\n').filter((line) => line.startsWith('['));
    const { developments, resolved } = JSON.parse(part(prompt, 'FILTERED'));
    const entities = entitiesOf(factsIn(resolved.join('\n')).map((fact) => ({ ...fact, type: 'event' })));
    return { recap: { developments: [...new Set([...known, ...developments])], open: [], state: [] }, entities };
}

/** The same name is the same entity; a name that is the start of another one has to be examined. */
function lookup(prompt) {
    const { comment, type, content } = JSON.parse(part(prompt, 'NEW_ENTRY'));
    const listed = [...part(prompt, 'REGISTRY_LISTING').matchAll(/^- UID=(\d+) \| name: ([^|]+) \|/gm)]
        .map(([, uid, name]) => ({ uid, name: name.trim() }));
    return {
        type,
        synopsis: content.split('\n')[0],
        sameEntityUids: listed.filter(({ name }) => name === comment).map(({ uid }) => uid),
        needsFullContextUids: listed.filter(({ name }) => name !== comment && comment.startsWith(name)).map(({ uid }) => uid),
    };
}

function deduplicate(prompt) {
    const [candidate] = JSON.parse(part(prompt, 'CANDIDATE_ENTRIES'));
    return { resolvedUid: String(candidate.uid), duplicateUids: [], synopsis: part(prompt, 'SYNOPSIS').trim() };
}

function merge(prompt) {
    const lines = [part(prompt, 'EXISTING'), part(prompt, 'NEW')].flatMap((text) => text.split('\n'));
    return { content: [...new Set(lines.filter((line) => line.trim()))], canonicalName: null };
}

function populate(prompt) {
    const entries = JSON.parse(part(prompt, 'SETTING_LORE_ENTRIES'));
    const typeOf = ({ comment }) => comment.split('-')[0];
    return { results: entries.map((entry) => ({ entry_id: entry.entry_id ?? entry.id, type: typeOf(entry), synopsis: entry.comment })) };
}
