// The parts of the user interface, as they see each other.

import type { AppForUi, Piece, Settling, TavernScreen } from '../types.js';

export type * from '../types.js';
export type Dialogs = ReturnType<typeof import('./dialogs/index.js').createDialogs>;
export type Toasts = ReturnType<typeof import('./toasts.js').createToasts>;
export type Compare = ReturnType<typeof import('./compare/index.js').createCompare>;
export type Timelines = ReturnType<typeof import('./timelines/index.js').createTimelines>;
export type OwnActions = ReturnType<typeof import('./actions.js').createActions>;

/** What clicks do. */
export interface Actions extends OwnActions {
    compare: Compare['show'];
    chooseToCompare: Compare['choose'];
    bring: Compare['bring'];
    bringEntry: Compare['bringEntry'];
    showTimelines: Timelines['show'];
}

/** What every part is given. */
export interface Parts {
    app: AppForUi;
    screen: TavernScreen;
}

// Elements.

/** What an element can contain; lists may be nested. */
export type Child = Node | string | null | undefined | false | Child[];

/** An event of an element; the element is what it happens to, because controls have no children that could be clicked. */
export type Fired<Tag extends keyof HTMLElementTagNameMap, Name extends keyof HTMLElementEventMap> =
    HTMLElementEventMap[Name] & { target: HTMLElementTagNameMap[Tag] };

export type Listeners<Tag extends keyof HTMLElementTagNameMap> = {
    [Name in keyof HTMLElementEventMap]?: ((event: Fired<Tag, Name>) => unknown) | undefined;
};

/** `true` sets an attribute, `false`, `null` and `undefined` omit it. */
export type Properties<Tag extends keyof HTMLElementTagNameMap> = {
    class?: string;
    on?: Listeners<Tag>;
    data?: Record<string, string>;
} & {
    [attribute: string]: string | number | boolean | null | undefined | Listeners<Tag> | Record<string, string>;
};

// Conflicts.

/** Which version of a conflict is chosen; `value` is the one written by hand. */
export type Taken = 'ours' | 'theirs' | 'value' | null;

export interface ConflictSide {
    value: 'ours' | 'theirs';
    title: string;
    hint: string;
    pieces: Piece[];
}

export interface ConflictView {
    key: string;
    field: string | null;
    title: string;
    what: string;
    mine: ConflictSide;
    theirs: ConflictSide;
    /** Whether a version can be written by hand, which one to start with, and the hint. */
    canWrite: boolean;
    written: string;
    hand: string;
}

export interface Chosen {
    key: string;
    field: string | null;
    choice: Settling;
}
