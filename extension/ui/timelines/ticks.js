/** Several timelines that are ticked on the map, and the bar that says what can be done with them. */
import { button } from '../widgets/controls.js';
import { element, fill } from '../widgets/dom.js';
import { say } from '../words.js';
import { below } from './family.js';
/** @import { SeveralActions, ShownTimeline } from '../types.js' */

export class Ticks {
    /** The whole family, and what the map shows of it. @type {ShownTimeline[]} */
    #family = [];
    /** @type {ShownTimeline[]} */
    #timelines = [];
    #progress = '';

    /** @param {{actions: SeveralActions, canCompare: boolean, onChange: () => void}} parts `onChange`: the map has to be drawn again */
    constructor({ actions, canCompare, onChange }) {
        this.actions = actions;
        this.canCompare = canCompare;
        this.onChange = onChange;
        this.isOn = false;
        this.ids = /** @type {Set<string>} */ (new Set());
        this.tool = button('', {
            icon: 'fa-list-check', title: say('timelines.tool.several'), label: say('timelines.tool.several'), class: 'forklore_tool', run: () => this.turn(!this.isOn),
        });
        this.status = element('span', { role: 'status' });
        this.buttons = element('div', { class: 'forklore_buttons', role: 'group', 'aria-label': say('several.actions') });
        this.element = element('div', { class: 'forklore_several', hidden: true, tabindex: -1 }, this.status, this.buttons);
        this.draw();
    }

    /** Only what can be seen stays ticked. @param {ShownTimeline[]} family @param {ShownTimeline[]} onMap */
    update(family, onMap) {
        this.#family = family;
        this.#timelines = onMap;
        this.ids = this.possible(this.ids);
        if (this.isOn) {
            this.draw();
        }
    }

    /** @param {Iterable<string>} ids */
    possible(ids) {
        const there = new Set(this.#timelines.filter(({ kind }) => kind !== 'gone').map(({ id }) => id));
        return new Set([...ids].filter((id) => there.has(id)));
    }

    /** @returns {ShownTimeline[]} what was forked from others comes before them */
    get ticked() {
        const depth = (/** @type {ShownTimeline} */ { id }) => below(this.#timelines, [id]).size;
        return this.#timelines.filter(({ id }) => this.ids.has(id)).sort((one, other) => depth(one) - depth(other));
    }

    turn(/** @type {boolean} */ isOn) {
        this.isOn = isOn;
        this.ids = new Set();
        this.changed();
    }

    toggle(/** @type {string} */ id) {
        if (this.#progress || !this.possible([id]).size) {
            return;
        }
        this.isOn = true;
        if (!this.ids.delete(id)) {
            this.ids.add(id);
        }
        this.changed();
    }

    /** Also ticks everything that was forked from them. */
    addForks() {
        this.ids = this.possible([...this.ids, ...below(this.#timelines, this.ids)]);
        this.changed();
    }

    changed() {
        this.draw();
        this.onChange();
    }

    draw() {
        const count = this.ids.size;
        const { ticked } = this;
        this.tool.setAttribute('aria-pressed', String(this.isOn));
        this.element.hidden = !this.isOn;
        this.status.textContent = this.#progress || (count ? say('several.count', { count }) : say('several.none'));
        const hadFocus = this.element.contains(document.activeElement) ? document.activeElement : null;
        const isArchived = count > 0 && ticked.every(({ label }) => label.archived);
        const run = (/** @type {keyof SeveralActions} */ name) => this.run(name);
        fill(this.buttons, this.#progress ? null : [
            count && this.possible(below(this.#timelines, this.ids)).size ? button(say('several.forks'), { icon: 'fa-diagram-next', title: say('several.forks.hint'), run: () => this.addForks() }) : null,
            count === 2 && this.canCompare ? button(say('several.compare'), { icon: 'fa-code-compare', run: () => run('compare') }) : null,
            count ? button(say(isArchived ? 'timelines.do.unarchive' : 'timelines.do.archive'), {
                icon: 'fa-box-archive', title: say(isArchived ? 'timelines.do.unarchive.hint' : 'timelines.do.archive.hint'), run: () => run(isArchived ? 'unarchive' : 'archive'),
            }) : null,
            count ? button(say('several.delete'), { icon: 'fa-trash-can', run: () => run('delete') }) : null,
            button(say('several.end'), { icon: 'fa-xmark', run: () => this.turn(false) }),
        ]);
        if (hadFocus) {
            const buttons = [...this.buttons.querySelectorAll('button')];
            (buttons.find(({ textContent }) => textContent === hadFocus.textContent) ?? buttons.at(-1) ?? this.element).focus();
        }
    }

    async run(/** @type {keyof SeveralActions} */ name) {
        const { ticked } = this;
        const note = (/** @type {string} */ text) => {
            this.#progress = text;
            this.draw();
        };
        try {
            await this.actions[name](ticked, this.#family, note);
        } finally {
            note('');
        }
    }
}
