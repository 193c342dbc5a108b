/** The search of the map: what is known at once, and what is found in messages and lorebooks as they are read. */
import { holdsWords } from '../widgets/search.js';
import { say } from '../words.js';
import { HitList, countOf, foundIn, oldestFirst } from './hits.js';
/** @import { AppForUi, FoundTimeline, HitActions, SearchNews, ShownTimeline, TimelinesModel } from '../types.js' */

/** How long to wait for another letter before anything is read, in milliseconds. */
const WAIT = 250;
/** The first letter of which one is a word in itself. */
const FIRST_IDEOGRAPH = 0x2e80;

export class MapSearch {
    /** @param {HitActions & {search: AppForUi['search'], leave: () => void, clear: () => void, onChange: () => void}} parts `onChange`: more is known */
    constructor({ search, onChange, ...actions }) {
        this.search = search;
        this.onChange = onChange;
        this.list = new HitList(actions);
        this.typed = '';
        this.timelines = /** @type {ShownTimeline[]} */ ([]);
        /** @type {SearchNews | null} */
        this.news = null;
        this.found = /** @type {FoundTimeline[]} */ ([]);
        /** Of the search that is going on. @type {AbortController | null} */
        this.going = null;
    }

    /** The user has typed, or more is known of the timelines. @param {string} typed @param {TimelinesModel | null} model */
    update(typed, model) {
        const timelines = model ? oldestFirst(model) : [];
        const namesOf = (/** @type {ShownTimeline[]} */ timelines) => timelines.map(({ name }) => name).toSorted().join('\n');
        const isOther = typed !== this.typed;
        const isChanged = isOther || namesOf(timelines) !== namesOf(this.timelines);
        this.typed = typed;
        this.timelines = timelines;
        this.news = isOther ? null : this.news;
        if (isChanged) {
            this.stop();
            if (model && (typed.length > 1 || (typed.codePointAt(0) ?? 0) >= FIRST_IDEOGRAPH)) {
                this.start(model, isOther ? WAIT : 0);
            }
        }
        this.draw();
    }

    start(/** @type {TimelinesModel} */ { owner }, /** @type {number} */ wait) {
        const going = this.going = new AbortController();
        const { signal } = going;
        const { typed } = this;
        const over = () => {
            this.going = this.going === going ? null : this.going;
        };
        const timer = setTimeout(() => {
            this.search.run({
                owner,
                names: this.timelines.map(({ name }) => name),
                holds: (text) => holdsWords(text, typed),
                signal,
                onNews: (news) => {
                    this.news = news;
                    this.changed();
                },
            }).catch((error) => console.warn('Forklore: the search has failed', error)).then(over).then(() => signal.aborted || this.changed());
        }, wait);
        signal.addEventListener('abort', () => clearTimeout(timer));
    }

    stop() {
        this.going?.abort();
        this.going = null;
    }

    /** Reads everything again. @param {TimelinesModel | null} model */
    again(model) {
        this.search.forget();
        const { typed } = this;
        this.update('', model);
        this.update(typed, model);
    }

    changed() {
        this.draw();
        this.onChange();
    }

    draw() {
        this.found = this.typed ? foundIn(this.timelines, this.typed, this.news?.hits ?? []) : [];
        this.list.show(this.found, { typed: this.typed, isDone: !this.going, all: this.timelines });
    }

    /** What was found and how far it is, in words. */
    status() {
        if (!this.typed) {
            return [];
        }
        const count = countOf(this.found);
        const { done = 0, total = this.timelines.length, unread = 0 } = this.news ?? {};
        return [
            count ? say('search.hits', { count, timelines: this.found.length }) : this.going ? null : say('search.nothing'),
            this.going ? say('search.progress', { done, total }) : null,
            unread ? say('search.unread', { count: unread }) : null,
        ];
    }
}
