// The parts of the user interface, as they see each other.

import type {
    AppForUi, Argument, ChangeKind, Command, ComparedModel, Difference, Finding, ForkKind, ForkReport, MergeRequest, Moment, OpenFindings, PendingFork, Piece, Readiness, SayMessage, SearchHit, Settings, Settling,
    ShownTimeline, Side, SideOfEntry, TavernScreen,
} from '../types.js';

export type * from '../types.js';
export type Dialogs = ReturnType<typeof import('./dialogs/index.js').createDialogs>;
export type Toasts = ReturnType<typeof import('./toasts.js').createToasts>;

/** What clicks do. Errors are shown, never thrown. */
export interface OwnActions {
    fork(what: { kind: ForkKind; message: number; whenReady?: boolean }): Promise<ForkReport | null>;
    /** `whenReady` waits for the queue without asking. */
    checkpointAtEnd(options?: { whenReady?: boolean }): Promise<ForkReport | null>;
    stopWaiting(): Promise<unknown>;
    repair(): Promise<unknown>;
    /** Restores the open chat's lorebook from its journal, without asking. */
    bringBack(): Promise<unknown>;
    split(): Promise<unknown>;
    /** Gives the open chat its own copy of a lorebook that many chats share. */
    giveCopy(book: string): Promise<unknown>;
    useOriginal(): Promise<unknown>;
    clean(): Promise<unknown>;
    /** Puts back what was put into the trash. */
    undo(...tokens: string[]): Promise<unknown>;
    showTrash(): Promise<unknown>;
    strip(): Promise<unknown>;
    stripAll(): Promise<unknown>;
    verifyAll(): Promise<unknown>;
    showFindings(findings: Finding[]): Promise<unknown>;
    showFork(report: ForkReport): Promise<unknown>;
}

/** Those of the comparison, and of the view of timelines. */
export interface Actions extends OwnActions {
    /** Compares two timelines, given by name or as moments; `model` is the comparison, if it is known. */
    compare(what: { left: Moment | string; right: Moment | string; model?: ComparedModel }): Promise<unknown>;
    /** Asks what to compare. */
    chooseToCompare(first?: { left?: Moment; right?: Moment }): Promise<unknown>;
    /** Shows what bringing lore over would do, and does it. */
    bring(request: MergeRequest): Promise<unknown>;
    /** Asks where to bring an entry of the open chat, as it was at a message. */
    bringEntry(what: { message: number; uid: number; title: string }): Promise<unknown>;
    showTimelines(): Promise<unknown>;
}

export type Attempt = ReturnType<typeof import('./widgets/attempt.js').attempting>;
export type CanUndo = Pick<Actions, 'undo' | 'showTrash'>;

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

export interface ButtonOptions {
    icon?: string;
    title?: string;
    label?: string;
    disabled?: boolean;
    class?: string;
    run: () => unknown;
}

/** One that is not possible shows the reason as its hint. */
export interface ChoiceOptions {
    group: string;
    value: string;
    title: string;
    hint: string;
    disabled?: boolean;
    checked?: boolean;
    run: () => unknown;
}

export type Close = () => void;
export type SayDate = (milliseconds: number) => string;
/** What a notice offers to do. */
export type Act = 'repair' | 'split' | 'details';

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

// The panel.

export type PanelState = Readiness['state'] | 'pending' | 'loading';

export interface PanelFacts {
    /** `null` while it is unknown. */
    readiness: Readiness | null;
    waiting?: PendingFork | null;
    /** `null` if the chat was not verified. */
    checked?: OpenFindings | null;
    sayDate?: SayDate;
    /** A message of the open chat. */
    sayMessage?: SayMessage;
}

export interface PanelAction {
    id: 'checkpoint' | 'when-ready' | 'stop-waiting' | 'split' | 'repair' | 'copy' | 'original';
    text: string;
    hint: string;
    icon: string;
    disabled: boolean;
}

export interface PanelView {
    state: PanelState;
    icon: string;
    tone: string;
    line: string;
    origin: string;
    note: string;
    /** What is left out of the prompt. */
    leftOut: string;
    details: Finding[];
    actions: PanelAction[];
}

export interface Setting {
    name: Exclude<keyof Settings, 'leftBehind' | 'toldBooks' | 'lore' | 'ghosts'>;
    type: 'checkbox' | 'select' | 'text' | 'number';
    options?: string[];
    min?: number;
    max?: number;
    /** It only has an effect if another setting has a value: true, or `being`. */
    needs?: keyof Settings;
    being?: string | boolean;
    /** It only matters beside ST-Auto-Recap. */
    isOfRecap?: boolean;
}

// Dialogs.

export interface LoreView {
    title: string;
    book: string;
    exactness: string;
    entries: ShownEntry[];
    internal: ShownEntry[];
    changes: ShownChange[];
    /** What a restore would do. */
    restored: ShownChange[];
    since: string;
    isWithoutBook: boolean;
    /** How to get a lorebook, if there is none now either. */
    hint: string;
    canRestore: boolean;
}

export interface ShownEntry {
    uid: number;
    title: string;
    keys: string;
    content: string;
    isDisabled: boolean;
    isInternal: boolean;
    searched: string;
}

export interface ShownChange {
    title: string;
    what: ChangeKind;
    about: string;
}

/** Brings an entry to another timeline. */
export type BringEntry = (entry: { uid: number; title: string }) => void;

// Slash commands.

/** An argument whose description is still a key. */
export type DescribedArgument = Omit<Argument, 'description'> & { about: string };

export interface CommandDraft {
    name: string;
    named?: DescribedArgument[];
    unnamed?: DescribedArgument[];
    examples: string[];
    run: Command['run'];
}

// The comparison.

/** A difference as it is listed. */
export interface Item {
    id: number;
    /** Its key in the book. */
    key: string;
    title: string;
    changes: { side: Side; what: ChangeKind }[];
    /** Whether both sides changed it in different ways. */
    isConflict: boolean;
    left: SideOfEntry;
    right: SideOfEntry;
    fields: Difference[];
    summary: string;
    searched: string;
}

/** What a row is drawn with. */
export interface RowParts {
    model: ComparedModel;
    /** The side that lore is brought from. */
    from: Side;
    selection: import('./compare/selection.js').Selection;
    bring: (item: Item, from: Side) => void;
}

// The map of timelines.

export type Density = 'cards' | 'names' | 'dots';

export interface Point {
    x: number;
    y: number;
}

export interface Size {
    width: number;
    height: number;
}

export type Rectangle = Point & Size;

/** Which part of the map is visible, and at what scale. */
export interface Camera extends Point {
    scale: number;
}

/** Where a timeline is on the map. */
export interface Place extends Rectangle {
    id: string;
    depth: number;
    parent: string | null;
    /** The visible ones. */
    children: string[];
    /** How many descendants are hidden. */
    hidden: number;
    isOnShelf: boolean;
}

export type Places = Map<string, Place>;
export type Shelf = Rectangle & { of: string };

export interface Link {
    from: string;
    to: string;
    path: string;
}

export interface Layout extends Size {
    places: Places;
    links: Link[];
    shelves: Shelf[];
}

/** What the layout needs of a timeline. */
export type Placed = Pick<ShownTimeline, 'id' | 'parent' | 'message' | 'date' | 'name'>;
export type FamilyNode = Placed & { below: FamilyNode[]; depth: number };

/** A timeline with everything to the right of it; on a shelf, the place may be empty. */
export interface Arranged {
    timeline: FamilyNode | null;
    children: Arranged[];
    shelf?: string;
    row?: number;
}

/** What we use of d3-hierarchy, which comes without types. */
export interface TreeNode {
    data: Arranged;
    x: number;
    depth: number;
    parent: TreeNode | null;
    descendants(): TreeNode[];
}

/** A tree without positions. */
export interface TreeRoot {
    descendants(): unknown;
}

export interface TreeLayout {
    (root: TreeRoot): TreeNode;
    nodeSize(size: [number, number]): TreeLayout;
    separation(distance: (one: TreeNode, other: TreeNode) => number): TreeLayout;
}

/** How a card is drawn. */
export interface CardLook {
    density: Density;
    /** As it is shown beside its family. */
    name: string;
    isSelected: boolean;
    isCurrent: boolean;
    isDimmed: boolean;
    isFound: boolean;
    isFolded: boolean;
    hasChildren: boolean;
    hidesProblem: boolean;
    /** `null` while single timelines are selected. */
    isTicked: boolean | null;
    position: number;
    siblings: number;
}

export interface TimelineAction {
    id: 'open' | 'checkpoint' | 'branch' | 'lore' | 'compare' | 'split' | 'repair' | 'label' | 'archive' | 'unarchive' | 'delete';
    icon: string;
    /** Why it cannot be done. */
    reason?: string;
}

/** What a search has found in a timeline. */
export interface FoundTimeline {
    timeline: ShownTimeline;
    /** Whether its title, note, name, lorebook's name or last message has the words. */
    isNamed: boolean;
    hits: SearchHit[];
}

export interface HitActions {
    /** Shows a timeline on the map. */
    select: (id: string) => void;
    /** Shows its details, too. */
    show: (id: string) => void;
    /** Opens a timeline at the message, or shows the entry in its lore. */
    open: (hit: SearchHit, timeline: ShownTimeline) => unknown;
}
/** Does something to the ticked timelines of a family, and notes how far it is. */
export type SeveralAction = (ticked: ShownTimeline[], family: ShownTimeline[], note: (text: string) => void) => unknown;
export type SeveralActions = Record<'compare' | 'archive' | 'unarchive' | 'delete', SeveralAction>;

export interface TimelineViewParts {
    /** Runs an action on a timeline. */
    run: (id: Exclude<TimelineAction['id'], 'compare'>, timeline: ShownTimeline) => unknown;
    compare: (left: string, right: string) => unknown;
    several: SeveralActions;
    close: () => void;
    refresh: () => void;
    look: (family: string) => void;
    sayDate: SayDate;
    forkMessage: AppForUi['forkMessage'];
    canCompare: boolean;
    search: AppForUi['search'];
    openHit: HitActions['open'];
}
