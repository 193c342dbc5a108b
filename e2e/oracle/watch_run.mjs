// Random saves beside a real `forklore watch`: compares every recorded version to what was written, and every moment to
// the truth.

import { closeSync, existsSync, openSync, renameSync, unlinkSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import { bookText, chatText, Folder, shownClaim, stop } from './command.mjs';
import { describe, judge, situationsOf } from './judge.mjs';
import { Random } from './random.mjs';
import { Story } from './story.mjs';
import { Tally } from './tally.mjs';
import { metadataText } from './values.mjs';

const FIELD = 'forklore';

/**
 * @typedef {object} Plan
 * @property {number} seed
 * @property {number} saves the minimum number
 * @property {number} pause the maximum time between two steps of a story, in milliseconds
 * @property {number} [shortest] the minimum
 * @property {number} [inPlace] the share of saves that truncate the file and write into it
 * @property {number} [stalls] how often the watch is paused for two seconds
 * @property {number} [bursts] how often files are saved in turn as fast as possible
 * @property {boolean} [renames] whether chats are renamed, and books deleted and recreated
 * @property {?import('./product.mjs').Product} [product] whose records the chats carry, if any
 * @property {number} [stories] how many run in parallel
 */

/** Runs a plan. @param {Plan} plan @returns {Promise<{tally: Tally, versions: number, missed: number, faults: string[]}>} */
export async function runBesideWatch(plan) {
    const folder = new Folder();
    const run = { plan, folder, tally: new Tally(), files: new Map(), faults: [], saves: 0, missed: 0, versions: 0, torn: 0 };
    try {
        const tellers = Array.from({ length: plan.stories ?? 4 }, (_, number) => new Teller(run, number));
        tellers.forEach((teller) => teller.begin());
        const watch = await folder.watch();
        try {
            const stalls = stall(run, watch);
            await Promise.all(tellers.map((teller) => teller.tell()));
            run.isTold = true;
            await stalls;
            await untilRecorded(run);
        } finally {
            await stop(watch);
        }
        for (const [name, file] of run.files) {
            await compareVersions(run, name, file);
        }
        for (const teller of tellers) {
            await teller.ask();
        }
        const { code, text } = await folder.run('history', 'verify');
        if (code !== 0) {
            run.faults.push(`history verify: ${text}`);
        }
    } finally {
        folder.remove();
    }
    return run;
}

/** Pauses the watch for two seconds now and then, like a busy machine. */
async function stall(run, watch) {
    for (let left = run.plan.stalls ?? 0; left > 0 && !run.isTold; left--) {
        await sleep(700);
        watch.kill('SIGSTOP');
        await sleep(2000);
        watch.kill('SIGCONT');
    }
}

/** One story, whose files are written whenever its server writes them. */
class Teller {
    constructor(run, number) {
        this.run = run;
        this.number = number;
        this.random = new Random(run.plan.seed * 100 + number);
        this.chat = `Story ${number}`;
        this.story = new Story(this.random, { recorderFor: (page) => run.plan.product?.recorderFor(page) ?? null, profile: 'watched', extension: Boolean(run.plan.product), isRealTime: true });
        const { server } = this.story.world;
        server.wrote = (kind, name) => this.wrote(kind, name);
    }

    bookName = (name) => `${name} of ${this.number}`;
    storyName = (name) => name.replace(/ of \d+$/, '');

    wrote(kind, name) {
        const { folder } = this.run;
        const { server } = this.story.world;
        if (kind === 'chat') {
            this.save(folder.chatPath(this.chat), `Ada/${this.chat}`, chatText(server, this.bookName));
        } else if (server.books.has(name)) {
            this.save(folder.bookPath(this.bookName(name)), `book:${this.bookName(name)}`, bookText(server.books.get(name)));
        }
    }

    /** Like SillyTavern, with a temporary file that replaces it; or by truncating it, like other tools. */
    save(path, name, text) {
        const { run, random } = this;
        run.saves++;
        const bytes = Buffer.from(text);
        if (random.chance(run.plan.inPlace ?? 0)) {
            const file = openSync(path, 'w');
            const half = random.below(bytes.length);
            writeSync(file, bytes, 0, half);
            writeSync(file, bytes, half);
            closeSync(file);
        } else {
            const beside = `${path}.${random.below(1e9)}`;
            writeFileSync(beside, bytes);
            renameSync(beside, path);
        }
        if (!run.files.has(name)) {
            run.files.set(name, { written: [] });
        }
        const { written } = run.files.get(name);
        if (written.at(-1) !== text) {
            written.push(text);
        }
    }

    begin() {
        this.story.begin();
    }

    async tell() {
        const { run, story, random } = this;
        const { plan } = run;
        const share = plan.saves / (plan.stories ?? 4);
        // A pause of seconds is long enough for file checks and answers, too.
        const settle = () => plan.shortest > 1000 && story.settle();
        await settle();
        for (let before = run.saves, steps = 0; run.saves < plan.saves && steps < 4 * share; steps++) {
            await story.go(1);
            if (plan.bursts && random.chance(plan.bursts)) {
                story.burst();
            }
            if (plan.renames && random.chance(0.02)) {
                this.rename();
            }
            if (plan.pause > 0 && run.saves > before) {
                await sleep((plan.shortest ?? 0) + random.below(plan.pause - (plan.shortest ?? 0) + 1));
                await settle();
            }
            before = run.saves;
        }
        await story.settle();
        story.page.saveBook();
        story.page.saveChat();
        story.page.close();
    }

    /** Like SillyTavern: copied to the new name, and the old one removed. */
    rename() {
        const { folder, files } = this.run;
        const from = this.chat;
        this.chat = `Story ${this.number} as ${this.random.below(1e6)}`;
        if (existsSync(folder.chatPath(this.chat))) {
            return;
        }
        const text = chatText(this.story.world.server, this.bookName);
        writeFileSync(folder.chatPath(this.chat), text);
        unlinkSync(folder.chatPath(from));
        const file = files.get(`Ada/${from}`);
        files.delete(`Ada/${from}`);
        files.set(`Ada/${this.chat}`, { written: file.written, isRenamed: true });
    }

    async ask() {
        const { run, story } = this;
        const { world } = story;
        const { metadata, messages } = world.server.readChat();
        const tokens = messages.map(({ token }) => token);
        const bookName = metadata.world_info || null;
        for (let m = 0; m < tokens.length; m++) {
            const shown = await run.folder.run('show', `Ada/${this.chat}`, '--at', String(m));
            if (!shown.isDone) {
                if (bookName) {
                    run.faults.push(`show --at ${m} of ${this.chat}: ${shown.text}`);
                }
                continue;
            }
            shown.answer.book = this.storyName(shown.answer.book);
            const answer = { book: shownClaim(shown), metadata: { kind: 'none', k: null, source: null, content: '' } };
            const question = {
                ledger: world.ledger, tokens, m, asked: m, place: (k) => k, isFiles: true, lastHasRecord: messages.at(-1).value[FIELD] !== undefined,
                live: { bookName, bookText: world.server.books.get(bookName), metadata: metadataText(metadata) },
            };
            run.tally.add(situationsOf(question, world), answer);
            judge(question, answer).forEach((found) => run.tally.false.push(describe({ seed: `${run.plan.seed}, story ${this.number}`, world, question, found })));
            if (!run.plan.product && m < tokens.length - 1 && answer.book.kind === 'exact') {
                run.tally.false.push(`FALSE: seed ${run.plan.seed}, ${this.chat}, message ${m}: exact from ${answer.book.source}, and no page testified`);
            }
            if (m < tokens.length - 1 && world.ledger.crossing(tokens, m).held) {
                run.tally.addPlain({ ...answer, metadata: { kind: 'exact' } }, `${this.chat} message ${m}`);
            }
        }
        run.tally.stories++;
    }
}

/** Waits until the newest recorded version of each file matches it. */
async function untilRecorded(run) {
    const open = new Map(run.files);
    for (let tries = 0; open.size; tries++) {
        for (const [name, { written }] of open) {
            const log = await run.folder.run('log', name, '-n', '1');
            const version = log.answer?.versions?.[0]?.version;
            const shown = version ? await run.folder.run('show', name, '--version', String(version)) : { answer: null };
            if (shown.answer?.text === written.at(-1)) {
                open.delete(name);
            }
        }
        if (open.size && tries > 60) {
            [...open.keys()].forEach((name) => run.faults.push(`the newest version of ${name} was never recorded`));
            return;
        }
        if (open.size) {
            await sleep(100);
        }
    }
}

/** Every recorded version must be one that was written, in the same order. */
async function compareVersions(run, name, { written }) {
    const { answer, text } = await run.folder.run('log', name, '-n', '100000');
    if (!answer?.versions) {
        run.faults.push(`log ${name}: ${text}`);
        return;
    }
    const numbers = answer.versions.filter(({ why }) => why !== 'deleted').reverse();
    const met = new Set();
    let reached = -1;
    const shown = [];
    for (let from = 0; from < numbers.length; from += 4) {
        shown.push(...await Promise.all(numbers.slice(from, from + 4).map(({ version }) => run.folder.run('show', name, '--version', String(version)))));
    }
    numbers.forEach(({ version, why }, place) => {
        run.versions++;
        const content = shown[place].answer?.text;
        const found = written.indexOf(content, Math.max(reached, 0));
        if (found < 0) {
            const early = written.indexOf(content);
            if (early < 0 && why === 'found') {
                // The file did contain it for an instant, and the history does not claim that it was saved.
                run.torn++;
                return;
            }
            run.faults.push(early < 0
                ? `version ${version} of ${name} (${why}) was never written: ${JSON.stringify(content ?? shown[place].text).slice(0, 200)}`
                : `version ${version} of ${name} (${why}) is out of order: it was written before the one recorded before it`);
            return;
        }
        reached = found;
        met.add(found);
    });
    run.missed += written.length - met.size;
}
