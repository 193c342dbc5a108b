// Counts what was claimed in which situation. A product that never claims anything does not pass, and neither does a
// run that met no hard case.

const KINDS = ['exact', 'as of', 'live', 'settled', 'none'];

export class Tally {
    constructor() {
        /** @type {Map<string, Record<string, Record<string, number>>>} by situation, part and kind */
        this.rows = new Map();
        this.false = [];
        this.stories = 0;
        /** In stories without gaps and damage. */
        this.plain = { book: { asked: 0, exact: 0 }, metadata: { asked: 0, exact: 0 } };
        this.notExact = [];
    }

    /** @param {Iterable<string>} situations @param {{book: object, metadata: object}} answer */
    add(situations, answer) {
        for (const situation of ['all', ...situations]) {
            if (!this.rows.has(situation)) {
                this.rows.set(situation, { book: {}, metadata: {} });
            }
            const row = this.rows.get(situation);
            for (const part of ['book', 'metadata']) {
                row[part][answer[part].kind] = (row[part][answer[part].kind] ?? 0) + 1;
            }
        }
    }

    addPlain(answer, words) {
        for (const part of ['book', 'metadata']) {
            if (answer[part].kind === 'settled') {
                // At the end of a scene this is what people want, and it claims nothing about the message.
                continue;
            }
            this.plain[part].asked++;
            if (answer[part].kind === 'exact') {
                this.plain[part].exact++;
            } else if (this.notExact.length < 20) {
                this.notExact.push(`${part} ${answer[part].kind}${answer[part].k ?? ''}: ${words}`);
            }
        }
    }

    /** A story that could not be finished. */
    crashed(seed, error) {
        this.false.push(`CRASHED: seed ${seed}: ${error.stack}`);
    }

    count(situation, part, kind) {
        return this.rows.get(situation)?.[part][kind] ?? 0;
    }

    asked(situation, part = 'book') {
        return KINDS.reduce((sum, kind) => sum + this.count(situation, part, kind), 0);
    }

    table() {
        const names = [...this.rows.keys()].sort((one, other) => (one === 'all' ? -1 : other === 'all' ? 1 : one.localeCompare(other)));
        const width = Math.max(...names.map((name) => name.length), 10);
        const cells = (part, name) => KINDS.map((kind) => String(this.count(name, part, kind)).padStart(8)).join('');
        const share = (part) => `${((100 * this.plain[part].exact) / Math.max(1, this.plain[part].asked)).toFixed(2)} % of ${this.plain[part].asked}`;
        return [
            `${this.stories} stories, ${this.asked('all')} questions, ${this.false.length} false`,
            `${''.padEnd(width)} |${'book'.padStart(20).padEnd(40)} |${'metadata'.padStart(22).padEnd(40)}`,
            `${''.padEnd(width)} |${KINDS.map((kind) => kind.padStart(8)).join('')} |${KINDS.map((kind) => kind.padStart(8)).join('')}`,
            ...names.map((name) => `${name.padEnd(width)} |${cells('book', name)} |${cells('metadata', name)}`),
            `exact without gaps and damage: book ${share('book')}, metadata ${share('metadata')}`,
        ].join('\n');
    }

    /**
     * Situations that came up too rarely. `needs`: how many questions about each there must be per thousand stories.
     * @param {{situation: string, part?: string, kind?: string, perThousand: number}[]} needs
     */
    hardlyMet(needs) {
        return needs.flatMap(({ situation, part = 'book', kind, perThousand }) => {
            const wanted = Math.floor((perThousand * this.stories) / 1000);
            const met = kind ? this.count(situation, part, kind) : this.asked(situation, part);
            return met < wanted ? [`${situation}${kind ? `, ${part} ${kind}` : ''}: ${met}, at least ${wanted} wanted`] : [];
        });
    }
}
