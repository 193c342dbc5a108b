/** The timeline view: a bar to search and zoom, the map, and the details of the selected timeline. */
import { shortNames } from '../names.js';
import { box, button, heading, icon, paragraph } from '../widgets/controls.js';
import { element, fill, freshId } from '../widgets/dom.js';
import { say } from '../words.js';
import { actionsFor, details } from './details.js';
import { withoutArchived } from './family.js';
import { FOLDED_FROM } from './layout/layout.js';
import { TimelineMap } from './map.js';
import { MapSearch } from './search.js';
import { Ticks } from './ticks.js';
/** @import { ShownTimeline, TimelineAction, TimelineProgress, TimelinesModel, TimelineViewParts } from '../types.js' */

export class TimelineView {
    /** @param {TimelineViewParts} parts */
    constructor(parts) {
        this.parts = parts;
        this.model = /** @type {TimelinesModel | null} */ (null);
        this.family = '';
        this.comparing = /** @type {string | null} */ (null);
        /** @type {TimelineProgress | null} */
        this.progress = null;
        /** The ids of the search results. @type {Set<string> | null} */
        this.found = null;
        /** Whether the results are shown, and not the details of a timeline. */
        this.isListing = false;
        this.shownContent = '';
        this.isSheetOpen = false;
        this.showsArchived = false;
        this.map = new TimelineMap({
            select: (id) => this.chosen(id),
            activate: (id) => this.activated(id),
            open: (id) => this.opened(id),
            tick: (id) => this.ticks.toggle(id),
            search: () => this.search.focus(),
            framed: () => this.showStatus(),
        });
        this.results = new MapSearch({
            search: parts.search,
            select: (id) => (this.comparing ? this.chosen(id) : this.reveal(id)),
            show: (id) => {
                this.goTo(this.timeline(id)?.family);
                this.activated(id);
            },
            open: parts.openHit,
            leave: () => this.search.focus(),
            clear: () => this.clearSearch(),
            onChange: () => this.showFound(),
        });
        this.ticks = new Ticks({ actions: parts.several, canCompare: parts.canCompare, onChange: () => this.map.tick(this.ticks.isOn ? this.ticks.ids : null) });
        const tool = (/** @type {string} */ name, /** @type {string} */ sign, /** @type {() => void} */ run) =>
            button('', { icon: sign, title: say(`timelines.tool.${name}`), label: say(`timelines.tool.${name}`), class: 'forklore_tool', run });
        this.title = heading(say('timelines.title', { owner: '' }));
        this.search = element('input', {
            type: 'search', class: 'text_pole', placeholder: say('timelines.search'), 'aria-label': say('timelines.search'),
            on: { input: () => this.searched(), keydown: (event) => this.searchKey(event) },
        });
        this.unfolder = tool('unfold', 'fa-folder-tree', () => this.unfoldAll(!this.map.unfoldsAll));
        this.archiver = tool('archived', 'fa-box-archive', () => this.showArchived(!this.showsArchived));
        this.families = element('select', { class: 'text_pole forklore_families', 'aria-label': say('timelines.families'), on: { change: ({ target }) => this.showFamily(target.value) } });
        this.status = element('small', { class: 'forklore_map_status', role: 'status' });
        this.asking = element('div', { class: 'forklore_asking', role: 'status' });
        this.sheetId = freshId('sheet');
        this.side = element('div', { class: 'forklore_side_content', id: this.sheetId, tabindex: -1 });
        this.grip = element('button', {
            type: 'button', class: 'forklore_grip', 'aria-controls': this.sheetId, 'aria-expanded': 'false',
            on: { click: () => this.openSheet(!this.isSheetOpen), keydown: (event) => event.key === 'Enter' && event.stopPropagation() },
        }, icon('fa-chevron-up'), this.sheetName = element('span', {}, say('timelines.details')));
        this.aside = element('div', { class: 'forklore_side', role: 'region', 'aria-label': say('timelines.details') }, this.grip, this.side);
        this.body = element('div', { class: 'forklore_timelines_body' },
            element('div', { class: 'forklore_map_frame' }, this.map.element, this.asking, this.ticks.element, legend(), this.status), this.aside);
        this.element = element('div', { class: 'forklore_dialog forklore_timelines', on: { keydown: (event) => this.keyPressed(event) } },
            element('div', { class: 'forklore_bar' },
                this.title,
                this.families,
                element('div', { class: 'forklore_search' }, this.search),
                element('div', { class: 'forklore_tools', role: 'toolbar', 'aria-label': say('timelines.tools') },
                    tool('out', 'fa-magnifying-glass-minus', () => this.map.zoomOut()),
                    tool('in', 'fa-magnifying-glass-plus', () => this.map.zoomIn()),
                    tool('all', 'fa-expand', () => this.map.keepAllInView()),
                    tool('here', 'fa-location-crosshairs', () => this.goHere()),
                    this.ticks.tool,
                    this.archiver,
                    this.unfolder,
                    tool('refresh', 'fa-rotate', () => this.parts.refresh())),
                tool('close', 'fa-xmark', () => this.parts.close())),
            this.body);
        this.openSheet(false);
    }

    // Display

    /** @param {TimelinesModel | null} model null without an open chat */
    show(model) {
        if (!model) {
            this.model = null;
            fill(this.body, box('info', paragraph(say('timelines.no-chat'))));
            return;
        }
        const isFirst = !this.model;
        const hasMoved = this.model !== null && this.model.open !== model.open;
        this.model = model;
        this.title.textContent = say('timelines.title', { owner: model.owner.label });
        this.element.closest('dialog')?.setAttribute('aria-label', this.title.textContent);
        const mine = model.families.find(({ hasOpen }) => hasOpen);
        if (isFirst || hasMoved || !model.families.some(({ id }) => id === this.family)) {
            this.family = mine?.id ?? '';
        }
        this.showFamilies();
        const shown = this.shown();
        const isAtFirst = isFirst || hasMoved || !this.map.isTouched;
        this.showOnMap(isAtFirst ? { selected: model.open, around: model.open } : {});
        this.searched();
        this.showSide();
        if (isFirst && shown.length === 1) {
            // A family of one: shows the explanation.
            this.openSheet(true);
        }
    }

    /** Moves the keyboard focus to the selected timeline. */
    focus() {
        if (this.model) {
            this.map.cardOf(this.map.selected)?.focus({ preventScroll: true });
        }
    }

    shown() {
        return (this.model?.timelines ?? []).filter(({ family }) => family === this.family);
    }

    /** @param {Parameters<TimelineMap['show']>[1]} how */
    showOnMap(how = {}) {
        const shown = this.shown();
        const onMap = this.showsArchived ? shown : withoutArchived(shown);
        this.archiver.hidden = !shown.some(({ label }) => label.archived);
        this.ticks.update(shown, onMap);
        this.map.ticked = this.ticks.isOn ? this.ticks.ids : null;
        this.map.show(onMap, how);
    }

    showArchived(/** @type {boolean} */ isWanted) {
        this.showsArchived = isWanted;
        this.archiver.setAttribute('aria-pressed', String(isWanted));
        this.showOnMap();
        this.showSide();
    }

    /** Selects a timeline, also one that the map leaves out. @param {string} id */
    select(id) {
        if (!this.map.timelines.some((timeline) => timeline.id === id)) {
            this.showArchived(true);
        }
        this.map.select(id);
    }

    showFamilies() {
        const families = this.model?.families ?? [];
        this.families.hidden = families.length < 2;
        this.unfolder.hidden = this.shown().length < FOLDED_FROM;
        const short = shortNames(families.map(({ name }) => name));
        fill(this.families, families.map(({ id, name, count, hasOpen }) => element('option', { value: id, title: name, selected: id === this.family },
            say(hasOpen ? 'timelines.family.mine' : 'timelines.family', { name: short(name), count }))));
        this.families.value = this.family;
    }

    showFamily(/** @type {string} */ id) {
        this.family = id;
        const shown = this.shown();
        const start = shown.find(({ isOpen }) => isOpen) ?? shown.find(({ parent }) => parent === null);
        this.map.toggled.clear();
        this.showOnMap({ selected: start?.id, around: start?.id });
        this.searched();
        this.showSide();
        this.parts.look(id);
    }

    note(/** @type {TimelineProgress | null} */ progress) {
        this.progress = progress;
        this.showStatus();
    }

    showStatus() {
        const shown = this.shown().filter(({ kind }) => kind !== 'gone');
        const archived = shown.filter(({ label }) => label.archived).length;
        const problems = shown.filter(({ findings }) => findings.some(({ problem }) => problem)).length;
        fill(this.status, [
            say('timelines.count', { count: shown.length }),
            problems ? say('timelines.count.problems', { count: problems }) : null,
            archived ? say('timelines.count.archived', { count: archived }) : null,
            this.progress ? say(`timelines.reading.${this.progress.what}`, this.progress) : null,
            ...this.results.status(),
            this.map.isPart ? say('timelines.part') : null,
        ].filter(Boolean).join(' · '));
    }

    showSide() {
        this.showStatus();
        this.sheetName.textContent = say(this.isListing ? 'search.list' : 'timelines.details');
        if (this.isListing) {
            if (!this.side.contains(this.results.list.element)) {
                fill(this.side, this.results.list.element);
            }
            this.results.list.select(this.map.selected);
            this.shownContent = '';
            return;
        }
        const timeline = this.timeline(this.map.selected);
        const count = this.model?.timelines.length ?? 0;
        const isAlone = this.shown().length === 1 && this.model?.open === this.map.selected;
        // A redraw while more is being read must not replace a button that the user is about to press.
        const content = JSON.stringify([timeline, this.timeline(timeline?.parent)?.name, isAlone, count > 1, this.results.typed !== '']);
        if (content === this.shownContent) {
            return;
        }
        this.shownContent = content;
        const pressed = [...this.side.querySelectorAll('button')].findIndex((button) => button === document.activeElement);
        this.fillSide(timeline, isAlone, count);
        if (pressed >= 0) {
            this.side.querySelectorAll('button')[pressed]?.focus();
        }
    }

    fillSide(/** @type {ShownTimeline | null} */ timeline, /** @type {boolean} */ isAlone, /** @type {number} */ count) {
        const back = this.results.typed ? button(say('search.back'), { icon: 'fa-list', class: 'forklore_back', run: () => this.listResults() }) : null;
        fill(this.side, back, timeline ? details(timeline, {
            parentName: this.timeline(timeline.parent)?.name ?? null,
            forkedAt: this.parts.forkMessage(timeline),
            actions: actionsFor(timeline, { count, canCompare: this.parts.canCompare }),
            sayDate: this.parts.sayDate,
            run: (id) => this.run(id, timeline),
        }) : paragraph(say('timelines.choose')), isAlone ? box('hint', paragraph(say('timelines.alone'))) : null);
    }

    timeline(/** @type {string | null | undefined} */ id) {
        return this.model?.timelines.find((timeline) => timeline.id === id) ?? null;
    }

    openSheet(/** @type {boolean} */ isOpen) {
        this.isSheetOpen = isOpen;
        this.aside.dataset.open = String(isOpen);
        this.grip.setAttribute('aria-expanded', String(isOpen));
    }

    // Actions

    chosen(/** @type {string} */ id) {
        if (this.comparing && id !== this.comparing && this.timeline(id)?.kind !== 'gone') {
            const left = this.comparing;
            this.compareWith(null);
            this.parts.compare(left, id);
            return;
        }
        this.select(id);
        this.openSheet(true);
        this.isListing = false;
        this.showSide();
    }

    activated(/** @type {string} */ id) {
        this.chosen(id);
        /** @type {HTMLButtonElement | null} */ (this.side.querySelector('.forklore_buttons button:enabled'))?.focus();
    }

    /** A double click on a card. */
    opened(/** @type {string} */ id) {
        const timeline = this.timeline(id);
        if (timeline && !timeline.isOpen && timeline.kind !== 'gone') {
            this.run('open', timeline);
        }
    }

    run(/** @type {TimelineAction['id']} */ id, /** @type {ShownTimeline} */ timeline) {
        if (id === 'compare') {
            this.compareWith(timeline.id);
        } else {
            this.parts.run(id, timeline);
        }
    }

    /** Waits for a second timeline to be selected; null stops waiting. @param {string | null} id */
    compareWith(id) {
        this.comparing = id;
        fill(this.asking, id ? [
            element('span', { title: id }, say('timelines.compare.choose', { name: shortNames(this.shown().map(({ name }) => name))(id) })),
            button(say('button.cancel'), { run: () => this.compareWith(null) }),
        ] : null);
        if (id) {
            this.openSheet(false);
            this.map.cardOf(id)?.focus({ preventScroll: true });
        }
    }

    unfoldAll(/** @type {boolean} */ isWanted) {
        this.map.unfoldAll(isWanted);
        this.unfolder.setAttribute('aria-pressed', String(isWanted));
    }

    /** Shows a family unless it is shown already. @param {string | undefined} family */
    goTo(family) {
        if (family !== undefined && family !== this.family) {
            this.families.value = family;
            this.showFamily(family);
        }
    }

    goHere() {
        if (!this.model) {
            return;
        }
        this.goTo(this.timeline(this.model.open)?.family);
        this.map.select(this.model.open, { reveal: false });
        this.map.showAround(this.model.open);
        this.showSide();
    }

    searched() {
        const typed = this.search.value.trim();
        if (typed !== this.results.typed) {
            this.isListing = typed !== '';
            if (typed && !this.results.typed) {
                this.openSheet(true);
            }
        }
        this.results.update(typed, this.model);
        this.showFound();
    }

    showFound() {
        const found = this.results.found.filter(({ timeline }) => timeline.family === this.family).map(({ timeline }) => timeline.id);
        const isMarked = this.found?.size === found.length && found.every((id) => this.found?.has(id));
        if (!this.results.typed || !isMarked) {
            this.found = this.results.typed ? new Set(found) : null;
            this.map.mark(this.found);
        }
        this.showSide();
    }

    listResults() {
        this.isListing = true;
        this.showSide();
        this.results.list.focus(this.map.selected);
    }

    clearSearch() {
        this.search.value = '';
        this.search.focus();
        this.searched();
    }

    /** Shows a search result on the map, which may be in another family. @param {string} id */
    reveal(id) {
        this.goTo(this.timeline(id)?.family);
        this.select(id);
        this.showSide();
    }

    /** Reads what is searched again. */
    searchAgain() {
        this.results.again(this.model);
    }

    stop() {
        this.results.stop();
    }

    /** Enter moves to the next search result. @param {KeyboardEvent} event */
    searchKey(event) {
        event.stopPropagation();
        if (event.key === 'Enter' && this.found?.size) {
            event.preventDefault();
            const found = [...this.found];
            const next = found[(found.indexOf(this.map.selected ?? '') + 1) % found.length] ?? '';
            this.select(next);
            this.showSide();
        } else if (event.key === 'ArrowDown') {
            event.preventDefault();
            if (!this.isListing || !this.results.list.focus()) {
                this.map.cardOf(this.map.selected)?.focus({ preventScroll: true });
            }
        } else if (event.key === 'Escape' && this.search.value) {
            // The first Escape clears the search, the next one closes the view.
            event.preventDefault();
            this.clearSearch();
        }
    }

    keyPressed(/** @type {KeyboardEvent} */ event) {
        if (event.key === 'Escape' && (this.comparing || this.ticks.isOn)) {
            event.preventDefault();
            event.stopPropagation();
            this.compareWith(null);
            this.ticks.turn(false);
        }
    }
}

/** What the dots mean, for the least detailed density. */
function legend() {
    const sign = (/** @type {string} */ name) => element('span', {}, element('i', { class: `forklore_dot forklore_dot_${name}` }), ` ${say(`timelines.legend.${name}`)}`);
    return element('small', { class: 'forklore_legend', 'aria-hidden': 'true' }, ['open', 'branch', 'checkpoint', 'problem', 'folded'].map(sign));
}
